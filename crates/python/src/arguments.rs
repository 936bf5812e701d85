//! Arguments that are names: dtypes, functions of the operation table, kinds of routines.

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Fun, LinalgOp, ReduceOp, ScanOp, ScatterOp};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Returns the dtype of that name.
pub(crate) fn dtype_argument(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| PyTypeError::new_err(format!("data type '{name}' not understood")))
}

/// Returns the scalar function of that name.
pub(crate) fn fun_argument(name: &str) -> PyResult<Fun> {
    Fun::from_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown scalar function {name:?}")))
}

/// Returns the reduction of that name.
pub(crate) fn reduce_argument(name: &str) -> PyResult<ReduceOp> {
    ReduceOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown reduction {name:?}")))
}

/// Returns the scan of that name.
pub(crate) fn scan_argument(name: &str) -> PyResult<ScanOp> {
    ScanOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown scan {name:?}")))
}

/// Returns the scatter combination of that name.
pub(crate) fn scatter_argument(name: &str) -> PyResult<ScatterOp> {
    ScatterOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("[scatter] unknown combination {name:?}")))
}

/// Returns the boundary mode of that name.
pub(crate) fn edge_argument(name: &str) -> PyResult<Edge> {
    Edge::from_name(name).ok_or_else(|| PyValueError::new_err(format!("boundary mode not supported: {name:?}")))
}

/// Returns the decomposition of that name.
pub(crate) fn linalg_argument(name: &str) -> PyResult<LinalgOp> {
    LinalgOp::from_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown decomposition {name:?}")))
}
