//! Copies between pageable host memory and the device, through pinned buffers.
//!
//! The driver's own path for pageable memory uses one thread and reaches 7–15 GB/s. Here several threads own two pinned
//! slots each: a thread fills one while the device reads the other, so host copies and PCIe transfers overlap.
//!
//! Invariant: a slot is written only after the event recorded after its last transfer is done.

mod copy_stream;
mod pinned;
mod workers;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::driver::{Context, DevPtr, Event, PinnedBuffer, Stream, memcpy_dtoh_async, memcpy_htod_async};
use crate::error::{CudaError, Result};
pub(crate) use copy_stream::{COPY_STREAM_BYTES, CopyStream};
pub(crate) use pinned::Pinned;
use workers::Workers;

/// Smaller copies use the ring, without events or threads.
const SMALL: usize = 64 << 10;
const RING: usize = 1 << 20;
/// Bytes that a thread copies at a time: enough for PCIe's full rate, few enough that the last piece costs little.
/// Pieces end at multiples of this in the host's memory, so that no two threads fault in the same huge page.
const CHUNK: usize = 2 << 20;
const SLOTS_PER_THREAD: usize = 2;
const MAX_THREADS: usize = 16;
/// With fewer bytes per thread, another thread costs more than it gains.
const BYTES_PER_THREAD: usize = 512 << 10;

/// Pinned buffers and threads for the copies of one device. Copies run one at a time (`&mut self`).
#[derive(Debug)]
pub struct Staging {
    context: &'static Context,
    workers: Workers,
    /// Slots by thread, created on first use.
    slots: Vec<[Slot; SLOTS_PER_THREAD]>,
    ring: Option<Ring>,
}

#[derive(Debug)]
struct Slot {
    buffer: PinnedBuffer,
    /// Recorded after the last transfer from or to the buffer.
    last_use: Event,
}

impl Slot {
    fn new(context: &'static Context) -> Result<Slot> {
        Ok(Slot { buffer: PinnedBuffer::new(context, CHUNK)?, last_use: Event::new(context)? })
    }
}

/// A ring buffer of two halves for small uploads. A half is written again only after the event that was recorded when
/// the other half was begun.
#[derive(Debug)]
struct Ring {
    buffer: PinnedBuffer,
    /// For each half, recorded after the last upload from it.
    last_use: [Event; 2],
    /// The half in use and the first free byte in it.
    half: usize,
    next: usize,
    /// The stream of the uploads from the current half. One event covers them all only if they use one stream.
    stream: usize,
    /// The buffer for small downloads. Each is waited for, so one buffer is enough.
    download: PinnedBuffer,
}

const RING_HALF: usize = RING / 2;

impl Ring {
    fn new(context: &'static Context) -> Result<Ring> {
        Ok(Ring {
            buffer: PinnedBuffer::new(context, RING)?,
            last_use: [Event::new(context)?, Event::new(context)?],
            half: 0,
            next: 0,
            stream: 0,
            download: PinnedBuffer::new(context, SMALL)?,
        })
    }

    /// Returns room for `bytes` bytes (below `SMALL`) that no upload reads any more.
    fn reserve(&mut self, bytes: usize, stream: &Stream) -> Result<*mut u8> {
        let raw = stream.raw() as usize;
        if self.stream != raw {
            // The other stream may have been destroyed, so the whole context is waited for. This is rare, because there
            // is one compute stream.
            if self.next > 0 {
                stream.context().synchronize()?;
            }
            self.stream = raw;
            self.next = 0;
        }
        let mut start = self.next.next_multiple_of(64);
        if start + bytes > RING_HALF {
            self.last_use[self.half].record(stream)?;
            self.half = 1 - self.half;
            self.last_use[self.half].synchronize()?;
            start = 0;
        }
        self.next = start + bytes;
        // SAFETY: `start + bytes` is within the half, and the half is within the buffer.
        Ok(unsafe { self.buffer.as_ptr().add(self.half * RING_HALF + start) })
    }
}

