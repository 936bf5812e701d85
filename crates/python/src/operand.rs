//! Python values as operands.

use std::sync::Arc;

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, Kind};
use cuprous_plan::{Engine, Operand, elementwise};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use smallvec::SmallVec;

use crate::array::{PyArray, finish};
use crate::devices;
use crate::errors::OrRaise;

/// An operand, converted from a Python value.
pub(crate) enum Value<'py> {
    /// An array.
    Array(Bound<'py, PyArray>),
    /// A Python scalar.
    Weak(Number),
    /// A NumPy scalar.
    Typed(Number, DType),
    /// A Python integer beyond 128 bits, which no integer dtype holds, as the nearest float; infinite if it exceeds all
    /// floats.
    Huge(f64),
}

impl Value<'_> {
    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Value::Array(a) => Operand::Array(&a.get().array),
            Value::Weak(n) => Operand::Weak(*n),
            Value::Typed(n, d) => Operand::Typed(*n, *d),
            Value::Huge(x) => Operand::Weak(Number::Int(if *x > 0.0 { i128::MAX } else { i128::MIN })),
        }
    }

    /// Returns the operand for a write into an array of this dtype. A Python number must fit, as in NumPy.
    pub(crate) fn stored(&self, dtype: DType) -> PyResult<Operand<'_>> {
        if matches!(dtype.kind(), Kind::Bool) {
            return Ok(self.operand());
        }
        let number = match self {
            Value::Array(_) | Value::Typed(Number::Bool(_) | Number::Int(_) | Number::Complex(..), _) => {
                return Ok(self.operand());
            }
            Value::Weak(n) | Value::Typed(n, _) => *n,
            Value::Huge(x) if !dtype.is_int() => return Ok(Operand::Weak(huge_as_float(*x)?)),
            Value::Huge(_) => return Err(too_large()),
        };
        let whole = match number {
            Number::Complex(..) if !dtype.is_complex() => {
                let to = if dtype.is_int() { "an integer" } else { "a real number" };
                return Err(PyTypeError::new_err(format!(
                    "[assignment] a complex number cannot be stored as {to} ({}); use .real",
                    dtype.name()
                )));
            }
            Number::Float(x) if dtype.is_int() && x.is_nan() => {
                return Err(PyValueError::new_err("cannot convert float NaN to integer"));
            }
            Number::Float(x) if dtype.is_int() && x.is_infinite() => {
                return Err(PyOverflowError::new_err("cannot convert float infinity to integer"));
            }
            Number::Float(x) if dtype.is_int() => x as i128,
            Number::Int(i) if dtype.is_int() => i,
            _ => return Ok(self.operand()),
        };
        let bits = dtype.size() as u32 * 8;
        let (low, high) = match dtype.kind() {
            Kind::Int => (-(1i128 << (bits - 1)), 1i128 << (bits - 1)),
            _ => (0, 1i128 << bits),
        };
        if !(low..high).contains(&whole) {
            let text = format!("Python integer {whole} out of bounds for {}", dtype.name());
            return Err(PyOverflowError::new_err(text));
        }
        Ok(self.operand())
    }

    fn is_inexact(&self) -> bool {
        match self {
            Value::Array(a) => inexact(a.get().array.dtype()),
            Value::Weak(n) => matches!(n, Number::Float(_) | Number::Complex(..)),
            Value::Typed(_, d) => inexact(*d),
            Value::Huge(_) => false,
        }
    }

    pub(crate) fn array(&self) -> Option<&Array> {
        match self {
            Value::Array(a) => Some(&a.get().array),
            _ => None,
        }
    }
}

fn inexact(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// Returns a huge integer as a float, or Python's error if it is too large.
pub(crate) fn huge_as_float(huge: f64) -> PyResult<Number> {
    if huge.is_infinite() {
        return Err(PyOverflowError::new_err("int too large to convert to float"));
    }
    Ok(Number::Float(huge))
}

/// Returns the error for an integer that no dtype can hold.
pub(crate) fn too_large() -> PyErr {
    PyOverflowError::new_err("Python int too large to convert to C long")
}

/// Returns the operands of a function if one of them is an integer beyond 128 bits. It becomes a float if other
/// operands are floats; otherwise only comparisons accept it.
#[cold]
pub(crate) fn with_huge<'a>(
    fun: Fun,
    values: &'a [Value],
    dtype: Option<DType>,
) -> PyResult<SmallVec<[Operand<'a>; 3]>> {
    let mut operands: SmallVec<[Operand; 3]> = values.iter().map(Value::operand).collect();
    let float = dtype.is_some_and(inexact)
        || values.iter().any(Value::is_inexact)
        || elementwise::result_dtype(fun, &operands).is_ok_and(inexact);
    let several = values.iter().filter(|v| matches!(v, Value::Huge(_))).count() > 1;
    if !float && (several || fun.result(DType::I64) != DType::Bool) {
        return Err(too_large());
    }
    for (operand, value) in operands.iter_mut().zip(values) {
        if let (Value::Huge(x), true) = (value, float) {
            *operand = Operand::Weak(huge_as_float(*x)?);
        }
    }
    Ok(operands)
}

