//! NumPy arrays and dtypes, through Python attributes only. NumPy is imported when it is first needed.

use cuprous_core::layout::show;
use cuprous_core::{Array, DType, Layout, ReduceOp};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

use crate::array::PyArray;
use crate::devices;
use crate::errors::OrRaise;
use crate::index;
use crate::interrupt;

/// NumPy's own dtype objects, which arrays of native byte order share; `None` for bfloat16.
static NATIVE: PyOnceLock<Vec<Option<Py<PyAny>>>> = PyOnceLock::new();
/// The dtype object of `ml_dtypes`, which is imported when it is first needed.
static BFLOAT16: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn native_dtypes(py: Python<'_>) -> PyResult<&Vec<Option<Py<PyAny>>>> {
    NATIVE.get_or_try_init(py, || {
        let make = py.import("numpy")?.getattr("dtype")?;
        let one = |d: &DType| (*d != DType::BF16).then(|| make.call1((d.name(),)).map(Bound::unbind)).transpose();
        DType::ALL.iter().map(one).collect()
    })
}

/// Returns the `numpy.dtype` of a dtype.
pub(crate) fn dtype(py: Python<'_>, dtype: DType) -> PyResult<Py<PyAny>> {
    let known = match &native_dtypes(py)?[dtype as usize] {
        Some(known) => known,
        None => BFLOAT16.get_or_try_init(py, || {
            let bfloat16 = py.import("ml_dtypes")?.getattr("bfloat16")?;
            Ok::<_, PyErr>(py.import("numpy")?.getattr("dtype")?.call1((bfloat16,))?.unbind())
        })?,
    };
    Ok(known.clone_ref(py))
}

/// Returns the address and byte count of a C-contiguous NumPy array.
fn data_pointer(array: &Bound<'_, PyAny>) -> PyResult<(u64, usize)> {
    let interface = array.getattr("__array_interface__")?;
    let data = interface
        .cast::<PyDict>()?
        .get_item("data")?
        .ok_or_else(|| PyValueError::new_err("the NumPy array has no data pointer"))?;
    let (address, _read_only): (u64, bool) = data.extract()?;
    Ok((address, array.getattr("nbytes")?.extract()?))
}

/// Returns the dtype of a NumPy dtype, if it is supported. NumPy needs microseconds to build a name, so the common
/// dtype objects are recognized by identity.
pub(crate) fn dtype_of(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
    let known = native_dtypes(dtype.py())?.iter().position(|known| known.as_ref().is_some_and(|known| dtype.is(known)));
    if let Some(index) = known {
        return Ok(DType::ALL[index]);
    }
    let name: String = dtype.getattr("name")?.extract()?;
    DType::from_name(&name).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "Unsupported dtype {name}: bool, integers, floats and complex numbers are supported"
        ))
    })
}

/// Copies a NumPy array to a device.
#[pyfunction]
#[pyo3(signature = (a, device = None))]
pub(crate) fn from_numpy(py: Python<'_>, a: &Bound<'_, PyAny>, device: Option<&str>) -> PyResult<PyArray> {
    let dtype = dtype_of(&a.getattr("dtype")?)?;
    let shape: Vec<i64> = a.getattr("shape")?.extract()?;
    let numpy = py.import("numpy")?;
    let mut packed = numpy.getattr("ascontiguousarray")?.call1((a,))?;
    if !packed.getattr("dtype")?.getattr("isnative")?.extract::<bool>()? {
        let native_dtype = packed.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
        packed = packed.call_method1("astype", (native_dtype,))?;
    }
    let engine = match device {
        Some(name) => devices::by_name(name).or_raise()?,
        None => devices::default_engine().or_raise()?,
    };
    let (address, bytes) = data_pointer(&packed)?;
    let array = py
        .detach(|| {
            let host: &[u8] = if bytes == 0 {
                &[]
            } else {
                // SAFETY: `packed` is a live, C-contiguous array of that many bytes for the duration of this call.
                unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }
            };
            engine.upload(host, dtype, &shape)
        })
        .or_raise()?;
    Ok(PyArray::own(array))
}

