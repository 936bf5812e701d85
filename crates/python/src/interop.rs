//! Memory shared with other libraries: DLPack (versions 0 and 1) and plain addresses.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use cuprous_core::layout::{MAX_NDIM, checked_size, contiguous_strides, show};
use cuprous_core::{Array, DType, Dims, Kind, Layout, Memory, Storage};
use cuprous_cuda::codegen::Vendor;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::arguments::dtype_argument;
use crate::array::{PyArray, first_byte};
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt;

const CPU: i32 = 1;
const CUDA: i32 = 2;
const ROCM: i32 = 10;

#[repr(C)]
#[derive(Clone, Copy)]
struct DLDevice {
    kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DLDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor` of dlpack.h.
#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device: DLDevice,
    ndim: i32,
    dtype: DLDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor` of dlpack.h, before version 1.
#[repr(C)]
struct ManagedTensor {
    tensor: DLTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// `DLManagedTensorVersioned` of dlpack.h.
#[repr(C)]
struct VersionedTensor {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut VersionedTensor)>,
    flags: u64,
    tensor: DLTensor,
}

const READ_ONLY: u64 = 1;
const CAPSULE_NAMES: [[&CStr; 2]; 2] =
    [[c"dltensor", c"used_dltensor"], [c"dltensor_versioned", c"used_dltensor_versioned"]];

/// What an exported tensor keeps alive: the array and its extents.
struct Export {
    array: Array,
    shape: Dims,
    strides: Dims,
    _buffer: cuprous_core::Buffer,
}

fn dlpack_type(dtype: DType) -> DLDataType {
    let code = match (dtype, dtype.kind()) {
        (DType::BF16, _) => 4,
        (_, Kind::Int) => 0,
        (_, Kind::UInt) => 1,
        (_, Kind::Float) => 2,
        (_, Kind::Complex) => 5,
        (_, Kind::Bool) => 6,
    };
    DLDataType { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

unsafe extern "C" fn delete_managed(tensor: *mut ManagedTensor) {
    // SAFETY: `to_dlpack` created the struct from two boxes, and it is deleted once.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.context.cast::<Export>()));
    }
}

unsafe extern "C" fn delete_versioned(tensor: *mut VersionedTensor) {
    // SAFETY: `to_dlpack` created the struct from two boxes, and it is deleted once.
    unsafe {
        let tensor = Box::from_raw(tensor);
        drop(Box::from_raw(tensor.context.cast::<Export>()));
    }
}

/// Frees the tensor of a capsule that was not consumed.
unsafe extern "C" fn forget_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with the capsule; the name identifies the struct and whether it is still ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, CAPSULE_NAMES[0][0].as_ptr()) == 1 {
            delete_managed(ffi::PyCapsule_GetPointer(capsule, CAPSULE_NAMES[0][0].as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, CAPSULE_NAMES[1][0].as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, CAPSULE_NAMES[1][0].as_ptr()).cast());
        }
    }
}

/// Returns DLPack's type of this process's GPUs.
fn gpu_kind() -> i32 {
    match cuprous_cuda::driver::vendor() {
        Vendor::Nvidia => CUDA,
        Vendor::Amd => ROCM,
    }
}

#[pyfunction]
pub(crate) fn to_dlpack(
    py: Python<'_>,
    a: &PyArray,
    versioned: bool,
    stream: Option<i64>,
    copy: bool,
) -> PyResult<Py<PyAny>> {
    let engine = devices::of(&a.array);
    let array = if copy { engine.cast(&a.array, a.array.dtype()).or_raise()? } else { a.array.clone() };
    let buffer = interrupt::run(py, || {
        let buffer = if copy { engine.realize(&array.storage)? } else { engine.export(&array.storage)? };
        engine.device.hand_over(stream)?;
        Ok(buffer)
    })?;
    let device = match engine.id {
        0 => DLDevice { kind: CPU, id: 0 },
        k => DLDevice { kind: gpu_kind(), id: i32::from(k) - 1 },
    };
    let data = first_byte(&array, &buffer);
    let mut export = Box::new(Export {
        shape: array.layout.shape.clone(),
        strides: array.layout.strides.clone(),
        array,
        _buffer: buffer,
    });
    let tensor = DLTensor {
        data: data as *mut c_void,
        device,
        ndim: export.shape.len() as i32,
        dtype: dlpack_type(export.array.dtype()),
        shape: export.shape.as_mut_ptr(),
        strides: export.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(export).cast();
    let (pointer, name) = if versioned {
        let managed =
            VersionedTensor { major: 1, minor: 0, context, deleter: Some(delete_versioned), flags: 0, tensor };
        (Box::into_raw(Box::new(managed)).cast::<c_void>(), CAPSULE_NAMES[1][0])
    } else {
        let managed = ManagedTensor { tensor, context, deleter: Some(delete_managed) };
        (Box::into_raw(Box::new(managed)).cast::<c_void>(), CAPSULE_NAMES[0][0])
    };
    // SAFETY: the pointer is a live box, the name is static, and the destructor handles both structs.
    unsafe {
        let capsule = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(forget_capsule));
        Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
    }
}

