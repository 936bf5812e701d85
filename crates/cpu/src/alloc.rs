//! Memory: blocks aligned to 256 bytes, from a cache. Page faults of fresh memory cost more than most work on it.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, Mutex};

use cuprous_core::presence::{self, Counters};
use cuprous_core::{Buffer, Error, Memory, Result};

/// Alignment of every block.
pub const ALIGN: usize = 256;
/// Size from which on large pages are requested for a block. Loops over many rows then miss the TLB less often, and the
/// first touch takes a third of the time, but three times as long on a virtual machine whose host has yet to provide the
/// memory. Most layers' weights are smaller.
#[cfg(target_os = "linux")]
const LARGE: usize = 16 << 20;
/// Number of size classes: four per power of two, from 256 bytes up, so that at most a quarter is wasted.
const CLASSES: usize = 4 * 48;

/// Freed blocks by size class.
struct Cache {
    free: Vec<Vec<NonNull<u8>>>,
    /// Bytes of free blocks.
    free_bytes: usize,
    /// Current, peak and reserved bytes.
    counters: &'static Counters,
    /// Limit on the bytes in use. 0 means no limit.
    limit: usize,
}

impl Cache {
    /// Counts a free block of `size` bytes as used.
    fn mark_used(&mut self, size: usize) {
        self.free_bytes -= size;
        self.counters.add_used(size as i64);
    }

    /// Counts a new block of `size` bytes, which is used from the start.
    fn mark_added(&mut self, size: usize) {
        self.counters.add_reserved(size as i64);
        self.counters.add_used(size as i64);
    }
}

// SAFETY: the cache owns its blocks; their addresses are not known elsewhere.
unsafe impl Send for Cache {}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(|| {
    let free = (0..CLASSES).map(|_| Vec::new()).collect();
    Mutex::new(Cache { free, free_bytes: 0, counters: presence::counters(presence::Device::Cpu), limit: 0 })
});

/// Locks the cache until the result is dropped. Held during a fork, so that the child finds the cache unlocked.
pub fn lock_for_fork() -> impl Sized + 'static {
    CACHE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Memory of the machine in bytes.
static TOTAL: LazyLock<usize> = LazyLock::new(|| {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| text.lines().next()?.split_whitespace().nth(1)?.parse::<usize>().ok())
        .map_or(1 << 32, |kib| kib << 10)
});

/// Returns how many bytes the cache may keep: a quarter of the machine's memory or 2 GiB, whichever is smaller.
fn max_cached_bytes() -> usize {
    (*TOTAL / 4).min(2 << 30)
}

/// Returns the class that holds `bytes` and its size, or `None` for more than any machine has.
fn class(bytes: usize) -> Option<(usize, usize)> {
    let units = bytes.div_ceil(ALIGN).max(1);
    if units > 1 << 46 {
        return None;
    }
    // Sizes are (4 + quarter) << shift, in units of ALIGN. Below four units each size is its own class.
    let shift = (usize::BITS - 1 - units.leading_zeros()).saturating_sub(2);
    let quarter = units.div_ceil(1 << shift);
    let index = if shift == 0 { units } else { 4 * shift as usize + quarter };
    Some((index, (quarter << shift) * ALIGN))
}

