//! Whether operations are noted for gradients, and with the lines that recorded them: switches of each thread.

use std::cell::Cell;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
    static ANOMALY: Cell<Anomaly> = const { Cell::new(Anomaly::Off) };
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

/// What is looked after in walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// Nothing.
    Off,
    /// Operations are noted with their lines, which errors of the way back name.
    Lines,
    /// So, and a gradient with NaN in it is an error.
    Nan,
}

/// What is looked after.
pub fn anomaly() -> Anomaly {
    ANOMALY.get()
}

/// Sets what is looked after; the state before.
pub fn set_anomaly(to: Anomaly) -> Anomaly {
    ANOMALY.replace(to)
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
