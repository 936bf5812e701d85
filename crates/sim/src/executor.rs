//! Runs the blocks of a launch. The threads of a block are coroutines on one thread of the system; a thread runs until
//! it waits for its warp or its block, or ends. The blocks of a cooperative launch, which may wait for each other, run
//! on a thread of the system each.

use std::cell::Cell;
use std::ffi::c_void;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::settings::{Order, settings};
use crate::tsan::{self, Fiber};

const LANES: usize = 32;
/// Bytes of a thread's stack. Pages that are not touched take no memory.
const STACK: usize = 256 << 10;

/// Three extents or indices, as CUDA's `dim3`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dim {
    /// Along the fastest axis.
    pub x: u32,
    /// Along the second axis.
    pub y: u32,
    /// Along the slowest axis.
    pub z: u32,
}

impl Dim {
    /// Returns the product of the extents.
    #[must_use]
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }

    /// Returns the index at a position in row-major order.
    fn at(self, position: u64) -> Dim {
        let (x, y) = (u64::from(self.x), u64::from(self.y));
        Dim { x: (position % x) as u32, y: (position / x % y) as u32, z: (position / (x * y)) as u32 }
    }
}

/// What a module's code reads of the running thread: `sim::position` of device.h.
#[repr(C)]
pub(crate) struct Position {
    thread: Dim,
    block: Dim,
    block_dim: Dim,
    grid_dim: Dim,
    lane: u32,
    dynamic_bytes: u32,
    dynamic: *mut c_void,
}

/// What a module's code calls: `sim::services` of device.h.
#[repr(C)]
pub(crate) struct Services {
    exchange: extern "C-unwind" fn(u32, u64, *mut u32) -> *const u64,
    barrier: extern "C-unwind" fn(u32, *mut u32) -> u32,
    end_thread: extern "C-unwind" fn(),
    pause: extern "C-unwind" fn(),
    active: extern "C-unwind" fn() -> u32,
}

pub(crate) static SERVICES: Services = Services { exchange, barrier, end_thread, pause, active };

/// The code of a kernel: calls it with the addresses of its arguments.
pub(crate) type Call = unsafe extern "C-unwind" fn(*mut *mut c_void);

/// One launch of a kernel.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) call: Call,
    /// The position of the running thread in the kernel's module, for the calling thread of the system.
    pub(crate) position: unsafe extern "C" fn() -> *mut Position,
    pub(crate) grid: Dim,
    pub(crate) block: Dim,
    pub(crate) dynamic_bytes: u32,
    pub(crate) arguments: &'a [*mut c_void],
    /// All blocks run at once.
    pub(crate) cooperative: bool,
}

// SAFETY: the arguments point to values that the launch keeps and no block writes.
unsafe impl Sync for Launch<'_> {}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Nothing: it can run.
    None,
    /// All lanes of the mask that have not ended.
    Warp(u32),
    /// All threads of the block that have not ended.
    Block,
    /// It has ended.
    End,
}

/// A thread of the running block.
struct Thread {
    coroutine: Option<Coroutine<(), Wait, (), DefaultStack>>,
    /// The thread for ThreadSanitizer.
    fiber: Option<Fiber>,
    yielder: *const Yielder<(), Wait>,
    index: Dim,
    wait: Wait,
    /// The value that it passed to what it waits for.
    value: u64,
    /// The values of the lanes of its last exchange, and which lanes took part.
    values: [u64; LANES],
    present: u32,
    /// The sum and the number of threads of its last barrier.
    barrier: (u32, u32),
}

/// The running block of a thread of the system.
struct Block<'a> {
    launch: &'a Launch<'a>,
    threads: Vec<Thread>,
    position: *mut Position,
    /// Addresses of the synchronizations that ThreadSanitizer sees: of the block, then of each of its warps.
    synchronizations: Vec<u64>,
}

/// The addresses at which ThreadSanitizer sees the start and the end of each block.
static START: u64 = 0;
static END: u64 = 1;

thread_local! {
    static RUNNING: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) };
    static ACTIVE: Cell<u32> = const { Cell::new(0) };
    static STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

/// Suspends the running thread until the executor resumes it, and returns it.
fn wait(wait: Wait, value: u64) -> &'static Thread {
    let thread = RUNNING.get();
    // SAFETY: services are only called by the code of a running thread, which the executor set and which lives until
    // its block ends. The executor does not touch it while it runs.
    let yielder = unsafe {
        (*thread).value = value;
        &*(*thread).yielder
    };
    yielder.suspend(wait);
    // SAFETY: as above; the executor has returned to this thread.
    unsafe { &*thread }
}

extern "C-unwind" fn exchange(mask: u32, value: u64, present: *mut u32) -> *const u64 {
    let thread = wait(Wait::Warp(mask), value);
    // SAFETY: the caller passes the address of a variable.
    unsafe { *present = thread.present };
    thread.values.as_ptr()
}

