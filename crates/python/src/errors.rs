//! Engine errors as Python exceptions.

use cuprous_core::Error;
use cuprous_core::error::ErrorKind;
use pyo3::exceptions::{
    PyImportError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyNotImplementedError, PyOverflowError,
    PyRecursionError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

pyo3::create_exception!(
    cuprous,
    OutOfMemoryError,
    PyMemoryError,
    "The device is out of memory: the message has the bytes requested, in use and allowed."
);

pyo3::create_exception!(cuprous.torch.distributed, DistError, PyRuntimeError, "Base class of the errors of groups.");
pyo3::create_exception!(
    cuprous.torch.distributed,
    DistBackendError,
    DistError,
    "A rank died or left, the ranks disagree, or an operation took too long: the message names ranks and lines."
);

/// Returns the Python exception for an engine error.
pub(crate) fn raise(error: Error) -> PyErr {
    let message = error.message;
    match error.kind {
        ErrorKind::Value => PyValueError::new_err(message),
        ErrorKind::Type | ErrorKind::Cast => PyTypeError::new_err(message),
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::Axis => axis_error(message),
        ErrorKind::Overflow => PyOverflowError::new_err(message),
        ErrorKind::NotImplemented => PyNotImplementedError::new_err(message),
        ErrorKind::Memory => OutOfMemoryError::new_err(message),
        ErrorKind::Runtime => PyRuntimeError::new_err(message),
        ErrorKind::Distributed => DistBackendError::new_err(message),
        ErrorKind::Recursion => PyRecursionError::new_err(message),
        ErrorKind::Device => device_error(message),
        ErrorKind::MissingLibrary => PyImportError::new_err(message),
        ErrorKind::Interrupted | ErrorKind::Aborted => interrupted(message),
    }
}

/// Returns the exception for interrupted work: the one that Python's signal handler raises, else `KeyboardInterrupt`.
fn interrupted(message: String) -> PyErr {
    Python::attach(|py| py.check_signals().err().unwrap_or_else(|| PyKeyboardInterrupt::new_err(message)))
}

static DEVICE_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns an instance of `DeviceError(RuntimeError, ValueError)`.
fn device_error(message: String) -> PyErr {
    Python::attach(|py| {
        let class = DEVICE_ERROR.get_or_try_init(py, || {
            let bases = (py.get_type::<PyRuntimeError>(), py.get_type::<PyValueError>());
            let space = PyDict::new(py);
            space.set_item("__module__", "cuprous")?;
            Ok::<_, PyErr>(py.get_type::<PyType>().call1(("DeviceError", bases, space))?.unbind())
        });
        match class.and_then(|c| c.bind(py).call1((message.clone(),))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyRuntimeError::new_err(message),
        }
    })
}

fn axis_error(message: String) -> PyErr {
    Python::attach(|py| {
        let class = py.import("numpy.exceptions").and_then(|m| m.getattr("AxisError"));
        match class.and_then(|c| c.call1((message.clone(),))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyIndexError::new_err(message),
        }
    })
}

/// Converts engine results for `?` in functions that Python calls.
pub(crate) trait OrRaise<T> {
    /// Returns the value or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for cuprous_core::Result<T> {
    #[inline]
    fn or_raise(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