/// Requests large pages. The system may ignore the request.
fn advise_large_pages(at: NonNull<u8>, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= LARGE {
        const PAGE: usize = 4096;
        let first = (at.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (at.as_ptr() as usize + size) / PAGE * PAGE;
        // SAFETY: these pages belong to the block, and the request does not change their contents.
        let _may_refuse = unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (at, size);
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size, ALIGN).ok()
}

/// A block that returns to the cache when dropped.
pub struct Block {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a block is plain memory; the engine orders the accesses to it.
unsafe impl Send for Block {}
// SAFETY: a block is plain memory; the engine orders the accesses to it.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates uninitialized memory.
    pub fn new(bytes: usize) -> Result<Block> {
        let fail = || Error::memory(format!("[alloc] cannot allocate {bytes} bytes of host memory; free arrays first"));
        let (index, size) = class(bytes).ok_or_else(fail)?;
        {
            let mut cache = CACHE.lock().unwrap_or_else(|e| e.into_inner());
            let used = cache.counters.used() as usize;
            if cache.limit != 0 && used + size > cache.limit {
                return Err(Error::memory(format!(
                    "[alloc] allocating {bytes} bytes would exceed the memory limit of {} bytes ({} in use)",
                    cache.limit, used
                )));
            }
            if let Some(at) = cache.free[index].pop() {
                cache.mark_used(size);
                return Ok(Block { at, bytes });
            }
        }
        let layout = layout(size).ok_or_else(fail)?;
        // SAFETY: the size is not zero.
        let fresh = || NonNull::new(unsafe { alloc(layout) });
        let at = fresh().or_else(|| {
            trim();
            fresh()
        });
        let at = at.ok_or_else(fail)?;
        advise_large_pages(at, size);
        CACHE.lock().unwrap_or_else(|e| e.into_inner()).mark_added(size);
        Ok(Block { at, bytes })
    }

    /// Returns the address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.at.as_ptr()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some((index, size)) = class(self.bytes) else { return };
        let mut cache = CACHE.lock().unwrap_or_else(|e| e.into_inner());
        cache.counters.add_used(-(size as i64));
        if cache.free_bytes + size <= max_cached_bytes() {
            cache.free_bytes += size;
            cache.free[index].push(self.at);
        } else {
            cache.counters.add_reserved(-(size as i64));
            drop(cache);
            free(self.at, size);
        }
    }
}

fn free(at: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: the block came from `alloc` with this layout and is no longer in use.
        unsafe { dealloc(at.as_ptr(), layout) }
    }
}

/// Returns all cached blocks to the system.
pub fn trim() {
    let mut cache = CACHE.lock().unwrap_or_else(|e| e.into_inner());
    for index in 0..CLASSES {
        let size = size_of_class(index);
        for at in std::mem::take(&mut cache.free[index]) {
            free(at, size);
        }
    }
    cache.counters.add_reserved(-(cache.free_bytes as i64));
    cache.free_bytes = 0;
}

/// Returns the counters that [`cuprous_plan::device::DeviceStatistics::memory`] lists.
pub fn counters() -> Vec<(&'static str, u64)> {
    let cache = CACHE.lock().unwrap_or_else(|e| e.into_inner());
    let blocks: usize = cache.free.iter().map(Vec::len).sum();
    vec![
        ("used_bytes", cache.counters.used()),
        ("free_bytes", cache.free_bytes as u64),
        ("total_bytes", *TOTAL as u64),
        ("limit_bytes", cache.limit as u64),
        ("n_free_blocks", blocks as u64),
        ("peak_bytes", cache.counters.peak()),
    ]
}

/// Resets `peak_bytes` to the bytes in use.
pub fn reset_peak() {
    CACHE.lock().unwrap_or_else(|e| e.into_inner()).counters.reset_peak();
}

/// Limits the bytes in use. 0 removes the limit.
pub fn set_limit(bytes: u64) {
    CACHE.lock().unwrap_or_else(|e| e.into_inner()).limit = usize::try_from(bytes).unwrap_or(0);
}

/// Returns the size of a class: the inverse of [`class`].
fn size_of_class(index: usize) -> usize {
    if index <= 8 {
        return index.max(1) * ALIGN;
    }
    // index = 4·shift + quarter with quarter in 5..=8, since a full power of two belongs to the shift below.
    let shift = (index - 5) / 4;
    let quarter = index - 4 * shift;
    (quarter << shift) * ALIGN
}

impl Memory for Block {
    fn address(&self) -> u64 {
        if self.bytes == 0 { 0 } else { self.at.as_ptr() as u64 }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Allocates a block as a buffer of the engine.
pub fn buffer(bytes: usize) -> Result<Buffer> {
    Ok(Arc::new(Block::new(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_promise() {
        for bytes in (0..5000).chain([1 << 20, (1 << 20) + 1, 3 << 20, (1 << 33) + 7]) {
            let (index, size) = class(bytes).unwrap();
            assert!(size >= bytes && index < CLASSES, "{bytes}");
            assert_eq!(size_of_class(index), size, "{bytes} in class {index}");
            assert!(size <= bytes.max(4 * ALIGN) * 5 / 4 + ALIGN);
        }
    }

    #[test]
    fn blocks_are_reused_and_huge_ones_refused() {
        let a = Block::new(123_456).unwrap();
        assert_eq!(a.as_ptr() as usize % ALIGN, 0);
        drop(a);
        let error = Block::new(usize::MAX / 2).err().unwrap();
        assert_eq!(error.kind, cuprous_core::error::ErrorKind::Memory);
    }
}
