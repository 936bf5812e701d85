//! Attributes of an array.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{PyArray, Role, byte_strides, first_byte};
use crate::{devices, interrupt, numpy};

#[pymethods]
impl PyArray {
    /// Extents of the axes, a tuple of integers.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).shape
    /// (2, 3)
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.shape())
    }

    /// Bytes from one element to the next along each axis, a tuple of integers.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).strides
    /// (24, 8)
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        // As in NumPy, all strides of an array without elements are 0, unless it is a view of elements.
        let empty =
            self.array.layout.size == 0 && self.base.as_ref().is_none_or(|base| base.get().array.layout.size == 0);
        let strides = byte_strides(&self.array.layout);
        PyTuple::new(py, strides.into_iter().map(|s| if empty { 0 } else { s }))
    }

    /// Elements from one to the next along each axis, a tuple of integers.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).element_strides
    /// (3, 1)
    #[getter]
    fn element_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.array.layout.strides)
    }

    /// Number of axes.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).ndim
    /// 2
    #[getter]
    fn ndim(&self) -> usize {
        self.array.layout.ndim()
    }

    /// Number of elements.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).size
    /// 6
    #[getter]
    fn size(&self) -> i64 {
        self.array.layout.size
    }

    /// Bytes of an element.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).itemsize
    /// 8
    #[getter]
    fn itemsize(&self) -> usize {
        self.array.dtype().size()
    }

    /// Bytes of all elements.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones((2, 3)).nbytes
    /// 48
    #[getter]
    fn nbytes(&self) -> i64 {
        self.array.layout.size * self.array.dtype().size() as i64
    }

    /// The elements' type, a `numpy.dtype` (bfloat16 is ml_dtypes').
    ///
    /// Examples
    /// --------
    /// >>> cp.ones(3).dtype
    /// dtype('float64')
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        numpy::dtype(py, self.array.dtype())
    }

    /// The name of the elements' type.
    ///
    /// Examples
    /// --------
    /// >>> cp.ones(3).dtype_name
    /// 'float64'
    #[getter]
    fn dtype_name(&self) -> &'static str {
        self.array.dtype().name()
    }

    /// A view with its axes in reverse order.
    ///
    /// Examples
    /// --------
    /// >>> cp.asarray([[1, 2], [3, 4]]).T
    /// array([[1, 3],
    ///        [2, 4]])
    #[getter]
    #[pyo3(name = "T")]
    fn transposed(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        let array = &slf.get().array;
        let axes: Vec<usize> = (0..array.layout.ndim()).rev().collect();
        PyArray::view(slf, array.view(array.layout.permute(&axes)))
    }

    /// For a view, the array that owns the memory; None for an array that owns its memory.
    ///
    /// Examples
    /// --------
    /// >>> a = cp.arange(4)
    /// >>> a[1:].base is a
    /// True
    #[getter]
    fn base(&self, py: Python<'_>) -> Option<Py<PyArray>> {
        self.base.as_ref().map(|base| base.clone_ref(py))
    }

    /// True if the elements are in C order without gaps.
    #[getter]
    fn is_c_contiguous(&self) -> bool {
        self.array.layout.is_c_contiguous()
    }

    /// True if the elements are in Fortran order without gaps.
    #[getter]
    fn is_f_contiguous(&self) -> bool {
        self.array.layout.is_f_contiguous()
    }

    /// True if other libraries may access the memory. Operations on it run immediately.
    ///
    /// Examples
    /// --------
    /// >>> (cp.ones(3) + 1).is_external
    /// False
    #[getter]
    fn is_external(&self) -> bool {
        self.array.storage.is_external()
    }

    /// True for a scalar in NumPy's sense: an element, or the 0-d result of an operation.
    ///
    /// Examples
    /// --------
    /// >>> cp.arange(4).sum().is_value
    /// True
    #[getter]
    pub(crate) fn is_value(&self) -> bool {
        self.role != Role::Array
    }

    /// True for an element `a[i]`, which is immutable.
    ///
    /// Examples
    /// --------
    /// >>> cp.arange(4)[1].is_element
    /// True
    #[getter]
    fn is_element(&self) -> bool {
        self.role == Role::Element
    }

    /// The device that holds the elements: "cpu", "cuda:0", "hip:0", "auto".
    ///
    /// Examples
    /// --------
    /// >>> cp.ones(3).device_name == cp.get_device()
    /// True
    #[getter]
    fn device_name(&self) -> String {
        devices::name(devices::of(&self.array))
    }

    /// Returns the address of the first element, after running what is pending. The memory counts as shared with other
    /// libraries from then on: operations on it run immediately.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> cp.ones(3).address() % 8
    /// 0
    fn address(&self, py: Python<'_>) -> PyResult<u64> {
        let engine = devices::of(&self.array);
        let buffer = interrupt::run(py, || engine.export(&self.array.storage))?;
        Ok(first_byte(&self.array, &buffer))
    }

    /// Returns true if two arrays are views of the same memory, even of different parts.
    ///
    /// Parameters
    /// ----------
    /// other : ndarray
    ///     An array.
    ///
    /// Returns
    /// -------
    /// bool
    ///
    /// Examples
    /// --------
    /// >>> a = cp.arange(4)
    /// >>> a[:2].shares_storage(a[2:])
    /// True
    fn shares_storage(&self, other: &PyArray) -> bool {
        std::sync::Arc::ptr_eq(&self.array.storage, &other.array.storage)
    }

    /// Returns the first and the last byte (exclusive) that the view touches, relative to its memory.
    ///
    /// Returns
    /// -------
    /// pair of ints
    ///
    /// Examples
    /// --------
    /// >>> cp.arange(4)[1:3].span()
    /// (8, 24)
    fn span(&self) -> (i64, i64) {
        let bytes = self.array.dtype().size() as i64;
        match self.array.layout.span() {
            Some((lo, hi)) => (lo * bytes, (hi + 1) * bytes),
            None => [self.array.layout.offset.saturating_mul(bytes); 2].into(),
        }
    }
}
