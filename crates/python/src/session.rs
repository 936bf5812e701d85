//! The state of the process: the device of new arrays, running and waiting, statistics, memory limits.

use std::ffi::CString;
use std::sync::Arc;

use cuprous_core::{DType, Error, Fun, Layout, ReduceOp, Result};
use cuprous_plan::{Engine, Operand, Replay};
use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::tensor::PyTensor;
use crate::{devices, interrupt};

/// Returns the engine of new arrays. Warns once if a GPU is visible but cannot be used.
pub(crate) fn default_engine(py: Python<'_>) -> PyResult<&'static Arc<Engine>> {
    let engine = devices::default_engine().or_raise()?;
    if let Some(cause) = devices::take_warning() {
        let text =
            format!("a GPU is visible but cannot be used: {cause} Running on the CPU; `cuprous doctor` explains.");
        let text = CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)?;
    }
    Ok(engine)
}

#[pyfunction]
pub(crate) fn flush(py: Python<'_>) -> PyResult<()> {
    interrupt::run(py, || devices::all_started().try_for_each(|e| e.flush()))
}

#[pyfunction]
pub(crate) fn synchronize(py: Python<'_>) -> PyResult<()> {
    interrupt::run(py, || devices::all_started().try_for_each(|e| e.synchronize()))
}

#[pyfunction]
pub(crate) fn explain() -> PyResult<String> {
    Ok(devices::default_engine().or_raise()?.explain() + &devices::auto_note())
}

#[pyfunction]
#[pyo3(signature = (a = None, device = None))]
pub(crate) fn show_code(py: Python<'_>, a: Option<&PyArray>, device: Option<&str>) -> PyResult<String> {
    let engine = match a {
        Some(a) => devices::of(&a.array),
        None => devices::default_engine().or_raise()?,
    };
    let own = devices::name(engine);
    match device {
        Some(name) if !["cpu", "cuda"].contains(&name) => {
            Err(PyValueError::new_err(format!("[show_code] unknown device {name:?}; use 'cpu' or 'cuda'")))
        }
        Some("cuda") if own == "cpu" => {
            py.detach(|| engine.show_code(Some(&|program| Ok(cuprous_cuda::source(program))))).or_raise()
        }
        Some("cpu") if own != "cpu" => {
            Err(PyValueError::new_err("[show_code] the program runs on the GPU; move its arrays to the CPU first"))
        }
        _ => py.detach(|| engine.show_code(None)).or_raise(),
    }
}

#[pyfunction]
pub(crate) fn set_device(py: Python<'_>, name: &str) -> PyResult<()> {
    py.detach(|| devices::set_default(name)).or_raise()
}

/// Makes a device the one of this thread's new arrays. Returns what `leave_device` restores.
#[pyfunction]
pub(crate) fn enter_device(py: Python<'_>, name: &str) -> PyResult<u8> {
    Ok(devices::enter(py.detach(|| devices::usable_number(name)).or_raise()?))
}

/// Makes the device of the first array among arguments the one of this thread's new arrays; arguments may be lists of arrays.
/// Returns what `leave_device` restores, or `None` if nothing has changed.
#[pyfunction]
pub(crate) fn enter_device_of(arguments: &Bound<'_, PyTuple>) -> Option<u8> {
    let find = |argument: Bound<'_, PyAny>| {
        device_number(&argument).or_else(|| {
            if let Ok(list) = argument.cast::<PyList>() {
                list.iter().find_map(|item| device_number(&item))
            } else {
                argument.cast::<PyTuple>().ok()?.iter().find_map(|item| device_number(&item))
            }
        })
    };
    arguments.iter().find_map(find).and_then(devices::enter_other)
}

/// Returns the number of the device of an array or a tensor.
fn device_number(object: &Bound<'_, PyAny>) -> Option<u8> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Some(array.get().array.storage.device);
    }
    object.cast::<PyTensor>().ok().map(|tensor| tensor.get().array().storage.device)
}

/// Restores the device of this thread's new arrays after `enter_device` or `enter_device_of`.
#[pyfunction]
pub(crate) fn leave_device(before: u8) {
    devices::leave(before);
}

#[pyfunction]
pub(crate) fn get_device(py: Python<'_>) -> PyResult<String> {
    Ok(devices::name(default_engine(py)?))
}

