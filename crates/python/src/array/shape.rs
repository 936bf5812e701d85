//! `reshape`, `transpose` and `copy`.

use cuprous_core::layout::{checked_size, show};
use cuprous_core::{Array, Dims};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use super::{PyArray, by_stride, copy_in_order, finish};
use crate::errors::OrRaise;
use crate::index::ShapeError;
use crate::{devices, index};

#[pymethods]
impl PyArray {
    /// Returns the elements in another shape: a view if strides can express it, otherwise a copy.
    ///
    /// Parameters
    /// ----------
    /// *shape : int or tuple of ints
    ///     The extents, as integers or as one tuple. One of them may be -1 and is inferred.
    /// order : str, default "C"
    ///     The order in which elements are read and written: "C", "F", or "A" ("F" if the array is in Fortran order).
    /// copy : bool, optional
    ///     True always copies, False never, None (the default) only if needed.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     An array with the same elements.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the shape has another number of elements, and for `copy=False` if a copy is needed.
    ///
    /// Examples
    /// --------
    /// >>> cp.arange(6).reshape(2, -1)
    /// array([[0, 1, 2],
    ///        [3, 4, 5]])
    #[pyo3(signature = (*shape, order = "C", copy = None))]
    fn reshape(
        slf: &Bound<'_, Self>,
        shape: &Bound<'_, PyTuple>,
        order: &str,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        let array = &slf.get().array;
        let dims = index::dims_argument(shape)?;
        let dims = resolve_shape(&dims, array)?;
        let column_major = match order {
            "C" | "c" => false,
            "F" | "f" => true,
            "A" | "a" => array.layout.is_f_contiguous() && !array.layout.is_c_contiguous(),
            "K" | "k" => return Err(PyValueError::new_err("order 'K' is not permitted for reshaping")),
            _ => return Err(PyValueError::new_err(format!("order must be one of 'C', 'F', or 'A' (got '{order}')"))),
        };
        let result = if column_major {
            // Column-major order is row-major order of the transposed array.
            let reversed = |n: usize| (0..n).rev().collect::<Vec<_>>();
            let t = array.view(array.layout.permute(&reversed(array.layout.ndim())));
            let back: Dims = dims.iter().rev().copied().collect();
            let r = reshape_or_copy(slf.py(), &t, &back)?;
            r.view(r.layout.permute(&reversed(dims.len())))
        } else {
            reshape_or_copy(slf.py(), array, &dims)?
        };
        let shared = std::sync::Arc::ptr_eq(&result.storage, &array.storage);
        match copy {
            Some(false) if !shared => Err(PyValueError::new_err("Unable to avoid creating a copy while reshaping.")),
            Some(true) if shared => {
                let order: Vec<usize> = (0..dims.len()).collect();
                let order = if column_major { order.into_iter().rev().collect() } else { order };
                copy_in_order(slf.py(), &PyArray::own(result), array.dtype(), &order)
            }
            _ if shared => PyArray::view(slf, result),
            _ => Ok(PyArray::own(result)),
        }
    }

    /// Returns a view with its axes permuted.
    ///
    /// Parameters
    /// ----------
    /// *axes : int or sequence of ints
    ///     A permutation of the axes, as integers or as one tuple; by default they are reversed.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     A view.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the order is not a permutation of the axes.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3, 4)).transpose(1, 0, 2).shape
    /// (3, 2, 4)
    #[pyo3(signature = (*axes))]
    fn transpose(slf: &Bound<'_, Self>, axes: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let array = &slf.get().array;
        let ndim = array.layout.ndim();
        let order: SmallVec<[usize; 6]> = if axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none()) {
            (0..ndim).rev().collect()
        } else {
            let requested = index::dims_argument(axes)?;
            if requested.len() != ndim {
                return Err(PyValueError::new_err("axes don't match array"));
            }
            let order = requested.iter().map(|&k| index::axis(k, ndim));
            index::distinct_axes(order, |_| PyValueError::new_err("repeated axis in transpose"))?.0
        };
        PyArray::view(slf, array.view(array.layout.permute(&order)))
    }

    /// Returns a copy, computed when needed.
    ///
    /// Parameters
    /// ----------
    /// order : str or None, default "C"
    ///     The memory order of the copy: "C" (the default), "F", "A", or "K" (that of the array); None is "C".
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     An array in memory of its own.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For another order than "C", "F", "A" or "K".
    ///
    /// Examples
    /// --------
    /// >>> a = cp.arange(3)
    /// >>> b = a.copy()
    /// >>> b[0] = 9
    /// >>> a
    /// array([0, 1, 2])
    #[pyo3(signature = (order = Some("C")))]
    fn copy(slf: &Bound<'_, Self>, order: Option<&str>) -> PyResult<PyArray> {
        let order = order.unwrap_or("C");
        let array = &slf.get().array;
        let layout = &array.layout;
        let c_order: Vec<usize> = (0..layout.ndim()).collect();
        let axes = match order {
            "C" | "c" => c_order,
            "A" | "a" if !layout.is_f_contiguous() || layout.is_c_contiguous() => c_order,
            "F" | "f" | "A" | "a" => c_order.into_iter().rev().collect(),
            "K" | "k" => by_stride(layout),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "order must be one of 'C', 'F', 'A', or 'K' (got '{order}')"
                )));
            }
        };
        // A copy is writable, that of a scalar too.
        copy_in_order(slf.py(), slf.get(), array.dtype(), &axes).map(|copy| PyArray::own(copy.array))
    }
}

/// Returns a view with another shape, or a copy if strides cannot express it.
fn reshape_or_copy(py: Python<'_>, array: &Array, shape: &[i64]) -> PyResult<Array> {
    if let Some(layout) = array.layout.reshape(shape) {
        return Ok(array.view(layout));
    }
    let engine = devices::of(array);
    let copy = finish(py, engine, engine.cast(array, array.dtype()))?.array;
    let layout = copy.layout.reshape(shape).expect("a copy is contiguous");
    Ok(copy.view(layout))
}

/// Fills in the one extent that may be -1.
fn resolve_shape(dims: &[i64], array: &Array) -> PyResult<Dims> {
    let size = array.layout.size;
    let dims = index::resolve_shape(dims, size).map_err(|error| match error {
        ShapeError::SeveralOpen => PyValueError::new_err("can only specify one unknown dimension"),
        ShapeError::OtherSize => {
            PyValueError::new_err(format!("cannot reshape array of size {size} into shape {}", show(dims)))
        }
    })?;
    checked_size(array.dtype(), &dims).or_raise()?;
    Ok(dims)
}
