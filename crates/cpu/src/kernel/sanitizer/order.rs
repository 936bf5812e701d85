//! The order of accesses: which happen before which by barriers, operations of a warp, and atomic operations with
//! fences.

use std::collections::{HashMap, HashSet};

use super::{Stamp, WARP};

/// For each lane of a warp, the latest event of it that a thread knows of.
type Known = [u64; WARP as usize];

/// What can order accesses of different blocks. All with the number of the event.
enum Event {
    /// A barrier of a block.
    Barrier(u32),
    /// An operation of lanes of the warp that starts at a thread.
    Warp(u32, u32),
    /// A fence of a thread; true if it is one for the whole device.
    Fence(u32, bool),
    /// An atomic operation of a thread at an address.
    Atomic(u32, usize),
}

#[derive(Default)]
struct Block {
    last_barrier: u64,
    /// By thread; empty without operations of a warp.
    known: Vec<Known>,
}

pub(super) struct Order {
    /// Threads of a block.
    threads: u32,
    last_grid_barrier: u64,
    blocks: HashMap<u32, Block>,
    /// Empty in kernels without fences, where atomic operations order nothing.
    events: Vec<(u64, Event)>,
    has_fences: bool,
}

impl Order {
    pub(super) fn new(threads: u32, has_fences: bool) -> Order {
        Order { threads, last_grid_barrier: 0, blocks: HashMap::new(), events: Vec::new(), has_fences }
    }

    fn event(&mut self, now: u64, event: Event) {
        if self.has_fences {
            self.events.push((now, event));
        }
    }

    pub(super) fn barrier(&mut self, now: u64, block: u32) {
        self.blocks.entry(block).or_default().last_barrier = now;
        self.event(now, Event::Barrier(block));
    }

    pub(super) fn grid(&mut self, now: u64) {
        self.last_grid_barrier = now;
    }

    pub(super) fn fence(&mut self, now: u64, thread: u32, device: bool) {
        self.event(now, Event::Fence(thread, device));
    }

    pub(super) fn atomic(&mut self, now: u64, thread: u32, address: usize) {
        self.event(now, Event::Atomic(thread, address));
    }

    /// Lanes of a warp, which starts at that thread, exchange what they know.
    pub(super) fn warp(&mut self, now: u64, first: u32, mask: u32) {
        let (threads, start) = (self.threads as usize, (first % self.threads) as usize);
        let known = &mut self.blocks.entry(first / self.threads).or_default().known;
        known.resize(threads, [0; WARP as usize]);
        let lanes = || (0..WARP as usize).filter(|&lane| mask >> lane & 1 == 1 && start + lane < threads);
        let mut all = [0; WARP as usize];
        for lane in lanes() {
            for (all, &own) in all.iter_mut().zip(&known[start + lane]) {
                *all = own.max(*all);
            }
        }
        lanes().for_each(|lane| all[lane] = now);
        lanes().for_each(|lane| known[start + lane] = all);
        self.event(now, Event::Warp(first, mask));
    }

    /// Forgets what only the threads of a block need.
    pub(super) fn end_block(&mut self, block: u32) {
        self.blocks.remove(&block);
    }

    /// Returns true if an access happens before everything that the running thread does now.
    pub(super) fn is_ordered(&self, before: &Stamp, thread: u32) -> bool {
        if self.last_grid_barrier > before.seq {
            return true;
        }
        if before.thread / self.threads == thread / self.threads
            && let Some(block) = self.blocks.get(&(thread / self.threads))
        {
            let [one, other] = [before.thread, thread].map(|thread| thread % self.threads);
            let known = || block.known.get(other as usize).map_or(0, |known| known[(one % WARP) as usize]);
            if block.last_barrier > before.seq || (one / WARP == other / WARP && known() > before.seq) {
                return true;
            }
        }
        self.has_fences && self.is_ordered_by_atomics(before, thread)
    }

