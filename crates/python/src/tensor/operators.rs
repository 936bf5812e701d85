//! The operators of `Tensor`.

use cuprous_autograd::{Arg, Tensor, ops};
use cuprous_core::{Error, Fun, Kind, Result};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;

use super::operand::{Value, map, operand_argument, value};
use super::products::autocast_matmul;
use super::{PyTensor, autocast, finish};
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;
use crate::operators::{arithmetic_operators, comparison};

/// Records a binary operator, or leaves it to the other operand.
#[inline]
fn binary(py: Python<'_>, fun: Fun, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    match (value(a)?, value(b)?) {
        (Some(x), Some(y)) => {
            let mut values = [x, y];
            if fun == Fun::Power {
                autocast::cast_on_gpu(&mut values).or_raise()?;
            }
            Ok(Py::new(py, map(py, fun, &values, None)?)?.into_any())
        }
        (Some(_), None) => leave_to_other(b),
        _ => leave_to_other(a),
    }
}

/// Leaves the operator to the other operand. A NumPy array would accept it and return a result on the host, so it
/// raises.
#[cold]
fn leave_to_other(other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if !other.is_instance_of::<crate::array::PyArray>() && other.hasattr("__array_interface__")? {
        return Err(PyTypeError::new_err(
            "unsupported operands: a Tensor and a numpy.ndarray; convert the array with torch.from_numpy first",
        ));
    }
    Ok(other.py().NotImplemented())
}

fn unary(slf: &Bound<'_, PyTensor>, fun: Fun) -> PyResult<PyTensor> {
    finish(slf.py(), ops::map(fun, &[Arg::Tensor(&slf.get().in_any_order())], None))
}

/// Writes a function of a tensor and other operands into the tensor.
pub(super) fn overwrite(py: Python<'_>, fun: Fun, target: &PyTensor, others: &[Value]) -> PyResult<()> {
    let target = target.in_any_order();
    let write = || -> Result<()> {
        target.check_write()?;
        let mut args: smallvec::SmallVec<[Arg; 3]> = smallvec::smallvec![Arg::Tensor(&target)];
        args.extend(others.iter().map(Value::arg));
        assign(&target, &ops::map(fun, &args, None)?)
    };
    write().or_raise()?;
    run_due_tape(py, devices::of(&target.array))
}

/// Writes the result of an in-place operation into its target. The shapes must be equal.
pub(super) fn assign(target: &Tensor, result: &Tensor) -> Result<()> {
    let rank = |kind: Kind| match kind {
        Kind::Bool => 0,
        Kind::Int | Kind::UInt => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    };
    let (from, to) = (result.dtype(), target.dtype());
    if rank(from.kind()) > rank(to.kind()) {
        return Err(Error::runtime(format!(
            "result type {} can't be cast to the desired output type {}",
            from.name(),
            to.name()
        )));
    }
    if result.shape() != target.shape() {
        return Err(Error::runtime(format!(
            "output with shape {:?} doesn't match the broadcast shape {:?}",
            target.shape(),
            result.shape()
        )));
    }
    ops::update(target, Arg::Tensor(result))
}

fn in_place(slf: Target<'_, '_>, fun: Fun, other: &Bound<'_, PyAny>) -> PyResult<()> {
    overwrite(slf.py(), fun, slf.get(), &[operand_argument(other)?])
}

/// The tensor that an in-place operator writes to.
type Target<'a, 'py> = &'a Bound<'py, PyTensor>;

arithmetic_operators!(PyTensor);

#[pymethods]
impl PyTensor {
    fn __pow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyNotImplementedError::new_err("pow() with a modulus is not defined for tensors"));
        }
        binary(slf.py(), Fun::Power, slf.as_any(), o)
    }

    fn __rpow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyNotImplementedError::new_err("pow() with a modulus is not defined for tensors"));
        }
        binary(slf.py(), Fun::Power, o, slf.as_any())
    }

    fn __ipow__(slf: &Bound<'_, Self>, o: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        in_place(slf, Fun::Power, o)
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        if slf.get().tensor().dtype() == cuprous_core::DType::Bool {
            return Err(pyo3::exceptions::PyRuntimeError::new_err(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, \
                 use the `~` or `logical_not()` operator instead.",
            ));
        }
        unary(slf, Fun::Negative)
    }

    fn __pos__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        unary(slf, Fun::Absolute)
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        if slf.get().tensor().dtype().is_float() {
            return Err(PyTypeError::new_err("~ (operator.invert) is only implemented on integer and Boolean tensors"));
        }
        unary(slf, Fun::Invert)
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        match value(o)? {
            Some(Value::Tensor(b)) => {
                let product = autocast_matmul(slf.get().tensor(), b);
                Ok(Py::new(slf.py(), finish(slf.py(), product)?)?.into_any())
            }
            _ => Ok(slf.py().NotImplemented()),
        }
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        match value(o)? {
            Some(Value::Tensor(a)) => {
                let product = autocast_matmul(a, slf.get().tensor());
                Ok(Py::new(slf.py(), finish(slf.py(), product)?)?.into_any())
            }
            _ => Ok(slf.py().NotImplemented()),
        }
    }

    fn __richcmp__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        binary(slf.py(), comparison(op), slf.as_any(), o)
    }
}
