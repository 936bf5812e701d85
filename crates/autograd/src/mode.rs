//! Whether operations are noted for gradients: a switch of each thread.

use std::cell::Cell;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Are operations noted?
#[inline]
pub fn enabled() -> bool {
    ENABLED.get()
}

/// Turns noting on or off; the state before.
pub fn set(on: bool) -> bool {
    ENABLED.replace(on)
}

/// Restores the state when dropped.
#[derive(Debug)]
pub struct Guard(bool);

impl Guard {
    /// Sets the state until the guard is dropped.
    pub fn new(on: bool) -> Guard {
        Guard(set(on))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        set(self.0);
    }
}
