//! CUDA C++ as it is: modules, kernels, launches with CuPy's arguments.

use std::sync::{Arc, LazyLock};

use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Scalar};
use cuprous_cuda::cache::{CacheKey, DiskCache};
use cuprous_kernel::linked::{Object, ObjectKind};
use cuprous_kernel::rules::python_type;
use cuprous_plan::{Engine, Launch, RawKernel, RawModule};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use smallvec::SmallVec;

use super::dispatch::extents;
use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::{devices, operand};

/// A compiled module of CUDA C++, on the default device.
#[pyclass(frozen, module = "cuprous")]
pub(crate) struct NativeModule {
    engine: &'static Arc<Engine>,
    module: Arc<dyn RawModule>,
}

/// A kernel of one.
#[pyclass(frozen, module = "cuprous")]
pub(crate) struct NativeKernel {
    engine: &'static Arc<Engine>,
    kernel: Arc<dyn RawKernel>,
    name: String,
}

#[pymethods]
impl NativeModule {
    /// Compiles source, or loads device code.
    #[new]
    fn new(py: Python<'_>, code: &[u8], binary: bool, name: &str, options: Vec<String>) -> PyResult<NativeModule> {
        let engine = devices::default_engine().or_raise()?;
        let module = py.detach(|| engine.device.raw_module(code, binary, name, &options)).or_raise()?;
        Ok(NativeModule { engine, module })
    }

    /// A kernel by its name.
    fn kernel(&self, name: &str) -> PyResult<NativeKernel> {
        Ok(NativeKernel { engine: self.engine, kernel: self.module.kernel(name).or_raise()?, name: name.to_owned() })
    }

    /// Address and size of a variable.
    fn variable(&self, name: &str) -> PyResult<(u64, usize)> {
        self.module.global(name).or_raise()
    }
}

#[pymethods]
impl NativeKernel {
    /// What the device says of it.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for (name, value) in self.kernel.attributes().or_raise()? {
            facts.set_item(name, value)?;
        }
        Ok(facts)
    }

    /// Launches it. Arrays go by their address, numbers as what they are in C, bytes as they are.
    #[pyo3(signature = (grid, block, args, shared = 0, cooperative = false))]
    fn __call__<'py>(
        &self,
        grid: &Bound<'py, PyAny>,
        block: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        shared: u32,
        cooperative: bool,
    ) -> PyResult<()> {
        let py = args.py();
        let launch = Launch { grid: extents("grid", grid)?, block: extents("block", block)?, shared, cooperative };
        let (mut bytes, mut starts) = (Vec::<u8>::new(), SmallVec::<[u32; 16]>::new());
        let mut arrays: SmallVec<[Array; 16]> = SmallVec::new();
        let mut places: SmallVec<[usize; 16]> = SmallVec::new();
        for object in args.try_iter()? {
            let object = object?;
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            starts.push(bytes.len() as u32);
            match argument(&object)? {
                Raw::Array(array) => {
                    places.push(bytes.len());
                    arrays.push(array);
                    bytes.extend([0; 8]);
                }
                Raw::Number(n, d) => {
                    let here = Scalar::new(n, d);
                    bytes.extend(&here.0[..d.size()]);
                }
                Raw::Bytes(raw) => bytes.extend(raw),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
        let arrays: SmallVec<[&Array; 16]> = arrays.iter().collect();
        py.detach(|| {
            // What the code writes is not known: all of them count as written.
            self.engine.with_memory(
                &self.name,
                &arrays,
                |_| true,
                |addresses| {
                    for (&at, address) in places.iter().zip(addresses) {
                        bytes[at..at + 8].copy_from_slice(&address.to_ne_bytes());
                    }
                    // The driver wants each argument aligned; a block of 16-byte words is.
                    let mut words = vec![0u128; bytes.len() / 16];
                    // SAFETY: the words have that many bytes, and are elsewhere.
                    let aligned: &[u8] = unsafe {
                        std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast::<u8>(), bytes.len());
                        std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), bytes.len())
                    };
                    self.kernel.launch(&launch, aligned, &starts)
                },
            )
        })
        .or_raise()
    }
}

