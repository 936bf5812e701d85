//! Storages: memory and its versions, which all views of it share.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::{Array, Result};

/// The owner of a block of memory. Frees it when dropped.
pub trait Memory: Send + Sync {
    /// Returns the address of the first byte, in the device's address space. It is 0 only if `bytes` is 0.
    fn address(&self) -> u64;
    /// Returns the size.
    fn bytes(&self) -> usize;
    /// Returns true if the memory is page-locked, so that a device can copy from it on its own.
    fn is_page_locked(&self) -> bool {
        false
    }
}

/// The memory of a storage.
pub type Buffer = Arc<dyn Memory>;

/// A version of a storage that a recorded operation will compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The tape that will compute it.
    pub tape: u32,
    /// The node of that tape.
    pub node: u32,
}

/// The memory and state that all views of one array share.
///
/// Invariants:
/// - `bytes`, `device` and `shared` may be read at any time, and `epoch` has its own lock. Everything else is accessed
///   only while the engine's lock is held; each accessor is `unsafe` and says so.
/// - `latest` is `Some` exactly while a tape has recorded a value or a write for the storage that has not run.
/// - A handle always sees the latest version. Older versions are visible only to nodes that were recorded before the
///   write.
pub struct Storage {
    /// Size of the memory.
    pub bytes: usize,
    /// Index of the device in the engine's registry.
    pub device: u8,
    /// Not zero while code outside the engine may read or write the memory at any time. Operations on it then run at
    /// once. The number of [`SharedGuard`]s, plus [`FOREVER`] if the sharing has no known end (DLPack, raw addresses).
    shared: AtomicU32,
    latest: Cell<Option<Version>>,
    buffer: UnsafeCell<Option<Buffer>>,
    /// The leaf slot of this storage in the current tape: (the tape's serial number, slot).
    leaf: Cell<(u64, u32)>,
    /// The number of references that tapes hold. All other references are handles of the user.
    tape_refs: Cell<u32>,
    /// True if the present contents may be saved, so that `epoch` must be checked before a write.
    watched: AtomicBool,
    /// The present contents, if they were saved.
    epoch: Mutex<Option<Arc<Epoch>>>,
    /// What other code does with the memory where its end is known, and what has failed. `shared` is not zero then.
    loans: Mutex<Vec<Loan>>,
}

/// Work outside the engine on the memory of storages, such as a collective with other processes.
pub trait ExternalWork: Send + Sync {
    /// Waits until the work has ended.
    ///
    /// # Errors
    /// The work failed, or an interrupt ended the wait.
    fn wait(&self) -> Result<()>;
    /// Returns true if the work has ended with an error.
    fn has_failed(&self) -> bool;
}

/// The bit of `shared` that [`Storage::share`] sets, above any count of loans.
const FOREVER: u32 = 1 << 31;

/// Keeps a storage marked as shared with code outside the engine, until it is dropped.
#[derive(Debug)]
pub struct SharedGuard {
    storage: Arc<Storage>,
    /// The number of the loan, if the storage has the work for which it is shared.
    loan: Option<u64>,
}

/// What work outside the engine, or an operation, does with a part of a storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The contents stay as they are.
    Reads,
    /// The contents are known only once the work has succeeded.
    Writes,
}

/// All bytes of a storage.
const WHOLE: Range<usize> = 0..usize::MAX;

/// Work outside the engine on some bytes of a storage.
struct Loan {
    number: u64,
    work: Arc<dyn ExternalWork>,
    access: Access,
    bytes: Range<usize>,
}

impl Loan {
    /// Returns true unless both read, or one touches no byte of the other.
    fn conflicts(&self, access: Access, bytes: &Range<usize>) -> bool {
        let overlap = self.bytes.start < bytes.end && bytes.start < self.bytes.end;
        overlap && (self.access == Access::Writes || access == Access::Writes)
    }
}

impl SharedGuard {
    /// Makes what conflicts with `work` on these bytes of the storage wait for it, until the guard is dropped. If the
    /// work writes and has failed by then, what conflicts with it fails as it did from then on.
    pub fn during(mut self, work: Arc<dyn ExternalWork>, access: Access, bytes: Range<usize>) -> SharedGuard {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        self.storage.loans().push(Loan { number, work, access, bytes });
        self.loan = Some(number);
        self
    }
}

impl Drop for SharedGuard {
    fn drop(&mut self) {
        if let Some(number) = self.loan {
            let mut loans = self.storage.loans();
            let at = loans.iter().position(|loan| loan.number == number);
            let at = at.expect("a loan stays until its guard is dropped");
            if loans[at].access == Access::Writes && loans[at].work.has_failed() {
                return;
            }
            loans.swap_remove(at);
        }
        self.storage.shared.fetch_sub(1, Release);
    }
}

