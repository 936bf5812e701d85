//! For tests on machines without a GPU: a CPU device that also compiles all CUDA code that a GPU would run.

use std::sync::{Arc, OnceLock};

use cuprous_core::{Buffer, Result, RoutineOp};
use cuprous_cpu::CpuDevice;
use cuprous_cuda::Checker;
use cuprous_plan::{Device, Executable, KernelRef, Program, RawModule};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// The environment variable that enables it. Its value is a list of targets: `sm_80,sm_90`, or `sm_80|sm_90` for
/// machine code of one of them and PTX of the others.
const VARIABLE: &str = "CUPROUS_CHECK_CUDA";

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
            Arc::new(Checked { cpu: CpuDevice::new(), checker: CHECKER.get_or_init(|| Checker::new(&targets)) })
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

impl Device for Checked {
    fn name(&self) -> &'static str {
        self.cpu.name()
    }
    // Without cuDNN, convolutions are matrix products of windows and recurrences run step by step. Those are the
    // kernels to check.
    fn can(&self, call: &RoutineOp) -> bool {
        !matches!(call, RoutineOp::Convolve(..) | RoutineOp::Steps(_) | RoutineOp::StepsBack(_)) && self.cpu.can(call)
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.alloc(bytes)
    }
    fn upload(&self, from: &[u8], wait: bool) -> Result<Buffer> {
        self.cpu.upload(from, wait)
    }
    fn is_host(&self) -> bool {
        true
    }
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.cpu.download(from, to)
    }
    fn synchronize(&self) -> Result<()> {
        self.cpu.synchronize()
    }
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        self.checker.check(program)?;
        self.cpu.compile(program)
    }
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
    fn source(&self, program: &Program) -> Result<String> {
        self.cpu.source(program)
    }
    fn trim(&self) {
        self.cpu.trim();
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        self.cpu.memory()
    }
    fn reset_peak(&self) {
        self.cpu.reset_peak();
    }
    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.cpu.set_memory_limit(bytes)
    }
}
