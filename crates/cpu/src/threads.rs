//! Parallel loops, and threads after a fork. A forked child has none of its parent's threads, so work given to the
//! parent's pool would wait forever. A child therefore gets its own pool.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, Thread};

use cuprous_core::interrupt::Token;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Number of forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The pool of the child with that number of forks.
static POOL: Mutex<(u32, Option<Arc<ThreadPool>>)> = Mutex::new((0, None));

#[cfg(unix)]
extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// An address that threads share. Each thread accesses its own part of the memory.
#[derive(Clone, Copy)]
pub(crate) struct SharedPtr(pub(crate) *mut u8);
// SAFETY: threads access disjoint parts of the memory.
unsafe impl Send for SharedPtr {}
// SAFETY: threads access disjoint parts of the memory.
unsafe impl Sync for SharedPtr {}

impl SharedPtr {
    pub(crate) fn at(self, bytes: i64) -> *mut u8 {
        self.0.wrapping_offset(bytes as isize)
    }
}

/// Registers a handler that counts forks.
pub(crate) fn watch_forks() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler only increments an atomic, which is allowed in the child of a threaded process.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
        }
    });
}

/// Runs `work` in a pool whose threads exist in this process.
pub(crate) fn with_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let forks = FORKS.load(Relaxed);
    if forks == 0 {
        return work();
    }
    let pool = {
        let mut pool = POOL.lock().unwrap_or_else(|e| e.into_inner());
        if pool.0 != forks {
            // The parent's pool cannot be shut down here: its threads do not exist in this process.
            std::mem::forget(pool.1.take());
            *pool = (forks, ThreadPoolBuilder::new().build().ok().map(Arc::new));
        }
        pool.1.clone()
    };
    match pool {
        Some(pool) => {
            let token = Token::current();
            pool.install(|| token.within(work))
        }
        None => work(),
    }
}

/// A set of tasks that the calling thread and helpers from the pool run in any order.
///
/// Only helpers that have entered the group call the closure, and no helper can enter after the group is closed. The
/// closure may therefore live on the caller's stack.
struct TaskGroup {
    task: *const (dyn Fn(usize) + Sync),
    tasks: usize,
    /// The calling thread's token.
    token: Token,
    /// The next task to start.
    next: AtomicUsize,
    /// Number of helpers in the group, and the flag [`CLOSED`].
    active_helpers: AtomicU32,
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Flag of a group that no helper may enter any more.
const CLOSED: u32 = 1 << 31;

// SAFETY: the closure is `Sync`, and is called only while its owner waits for the group.
unsafe impl Send for TaskGroup {}
// SAFETY: the closure is `Sync`, and is called only while its owner waits for the group.
unsafe impl Sync for TaskGroup {}

impl TaskGroup {
    fn run_tasks(&self) {
        loop {
            let task = self.next.fetch_add(1, Relaxed);
            if task >= self.tasks {
                return;
            }
            self.token.check();
            // SAFETY: this thread is the caller or has entered the group, so the closure is alive.
            unsafe { (*self.task)(task) };
        }
    }

    fn run_as_helper(&self) {
        let enter = |n: u32| (n & CLOSED == 0).then_some(n + 1);
        if self.active_helpers.fetch_update(Acquire, Relaxed, enter).is_err() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.token.within(|| self.run_tasks()))) {
            self.next.store(self.tasks, Relaxed);
            self.panic.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(panic);
        }
        let caller = self.caller.clone();
        if self.active_helpers.fetch_sub(1, Release) == CLOSED + 1 {
            caller.unpark();
        }
    }

    /// Closes the group and waits for the helpers in it.
    fn close(&self) {
        self.active_helpers.fetch_or(CLOSED, Relaxed);
        // The last tasks end at about the same time, so the thread spins for a short time before it sleeps.
        let mut spins = 0;
        while self.active_helpers.load(Acquire) != CLOSED {
            spins += 1;
            if spins < 200 { std::hint::spin_loop() } else { thread::park() }
        }
    }
}

/// Runs `task(0)`, …, `task(tasks - 1)` in any order, on this thread and those of the pool. A thread outside the pool
/// starts at once instead of waiting for a thread of the pool to wake. Interrupts take effect between tasks.
pub(crate) fn parallel_for(tasks: usize, task: impl Fn(usize) + Sync) {
    run_all(tasks, &task);
}

/// Returns the results of `task(0)`, …, `task(tasks - 1)`, computed as by [`parallel_for`].
pub(crate) fn parallel_map<R: Send>(tasks: usize, task: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = (0..tasks).map(|_| None).collect();
    let filled = parallel_parts(&mut results, 1, |t, result| {
        result[0] = Some(task(t));
        Ok::<(), Infallible>(())
    });
    filled.map_or_else(|never| match never {}, |()| results.into_iter().flatten().collect())
}

/// Calls `task(first, part)` for parts of `len` elements and the index of their first one, as by [`parallel_for`].
///
/// # Errors
/// One of a task.
pub(crate) fn parallel_parts<T: Send, E: Send>(
    all: &mut [T],
    len: usize,
    task: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let (base, total, failed) = (SharedPtr(all.as_mut_ptr() as *mut u8), all.len(), Mutex::new(None));
    parallel_for(total.div_ceil(len), |p| {
        let first = p * len;
        // SAFETY: the parts lie within the slice and do not overlap.
        let part = unsafe { std::slice::from_raw_parts_mut((base.at(0) as *mut T).add(first), len.min(total - first)) };
        if let Err(error) = task(first, part) {
            *failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
        }
    });
    failed.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
}

/// Does what [`parallel_for`] does. It is compiled once for all tasks.
fn run_all(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    let helpers = rayon::current_num_threads().min(tasks).saturating_sub(1);
    let token = Token::current();
    if helpers == 0 {
        return (0..tasks).for_each(|t| {
            token.check();
            task(t)
        });
    }
    if rayon::current_thread_index().is_some() {
        return (0..tasks).into_par_iter().for_each(|t| {
            token.check();
            token.within(|| task(t))
        });
    }
    // SAFETY: only the lifetime changes; the group is closed before this function returns (see `TaskGroup`).
    let task: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(task) };
    let group = Arc::new(TaskGroup {
        task,
        tasks,
        token,
        next: AtomicUsize::new(0),
        active_helpers: AtomicU32::new(0),
        caller: thread::current(),
        panic: Mutex::new(None),
    });
    for _ in 0..helpers {
        let group = Arc::clone(&group);
        rayon::spawn(move || group.run_as_helper());
    }
    let done = catch_unwind(AssertUnwindSafe(|| group.run_tasks()));
    group.next.store(tasks, Relaxed);
    group.close();
    if let Some(panic) = group.panic.lock().unwrap_or_else(|e| e.into_inner()).take().or(done.err()) {
        resume_unwind(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_done_once() {
        for tasks in [0, 1, 2, 3, 100, 1000] {
            let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
            parallel_for(tasks, |i| {
                counts[i].fetch_add(1, Relaxed);
                // Nested, both on the pool and outside it.
                parallel_for(3, |_| ());
            });
            assert!(counts.iter().all(|n| n.load(Relaxed) == 1), "{tasks} tasks");
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_next_work_is_done() {
        for bad in [0, 7, 63] {
            let caught = catch_unwind(AssertUnwindSafe(|| parallel_for(64, |i| assert!(i != bad, "task {i}"))));
            assert!(caught.is_err());
            each_task_is_done_once();
        }
    }
}