extern "C-unwind" fn barrier(value: u32, threads: *mut u32) -> u32 {
    let (sum, count) = wait(Wait::Block, u64::from(value)).barrier;
    // SAFETY: the caller passes the address of a variable.
    unsafe { *threads = count };
    sum
}

extern "C-unwind" fn end_thread() {
    wait(Wait::End, 0);
}

extern "C-unwind" fn pause() {
    std::thread::yield_now();
}

extern "C-unwind" fn active() -> u32 {
    ACTIVE.get()
}

/// Runs a launch.
///
/// # Errors
/// Threads wait for others that never come. The message names the kernel and the threads.
pub(crate) fn run(launch: &Launch) -> Result<(), String> {
    let blocks = launch.grid.count();
    if launch.cooperative {
        return std::thread::scope(|scope| {
            let running: Vec<_> = (0..blocks).map(|b| scope.spawn(move || Block::new(launch).run(b))).collect();
            running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a block panicked".into())))
        });
    }
    let mut block = Block::new(launch);
    (0..blocks).try_for_each(|b| block.run(if settings().order == Order::Backward { blocks - 1 - b } else { b }))
}

impl<'a> Block<'a> {
    fn new(launch: &'a Launch<'a>) -> Block<'a> {
        let count = launch.block.count();
        let thread = |t| Thread {
            coroutine: None,
            fiber: None,
            yielder: std::ptr::null(),
            index: launch.block.at(t),
            wait: Wait::None,
            value: 0,
            values: [0; LANES],
            present: 0,
            barrier: (0, 0),
        };
        // SAFETY: the function of the kernel's module only returns an address.
        let position = unsafe { (launch.position)() };
        let threads: Vec<Thread> = (0..count).map(thread).collect();
        let synchronizations = vec![0; 1 + threads.len().div_ceil(LANES)];
        Block { launch, threads, position, synchronizations }
    }

    fn run(&mut self, index: u64) -> Result<(), String> {
        let launch = self.launch;
        // Shared memory has no contents at the start of a block.
        let mut dynamic = vec![0xa5a5_a5a5_a5a5_a5a5_u64; (launch.dynamic_bytes as usize).div_ceil(8) + 2];
        let address = dynamic.as_mut_ptr().cast::<u8>();
        let aligned = address.wrapping_add(address.align_offset(16));
        // SAFETY: the module's position belongs to this thread of the system, and only one of the block's threads runs.
        unsafe {
            *self.position = Position {
                thread: Dim::default(),
                block: launch.grid.at(index),
                block_dim: launch.block,
                grid_dim: launch.grid,
                lane: 0,
                dynamic_bytes: launch.dynamic_bytes,
                dynamic: aligned.cast(),
            };
        }
        self.threads.iter_mut().for_each(|thread| thread.wait = Wait::None);
        tsan::release(&START);
        let done = self.run_threads();
        for thread in &mut self.threads {
            thread.end();
        }
        tsan::acquire(&END);
        done.map_err(|why| format!("{} (block {:?}): {why}", launch.name, launch.grid.at(index)))
    }

    /// Runs the block's threads, wave after wave, until all have ended.
    fn run_threads(&mut self) -> Result<(), String> {
        let (count, wave) = (self.threads.len(), settings().wave as usize);
        let waves = count.div_ceil(wave);
        loop {
            for k in 0..waves {
                let start = wave * if settings().order == Order::Backward { waves - 1 - k } else { k };
                let end = (start + wave).min(count);
                loop {
                    for t in start..end {
                        if self.threads[t].wait == Wait::None {
                            self.resume(t);
                        }
                    }
                    let mut released = false;
                    for warp in (start..end).step_by(LANES) {
                        released |= self.release_warp(warp);
                    }
                    if !released {
                        break;
                    }
                }
            }
            let living = self.threads.iter().filter(|t| t.wait != Wait::End);
            if living.clone().next().is_none() {
                return Ok(());
            }
            if let Some(stuck) = living.clone().find(|t| t.wait != Wait::Block) {
                return Err(self.deadlock(stuck));
            }
            synchronize(living.clone(), &self.synchronizations[0]);
            let sum = living.clone().map(|t| t.value as u32).sum();
            let all = living.count() as u32;
            for thread in self.threads.iter_mut().filter(|t| t.wait != Wait::End) {
                thread.barrier = (sum, all);
                thread.wait = Wait::None;
            }
        }
    }

    fn deadlock(&self, stuck: &Thread) -> String {
        let waiting = self.threads.iter().filter(|t| t.wait == Wait::Block).count();
        let Dim { x, y, z } = stuck.index;
        let mask = if let Wait::Warp(mask) = stuck.wait { mask } else { 0 };
        format!(
            "thread ({x}, {y}, {z}) waits for the lanes {mask:#010x} of its warp, and not all of them come; {waiting} \
             threads of the block wait at __syncthreads()"
        )
    }

    /// Lets the lanes of a warp go on whose groups are complete. Returns true if there were any.
    fn release_warp(&mut self, start: usize) -> bool {
        let end = (start + LANES).min(self.threads.len());
        let warp = &mut self.threads[start..end];
        let mut any = false;
        for lane in 0..warp.len() {
            let Wait::Warp(mask) = warp[lane].wait else { continue };
            let mask = mask | 1 << lane;
            let together = |(l, t): (usize, &Thread)| match t.wait {
                Wait::End => true,
                Wait::Warp(other) => mask >> l & 1 == 0 || other | 1 << l == mask,
                _ => mask >> l & 1 == 0,
            };
            if !warp.iter().enumerate().all(together) {
                continue;
            }
            let (mut values, mut present) = ([0; LANES], 0);
            for (l, thread) in warp.iter().enumerate() {
                if mask >> l & 1 == 1 && thread.wait != Wait::End {
                    values[l] = thread.value;
                    present |= 1 << l;
                }
            }
            let participants = warp.iter().enumerate().filter(|(l, _)| present >> l & 1 == 1);
            synchronize(participants.map(|(_, thread)| thread), &self.synchronizations[1 + start / LANES]);
            for (l, thread) in warp.iter_mut().enumerate() {
                if present >> l & 1 == 1 {
                    (thread.values, thread.present, thread.wait) = (values, present, Wait::None);
                }
            }
            any = true;
        }
        any
    }

    /// Runs a thread until it waits or ends.
    fn resume(&mut self, t: usize) {
        let launch = self.launch;
        let warp = t - t % LANES;
        let end = (warp + LANES).min(self.threads.len());
        let running = self.threads[warp..end].iter().enumerate().filter(|(_, t)| t.wait == Wait::None);
        ACTIVE.set(running.fold(0, |mask, (l, _)| mask | 1 << l));
        let thread = &mut self.threads[t];
        // SAFETY: as in `run`.
        unsafe {
            (*self.position).thread = thread.index;
            (*self.position).lane = (t % LANES) as u32;
        }
        let at: *mut Thread = thread;
        RUNNING.set(at);
        if thread.coroutine.is_none() {
            let arguments = launch.arguments.as_ptr().cast_mut();
            let call = launch.call;
            let body = move |yielder: &Yielder<(), Wait>, ()| {
                let thread = RUNNING.get();
                // SAFETY: the thread was set above and outlives its coroutine.
                unsafe { (*thread).yielder = yielder };
                // SAFETY: the arguments have the types of the kernel's parameters, which its caller ensured.
                unsafe { call(arguments) };
            };
            thread.coroutine = Some(Coroutine::with_stack(stack(), body));
            let fiber = Fiber::new();
            fiber.run(|| tsan::acquire(&START));
            thread.fiber = Some(fiber);
        }
        let (Some(coroutine), Some(fiber)) = (&mut thread.coroutine, &thread.fiber) else { return };
        thread.wait = match fiber.run(|| coroutine.resume(())) {
            CoroutineResult::Yield(wait) => wait,
            CoroutineResult::Return(()) => Wait::End,
        };
        // ThreadSanitizer would take another thread on the same stack for a race.
        if thread.wait == Wait::End && !tsan::is_active() {
            thread.end();
        }
    }
}

