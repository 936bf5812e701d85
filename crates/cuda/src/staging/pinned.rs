//! Page-locked memory of the host's own arrays, from which the device copies by itself.

use std::collections::BTreeMap;

use crate::driver::{Context, Event, PinnedBuffer, Stream};
use crate::error::Result;

/// Bytes of unused memory that are kept: to lock pages takes a thousand times as long as to fill them.
const KEPT: usize = 512 << 20;

/// Memory in use.
#[derive(Debug)]
struct Used {
    buffer: PinnedBuffer,
    /// Behind the last copy from it, if there was one.
    read: Option<Event>,
}

/// Blocks in use by address, and blocks for the next to use.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    used: BTreeMap<u64, Used>,
    free: Vec<Used>,
}

impl Pinned {
    /// The address of so many bytes.
    ///
    /// # Errors
    /// The host is out of memory, or the driver fails.
    pub(crate) fn alloc(&mut self, context: &'static Context, bytes: usize) -> Result<u64> {
        let bytes = bytes.max(1).next_multiple_of(64 << 10);
        let idle = |block: &Used| block.read.as_ref().is_none_or(|event| event.is_done().unwrap_or(false));
        let fits = |block: &Used| (bytes..=2 * bytes).contains(&block.buffer.len()) && idle(block);
        let block = match self.free.iter().position(fits) {
            Some(k) => self.free.swap_remove(k),
            None => Used { buffer: PinnedBuffer::new(context, bytes)?, read: None },
        };
        let address = block.buffer.as_ptr() as u64;
        self.used.insert(address, Used { read: None, ..block });
        Ok(address)
    }

    /// Takes memory back; it is used again when no copy reads it any more.
    pub(crate) fn free(&mut self, address: u64) {
        self.free.extend(self.used.remove(&address));
        let mut all: usize = self.free.iter().map(|block| block.buffer.len()).sum();
        while all > KEPT && !self.free.is_empty() {
            all -= self.free.remove(0).buffer.len();
        }
    }

    /// Is the range page-locked memory of ours?
    pub(crate) fn holds(&self, start: *const u8, bytes: usize) -> bool {
        let start = start as u64;
        let before = self.used.range(..=start).next_back();
        before.is_some_and(|(&at, block)| start + bytes as u64 <= at + block.buffer.len() as u64)
    }

    /// Notes that what `stream` was given so far reads memory that starts at or before `start`.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn note(&mut self, start: *const u8, stream: &Stream) -> Result<()> {
        let event = Event::new(stream.context())?;
        event.record(stream)?;
        if let Some((_, block)) = self.used.range_mut(..=start as u64).next_back() {
            block.read = Some(event);
        }
        Ok(())
    }
}
