//! Memory, and what views of it share.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use crate::Array;

/// Owner of a piece of memory: gives it back when dropped.
pub trait Memory: Send + Sync {
    /// Address of the first byte, in the device's address space; 0 only where `bytes` is 0.
    fn address(&self) -> u64;
    /// Size.
    fn bytes(&self) -> usize;
    /// Does a device copy from it by itself?
    fn is_page_locked(&self) -> bool {
        false
    }
}

/// Shared memory of a storage.
pub type Buffer = Arc<dyn Memory>;

/// The version of a storage that a read sees now, when it is not yet computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The tape that will compute it.
    pub tape: u32,
    /// The node of that tape.
    pub node: u32,
}

/// What the aliases of one piece of memory share.
///
/// Invariants: everything but `bytes`, `device` and `shared` is read and written only with the engine's lock held
/// (each accessor is `unsafe` and says so), or has a lock of its own (`epoch`); `latest` is `Some` exactly while a tape has recorded a value or a write for
/// it that has not run; no handle can see an older version, only nodes recorded before the write do.
pub struct Storage {
    /// Size.
    pub bytes: usize,
    /// Index of the device in the engine's registry.
    pub device: u8,
    /// Not zero while code outside the engine may read or write the memory at any time: operations that touch it run at
    /// once then. The number of living [`SharedGuard`]s, plus [`FOREVER`] if the sharing has no known end (DLPack, addresses).
    shared: AtomicU32,
    latest: Cell<Option<Version>>,
    buffer: UnsafeCell<Option<Buffer>>,
    /// Where the current tape knows this storage as a leaf: (the tape's serial number, slot).
    leaf: Cell<(u64, u32)>,
    /// References to this storage that the current tape holds; all others are handles of the user.
    tape_refs: Cell<u32>,
    /// Somebody may want to see the present contents later: then `epoch` is looked at before a write.
    watched: AtomicBool,
    /// Stands for the present contents, while somebody wants to see them later.
    epoch: Mutex<Option<Arc<Epoch>>>,
}

/// The bit of `shared` that [`Storage::share`] sets, above any count of loans.
const FOREVER: u32 = 1 << 31;

/// Keeps a storage marked as shared with code outside the engine, until it is dropped.
#[derive(Debug)]
pub struct SharedGuard(Arc<Storage>);

impl Drop for SharedGuard {
    fn drop(&mut self) {
        self.0.shared.fetch_sub(1, Relaxed);
    }
}

/// The contents of a storage between two writes. Whoever wants to see them later holds a [`Saved`]; the write that would
/// destroy them copies them first, once for all who do.
#[derive(Debug, Default)]
pub struct Epoch(OnceLock<Arc<Storage>>);

impl Epoch {
    /// Keeps a copy of the contents, byte by byte.
    pub fn keep(&self, copy: Arc<Storage>) {
        let _ = self.0.set(copy);
    }
}

/// An array as it was when it was saved, whatever is written to its memory later.
#[derive(Clone, Debug)]
pub struct Saved {
    array: Array,
    epoch: Arc<Epoch>,
}

impl Saved {
    /// Saves what the array holds now.
    pub fn new(array: &Array) -> Saved {
        let mut epoch = array.storage.epoch.lock().unwrap_or_else(|e| e.into_inner());
        array.storage.watched.store(true, Relaxed);
        Saved { array: array.clone(), epoch: epoch.get_or_insert_default().clone() }
    }

    /// The array with the contents that were saved.
    pub fn array(&self) -> Array {
        match self.epoch.0.get() {
            Some(copy) => Array { storage: copy.clone(), layout: self.array.layout.clone() },
            None => self.array.clone(),
        }
    }
}

// SAFETY: the cells are touched only under the engine's lock (see the type's invariants).
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes on device {})", self.bytes, self.device)
    }
}

impl Storage {
    /// A storage whose value is pending.
    pub fn pending(bytes: usize, device: u8, latest: Version) -> Storage {
        Storage {
            bytes,
            device,
            shared: AtomicU32::new(0),
            latest: Cell::new(Some(latest)),
            buffer: UnsafeCell::new(None),
            leaf: Cell::new((0, 0)),
            tape_refs: Cell::new(1),
            watched: AtomicBool::new(false),
            epoch: Mutex::new(None),
        }
    }

    /// A storage with memory.
    pub fn ready(buffer: Buffer, device: u8) -> Storage {
        Storage {
            bytes: buffer.bytes(),
            device,
            shared: AtomicU32::new(0),
            latest: Cell::new(None),
            buffer: UnsafeCell::new(Some(buffer)),
            leaf: Cell::new((0, 0)),
            tape_refs: Cell::new(0),
            watched: AtomicBool::new(false),
            epoch: Mutex::new(None),
        }
    }

    /// Ends the present epoch, because the storage is about to be written; it is given back if somebody wants the
    /// contents kept.
    #[inline]
    pub fn end_epoch(&self) -> Option<Arc<Epoch>> {
        if self.watched.load(Relaxed) { self.take_epoch() } else { None }
    }

    #[cold]
    fn take_epoch(&self) -> Option<Arc<Epoch>> {
        self.watched.store(false, Relaxed);
        let epoch = self.epoch.lock().unwrap_or_else(|e| e.into_inner()).take()?;
        (Arc::strong_count(&epoch) > 1).then_some(epoch)
    }

    /// Returns true while code outside the engine may touch the memory.
    pub fn is_external(&self) -> bool {
        self.shared.load(Relaxed) != 0
    }

    /// Marks the memory as shared with code outside the engine, until the storage is dropped.
    pub fn share(&self) {
        self.shared.fetch_or(FOREVER, Relaxed);
    }

    /// Marks the memory as shared with code outside the engine until the loan is dropped.
    pub fn share_scoped(self: &Arc<Storage>) -> SharedGuard {
        self.shared.fetch_add(1, Relaxed);
        SharedGuard(self.clone())
    }

    /// The pending version, if any.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn latest_version(&self) -> Option<Version> {
        self.latest.get()
    }

    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn set_latest_version(&self, latest: Option<Version>) {
        self.latest.set(latest);
    }

    /// The memory; `None` while the first value is pending.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn buffer(&self) -> Option<Buffer> {
        // SAFETY: the caller holds the lock, so nobody writes.
        unsafe { (*self.buffer.get()).clone() }
    }

    /// Neither computed nor to be computed: the program that would have made it did not fit into memory.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn is_lost(&self) -> bool {
        // SAFETY: the caller holds the lock, so nobody writes.
        self.latest.get().is_none() && unsafe { (*self.buffer.get()).is_none() }
    }

    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn set_buffer(&self, buffer: Buffer) {
        // SAFETY: the caller holds the lock, so nobody else reads or writes.
        unsafe { *self.buffer.get() = Some(buffer) }
    }

    /// Gives up the contents, which are partly written: reading them is an error from now on.
    ///
    /// # Safety
    /// The engine's lock is held, and no program that uses the memory runs.
    pub unsafe fn lose(&self) {
        // SAFETY: the caller holds the lock, so nobody else reads or writes.
        unsafe { *self.buffer.get() = None }
    }

    /// References to this storage that tapes hold; all others are handles.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn recorded_refs(&self) -> u32 {
        self.tape_refs.get()
    }

    pub(crate) fn leaf(&self) -> &Cell<(u64, u32)> {
        &self.leaf
    }

    pub(crate) fn tape_refs(&self) -> &Cell<u32> {
        &self.tape_refs
    }
}
