//! Threads after a fork: a child process has none of its parent's, so work given to the parent's pool would wait for
//! ever. A child gets a pool of its own.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The pool of the child with that number of forks.
static POOL: Mutex<(u32, Option<Arc<ThreadPool>>)> = Mutex::new((0, None));

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// Starts to watch for forks.
pub(crate) fn watch() {
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
        Some(pool) => pool.install(work),
        None => work(),
    }
}