#[pyfunction]
pub(crate) fn device_count() -> u32 {
    cuprous_cuda::device_count()
}

/// Returns the version of HIP if the GPUs of this process are AMD's.
#[pyfunction]
pub(crate) fn hip_version() -> Option<String> {
    cuprous_cuda::hip_version()
}

/// Returns true if a GPU reads the memory of another one.
#[pyfunction]
pub(crate) fn can_access_peer(device: usize, peer: usize) -> PyResult<bool> {
    cuprous_cuda::driver::can_access(device, peer).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

#[pyfunction]
pub(crate) fn unusable_gpu_reason() -> Option<String> {
    cuprous_cuda::unusable_reason()
}

#[pyfunction]
pub(crate) fn set_library_roots(roots: Vec<String>) {
    cuprous_cuda::set_library_roots(roots.into_iter().map(Into::into).collect());
}

#[pyfunction]
pub(crate) fn set_replay(mode: &str) -> PyResult<()> {
    let replay = match mode {
        "auto" => Replay::Auto,
        "single" => Replay::Single,
        "fused" => Replay::Fused,
        _ => return Err(PyValueError::new_err("the mode must be \"auto\", \"single\" or \"fused\"")),
    };
    devices::default_engine().or_raise()?.set_replay(replay);
    Ok(())
}

#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let engine = devices::default_engine().or_raise()?;
    let s = engine.stats();
    let dict = PyDict::new(py);
    let own = [
        ("nodes", s.nodes),
        ("planned", s.planned),
        ("replayed", s.replayed),
        ("steps", s.steps),
        ("fusion_ns", s.fusion_ns),
        ("emission_ns", s.emission_ns),
        ("compile_ns", s.compile_ns),
        ("keys_seen", s.keys_seen),
        ("programs_kept", s.programs_kept),
        ("layouts_kept", s.layouts_kept),
    ];
    for (name, value) in own.into_iter().chain(engine.device.counters()) {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pyfunction]
pub(crate) fn memory_stats<'py>(py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in devices::by_name(device).or_raise()?.device.memory() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pyfunction]
pub(crate) fn set_memory_limit(device: &str, limit: u64) -> PyResult<()> {
    devices::by_name(device).or_raise()?.device.set_memory_limit(limit).or_raise()
}

#[pyfunction]
pub(crate) fn reset_peak_memory(device: &str) -> PyResult<()> {
    devices::by_name(device).or_raise()?.device.reset_peak();
    Ok(())
}

#[pyfunction]
pub(crate) fn trim_memory(py: Python<'_>, device: &str) -> PyResult<()> {
    let engine = devices::by_name(device).or_raise()?;
    py.detach(|| engine.trim());
    Ok(())
}

/// Returns the name of a device that is a second CPU, for tests with several devices.
#[pyfunction]
pub(crate) fn stand_in_device() -> String {
    devices::stand_in()
}

/// Makes "auto" a device of two CPUs, the second of which counts as `faster` times as fast. For tests.
#[pyfunction]
pub(crate) fn stand_in_auto(faster: f64, copies: f64, launch: f64) -> PyResult<()> {
    devices::stand_in_auto(faster, copies, launch).or_raise()
}

/// Does nothing: the cheapest native call, the baseline for the cost of recording.
#[pyfunction]
pub(crate) fn no_op(_a: &Bound<'_, PyAny>) {}

/// Runs a small computation on a device and checks the result, for `cuprous doctor`.
pub(crate) fn try_kernel(device: &str) -> std::result::Result<String, String> {
    let run = || -> Result<String> {
        let engine = devices::by_name(device)?;
        let index = engine.iota(&Layout::contiguous(DType::I64, &[1000]))?;
        let square = engine.map(Fun::Square, &[Operand::Array(&index)], None)?;
        let sum = engine.reduce(ReduceOp::Sum, &square, 1)?;
        let mut bytes = [0; 8];
        engine.download(&sum, &mut bytes)?;
        match i64::from_le_bytes(bytes) {
            332_833_500 => Ok("the sum of the first 1000 squares is right".into()),
            wrong => Err(Error::runtime(format!("the sum of the first 1000 squares came out as {wrong}"))),
        }
    };
    run().map_err(|e| e.message)
}
