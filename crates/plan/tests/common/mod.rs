//! A device that records plans, and helpers for recording operations.
#![allow(dead_code, reason = "not every test file uses every helper")]

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, Buffer, DType, Error, Fun, Memory, Result, RoutineOp, Scalar, interrupt};
use cuprous_kernel::linked::Object;
use cuprous_plan::device::{
    DeviceKernels, DeviceMemory, DeviceOrder, DevicePrograms, DeviceStatistics, HostMark, Mark, Progress, no_linker,
    no_page_locked_memory, no_raw_modules, no_user_kernels,
};
use cuprous_plan::program::verify;
use cuprous_plan::{Device, Engine, Executable, Inst, Kernel, KernelRef, Operand, Program, RawModule, Step};

/// What the device was given, and how it behaves.
#[derive(Default)]
pub(crate) struct DeviceLog {
    /// The programs it was given, in order.
    pub(crate) programs: Mutex<Vec<Arc<Program>>>,
    pub(crate) ran: AtomicUsize,
    pub(crate) uploads: AtomicUsize,
    /// Downloads after all work, and after a mark only.
    pub(crate) downloads: AtomicUsize,
    pub(crate) early: AtomicUsize,
    /// Waits for a mark, and for all work. Until the first wait nothing is done.
    pub(crate) waited: [AtomicUsize; 2],
    /// Programs that were compiled ahead, and how many of them on a background thread.
    pub(crate) prepared: AtomicUsize,
    pub(crate) elsewhere: AtomicUsize,
    /// Work runs while the host goes on.
    pub(crate) asynchronous: AtomicBool,
    /// Allocations fail.
    pub(crate) full: AtomicBool,
    /// The number of runs that end with an interrupt.
    pub(crate) interrupts: AtomicUsize,
    /// The next run has no memory for its last step.
    pub(crate) no_scratch: AtomicBool,
    /// The last step of a program that ended with an error had written a part of its results.
    pub(crate) in_the_middle: AtomicBool,
    /// The addresses of each run.
    pub(crate) addresses: Mutex<Vec<Vec<u64>>>,
    /// Number of blocks without memory so far.
    blocks: AtomicUsize,
}

/// A device that records what it is given and computes nothing. Its memory is real where contents matter.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) log: Arc<DeviceLog>,
    pub(crate) real: bool,
}

/// An address without memory.
struct Nowhere {
    bytes: usize,
    address: u64,
}

impl Memory for Nowhere {
    fn address(&self) -> u64 {
        self.address
    }
    fn bytes(&self) -> usize {
        self.bytes
    }
}

struct Block(Vec<std::cell::UnsafeCell<u8>>);

// SAFETY: the engine's lock guards the contents, as on every device.
unsafe impl Send for Block {}
// SAFETY: the engine's lock guards the contents, as on every device.
unsafe impl Sync for Block {}

impl Memory for Block {
    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
    fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// A mark that is reached when something waits for it.
struct LogMark(Arc<DeviceLog>);

impl Mark for LogMark {
    fn wait(&self) -> Result<()> {
        self.0.waited[0].fetch_add(1, Relaxed);
        Ok(())
    }
    fn done(&self) -> Result<bool> {
        Ok(self.0.waited[0].load(Relaxed) > 0)
    }
    fn milliseconds_to(&self, _: &dyn Mark) -> Result<f64> {
        Ok(0.0)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct LogExecutable(Arc<DeviceLog>);

impl Executable for LogExecutable {
    fn run(&mut self, buffers: &[u64], _: &[Scalar], _: bool) -> Result<()> {
        self.0.addresses.lock().unwrap().push(buffers.to_vec());
        if self.0.interrupts.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Err(interrupt::error());
        }
        self.0.ran.fetch_add(1, Relaxed);
        if self.0.no_scratch.swap(false, Relaxed) {
            return Err(Error::memory("no room for scratch"));
        }
        Ok(())
    }
    fn progress(&self) -> Progress {
        let ended = self.0.programs.lock().unwrap().last().map_or(0, |program| program.steps.len() - 1);
        Progress { ended, started: ended + usize::from(self.0.in_the_middle.load(Relaxed)) }
    }
    fn is_busy(&self) -> bool {
        false
    }
    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        Some(Arc::new(LogMark(self.0.clone())))
    }
}

impl Device for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }
}

