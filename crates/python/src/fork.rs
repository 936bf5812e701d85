//! Forks while other threads compute. The forking thread takes every lock first, so that the child finds the locks free
//! and the engines in a valid state. An engine whose lock is not acquired in time cannot be used in the child.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use cuprous_plan::Engine;
use cuprous_plan::engine::ForkGuard;

use crate::devices;

/// How long a fork waits for the programs of other threads.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of forks between the process that loaded the library and this one.
static FORK_COUNT: AtomicU32 = AtomicU32::new(0);

/// Returns the number of forks between the process that loaded the library and this one.
#[inline]
pub(crate) fn count() -> u32 {
    FORK_COUNT.load(Relaxed)
}

/// Closes what a child process must not hold. Set once.
pub(crate) static CLOSE_IN_CHILD: OnceLock<fn()> = OnceLock::new();

/// The locks that are held during a fork.
struct Locks {
    engines: Vec<(&'static Engine, Option<ForkGuard<'static>>)>,
    _tables: [Box<dyn Any>; 3],
}

thread_local! {
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let until = Instant::now() + LOCK_TIMEOUT;
    let engines: Vec<_> = devices::all_started().map(|engine| (&**engine, engine.lock_for_fork(until))).collect();
    if engines.is_empty() {
        return;
    }
    // Threads that hold an engine's lock take these in this order; another order could deadlock.
    let locks = Locks {
        engines,
        _tables: [
            Box::new(cuprous_core::routine::hold()),
            Box::new(cuprous_core::layout::hold()),
            Box::new(cuprous_cpu::alloc::lock_for_fork()),
        ],
    };
    let _ = LOCKS.try_with(|held| held.replace(Some(locks)));
}

fn release() -> Option<Locks> {
    LOCKS.try_with(|held| held.take()).ok().flatten()
}

extern "C" fn after_in_parent() {
    drop(release());
}

extern "C" fn after_in_child() {
    FORK_COUNT.fetch_add(1, Relaxed);
    if let Some(close) = CLOSE_IN_CHILD.get() {
        close();
    }
    for (engine, held) in release().map(|locks| locks.engines).into_iter().flatten() {
        if held.is_none() {
            engine.orphan();
        }
    }
}

/// Registers the handlers once.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handlers do not unwind, and in the child they only release locks that their own thread holds.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_in_parent), Some(after_in_child));
        }
    });
}
