//! Streams, events and device properties.

use std::sync::{Arc, Mutex};

use cuprous_plan::device::{Mark, wait_for_mark};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt;

/// A CUDA stream, for hand-over and waiting. Cuprous' own work runs in order on one stream.
#[pyclass(frozen, module = "cuprous")]
pub(crate) struct Stream {
    pointer: u64,
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (pointer = None, non_blocking = false))]
    fn new(pointer: Option<u64>, non_blocking: bool) -> PyResult<Stream> {
        let _ = non_blocking; // Every stream is non-blocking: nothing runs on the legacy default stream.
        let pointer = match pointer {
            Some(p) => p,
            None => devices::default_engine().or_raise()?.device.stream(),
        };
        Ok(Stream { pointer })
    }

    #[getter]
    fn ptr(&self) -> u64 {
        self.pointer
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let engine = devices::default_engine().or_raise()?;
        interrupt::run(py, || engine.synchronize().and_then(|()| engine.device.wait_for_stream(self.pointer)))
    }

    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        let engine = devices::default_engine().or_raise()?;
        interrupt::run(py, || {
            engine.flush()?;
            Ok(engine.device.is_idle()? && engine.device.is_stream_done(self.pointer)?)
        })
    }
}

/// A point in the device's order of work.
#[pyclass(frozen, module = "cuprous")]
pub(crate) struct Event {
    mark: Mutex<Option<Arc<dyn Mark>>>,
}

impl Event {
    /// Returns the point in the device's work at which `record()` was called last.
    fn mark(&self) -> PyResult<Arc<dyn Mark>> {
        let mark = self.mark.lock().unwrap_or_else(|e| e.into_inner());
        mark.clone().ok_or_else(|| PyValueError::new_err("[Event] record() has not been called"))
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (timing = true))]
    fn new(timing: bool) -> Event {
        let _ = timing; // Every event can measure time.
        Event { mark: None.into() }
    }

    fn record(&self, py: Python<'_>) -> PyResult<()> {
        let engine = devices::default_engine().or_raise()?;
        let mark = interrupt::run(py, || {
            engine.flush()?;
            engine.device.mark()
        })?;
        *self.mark.lock().unwrap_or_else(|e| e.into_inner()) = Some(mark.into());
        Ok(())
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let mark = self.mark()?;
        interrupt::run(py, || wait_for_mark(&*mark))
    }

    fn query(&self) -> PyResult<bool> {
        self.mark()?.done().or_raise()
    }

    fn elapsed_ms(&self, later: &Event) -> PyResult<f64> {
        self.mark()?.milliseconds_to(&*later.mark()?).or_raise()
    }
}

#[pyfunction]
#[pyo3(signature = (index = 0))]
pub(crate) fn device_properties(py: Python<'_>, index: u32) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in cuprous_cuda::properties(index).or_raise()? {
        match value {
            cuprous_cuda::Property::Text(text) => dict.set_item(name, text)?,
            cuprous_cuda::Property::Number(number) => dict.set_item(name, number)?,
        }
    }
    Ok(dict)
}
