//! Threads that wait for each other, as coroutines on one core.
//!
//! A thread runs until it waits, then the next one runs. When all threads are waiting or done, those that wait for the
//! same operation of the block or of lanes of a warp receive its result and continue. Threads that are done do not take
//! part in later operations.

use std::cell::{Cell, RefCell};

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use cuprous_core::{Error, Result};

use super::env::Env;
use super::jit::MachineCode;
use super::request::{CurrentThread, FIRST_WARP_OP, GRID_SYNC, OPS, Request, STOP};
use super::sanitizer::{Completed, Sanitizer};

/// Number of threads in a warp.
const WARP: usize = 32;
/// Size of a thread's stack without its arrays.
const STACK: usize = 64 << 10;

/// The part of a stack that is reserved for functions of the run-time library.
const STACK_MARGIN: usize = 32 << 10;
/// Size of the stack of a task whose threads do not wait for each other.
const TASK_STACK: usize = 8 << 20;

/// Number of free stacks that are kept: enough for one block.
const MAX_FREE_STACKS: usize = 1024;
/// Maximum number of threads of a grid that wait for each other. Each has a stack.
pub(super) const MAX_GRID: usize = 1 << 16;

type Thread = Coroutine<u64, Request, (), DefaultStack>;

thread_local! {
    /// Free stacks and their size.
    static STACKS: RefCell<(usize, Vec<DefaultStack>)> = const { RefCell::new((0, Vec::new())) };
}

fn stack(bytes: usize) -> Result<DefaultStack> {
    let free = STACKS.with_borrow_mut(|(size, free)| {
        if *size != bytes {
            *size = bytes;
            free.clear();
        }
        free.pop()
    });
    match free {
        Some(stack) => Ok(stack),
        None => DefaultStack::new(bytes)
            .map_err(|e| Error::memory(format!("[kernel] cannot allocate the stack of a thread: {e}"))),
    }
}

/// The threads of a block that is running.
struct RunningBlock {
    block: Box<CurrentThread>,
    threads: Vec<Thread>,
    states: Vec<State>,
    /// The yielder of each thread, restored when the thread continues.
    yielders: Vec<*const Yielder<u64, Request>>,
    /// The stack limit of each thread.
    stack_limits: Vec<usize>,
    env: *mut Env,
    /// The number of the block in the grid.
    number: usize,
    /// The request that ended the launch early.
    stopped: Option<Request>,
    error: Option<Error>,
}

/// Returns the address below which generated code must not call functions.
fn stack_limit(stack: &DefaultStack) -> usize {
    stack.limit().get() + STACK_MARGIN
}

/// Returns the error of a launch that ended early.
fn launch_error(code: &MachineCode, why: Request) -> Error {
    if why.op == STOP {
        return Error::aborted("interrupted in a kernel");
    }
    let name = code.names.get(why.mask as usize).map_or("a function", String::as_str);
    Error::recursion(format!(
        "maximum recursion depth exceeded: no stack is left for a call of {name}() in a kernel; recurse less deeply, or \
         use a loop"
    ))
}