/// Orders what threads did before what they do next, for ThreadSanitizer.
fn synchronize<'t>(threads: impl Iterator<Item = &'t Thread> + Clone, at: &u64) {
    threads.clone().filter_map(|t| t.fiber.as_ref()).for_each(|fiber| fiber.run(|| tsan::release(at)));
    threads.filter_map(|t| t.fiber.as_ref()).for_each(|fiber| fiber.run(|| tsan::acquire(at)));
}

impl Thread {
    /// Gives the stack back. A thread that ended within a function is not unwound: its frames own nothing.
    fn end(&mut self) {
        if let Some(fiber) = self.fiber.take() {
            fiber.run(|| tsan::release(&END));
        }
        if let Some(mut coroutine) = self.coroutine.take() {
            if !coroutine.done() {
                // SAFETY: device code has no destructors, and nothing refers to the frames.
                unsafe { coroutine.force_reset() };
            }
            let mut stacks = STACKS.take();
            stacks.push(coroutine.into_stack());
            STACKS.set(stacks);
        }
    }
}

/// Returns a stack that no thread uses.
fn stack() -> DefaultStack {
    let mut stacks = STACKS.take();
    let free = stacks.pop();
    STACKS.set(stacks);
    free.unwrap_or_else(|| DefaultStack::new(STACK).expect("the system has memory for a stack"))
}
