//! Checks of kernels that run with `check=True`: races, reads of memory that was never written, and barriers that not
//! all threads reach. Indices out of bounds are exceptions of the kernel itself.
//!
//! Generated code reports each access ([`instrument`]), coroutines report barriers. Threads run one after the other on
//! one core, so every launch has one order of events. Two accesses race if nothing that the program does orders them
//! ([`order`]), whatever their order in this run. [`shadow`] remembers the latest accesses to each address.

mod instrument;
mod order;
mod report;
mod shadow;

use std::collections::HashMap;
use std::sync::Arc;

use cuprous_plan::Launch;

use order::Order;
use report::Problem;
pub(super) use report::{Access, Problems, Site};
use shadow::{Found, Shadow};

/// Lanes of a warp.
const WARP: u32 = 32;

/// An access: who, where in the source, and when.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stamp {
    /// The thread's number in the grid.
    thread: u32,
    /// An index of the kernel's sites.
    site: u32,
    /// The number of the event in the launch.
    seq: u64,
}

/// Operations that threads completed together.
pub(super) enum Completed {
    /// A barrier of all threads of a block that have not ended.
    Block,
    /// An operation of these lanes of the warp that starts at this thread of the block.
    Warp(usize, u32),
}

/// The state of a launch that is checked.
pub(super) struct Sanitizer {
    sites: Arc<[Site]>,
    /// Threads of a block along each axis, blocks of the grid along each axis.
    block: [u32; 3],
    grid: [u32; 3],
    threads: u32,
    /// The running thread's number in the grid.
    running: u32,
    /// The number of events so far.
    now: u64,
    shadow: Shadow,
    order: Order,
    /// The barrier at which each waiting thread waits.
    waits: HashMap<u32, u32>,
    problems: Problems,
}

impl Sanitizer {
    /// Creates the state of a launch. `fences` is true if the kernel has memory fences.
    pub(super) fn new(sites: Arc<[Site]>, launch: &Launch, fences: bool) -> Sanitizer {
        let threads = launch.block.iter().product();
        Sanitizer {
            problems: Problems::default(),
            sites,
            block: launch.block,
            grid: launch.grid,
            threads,
            running: 0,
            now: 0,
            shadow: Shadow::default(),
            order: Order::new(threads, fences),
            waits: HashMap::new(),
        }
    }

    /// Returns the text of all problems; `None` if there are none.
    pub(super) fn report(&self, kernel: &str) -> Option<String> {
        self.problems.text(kernel, &self.sites, |thread| self.name(thread))
    }

    /// Starts a block, with the address and size of its shared memory.
    pub(super) fn begin_block(&mut self, shared: usize, bytes: usize) {
        self.shadow.declare(shared, bytes);
    }

    /// Ends a block.
    pub(super) fn end_block(&mut self, block: usize) {
        self.order.end_block(block as u32);
    }

    /// Continues with a thread of a block.
    pub(super) fn resume(&mut self, block: usize, thread: usize) {
        self.running = block as u32 * self.threads + thread as u32;
    }

    /// The running thread declares a local array.
    fn declare(&mut self, address: usize, bytes: usize) {
        self.shadow.declare(address, bytes);
    }

    /// The running thread accesses an element. `value` is what it writes there.
    fn access(&mut self, site: u32, address: usize, indices: &[i64], value: Option<&[u8]>) {
        self.now += 1;
        let here = Stamp { thread: self.running, site, seq: self.now };
        let Site { access, bytes, .. } = self.sites[site as usize];
        // Threads that write the value that is there change nothing that others could read.
        // SAFETY: generated code accesses these bytes next, after it compared the index with the extent.
        let is_silent =
            value.is_some_and(|v| unsafe { std::slice::from_raw_parts(address as *const u8, v.len()) } == v);
        if access == Access::Atomic {
            self.order.atomic(self.now, here.thread, address);
        }
        let order = &self.order;
        let found = self.shadow.access(address, bytes as usize, here, access, is_silent, &mut |before| {
            order.is_ordered(before, here.thread)
        });
        let problem = match found {
            Some(Found::Uninitialized) => Problem::Uninitialized { here, indices: indices.into() },
            Some(Found::Race(before)) => Problem::Race { before, here, indices: indices.into() },
            None => return,
        };
        self.problems.add(problem);
    }

    /// The running thread executes a fence, for the whole device or only for its block.
    fn fence(&mut self, device: bool) {
        self.now += 1;
        self.order.fence(self.now, self.running, device);
    }

    /// The running thread is going to wait at a barrier.
    fn wait(&mut self, site: u32) {
        self.waits.insert(self.running, site);
    }

    /// Threads of a block completed an operation, or wait for each other in vain. `waiting` and `ended` are the threads
    /// that wait for a barrier and those that have ended.
    pub(super) fn completed(&mut self, block: usize, what: Option<Completed>, waiting: &[usize], ended: &[usize]) {
        self.now += 1;
        let first = block as u32 * self.threads;
        match what {
            Some(Completed::Warp(start, mask)) => self.order.warp(self.now, first + start as u32, mask),
            Some(Completed::Block) => {
                self.order.barrier(self.now, block as u32);
                self.compare(first, waiting, ended);
            }
            None => self.compare(first, waiting, ended),
        }
    }

    /// All threads of the grid passed a barrier.
    pub(super) fn completed_grid(&mut self) {
        self.now += 1;
        self.order.grid(self.now);
    }

    /// Reports threads of a block that do not wait at the same barrier.
    fn compare(&mut self, first: u32, waiting: &[usize], ended: &[usize]) {
        let mut groups: Vec<(Option<u32>, Vec<u32>)> = Vec::new();
        let here = waiting.iter().map(|&k| (self.waits.get(&(first + k as u32)).copied(), first + k as u32));
        for (site, thread) in here.chain(ended.iter().map(|&k| (None, first + k as u32))) {
            match groups.iter_mut().find(|(known, _)| *known == site) {
                Some((_, threads)) => threads.push(thread),
                None => groups.push((site, vec![thread])),
            }
        }
        if groups.len() > 1 {
            self.problems.add(Problem::Barrier(groups));
        }
    }

    /// Returns a thread's name as text.
    fn name(&self, thread: u32) -> String {
        let at = |n: u32, of: [u32; 3]| (n % of[0], n / of[0] % of[1], n / of[0] / of[1]);
        format!(
            "thread {:?} of block {:?}",
            at(thread % self.threads, self.block),
            at(thread / self.threads, self.grid)
        )
    }
}

/// The functions that generated code calls. Each gets the environment of its block.
pub(super) mod calls {
    use super::super::env::Env;
    use super::Sanitizer;

    /// Runs `f` with the launch's sanitizer.
    fn with(env: *const Env, f: impl FnOnce(&mut Sanitizer)) {
        // SAFETY: checked code runs only with a sanitizer, on one core, and the coroutines do not hold it meanwhile.
        f(unsafe { &mut *(*env).sanitizer });
    }

    pub(in super::super) fn access(env: *const Env, site: u32, address: usize, indices: &[i64], value: Option<&[u8]>) {
        with(env, |sanitizer| sanitizer.access(site, address, indices, value));
    }

    pub(in super::super) fn fence(env: *const Env, device: bool) {
        with(env, |sanitizer| sanitizer.fence(device));
    }

    pub(in super::super) fn wait(env: *const Env, site: u32) {
        with(env, |sanitizer| sanitizer.wait(site));
    }

    pub(in super::super) fn declare(env: *const Env, address: usize, bytes: usize) {
        with(env, |sanitizer| sanitizer.declare(address, bytes));
    }
}
