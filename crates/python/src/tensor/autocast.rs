//! `autocast`: the half precision dtype of each device type in this thread, and the casts of operands. The table of the
//! functions that cast is `cuprous.torch._autocast`.

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

thread_local! {
    /// The dtype of each device type on which `autocast` is enabled.
    static DTYPES: Cell<[Option<DType>; 2]> = const { Cell::new([None; 2]) };
}

/// Returns true unless the tensor is on the CPU.
fn on_gpu(t: &Tensor) -> bool {
    t.array.storage.device != 0
}

/// Returns the dtype to which a product casts the tensor, if any.
fn half(t: &Tensor) -> Option<DType> {
    let casts = matches!(t.dtype(), DType::F32 | DType::F16 | DType::BF16);
    DTYPES.get()[usize::from(on_gpu(t))].filter(|&to| casts && to != t.dtype())
}

/// Returns the dtype in which functions that need the range of float32 compute the tensor.
pub(super) fn wide(t: &Tensor) -> DType {
    let is_half = matches!(t.dtype(), DType::F16 | DType::BF16);
    if is_half && DTYPES.get()[usize::from(on_gpu(t))].is_some() { DType::F32 } else { t.dtype() }
}

/// Casts the operands of a product to half precision.
#[inline]
pub(super) fn cast_product<'a>(operands: impl IntoIterator<Item = &'a mut Tensor>) -> Result<()> {
    if autocast_enabled() {
        for t in operands {
            if let Some(to) = half(t) {
                *t = ops::cast(t, to)?;
            }
        }
    }
    Ok(())
}

/// Casts the operands of a function that is computed in float32 on GPUs.
#[inline]
pub(super) fn cast_on_gpu(values: &mut [Value]) -> Result<()> {
    if autocast_enabled() {
        let tensors = values.iter_mut().filter_map(|v| if let Value::Tensor(t) = v { Some(t) } else { None });
        let tensors: SmallVec<[&mut Tensor; 3]> = tensors.collect();
        if tensors.first().is_some_and(|first| on_gpu(first)) {
            for t in tensors.into_iter().filter(|t| wide(t) != t.dtype()) {
                *t = ops::cast(t, DType::F32)?;
            }
        }
    }
    Ok(())
}

/// Records a function of one or two operands that is computed in float32 on GPUs.
#[pyfunction]
#[pyo3(signature = (name, a, b = None))]
pub(crate) fn t_map_wide(
    py: Python<'_>,
    name: &str,
    a: &Bound<'_, PyAny>,
    b: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTensor> {
    let operands = [Some(a), b].into_iter().flatten();
    let mut values: SmallVec<[Value; 3]> = operands.map(operand_argument).collect::<PyResult<_>>()?;
    cast_on_gpu(&mut values).or_raise()?;
    map(py, fun_argument(name)?, &values, None)
}

/// Returns the operand of a reduction or softmax in a dtype. Without one, half precision is cast to float32 (on the CPU
/// only with `on_cpu`), and integers to int64 with `widen`.
#[pyfunction]
pub(crate) fn t_operand<'py>(
    t: &Bound<'py, PyTensor>,
    dtype: Option<&str>,
    widen: bool,
    on_cpu: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let dtype = dtype.map(dtype_argument).transpose()?;
    cast(t, |tensor| match (dtype, tensor.dtype().kind()) {
        (Some(dtype), _) => dtype,
        (None, Kind::Bool | Kind::Int | Kind::UInt) if widen => DType::I64,
        (None, Kind::Float) if on_cpu || on_gpu(tensor) => wide(tensor),
        _ => tensor.dtype(),
    })
}

/// Returns a tensor in the dtype of products.
#[pyfunction]
pub(crate) fn t_to_half<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    cast(t, |tensor| half(tensor).unwrap_or(tensor.dtype()))
}

/// Returns a tensor with half precision cast to float32.
#[pyfunction]
pub(crate) fn t_to_float32<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    cast(t, wide)
}

/// Returns the object if its tensor has the dtype that `to` returns, otherwise a copy in it.
fn cast<'py>(object: &Bound<'py, PyTensor>, to: impl Fn(&Tensor) -> DType) -> PyResult<Bound<'py, PyTensor>> {
    let (tensor, dtype) = {
        let tensor = object.get().lock();
        let dtype = to(&tensor);
        if dtype == tensor.dtype() {
            return Ok(object.clone());
        }
        (tensor.clone(), dtype)
    };
    Bound::new(object.py(), finish(object.py(), ops::cast(&tensor, dtype))?)
}

/// Returns true if `autocast` is enabled on any device type.
#[pyfunction]
pub(crate) fn autocast_enabled() -> bool {
    DTYPES.get() != [None; 2]
}

/// Returns the dtype of `autocast` on a device type on which it is enabled.
#[pyfunction]
pub(crate) fn autocast_dtype(device_type: &str) -> Option<&'static str> {
    let at = DEVICE_TYPES.iter().position(|&name| name == device_type)?;
    DTYPES.get()[at].map(DType::name)
}

/// Sets or removes the dtype of `autocast` on a device type and returns the previous one.
#[pyfunction]
pub(crate) fn set_autocast_dtype(device_type: &str, dtype: Option<&str>) -> PyResult<Option<&'static str>> {
    let at = DEVICE_TYPES.iter().position(|&name| name == device_type);
    let at = at.ok_or_else(|| PyValueError::new_err(format!("[autocast] unknown device type {device_type:?}")))?;
    let mut dtypes = DTYPES.get();
    let previous = std::mem::replace(&mut dtypes[at], dtype.map(dtype_argument).transpose()?);
    DTYPES.set(dtypes);
    Ok(previous.map(DType::name))
}
