//! The device's memory: a caching allocator for one compute stream.
//!
//! Invariants:
//! - Stream order: a freed block is handed out again at once. This is safe for work of the compute stream, which runs
//!   in the order of submission. Memory that another stream still uses must be freed only after the compute stream was
//!   made to wait for an event of that stream.
//! - Determinism: the block that is handed out depends only on the sequence of calls (size, then age of the segment,
//!   then offset), so a repeated step gets the same addresses and its graph needs no patch.
//! - The blocks of a segment tile it without gap or overlap, and no two neighbors are both free.
//! - Small freed blocks are first kept whole in *quick lists* by size, lowest address first: a repeated step allocates
//!   and frees the same few sizes, and splitting and joining blocks costs more than its launch. Segments treat these
//!   blocks as in use until `flush_quick_lists` returns them.

mod segments;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use cuprous_core::presence::Counters;

use crate::driver::DevPtr;
use crate::error::{CudaError, Result};

pub use segments::{DeviceSegments, SegmentSource};

/// Every address and size is a multiple of this.
pub const GRANULE: u64 = 512;
/// Requests up to this size share small segments, so that they do not fragment large ones.
const SMALL: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 8 << 20;
/// Requests up to this size share large segments. A larger request gets a segment of its own size.
const MEDIUM: u64 = 16 << 20;
const LARGE_SEGMENT: u64 = 64 << 20;
/// Blocks up to this size are kept in quick lists.
const QUICK: u64 = 64 << 10;
/// The largest total size of the quick lists in bytes.
const QUICK_BYTES: u64 = 4 << 20;
/// The driver maps memory in multiples of this size.
const DRIVER_PAGE: u64 = 2 << 20;

/// Statistics of the pool; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStats {
    /// In use, rounded up as handed out.
    pub used_bytes: u64,
    /// Reserved but not in use.
    pub free_bytes: u64,
    /// Reserved from the device's memory.
    pub total_bytes: u64,
    /// The peak of `used_bytes`.
    pub peak_bytes: u64,
    /// The number of free blocks.
    pub n_free_blocks: usize,
    /// The largest free block.
    pub largest_free: u64,
}

/// One piece of memory from the source.
#[derive(Debug)]
struct Segment {
    base: u64,
    bytes: u64,
    small: bool,
    /// Blocks by offset. They tile the segment.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    bytes: u64,
    free: bool,
}

/// A free block as (bytes, segment, offset): the order in which blocks are tried.
type FreeKey = (u64, u64, u64);

/// A block that was handed out or is in a quick list.
#[derive(Debug, Clone, Copy)]
struct LiveBlock {
    segment: u64,
    offset: u64,
    bytes: u64,
    quick: bool,
}

/// A hash of addresses, which are multiples of [`GRANULE`].
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ (n / GRANULE)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The allocator. Not synchronized: its device guards it with a lock.
#[derive(Debug)]
pub struct Pool<S> {
    source: S,
    /// Segments by number. Numbers increase with each new segment and are never reused.
    segments: BTreeMap<u64, Segment>,
    next_segment: u64,
    /// Free blocks of large and of small segments.
    free: [BTreeSet<FreeKey>; 2],
    /// Blocks by address.
    live: HashMap<u64, LiveBlock, BuildHasherDefault<AddressHasher>>,
    /// Addresses of freed blocks by size in granules, up to [`QUICK`] bytes, each list in descending order.
    quick: Vec<Vec<u64>>,
    quick_bytes: u64,
    counters: &'static Counters,
    limit: Option<u64>,
    exact: bool,
}

impl<S: SegmentSource> Pool<S> {
    /// Creates an empty pool.
    pub fn new(source: S) -> Self {
        Pool {
            source,
            segments: BTreeMap::new(),
            next_segment: 0,
            free: [BTreeSet::new(), BTreeSet::new()],
            live: HashMap::default(),
            quick: vec![Vec::new(); (QUICK / GRANULE + 1) as usize],
            quick_bytes: 0,
            counters: Counters::private(),
            limit: None,
            exact: false,
        }
    }

