//! The `Tensor` type of `cuprous.torch`: the object and its attributes, over `cuprous_autograd`.

pub(crate) mod attention;
pub(crate) mod autocast;
pub(crate) mod convolution;
pub(crate) mod creation;
pub(crate) mod functions;
pub(crate) mod grad;
mod indexing;
mod operand;
#[allow(unsafe_op_in_unsafe_fn, reason = "PyO3 expands methods from a macro to such code")]
mod operators;
pub(crate) mod products;
pub(crate) mod recurrent;

use std::sync::{Mutex, MutexGuard};

use cuprous_autograd::Tensor;
use cuprous_core::layout::contiguous_strides;
use cuprous_core::{Array, Result};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::array::{PyArray, first_byte, scalar};
use crate::errors::OrRaise;
use crate::interrupt::{self, run_due_tape};
use crate::{devices, hooks};

/// A tensor: an array and its position in the autograd graph.
///
/// Parameters
/// ----------
/// *args : int, sequence or Tensor
///     Extents, values or a tensor, as of PyTorch's `Tensor`.
/// requires_grad : bool, default False
///     Whether operations on the tensor are recorded for gradients.
/// **kwargs : any
///     `device`, the device.
///
/// Examples
/// --------
/// >>> torch.Tensor([1, 2])
/// tensor([1., 2.])
#[pyclass(frozen, subclass, dict, weakref, name = "Tensor", module = "cuprous.torch")]
pub(crate) struct PyTensor {
    tensor: Mutex<Tensor>,
    /// True once the object has its contents. Before that it is all zero bytes: creating its `__dict__` may start the garbage
    /// collector, which traverses it.
    is_initialized: bool,
}

/// Returns a recorded tensor to Python and runs the tape if the operation ended it.
#[inline]
pub(crate) fn finish(py: Python<'_>, result: Result<Tensor>) -> PyResult<PyTensor> {
    let tensor = result.or_raise()?;
    run_due_tape(py, devices::of(&tensor.array))?;
    Ok(PyTensor::wrap(tensor))
}

/// Like [`finish`], for functions that do not support all tensors.
pub(crate) fn finish_some(py: Python<'_>, result: Result<Option<Tensor>>) -> PyResult<Option<PyTensor>> {
    result.transpose().map(|tensor| finish(py, tensor)).transpose()
}

impl PyTensor {
    pub(crate) fn wrap(tensor: Tensor) -> PyTensor {
        PyTensor { tensor: Mutex::new(tensor), is_initialized: true }
    }

    fn lock(&self) -> MutexGuard<'_, Tensor> {
        self.tensor.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the tensor, row-major if an engine chose its order in memory; memory and graph node are shared.
    #[inline]
    pub(crate) fn tensor(&self) -> Tensor {
        let mut tensor = self.lock();
        if tensor.array.layout.engine_order {
            // A copy that cannot be recorded, as on a lost device, is reported by the operation that follows.
            let _ = tensor.show_row_major();
        }
        tensor.clone()
    }

    /// As [`PyTensor::tensor`], for operations that read or overwrite all elements wherever they lie, and make no view.
    #[inline]
    pub(crate) fn in_any_order(&self) -> Tensor {
        self.lock().clone()
    }

    /// Returns the memory and its view.
    #[inline]
    pub(crate) fn array(&self) -> Array {
        self.tensor().array
    }
}

