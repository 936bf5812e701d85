//! For tests on machines without a GPU: the CPU device, with all CUDA code that a GPU would run compiled beside it.

use std::sync::Arc;

use cuprous_core::{Buffer, Result};
use cuprous_cpu::CpuDevice;
use cuprous_plan::{Device, Executable, Program};

/// The environment variable that asks for it: targets such as `sm_80,sm_90`, or `sm_80|sm_90` for one of them.
const VARIABLE: &str = "CUPROUS_CHECK_CUDA";

/// Runs programs on the CPU and compiles them for GPUs as well; what does not compile is an error.
struct Checked {
    cpu: CpuDevice,
    checker: cuprous_cuda::Checker,
}

/// The CPU device, checked where the environment asks for it.
pub(crate) fn cpu() -> Arc<dyn Device> {
    match std::env::var(VARIABLE) {
        Ok(targets) if !targets.is_empty() => {
            Arc::new(Checked { cpu: CpuDevice::new(), checker: cuprous_cuda::Checker::new(&targets) })
        }
        _ => Arc::new(CpuDevice::new()),
    }
}

impl Device for Checked {
    fn name(&self) -> &'static str {
        self.cpu.name()
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.alloc(bytes)
    }
    fn upload(&self, from: &[u8], to: u64) -> Result<()> {
        self.cpu.upload(from, to)
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
    fn source(&self, program: &Program) -> Result<String> {
        self.cpu.source(program)
    }
    fn trim(&self) {
        self.cpu.trim();
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        self.cpu.memory()
    }
    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.cpu.set_memory_limit(bytes)
    }
}