/// Runs the blocks of a task on a separate stack. If they stop early or run out of stack, the stack is abandoned with
/// all frames.
pub(super) fn run_task(code: &MachineCode, env: &mut Env, work: &mut dyn FnMut(&mut Env)) -> Result<()> {
    thread_local! {
        static STACK: Cell<Option<DefaultStack>> = const { Cell::new(None) };
    }
    let no_stack = |e: std::io::Error| Error::memory(format!("[kernel] cannot allocate the stack of a task: {e}"));
    let stack = STACK.take().map_or_else(|| DefaultStack::new(TASK_STACK).map_err(no_stack), Ok)?;
    let block = CurrentThread { yielder: Cell::new(std::ptr::null()) };
    env.current_thread = &raw const block;
    env.stack_limit = stack_limit(&stack);
    let (at, env_at) = (&raw const block as usize, std::ptr::from_mut(env) as usize);
    // SAFETY: only the lifetime changes; the coroutine ends in this function.
    let work: &'static mut dyn FnMut(&mut Env) = unsafe { std::mem::transmute(work) };
    let mut task: Thread = Coroutine::with_stack(stack, move |yielder, _| {
        // SAFETY: both outlive the coroutine, and nothing else uses the environment until it ends.
        unsafe {
            (*(at as *const CurrentThread)).yielder.set(yielder);
            work(&mut *(env_at as *mut Env));
        }
    });
    let result = match task.resume(0) {
        CoroutineResult::Return(()) => Ok(()),
        CoroutineResult::Yield(why) => {
            // SAFETY: the remaining frames on its stack belong to generated code and `work`, and own nothing.
            unsafe { task.force_reset() };
            Err(launch_error(code, why))
        }
    };
    env.current_thread = std::ptr::null();
    STACK.set(Some(task.into_stack()));
    result
}

impl RunningBlock {
    /// Creates the threads of a block. The environment must not move until they are done.
    fn new(code: &MachineCode, args: &[u8], env: &mut Env, local: usize) -> Result<RunningBlock> {
        let block = Box::new(CurrentThread { yielder: Cell::new(std::ptr::null()) });
        env.current_thread = &raw const *block;
        let [x, y, z] = env.dims;
        let number = env.number();
        let environment = std::ptr::from_mut(env) as usize;
        let shared = &raw const *block as usize;
        let (function, start) = (code.entry(), args.as_ptr() as usize);
        let mut threads: Vec<Thread> = Vec::new();
        let mut stack_limits = Vec::new();
        for index in 0..x * y * z {
            let (tx, ty, tz) = (index % x, index / x % y, index / x / y);
            let bytes = (STACK + 2 * local).next_multiple_of(1 << 16);
            let stack = stack(bytes)?;
            stack_limits.push(stack_limit(&stack));
            threads.push(Coroutine::with_stack(stack, move |yielder, _| {
                // SAFETY: block and environment outlive all threads; the code is the function of one thread with such
                // arguments.
                unsafe {
                    (*(shared as *const CurrentThread)).yielder.set(yielder);
                    function(start as *const u8, environment as *mut Env, tx, ty, tz);
                }
            }));
        }
        let states = vec![State::Ready(0); threads.len()];
        let yielders = vec![std::ptr::null(); threads.len()];
        Ok(RunningBlock { block, threads, states, yielders, stack_limits, env, number, stopped: None, error: None })
    }

    /// Runs the threads until all are done or wait for the grid. Returns true if some wait for the grid.
    fn advance(&mut self) -> bool {
        loop {
            for (k, thread) in self.threads.iter_mut().enumerate() {
                if let State::Ready(result) = self.states[k] {
                    self.block.yielder.set(self.yielders[k]);
                    // SAFETY: the environment outlives the threads, and none of them is running.
                    unsafe { (*self.env).stack_limit = self.stack_limits[k] };
                    if let Some(sanitizer) = sanitizer(self.env) {
                        sanitizer.resume(self.number, k);
                    }
                    self.states[k] = match thread.resume(result) {
                        CoroutineResult::Yield(request) if request.op >= STOP => {
                            self.stopped = Some(request);
                            return false;
                        }
                        CoroutineResult::Yield(request) => State::Waiting(request),
                        CoroutineResult::Return(()) => State::Done,
                    };
                    self.yielders[k] = self.block.yielder.get();
                }
            }
            if self.states.iter().all(|s| matches!(s, State::Done)) {
                return false;
            }
            if self.states.iter().all(|s| s.is_waiting_for_grid()) {
                return true;
            }
            let (env, number) = (self.env, self.number);
            if !complete_operations(&mut self.states, &mut |what, states| report(env, number, Some(what), states)) {
                report(env, number, None, &self.states);
                self.error.get_or_insert_with(|| {
                    Error::runtime("[kernel] deadlock: threads wait for each other at different barriers")
                });
                // So that the threads end, each receives a result as if it were alone.
                self.resume_waiting();
            }
        }
    }

