//! The position in a stream of random numbers. Threads that share it never draw the same block.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

/// An atomic 64-bit counter that wraps around.
#[pyclass(frozen, module = "cuprous._core")]
pub(crate) struct Counter(AtomicU64);

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (value = 0))]
    fn new(value: u64) -> Counter {
        Counter(AtomicU64::new(value))
    }

    /// Adds `count` and returns the previous value.
    fn take(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Relaxed)
    }

    #[getter]
    fn get_value(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[setter]
    fn set_value(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}
