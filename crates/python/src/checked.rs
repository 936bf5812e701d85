//! For tests on machines without a GPU: a CPU device that also compiles all CUDA code that a GPU would run.

use std::sync::{Arc, OnceLock};

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Result, RoutineOp};
use cuprous_cpu::CpuDevice;
use cuprous_cuda::Checker;
use cuprous_kernel::linked::Object;
use cuprous_plan::device::{DeviceKernels, DeviceMemory, DevicePrograms, DeviceStatistics, Mark, Synchronous};
use cuprous_plan::{Device, Executable, KernelRef, Program, RawModule};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::errors::OrRaise;

/// The environment variable that enables it. Its value is a list of targets: `sm_80,sm_90`, or `sm_80|sm_90` for
/// machine code of one of them.
const VARIABLE: &str = "CUPROUS_CHECK_CUDA";
/// The environment variable for how many kernels that differ in their dtypes alone are compiled; all by default.
const MOST_TYPES: &str = "CUPROUS_CHECK_TYPES";

/// Runs programs on the CPU and compiles them for GPUs as well. A compile error is an error of the program.
struct Checked {
    cpu: CpuDevice,
    checker: &'static Checker,
}

/// The checker of this process, if checking is enabled.
static CHECKER: OnceLock<Checker> = OnceLock::new();

/// Returns the CPU device, with CUDA checks if the environment enables them.
pub(crate) fn cpu() -> Arc<dyn Device> {
    match std::env::var(VARIABLE) {
        Ok(targets) if !targets.is_empty() => {
            let most = std::env::var(MOST_TYPES).ok().and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
            let checker = CHECKER.get_or_init(|| {
                Python::attach(finish_at_exit).expect("a process of tests has Python's own modules");
                Checker::new(&targets).with_most_types(most)
            });
            Arc::new(Checked { cpu: CpuDevice::new(), checker })
        }
        _ => Arc::new(CpuDevice::new()),
    }
}

/// Compiles the queued kernels and sets how many are compiled together from now on. Does nothing if checking is
/// disabled.
#[pyfunction]
pub(crate) fn check_in_batches(py: Python<'_>, size: usize) -> PyResult<()> {
    let Some(checker) = CHECKER.get() else { return Ok(()) };
    py.detach(|| checker.in_batches(size)).or_raise()
}

/// Registers the compilation of the kernels that still wait when the process ends, as `multiprocessing` sees it:
/// functions of `atexit` do not run in its processes.
fn finish_at_exit(py: Python<'_>) -> PyResult<()> {
    let keywords = [("exitpriority", 0)].into_py_dict(py)?;
    let arguments = (py.None(), wrap_pyfunction!(finish, py)?);
    py.import("multiprocessing.util")?.call_method("Finalize", arguments, Some(&keywords))?;
    Ok(())
}

/// Compiles the queued kernels. An error ends the process with status 1, because Python ignores those of functions that
/// run at its end.
#[pyfunction]
fn finish(py: Python<'_>) -> PyResult<()> {
    let Err(error) = check_in_batches(py, 1) else { return Ok(()) };
    error.print(py);
    for stream in ["stdout", "stderr"] {
        py.import("sys")?.getattr(stream)?.call_method0("flush")?;
    }
    py.import("os")?.call_method1("_exit", (1,))?;
    Ok(())
}

impl Device for Checked {
    fn name(&self) -> &'static str {
        self.cpu.name()
    }
}

impl DeviceMemory for Checked {
    fn is_host(&self) -> bool {
        true
    }
    fn has_addresses(&self) -> bool {
        self.cpu.has_addresses()
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.alloc(bytes)
    }
    fn upload(&self, from: &[u8], wait: bool) -> Result<Buffer> {
        self.cpu.upload(from, wait)
    }
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.cpu.download(from, to)
    }
    fn download_after(&self, mark: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()> {
        self.cpu.download_after(mark, from, to)
    }
    fn page_locked(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.page_locked(bytes)
    }
    fn trim(&self) {
        self.cpu.trim();
    }
    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.cpu.set_memory_limit(bytes)
    }
}

impl DevicePrograms for Checked {
    // Without cuDNN, convolutions are products of windows, recurrences are taken step by step, and attention and layer norms
    // are formulas: those are the kernels to be checked.
    fn supports(&self, call: &RoutineOp) -> bool {
        !matches!(call, RoutineOp::Convolve(..) | RoutineOp::Steps(_) | RoutineOp::StepsBackward(_))
            && !call.is_composable()
            && self.cpu.supports(call)
    }
    fn recurrence(&self, layers: &Layers) -> Option<Arc<Recurrence>> {
        self.cpu.recurrence(layers)
    }
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        self.checker.check(program)?;
        self.cpu.compile(program)
    }
    fn prepare(&self, programs: &[Arc<Program>], progress: &mut dyn FnMut(usize, usize)) {
        self.cpu.prepare(programs, progress);
    }
    fn source(&self, program: &Program) -> Result<String> {
        self.cpu.source(program)
    }
}

impl DeviceKernels for Checked {
    fn user_kernel(&self, module: &cuprous_kernel::Module, options: &cuprous_kernel::Options) -> Result<KernelRef> {
        self.checker.check_user(module, options)?;
        self.cpu.user_kernel(module, options)
    }
    fn raw_module(&self, code: &[u8], binary: bool, name: &str, options: &[String]) -> Result<Arc<dyn RawModule>> {
        if !binary {
            self.checker.check_source(&String::from_utf8_lossy(code), name, options)?;
        }
        self.cpu.raw_module(code, binary, name, options)
    }
    fn link(&self, code: &[u8], objects: &[Object], name: &str) -> Result<Arc<[u8]>> {
        self.cpu.link(code, objects, name)
    }
}

impl Synchronous for Checked {}

impl DeviceStatistics for Checked {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.cpu.counters()
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        self.cpu.memory()
    }
    fn reset_peak(&self) {
        self.cpu.reset_peak();
    }
    fn set_profiling(&self, on: bool) -> Result<()> {
        self.cpu.set_profiling(on)
    }
    fn explain(&self) -> String {
        self.cpu.explain()
    }
}
