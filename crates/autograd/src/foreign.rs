//! Python objects that the graph keeps alive. This module knows nothing of the graph; `visit` finds the objects for
//! Python's cycle collector.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A Python object that the graph keeps alive.
pub trait Foreign: Any + Send + Sync {
    /// Releases what was saved for the backward pass.
    fn release(&self) {}
}

/// True once a graph has held a foreign object. Until then the collector has nothing to visit.
static PRESENT: AtomicBool = AtomicBool::new(false);

/// Records that a graph holds a foreign object.
pub(crate) fn mark_present() {
    if !PRESENT.load(Relaxed) {
        PRESENT.store(true, Relaxed);
    }
}

/// Returns true if any graph of this process has held a foreign object.
pub(crate) fn is_present() -> bool {
    PRESENT.load(Relaxed)
}