impl Staging {
    /// Creates the state for the copies of a device. Allocates nothing before the first copy.
    #[must_use]
    pub fn new(context: &'static Context) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Staging::with_threads(context, cores.min(MAX_THREADS))
    }

    /// Creates the state with at most `threads` threads.
    #[must_use]
    pub fn with_threads(context: &'static Context, threads: usize) -> Self {
        Staging { context, workers: Workers::new(threads), slots: Vec::new(), ring: None }
    }

    /// Copies from the host. Returns once the source was read; the data arrives on the device in stream order.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    ///
    /// # Safety
    /// Both ranges must be valid, and the source must not be written meanwhile.
    pub unsafe fn upload(&mut self, to: DevPtr, from: *const u8, bytes: usize, stream: &Stream) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        if bytes < SMALL {
            let buffer = self.ring()?.reserve(bytes, stream)?;
            // SAFETY: the caller vouches for the source. The buffer is large enough and no transfer uses it.
            unsafe {
                std::ptr::copy_nonoverlapping(from, buffer, bytes);
                return memcpy_htod_async(to, buffer, bytes, stream);
            }
        }
        let from = Shared(from.cast_mut());
        self.in_chunks(from, bytes, &|slots: &mut [Slot; SLOTS_PER_THREAD], next: &mut dyn FnMut() -> Option<Piece>| {
            for index in (0..SLOTS_PER_THREAD).cycle() {
                let Some(piece) = next() else { break };
                let slot = &slots[index];
                slot.last_use.synchronize()?;
                // SAFETY: the piece is within the ranges that the caller vouches for; the slot is idle.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.at(piece.start), slot.buffer.as_ptr(), piece.bytes);
                    memcpy_htod_async(to.offset(piece.start as i64), slot.buffer.as_ptr(), piece.bytes, stream)?;
                }
                slot.last_use.record(stream)?;
            }
            Ok(())
        })
    }

    /// Copies to the host after the stream's work so far. Returns once the copy is done.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    ///
    /// # Safety
    /// Both ranges must be valid, and the target must not be used meanwhile.
    pub unsafe fn download(&mut self, to: *mut u8, from: DevPtr, bytes: usize, stream: &Stream) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        if bytes < SMALL {
            let buffer = self.ring()?.download.as_ptr();
            // SAFETY: the caller vouches for both ranges. The buffer is large enough and idle, since each use is waited
            // for.
            unsafe { memcpy_dtoh_async(buffer, from, bytes, stream) }?;
            stream.synchronize()?;
            // SAFETY: the caller vouches for the target; the transfer is done.
            unsafe { std::ptr::copy_nonoverlapping(buffer, to, bytes) };
            return Ok(());
        }
        let to = Shared(to);
        self.in_chunks(to, bytes, &|slots: &mut [Slot; SLOTS_PER_THREAD], next: &mut dyn FnMut() -> Option<Piece>| {
            let mut in_flight: [Option<Piece>; SLOTS_PER_THREAD] = [None; SLOTS_PER_THREAD];
            for index in (0..SLOTS_PER_THREAD).cycle() {
                let slot = &slots[index];
                if let Some(piece) = in_flight[index].take() {
                    slot.last_use.synchronize()?;
                    // SAFETY: the transfer into the slot is done; the piece is within the caller's target.
                    unsafe { std::ptr::copy_nonoverlapping(slot.buffer.as_ptr(), to.at(piece.start), piece.bytes) };
                }
                let Some(piece) = next() else {
                    if in_flight.iter().all(Option::is_none) {
                        break;
                    }
                    continue;
                };
                // An upload on another stream may still read the slot.
                slot.last_use.synchronize()?;
                // SAFETY: the slot is idle and large enough; the caller vouches for the source.
                unsafe {
                    memcpy_dtoh_async(slot.buffer.as_ptr(), from.offset(piece.start as i64), piece.bytes, stream)?;
                }
                slot.last_use.record(stream)?;
                // SAFETY: the piece is within the caller's target.
                unsafe { prefault_pages(to.at(piece.start), piece.bytes) };
                in_flight[index] = Some(piece);
            }
            Ok(())
        })
    }

    fn ring(&mut self) -> Result<&mut Ring> {
        match &mut self.ring {
            Some(ring) => Ok(ring),
            empty => Ok(empty.insert(Ring::new(self.context)?)),
        }
    }

    /// Runs `body` in several threads, each with its own slots. `next` hands out the pieces of `0..bytes`, each once.
    /// `host` is the start of the memory on the host.
    fn in_chunks(&mut self, host: Shared, bytes: usize, body: &ChunkBody<'_>) -> Result<()> {
        let threads = (bytes / BYTES_PER_THREAD).clamp(1, self.workers.max_threads());
        while self.slots.len() < threads {
            let pair = Slot::new(self.context).and_then(|a| Ok([a, Slot::new(self.context)?]));
            match pair {
                Ok(slots) => self.slots.push(slots),
                // The amount of pinned memory may be limited. The existing slots are enough.
                Err(_) if !self.slots.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let threads = threads.min(self.slots.len());
        let slots: Vec<Mutex<&mut [Slot; SLOTS_PER_THREAD]>> = self.slots.iter_mut().map(Mutex::new).collect();
        let chunk = piece_size(bytes, threads);
        // The first piece is shorter if the memory does not begin at a multiple of the piece size.
        let misalignment = host.0 as usize % chunk;
        let next_start = AtomicUsize::new(0);
        let failure: Mutex<Option<CudaError>> = Mutex::new(None);
        let context = self.context;
        let succeeded = self.workers.run(threads, &|index| {
            let mut own = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = || {
                let start = next_start.fetch_add(chunk, Ordering::Relaxed);
                let end = (start + chunk - misalignment).min(bytes);
                let start = start.saturating_sub(misalignment);
                (start < bytes).then(|| Piece { start, bytes: end - start })
            };
            if let Err(error) = context.make_current().and_then(|()| body(&mut own, &mut next)) {
                next_start.store(bytes + misalignment, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None if succeeded => Ok(()),
            None => Err(CudaError::Unsupported("a copy thread panicked".into())),
        }
    }
}

type ChunkBody<'a> = dyn Fn(&mut [Slot; SLOTS_PER_THREAD], &mut dyn FnMut() -> Option<Piece>) -> Result<()> + Sync + 'a;

/// A part of a copy, as an offset in bytes.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    bytes: usize,
}

/// Returns the size of a piece: a multiple of the page size, such that each thread gets about two in mid-sized copies.
fn piece_size(bytes: usize, threads: usize) -> usize {
    (bytes / (threads * SLOTS_PER_THREAD)).next_multiple_of(4096).clamp(128 << 10, CHUNK)
}

/// The caller's memory, shared by all threads. Each accesses only its own pieces.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: pieces do not overlap, and the caller of the copy vouches for the whole range.
unsafe impl Sync for Shared {}

impl Shared {
    /// # Safety
    /// `start` must lie within the range.
    unsafe fn at(&self, start: usize) -> *mut u8 {
        // SAFETY: the caller ensures that `start` is within the range.
        unsafe { self.0.add(start) }
    }
}

/// Maps pages that were never touched while the transfer that fills them is running. Page faults are most of the cost
/// of a download (256 MiB: 12.3 ms without this and the alignment of pieces, 7.8 ms with them). Existing pages are not
/// changed. An old kernel refuses the call and maps the pages at the first write.
///
/// # Safety
/// The range must be valid to write.
unsafe fn prefault_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let first = start as usize / PAGE * PAGE;
        let end = (start as usize + bytes).next_multiple_of(PAGE);
        // SAFETY: each page contains a part of the range, and populating does not change contents.
        let _only_an_optimization =
            unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_suit_the_size() {
        assert_eq!(piece_size(256 << 20, 16), CHUNK);
        assert_eq!(piece_size(1 << 20, 2), 256 << 10);
        assert_eq!(piece_size(100 << 10, 1), 128 << 10);
    }
}
