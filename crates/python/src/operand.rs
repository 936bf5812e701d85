//! Python values as operands.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, Result};
use cuprous_plan::{Engine, Operand};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use smallvec::SmallVec;

use crate::array::PyArray;
use crate::devices;
use crate::errors::OrRaise;

/// An operand on its way from Python.
pub(crate) enum Value<'py> {
    /// One of our arrays.
    Array(Bound<'py, PyArray>),
    /// A Python scalar.
    Weak(Number),
    /// A NumPy scalar.
    Typed(Number, DType),
}

impl Value<'_> {
    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Value::Array(a) => Operand::Array(&a.get().0),
            Value::Weak(n) => Operand::Weak(*n),
            Value::Typed(n, d) => Operand::Typed(*n, *d),
        }
    }

    pub(crate) fn array(&self) -> Option<&Array> {
        match self {
            Value::Array(a) => Some(&a.get().0),
            _ => None,
        }
    }
}

/// The operand that a Python value is; `None` for anything but arrays and scalars.
#[inline]
pub(crate) fn value<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Value<'py>>> {
    if let Ok(array) = object.cast_exact::<PyArray>() {
        return Ok(Some(Value::Array(array.clone())));
    }
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Value::Weak(Number::Float(x.value()))));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(Some(Value::Weak(Number::Int(integer(object)?))));
    }
    other(object)
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<i128> {
    if let Ok(i) = object.extract::<i64>() {
        return Ok(i.into());
    }
    // An integer beyond 128 bits is out of every dtype's bounds, as the largest of 128 bits is.
    object.extract::<i128>().or_else(|_| Ok(if object.lt(0)? { i128::MIN } else { i128::MAX }))
}

#[cold]
fn other<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Value<'py>>> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Ok(Some(Value::Array(array.clone())));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Some(Value::Weak(Number::Bool(object.extract()?))));
    }
    if object.is_exact_instance_of::<PyComplex>() {
        let z = object.cast::<PyComplex>()?;
        return Ok(Some(Value::Weak(Number::Complex(z.real(), z.imag()))));
    }
    if object.is_instance_of::<crate::tensor::PyTensor>() {
        return Ok(None); // which leaves operators to the tensor
    }
    // NumPy scalars (and ml_dtypes') have a dtype and an item, and are not arrays.
    let (Ok(dtype), Ok(item)) = (object.getattr("dtype"), object.getattr("item")) else {
        if object.is_instance_of::<PyInt>() {
            return Ok(Some(Value::Weak(Number::Int(integer(object)?))));
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Some(Value::Weak(Number::Float(object.extract()?))));
        }
        return Ok(None);
    };
    if object.hasattr("__array_interface__")? && object.hasattr("resize")? && object.hasattr("__setitem__")? {
        return Ok(None);
    }
    let Some(dtype) = DType::from_name(&dtype.getattr("name")?.extract::<String>()?) else { return Ok(None) };
    let item = item.call0()?;
    let number = if let Ok(z) = item.cast::<PyComplex>() {
        Number::Complex(z.real(), z.imag())
    } else if item.is_instance_of::<PyBool>() {
        Number::Bool(item.extract()?)
    } else if item.is_instance_of::<PyInt>() {
        Number::Int(integer(&item)?)
    } else {
        Number::Float(item.extract()?)
    };
    Ok(Some(Value::Typed(number, dtype)))
}

/// The engine for some operands: that of the first array, else the default.
#[inline]
pub(crate) fn engine_of<'a>(values: impl IntoIterator<Item = &'a Value<'a>>) -> PyResult<&'static Arc<Engine>> {
    for value in values {
        if let Some(array) = value.array() {
            return Ok(devices::of(array));
        }
    }
    devices::default_engine().or_raise()
}

/// Records a function of some operands.
#[inline]
pub(crate) fn map(py: Python<'_>, fun: Fun, values: &[Value], dtype: Option<DType>) -> PyResult<PyArray> {
    let engine = engine_of(values)?;
    let operands: SmallVec<[Operand; 3]> = values.iter().map(Value::operand).collect();
    let result = engine.map(fun, &operands, dtype);
    finish(py, engine, result)
}

/// The recorded array for Python; runs the tape where the operation ended it.
#[inline]
pub(crate) fn finish(py: Python<'_>, engine: &'static Arc<Engine>, result: Result<Array>) -> PyResult<PyArray> {
    let array = result.or_raise()?;
    settle(py, engine)?;
    Ok(PyArray::own(array))
}

/// Runs the tape where the last operation ended it.
#[inline]
pub(crate) fn settle(py: Python<'_>, engine: &'static Arc<Engine>) -> PyResult<()> {
    if engine.take_due() {
        py.detach(|| engine.flush()).or_raise()?;
    }
    Ok(())
}
