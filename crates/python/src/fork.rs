//! Forks while other threads compute. The forking thread takes every lock first, so that the child finds the locks free and
//! the engines in a valid state. An engine whose lock it does not get in time cannot be used in the child.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cuprous_plan::Engine;
use cuprous_plan::engine::ForkGuard;

use crate::devices;

/// How long a fork waits for the programs of other threads.
const PATIENCE: Duration = Duration::from_secs(1);

/// Number of forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks between the process that loaded the library and this one.
#[inline]
pub(crate) fn count() -> u32 {
    FORKS.load(Relaxed)
}

/// The locks that are held during a fork.
struct Locks {
    engines: Vec<(&'static Engine, Option<ForkGuard<'static>>)>,
    _tables: [Box<dyn Any>; 3],
}

thread_local! {
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    let until = Instant::now() + PATIENCE;
    let engines: Vec<_> = devices::all_started().map(|engine| (&**engine, engine.lock_for_fork(until))).collect();
    if engines.is_empty() {
        return;
    }
    // Threads take these while they hold an engine's lock, in this order; another order could deadlock.
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

extern "C" fn in_parent() {
    drop(release());
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Relaxed);
    for (engine, held) in release().map(|locks| locks.engines).into_iter().flatten() {
        if held.is_none() {
            engine.orphan();
        }
    }
}

/// Registers the handlers, once.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        // SAFETY: the handlers do not unwind, and what they do in the child is to free locks that their own thread holds.
        unsafe {
            libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
        }
    });
}
