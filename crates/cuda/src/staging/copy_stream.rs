//! The stream for large copies from the host, which run beside the device's work, and the blocks that they write to.
//!
//! Invariant: the copy stream writes to a block only after the work that used it last. Blocks that were given back wait
//! here, each with an event recorded on the working stream when it came. A block from the pool may have been used by
//! any work submitted so far. The working stream waits for a copy before it continues, so blocks may go back to the
//! pool.

use std::collections::VecDeque;

use crate::driver::{Context, DevPtr, Event, Stream};
use crate::error::Result;

/// Copies of at least this many bytes use the copy stream. Below, its events cost more than the overlap gains.
pub(crate) const COPY_STREAM_BYTES: usize = 256 << 10;
/// Bounds on the waiting blocks: their number and their bytes.
const MAX_BLOCKS: usize = 16;
const MAX_BYTES: u64 = 1 << 30;

/// A block that was given back.
#[derive(Debug)]
struct Waiting {
    address: DevPtr,
    bytes: u64,
    /// Recorded after the last work that used the block.
    last_use: Event,
}

/// The copy stream and the blocks that wait for its next copy.
#[derive(Debug)]
pub(crate) struct CopyStream {
    stream: Stream,
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl CopyStream {
    /// Creates the stream, with no blocks.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn new(context: &'static Context) -> Result<CopyStream> {
        Ok(CopyStream { stream: Stream::new(context)?, waiting: VecDeque::new(), bytes: 0 })
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Takes a waiting block of about that size, which the copy stream may write to from now on: one whose work is
    /// done, or, if there are several, the one that has waited longest. A single block whose work is not done is not
    /// taken: copies and work would then alternate. With three blocks, one is written while the work with the second
    /// runs and the work with the third is waited for.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    pub(crate) fn reuse(&mut self, bytes: u64) -> Result<Option<DevPtr>> {
        let fits = |block: &Waiting| (bytes..=bytes + bytes / 8).contains(&block.bytes);
        let mut fitting: Vec<usize> = Vec::new();
        let mut chosen = None;
        for (k, block) in self.waiting.iter().enumerate().filter(|(_, block)| fits(block)) {
            fitting.push(k);
            if block.last_use.is_done()? {
                chosen = Some(k);
                break;
            }
        }
        let chosen = chosen.or(fitting.first().copied().filter(|_| fitting.len() > 1));
        let Some(block) = chosen.and_then(|k| self.waiting.remove(k)) else { return Ok(None) };
        self.bytes -= block.bytes;
        self.stream.wait_event(&block.last_use)?;
        Ok(Some(block.address))
    }

    /// Makes the copy stream wait for all work submitted to `stream` so far, which may have used a new block.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn wait_for(&self, stream: &Stream) -> Result<()> {
        let now = Event::new(stream.context())?;
        now.record(stream)?;
        self.stream.wait_event(&now)
    }

    /// Makes `stream` wait for the copies submitted so far.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn make_wait(&self, stream: &Stream) -> Result<()> {
        let now = Event::new(stream.context())?;
        now.record(&self.stream)?;
        stream.wait_event(&now)
    }

    /// Takes back a block that was used by work submitted to `stream`. Returns the blocks that exceed the bounds and go
    /// back to the pool.
    ///
    /// # Errors
    /// The driver fails. The block then goes back to the pool too.
    pub(crate) fn recycle(&mut self, address: DevPtr, bytes: u64, stream: &Stream) -> Result<Vec<DevPtr>> {
        let last_use = Event::new(stream.context())?;
        last_use.record(stream)?;
        self.waiting.push_back(Waiting { address, bytes, last_use });
        self.bytes += bytes;
        let mut evicted = Vec::new();
        while (self.bytes > MAX_BYTES || self.waiting.len() > MAX_BLOCKS)
            && let Some(block) = self.waiting.pop_front()
        {
            self.bytes -= block.bytes;
            evicted.push(block.address);
        }
        Ok(evicted)
    }

    /// Takes all waiting blocks out, to give them back to the pool.
    pub(crate) fn take_all(&mut self) -> Vec<DevPtr> {
        self.bytes = 0;
        self.waiting.drain(..).map(|block| block.address).collect()
    }

    /// Returns the bytes of the waiting blocks.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.bytes
    }
}
