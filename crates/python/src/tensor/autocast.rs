//! `autocast`: the half precision dtype of each device type in this thread, and the casts of operands. Which functions
//! cast is the table of `cuprous.torch._autocast`.

use std::cell::Cell;

use cuprous_autograd::{Tensor, ops};
use cuprous_core::{DType, Kind, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::operand::{Value, map, operand_argument};
use super::{PyTensor, finish};
use crate::arguments::{dtype_argument, fun_argument};
use crate::errors::OrRaise;

const DEVICE_TYPES: [&str; 2] = ["cpu", "cuda"];
const CPU: usize = 0;
const CUDA: usize = 1;
/// The dtype of each device type; `None` where `autocast` is disabled.
type Dtypes = [Option<DType>; 2];

thread_local! {
    static DTYPES: Cell<Dtypes> = const { Cell::new([None; 2]) };
}

/// Returns the device type of a tensor. Everything but the CPU counts as a GPU.
fn device_type(t: &Tensor) -> usize {
    if t.array.storage.device == 0 { CPU } else { CUDA }
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}

/// Returns the dtype that a product computes the tensor in, unless it is the tensor's own.
fn half(dtypes: &Dtypes, t: &Tensor) -> Option<DType> {
    let to = dtypes[device_type(t)].filter(|&to| to != t.dtype())?;
    (t.dtype() == DType::Float32 || is_half(t.dtype())).then_some(to)
}

/// Returns float32 for half precision on a device type on which `autocast` is enabled.
fn wide(dtypes: &Dtypes, t: &Tensor) -> Option<DType> {
    (is_half(t.dtype()) && dtypes[device_type(t)].is_some()).then_some(DType::Float32)
}

/// Casts the operands of a product to half precision.
#[inline]
pub(super) fn cast_product<'a>(operands: impl IntoIterator<Item = &'a mut Tensor>) -> Result<()> {
    let dtypes = DTYPES.get();
    if dtypes != [None; 2] {
        for t in operands {
            if let Some(to) = half(&dtypes, t) {
                *t = ops::cast(t, to)?;
            }
        }
    }
    Ok(())
}

/// Casts the operands of a scalar function that is computed in float32 on GPUs.
#[inline]
pub(super) fn cast_on_gpu(values: &mut [Value]) -> Result<()> {
    let dtypes = DTYPES.get();
    if dtypes == [None; 2] {
        return Ok(());
    }
    let tensors = || values.iter().filter_map(|value| if let Value::Tensor(t) = value { Some(t) } else { None });
    if tensors().next().is_some_and(|first| device_type(first) == CUDA) {
        for value in values {
            if let Value::Tensor(t) = value
                && let Some(to) = wide(&dtypes, t)
            {
                *t = ops::cast(t, to)?;
            }
        }
    }
    Ok(())
}

/// Records a scalar function that is computed in float32 on GPUs.
#[pyfunction]
#[pyo3(signature = (name, a, b = None))]
pub(crate) fn t_map_wide(
    py: Python<'_>,
    name: &str,
    a: &Bound<'_, PyAny>,
    b: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    let mut values: SmallVec<[Value; 3]> =
        [Some(a), b].into_iter().flatten().map(operand_argument).collect::<PyResult<_>>()?;
    cast_on_gpu(&mut values).or_raise()?;
    map(py, fun_argument(name)?, &values, None)
}

/// Returns the operand of a reduction or softmax for whose result no dtype was given: half precision as float32 if
/// `autocast` is enabled (on the CPU only with `on_cpu`), and with `widen` integers as int64.
#[pyfunction]
pub(crate) fn t_accumulated<'py>(
    t: &Bound<'py, PyTensor>,
    widen: bool,
    on_cpu: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = t.get().tensor();
    let to = match tensor.dtype().kind() {
        Kind::Complex => None,
        Kind::Float if on_cpu || device_type(&tensor) == CUDA => wide(&DTYPES.get(), &tensor),
        Kind::Float => None,
        _ => (widen && tensor.dtype() != DType::Int64).then_some(DType::Int64),
    };
    cast(t, &tensor, to)
}

/// Returns a tensor in the dtype of products under `autocast`.
#[pyfunction]
pub(crate) fn t_to_half<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = t.get().tensor();
    cast(t, &tensor, half(&DTYPES.get(), &tensor))
}

/// Returns a tensor with half precision cast to float32 under `autocast`.
#[pyfunction]
pub(crate) fn t_to_float32<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = t.get().tensor();
    cast(t, &tensor, wide(&DTYPES.get(), &tensor))
}

/// Returns the name of the dtype that `t_to_float32` would return the tensor in.
#[pyfunction]
pub(crate) fn t_wide_name(t: &PyTensor) -> &'static str {
    let tensor = t.tensor();
    wide(&DTYPES.get(), &tensor).unwrap_or(tensor.dtype()).name()
}

/// Casts the tensor of an object; without a dtype returns the object itself.
fn cast<'py>(object: &Bound<'py, PyTensor>, t: &Tensor, to: Option<DType>) -> PyResult<Bound<'py, PyTensor>> {
    match to {
        Some(to) => Bound::new(object.py(), finish(object.py(), ops::cast(t, to))?),
        None => Ok(object.clone()),
    }
}

/// Returns true if `autocast` is enabled on any device type in this thread.
#[pyfunction]
pub(crate) fn autocast_enabled() -> bool {
    DTYPES.get() != [None; 2]
}

/// Returns the dtype of `autocast` on a device type in this thread, if it is enabled there.
#[pyfunction]
pub(crate) fn autocast_dtype(device_type: &str) -> Option<&'static str> {
    let at = DEVICE_TYPES.iter().position(|&name| name == device_type)?;
    DTYPES.get()[at].map(DType::name)
}

/// Sets or removes the dtype of `autocast` on a device type in this thread and returns the previous one.
#[pyfunction]
#[pyo3(signature = (device_type, dtype))]
pub(crate) fn set_autocast_dtype(device_type: &str, dtype: Option<&str>) -> PyResult<Option<&'static str>> {
    let at = DEVICE_TYPES
        .iter()
        .position(|&name| name == device_type)
        .ok_or_else(|| PyValueError::new_err(format!("[autocast] unsupported device type {device_type:?}")))?;
    let mut dtypes = DTYPES.get();
    let previous = std::mem::replace(&mut dtypes[at], dtype.map(dtype_argument).transpose()?);
    DTYPES.set(dtypes);
    Ok(previous.map(DType::name))
}
