//! Creation of tensors on a device given by name.

use cuprous_autograd::Tensor;
use cuprous_core::layout::{MAX_NDIM, checked_size};
use cuprous_core::{DType, Layout, Scalar};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::operand::{Value, operand_argument};
use super::{PyTensor, finish};
use crate::arguments::{dtype_argument, fun_argument};
use crate::devices;
use crate::errors::OrRaise;

fn check(shape: &[i64], dtype: DType) -> PyResult<()> {
    if let Some(n) = shape.iter().find(|&&n| n < 0) {
        return Err(PyRuntimeError::new_err(format!("Trying to create tensor with negative dimension {n}: {shape:?}")));
    }
    // For too many axes, the engine raises its own error.
    if shape.len() <= MAX_NDIM && checked_size(dtype, shape).is_err() {
        return Err(PyRuntimeError::new_err(format!("Storage size calculation overflowed with sizes={shape:?}")));
    }
    Ok(())
}

/// Returns a tensor of uninitialized memory.
#[pyfunction]
pub(crate) fn t_empty(shape: Vec<i64>, dtype: &str, device: &str) -> PyResult<PyTensor> {
    let dtype = dtype_argument(dtype)?;
    check(&shape, dtype)?;
    let engine = devices::by_name(device).or_raise()?;
    Ok(PyTensor::wrap(Tensor::new(engine.empty(dtype, &shape).or_raise()?)))
}

/// Returns a tensor of one value.
#[pyfunction]
pub(crate) fn t_full(
    py: Python<'_>,
    shape: Vec<i64>,
    value: &Bound<'_, PyAny>,
    dtype: &str,
    device: &str,
) -> PyResult<PyTensor> {
    let dtype = dtype_argument(dtype)?;
    check(&shape, dtype)?;
    let Value::Number(number) = operand_argument(value)? else {
        return Err(PyTypeError::new_err("full(): argument 'fill_value' must be a number"));
    };
    let engine = devices::by_name(device).or_raise()?;
    finish(py, engine.full(&shape, Scalar::new(number, dtype), dtype).map(Tensor::new))
}

/// Returns index values with the given strides (int64).
#[pyfunction]
pub(crate) fn t_iota(
    py: Python<'_>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    device: &str,
) -> PyResult<PyTensor> {
    if shape.len() != strides.len() {
        return Err(PyRuntimeError::new_err("[iota] shape and strides must have the same length"));
    }
    check(&shape, DType::I64)?;
    let engine = devices::by_name(device).or_raise()?;
    let layout = Layout::try_new(DType::I64, &shape, &strides, offset).or_raise()?;
    finish(py, engine.iota(&layout).map(Tensor::new))
}

/// Returns random numbers of a distribution without parameters: element i of the stream (seed, offset).
#[pyfunction]
pub(crate) fn t_random(
    py: Python<'_>,
    name: &str,
    shape: Vec<i64>,
    seed: u64,
    offset: u64,
    device: &str,
) -> PyResult<PyTensor> {
    let fun = fun_argument(name)?;
    if !matches!(fun.random_dtypes(), Some((_, None))) {
        return Err(PyTypeError::new_err(format!("{name:?} is not a distribution without parameters")));
    }
    check(&shape, DType::F64)?;
    let engine = devices::by_name(device).or_raise()?;
    finish(py, engine.random(fun, &shape, seed, offset, None).map(Tensor::new))
}
