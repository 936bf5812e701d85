//! The pool on a fake device.

use super::*;

/// Hands out ascending addresses up to a capacity.
#[derive(Debug)]
struct Fake {
    next: u64,
    held: u64,
    capacity: u64,
    pieces: BTreeMap<u64, u64>,
}

impl Fake {
    fn new(capacity: u64) -> Self {
        Fake { next: 0x7000_0000_0000, held: 0, capacity, pieces: BTreeMap::new() }
    }
}

impl SegmentSource for Fake {
    fn allocate(&mut self, bytes: u64) -> Result<u64> {
        if self.held + bytes > self.capacity {
            return Err(CudaError::OutOfMemory {
                requested: bytes,
                live: 0,
                limit: None,
                total: 0,
                largest_free: 0,
                largest_live: Vec::new(),
            });
        }
        let address = self.next;
        self.next += bytes.next_multiple_of(DRIVER_PAGE) + DRIVER_PAGE;
        self.held += bytes;
        self.pieces.insert(address, bytes);
        Ok(address)
    }

    fn release(&mut self, address: u64, bytes: u64) -> Result<()> {
        assert_eq!(self.pieces.remove(&address), Some(bytes), "released an unknown segment");
        self.held -= bytes;
        Ok(())
    }

    fn capacity(&self) -> Result<u64> {
        Ok(self.capacity)
    }
}

/// xorshift: the same sequence each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Sizes spread over magnitudes, 1 byte to 64 MiB.
    fn size(&mut self) -> u64 {
        let magnitude = self.below(26);
        (1 << magnitude) + self.below(1 << magnitude)
    }
}

fn check(pool: &Pool<Fake>) {
    let mut free = 0;
    for (number, segment) in &pool.segments {
        let mut at = 0;
        let mut previous_free = false;
        for (&offset, block) in &segment.blocks {
            assert_eq!(offset, at, "gap or overlap in segment {number}");
            assert!(!(previous_free && block.free), "free neighbours in segment {number}");
            assert!(offset.is_multiple_of(GRANULE));
            let listed = pool.free[usize::from(segment.small)].contains(&(block.bytes, *number, offset));
            assert_eq!(listed, block.free);
            free += if block.free { block.bytes } else { 0 };
            previous_free = block.free;
            at += block.bytes;
        }
        assert_eq!(at, segment.bytes);
        assert_eq!(pool.source.pieces.get(&segment.base), Some(&segment.bytes));
    }
    let waiting: u64 = pool.quick.iter().flatten().map(|address| pool.live[address].bytes).sum();
    assert_eq!(waiting, pool.quick_bytes);
    let stats = pool.stats();
    assert_eq!((stats.free_bytes, stats.total_bytes), (free + waiting, pool.source.held));
}

#[test]
fn small_blocks_are_reused_and_return_to_their_segment() {
    let mut pool = Pool::new(Fake::new(u64::MAX));
    let blocks: Vec<DevPtr> = (0..4).map(|_| pool.alloc(1000).expect("room")).collect();
    let largest = pool.stats().largest_free;
    blocks.iter().rev().for_each(|&b| assert!(pool.free(b)));
    assert_eq!(pool.block_bytes(blocks[0]), None);
    check(&pool);
    let again: Vec<DevPtr> = (0..4).map(|_| pool.alloc(600).expect("room")).collect();
    assert_eq!(again, blocks, "lowest first, however they were freed");
    again.iter().for_each(|&b| assert!(pool.free(b)));
    assert!(pool.flush_quick_lists() && !pool.flush_quick_lists());
    check(&pool);
    assert_eq!(pool.stats().largest_free, largest + 4096);
    let many: Vec<DevPtr> = (0..200).map(|_| pool.alloc(QUICK).expect("room")).collect();
    many.iter().for_each(|&b| assert!(pool.free(b)));
    assert!(pool.quick_bytes <= QUICK_BYTES);
    check(&pool);
}

/// Makes random calls and returns the addresses.
fn run(seed: u64, steps: usize, capacity: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut pool = Pool::new(Fake::new(capacity));
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    let mut order: Vec<u64> = Vec::new();
    let mut addresses = Vec::new();
    for step in 0..steps {
        if random.below(100) < 55 || order.is_empty() {
            let bytes = random.size();
            let Ok(ptr) = pool.alloc(bytes) else { continue };
            let after = live.range(ptr.0..).next();
            assert!(after.is_none_or(|(&start, _)| start >= ptr.0 + bytes), "overlaps the block after");
            let before = live.range(..ptr.0).next_back();
            assert!(before.is_none_or(|(&start, &size)| start + size <= ptr.0), "overlaps the block before");
            live.insert(ptr.0, bytes);
            order.push(ptr.0);
            addresses.push(ptr.0);
        } else {
            let victim = order.swap_remove(random.below(order.len() as u64) as usize);
            live.remove(&victim);
            assert!(pool.free(DevPtr(victim)));
            assert!(!pool.free(DevPtr(victim)), "a second free must be refused");
        }
        if step % 64 == 0 {
            check(&pool);
        }
    }
    for address in order {
        assert!(pool.free(DevPtr(address)));
    }
    check(&pool);
    assert_eq!(pool.stats().used_bytes, 0);
    pool.free_all_blocks().expect("the fake never fails");
    assert_eq!(pool.stats().total_bytes, 0);
    assert_eq!(pool.source.held, 0);
    addresses
}