#[pymethods]
impl PyTensor {
    #[new]
    #[pyo3(signature = (*args, requires_grad = false, **kwargs))]
    fn new(
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        requires_grad: bool,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyTensor> {
        let mut tensor = match args.get_item(0) {
            Ok(first) if args.len() == 1 && kwargs.is_none() && first.is_instance_of::<PyTensor>() => {
                first.cast::<PyTensor>()?.get().tensor().detach()
            }
            Ok(first) if args.len() == 1 && kwargs.is_none() && first.is_instance_of::<PyArray>() => {
                Tensor::new(first.cast::<PyArray>()?.get().array.clone())
            }
            _ => {
                let created = hooks::call(py, hooks::Hook::TensorNew, (args, kwargs))?;
                created.bind(py).cast::<PyTensor>()?.get().tensor()
            }
        };
        tensor.set_requires_grad(requires_grad).or_raise()?;
        Ok(PyTensor::wrap(tensor))
    }

    // --- attributes
    /// The extents, a `torch.Size`.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).shape
    /// torch.Size([2, 3])
    #[getter]
    fn get_shape<'py>(&self, py: Python<'py>) -> PyResult<Py<PyAny>> {
        let shape = PyTuple::new(py, self.lock().shape())?;
        hooks::call(py, hooks::Hook::TensorSize, (shape,))
    }