/// Converts a Python value to an operand; `None` for anything but arrays and scalars.
#[inline]
pub(crate) fn value<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Value<'py>>> {
    if let Ok(array) = object.cast_exact::<PyArray>() {
        return Ok(Some(Value::Array(array.clone())));
    }
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        return Ok(Some(Value::Weak(Number::Float(x.value()))));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return integer_value(object).map(Some);
    }
    other_value(object)
}

/// Converts a list or another library's array, the other operand of an operator, through the Python API. `None` leaves
/// the operator to the other object.
#[cold]
pub(crate) fn convert_beside<'py>(
    array: &Bound<'py, PyAny>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Value<'py>>> {
    let found = crate::hooks::call(object.py(), crate::hooks::Hook::Operand, (array, object))?;
    if found.is_none(object.py()) { Ok(None) } else { value(found.bind(object.py())) }
}

fn integer_value<'py>(object: &Bound<'py, PyAny>) -> PyResult<Value<'py>> {
    if let Ok(i) = object.extract::<i64>() {
        return Ok(Value::Weak(Number::Int(i.into())));
    }
    match object.extract::<i128>() {
        Ok(i) => Ok(Value::Weak(Number::Int(i))),
        Err(_) => Ok(Value::Huge(match object.extract::<f64>() {
            Ok(x) => x,
            Err(_) if object.lt(0)? => f64::NEG_INFINITY,
            Err(_) => f64::INFINITY,
        })),
    }
}

#[cold]
fn other_value<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Value<'py>>> {
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
        return Ok(None); // the tensor handles the operator
    }
    // NumPy scalars (and ml_dtypes') have a dtype and an item, but are not arrays.
    let (Ok(dtype), Ok(item)) = (object.getattr("dtype"), object.getattr("item")) else {
        if object.is_instance_of::<PyInt>() {
            return integer_value(object).map(Some);
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Some(Value::Weak(Number::Float(object.extract()?))));
        }
        return Ok(None);
    };
    // CuPy's arrays have both and lack `__array_interface__`; reading the item would copy it.
    if object.hasattr("__setitem__")? {
        return Ok(None);
    }
    let Some(dtype) = DType::from_name(&dtype.getattr("name")?.extract::<String>()?) else { return Ok(None) };
    let item = item.call0()?;
    let number = if let Ok(z) = item.cast::<PyComplex>() {
        Number::Complex(z.real(), z.imag())
    } else if item.is_instance_of::<PyBool>() {
        Number::Bool(item.extract()?)
    } else if item.is_instance_of::<PyInt>() {
        Number::Int(item.extract()?)
    } else {
        Number::Float(item.extract()?)
    };
    Ok(Some(Value::Typed(number, dtype)))
}

/// Converts an operand, or raises a TypeError that says what to do.
pub(crate) fn operand_argument<'py>(object: &Bound<'py, PyAny>) -> PyResult<Value<'py>> {
    value(object)?.ok_or_else(|| {
        let class = object.get_type().repr().map(|r| r.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("Unsupported type {class}: convert it with cuprous.asarray first"))
    })
}

/// Returns the engine for some operands: that of the first array, else the default.
#[inline]
pub(crate) fn engine_of<'a>(values: impl IntoIterator<Item = &'a Value<'a>>) -> PyResult<&'static Arc<Engine>> {
    for value in values {
        if let Some(array) = value.array() {
            return Ok(devices::of(array));
        }
    }
    devices::default_engine().or_raise()
}

/// Records an elementwise function.
#[inline]
pub(crate) fn map(py: Python<'_>, fun: Fun, values: &[Value], dtype: Option<DType>) -> PyResult<PyArray> {
    let engine = engine_of(values)?;
    if values.iter().any(|v| matches!(v, Value::Huge(_))) {
        let operands = with_huge(fun, values, dtype)?;
        return finish(py, engine, engine.map(fun, &operands, dtype));
    }
    let operands: SmallVec<[Operand; 3]> = values.iter().map(Value::operand).collect();
    let result = engine.map(fun, &operands, dtype);
    finish(py, engine, result)
}

/// Warns like NumPy if an assignment drops imaginary parts.
#[inline]
pub(crate) fn warn_of_complex(py: Python<'_>, value: &Value, to: DType) -> PyResult<()> {
    let from = match value {
        Value::Array(from) => from.get().array.dtype(),
        Value::Typed(_, from) => *from,
        _ => return Ok(()),
    };
    if !from.is_complex() || to.is_complex() || to == DType::Bool {
        return Ok(());
    }
    let class = py.import("numpy.exceptions")?.getattr("ComplexWarning")?;
    PyErr::warn(py, &class, c"Casting complex values to real discards the imaginary part", 1)
}