    /// Returns the pool in the mode for memory checkers if `exact` is true: every block is an allocation of the driver
    /// with exactly the bytes that were asked for, and is released when it is freed. A checker then sees an access
    /// beyond an array or to a freed one, which in a segment reaches a neighbor. It must not have handed out memory yet.
    #[must_use]
    pub fn exact(self, exact: bool) -> Self {
        Pool { exact, ..self }
    }

    /// Returns the pool with counters that monitors can read. It must not have handed out memory yet.
    #[must_use]
    pub fn counted_by(self, counters: &'static Counters) -> Self {
        Pool { counters, ..self }
    }

    /// Allocates `bytes` bytes at a multiple of 512. Returns null for zero bytes.
    ///
    /// # Errors
    /// Out of memory even after the free segments were released, or the driver fails.
    pub fn alloc(&mut self, bytes: u64) -> Result<DevPtr> {
        self.alloc_or(bytes, |_| {})
    }

    /// Allocates like `alloc`. When memory runs out, `drop_caches` may free blocks of this pool, and the allocation is
    /// tried once more.
    ///
    /// # Errors
    /// Out of memory, or the driver fails.
    pub fn alloc_or(&mut self, bytes: u64, drop_caches: impl FnOnce(&mut Self)) -> Result<DevPtr> {
        if bytes == 0 {
            return Ok(DevPtr::NULL);
        }
        let Some(want) = round_up(bytes) else { return Err(self.out_of_memory(bytes)) };
        if self.exact {
            return self.alloc_exact(bytes, drop_caches);
        }
        if let Some(block) = self.take_quick(want) {
            return Ok(block);
        }
        if let Some(block) = self.take_free(want) {
            return Ok(block);
        }
        if self.flush_quick_lists()
            && let Some(block) = self.take_free(want)
        {
            return Ok(block);
        }
        if self.grow(want)? || self.free_all_blocks()? > 0 && self.grow(want)? {
            return self.take_free(want).ok_or_else(|| self.out_of_memory(bytes));
        }
        drop_caches(self);
        self.flush_quick_lists();
        if let Some(block) = self.take_free(want) {
            return Ok(block);
        }
        self.free_all_blocks()?;
        if self.grow(want)?
            && let Some(block) = self.take_free(want)
        {
            return Ok(block);
        }
        Err(self.out_of_memory(bytes))
    }

    fn alloc_exact(&mut self, bytes: u64, drop_caches: impl FnOnce(&mut Self)) -> Result<DevPtr> {
        let mut drop_caches = Some(drop_caches);
        loop {
            let fits = self.limit.is_none_or(|limit| self.counters.reserved() + bytes <= limit);
            match fits.then(|| self.source.allocate(bytes)) {
                Some(Ok(address)) => {
                    self.live.insert(address, LiveBlock { segment: u64::MAX, offset: 0, bytes, quick: false });
                    self.counters.add_reserved(bytes as i64);
                    self.counters.add_used(bytes as i64);
                    return Ok(DevPtr(address));
                }
                Some(Err(error)) if !error.is_out_of_memory() => return Err(error),
                _ => match drop_caches.take() {
                    Some(drop_caches) => drop_caches(self),
                    None => return Err(self.out_of_memory(bytes)),
                },
            }
        }
    }

    /// Frees a block. Null is ignored. Returns false for an address that is not in use.
    pub fn free(&mut self, address: DevPtr) -> bool {
        if address.is_null() {
            return true;
        }
        let Some(block) = self.live.get_mut(&address.0).filter(|block| !block.quick) else { return false };
        self.counters.add_used(-(block.bytes as i64));
        if self.exact {
            let bytes = block.bytes;
            self.live.remove(&address.0);
            self.counters.add_reserved(-(bytes as i64));
            return self.source.release(address.0, bytes).is_ok();
        }
        if block.bytes <= QUICK && self.quick_bytes + block.bytes <= QUICK_BYTES {
            block.quick = true;
            self.quick_bytes += block.bytes;
            let list = &mut self.quick[(block.bytes / GRANULE) as usize];
            let at = list.partition_point(|&other| other > address.0);
            list.insert(at, address.0);
            return true;
        }
        self.return_to_segment(address.0)
    }