    /// The extents, a tuple.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).dims
    /// (2, 3)
    #[getter]
    fn dims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.lock().shape())
    }

    /// Returns the strides in elements.
    ///
    /// Returns
    /// -------
    /// tuple of ints
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).stride_tuple()
    /// (3, 1)
    fn stride_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let layout = self.lock().array.layout.clone();
        if layout.engine_order {
            return PyTuple::new(py, contiguous_strides(&layout.shape));
        }
        PyTuple::new(py, &layout.strides)
    }

    /// Returns the index of the first element in the memory.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.arange(4)[1:].storage_offset()
    /// 1
    fn storage_offset(&self) -> i64 {
        self.lock().array.layout.offset
    }

    /// The number of dimensions.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).ndim
    /// 2
    #[getter]
    fn ndim(&self) -> usize {
        self.lock().array.layout.ndim()
    }

    /// Returns the number of dimensions.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).dim()
    /// 2
    fn dim(&self) -> usize {
        self.ndim()
    }

    /// Returns the number of elements.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).numel()
    /// 6
    fn numel(&self) -> i64 {
        self.lock().array.layout.size
    }

    /// Returns the number of elements.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).nelement()
    /// 6
    fn nelement(&self) -> i64 {
        self.numel()
    }

    /// Returns the bytes of an element.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).element_size()
    /// 4
    fn element_size(&self) -> usize {
        self.lock().dtype().size()
    }

    /// The dtype, a `torch.dtype`.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).dtype
    /// torch.float32
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        hooks::call(py, hooks::Hook::TensorDtype, (self.dtype_name(),))
    }

    /// The engine's name of the dtype.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).dtype_name
    /// 'float32'
    #[getter]
    fn dtype_name(&self) -> &'static str {
        self.lock().dtype().name()
    }

    /// The device, a `torch.device`.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).device
    /// device(type='cpu')
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        hooks::call(py, hooks::Hook::TensorDevice, (self.device_name(),))
    }

    /// The engine's name of the device.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).device_name
    /// 'cpu'
    #[getter]
    fn device_name(&self) -> String {
        devices::name(devices::of(&self.lock().array))
    }

    fn is_contiguous(&self) -> bool {
        let layout = &self.lock().array.layout;
        layout.engine_order || layout.is_c_contiguous()
    }

    /// Returns true if the dtype is a float.
    ///
    /// Returns
    /// -------
    /// bool
    ///
    /// Examples
    /// --------
    /// >>> torch.tensor([1.0]).is_floating_point()
    /// True
    fn is_floating_point(&self) -> bool {
        self.lock().dtype().is_float()
    }

    /// Returns true if the dtype is complex.
    ///
    /// Returns
    /// -------
    /// bool
    ///
    /// Examples
    /// --------
    /// >>> torch.tensor([1.0]).is_complex()
    /// False
    fn is_complex(&self) -> bool {
        self.lock().dtype().is_complex()
    }

    /// Returns the address of the first element, after running what is pending. Operations on the memory run at once from
    /// then on, because other libraries may use it.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2).data_ptr() % 4
    /// 0
    fn data_ptr(&self, py: Python<'_>) -> PyResult<u64> {
        let array = self.array();
        let engine = devices::of(&array);
        let buffer = interrupt::run(py, || engine.export(&array.storage))?;
        Ok(first_byte(&array, &buffer))
    }

    /// A view with the dimensions in reverse order.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(2, 3).T.shape
    /// torch.Size([3, 2])
    #[getter]
    #[pyo3(name = "T")]
    fn reversed(&self) -> PyTensor {
        let tensor = self.tensor();
        let order: Vec<usize> = (0..tensor.array.layout.ndim()).rev().collect();
        PyTensor::wrap(tensor.view(tensor.array.layout.permute(&order)))
    }

    /// A view with the last two dimensions swapped.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For fewer than two dimensions.
    ///
    /// Examples
    /// --------
    /// >>> torch.ones(4, 2, 3).mT.shape
    /// torch.Size([4, 3, 2])
    #[getter]
    #[pyo3(name = "mT")]
    fn transposed(&self) -> PyResult<PyTensor> {
        let tensor = self.tensor();
        let n = tensor.array.layout.ndim();
        if n < 2 {
            return Err(PyRuntimeError::new_err(
                "tensor.mT is only supported on matrices or batches of matrices. Got a tensor with fewer dimensions.",
            ));
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.swap(n - 2, n - 1);
        Ok(PyTensor::wrap(tensor.view(tensor.array.layout.permute(&order))))
    }

    /// Returns the same memory as an array.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///
    /// Examples
    /// --------
    /// >>> torch.arange(3).as_array()
    /// array([0, 1, 2])
    fn as_array(&self) -> PyArray {
        PyArray::own(self.array())
    }

    /// Returns true if two tensors are views of the same memory, even of different parts.
    ///
    /// Parameters
    /// ----------
    /// other : Tensor
    ///     Another tensor.
    ///
    /// Returns
    /// -------
    /// bool
    ///
    /// Examples
    /// --------
    /// >>> x = torch.arange(4)
    /// >>> x[:2].shares_storage(x[2:])
    /// True
    fn shares_storage(&self, other: &PyTensor) -> bool {
        std::sync::Arc::ptr_eq(&self.array().storage, &other.array().storage)
    }

    // --- values
    /// Returns the element of a tensor as a Python number. It waits for the computation.
    ///
    /// Returns
    /// -------
    /// int or float
    ///     A bool, an int, a float or a complex number.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     For another number of elements than one.
    ///
    /// Examples
    /// --------
    /// >>> torch.tensor([2.5]).item()
    /// 2.5
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let array = self.array();
        if array.layout.size != 1 {
            return Err(PyRuntimeError::new_err(format!(
                "a Tensor with {} elements cannot be converted to Scalar",
                array.layout.size
            )));
        }
        scalar(py, &array)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.numel() {
            1 => self.item(py)?.bind(py).is_truthy(),
            0 => Err(PyRuntimeError::new_err("Boolean value of Tensor with no values is ambiguous")),
            _ => Err(PyRuntimeError::new_err("Boolean value of Tensor with more than one value is ambiguous")),
        }
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(py.get_type::<pyo3::types::PyFloat>().call1((self.item(py)?,))?.unbind())
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(py.get_type::<pyo3::types::PyInt>().call1((self.item(py)?,))?.unbind())
    }

    fn __complex__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(py.get_type::<pyo3::types::PyComplex>().call1((self.item(py)?,))?.unbind())
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let array = self.array();
        if array.dtype().is_float() || array.dtype().is_complex() || array.layout.size != 1 {
            return Err(PyTypeError::new_err("only integer tensors of a single element can be converted to an index"));
        }
        self.__int__(py)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.lock().shape().first() {
            Some(&n) => Ok(n as usize),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    fn __hash__(slf: &Bound<'_, Self>) -> usize {
        slf.as_ptr() as usize >> 4
    }
}
