//! Kernels as Python objects: compiled for the types they are launched with, and launched in order with recorded
//! operations.

mod launch;
mod methods;
mod overloads;

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use cuprous_core::Array;
use cuprous_kernel::ast::Value;
use cuprous_kernel::exception::{Checks, ExceptionKind, Record};
use cuprous_kernel::lower::{Arg as ParamKind, compile_function};
use cuprous_kernel::{ArrayTy, Module, Options, Order, Ty, abi};
use cuprous_plan::{Engine, KernelRef, Launch, Operand, UserLaunch};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::args::{Arg, ArgumentBlock, HostArray, Key, Records, key_of};
use super::fast_path::FastPath;
use super::grid::extents;
use super::{dates, parse, raise, types};
use crate::devices;
use crate::errors::OrRaise;

/// The enabled warnings of Numba: few blocks, host arrays.
static WARN: AtomicU8 = AtomicU8::new(0);
const FEW_BLOCKS: u8 = 1;
const HOST_ARRAYS: u8 = 2;

/// Enables or disables the warnings.
pub(super) fn warn_of(few_blocks: bool, host_arrays: bool) {
    WARN.store((u8::from(few_blocks) * FEW_BLOCKS) | (u8::from(host_arrays) * HOST_ARRAYS), Relaxed);
}

/// A kernel for one list of argument types on one device.
struct Overload {
    engine: u8,
    /// The types of the launch arguments; `types` has those of captured arrays as well.
    launch_types: Vec<Ty>,
    types: Vec<Ty>,
    starts: Vec<usize>,
    bytes: usize,
    /// For each array among the arguments, true if it may be written.
    writes: Vec<bool>,
    module: Arc<Module>,
    /// Classes of the exceptions that the kernel raises.
    classes: Arc<[Py<PyAny>]>,
    /// Captured arrays, which are its last arguments.
    captured: Vec<Array>,
    code: KernelRef,
    /// The fast path, if the arguments are simple.
    fast_path: Option<FastPath>,
    /// The latest launches; the shape of each was checked once.
    launches: Mutex<Vec<Arc<UserLaunch>>>,
}

/// An overload and the keys of the arguments that it accepts, the key of its own types first.
struct Entry {
    keys: Vec<Key>,
    overload: Arc<Overload>,
}

/// A Python function that runs on devices.
#[pyclass(frozen, subclass, dict, weakref, module = "cuprous.cuda")]
pub(crate) struct Kernel {
    function: Py<PyAny>,
    options: Options,
    /// Names of the parameters and their default values.
    params: Vec<(String, Option<Py<PyAny>>)>,
    overloads: Mutex<Vec<Entry>>,
    /// Index of the overload that was launched last. The fast path finds it without a key, because building a key of
    /// 256 scalars takes as long as the launch itself: 3.8 µs without the key, 7.7 µs with it (H200).
    recent: AtomicUsize,
    /// Types given with the decorator; arguments are converted to them.
    signatures: Mutex<Vec<Vec<Ty>>>,
    /// True if the signatures are those of a device function.
    device: bool,
    /// Called with the driver's handle of each module that is loaded for the kernel.
    on_load: Option<Py<PyAny>>,
    /// Held while a module with an `on_load` callback is compiled, so that each list of types has one module.
    compiling: Mutex<()>,
    /// Overloads whose `on_load` callback is running, with the thread that runs it.
    loading: Mutex<Vec<(ThreadId, Arc<Overload>)>>,
}

/// A kernel with a launch configuration.
#[pyclass(frozen, module = "cuprous.cuda")]
pub(crate) struct Launcher {
    kernel: Py<Kernel>,
    launch: Launch,
}

impl Kernel {
    /// The Python function.
    pub(super) fn function<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.function.bind(py).clone()
    }
}
