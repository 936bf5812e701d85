//! Memory for what comes from the host, and the stream on which it comes, beside the device's work.
//!
//! Invariant: the copying stream writes to a block only after the work that used it last. Blocks that were given back wait
//! here, each behind an event recorded on the working stream when it came; a block from the pool may have been used by
//! anything submitted so far. The working stream waits for a copy before it goes on, so blocks may go back to the pool.

use std::collections::VecDeque;

use crate::driver::{Context, DevPtr, Event, Stream};
use crate::error::Result;

/// Bytes from which a copy takes this way: below, its events cost more than what it could run beside.
pub(crate) const APART: usize = 256 << 10;
/// Blocks and bytes that wait here, at most.
const BLOCKS: usize = 16;
const BYTES: u64 = 1 << 30;

/// A block that was given back.
#[derive(Debug)]
struct Waiting {
    address: DevPtr,
    bytes: u64,
    /// Behind the work that used it.
    used: Event,
}

/// The copying stream and the blocks that wait.
#[derive(Debug)]
pub(crate) struct Arrivals {
    stream: Stream,
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Arrivals {
    /// # Errors
    /// The driver's.
    pub(crate) fn new(context: &'static Context) -> Result<Arrivals> {
        Ok(Arrivals { stream: Stream::new(context)?, waiting: VecDeque::new(), bytes: 0 })
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A waiting block of about that size, which the copying stream may write to from now on: one whose work is done,
    /// or else, where there are several, the one that has waited longest. To wait for a single one would be to copy and
    /// work in turns; with three blocks, one is copied to while the work with another is under way and that with the
    /// third is waited for.
    ///
    /// # Errors
    /// The driver's, or earlier work failed.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<Option<DevPtr>> {
        let fits = |block: &Waiting| (bytes..=bytes + bytes / 8).contains(&block.bytes);
        let mut several: Vec<usize> = Vec::new();
        let mut chosen = None;
        for (k, block) in self.waiting.iter().enumerate().filter(|(_, block)| fits(block)) {
            several.push(k);
            if block.used.is_done()? {
                chosen = Some(k);
                break;
            }
        }
        let chosen = chosen.or(several.first().copied().filter(|_| several.len() > 1));
        let Some(block) = chosen.and_then(|k| self.waiting.remove(k)) else { return Ok(None) };
        self.bytes -= block.bytes;
        self.stream.wait_event(&block.used)?;
        Ok(Some(block.address))
    }

    /// Lets the copying stream write to a block that may have been used by all that was submitted to `stream` so far.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn follow(&self, stream: &Stream) -> Result<()> {
        let now = Event::new(stream.context())?;
        now.record(stream)?;
        self.stream.wait_event(&now)
    }

    /// Lets `stream` use what was copied so far.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn lead(&self, stream: &Stream) -> Result<()> {
        let now = Event::new(stream.context())?;
        now.record(&self.stream)?;
        stream.wait_event(&now)
    }

    /// Takes a block back that work submitted to `stream` used; gives those that are to go to the pool.
    ///
    /// # Errors
    /// The driver's: then the block is for the pool as well.
    pub(crate) fn give_back(&mut self, address: DevPtr, bytes: u64, stream: &Stream) -> Result<Vec<DevPtr>> {
        let used = Event::new(stream.context())?;
        used.record(stream)?;
        self.waiting.push_back(Waiting { address, bytes, used });
        self.bytes += bytes;
        let mut gone = Vec::new();
        while (self.bytes > BYTES || self.waiting.len() > BLOCKS)
            && let Some(block) = self.waiting.pop_front()
        {
            self.bytes -= block.bytes;
            gone.push(block.address);
        }
        Ok(gone)
    }

    /// Gives all blocks for the pool.
    pub(crate) fn empty(&mut self) -> Vec<DevPtr> {
        self.bytes = 0;
        self.waiting.drain(..).map(|block| block.address).collect()
    }

    /// Bytes that wait here.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.bytes
    }
}
