//! Threads that copy memory. They are not rayon's: a thread that waits here for the device must not run unrelated work
//! that may wait for this copy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The closure that the threads run, with its lifetime erased. `Workers::run` does not return before all threads are
/// done with it.
#[derive(Clone, Copy)]
struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure is Sync and outlives the job (see `Workers::run`).
unsafe impl Send for Job {}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// How many threads have yet to take the job, and how many run it.
    unclaimed: usize,
    running: usize,
    panicked: bool,
    closing: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Threads that are started on first use and kept. The caller of `run` counts as one of them.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
    max_threads: usize,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads.len()).field("max_threads", &self.max_threads).finish()
    }
}

impl Workers {
    /// Creates the state for at most `max_threads` threads, the caller included.
    pub(super) fn new(max_threads: usize) -> Self {
        Workers { shared: Arc::default(), threads: Vec::new(), max_threads: max_threads.max(1) }
    }

    pub(super) fn max_threads(&self) -> usize {
        self.max_threads
    }

    /// Runs `job(0)` here and `job(1..count)` on as many threads as there are. Returns when all are done: false if one
    /// of them panicked.
    pub(super) fn run(&mut self, count: usize, job: &(dyn Fn(usize) + Sync)) -> bool {
        let helpers = count.clamp(1, self.max_threads) - 1;
        while self.threads.len() < helpers {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("cuprous-copy".into()).spawn(move || worker_loop(&shared));
            // Without threads the copy is slower, but correct.
            let Ok(thread) = thread else { break };
            self.threads.push(thread);
        }
        let helpers = helpers.min(self.threads.len());
        if helpers > 0 {
            let mut state = self.shared.lock();
            // SAFETY: only the lifetime changes. This function waits below until no thread uses the job.
            let job: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(job) };
            state.job = Some(Job(job));
            state.unclaimed = helpers;
            state.panicked = false;
            drop(state);
            self.shared.work.notify_all();
        }
        let own_result = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut state = self.shared.lock();
        // Threads that have not woken up yet are not waited for, because the others did their share.
        state.unclaimed = 0;
        while state.running > 0 {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.job = None;
        own_result.is_ok() && !std::mem::take(&mut state.panicked)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            let _its_panic_was_reported = thread.join();
        }
    }
}

fn worker_loop(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if state.closing {
            return;
        }
        let Some(job) = state.job.filter(|_| state.unclaimed > 0) else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let index = state.unclaimed;
        state.unclaimed -= 1;
        state.running += 1;
        drop(state);
        // SAFETY: `run` keeps the closure alive until `running` is back at zero.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job.0)(index) }));
        state = shared.lock();
        state.panicked |= outcome.is_err();
        state.running -= 1;
        if state.running == 0 {
            shared.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_piece_is_taken_once() {
        let mut workers = Workers::new(4);
        for round in 0..300 {
            let pieces: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
            let next = AtomicUsize::new(0);
            let indices = Mutex::new(Vec::new());
            let fine = workers.run(1 + round % 5, &|index| {
                indices.lock().expect("no panic").push(index);
                while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                    piece.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(fine);
            assert!(pieces.iter().all(|piece| piece.load(Ordering::Relaxed) == 1));
            let mut indices = indices.into_inner().expect("no panic");
            indices.sort_unstable();
            let before = indices.len();
            indices.dedup();
            assert_eq!(indices.len(), before, "each thread has its own index");
            assert!(indices.iter().all(|&index| index < 4));
        }
    }

    #[test]
    fn a_panic_is_reported_and_the_threads_survive() {
        let mut workers = Workers::new(3);
        assert!(!workers.run(3, &|index| assert!(index != 0, "on purpose")));
        assert!(workers.run(3, &|_| {}));
    }
}