    /// Takes a block of exactly that size from the quick lists.
    #[inline]
    fn take_quick(&mut self, want: u64) -> Option<DevPtr> {
        let address = self.quick.get_mut((want / GRANULE) as usize)?.pop()?;
        self.quick_bytes -= want;
        self.live.get_mut(&address)?.quick = false;
        self.counters.add_used(want as i64);
        Some(DevPtr(address))
    }

    /// Returns the blocks of the quick lists to their segments. Returns true if there were any.
    fn flush_quick_lists(&mut self) -> bool {
        let any = self.quick_bytes > 0;
        for k in 0..self.quick.len() {
            while let Some(address) = self.quick[k].pop() {
                self.return_to_segment(address);
            }
        }
        self.quick_bytes = 0;
        any
    }

    /// Frees a block in its segment and joins it with its free neighbors.
    fn return_to_segment(&mut self, address: u64) -> bool {
        let Some(LiveBlock { segment: number, offset, .. }) = self.live.remove(&address) else { return false };
        let Some(segment) = self.segments.get_mut(&number) else { return false };
        let Some(block) = segment.blocks.get(&offset).copied() else { return false };
        let free = &mut self.free[usize::from(segment.small)];
        let (mut start, mut bytes) = (offset, block.bytes);
        let end = offset + block.bytes;
        if let Some(next) = segment.blocks.get(&end).copied().filter(|b| b.free) {
            segment.blocks.remove(&end);
            free.remove(&(next.bytes, number, end));
            bytes += next.bytes;
        }
        let before = segment.blocks.range(..offset).next_back().map(|(&at, &b)| (at, b));
        if let Some((at, previous)) = before.filter(|(_, b)| b.free) {
            segment.blocks.remove(&offset);
            free.remove(&(previous.bytes, number, at));
            start = at;
            bytes += previous.bytes;
        }
        segment.blocks.insert(start, Block { bytes, free: true });
        free.insert((bytes, number, start));
        true
    }

    /// Returns the size of the block in use at an address, rounded up as handed out.
    #[must_use]
    pub fn block_bytes(&self, address: DevPtr) -> Option<u64> {
        self.live.get(&address.0).filter(|block| !block.quick).map(|block| block.bytes)
    }

    /// Releases every entirely free segment to the driver and returns their bytes. Waits for the device.
    ///
    /// # Errors
    /// The driver fails.
    pub fn free_all_blocks(&mut self) -> Result<u64> {
        self.flush_quick_lists();
        let whole = |s: &Segment| s.blocks.get(&0).is_some_and(|b| b.free && b.bytes == s.bytes);
        let numbers: Vec<u64> = self.segments.iter().filter(|(_, s)| whole(s)).map(|(&number, _)| number).collect();
        let mut released = 0;
        for number in numbers {
            let Some(segment) = self.segments.remove(&number) else { continue };
            self.free[usize::from(segment.small)].remove(&(segment.bytes, number, 0));
            self.counters.add_reserved(-(segment.bytes as i64));
            released += segment.bytes;
            self.source.release(segment.base, segment.bytes)?;
        }
        Ok(released)
    }

    /// Limits the bytes reserved from the device; `None` removes the limit. Memory that is already reserved is kept.
    pub fn set_limit(&mut self, bytes: Option<u64>) {
        self.limit = bytes;
    }

    /// Limits the bytes reserved from the device to a fraction of its memory, 0 to 1.
    ///
    /// # Errors
    /// The driver fails.
    pub fn set_limit_fraction(&mut self, fraction: f64) -> Result<()> {
        let capacity = self.source.capacity()?;
        self.limit = Some((capacity as f64 * fraction.clamp(0.0, 1.0)) as u64);
        Ok(())
    }

