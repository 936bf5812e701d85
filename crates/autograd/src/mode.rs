//! Switches of each thread: gradient recording and anomaly detection.

use std::cell::Cell;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
    static ANOMALY: Cell<Anomaly> = const { Cell::new(Anomaly::Off) };
}

/// Returns true if operations are added to the graph.
#[inline]
pub fn enabled() -> bool {
    ENABLED.get()
}

/// Turns gradient recording on or off. Returns the previous state.
pub fn set(on: bool) -> bool {
    ENABLED.replace(on)
}

/// What anomaly detection does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// Nothing.
    Off,
    /// Nodes record the source location of their operation, and errors of the backward pass name it.
    Lines,
    /// As `Lines`; in addition, a gradient that contains NaN is an error.
    Nan,
}

/// Returns the mode of anomaly detection.
pub fn anomaly() -> Anomaly {
    ANOMALY.get()
}

/// Sets the mode of anomaly detection. Returns the previous mode.
pub fn set_anomaly(to: Anomaly) -> Anomaly {
    ANOMALY.replace(to)
}

/// Restores gradient recording to its previous state when dropped.
#[derive(Debug)]
pub struct Guard(bool);

impl Guard {
    /// Sets gradient recording until the guard is dropped.
    pub fn new(on: bool) -> Guard {
        Guard(set(on))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        set(self.0);
    }
}
