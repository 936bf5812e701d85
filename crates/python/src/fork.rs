//! Forks beside threads that compute: the child finds every lock free and the engines as they should be, or is told that
//! it cannot compute.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cuprous_plan::Engine;
use cuprous_plan::locking::Held;

use crate::devices;

/// How long a fork waits for the programs of other threads.
const PATIENCE: Duration = Duration::from_secs(1);

/// Forks between the process that loaded the library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// See [`FORKS`].
#[inline]
pub(crate) fn count() -> u32 {
    FORKS.load(Relaxed)
}

/// What is held over a fork.
struct Locks {
    engines: Vec<(&'static Engine, Option<Held<'static>>)>,
    _tables: [Box<dyn Any>; 3],
}

thread_local! {
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    let until = Instant::now() + PATIENCE;
    let engines: Vec<_> = devices::all_started().map(|engine| (&**engine, engine.hold(until))).collect();
    if engines.is_empty() {
        return;
    }
    // Those that a thread takes under an engine's lock come after it, in the same order.
    let locks = Locks {
        engines,
        _tables: [
            Box::new(cuprous_core::call::hold()),
            Box::new(cuprous_core::layout::hold()),
            Box::new(cuprous_cpu::alloc::hold()),
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

/// Starts to watch for forks.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        // SAFETY: the handlers do not unwind, and what they do in the child is to free locks that their own thread holds.
        unsafe {
            libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
        }
    });
}