    /// Lets all waiting threads continue.
    fn resume_waiting(&mut self) {
        self.states.iter_mut().filter(|s| matches!(s, State::Waiting(_))).for_each(|s| *s = State::Ready(0));
    }

    fn end(mut self, code: &MachineCode, env: &mut Env) -> Result<()> {
        env.current_thread = std::ptr::null();
        // SAFETY: the remaining frames on the stacks belong to generated code and own nothing.
        self.threads.iter_mut().filter(|thread| !thread.done()).for_each(|thread| unsafe { thread.force_reset() });
        STACKS.with_borrow_mut(|(_, free)| {
            free.extend(self.threads.into_iter().map(Thread::into_stack));
            free.truncate(MAX_FREE_STACKS);
        });
        match self.stopped {
            Some(why) => Err(launch_error(code, why)),
            None => self.error.map_or(Ok(()), Err),
        }
    }
}

/// Returns the sanitizer of a launch that is checked.
fn sanitizer<'a>(env: *mut Env) -> Option<&'a mut Sanitizer> {
    // SAFETY: the environment and the sanitizer outlive the threads, and none of them is running.
    unsafe { (*env).sanitizer.as_mut() }
}

/// Reports an operation that threads of a block completed, or that they wait for each other.
fn report(env: *mut Env, block: usize, what: Option<Completed>, states: &[State]) {
    let Some(sanitizer) = sanitizer(env) else { return };
    let threads = |f: fn(&State) -> bool| (0..states.len()).filter(|&k| f(&states[k])).collect::<Vec<_>>();
    // SAFETY: as above. Threads that raised an exception are reported by that.
    let has_fault = unsafe { (*env).fault[0] != 0 };
    let waiting = threads(|state| matches!(state, State::Waiting(_)));
    let ended = if has_fault { Vec::new() } else { threads(|state| matches!(state, State::Done)) };
    sanitizer.completed(block, what, &waiting, &ended);
}

/// Runs the threads of a block.
pub(super) fn run_block(code: &MachineCode, args: &[u8], env: &mut Env, local: usize) -> Result<()> {
    let mut running = RunningBlock::new(code, args, env, local)?;
    while running.advance() {
        running.resume_waiting();
    }
    running.end(code, env)
}

/// Returns an error for a grid with more threads than can wait for each other.
pub(super) fn check_grid(threads: u64) -> Result<()> {
    if threads <= MAX_GRID as u64 {
        return Ok(());
    }
    Err(Error::value(format!(
        "[kernel] {threads} threads wait for one another > {MAX_GRID}, the limit on the CPU; launch fewer blocks, and \
         let each do more in a loop"
    )))
}

/// Runs blocks that wait for each other, one after the other.
pub(super) fn run_grid(code: &MachineCode, args: &[u8], envs: &mut [Env], local: usize) -> Result<()> {
    let mut all = Vec::new();
    for env in &mut *envs {
        all.push(RunningBlock::new(code, args, env, local)?);
    }
    loop {
        let mut waiting = false;
        for block in &mut all {
            waiting |= block.advance();
        }
        if !waiting || all.iter().any(|block| block.stopped.is_some()) {
            break;
        }
        if let Some(sanitizer) = all.first().and_then(|block| sanitizer(block.env)) {
            sanitizer.completed_grid();
        }
        all.iter_mut().for_each(RunningBlock::resume_waiting);
    }
    // All blocks are ended, even if one of them failed.
    let mut result = Ok(());
    for (block, env) in all.into_iter().zip(envs) {
        let ended = block.end(code, env);
        result = result.and(ended);
    }
    result
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Continues with that result.
    Ready(u64),
    Waiting(Request),
    Done,
}

impl State {
    /// Returns true if the thread waits for the grid or is done.
    fn is_waiting_for_grid(self) -> bool {
        match self {
            State::Waiting(request) => request.op == GRID_SYNC,
            State::Done => true,
            State::Ready(_) => false,
        }
    }
}

