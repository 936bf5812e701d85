//! Arrays of one element as Python scalars.

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Scalar};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};

use super::PyArray;
use crate::{devices, index, interrupt};

#[pymethods]
impl PyArray {
    /// Returns the only element as a Python scalar, or the element at an index. It is copied to the host.
    ///
    /// Parameters
    /// ----------
    /// *args : int or tuple of ints
    ///     Nothing, an index into the flattened array, or an index for each axis.
    ///
    /// Returns
    /// -------
    /// scalar
    ///     A bool, int, float or complex number.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the array does not have exactly one element.
    /// IndexError
    ///     For an index out of bounds.
    ///
    /// Examples
    /// --------
    /// >>> cp.asarray([[1, 2], [3, 4]]).item(1, 0)
    /// 3
    #[pyo3(signature = (*args))]
    fn item(slf: &Bound<'_, Self>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().array;
        let one = match (args.len(), array.layout.size) {
            (0, 1) => array.view(array.layout.with(&[], &[], array.layout.offset)),
            (0, _) => {
                return Err(PyValueError::new_err("can only convert an array of size 1 to a Python scalar"));
            }
            _ => index::element(array, args)?,
        };
        scalar(slf.py(), &one)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        match slf.get().array.layout.size {
            1 => Ok(match read_number(slf.py(), &slf.get().array)? {
                Number::Bool(b) => b,
                Number::Int(i) => i != 0,
                Number::Float(x) => x != 0.0,
                Number::Complex(re, im) => re != 0.0 || im != 0.0,
            }),
            0 => Err(PyValueError::new_err(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not \
                 empty.",
            )),
            _ => Err(PyValueError::new_err(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
            )),
        }
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        slf.py().get_type::<pyo3::types::PyInt>().call1((real_scalar(slf)?,)).map(Bound::unbind)
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        real_scalar(slf)?.extract(slf.py())
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyComplex>> {
        let (re, im) = match read_number(slf.py(), &single_element(slf)?)? {
            Number::Complex(re, im) => (re, im),
            Number::Float(x) => (x, 0.0),
            Number::Int(i) => (i as f64, 0.0),
            Number::Bool(b) => (f64::from(u8::from(b)), 0.0),
        };
        Ok(PyComplex::from_doubles(slf.py(), re, im))
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().array;
        if !array.dtype().is_int() || array.layout.ndim() != 0 {
            return Err(PyTypeError::new_err("only integer scalar arrays can be converted to a scalar index"));
        }
        scalar(slf.py(), array)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.array.shape().first() {
            Some(&n) => Ok(n as usize),
            None => Err(PyTypeError::new_err("len() of unsized object")),
        }
    }
}

fn single_element(slf: &Bound<'_, PyArray>) -> PyResult<Array> {
    let array = &slf.get().array;
    if array.layout.size != 1 {
        return Err(PyTypeError::new_err("only size-1 arrays can be converted to Python scalars"));
    }
    Ok(array.view(array.layout.with(&[], &[], array.layout.offset)))
}

fn real_scalar(slf: &Bound<'_, PyArray>) -> PyResult<Py<PyAny>> {
    let one = single_element(slf)?;
    if one.dtype().is_complex() {
        return Err(PyTypeError::new_err("a complex array cannot be converted to a real Python scalar; use .real"));
    }
    scalar(slf.py(), &one)
}

/// Reads the one element of an array.
fn read_number(py: Python<'_>, one: &Array) -> PyResult<Number> {
    let engine = devices::of(one);
    let mut bits = Scalar::default();
    let bytes = one.dtype().size();
    let flat = one.view(one.layout.with(&[], &[], one.layout.offset));
    interrupt::run(py, || engine.download(&flat, &mut bits.0[..bytes]))?;
    Ok(bits.number(one.dtype()))
}

/// Reads the one element of an array as a Python scalar.
pub(crate) fn scalar(py: Python<'_>, one: &Array) -> PyResult<Py<PyAny>> {
    Ok(match read_number(py, one)? {
        Number::Bool(b) => b.into_pyobject(py)?.to_owned().into_any().unbind(),
        Number::Int(i) if one.dtype() == DType::U64 => (i as u64).into_pyobject(py)?.into_any().unbind(),
        Number::Int(i) => (i as i64).into_pyobject(py)?.into_any().unbind(),
        Number::Float(x) => x.into_pyobject(py)?.into_any().unbind(),
        Number::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any().unbind(),
    })
}
