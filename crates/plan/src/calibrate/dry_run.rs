//! A dry run of calibration for a GPU: records its programs without a GPU, so that all kernels can be compiled at once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Memory, Result, RoutineOp, Scalar};
use cuprous_kernel::linked::Object;

use super::{Bench, DeviceSetup};
use crate::device::{
    Device, DeviceKernels, DeviceMemory, DeviceOrder, DevicePrograms, DeviceStatistics, Executable, HostMark, Mark,
    Progress, no_linker, no_page_locked_memory, no_raw_modules, no_user_kernels,
};
use crate::engine::Engine;
use crate::program::{KernelRef, Program, RawModule};

/// The id of the dry run's engine, which is not registered.
const NUMBER: u8 = u8::MAX;

/// Returns the programs that calibrating a GPU runs, in order. `like` says which routines are supported; without it,
/// all are.
pub fn programs(setup: &DeviceSetup, like: Option<Arc<dyn Device>>) -> Vec<Arc<Program>> {
    let device = Arc::new(DryDevice { like, programs: Mutex::default(), next: AtomicU64::new(1 << 20) });
    let record = || {
        let engine = Engine::new(NUMBER, device.clone());
        let bench = Bench { engine: &engine, gpu: true, quick: setup.quick, once: true };
        // An error is reported when the same work is measured.
        let _reported_later = bench.all(&mut setup.unknown(), setup, &mut |_| ());
    };
    // A thread of its own, because a thread keeps the engines on which it has recorded.
    std::thread::scope(|scope| scope.spawn(record).join()).unwrap_or_default();
    std::mem::take(&mut *device.programs.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A device that collects programs and runs none.
struct DryDevice {
    like: Option<Arc<dyn Device>>,
    programs: Mutex<Vec<Arc<Program>>>,
    next: AtomicU64,
}

/// An address without memory.
struct Nowhere {
    address: u64,
    bytes: usize,
}

impl Memory for Nowhere {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

struct DryExecutable;

impl Executable for DryExecutable {
    fn run(&mut self, _: &[u64], _: &[Scalar], _: bool) -> Result<()> {
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        None
    }
}

impl Device for DryDevice {
    fn name(&self) -> &'static str {
        "dry-run"
    }
}

impl DeviceMemory for DryDevice {
    fn is_host(&self) -> bool {
        false
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        // Aligned as by a pool.
        let address = self.next.fetch_add((bytes as u64).next_multiple_of(512).max(512), Relaxed);
        Ok(Arc::new(Nowhere { address, bytes }))
    }

    fn upload(&self, from: &[u8], _wait: bool) -> Result<Buffer> {
        self.alloc(from.len())
    }

    fn download(&self, _from: u64, to: &mut [u8]) -> Result<()> {
        to.fill(0);
        Ok(())
    }

    fn download_after(&self, _: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()> {
        self.download(from, to)
    }

    fn page_locked(&self, _: usize) -> Result<Buffer> {
        Err(no_page_locked_memory())
    }

    fn trim(&self) {}

    fn set_memory_limit(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

impl DevicePrograms for DryDevice {
    fn supports(&self, call: &RoutineOp) -> bool {
        self.like.as_ref().is_none_or(|known| known.supports(call))
    }

    fn recurrence(&self, _: &Layers) -> Option<Arc<Recurrence>> {
        None
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).push(program.clone());
        Ok(Box::new(DryExecutable))
    }

    fn prepare(&self, _: &[Arc<Program>], _: &mut dyn FnMut(usize, usize)) {}

    fn source(&self, _: &Program) -> Result<String> {
        Ok(String::new())
    }
}

impl DeviceKernels for DryDevice {
    fn user_kernel(&self, _: &cuprous_kernel::Module, _: &cuprous_kernel::Options) -> Result<KernelRef> {
        Err(no_user_kernels(self.name()))
    }

    fn raw_module(&self, _: &[u8], _: bool, name: &str, _: &[String]) -> Result<Arc<dyn RawModule>> {
        Err(no_raw_modules(name, self.name()))
    }

    fn link(&self, _: &[u8], _: &[Object], name: &str) -> Result<Arc<[u8]>> {
        Err(no_linker(name, self.name()))
    }
}

impl DeviceOrder for DryDevice {
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn is_asynchronous_at(&self, _: u64) -> bool {
        self.is_asynchronous()
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn mark(&self) -> Result<Box<dyn Mark>> {
        Ok(Box::new(HostMark::now()))
    }

    fn is_idle(&self) -> Result<bool> {
        Ok(true)
    }

    fn wait_for_stream(&self, _: u64) -> Result<()> {
        Ok(())
    }

    fn is_stream_done(&self, _: u64) -> Result<bool> {
        Ok(true)
    }

    fn stream(&self) -> u64 {
        0
    }

    fn hand_over(&self, _: Option<i64>) -> Result<()> {
        Ok(())
    }
}

impl DeviceStatistics for DryDevice {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn reset_peak(&self) {}

    fn set_profiling(&self, _: bool) -> Result<()> {
        Ok(())
    }

    fn explain(&self) -> String {
        String::new()
    }
}
