//! What "auto" has for memory: duals, and the table in which they are found by address.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_core::{Buffer, Error, Memory, Result};

/// Memory on either side or both.
pub(super) struct Dual {
    base: u64,
    pub(super) bytes: usize,
    pub(super) places: Mutex<Places>,
}

#[derive(Default)]
pub(super) struct Places {
    pub(super) memory: [Option<Buffer>; 2],
    /// Which sides hold the present contents. Neither does before the first write.
    pub(super) valid: [bool; 2],
    /// The side to which it was brought, or where it was written, last. A write on the other side costs the way back.
    pub(super) home: usize,
    /// Seconds that programs have lost by leaving it where it is.
    pub(super) owed: f64,
    /// Where the program that wrote it keeps how many bytes of its results the host read.
    pub(super) writer: Option<Arc<AtomicU64>>,
}

/// Every dual; its address is its place here, followed by so many bits for what lies inside.
#[derive(Default)]
pub(super) struct Table(Mutex<Slots>);

#[derive(Default)]
struct Slots {
    duals: Vec<Option<Arc<Dual>>>,
    free: Vec<u32>,
}

const INSIDE: u32 = 40;

/// What the engine holds of a dual.
struct Handle {
    dual: Arc<Dual>,
    table: Arc<Table>,
}

impl Memory for Handle {
    fn address(&self) -> u64 {
        self.dual.base
    }
    fn bytes(&self) -> usize {
        self.dual.bytes
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut slots = lock(&self.table.0);
        let at = slot(self.dual.base);
        slots.duals[at] = None;
        slots.free.push(at as u32);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Address 0 is nobody's.
fn slot(address: u64) -> usize {
    ((address >> INSIDE) as usize).wrapping_sub(1)
}

impl Dual {
    /// What stands for memory that a program does not use.
    pub(super) fn nothing() -> Arc<Dual> {
        Arc::new(Dual { base: 0, bytes: 0, places: Mutex::default() })
    }

    /// Its memory on a side that holds the present contents.
    pub(super) fn there(&self, side: usize) -> Option<Buffer> {
        let places = lock(&self.places);
        if places.valid[side] { places.memory[side].clone() } else { None }
    }
}

/// The table, locked.
pub(super) struct Open<'a>(MutexGuard<'a, Slots>);

impl Open<'_> {
    /// See [`Table::find`]; none for what is not in the table.
    pub(super) fn find(&self, address: u64) -> Option<(&Arc<Dual>, u64)> {
        let dual = self.0.duals.get(slot(address))?.as_ref()?;
        let at = address - dual.base;
        (at <= dual.bytes as u64).then_some((dual, at))
    }
}

impl Table {
    /// For several that are looked up together.
    pub(super) fn open(&self) -> Open<'_> {
        Open(lock(&self.0))
    }

    pub(super) fn make(self: &Arc<Table>, bytes: usize) -> Buffer {
        let mut slots = lock(&self.0);
        let at = slots.free.pop().map_or(slots.duals.len(), |at| at as usize);
        let dual = Arc::new(Dual { base: (at as u64 + 1) << INSIDE, bytes, places: Mutex::default() });
        match slots.duals.get_mut(at) {
            Some(slot) => *slot = Some(dual.clone()),
            None => slots.duals.push(Some(dual.clone())),
        }
        Arc::new(Handle { dual, table: self.clone() })
    }

    /// The dual that an address lies in, and how far inside.
    pub(super) fn find(&self, address: u64) -> Result<(Arc<Dual>, u64)> {
        self.open().find(address).map(|(dual, at)| (dual.clone(), at)).ok_or_else(|| {
            Error::not_implemented(
                "[auto] memory of others cannot be used on the device \"auto\"; copy it with cuprous.array first",
            )
        })
    }
}
