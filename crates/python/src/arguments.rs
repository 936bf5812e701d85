//! Arguments that are names: dtypes, functions of the operation table, kinds of routines.

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Fun, LinalgOp, ReduceOp, ScanOp, ScatterOp};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The dtype of that name.
pub(crate) fn dtype_argument(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| PyTypeError::new_err(format!("data type '{name}' not understood")))
}

/// The scalar function of that name.
pub(crate) fn fun_argument(name: &str) -> PyResult<Fun> {
    Fun::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no scalar function is called {name:?}")))
}

/// The reduction of that name.
pub(crate) fn reduce_argument(name: &str) -> PyResult<ReduceOp> {
    ReduceOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no reduction is called {name:?}")))
}

/// The scan of that name.
pub(crate) fn scan_argument(name: &str) -> PyResult<ScanOp> {
    ScanOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no scan is called {name:?}")))
}

/// The way of that name in which a scatter combines values.
pub(crate) fn scatter_argument(name: &str) -> PyResult<ScatterOp> {
    ScatterOp::from_name(name)
        .ok_or_else(|| PyValueError::new_err(format!("[scatter] no combination is called {name:?}")))
}

/// The boundary mode of that name.
pub(crate) fn edge_argument(name: &str) -> PyResult<Edge> {
    Edge::from_name(name).ok_or_else(|| PyValueError::new_err(format!("boundary mode not supported: {name:?}")))
}

/// The decomposition of that name.
pub(crate) fn linalg_argument(name: &str) -> PyResult<LinalgOp> {
    LinalgOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no decomposition is called {name:?}")))
}