    /// Follows the knowledge of an access through the events since then: a thread that knows of it passes that on by a
    /// fence and an atomic operation to all that operate on the same address later.
    fn is_ordered_by_atomics(&self, before: &Stamp, thread: u32) -> bool {
        let threads = self.threads;
        let (mut known, mut blocks) = (HashSet::from([before.thread]), HashSet::new());
        let (mut device_fenced, mut block_fenced) = (HashSet::new(), HashSet::new());
        let (mut addresses, mut block_addresses) = (HashSet::new(), HashSet::new());
        let start = self.events.partition_point(|(seq, _)| *seq <= before.seq);
        for (_, event) in &self.events[start..] {
            match *event {
                Event::Barrier(block) => {
                    if known.iter().any(|thread| thread / threads == block) {
                        blocks.insert(block);
                    }
                }
                Event::Warp(first, mask) => {
                    let lanes = || (0..WARP).filter(|lane| mask >> lane & 1 == 1).map(|lane| first + lane);
                    if lanes().any(|thread| known.contains(&thread)) {
                        known.extend(lanes());
                    }
                }
                Event::Fence(thread, device) => {
                    if known.contains(&thread) || blocks.contains(&(thread / threads)) {
                        block_fenced.insert(thread);
                        if device {
                            device_fenced.insert(thread);
                        }
                    }
                }
                Event::Atomic(thread, address) => {
                    let block = thread / threads;
                    if addresses.contains(&address) || block_addresses.contains(&(block, address)) {
                        known.insert(thread);
                    }
                    if device_fenced.contains(&thread) {
                        addresses.insert(address);
                    }
                    if block_fenced.contains(&thread) {
                        block_addresses.insert((block, address));
                    }
                }
            }
        }
        known.contains(&thread) || blocks.contains(&(thread / threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(thread: u32, seq: u64) -> Stamp {
        Stamp { thread, site: 0, seq }
    }

    #[test]
    fn a_barrier_orders_the_threads_of_its_block() {
        let mut order = Order::new(64, false);
        order.barrier(5, 0);
        assert!(order.is_ordered(&at(3, 4), 60));
        assert!(!order.is_ordered(&at(3, 6), 60));
        assert!(!order.is_ordered(&at(3, 4), 64));
        order.grid(7);
        assert!(order.is_ordered(&at(3, 6), 64));
    }

    #[test]
    fn an_operation_of_a_warp_orders_its_lanes() {
        let mut order = Order::new(64, false);
        order.warp(5, 32, 0b11);
        assert!(order.is_ordered(&at(32, 4), 33));
        assert!(!order.is_ordered(&at(32, 4), 34));
        order.warp(6, 32, 0b110);
        assert!(order.is_ordered(&at(32, 4), 34), "lane 1 passed on what it knew of lane 0");
        assert!(!order.is_ordered(&at(33, 7), 34));
    }

    #[test]
    fn a_fence_and_an_atomic_operation_order_blocks() {
        let mut order = Order::new(32, true);
        order.barrier(2, 0); // thread 1 wrote at 1; all of block 0 know
        order.fence(3, 0, true);
        order.atomic(4, 0, 64);
        assert!(!order.is_ordered(&at(1, 1), 32));
        order.atomic(5, 32, 64);
        assert!(order.is_ordered(&at(1, 1), 32));
        assert!(!order.is_ordered(&at(1, 1), 33));
        order.barrier(6, 1);
        assert!(order.is_ordered(&at(1, 1), 33));
    }

    #[test]
    fn an_atomic_operation_without_a_fence_orders_nothing() {
        let mut order = Order::new(32, true);
        order.atomic(2, 1, 64);
        order.atomic(3, 32, 64);
        assert!(!order.is_ordered(&at(1, 1), 32));
        order.fence(4, 1, false);
        order.atomic(5, 1, 64);
        order.atomic(6, 32, 64);
        assert!(!order.is_ordered(&at(1, 1), 32), "a fence of the block does not concern other blocks");
        order.atomic(7, 2, 64);
        assert!(order.is_ordered(&at(1, 1), 2));
    }
}