/// Completes operations whose threads have all arrived, and calls `completed` with each before they continue. Returns
/// false if there are none.
fn complete_operations(states: &mut [State], completed: &mut dyn FnMut(Completed, &[State])) -> bool {
    let mut moved = false;
    for (k, warp) in states.chunks_mut(WARP).enumerate() {
        moved |= complete_warp_operations(warp, &mut |mask| completed(Completed::Warp(k * WARP, mask), &[]));
    }
    if moved {
        return true;
    }
    let mut votes = [0u64; 2];
    let mut op = None;
    for state in states.iter() {
        match state {
            State::Waiting(request) if request.op < FIRST_WARP_OP && *op.get_or_insert(request.op) == request.op => {
                votes[usize::from(request.value != 0)] += 1;
            }
            State::Done => {}
            _ => return false,
        }
    }
    let result = match op {
        Some(1) => votes[1],
        Some(2) => u64::from(votes[0] == 0),
        Some(3) => u64::from(votes[1] > 0),
        _ => 0,
    };
    completed(Completed::Block, states);
    states.iter_mut().filter(|s| matches!(s, State::Waiting(_))).for_each(|s| *s = State::Ready(result));
    true
}

/// Completes operations of a warp for which all their lanes wait, and calls `completed` with the lanes of each.
fn complete_warp_operations(warp: &mut [State], completed: &mut dyn FnMut(u32)) -> bool {
    let mut moved = false;
    for lane in 0..warp.len() {
        let State::Waiting(first) = warp[lane] else { continue };
        if first.op < FIRST_WARP_OP || first.op == GRID_SYNC {
            continue;
        }
        let participates = |k: usize| first.mask >> k & 1 == 1 && !matches!(warp[k], State::Done);
        let lanes: Vec<usize> = (0..warp.len()).filter(|&k| participates(k)).collect();
        let requests: Option<Vec<Request>> = lanes
            .iter()
            .map(|&k| match warp[k] {
                State::Waiting(r) if r.op == first.op && r.mask == first.mask => Some(r),
                _ => None,
            })
            .collect();
        let Some(requests) = requests.filter(|r| !r.is_empty()) else { continue };
        let bits = |f: &dyn Fn(&Request) -> bool| -> u64 {
            lanes.iter().zip(&requests).filter(|(_, r)| f(r)).map(|(&k, _)| 1u64 << k).sum()
        };
        let value_of = |k: usize| lanes.iter().position(|&l| l == k).map(|at| requests[at].value);
        let all = bits(&|_| true);
        completed(all as u32);
        for (&k, request) in lanes.iter().zip(&requests) {
            let source = match OPS[first.op as usize] {
                "@shfl_sync" => Some((request.lane % 32) as usize),
                "@shfl_up_sync" => k.checked_sub(request.lane as usize),
                "@shfl_down_sync" => Some(k + request.lane as usize),
                "@shfl_xor_sync" => Some(k ^ request.lane as usize),
                _ => None,
            };
            let same = || bits(&|r| r.value == request.value);
            let result = match OPS[first.op as usize] {
                "@all_sync" => u64::from(bits(&|r| r.value != 0) == all),
                "@any_sync" => u64::from(bits(&|r| r.value != 0) != 0),
                "@eq_sync" => u64::from([0, all].contains(&bits(&|r| r.value != 0))),
                "@ballot_sync" => bits(&|r| r.value != 0),
                "@match_any_sync" => same(),
                "@match_all_sync" => u64::from(same() == all),
                "@match_all_sync_mask" => {
                    if same() == all {
                        all
                    } else {
                        0
                    }
                }
                // A source lane that does not take part leaves the lane's own value.
                _ => source.and_then(value_of).unwrap_or(request.value),
            };
            warp[k] = State::Ready(result);
        }
        moved = true;
    }
    moved
}
