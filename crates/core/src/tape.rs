//! The tape: the operations that a thread has recorded since its last program.

use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use crate::node::SrcKind;
use crate::storage::Version;
use crate::{Array, In, LayoutRef, Node, NodeKind, RoutineRef, Scalar, Src, Storage};

/// The recorded operations of one thread on one device, and everything to which they refer.
///
/// Invariants:
/// - A tape is used only while the engine's lock is held.
/// - An operand of a node is an earlier node, a leaf in `leaves`, a constant in `consts`, or the index.
/// - Operands that were pending on another tape are computed before they become leaves here.
/// - `owners[i]` is the storage that node `i` writes. It is `None` if only later nodes of this tape can read the value.
/// - `layouts` keeps alive every layout whose id is in a node. `routines` does the same for interned routines,
///   `launches` for launches.
#[derive(Debug)]
pub struct Tape {
    /// This tape's index in the engine.
    pub index: u32,
    /// A number that changes with each program, and that no other tape has.
    pub serial: u64,
    /// The operations, in order.
    pub nodes: Vec<Node>,
    /// The storage that each node writes.
    pub owners: Vec<Option<Arc<Storage>>>,
    /// Storages with memory that nodes read.
    pub leaves: Vec<Arc<Storage>>,
    /// Values of constant operands, in order of use.
    pub consts: Vec<Scalar>,
    /// Every layout in use, at least once.
    pub layouts: Vec<LayoutRef>,
    /// The interned routines in use.
    pub routines: Vec<RoutineRef>,
    /// The launches of users' kernels, in the engine's representation.
    pub launches: Vec<Arc<dyn Any + Send + Sync>>,
    /// The number of launches.
    pub launch_count: usize,
    /// True if the source location of each operation is recorded: after a program that was not recognized, and if
    /// [`ALWAYS_TRACK`] is set.
    pub tracked: bool,
    /// The source location of each node, if `tracked`.
    pub locations: Vec<u32>,
    /// True if other threads record too, so that the leaf slot noted in a storage may be another tape's.
    pub contended: bool,
    /// The length of the repetition with which the tape ends, or 0 if none was found.
    pub period: usize,
    /// The position in the repetition, counted from the start of the tape, at which the tape should end.
    pub phase: usize,
    /// The number of nodes at the last search for a repetition.
    pub searched: usize,
    /// The recorded work in bytes: the memory that each operation moves, or for arithmetic the bytes that take as long
    /// ([`crate::RoutineOp::work`]).
    pub work: u64,
    /// The number of nodes at which the tape ends because it holds enough work; `usize::MAX` if it does not.
    pub ends_at: usize,
}

/// Returns the number of the source location that is recording now, or 0 if it is unknown. Set once by the Python
/// bindings.
pub static CURRENT_LOCATION: OnceLock<fn() -> u32> = OnceLock::new();
/// Formats the source location of a number. Set once by the Python bindings.
pub static FORMAT_LOCATION: OnceLock<fn(u32) -> String> = OnceLock::new();

/// Records source locations at all times, so that every runtime error can name lines. Set once by the Python bindings.
pub static ALWAYS_TRACK: AtomicBool = AtomicBool::new(false);

thread_local! {
    static LOCATION: Cell<u32> = const { Cell::new(0) };
}

/// Stores the source location that is recording now for [`captured_location`]. This may run Python code, so no lock may
/// be held.
pub fn capture_location() {
    LOCATION.set(CURRENT_LOCATION.get().map_or(0, |location| location()));
}

/// Returns the source location that the calling thread captured last.
pub fn captured_location() -> u32 {
    LOCATION.get()
}

/// Formats a source location as ` (file:line)`, or as an empty string if it is unknown.
pub fn format_location(location: Option<&u32>) -> String {
    match (location, FORMAT_LOCATION.get()) {
        (Some(&location), Some(format)) if location != 0 => format!(" ({})", format(location)),
        _ => String::new(),
    }
}

