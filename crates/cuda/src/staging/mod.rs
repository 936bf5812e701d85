//! Copies between pageable host memory and the device, through pinned buffers.
//!
//! The driver's own path for pageable memory runs one thread: 7–15 GB/s. Here several threads each own two pinned
//! slots; a thread fills one while the device reads the other, so host copies and PCIe transfers overlap.
//! Invariant: a slot is written only after the event recorded behind its last transfer is done.

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

/// Copies below this go through the ring, without events or threads.
const SMALL: usize = 64 << 10;
const RING: usize = 1 << 20;
/// What a thread copies at a time: long enough for PCIe's full rate, short enough that the last piece costs little. Pieces
/// end at multiples of this in the host's memory, so that no two threads fault in the same huge page.
const CHUNK: usize = 2 << 20;
const SLOTS_PER_THREAD: usize = 2;
const MOST_THREADS: usize = 16;
/// Below this much for each, a further thread costs more than it brings.
const BYTES_PER_THREAD: usize = 512 << 10;

/// Pinned buffers and threads for the copies of one device. Calls are one at a time (`&mut self`).
#[derive(Debug)]
pub struct Staging {
    context: &'static Context,
    workers: Workers,
    /// By thread; grown on first use.
    slots: Vec<[Slot; SLOTS_PER_THREAD]>,
    ring: Option<Ring>,
}

#[derive(Debug)]
struct Slot {
    buffer: PinnedBuffer,
    /// Behind the last transfer from or to the buffer.
    last_use: Event,
}

impl Slot {
    fn new(context: &'static Context) -> Result<Slot> {
        Ok(Slot { buffer: PinnedBuffer::new(context, CHUNK)?, last_use: Event::new(context)? })
    }
}

/// Small uploads in two halves: a half is written again only after the event recorded when it was left.
#[derive(Debug)]
struct Ring {
    buffer: PinnedBuffer,
    /// By half: behind the last upload from it, once it was left.
    left: [Event; 2],
    /// The half in use and the first free byte in it.
    half: usize,
    next: usize,
    /// The stream of the uploads from the half in use: one event covers them only if it is one stream.
    stream: usize,
    /// Small downloads: each is waited for, so one place serves.
    down: PinnedBuffer,
}

const HALF_RING: usize = RING / 2;

impl Ring {
    fn new(context: &'static Context) -> Result<Ring> {
        Ok(Ring {
            buffer: PinnedBuffer::new(context, RING)?,
            left: [Event::new(context)?, Event::new(context)?],
            half: 0,
            next: 0,
            stream: 0,
            down: PinnedBuffer::new(context, SMALL)?,
        })
    }

    /// A place for `bytes` (below `SMALL`) whose last upload is done.
    fn place(&mut self, bytes: usize, stream: &Stream) -> Result<*mut u8> {
        let raw = stream.raw() as usize;
        if self.stream != raw {
            // The other stream may be gone by now, so the whole context is waited for. Rare: there is one compute stream.
            if self.next > 0 {
                stream.context().synchronize()?;
            }
            self.stream = raw;
            self.next = 0;
        }
        let mut start = self.next.next_multiple_of(64);
        if start + bytes > HALF_RING {
            self.left[self.half].record(stream)?;
            self.half = 1 - self.half;
            self.left[self.half].synchronize()?;
            start = 0;
        }
        self.next = start + bytes;
        // SAFETY: start + bytes lies within the half, and the half within the buffer.
        Ok(unsafe { self.buffer.as_ptr().add(self.half * HALF_RING + start) })
    }
}

impl Staging {
    /// For the copies of a device. Nothing is allocated before the first copy.
    #[must_use]
    pub fn new(context: &'static Context) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Staging::with_threads(context, cores.min(MOST_THREADS))
    }

    /// As `new`, with at most so many threads.
    #[must_use]
    pub fn with_threads(context: &'static Context, threads: usize) -> Self {
        Staging { context, workers: Workers::new(threads), slots: Vec::new(), ring: None }
    }