/// Copies an array to the host.
#[pyfunction]
#[pyo3(signature = (a, out = None))]
pub(crate) fn to_numpy<'py>(
    py: Python<'py>,
    a: &PyArray,
    out: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<i64> = a.array.shape().to_vec();
    if let Some(target) = &out {
        let have: Vec<i64> = target.getattr("shape")?.extract()?;
        if have != shape || dtype_of(&target.getattr("dtype")?)? != a.array.dtype() {
            return Err(PyValueError::new_err(format!(
                "out has shape {} and dtype {}, but the array has shape {} and dtype {}",
                show(&have),
                target.getattr("dtype")?,
                show(&shape),
                a.array.dtype().name()
            )));
        }
    }
    let contiguous = match &out {
        Some(o) => {
            o.getattr("flags")?.get_item("C_CONTIGUOUS")?.extract::<bool>()?
                && o.getattr("flags")?.get_item("WRITEABLE")?.extract::<bool>()?
        }
        None => false,
    };
    let host = match (&out, contiguous) {
        (Some(target), true) => target.clone(),
        _ => py.import("numpy")?.getattr("empty")?.call1((shape, dtype(py, a.array.dtype())?))?,
    };
    let (address, bytes) = data_pointer(&host)?;
    let engine = devices::of(&a.array);
    interrupt::run(py, || {
        let to: &mut [u8] = if bytes == 0 {
            &mut []
        } else {
            // SAFETY: `host` is a live, writable, C-contiguous array of that many bytes. A thread that writes to it
            // meanwhile races with a copy that the user requested.
            unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) }
        };
        engine.download(&a.array, to)
    })?;
    match out {
        Some(target) if !contiguous => {
            target.set_item(py.Ellipsis(), &host)?;
            Ok(target)
        }
        _ => Ok(host),
    }
}

/// Returns the elements in C order.
#[pyfunction]
pub(crate) fn to_bytes<'py>(py: Python<'py>, a: &PyArray) -> PyResult<Bound<'py, PyBytes>> {
    let engine = devices::of(&a.array);
    // Allocated by Python, which raises MemoryError if necessary.
    PyBytes::new_with(py, a.array.layout.size as usize * a.array.dtype().size(), |bytes| {
        interrupt::run(py, || engine.download(&a.array, bytes))
    })
}

/// Returns the array on another device, or the array itself if it is there already.
#[pyfunction]
pub(crate) fn to_device<'py>(a: &Bound<'py, PyArray>, device: &str) -> PyResult<Bound<'py, PyArray>> {
    let array = &a.get().array;
    let (from, to) = (devices::of(array), devices::by_name(device).or_raise()?);
    if from.id == to.id {
        return Ok(a.clone());
    }
    let py = a.py();
    let moved = interrupt::run(py, || from.send(array, to, true))?;
    Bound::new(py, PyArray::own(moved))
}

/// Raises for bytes other than 0 and 1, which routines on bools do not expect.
fn check_bools(py: Python<'_>, bytes: &Array) -> PyResult<()> {
    let engine = devices::of(bytes);
    let mut most = [0];
    let flat = engine.cast(bytes, DType::U8).or_raise()?;
    let flat = flat.view(Layout::try_contiguous(DType::U8, &[flat.layout.size]).or_raise()?);
    interrupt::run(py, || engine.download(&engine.reduce(ReduceOp::Max, &flat, 1)?, &mut most))?;
    if most[0] > 1 {
        return Err(PyValueError::new_err(format!(
            "[view] a byte is {}, but bools must be 0 or 1; use `a != 0`, or astype(bool)",
            most[0]
        )));
    }
    Ok(())
}

/// Returns a strided view of a storage.
#[pyfunction]
#[pyo3(signature = (a, shape, strides, offset, dtype = None))]
pub(crate) fn as_strided(
    a: &Bound<'_, PyArray>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    dtype: Option<&str>,
) -> PyResult<PyArray> {
    if shape.len() != strides.len() {
        return Err(PyValueError::new_err("as_strided: shape and strides must have the same length"));
    }
    let array = &a.get().array;
    let old = array.dtype();
    let new = match dtype {
        Some(name) => crate::arguments::dtype_argument(name)?,
        None => old,
    };
    let start = array.layout.offset * old.size() as i64;
    if start % new.size() as i64 != 0 {
        return Err(PyValueError::new_err(format!(
            "[view] the first element is at byte {start} of its storage, which is not a multiple of {}'s size",
            new.name()
        )));
    }
    let offset = (start / new.size() as i64).saturating_add(offset);
    let layout = index::strided(array, new, &shape, &strides, offset).or_raise()?;
    if new == DType::Bool && old != DType::Bool && !layout.shape.contains(&0) {
        check_bools(a.py(), &array.view(Layout::try_new(DType::U8, &shape, &strides, offset).or_raise()?))?;
    }
    Ok(PyArray::alias(a, array.view(layout)))
}