/// A tensor that was imported from another library. Its deleter is called on drop.
struct Import {
    managed: *mut c_void,
    versioned: bool,
    address: u64,
    bytes: usize,
}

// SAFETY: the tensor is only read, and its deleter may be called from any thread with the GIL held, as the producer
// promises.
unsafe impl Send for Import {}
// SAFETY: the tensor is only read.
unsafe impl Sync for Import {}

impl Memory for Import {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // Producers written in Python expect to be called with the GIL held.
        Python::attach(|_| {
            // SAFETY: the capsule was marked as used when the struct was taken from it, so it is ours to delete, once.
            unsafe {
                if self.versioned {
                    let managed = self.managed.cast::<VersionedTensor>();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                } else {
                    let managed = self.managed.cast::<ManagedTensor>();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        });
    }
}

#[pyfunction]
pub(crate) fn from_dlpack(capsule: &Bound<'_, PyAny>) -> PyResult<PyArray> {
    let object = capsule.as_ptr();
    // SAFETY: PyCapsule functions accept any object and check whether it is a capsule of that name.
    let versioned = unsafe { ffi::PyCapsule_IsValid(object, CAPSULE_NAMES[1][0].as_ptr()) } == 1;
    let names = CAPSULE_NAMES[usize::from(versioned)];
    // SAFETY: PyCapsule functions accept any object; for a wrong one they return null and set an error.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(object, names[0].as_ptr()) };
    if pointer.is_null() {
        // SAFETY: clears the error that was just set.
        unsafe { ffi::PyErr_Clear() };
        return Err(PyValueError::new_err("[from_dlpack] not a DLPack capsule, or one that was used before"));
    }
    // SAFETY: the capsule's name identifies the struct.
    let (tensor, flags) = unsafe {
        if versioned {
            let managed = &*pointer.cast::<VersionedTensor>();
            if managed.major != 1 {
                return Err(PyBufferError::new_err(format!("[from_dlpack] unknown DLPack version {}", managed.major)));
            }
            (&managed.tensor, managed.flags)
        } else {
            (&(*pointer.cast::<ManagedTensor>()).tensor, 0)
        }
    };
    let dtype = DType::ALL
        .into_iter()
        .find(|&d| {
            let c = dlpack_type(d);
            (c.code, c.bits, c.lanes) == (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        })
        .ok_or_else(|| {
            PyTypeError::new_err(format!(
                "[from_dlpack] unsupported type: code {}, {} bits, {} lanes",
                tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
            ))
        })?;
    let device = match tensor.device.kind {
        CPU | 3 | 11 => "cpu".to_owned(),
        kind if kind == gpu_kind() => format!("cuda:{}", tensor.device.id),
        13 => format!("cuda:{}", tensor.device.id),
        kind => return Err(PyBufferError::new_err(format!("[from_dlpack] unsupported device type {kind}"))),
    };
    let ndim = usize::try_from(tensor.ndim).ok().filter(|&n| n <= MAX_NDIM).ok_or_else(|| {
        PyBufferError::new_err(format!("[from_dlpack] the tensor says that it has {} axes", tensor.ndim))
    })?;
    if ndim > 0 && tensor.shape.is_null() {
        return Err(PyBufferError::new_err("[from_dlpack] the tensor has axes and no shape"));
    }
    // SAFETY: a DLTensor's shape (and strides, if not null) has ndim entries.
    let (shape, strides) = unsafe {
        let shape: &[i64] = if ndim == 0 { &[] } else { std::slice::from_raw_parts(tensor.shape, ndim) };
        checked_size(dtype, shape).or_raise()?;
        let strides: Dims = if ndim > 0 && !tensor.strides.is_null() {
            std::slice::from_raw_parts(tensor.strides, ndim).into()
        } else {
            contiguous_strides(shape)
        };
        (shape, strides)
    };
    if flags & READ_ONLY != 0 {
        return Err(PyBufferError::new_err(
            "[from_dlpack] the array is read-only and cannot be shared; copy it with cuprous.asarray instead",
        ));
    }
    let first = (tensor.data as u64).checked_add(tensor.byte_offset);
    let first = first.ok_or_else(|| PyBufferError::new_err("[from_dlpack] the tensor's offset leaves memory"))?;
    if tensor.data.is_null() && !shape.contains(&0) {
        return Err(PyBufferError::new_err("[from_dlpack] the tensor has elements and no memory"));
    }
    let view =
        |owner: &dyn Fn(u64, usize) -> Arc<dyn Memory>| wrap_memory(first, shape, &strides, dtype, &device, owner);
    let array = view(&|address, bytes| Arc::new(Import { managed: pointer, versioned, address, bytes }))?;
    // SAFETY: the capsule is valid; from now on the struct belongs to the array.
    unsafe {
        ffi::PyCapsule_SetName(object, names[1].as_ptr());
        ffi::PyCapsule_SetDestructor(object, None);
    }
    Ok(array)
}

/// Returns an array over memory that another library owns. `owner` is called with the lowest address and the size after
/// all checks.
fn wrap_memory(
    first: u64,
    shape: &[i64],
    strides: &[i64],
    dtype: DType,
    device: &str,
    owner: &dyn Fn(u64, usize) -> Arc<dyn Memory>,
) -> PyResult<PyArray> {
    let size = dtype.size() as i64;
    let component = dtype.component().size() as u64;
    if !first.is_multiple_of(component) {
        return Err(PyBufferError::new_err(format!("the memory at {first:#x} is not aligned for {}", dtype.name())));
    }
    let engine = devices::by_name(device).or_raise()?;
    let (lo, hi) = Layout::try_new(dtype, shape, strides, 0).or_raise()?.span().unwrap_or((0, -1));
    let memory = || {
        let start = first.checked_add_signed(lo.checked_mul(size)?)?;
        let bytes = (hi - lo).checked_add(1)?.checked_mul(size)?;
        start.checked_add_signed(bytes).map(|_| (start, bytes as usize))
    };
    let (start, bytes) = memory().ok_or_else(|| {
        PyBufferError::new_err(format!(
            "an array of shape {} with strides {} elements long leaves the memory at {first:#x}",
            show(shape),
            show(strides)
        ))
    })?;
    let layout = Layout::try_new(dtype, shape, strides, -lo).or_raise()?;
    if dtype == DType::Bool && engine.device.is_host() && bytes > 0 {
        // SAFETY: the producer promises that the memory is readable from the lowest to the highest element.
        let seen = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
        // Other libraries treat any nonzero byte as true, but routines here require 1. Such memory is copied instead of
        // shared.
        if seen.iter().any(|&byte| byte > 1) {
            let copy = engine.upload(seen, dtype, &[bytes as i64]).or_raise()?;
            drop(owner(start, bytes));
            return Ok(PyArray::own(copy.view(layout)));
        }
    }
    let storage = Storage::ready(owner(start, bytes), engine.id);
    storage.share();
    Ok(PyArray::own(Array { storage: Arc::new(storage), layout }))
}

/// Memory that a Python object keeps alive.
struct PythonMemory {
    address: u64,
    bytes: usize,
    _owner: Py<PyAny>,
}

impl Memory for PythonMemory {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[pyfunction]
pub(crate) fn from_address(
    py: Python<'_>,
    address: u64,
    shape: Vec<i64>,
    strides: Vec<i64>,
    dtype: &str,
    device: &str,
    owner: Py<PyAny>,
) -> PyResult<PyArray> {
    if shape.len() != strides.len() {
        return Err(PyValueError::new_err("shape and strides must have the same length"));
    }
    wrap_memory(address, &shape, &strides, dtype_argument(dtype)?, device, &|address, bytes| {
        Arc::new(PythonMemory { address, bytes, _owner: owner.clone_ref(py) })
    })
}
