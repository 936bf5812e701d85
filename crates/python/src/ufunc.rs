//! `ufunc` objects: calls without keywords are native.

use cuprous_core::Fun;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::PyArray;
use crate::hooks;
use crate::operand;

/// A NumPy universal function: a row of the operation table. It applies to each element of arrays that broadcast.
///
/// Parameters
/// ----------
/// name : str
///     The name of the row.
///
/// Examples
/// --------
/// >>> cp.add.nin, cp.add.nout
/// (2, 1)
#[pyclass(frozen, name = "ufunc", module = "cuprous", dict)]
pub(crate) struct PyUfunc(Fun);

#[pymethods]
impl PyUfunc {
    #[new]
    fn new(name: &str) -> PyResult<PyUfunc> {
        let unknown = || PyValueError::new_err(format!("the operation table has no function {name:?}"));
        Fun::from_name(name).map(PyUfunc).ok_or_else(unknown)
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.0.op().name
    }

    /// What it returns, in a sentence: the summary of the docstring, which Python composes.
    #[getter]
    fn _doc(&self) -> &'static str {
        self.0.op().doc
    }

    /// Number of operands.
    #[getter]
    fn nin(&self) -> u8 {
        self.0.op().arity
    }

    /// Number of results.
    #[getter]
    fn nout(&self) -> usize {
        1
    }

    fn __repr__(&self) -> String {
        format!("<ufunc '{}'>", self.__name__())
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let fun = slf.get().0;
        if kwargs.is_none() && args.len() == usize::from(fun.op().arity) {
            let values: Option<smallvec::SmallVec<[_; 3]>> =
                args.iter().map(|a| operand::value(&a)).collect::<PyResult<_>>()?;
            if let Some(values) = values {
                let array: PyArray = operand::map(py, fun, &values, None)?;
                return Ok(Py::new(py, array)?.into_any());
            }
        }
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        hooks::call(py, hooks::Hook::UfuncCall, (slf, args, kwargs))
    }
}
