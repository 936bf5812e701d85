//! The `ndarray` type: the object, its views and its copies. The methods are in the submodules.

mod attributes;
mod indexing;
#[allow(unsafe_op_in_unsafe_fn, reason = "PyO3 expands methods from a macro to such code")]
mod operators;
mod shape;
mod values;

use std::sync::Arc;

use cuprous_core::{Array, Buffer, DType, Dims, Layout, Result};
use cuprous_plan::{Engine, elementwise};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;

pub(crate) use values::scalar;

/// An N-dimensional array on a device. Operations on it are recorded and run when a value is needed.
#[pyclass(frozen, name = "ndarray", module = "cuprous", weakref)]
pub(crate) struct PyArray {
    pub(crate) array: Array,
    /// For a view, the array that owns the memory.
    base: Option<Py<PyArray>>,
    role: Role,
}

/// What NumPy would return in place of this array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// An array.
    Array,
    /// A scalar, the 0-d result of an operation: `+=` rebinds the name. Libraries write to such results with `a[()] =
    /// x` or `out=a`, so that is allowed.
    Result,
    /// A scalar, an element `a[i]`: like `Result`, and immutable.
    Element,
}

impl PyArray {
    /// Returns an array without a base.
    pub(crate) fn own(array: Array) -> PyArray {
        PyArray { array, base: None, role: Role::Array }
    }

    /// Returns the result of an operation.
    #[inline]
    pub(crate) fn result(array: Array) -> PyArray {
        let role = if array.layout.ndim() == 0 { Role::Result } else { Role::Array };
        PyArray { array, base: None, role }
    }

    /// Returns the array for writing to it.
    ///
    /// # Errors
    /// `TypeError` for an element.
    pub(crate) fn target(&self) -> PyResult<&Array> {
        if self.role == Role::Element {
            return Err(PyTypeError::new_err(
                "a value cannot be written: an element a[i] is immutable, like NumPy's scalars. Write a[i] = ..., or take a \
                 view of the element, a[i, ...]",
            ));
        }
        Ok(&self.array)
    }

    /// Returns a view of another array's memory; its base is the array that owns the memory. For an element, which is
    /// immutable, it is a view of a copy, as NumPy creates arrays from its scalars.
    pub(crate) fn view(of: &Bound<'_, PyArray>, array: Array) -> PyResult<PyArray> {
        let this = of.get();
        if this.role == Role::Element && this.base.is_none() {
            let engine = devices::of(&this.array);
            let copy = finish(of.py(), engine, engine.cast(&this.array, this.array.dtype()))?;
            return Ok(PyArray::own(copy.array.view(array.layout.clone())));
        }
        Ok(PyArray::alias(of, array))
    }

    /// Like [`PyArray::view`], but for an element it shows the element itself and is immutable, like its own views.
    pub(crate) fn alias(of: &Bound<'_, PyArray>, array: Array) -> PyArray {
        let this = of.get();
        let base = this.base.as_ref().map_or_else(|| of.clone().unbind(), |base| base.clone_ref(of.py()));
        let role = if this.role == Role::Element { Role::Element } else { Role::Array };
        PyArray { array, base: Some(base), role }
    }
}

/// Returns a recorded array to Python and runs the tape if the operation ended it.
#[inline]
pub(crate) fn finish(py: Python<'_>, engine: &'static Arc<Engine>, result: Result<Array>) -> PyResult<PyArray> {
    let array = result.or_raise()?;
    run_due_tape(py, engine)?;
    Ok(PyArray::result(array))
}

/// Returns the bytes from one element to the next along each axis. Strides that exceed 64 bits belong to axes of one
/// element, which never use them.
pub(crate) fn byte_strides(layout: &Layout) -> Dims {
    layout.strides.iter().map(|s| s.saturating_mul(layout.dtype.size() as i64)).collect()
}

/// Returns the address of the first element in the memory of the array's storage. An array without elements may begin
/// anywhere.
pub(crate) fn first_byte(array: &Array, memory: &Buffer) -> u64 {
    memory.address().wrapping_add_signed(array.layout.offset.wrapping_mul(array.dtype().size() as i64))
}

/// Returns the axes from the slowest to the fastest in memory, as NumPy's order "K" copies them.
pub(crate) fn by_stride(layout: &Layout) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..layout.ndim()).collect();
    if !layout.is_c_contiguous() {
        axes.sort_by_key(|&k| std::cmp::Reverse(layout.strides[k].unsigned_abs()));
    }
    axes
}

/// Returns a new array of `dtype` with the same elements. Its axes are in memory in the order `axes`, the slowest
/// first.
pub(crate) fn copy_in_order(py: Python<'_>, source: &PyArray, dtype: DType, axes: &[usize]) -> PyResult<PyArray> {
    let array = &source.array;
    let engine = devices::of(array);
    if axes.is_sorted() {
        let copy = finish(py, engine, engine.cast(array, dtype))?;
        return Ok(if source.is_value() { copy } else { PyArray::own(copy.array) });
    }
    let upright = array.view(array.layout.permute(axes));
    let out = finish(py, engine, engine.cast(&upright, dtype))?.array;
    Ok(PyArray::own(out.view(out.layout.permute(&elementwise::inverse_permutation(axes)))))
}