impl DeviceMemory for Recorder {
    fn is_host(&self) -> bool {
        false
    }
    fn has_addresses(&self) -> bool {
        true
    }
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        if self.log.full.load(Relaxed) {
            return Err(Error::memory("no room"));
        }
        if self.real {
            return Ok(Arc::new(Block((0..bytes.max(1)).map(|_| 0.into()).collect())));
        }
        let address = 4096 * (1 + self.log.blocks.fetch_add(1, Relaxed) as u64);
        Ok(Arc::new(Nowhere { bytes, address }))
    }
    fn upload(&self, from: &[u8], _: bool) -> Result<Buffer> {
        let buffer = self.alloc(from.len())?;
        self.log.uploads.fetch_add(1, Relaxed);
        if self.real {
            // SAFETY: new memory of that size.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), buffer.address() as *mut u8, from.len()) };
        }
        Ok(buffer)
    }
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.log.downloads.fetch_add(1, Relaxed);
        if self.real {
            // SAFETY: the caller holds memory of that size.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        }
        Ok(())
    }
    fn download_after(&self, _: &dyn Mark, _: u64, _: &mut [u8]) -> Result<()> {
        self.log.early.fetch_add(1, Relaxed);
        Ok(())
    }
    fn page_locked(&self, _: usize) -> Result<Buffer> {
        Err(no_page_locked_memory())
    }
    fn trim(&self) {}
    fn set_memory_limit(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

impl DevicePrograms for Recorder {
    fn supports(&self, call: &RoutineOp) -> bool {
        !matches!(call, RoutineOp::Fft { .. })
    }
    fn recurrence(&self, _: &Layers) -> Option<Arc<Recurrence>> {
        None
    }
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        verify::check(program).expect("the plan follows the rules");
        self.log.programs.lock().unwrap().push(program.clone());
        Ok(Box::new(LogExecutable(self.log.clone())))
    }
    fn prepare(&self, programs: &[Arc<Program>], _: &mut dyn FnMut(usize, usize)) {
        self.log.prepared.fetch_add(programs.len(), Relaxed);
        let own = std::thread::current().name().is_some_and(|name| name == "cuprous compile");
        self.log.elsewhere.fetch_add(usize::from(own), Relaxed);
    }
    fn source(&self, _: &Program) -> Result<String> {
        Ok(String::new())
    }
}

impl DeviceKernels for Recorder {
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

impl DeviceOrder for Recorder {
    fn is_asynchronous(&self) -> bool {
        self.log.asynchronous.load(Relaxed)
    }
    fn is_asynchronous_at(&self, _: u64) -> bool {
        self.is_asynchronous()
    }
    fn synchronize(&self) -> Result<()> {
        self.log.waited[1].fetch_add(1, Relaxed);
        Ok(())
    }
    fn mark(&self) -> Result<Box<dyn Mark>> {
        self.synchronize()?;
        Ok(Box::new(HostMark::now()))
    }
    fn is_idle(&self) -> Result<bool> {
        Ok(self.log.waited[1].load(Relaxed) > 0)
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

impl DeviceStatistics for Recorder {
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

pub(crate) struct Bench {
    pub(crate) engine: Arc<Engine>,
    pub(crate) log: Arc<DeviceLog>,
}

/// Returns an engine on a recorder. Each test has a device number of its own, because threads keep one tape for each.
pub(crate) fn bench(id: u8) -> Bench {
    bench_on(id, false)
}

/// The same on a device that works while the host goes on, or not.
pub(crate) fn bench_on(id: u8, asynchronous: bool) -> Bench {
    let recorder = Recorder::default();
    let log = recorder.log.clone();
    log.asynchronous.store(asynchronous, Relaxed);
    Bench { engine: Engine::new(id, Arc::new(recorder)), log }
}

impl Bench {
    pub(crate) fn array(&self, shape: &[i64]) -> Array {
        self.engine.empty(DType::F32, shape).unwrap()
    }
    pub(crate) fn map(&self, fun: Fun, a: &Array, b: &Array) -> Array {
        self.engine.map(fun, &[Operand::Array(a), Operand::Array(b)], None).unwrap()
    }
    pub(crate) fn with(&self, fun: Fun, a: &Array, x: f64) -> Array {
        self.engine.map(fun, &[Operand::Array(a), Operand::Weak(Number::Float(x))], None).unwrap()
    }
    pub(crate) fn one(&self, fun: Fun, a: &Array) -> Array {
        self.engine.map(fun, &[Operand::Array(a)], None).unwrap()
    }
    /// Runs what is recorded and returns the program that was planned last.
    pub(crate) fn program(&self) -> Arc<Program> {
        self.engine.flush().unwrap();
        self.log.programs.lock().unwrap().last().expect("something was planned").clone()
    }
}

pub(crate) fn kernels(program: &Program) -> Vec<&Kernel> {
    program.steps.iter().filter_map(|s| if let Step::Kernel(k) = s { Some(k) } else { None }).collect()
}

pub(crate) fn count(kernel: &Kernel, what: fn(&Inst) -> bool) -> usize {
    kernel.body.iter().filter(|t| what(&t.inst)).count()
}

pub(crate) fn loads(kernel: &Kernel) -> usize {
    count(kernel, |i| matches!(i, Inst::Load { .. }))
}

pub(crate) fn stores(kernel: &Kernel) -> usize {
    count(kernel, |i| matches!(i, Inst::Store { .. }))
}
