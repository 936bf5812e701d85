//! Python's buffer protocol: `memoryview`, NumPy and others read and write the memory of an array on the CPU.
//!
//! PyO3 supports the protocol for the stable ABI of Python 3.11 and newer. This extension is built for the stable ABI
//! of 3.10, where the two slots exist but the struct is not declared. It is declared here.

use std::ffi::{CStr, c_char, c_int, c_void};

use cuprous_core::{Array, Buffer, DType, Dims, SharedGuard};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::impl_::pyclass::{PyClassImpl, PyClassItems};
use pyo3::prelude::*;

use crate::array::{PyArray, byte_strides, first_byte};
use crate::{devices, hooks, interrupt};

/// `Py_buffer` of the stable ABI.
#[repr(C)]
struct PyBuffer {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: ffi::Py_ssize_t,
    itemsize: ffi::Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut ffi::Py_ssize_t,
    strides: *mut ffi::Py_ssize_t,
    suboffsets: *mut ffi::Py_ssize_t,
    internal: *mut c_void,
}

/// Slot numbers of typeslots.h.
const GET_BUFFER: c_int = 1;
const RELEASE_BUFFER: c_int = 2;

/// Flags of a request (object.h).
const FORMAT: c_int = 0x4;
const ND: c_int = 0x8;
const STRIDES: c_int = 0x10 | ND;
const C_CONTIGUOUS: c_int = 0x20 | STRIDES;
const F_CONTIGUOUS: c_int = 0x40 | STRIDES;
const ANY_CONTIGUOUS: c_int = 0x80 | STRIDES;

/// What a buffer view keeps alive: the memory, the loan that marks it as shared, and the extents and strides that the
/// view points to.
struct Export {
    shape: Dims,
    strides: Dims,
    _memory: Buffer,
    _loan: SharedGuard,
}

/// Returns the format character of a dtype in Python's `struct` module; `None` for bfloat16.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::U8 => c"B",
        DType::I16 => c"h",
        DType::U16 => c"H",
        DType::I32 => c"i",
        DType::U32 => c"I",
        DType::I64 => c"l",
        DType::U64 => c"L",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        DType::BF16 => return None,
    })
}

fn fill(slf: &Bound<'_, PyArray>, view: &mut PyBuffer, flags: c_int) -> PyResult<()> {
    let py = slf.py();
    let array: &Array = &slf.get().array;
    let engine = devices::of(array);
    let letter = format(array.dtype()).filter(|_| engine.id == 0).ok_or_else(|| {
        // Callers such as Numba expect the TypeError of a class without the protocol.
        PyTypeError::new_err(format!(
            "a bytes-like object is required, not a cuprous.ndarray of {} on {}; use .get()",
            array.dtype().name(),
            devices::name(engine)
        ))
    })?;
    hooks::call(py, hooks::Hook::Buffer, (slf,))?;
    let layout = &array.layout;
    let (c, f) = (layout.is_c_contiguous(), layout.is_f_contiguous());
    let wants = |bits| flags & bits == bits;
    let fits = if wants(C_CONTIGUOUS) {
        c
    } else if wants(F_CONTIGUOUS) {
        f
    } else if wants(ANY_CONTIGUOUS) {
        c || f
    } else {
        c || wants(STRIDES)
    };
    if !fits {
        return Err(PyBufferError::new_err("ndarray is not contiguous in the requested order"));
    }
    let (memory, loan) = interrupt::run(py, || engine.lend(&array.storage))?;
    let size = array.dtype().size() as i64;
    let first = first_byte(array, &memory);
    let mut export =
        Box::new(Export { shape: layout.shape.clone(), strides: byte_strides(layout), _memory: memory, _loan: loan });
    *view = PyBuffer {
        // Some readers reject a null pointer, which is the address of an empty storage.
        buf: if first == 0 { size as usize as *mut c_void } else { first as *mut c_void },
        obj: slf.clone().into_any().into_ptr(),
        len: (layout.size * size) as ffi::Py_ssize_t,
        itemsize: size as ffi::Py_ssize_t,
        readonly: 0,
        ndim: layout.ndim() as c_int,
        format: if wants(FORMAT) { letter.as_ptr().cast_mut() } else { std::ptr::null_mut() },
        shape: if wants(ND) { export.shape.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        strides: if wants(STRIDES) { export.strides.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        suboffsets: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
    };
    view.internal = Box::into_raw(export).cast();
    Ok(())
}

unsafe extern "C" fn get_buffer(slf: *mut ffi::PyObject, view: *mut PyBuffer, flags: c_int) -> c_int {
    // SAFETY: Python calls the slot with a PyArray, with the GIL held, and with a struct to fill; after an error `obj`
    // must be null. A panic becomes an exception, since it must not unwind into Python.
    unsafe {
        (*view).obj = std::ptr::null_mut();
        Python::attach(|py| {
            let run = std::panic::AssertUnwindSafe(|| {
                let slf = Bound::from_borrowed_ptr(py, slf);
                fill(slf.cast::<PyArray>()?, &mut *view, flags)
            });
            let result = std::panic::catch_unwind(run)
                .unwrap_or_else(|_| Err(PyBufferError::new_err("internal error of Cuprous; please report it")));
            match result {
                Ok(()) => 0,
                Err(error) => {
                    error.restore(py);
                    -1
                }
            }
        })
    }
}

unsafe extern "C" fn release_buffer(_slf: *mut ffi::PyObject, view: *mut PyBuffer) {
    // SAFETY: `internal` is the box that `fill` put there; Python releases a buffer once.
    unsafe { drop(Box::from_raw((*view).internal.cast::<Export>())) }
}

const _: () = {
    type Inventory = <PyArray as PyClassImpl>::Inventory;
    pyo3::inventory::submit! {
        Inventory::new(PyClassItems {
            methods: &[],
            slots: &[
                ffi::PyType_Slot { slot: GET_BUFFER, pfunc: get_buffer as *mut c_void },
                ffi::PyType_Slot { slot: RELEASE_BUFFER, pfunc: release_buffer as *mut c_void },
            ],
        })
    }
};
