//! Page-locked memory for the host's own arrays. The device copies from it without a host thread.

use std::collections::BTreeMap;

use crate::driver::{Context, Event, PinnedBuffer, Stream};
use crate::error::Result;

/// Bytes of unused memory that are kept: locking pages takes a thousand times as long as filling them.
const MAX_FREE_BYTES: usize = 512 << 20;

/// One page-locked block.
#[derive(Debug)]
struct PinnedBlock {
    buffer: PinnedBuffer,
    /// Event recorded after the latest copy from this block.
    last_read: Option<Event>,
}

/// Blocks in use by address, and free blocks.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    used: BTreeMap<u64, PinnedBlock>,
    free: Vec<PinnedBlock>,
}

impl Pinned {
    /// Allocates at least `bytes` bytes and returns their address.
    ///
    /// # Errors
    /// The host is out of memory, or the driver fails.
    pub(crate) fn alloc(&mut self, context: &'static Context, bytes: usize) -> Result<u64> {
        let bytes = bytes.max(1).next_multiple_of(64 << 10);
        let idle = |block: &PinnedBlock| block.last_read.as_ref().is_none_or(|event| event.is_done().unwrap_or(false));
        let fits = |block: &PinnedBlock| (bytes..=2 * bytes).contains(&block.buffer.len()) && idle(block);
        let block = match self.free.iter().position(fits) {
            Some(k) => self.free.swap_remove(k),
            None => PinnedBlock { buffer: PinnedBuffer::new(context, bytes)?, last_read: None },
        };
        let address = block.buffer.as_ptr() as u64;
        self.used.insert(address, PinnedBlock { last_read: None, ..block });
        Ok(address)
    }

    /// Takes memory back. It is handed out again once no copy reads it.
    pub(crate) fn free(&mut self, address: u64) {
        self.free.extend(self.used.remove(&address));
        let mut bytes: usize = self.free.iter().map(|block| block.buffer.len()).sum();
        while bytes > MAX_FREE_BYTES && !self.free.is_empty() {
            bytes -= self.free.remove(0).buffer.len();
        }
    }

    /// Returns true if the range lies within one block in use.
    pub(crate) fn contains(&self, start: *const u8, bytes: usize) -> bool {
        let start = start as u64;
        let before = self.used.range(..=start).next_back();
        before.is_some_and(|(&at, block)| start + bytes as u64 <= at + block.buffer.len() as u64)
    }

    /// Records that the work submitted to `stream` so far reads the block that contains `start`.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn record_read(&mut self, start: *const u8, stream: &Stream) -> Result<()> {
        let event = Event::new(stream.context())?;
        event.record(stream)?;
        if let Some((_, block)) = self.used.range_mut(..=start as u64).next_back() {
            block.last_read = Some(event);
        }
        Ok(())
    }
}
