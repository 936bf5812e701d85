//! Python values as operands of tensor functions.

use cuprous_autograd::{Arg, Tensor, ops};
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::{PyTensor, finish};
use crate::operand;

/// An operand, converted from a Python value.
pub(crate) enum Value {
    Tensor(Tensor),
    Number(Number),
}

impl Value {
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Value::Tensor(t) => Arg::Tensor(t),
            Value::Number(n) => Arg::Number(*n),
        }
    }
}

/// Converts a Python value to an operand; `None` for anything but tensors, arrays and scalars.
#[inline]
pub(crate) fn value(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(t) = object.cast::<PyTensor>() {
        return Ok(Some(Value::Tensor(t.get().in_any_order())));
    }
    Ok(match operand::value(object)? {
        Some(operand::Value::Array(a)) => Some(Value::Tensor(Tensor::new(a.get().array.clone()))),
        Some(operand::Value::Weak(n) | operand::Value::Typed(n, _)) => Some(Value::Number(n)),
        Some(operand::Value::Huge(_)) => return Err(operand::too_large()),
        None => None,
    })
}

/// Converts an operand, or raises a TypeError.
pub(crate) fn operand_argument(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(object)?.ok_or_else(|| {
        let class = object.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("expected a Tensor or a number, got {class}"))
    })
}

/// Records a scalar function.
#[inline]
pub(crate) fn map(py: Python<'_>, fun: Fun, values: &[Value], dtype: Option<DType>) -> PyResult<PyTensor> {
    let args: smallvec::SmallVec<[Arg; 3]> = values.iter().map(Value::arg).collect();
    finish(py, ops::map(fun, &args, dtype))
}
