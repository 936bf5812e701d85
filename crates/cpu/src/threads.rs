//! Work shared among threads, and threads after a fork: a child process has none of its parent's, so work given to the
//! parent's pool would wait for ever. A child gets a pool of its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, Thread};

use cuprous_core::interrupt::Token;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The pool of the child with that number of forks.
static POOL: Mutex<(u32, Option<Arc<ThreadPool>>)> = Mutex::new((0, None));

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// An address that threads share, each for its own part of the memory behind it.
#[derive(Clone, Copy)]
pub(crate) struct SharedPtr(pub(crate) *mut u8);
// SAFETY: see the type.
unsafe impl Send for SharedPtr {}
// SAFETY: see the type.
unsafe impl Sync for SharedPtr {}

impl SharedPtr {
    pub(crate) fn at(self, bytes: i64) -> *mut u8 {
        self.0.wrapping_offset(bytes as isize)
    }
}

/// Starts to watch for forks.
pub(crate) fn watch_forks() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler only adds to an atomic, which is allowed in a child of a threaded process.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
        }
    });
}

/// Runs `work` where its parallel parts find live threads.
pub(crate) fn with_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let forks = FORKS.load(Relaxed);
    if forks == 0 {
        return work();
    }
    let pool = {
        let mut pool = POOL.lock().unwrap_or_else(|e| e.into_inner());
        if pool.0 != forks {
            // The parent's pool cannot be taken down from here: its threads are not ours.
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

/// Tasks that the thread which has them and helpers from the pool do one by one, in any order.
///
/// The caller's closure is reached only by helpers that have entered, and none can enter once the crew is closed: that
/// is why it may live on the caller's stack.
struct TaskGroup {
    task: *const (dyn Fn(usize) + Sync),
    tasks: usize,
    /// That of the thread whose work it is.
    token: Token,
    /// The next task to be begun.
    next: AtomicUsize,
    /// Helpers inside, and [`CLOSED`].
    active_helpers: AtomicU32,
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Marks a crew that nobody may enter any more.
const CLOSED: u32 = 1 << 31;

// SAFETY: the closure may be shared, and is reached only while its owner waits for the crew.
unsafe impl Send for TaskGroup {}
// SAFETY: as above.
unsafe impl Sync for TaskGroup {}

impl TaskGroup {
    fn run_tasks(&self) {
        loop {
            let task = self.next.fetch_add(1, Relaxed);
            if task >= self.tasks {
                return;
            }
            self.token.check();
            // SAFETY: whoever is here is the caller or has entered.
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

    /// Lets nobody in any more and waits for those inside.
    fn close(&self) {
        self.active_helpers.fetch_or(CLOSED, Relaxed);
        // The last tasks end at about the same time: a look or two before going to sleep.
        let mut spins = 0;
        while self.active_helpers.load(Acquire) != CLOSED {
            spins += 1;
            if spins < 200 { std::hint::spin_loop() } else { thread::park() }
        }
    }
}

/// Runs `task(0)`, …, `task(tasks - 1)` in any order, on this thread and those of the pool. A thread that is not of the
/// pool begins at once instead of waiting until one of the pool is awake. An interrupt is noticed between tasks.
pub(crate) fn parallel_for(tasks: usize, task: impl Fn(usize) + Sync) {
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
    let task: &(dyn Fn(usize) + Sync) = &task;
    // SAFETY: only the lifetime changes; see `TaskGroup`.
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
                // From within a task, on the pool or not.
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