    /// Copies from the host; returns once the source was read. The device has the data in stream order.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    ///
    /// # Safety
    /// Both ranges must be valid, and nobody may write to the source meanwhile.
    pub unsafe fn upload(&mut self, to: DevPtr, from: *const u8, bytes: usize, stream: &Stream) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        if bytes < SMALL {
            let place = self.ring()?.place(bytes, stream)?;
            // SAFETY: the caller vouches for the source; the place has room and no transfer under way.
            unsafe {
                std::ptr::copy_nonoverlapping(from, place, bytes);
                return memcpy_htod_async(to, place, bytes, stream);
            }
        }
        let from = Shared(from.cast_mut());
        self.in_chunks(from, bytes, &|slots: &mut [Slot; SLOTS_PER_THREAD], next: &mut dyn FnMut() -> Option<Piece>| {
            for turn in (0..SLOTS_PER_THREAD).cycle() {
                let Some(piece) = next() else { break };
                let slot = &slots[turn];
                slot.last_use.synchronize()?;
                // SAFETY: the piece lies within the ranges that the caller vouches for; the slot is idle.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.at(piece.start), slot.buffer.as_ptr(), piece.bytes);
                    memcpy_htod_async(to.offset(piece.start as i64), slot.buffer.as_ptr(), piece.bytes, stream)?;
                }
                slot.last_use.record(stream)?;
            }
            Ok(())
        })
    }

    /// Copies to the host after the stream's work so far; returns once the data is there.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    ///
    /// # Safety
    /// Both ranges must be valid, and nobody else may use the target meanwhile.
    pub unsafe fn download(&mut self, to: *mut u8, from: DevPtr, bytes: usize, stream: &Stream) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.make_current()?;
        if bytes < SMALL {
            let place = self.ring()?.down.as_ptr();
            // SAFETY: the caller vouches for both ranges; the place has room and is idle, since each use is waited for.
            unsafe { memcpy_dtoh_async(place, from, bytes, stream) }?;
            stream.synchronize()?;
            // SAFETY: as above; the transfer is done.
            unsafe { std::ptr::copy_nonoverlapping(place, to, bytes) };
            return Ok(());
        }
        let to = Shared(to);
        self.in_chunks(to, bytes, &|slots: &mut [Slot; SLOTS_PER_THREAD], next: &mut dyn FnMut() -> Option<Piece>| {
            let mut under_way: [Option<Piece>; SLOTS_PER_THREAD] = [None; SLOTS_PER_THREAD];
            for turn in (0..SLOTS_PER_THREAD).cycle() {
                let slot = &slots[turn];
                if let Some(piece) = under_way[turn].take() {
                    slot.last_use.synchronize()?;
                    // SAFETY: the transfer into the slot is done; the piece lies within the caller's target.
                    unsafe { std::ptr::copy_nonoverlapping(slot.buffer.as_ptr(), to.at(piece.start), piece.bytes) };
                }
                let Some(piece) = next() else {
                    if under_way.iter().all(Option::is_none) {
                        break;
                    }
                    continue;
                };
                // A slot may still feed an upload of another stream.
                slot.last_use.synchronize()?;
                // SAFETY: the slot is idle and has room; the caller vouches for the source.
                unsafe {
                    memcpy_dtoh_async(slot.buffer.as_ptr(), from.offset(piece.start as i64), piece.bytes, stream)?;
                }
                slot.last_use.record(stream)?;
                // SAFETY: as above.
                unsafe { make_pages(to.at(piece.start), piece.bytes) };
                under_way[turn] = Some(piece);
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

    /// Runs `body` in several threads, each with its own slots; `next` deals the pieces of `0..bytes`, each once. `host` is
    /// where they lie on the host.
    fn in_chunks(&mut self, host: Shared, bytes: usize, body: &ChunkBody<'_>) -> Result<()> {
        let threads = (bytes / BYTES_PER_THREAD).clamp(1, self.workers.most());
        while self.slots.len() < threads {
            let made = Slot::new(self.context).and_then(|a| Ok([a, Slot::new(self.context)?]));
            match made {
                Ok(slots) => self.slots.push(slots),
                // Little memory may be pinned; what there is serves.
                Err(_) if !self.slots.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let threads = threads.min(self.slots.len());
        let slots: Vec<Mutex<&mut [Slot; SLOTS_PER_THREAD]>> = self.slots.iter_mut().map(Mutex::new).collect();
        let chunk = piece_size(bytes, threads);
        // The first piece is short where the memory does not begin at a multiple.
        let ahead = host.0 as usize % chunk;
        let dealt = AtomicUsize::new(0);
        let failure: Mutex<Option<CudaError>> = Mutex::new(None);
        let context = self.context;
        let fine = self.workers.run(threads, &|index| {
            let mut own = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = || {
                let start = dealt.fetch_add(chunk, Ordering::Relaxed);
                let end = (start + chunk - ahead).min(bytes);
                let start = start.saturating_sub(ahead);
                (start < bytes).then(|| Piece { start, bytes: end - start })
            };
            if let Err(error) = context.make_current().and_then(|()| body(&mut own, &mut next)) {
                dealt.store(bytes + ahead, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None if fine => Ok(()),
            None => Err(CudaError::Unsupported("a copying thread panicked".into())),
        }
    }
}

type ChunkBody<'a> = dyn Fn(&mut [Slot; SLOTS_PER_THREAD], &mut dyn FnMut() -> Option<Piece>) -> Result<()> + Sync + 'a;

/// A part of a copy, in bytes from its start.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    bytes: usize,
}

/// Pieces of equal size, a multiple of the page size, so that each thread gets about two of them in mid-sized copies.
fn piece_size(bytes: usize, threads: usize) -> usize {
    (bytes / (threads * SLOTS_PER_THREAD)).next_multiple_of(4096).clamp(128 << 10, CHUNK)
}

/// The caller's memory, for all threads; each touches only the pieces dealt to it.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: pieces do not overlap, and the caller of the copy vouches for the whole range.
unsafe impl Sync for Shared {}

impl Shared {
    /// # Safety
    /// `start` must lie within the range.
    unsafe fn at(&self, start: usize) -> *mut u8 {
        // SAFETY: by this function's rule.
        unsafe { self.0.add(start) }
    }
}

/// Makes the pages of memory that was never touched, while the transfer that will fill them is under way: most of the cost
/// of a download (256 MiB: 12.3 ms without this and the pieces' ends, 7.8 with them). Pages that are there stay as they
/// are; an old kernel that refuses makes them at the first write.
///
/// # Safety
/// The range must be valid to write.
unsafe fn make_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let first = start as usize / PAGE * PAGE;
        let end = (start as usize + bytes).next_multiple_of(PAGE);
        // SAFETY: pages that hold a part of the range; populating changes no content.
        let _only_ahead = unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_WRITE) };
    }
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
