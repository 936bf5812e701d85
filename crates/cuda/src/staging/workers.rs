//! A few threads that copy memory. Their own and not rayon's: a thread that waits here for the device must not pick
//! up unrelated work that may wait for this very copy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the threads run; the lifetime is erased, `Workers::run` does not return before all are done with it.
#[derive(Clone, Copy)]
struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure behind it is Sync and outlives the job (see `Workers::run`).
unsafe impl Send for Job {}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// Helpers that have yet to take the job, and those that are in it.
    wanted: usize,
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

/// Threads started on first use and kept. The caller of `run` is one of them.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
    most: usize,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads.len()).field("most", &self.most).finish()
    }
}

impl Workers {
    /// At most `most` threads, the caller included.
    pub(super) fn new(most: usize) -> Self {
        Workers { shared: Arc::default(), threads: Vec::new(), most: most.max(1) }
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Runs `job(0)` here and `job(1..count)` on the threads, as far as they can be had; returns when all are done.
    /// False where one of them panicked.
    pub(super) fn run(&mut self, count: usize, job: &(dyn Fn(usize) + Sync)) -> bool {
        let helpers = count.clamp(1, self.most) - 1;
        while self.threads.len() < helpers {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("cuprous-copy".into()).spawn(move || help(&shared));
            // Without threads the copy is slower and still right.
            let Ok(thread) = thread else { break };
            self.threads.push(thread);
        }
        let helpers = helpers.min(self.threads.len());
        if helpers > 0 {
            let mut state = self.shared.lock();
            // SAFETY: only the lifetime changes; this function waits below until no helper uses the job.
            let job: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(job) };
            state.job = Some(Job(job));
            state.wanted = helpers;
            state.panicked = false;
            drop(state);
            self.shared.work.notify_all();
        }
        let mine = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut state = self.shared.lock();
        // Helpers that have not woken yet are not waited for: the others have taken their share.
        state.wanted = 0;
        while state.running > 0 {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.job = None;
        mine.is_ok() && !std::mem::take(&mut state.panicked)
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

fn help(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if state.closing {
            return;
        }
        let Some(job) = state.job.filter(|_| state.wanted > 0) else {
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let index = state.wanted;
        state.wanted -= 1;
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
    fn a_panic_is_reported_and_the_threads_live_on() {
        let mut workers = Workers::new(3);
        assert!(!workers.run(3, &|index| assert!(index != 0, "on purpose")));
        assert!(workers.run(3, &|_| {}));
    }
}
