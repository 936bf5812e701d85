//! CUDA C++ source: modules, kernels, and launches with CuPy's argument rules.

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

use super::grid::extents;
use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::{devices, operand};

/// A compiled module of CUDA C++ on the default device.
#[pyclass(frozen, module = "cuprous")]
pub(crate) struct NativeModule {
    engine: &'static Arc<Engine>,
    module: Arc<dyn RawModule>,
}

/// A kernel of a module.
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

    /// Returns a kernel by its name.
    fn kernel(&self, name: &str) -> PyResult<NativeKernel> {
        Ok(NativeKernel { engine: self.engine, kernel: self.module.kernel(name).or_raise()?, name: name.to_owned() })
    }

    /// Returns the address and size of a global variable.
    fn variable(&self, name: &str) -> PyResult<(u64, usize)> {
        self.module.global(name).or_raise()
    }
}

#[pymethods]
impl NativeKernel {
    /// Returns the kernel's attributes as reported by the device.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for (name, value) in self.kernel.attributes().or_raise()? {
            facts.set_item(name, value)?;
        }
        Ok(facts)
    }

    /// Launches the kernel. Arrays are passed by address, numbers as their C types, bytes unchanged.
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
        let mut array_offsets: SmallVec<[usize; 16]> = SmallVec::new();
        for object in args.try_iter()? {
            let object = object?;
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            starts.push(bytes.len() as u32);
            match argument(&object)? {
                RawArgument::Array(array) => {
                    array_offsets.push(bytes.len());
                    arrays.push(array);
                    bytes.extend([0; 8]);
                }
                RawArgument::Number(n, d) => {
                    let here = Scalar::new(n, d);
                    bytes.extend(&here.0[..d.size()]);
                }
                RawArgument::Bytes(raw) => bytes.extend(raw),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
        let arrays: SmallVec<[&Array; 16]> = arrays.iter().collect();
        py.detach(|| {
            // What the code writes is unknown, so all arrays count as written.
            self.engine.with_memory(
                &self.name,
                &arrays,
                |_| true,
                |addresses| {
                    for (&at, address) in array_offsets.iter().zip(addresses) {
                        bytes[at..at + 8].copy_from_slice(&address.to_ne_bytes());
                    }
                    // The driver needs each argument aligned; a block of 16-byte words is.
                    let mut words = vec![0u128; bytes.len() / 16];
                    // SAFETY: the words have that many bytes and do not overlap the source.
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

/// Device code from Python: the file extension that determines its kind, the name in messages, and the contents.
pub(super) type LinkInput = (String, String, Vec<u8>);

pub(super) fn object((ending, name, data): LinkInput) -> PyResult<Object> {
    match ObjectKind::of(&ending) {
        Some(kind) => Ok(Object { kind, name, data: data.into() }),
        None => Err(PyTypeError::new_err(format!("Don't know how to link file with extension .{ending}"))),
    }
}

/// Returns advice for a missing NVIDIA header in a compiler log.
#[pyfunction]
pub(crate) fn missing_header(log: &str) -> Option<String> {
    cuprous_cuda::nvrtc::missing_header(log)
}

/// Compiles source for a target such as `gfx90a` without loading it. Returns the code, the compiler's log, and the linker's
/// names of `expressions`, such as `sum<float>`.
#[pyfunction]
pub(crate) fn compile_code<'py>(
    py: Python<'py>,
    source: &str,
    name: &str,
    target: &str,
    options: Vec<String>,
    expressions: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, String, Vec<String>)> {
    let compile = || cuprous_cuda::compile_user(source, name, target, options, expressions);
    let compiled = py.detach(compile).or_raise()?;
    Ok((PyBytes::new(py, &compiled.cubin), compiled.log, compiled.names))
}

/// Returns a string that identifies the compiler of a target.
#[pyfunction]
pub(crate) fn compiler_identity(target: &str) -> PyResult<String> {
    cuprous_cuda::compiler_identity(target).map_err(cuprous_cuda::error::translate).or_raise()
}

/// Links relocatable device code with other device code for the default device.
#[pyfunction]
pub(crate) fn link_code<'py>(
    py: Python<'py>,
    code: &[u8],
    objects: Vec<LinkInput>,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let engine = devices::default_engine().or_raise()?;
    let objects = objects.into_iter().map(object).collect::<PyResult<Vec<_>>>()?;
    let linked = py.detach(|| engine.device.link(code, &objects, name)).or_raise()?;
    Ok(PyBytes::new(py, &linked))
}

/// Compiled code on disk, keyed by everything that determines it.
static CODE_CACHE: LazyLock<DiskCache> = LazyLock::new(DiskCache::open_default);

fn cache_key(parts: &[Vec<u8>]) -> CacheKey {
    CacheKey::of(&parts.iter().map(|part| &part[..]).collect::<Vec<_>>())
}

/// Returns the cached code for these key parts.
#[pyfunction]
pub(crate) fn load_cached_code<'py>(py: Python<'py>, parts: Vec<Vec<u8>>) -> Option<Bound<'py, PyBytes>> {
    CODE_CACHE.get(&cache_key(&parts)).map(|code| PyBytes::new(py, &code))
}

/// Caches the code for these key parts.
#[pyfunction]
pub(crate) fn store_cached_code(parts: Vec<Vec<u8>>, code: &[u8]) {
    CODE_CACHE.put(&cache_key(&parts), code);
}

enum RawArgument {
    Array(Array),
    Number(Number, DType),
    Bytes(Vec<u8>),
}

fn argument(object: &Bound<'_, PyAny>) -> PyResult<RawArgument> {
    if let Ok(array) = object.cast::<PyArray>() {
        return Ok(RawArgument::Array(array.get().array.clone()));
    }
    if let Ok(raw) = object.cast::<PyBytes>() {
        return Ok(RawArgument::Bytes(raw.as_bytes().to_vec()));
    }
    if let Some(value) = operand::value(object)? {
        match value {
            operand::Value::Array(array) => return Ok(RawArgument::Array(array.get().array.clone())),
            operand::Value::Weak(n) => return Ok(RawArgument::Number(n, python_type(n))),
            operand::Value::Typed(n, d) => return Ok(RawArgument::Number(n, d)),
            operand::Value::Huge(_) => return Err(operand::too_large()),
        }
    }
    if object.cast::<crate::tensor::PyTensor>().is_ok() {
        return argument(&object.call_method0("as_array")?);
    }
    if let Ok(pointer) = object.getattr("ptr").and_then(|p| p.extract::<u64>()) {
        return Ok(RawArgument::Number(Number::Int(pointer.into()), DType::U64));
    }
    if let Ok(interface) = object.getattr("__cuda_array_interface__") {
        let convert = object.py().import("cuprous._common.convert")?.getattr("from_cuda_interface")?;
        return argument(&convert.call1((object, interface))?);
    }
    // A structured NumPy scalar or 0-d array is passed as its bytes.
    let zero_dim = object.hasattr("shape")? && object.getattr("shape")?.cast::<PyTuple>().is_ok_and(|s| s.is_empty());
    if zero_dim && object.hasattr("tobytes")? {
        return Ok(RawArgument::Bytes(object.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes().to_vec()));
    }
    Err(PyTypeError::new_err(format!("Unsupported type {}", object.get_type())))
}