/// Device code as Python gives it: the ending that tells its kind, what messages call it, and itself.
pub(super) type GivenObject = (String, String, Vec<u8>);

pub(super) fn object((ending, name, data): GivenObject) -> PyResult<Object> {
    match ObjectKind::of(&ending) {
        Some(kind) => Ok(Object { kind, name, data: data.into() }),
        None => Err(PyTypeError::new_err(format!("Don't know how to link file with extension .{ending}"))),
    }
}

/// What to do about a header of NVIDIA's that a compiler's log misses.
#[pyfunction]
pub(crate) fn missing_header(log: &str) -> Option<String> {
    cuprous_cuda::nvrtc::missing_header(log)
}

/// Relocatable device code, linked with other device code for the default device.
#[pyfunction]
pub(crate) fn link_code<'py>(
    py: Python<'py>,
    code: &[u8],
    objects: Vec<GivenObject>,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let engine = devices::default_engine().or_raise()?;
    let objects = objects.into_iter().map(object).collect::<PyResult<Vec<_>>>()?;
    let linked = py.detach(|| engine.device.link(code, &objects, name)).or_raise()?;
    Ok(PyBytes::new(py, &linked))
}

/// Compiled code on disk, where all that decided it is still the same.
static KEPT: LazyLock<DiskCache> = LazyLock::new(DiskCache::open_default);

fn kept_key(parts: &[Vec<u8>]) -> CacheKey {
    CacheKey::of(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>())
}

/// What was kept of these parts.
#[pyfunction]
pub(crate) fn kept_code<'py>(py: Python<'py>, parts: Vec<Vec<u8>>) -> Option<Bound<'py, PyBytes>> {
    KEPT.get(&kept_key(&parts)).map(|code| PyBytes::new(py, &code))
}

/// Keeps what these parts became.
#[pyfunction]
pub(crate) fn keep_code(parts: Vec<Vec<u8>>, code: &[u8]) {
    KEPT.put(&kept_key(&parts), code);
}

enum Raw {
    Array(Array),
    Number(Number, DType),
    Bytes(Vec<u8>),
}

fn argument(object: &Bound<'_, PyAny>) -> PyResult<Raw> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Ok(Raw::Array(array.get().0.clone()));
    }
    if let Ok(raw) = object.cast::<PyBytes>() {
        return Ok(Raw::Bytes(raw.as_bytes().to_vec()));
    }
    if let Some(value) = operand::value(object)? {
        match value {
            operand::Value::Array(array) => return Ok(Raw::Array(array.get().0.clone())),
            operand::Value::Weak(n) => return Ok(Raw::Number(n, python_type(n))),
            operand::Value::Typed(n, d) => return Ok(Raw::Number(n, d)),
            operand::Value::Huge(_) => return Err(operand::too_large()),
        }
    }
    if object.cast::<crate::tensor::PyTensor>().is_ok() {
        return argument(&object.call_method0("as_array")?);
    }
    if let Ok(pointer) = object.getattr("ptr").and_then(|p| p.extract::<u64>()) {
        return Ok(Raw::Number(Number::Int(pointer.into()), DType::U64));
    }
    if let Ok(interface) = object.getattr("__cuda_array_interface__") {
        let convert = object.py().import("cuprous._common.convert")?.getattr("from_cuda_interface")?;
        return argument(&convert.call1((object, interface))?);
    }
    // A structured NumPy scalar or 0-d array goes by its bytes.
    let zero_dim = object.hasattr("shape")? && object.getattr("shape")?.cast::<PyTuple>().is_ok_and(|s| s.is_empty());
    if zero_dim && object.hasattr("tobytes")? {
        return Ok(Raw::Bytes(object.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes().to_vec()));
    }
    Err(PyTypeError::new_err(format!("Unsupported type {}", object.get_type())))
}
