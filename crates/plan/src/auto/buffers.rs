//! The memory of "auto": twin buffers, and the table that finds them by address.

use std::ops::{Index, IndexMut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_core::{Buffer, Error, Memory, Result};

use super::{GPU, HOST};

/// A buffer with memory on either side or both.
#[derive(Default)]
pub(super) struct TwinBuffer {
    pub(super) bytes: usize,
    pub(super) memory: [Option<Buffer>; 2],
    /// The sides that hold the present contents. Before the first write, neither does.
    pub(super) valid: [bool; 2],
    /// The side that it was copied to or written on last. A write on the other side costs the copy back.
    pub(super) home: usize,
    /// Seconds that programs have lost because the data stayed where they are.
    pub(super) loss: f64,
    /// Counter of the program that wrote a buffer of this slot last: how many bytes of its results the host read. A
    /// program that repeats itself mostly gets the same slots.
    writer: Option<Arc<AtomicU64>>,
    /// That program wrote the present contents.
    written: bool,
    /// The engine holds it.
    held: bool,
}

impl TwinBuffer {
    /// Returns the side to which the contents must be copied for a program on `side`: that side, or the other one if a
    /// write takes them away from there.
    #[inline]
    pub(super) fn copy_direction(&self, side: usize, written: bool) -> Option<usize> {
        if !self.valid[side] && self.valid[1 - side] {
            return Some(side);
        }
        (written && self.valid == [true, true] && self.home != side).then_some(1 - side)
    }

    /// Marks a side as written. Returns the memory of the other side, which the caller drops after it has unlocked the
    /// table.
    #[inline]
    pub(super) fn written(&mut self, side: usize, writer: &Arc<AtomicU64>) -> Option<Buffer> {
        if self.writer.as_ref().is_none_or(|known| !Arc::ptr_eq(known, writer)) {
            self.writer = Some(writer.clone());
        }
        self.written = true;
        if self.home != side {
            (self.home, self.loss) = (side, 0.0);
        }
        self.valid = [side == HOST, side == GPU];
        self.memory[1 - side].take()
    }

    /// Records that the host reads `bytes` of it.
    pub(super) fn read(&self, bytes: usize) {
        if let Some(read) = self.writer.as_ref().filter(|_| self.written) {
            read.store(bytes as u64, Relaxed);
        }
    }
}

/// All twin buffers. The address of a buffer is its slot, followed by [`OFFSET_BITS`] bits for the byte offset.
#[derive(Default)]
pub(super) struct Table(Mutex<Slots>);

/// The table, locked. A buffer keeps its slot while its [`Handle`] lives; the engine holds the handles of everything
/// that a program touches.
#[derive(Default)]
pub(super) struct Slots {
    buffers: Vec<TwinBuffer>,
    free: Vec<u32>,
}

const OFFSET_BITS: u32 = 40;

/// What the engine holds of a twin buffer.
struct Handle {
    base: u64,
    bytes: usize,
    table: Arc<Table>,
}

impl Memory for Handle {
    fn address(&self) -> u64 {
        self.base
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut slots = self.table.open();
        let at = slot_of(self.base);
        let twin = &mut slots.buffers[at];
        twin.held = false;
        let freed = std::mem::take(&mut twin.memory);
        slots.free.push(at as u32);
        // The memory is freed without the table's lock.
        drop(slots);
        drop(freed);
    }
}

/// Returns the slot of an address. 0 is not a valid address.
fn slot_of(address: u64) -> usize {
    ((address >> OFFSET_BITS) as usize).wrapping_sub(1)
}

impl Slots {
    /// Returns the slot and the byte offset of an address, or `None` if it is not in the table.
    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<(usize, u64)> {
        let at = slot_of(address);
        let twin = self.buffers.get(at)?;
        let offset = address & ((1 << OFFSET_BITS) - 1);
        (twin.held && offset <= twin.bytes as u64).then_some((at, offset))
    }
}

impl Index<usize> for Slots {
    type Output = TwinBuffer;
    fn index(&self, at: usize) -> &TwinBuffer {
        &self.buffers[at]
    }
}

impl IndexMut<usize> for Slots {
    fn index_mut(&mut self, at: usize) -> &mut TwinBuffer {
        &mut self.buffers[at]
    }
}

impl Table {
    pub(super) fn open(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns a twin buffer without memory, or with memory on the host.
    pub(super) fn create(self: &Arc<Table>, bytes: usize, host: Option<Buffer>) -> Buffer {
        let mut slots = self.open();
        let at = slots.free.pop().map_or(slots.buffers.len(), |at| at as usize);
        if at == slots.buffers.len() {
            slots.buffers.push(TwinBuffer::default());
        }
        let twin = &mut slots.buffers[at];
        (twin.bytes, twin.held, twin.written) = (bytes, true, false);
        (twin.valid, twin.home, twin.loss) = ([host.is_some(), false], HOST, 0.0);
        twin.memory = [host, None];
        drop(slots);
        Arc::new(Handle { base: (at as u64 + 1) << OFFSET_BITS, bytes, table: self.clone() })
    }

    /// Returns what [`Slots::find`] returns.
    ///
    /// # Errors
    /// The address is not in the table.
    pub(super) fn find(&self, address: u64) -> Result<(usize, u64)> {
        self.open().find(address).ok_or_else(|| {
            Error::not_implemented(
                "[auto] memory of other libraries cannot be used on the device \"auto\"; copy it with \
                 cuprous.array first",
            )
        })
    }
}