    /// Returns the limit, if any.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns the current statistics.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            used_bytes: self.counters.used(),
            free_bytes: self.counters.reserved() - self.counters.used(),
            total_bytes: self.counters.reserved(),
            peak_bytes: self.counters.peak(),
            n_free_blocks: self.free.iter().map(BTreeSet::len).chain(self.quick.iter().map(Vec::len)).sum(),
            largest_free: self.free.iter().filter_map(|set| set.last()).map(|key| key.0).max().unwrap_or(0),
        }
    }

    /// Resets `peak_bytes` to the bytes in use.
    pub fn reset_peak(&mut self) {
        self.counters.reset_peak();
    }

    /// Takes the smallest free block that fits. Its rest stays free if it is large enough to be useful.
    fn take_free(&mut self, want: u64) -> Option<DevPtr> {
        let small = want <= SMALL;
        let free = &mut self.free[usize::from(small)];
        let key = *free.range((want, 0, 0)..).next()?;
        let (bytes, number, offset) = key;
        free.remove(&key);
        let segment = self.segments.get_mut(&number)?;
        let rest = bytes - want;
        // Wasting up to an eighth, rounding included, is better than fragments that no request fits into.
        let taken = if small || rest > want / 32 { want } else { bytes };
        segment.blocks.insert(offset, Block { bytes: taken, free: false });
        if bytes > taken {
            segment.blocks.insert(offset + taken, Block { bytes: bytes - taken, free: true });
            free.insert((bytes - taken, number, offset + taken));
        }
        let address = segment.base + offset;
        self.live.insert(address, LiveBlock { segment: number, offset, bytes: taken, quick: false });
        self.counters.add_used(taken as i64);
        Some(DevPtr(address))
    }

    /// Adds a segment with room for `want` bytes. Returns false if the limit or the device's memory does not allow it.
    fn grow(&mut self, want: u64) -> Result<bool> {
        let small = want <= SMALL;
        let standard = match want {
            _ if small => SMALL_SEGMENT,
            _ if want <= MEDIUM => LARGE_SEGMENT,
            _ => want.next_multiple_of(DRIVER_PAGE),
        };
        // If there is no room for the standard size, there may be room for the request alone.
        for bytes in [standard, want.next_multiple_of(DRIVER_PAGE), want] {
            if self.limit.is_some_and(|limit| self.counters.reserved() + bytes > limit) {
                continue;
            }
            let base = match self.source.allocate(bytes) {
                Ok(base) => base,
                Err(error) if error.is_out_of_memory() => continue,
                Err(error) => return Err(error),
            };
            let number = self.next_segment;
            self.next_segment += 1;
            let blocks = BTreeMap::from([(0, Block { bytes, free: true })]);
            self.segments.insert(number, Segment { base, bytes, small, blocks });
            self.free[usize::from(small)].insert((bytes, number, 0));
            self.counters.add_reserved(bytes as i64);
            return Ok(true);
        }
        Ok(false)
    }

    fn out_of_memory(&self, requested: u64) -> CudaError {
        let stats = self.stats();
        CudaError::OutOfMemory {
            requested,
            live: stats.used_bytes,
            limit: self.limit,
            total: stats.total_bytes,
            largest_free: stats.largest_free,
            largest_live: self.largest_live(5),
        }
    }

    fn largest_live(&self, count: usize) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.live.keys().filter_map(|&at| self.block_bytes(DevPtr(at))).collect();
        sizes.sort_unstable_by_key(|&bytes| std::cmp::Reverse(bytes));
        sizes.truncate(count);
        sizes
    }
}

/// Returns the size that is handed out: a multiple of the granule, and for large requests of a sixteenth of the power
/// of two below, so that nearly equal requests reuse the same blocks. `None` for sizes beyond any memory.
fn round_up(bytes: u64) -> Option<u64> {
    if bytes > 1 << 60 {
        return None;
    }
    let step = if bytes <= SMALL { GRANULE } else { 1 << (bytes.ilog2() - 4) };
    Some(bytes.next_multiple_of(step.max(GRANULE)))
}
