//! `ufunc` objects: calls without keywords are native.

use cuprous_core::Fun;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::PyArray;
use crate::hooks;
use crate::operand;

/// A NumPy universal function.
#[pyclass(frozen, name = "ufunc", module = "cuprous", dict)]
pub(crate) struct PyUfunc {
    name: String,
    /// The function of the operation table; `None` for ufuncs that the Python API composes.
    fun: Option<Fun>,
    nin: usize,
    doc: String,
}

#[pymethods]
impl PyUfunc {
    #[new]
    fn new(name: &str, nin: usize, doc: &str) -> PyResult<PyUfunc> {
        let fun = Fun::from_name(name);
        if let Some(fun) = fun
            && fun.op().arity as usize != nin
        {
            return Err(PyValueError::new_err(format!("{name} takes {} operands", fun.op().arity)));
        }
        Ok(PyUfunc { name: name.into(), fun, nin, doc: doc.into() })
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.name
    }

    #[getter]
    fn __doc__(&self) -> &str {
        &self.doc
    }

    /// Number of operands.
    #[getter]
    fn nin(&self) -> usize {
        self.nin
    }

    /// Number of results.
    #[getter]
    fn nout(&self) -> usize {
        1
    }

    fn __repr__(&self) -> String {
        format!("<ufunc '{}'>", self.name)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let this = slf.get();
        if let (Some(fun), None) = (this.fun, kwargs)
            && args.len() == this.nin
        {
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