/// The contents of a storage between two writes. Before the write that ends an epoch, the contents are copied if a
/// [`Saved`] refers to them: one copy for all that do.
#[derive(Debug, Default)]
pub struct Epoch(OnceLock<Arc<Storage>>);

impl Epoch {
    /// Stores the copy of the contents.
    pub fn set_copy(&self, copy: Arc<Storage>) {
        let _ = self.0.set(copy);
    }
}

/// An array as it was when it was saved. Later writes to its memory do not change it.
#[derive(Clone, Debug)]
pub struct Saved {
    array: Array,
    epoch: Arc<Epoch>,
}

impl Saved {
    /// Saves the present contents of an array.
    pub fn new(array: &Array) -> Saved {
        let mut epoch = array.storage.epoch.lock().unwrap_or_else(|e| e.into_inner());
        array.storage.watched.store(true, Relaxed);
        Saved { array: array.clone(), epoch: epoch.get_or_insert_default().clone() }
    }

    /// Returns the array with the contents that were saved.
    pub fn array(&self) -> Array {
        match self.epoch.0.get() {
            Some(copy) => Array { storage: copy.clone(), layout: self.array.layout.clone() },
            None => self.array.clone(),
        }
    }
}

// SAFETY: the cells are accessed only while the engine's lock is held (see the type's invariants).
unsafe impl Send for Storage {}
// SAFETY: the cells are accessed only while the engine's lock is held, so never by two threads at once.
unsafe impl Sync for Storage {}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} bytes on device {})", self.bytes, self.device)
    }
}

impl Storage {
    /// Creates a storage whose value is pending.
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
            loans: Mutex::default(),
        }
    }

    /// Creates a storage with memory.
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
            loans: Mutex::default(),
        }
    }

    /// Ends the present epoch, because the storage is about to be written. Returns the epoch if its contents must be
    /// copied first.
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
        self.shared.load(Acquire) != 0
    }

    /// Marks the memory as shared with code outside the engine, until the storage is dropped.
    pub fn share(&self) {
        self.shared.fetch_or(FOREVER, Relaxed);
    }

    /// Marks the memory as shared with code outside the engine until the guard is dropped.
    pub fn share_scoped(self: &Arc<Storage>) -> SharedGuard {
        self.shared.fetch_add(1, Relaxed);
        SharedGuard { storage: self.clone(), loan: None }
    }

    fn loans(&self) -> MutexGuard<'_, Vec<Loan>> {
        self.loans.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Waits for all work of other code on the memory whose end is known.
    ///
    /// # Errors
    /// The work failed, or an interrupt ended the wait.
    pub fn wait_for_external(&self) -> Result<()> {
        self.wait_for(Access::Writes, WHOLE)
    }

    /// Waits for the work of other code that writes to the memory, if its end is known.
    ///
    /// # Errors
    /// The work failed, or an interrupt ended the wait.
    pub fn wait_for_writers(&self) -> Result<()> {
        self.wait_for(Access::Reads, WHOLE)
    }

    /// Waits for the work of other code, if its end is known, that conflicts with such an access to these bytes.
    ///
    /// # Errors
    /// The work failed, or an interrupt ended the wait.
    #[cold]
    pub fn wait_for(&self, access: Access, bytes: Range<usize>) -> Result<()> {
        let conflicting = |loan: &&Loan| loan.conflicts(access, &bytes);
        let works: Vec<_> = self.loans().iter().filter(conflicting).map(|loan| loan.work.clone()).collect();
        works.iter().try_for_each(|work| work.wait())
    }

    /// Returns the latest version, if it is not computed yet.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn latest_version(&self) -> Option<Version> {
        self.latest.get()
    }

    /// Sets the latest version, or `None` once it is computed.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn set_latest_version(&self, latest: Option<Version>) {
        self.latest.set(latest);
    }

    /// Returns the memory, or `None` while the first value is pending.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn buffer(&self) -> Option<Buffer> {
        // SAFETY: the caller holds the lock, so nobody writes.
        unsafe { (*self.buffer.get()).clone() }
    }

    /// Returns true if the value was given up because the program that computes it did not fit into memory.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn is_lost(&self) -> bool {
        // SAFETY: the caller holds the lock, so nobody writes.
        self.latest.get().is_none() && unsafe { (*self.buffer.get()).is_none() }
    }

    /// Sets the memory.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn set_buffer(&self, buffer: Buffer) {
        // SAFETY: the caller holds the lock, so nobody else reads or writes.
        unsafe { *self.buffer.get() = Some(buffer) }
    }

    /// Discards contents that are only partly written. Reading them is an error from now on.
    ///
    /// # Safety
    /// The engine's lock is held, and no running program uses the memory.
    pub unsafe fn discard(&self) {
        // SAFETY: the caller holds the lock, so nobody else reads or writes.
        unsafe { *self.buffer.get() = None }
    }

    /// Returns the number of references that tapes hold. All others are handles.
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
