//! The operators of `ndarray`.

use cuprous_core::layout::show;
use cuprous_core::promote::can_cast_same_kind;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Scalar};
use cuprous_plan::Operand;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};

use super::{PyArray, finish};
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;
use crate::operand::{self, Value};
use crate::operators::{arithmetic_operators, comparison};
use crate::{devices, hooks};

/// Records a binary operator, or leaves it to the other operand.
#[inline]
fn binary<'py>(py: Python<'py>, fun: Fun, a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
    match (operand::value(a)?, operand::value(b)?) {
        (Some(x), Some(y)) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
        (Some(x), None) => match operand::convert_beside(a, b)? {
            Some(y) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
            None => Ok(py.NotImplemented()),
        },
        (None, Some(y)) => match operand::convert_beside(b, a)? {
            Some(x) => Ok(Py::new(py, operand::map(py, fun, &[x, y], None)?)?.into_any()),
            None => Ok(py.NotImplemented()),
        },
        _ => Ok(py.NotImplemented()),
    }
}

/// The array that an in-place operator writes to. For a scalar, Python computes `a + b` instead and rebinds the name.
#[derive(Clone, Copy)]
struct Target<'a, 'py>(&'a Bound<'py, PyArray>);

impl Target<'_, '_> {
    fn dtype(&self) -> DType {
        self.0.get().array.dtype()
    }
}

/// The array is a scalar, and so cannot be a [`Target`].
struct IsValue;

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
fn unary(slf: &Bound<'_, PyArray>, fun: Fun) -> PyResult<PyArray> {
    operand::map(slf.py(), fun, &[Value::Array(slf.clone())], None)
}

/// Records an in-place operator: the operation and a write of its result.
fn in_place(Target(slf): Target<'_, '_>, fun: Fun, other: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = slf.py();
    let value = match operand::value(other)? {
        None => operand::convert_beside(slf.as_any(), other)?,
        value => value,
    };
    let Some(value) = value else {
        return Err(PyTypeError::new_err(format!(
            "Unsupported type {}: convert it with cuprous.asarray first",
            other.get_type().repr()?
        )));
    };
    let target = &slf.get().array;
    let engine = devices::of(target);
    let values = [Value::Array(slf.clone()), value];
    let huge = match values[1] {
        Value::Huge(_) => Some(operand::with_huge(fun, &values, None)?),
        _ => None,
    };
    let plain = [Operand::Array(target), values[1].operand()];
    // The GIL is held from reading to writing: threads that add to the same array lose no update.
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
    run_due_tape(py, engine)
}

/// Writes a function of an array, of the same dtype, into it.
fn in_place_unary(Target(slf): Target<'_, '_>, fun: Fun) -> PyResult<()> {
    let target = &slf.get().array;
    let engine = devices::of(target);
    let result = engine.map(fun, &[Operand::Array(target)], None).or_raise()?;
    engine.update(target, Operand::Array(&result)).or_raise()?;
    run_due_tape(slf.py(), engine)
}

arithmetic_operators!(PyArray);

#[pymethods]
impl PyArray {
    fn __pow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("pow() with a modulus is not defined for arrays"));
        }
        if let Some(fun) = power_shortcut(slf.get().array.dtype(), o)? {
            return Ok(Py::new(slf.py(), unary(slf, fun)?)?.into_any());
        }
        binary(slf.py(), Fun::Power, slf.as_any(), o)
    }

    fn __rpow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("pow() with a modulus is not defined for arrays"));
        }
        binary(slf.py(), Fun::Power, o, slf.as_any())
    }

    fn __ipow__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        match power_shortcut(slf.dtype(), o)?.filter(|_| slf.dtype() != DType::Bool) {
            Some(fun) => in_place_unary(slf, fun),
            None => in_place(slf, Fun::Power, o),
        }
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        // Two matrices that fit need no rules of the hook.
        if let Ok(other) = o.cast::<PyArray>() {
            let (a, b) = (&slf.get().array, &other.get().array);
            if let (&[_, k], &[l, _]) = (a.shape(), b.shape())
                && k == l
                && a.dtype() == b.dtype()
                && a.dtype() != DType::Bool
            {
                let engine = devices::of(a);
                let product = finish(slf.py(), engine, engine.dot(a, b))?;
                return Ok(Py::new(slf.py(), product)?.into_any());
            }
        }
        hooks::call(slf.py(), hooks::Hook::MatMul, (slf, o))
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        hooks::call(slf.py(), hooks::Hook::MatMul, (o, slf))
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Negative)
    }

    fn __pos__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Positive)
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Absolute)
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Invert)
    }

    fn __richcmp__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let fun = comparison(op);
        let py = slf.py();
        if !matches!(fun, Fun::Equal | Fun::NotEqual) {
            return binary(py, fun, slf.as_any(), o);
        }
        // No number equals these, and NumPy answers elementwise.
        let result = if o.is_none() || o.is_instance_of::<PyString>() || o.is_instance_of::<PyBytes>() {
            let array = &slf.get().array;
            let engine = devices::of(array);
            let value = Scalar::new(Number::Bool(fun == Fun::NotEqual), DType::Bool);
            finish(py, engine, engine.full(array.shape(), value, DType::Bool))?
        } else if let Some(other) = operand::value(o)? {
            operand::map(py, fun, &[Value::Array(slf.clone()), other], None)?
        } else {
            return hooks::call(py, hooks::Hook::Compare, (slf, o, fun == Fun::Equal));
        };
        Ok(Py::new(py, result)?.into_any())
    }
}

/// Returns the function that NumPy's `**` computes for some Python numbers as exponents. At zeros, infinities and NaN
/// it differs from `power`.
fn power_shortcut(dtype: DType, exponent: &Bound<'_, PyAny>) -> PyResult<Option<Fun>> {
    let is_int = exponent.is_exact_instance_of::<PyInt>();
    if dtype == DType::Bool {
        // The square of a bool array has another dtype than other powers.
        return Ok(if is_int && exponent.eq(2)? { Some(Fun::Square) } else { None });
    }
    if !(is_int || exponent.is_exact_instance_of::<PyFloat>()) || !(dtype.is_float() || dtype.is_complex()) {
        return Ok(None);
    }
    Ok(match exponent.extract::<f64>() {
        Ok(1.0) => Some(Fun::Positive),
        Ok(-1.0) if is_int || dtype.is_float() => Some(Fun::Reciprocal),
        Ok(0.5) => Some(Fun::Sqrt),
        _ => None,
    })
}
