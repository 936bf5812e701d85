//! The arithmetic operators of `ndarray` that follow one pattern: `a + b`, `b + a`, `a += b`.

use cuprous_core::layout::show;
use cuprous_core::promote::can_cast_same_kind;
use cuprous_core::{DType, Fun};
use cuprous_plan::Operand;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::PyArray;
use crate::devices;
use crate::errors::OrRaise;
use crate::operand::{self, Value, settle};

/// A binary operator: records it, or leaves it to the other operand.
#[inline]
pub(crate) fn binary<'py>(
    py: Python<'py>,
    fun: Fun,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    match (operand::value(a)?, operand::value(b)?) {
        (Some(x), Some(y)) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
        (Some(x), None) => match operand::converted(a, b)? {
            Some(y) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
            None => Ok(py.NotImplemented()),
        },
        (None, Some(y)) => match operand::converted(b, a)? {
            Some(x) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
            None => Ok(py.NotImplemented()),
        },
        _ => Ok(py.NotImplemented()),
    }
}

/// The array that an in-place operator writes to. For a scalar Python computes `a + b` instead and rebinds the name.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a, 'py>(&'a Bound<'py, PyArray>);

impl Target<'_, '_> {
    pub(crate) fn dtype(&self) -> DType {
        self.0.get().0.dtype()
    }
}

/// The array is a scalar, and so not a [`Target`].
pub(crate) struct IsValue;

impl From<IsValue> for PyErr {
    fn from(_: IsValue) -> PyErr {
        PyTypeError::new_err("a value cannot be written")
    }
}

impl<'a, 'py> TryFrom<&'a Bound<'py, PyArray>> for Target<'a, 'py> {
    type Error = IsValue;

    #[inline]
    fn try_from(array: &'a Bound<'py, PyArray>) -> Result<Self, IsValue> {
        if array.get().is_value() { Err(IsValue) } else { Ok(Target(array)) }
    }
}

#[inline]
pub(crate) fn unary(slf: &Bound<'_, PyArray>, fun: Fun) -> PyResult<PyArray> {
    operand::map(slf.py(), fun, &[Value::Array(slf.clone())], None)
}

/// An in-place operator: the operation and a write of its result.
pub(crate) fn in_place(Target(slf): Target<'_, '_>, fun: Fun, other: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = slf.py();
    let value = match operand::value(other)? {
        None => operand::converted(slf.as_any(), other)?,
        value => value,
    };
    let Some(value) = value else {
        return Err(PyTypeError::new_err(format!(
            "Unsupported type {}: convert it with cuprous.asarray first",
            other.get_type().repr()?
        )));
    };
    let target = &slf.get().0;
    let engine = devices::of(target);
    let values = [Value::Array(slf.clone()), value];
    let huge = match values[1] {
        Value::Huge(_) => Some(operand::with_huge(fun, &values, None)?),
        _ => None,
    };
    let plain = [Operand::Array(target), values[1].operand()];
    // Python's lock is not let go of between reading and writing: threads that add to one array lose nothing.
    let result = engine.map(fun, huge.as_deref().unwrap_or(&plain), None).or_raise()?;
    let (from, to) = (result.dtype(), target.dtype());
    if !can_cast_same_kind(from, to) {
        return Err(PyTypeError::new_err(format!(
            "Cannot cast ufunc '{}' output from dtype('{}') to dtype('{}') with casting rule 'same_kind'",
            fun.op().name,
            from.name(),
            to.name()
        )));
    }
    if result.shape() != target.shape() {
        return Err(PyValueError::new_err(format!(
            "non-broadcastable output operand with shape {} doesn't match the broadcast shape {}",
            show(target.shape()),
            show(result.shape())
        )));
    }
    engine.update(target, Operand::Array(&result)).or_raise()?;
    settle(py, engine)
}

/// Writes a function of an array, of the same dtype, into it.
pub(crate) fn in_place_unary(Target(slf): Target<'_, '_>, fun: Fun) -> PyResult<()> {
    let target = &slf.get().0;
    let engine = devices::of(target);
    let result = engine.map(fun, &[Operand::Array(target)], None).or_raise()?;
    engine.update(target, Operand::Array(&result)).or_raise()?;
    settle(slf.py(), engine)
}

#[pymethods]
impl PyArray {
    fn __add__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Add, slf.as_any(), o)
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Add, o, slf.as_any())
    }
    fn __iadd__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Add, o)
    }
    fn __sub__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Subtract, slf.as_any(), o)
    }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Subtract, o, slf.as_any())
    }
    fn __isub__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Subtract, o)
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Multiply, slf.as_any(), o)
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Multiply, o, slf.as_any())
    }
    fn __imul__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Multiply, o)
    }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Divide, slf.as_any(), o)
    }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Divide, o, slf.as_any())
    }
    fn __itruediv__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Divide, o)
    }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::FloorDivide, slf.as_any(), o)
    }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::FloorDivide, o, slf.as_any())
    }
    fn __ifloordiv__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::FloorDivide, o)
    }
    fn __mod__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Remainder, slf.as_any(), o)
    }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::Remainder, o, slf.as_any())
    }
    fn __imod__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Remainder, o)
    }
    fn __and__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseAnd, slf.as_any(), o)
    }
    fn __rand__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseAnd, o, slf.as_any())
    }
    fn __iand__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::BitwiseAnd, o)
    }
    fn __or__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseOr, slf.as_any(), o)
    }
    fn __ror__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseOr, o, slf.as_any())
    }
    fn __ior__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::BitwiseOr, o)
    }
    fn __xor__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseXor, slf.as_any(), o)
    }
    fn __rxor__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::BitwiseXor, o, slf.as_any())
    }
    fn __ixor__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::BitwiseXor, o)
    }
    fn __lshift__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::LeftShift, slf.as_any(), o)
    }
    fn __rlshift__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::LeftShift, o, slf.as_any())
    }
    fn __ilshift__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::LeftShift, o)
    }
    fn __rshift__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::RightShift, slf.as_any(), o)
    }
    fn __rrshift__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        binary(slf.py(), Fun::RightShift, o, slf.as_any())
    }
    fn __irshift__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::RightShift, o)
    }
}
