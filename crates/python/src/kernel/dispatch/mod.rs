//! Kernels as Python sees them: compiled for the types they are launched with, launched in order with recorded work.

mod face;
mod launch;
mod overloads;

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use cuprous_core::Array;
use cuprous_kernel::ast::Value;
use cuprous_kernel::exception::{Checks, ExceptionKind, Record};
use cuprous_kernel::lower::{Arg as Given, compile_function};
use cuprous_kernel::{ArrayTy, Module, Options, Order, Ty, abi};
use cuprous_plan::{Engine, KernelRef, Launch, UserLaunch};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyInt, PyTuple};
use smallvec::SmallVec;

use super::args::{Arg, HostArray, Key, Packed, Records, key_of};
use super::quick::Table;
use super::{dates, parse, raise, types};
use crate::devices;
use crate::errors::OrRaise;
use crate::operand;

pub(super) use face::extents;

/// What Numba warns of, where somebody asked: too few blocks, arrays of the host.
static WARN: AtomicU8 = AtomicU8::new(0);
const FEW_BLOCKS: u8 = 1;
const HOST_ARRAYS: u8 = 2;

/// Switches the warnings.
pub(super) fn warn_of(few_blocks: bool, host_arrays: bool) {
    WARN.store((u8::from(few_blocks) * FEW_BLOCKS) | (u8::from(host_arrays) * HOST_ARRAYS), Relaxed);
}

/// A kernel for one list of argument types on one device.
struct Overload {
    engine: u8,
    /// Types of what a launch passes, and of that with what is captured.
    given: Vec<Ty>,
    types: Vec<Ty>,
    starts: Vec<usize>,
    bytes: usize,
    /// For each array among the arguments, whether it may be written.
    writes: Vec<bool>,
    module: Arc<Module>,
    /// Classes of the exceptions that it raises.
    classes: Arc<[Py<PyAny>]>,
    /// Arrays that it uses without being given them; they are its last arguments.
    captured: Vec<Array>,
    code: KernelRef,
    /// For launches with arguments of its own types, where it has only simple ones.
    table: Option<Table>,
    /// Launches of it so far, the last ones: their shapes are checked once.
    launches: Mutex<Vec<Arc<UserLaunch>>>,
}

/// An overload and the keys of the arguments that it serves, that of its own types first.
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
    /// The one that was launched last: a second way to find it, beside its keys, because a launch like the one before needs
    /// no key. Making one of 256 scalars takes as long as the launch itself: 3.8 µs without, 7.7 with it (H200).
    recent: AtomicUsize,
    /// Types given with the decorator: others are converted to them.
    signatures: Mutex<Vec<Vec<Ty>>>,
    /// Whether those are of a function that kernels call.
    device: bool,
    /// Called with the driver's handle of each module that is loaded for it.
    on_load: Option<Py<PyAny>>,
    /// Held while a module is compiled that somebody is told of, so that there is one for each list of types.
    compiling: Mutex<()>,
    /// What is being told of, by the threads that tell.
    loading: Mutex<Vec<(ThreadId, Arc<Overload>)>>,
}

/// A kernel with the shape of its launch.
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