#[test]
fn random_use_never_overlaps_and_everything_returns() {
    for seed in 1..20 {
        run(seed, 3_000, u64::MAX);
        run(seed, 3_000, 200 << 20);
    }
}

#[test]
fn the_same_calls_give_the_same_addresses() {
    assert_eq!(run(7, 5_000, 1 << 30), run(7, 5_000, 1 << 30));
}

#[test]
fn a_repeated_step_gets_its_addresses_again() {
    let mut pool = Pool::new(Fake::new(u64::MAX));
    let _weights = pool.alloc(3 << 20).expect("room");
    let step = |pool: &mut Pool<Fake>| {
        let blocks: Vec<DevPtr> =
            [100, 5 << 20, 700_000, 33 << 20].iter().map(|&b| pool.alloc(b).expect("room")).collect();
        blocks.iter().rev().for_each(|&b| assert!(pool.free(b)));
        blocks
    };
    let first = step(&mut pool);
    for _ in 0..5 {
        assert_eq!(step(&mut pool), first);
    }
}

#[test]
fn waste_is_at_most_an_eighth() {
    let mut random = Random(3);
    for _ in 0..10_000 {
        let bytes = random.size();
        let got = round_up(bytes).expect("small enough");
        assert!(got >= bytes && got.is_multiple_of(GRANULE));
        assert!(got - bytes < GRANULE || got - bytes <= bytes / 8);
    }
    let mut pool = Pool::new(Fake::new(u64::MAX));
    let a = pool.alloc(40 << 20).expect("room");
    assert!(pool.free(a));
    let b = pool.alloc(20 << 20).expect("room");
    assert_eq!(pool.block_bytes(b), Some(20 << 20), "a large block is split");
    assert_eq!(pool.stats().total_bytes, 40 << 20);
}

#[test]
fn the_limit_holds_and_the_error_has_the_sizes() {
    let mut pool = Pool::new(Fake::new(1 << 40));
    pool.set_limit(Some(100 << 20));
    let a = pool.alloc(60 << 20).expect("below the limit");
    let error = pool.alloc(50 << 20).expect_err("beyond the limit");
    let CudaError::OutOfMemory { requested, live, limit, total, largest_live, .. } = error else { panic!("{error}") };
    assert_eq!((requested, live, limit, total), (50 << 20, 60 << 20, Some(100 << 20), 60 << 20));
    assert_eq!(largest_live, [60 << 20]);
    assert!(pool.free(a));
    pool.alloc(96 << 20).expect("the free segment is released first");
    assert_eq!(pool.stats().total_bytes, 96 << 20);
    pool.set_limit_fraction(0.5).expect("the fake never fails");
    assert_eq!(pool.limit(), Some(1 << 39));
}

#[test]
fn out_of_memory_drops_caches_and_tries_once_more() {
    let mut pool = Pool::new(Fake::new(64 << 20));
    let cached = pool.alloc(60 << 20).expect("room");
    let block = pool.alloc_or(32 << 20, |pool| assert!(pool.free(cached))).expect("the cache was dropped");
    assert!(!block.is_null());
    let mut asked = 0;
    assert!(pool.alloc_or(1 << 40, |_| asked += 1).is_err());
    assert_eq!(asked, 1);
    assert!(pool.alloc(u64::MAX).is_err());
    check(&pool);
}

#[test]
fn zero_bytes_are_null() {
    let mut pool = Pool::new(Fake::new(0));
    assert_eq!(pool.alloc(0).expect("zero bytes need no memory"), DevPtr::NULL);
    assert!(pool.free(DevPtr::NULL));
    assert!(!pool.free(DevPtr(0x1234)));
}

#[test]
fn an_exact_pool_keeps_nothing_and_rounds_nothing() {
    let mut pool = Pool::new(Fake::new(1000)).exact(true);
    let (a, b) = (pool.alloc(3).expect("room"), pool.alloc(700).expect("room"));
    assert_eq!(pool.source.pieces.values().copied().collect::<Vec<_>>(), [3, 700]);
    assert_eq!((pool.stats().used_bytes, pool.stats().total_bytes), (703, 703));
    assert!(pool.alloc(400).is_err_and(|error| error.is_out_of_memory()));
    let c = pool.alloc_or(400, |pool| assert!(pool.free(b))).expect("a cache was dropped");
    assert!(pool.free(a) && pool.free(c) && !pool.free(a));
    assert!(pool.source.pieces.is_empty() && pool.stats().total_bytes == 0);
    pool.set_limit(Some(10));
    assert!(pool.alloc(11).is_err());
}