static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Tape {
    /// Creates an empty tape.
    pub fn new(index: u32) -> Tape {
        Tape {
            index,
            serial: SERIAL.fetch_add(1, Relaxed),
            nodes: Vec::new(),
            owners: Vec::new(),
            leaves: Vec::new(),
            consts: Vec::new(),
            layouts: Vec::new(),
            routines: Vec::new(),
            launches: Vec::new(),
            launch_count: 0,
            tracked: ALWAYS_TRACK.load(Relaxed),
            locations: Vec::new(),
            contended: false,
            period: 0,
            phase: 0,
            searched: 0,
            work: 0,
            ends_at: usize::MAX,
        }
    }

    /// Keeps a layout alive and returns its id.
    #[inline]
    pub fn keep_layout(&mut self, layout: &LayoutRef) -> u32 {
        if layout.tape_serial.load(Relaxed) != self.serial {
            layout.tape_serial.store(self.serial, Relaxed);
            self.layouts.push(layout.clone());
        }
        layout.id
    }

    /// Returns a constant as an operand. `scalar` is a 0-d layout of the constant's dtype.
    #[inline]
    pub fn constant(&mut self, value: Scalar, scalar: &LayoutRef) -> In {
        let layout = self.keep_layout(scalar);
        self.consts.push(value);
        In { src: Src::constant(self.consts.len() as u32 - 1), layout }
    }

    /// Returns the latest version of a storage as an operand's source.
    ///
    /// # Safety
    /// The engine's lock is held, and the storage is not pending on another tape.
    #[inline]
    pub unsafe fn source(&mut self, storage: &Arc<Storage>) -> Src {
        // SAFETY: the caller holds the lock.
        if let Some(latest) = unsafe { storage.latest_version() } {
            debug_assert_eq!(latest.tape, self.index);
            return Src::node(latest.node);
        }
        let (serial, slot) = storage.leaf().get();
        if serial == self.serial {
            return Src::leaf(slot);
        }
        if self.contended
            && let Some(slot) = self.leaves.iter().position(|leaf| Arc::ptr_eq(leaf, storage))
        {
            return Src::leaf(slot as u32);
        }
        let slot = self.leaves.len() as u32;
        storage.leaf().set((self.serial, slot));
        storage.tape_refs().set(storage.tape_refs().get() + 1);
        self.leaves.push(storage.clone());
        Src::leaf(slot)
    }

    /// Turns the recording of source locations on or off.
    pub fn track(&mut self, on: bool) {
        self.tracked = on || ALWAYS_TRACK.load(Relaxed);
    }

    /// Returns the source location of operation `node` as ` (file:line)`, or an empty string if it was not recorded.
    pub fn location(&self, node: usize) -> String {
        format_location(self.locations.get(node))
    }

    #[inline]
    fn record_location(&mut self) {
        if self.tracked {
            self.locations.push(LOCATION.get());
        }
    }

    /// Records a node that creates an array with layout `out` (C-contiguous).
    #[inline]
    pub fn push(&mut self, kind: NodeKind, fun: u8, nin: u8, out: &LayoutRef, ins: [In; 3], device: u8) -> Array {
        let node = self.nodes.len() as u32;
        let id = self.keep_layout(out);
        self.nodes.push(Node { kind, fun, nin, spare: 0, out: id, ins });
        self.record_location();
        let bytes = out.size as usize * out.dtype.size();
        self.work = self.work.saturating_add(bytes as u64);
        let storage = Arc::new(Storage::pending(bytes, device, Version { tape: self.index, node }));
        self.owners.push(Some(storage.clone()));
        Array { storage, layout: out.clone() }
    }

    /// Records a node whose value only later nodes of this tape read. Its layout `out` is C-contiguous.
    #[inline]
    pub fn push_intermediate(
        &mut self,
        kind: NodeKind,
        fun: u8,
        nin: u8,
        out: &LayoutRef,
        ins: [In; 3],
        formula: u8,
    ) -> In {
        let node = self.nodes.len() as u32;
        let layout = self.keep_layout(out);
        self.nodes.push(Node { kind, fun, nin, spare: formula, out: layout, ins });
        self.record_location();
        self.work = self.work.saturating_add(out.size as u64 * out.dtype.size() as u64);
        self.owners.push(None);
        In { src: Src::node(node), layout }
    }

    /// Records a write to `target`'s storage, which creates a new version of it.
    ///
    /// # Safety
    /// The engine's lock is held, and the storage is not pending on another tape.
    pub unsafe fn push_write(&mut self, kind: NodeKind, fun: u8, nin: u8, target: &Array, ins: [In; 3]) {
        debug_assert!(matches!(kind, NodeKind::Update | NodeKind::Scatter | NodeKind::Launch));
        let node = self.nodes.len() as u32;
        let id = self.keep_layout(&target.layout);
        self.nodes.push(Node { kind, fun, nin, spare: 0, out: id, ins });
        self.record_location();
        self.work = self.work.saturating_add(target.layout.size as u64 * target.dtype().size() as u64);
        let storage = &target.storage;
        // SAFETY: the caller holds the lock.
        unsafe { storage.set_latest_version(Some(Version { tape: self.index, node })) };
        storage.tape_refs().set(storage.tape_refs().get() + 1);
        self.owners.push(Some(storage.clone()));
    }

    /// Records one array argument of a launch, or a launch without array arguments: see [`NodeKind::Launch`]. `names`
    /// are the node's second and third operand.
    ///
    /// # Safety
    /// The engine's lock is held, and the storage is not pending on another tape.
    pub unsafe fn push_launch(&mut self, array: Option<&Array>, first: bool, names: [In; 2], none: &LayoutRef) {
        let [second, third] = names;
        let Some(array) = array else {
            self.push_intermediate(NodeKind::Launch, u8::from(first), 0, none, [In::default(), second, third], 0);
            return;
        };
        // SAFETY: the caller holds the lock.
        let src = unsafe { self.source(&array.storage) };
        let base = In { src, layout: self.keep_layout(&array.layout) };
        // SAFETY: the caller holds the lock, and the storage is not pending on another tape.
        unsafe { self.push_write(NodeKind::Launch, u8::from(first), 1, array, [base, second, third]) };
    }

    /// Sets `live[i]` to true if a handle outside the tape can still read the value of node `i`.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn liveness(&self, live: &mut Vec<bool>) {
        live.clear();
        live.extend(self.owners.iter().enumerate().map(|(node, storage)| {
            let Some(storage) = storage else { return false };
            // SAFETY: the caller holds the lock.
            let latest = unsafe { storage.latest_version() };
            latest == Some(Version { tape: self.index, node: node as u32 })
                && Arc::strong_count(storage) > storage.tape_refs().get() as usize
        }));
    }

    /// Gives up one new value that is still referenced, so that the rest may fit into memory, and returns its node. It
    /// is the value whose computation needs the largest array, which may be the value itself or an intermediate result.
    ///
    /// # Safety
    /// The engine's lock is held.
    pub unsafe fn give_up_largest(&mut self) -> Option<usize> {
        let is_pending = |node: usize| {
            let Some(storage) = &self.owners[node] else { return false };
            // SAFETY: the caller holds the lock.
            let (latest, has_memory) = unsafe { (storage.latest_version(), storage.buffer().is_some()) };
            latest == Some(Version { tape: self.index, node: node as u32 }) && !has_memory
        };
        let bytes = |node: usize| self.owners[node].as_ref().map_or(0, |storage| storage.bytes);
        let mut needed: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let for_operand = |read: &In| match read.src.kind() {
                SrcKind::Node(operand) => needed[operand as usize],
                _ => 0,
            };
            let largest = node.operands().iter().map(for_operand).max().unwrap_or(0);
            needed.push(largest.max(bytes(index)));
        }
        let largest = (0..self.owners.len()).filter(|&n| is_pending(n)).max_by_key(|&n| (needed[n], bytes(n)));
        if let Some(storage) = largest.and_then(|node| self.owners[node].as_ref()) {
            // SAFETY: the caller holds the lock.
            unsafe { storage.set_latest_version(None) };
        }
        largest
    }

    /// Forgets everything recorded, after it has run or was given up.
    ///
    /// # Safety
    /// The engine's lock is held. The storages of live nodes have their memory.
    pub unsafe fn clear(&mut self) {
        for storage in self.owners.iter().flatten() {
            // SAFETY: the caller holds the lock.
            unsafe { storage.set_latest_version(None) };
            storage.tape_refs().set(0);
        }
        for storage in &self.leaves {
            storage.tape_refs().set(0);
        }
        self.serial = SERIAL.fetch_add(1, Relaxed);
        self.nodes.clear();
        self.owners.clear();
        self.leaves.clear();
        self.consts.clear();
        self.layouts.clear();
        self.routines.clear();
        self.launches.clear();
        self.launch_count = 0;
        (self.period, self.phase, self.searched) = (0, 0, 0);
        self.locations.clear();
        self.work = 0;
        self.ends_at = usize::MAX;
    }
}
