//! The device: memory, compilation, and programs that run step by step.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use cuprous_core::attention::RowAttention;
use cuprous_core::error::ErrorKind;
use cuprous_core::interrupt::{self, Token};
use cuprous_core::profile::{self, Event, Kind, Origin};
use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::routine::{ChannelNorm, RowNorm};
use cuprous_core::{Buffer, DType, Error, Result, RoutineOp, Scalar};
use cuprous_kernel::linked::Object;
use cuprous_plan::device::{
    DeviceKernels, DeviceMemory, DevicePrograms, DeviceStatistics, Mark, Progress, Synchronous, no_linker,
    no_page_locked_memory, no_raw_modules,
};
use cuprous_plan::{Assignment, BufferInfo, Device, Executable, Inst, KernelRef, LaunchStep, Program, RawModule, Step};
use smallvec::SmallVec;

use crate::alloc;
use crate::background::{self, BackgroundStep};
use crate::kernel::CpuKernel;
use crate::lowered::{self, BoundKernel};
use crate::routines;
use crate::routines::dispatch::Routine;
use crate::run::Bindings;
use crate::source;
use crate::threads::{self, with_threads};

/// The processors of the host.
#[derive(Clone, Copy, Default, Debug)]
pub struct CpuDevice;

impl CpuDevice {
    /// Creates the device.
    pub fn new() -> Self {
        threads::watch_forks();
        CpuDevice
    }
}

/// Number of steps from which on a program counts as long, whatever its steps do.
const MIN_LONG_STEPS: usize = 32;

/// A step that is ready to run.
enum PreparedStep {
    Kernel(BoundKernel),
    Routine(Routine),
    Launch(LaunchStep),
}

impl PreparedStep {
    /// # Safety
    /// The buffers have the sizes that the program was planned for, and nothing else writes them during the call.
    unsafe fn run(&self, bindings: Bindings) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                PreparedStep::Kernel(kernel) => kernel.run(bindings),
                PreparedStep::Routine(routine) => routine.run(bindings),
                PreparedStep::Launch(launched) => launch(launched, bindings),
            }
        }
    }
}

/// A compiled program.
struct CpuProgram {
    /// Each prepared step with the index of the program's step that it belongs to.
    steps: Vec<(u32, PreparedStep)>,
    /// How each step of the program responds to an interrupt.
    policies: Vec<InterruptPolicy>,
    /// Set if the last run was interrupted. The next run then continues with step `next`.
    interrupted: bool,
    next: usize,
    /// How far the last run got that ended early.
    progress: Progress,
    /// The step that runs in the background, if any.
    background: Option<BackgroundStep>,
    /// Whether some step may take long.
    is_long: bool,
    buffers: usize,
    scalars: usize,
}

/// How a step responds to an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InterruptPolicy {
    /// The step may stop anywhere and be run again from its beginning, because it does not read what it writes.
    restartable: bool,
    /// The step is a routine that takes long.
    is_long: bool,
}

impl InterruptPolicy {
    /// Returns the token under which the step runs. Only a restartable step may stop anywhere.
    fn token(self, token: Token) -> Token {
        if self.restartable { token } else { Token::NONE }
    }

    fn of(program: &Program, step: &Step) -> InterruptPolicy {
        let (mut read, mut written) = (SmallVec::<[BufferInfo; 12]>::new(), SmallVec::<[BufferInfo; 4]>::new());
        step.touches(|buffer, writes| {
            let buffer = program.buffers[buffer as usize];
            if writes { written.push(buffer) } else { read.push(buffer) }
        });
        // A kernel lists a buffer that it writes once, even if it also reads it.
        for kernel in step.kernels() {
            read.extend(kernel.body.iter().filter_map(|t| match t.inst {
                Inst::Load { buf, .. } | Inst::Gather { buf, .. } | Inst::Scatter { buf, .. } => {
                    Some(program.buffers[kernel.buffers[usize::from(buf)] as usize])
                }
                _ => None,
            }));
        }
        let apart = |r: &BufferInfo, w: &BufferInfo| match (r.assignment, w.assignment) {
            (Assignment::Arena(a), Assignment::Arena(b)) => a + r.bytes <= b || b + w.bytes <= a,
            // Two leaves may be views of the same memory of another library.
            (Assignment::Leaf(_), Assignment::Leaf(_)) => false,
            (a, b) => a != b,
        };
        let restartable = read.iter().all(|r| written.iter().all(|w| apart(r, w)));
        InterruptPolicy { restartable, is_long: matches!(step, Step::Routine(call) if background::is_long(call)) }
    }
}

fn prepare(program: &Program) -> Result<Vec<(u32, PreparedStep)>> {
    let mut steps = Vec::with_capacity(program.steps.len());
    for (k, step) in program.steps.iter().enumerate() {
        let k = k as u32;
        for kernel in step.kernels() {
            steps.extend(lowered::bind(kernel)?.map(|bound| (k, PreparedStep::Kernel(bound))));
        }
        if let Step::Routine(call) = step {
            steps.push((k, PreparedStep::Routine(Routine::new(call, program.buffers.len())?)));
        }
        if let Step::Launch(launched) = step {
            steps.push((k, PreparedStep::Launch(launched.clone())));
        }
    }
    Ok(steps)
}

/// Returns the user's kernel that a step launches.
fn kernel_of(launched: &LaunchStep) -> Result<&CpuKernel> {
    let any: &dyn Any = &*launched.launch.kernel;
    any.downcast_ref().ok_or_else(|| Error::runtime("[cpu] a kernel of another device"))
}

/// Launches a user's kernel. The caller guarantees the memory that its arguments name.
fn launch(launched: &LaunchStep, bindings: Bindings) -> Result<()> {
    let range = launched.constants.start as usize..launched.constants.end as usize;
    let mut block: SmallVec<[Scalar; 16]> = SmallVec::from_slice(&bindings.scalars[range]);
    for (at, address) in launched.addresses(bindings.buffers) {
        block[at / 16].0[at % 16..][..8].copy_from_slice(&address.to_ne_bytes());
    }
    kernel_of(launched)?.launch(&launched.launch.config, Scalar::bytes_of(&block))
}

impl Device for CpuDevice {
    fn name(&self) -> &'static str {
        "cpu"
    }
}

impl DeviceMemory for CpuDevice {
    fn is_host(&self) -> bool {
        true
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        alloc::buffer(bytes)
    }

    fn upload(&self, from: &[u8], _wait: bool) -> Result<Buffer> {
        let buffer = alloc::buffer(from.len())?;
        if !from.is_empty() {
            // SAFETY: the buffer was just allocated with that many bytes.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), buffer.address() as *mut u8, from.len()) };
        }
        Ok(buffer)
    }

    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if !to.is_empty() {
            // SAFETY: the caller owns that many bytes of this device's memory at `from`.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        }
        Ok(())
    }

    fn download_after(&self, _: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()> {
        self.download(from, to)
    }

    fn page_locked(&self, _: usize) -> Result<Buffer> {
        Err(no_page_locked_memory())
    }

    fn trim(&self) {
        alloc::trim();
        lowered::clear();
        routines::fft::trim();
    }

    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        alloc::set_limit(bytes);
        Ok(())
    }
}

impl DevicePrograms for CpuDevice {
    fn supports(&self, call: &RoutineOp) -> bool {
        match call {
            RoutineOp::Convolve(_, geometry) => routines::convolve::is_supported(geometry),
            RoutineOp::Recur(_) | RoutineOp::RecurBackward(_) | RoutineOp::Attend(_) | RoutineOp::AttendBackward(_) => {
                false
            }
            RoutineOp::Steps(of) | RoutineOp::StepsBackward(of) => routines::recurrent::is_supported(of),
            // Half precision is computed by formulas.
            RoutineOp::AttendRows(RowAttention { dtype, .. })
            | RoutineOp::Normalize(RowNorm { dtype, .. })
            | RoutineOp::NormalizeBackward(RowNorm { dtype, .. })
            | RoutineOp::ChannelStatistics(ChannelNorm { dtype, .. })
            | RoutineOp::ChannelBackward(ChannelNorm { dtype, .. }) => matches!(dtype, DType::F32 | DType::F64),
            _ => true,
        }
    }

    fn recurrence(&self, _: &Layers) -> Option<Arc<Recurrence>> {
        None
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        let steps = prepare(program)?;
        let policies: Vec<InterruptPolicy> =
            program.steps.iter().map(|step| InterruptPolicy::of(program, step)).collect();
        let is_long = steps.len() >= MIN_LONG_STEPS
            || steps.iter().any(|(of, step)| match step {
                PreparedStep::Kernel(kernel) => kernel.code.is_long(),
                PreparedStep::Routine(_) => policies[*of as usize].is_long,
                PreparedStep::Launch(launched) => {
                    kernel_of(launched).is_ok_and(|kernel| kernel.is_long(&launched.launch.config))
                }
            });
        Ok(Box::new(CpuProgram {
            steps,
            policies,
            interrupted: false,
            next: 0,
            progress: Progress::default(),
            background: None,
            is_long,
            buffers: program.buffers.len(),
            scalars: program.scalars,
        }))
    }

    fn prepare(&self, _: &[Arc<Program>], _: &mut dyn FnMut(usize, usize)) {}

    fn source(&self, program: &Program) -> Result<String> {
        let mut text = String::new();
        for (k, (_, step)) in prepare(program)?.iter().enumerate() {
            let part = match step {
                PreparedStep::Kernel(kernel) => source::kernel(kernel),
                PreparedStep::Routine(routine) => source::routine(routine),
                PreparedStep::Launch(launched) => format!("{:?}\n{}", launched.launch, launched.launch.kernel.source()),
            };
            let _ = write!(text, "step {k}: {part}");
        }
        Ok(text)
    }
}

impl DeviceKernels for CpuDevice {
    fn user_kernel(&self, module: &cuprous_kernel::Module, _: &cuprous_kernel::Options) -> Result<KernelRef> {
        Ok(CpuKernel::new(module)?)
    }

    fn raw_module(&self, _: &[u8], _: bool, name: &str, _: &[String]) -> Result<Arc<dyn RawModule>> {
        Err(no_raw_modules(name, self.name()))
    }

    fn link(&self, _: &[u8], _: &[Object], name: &str) -> Result<Arc<[u8]>> {
        Err(no_linker(name, self.name()))
    }
}

impl Synchronous for CpuDevice {}

impl DeviceStatistics for CpuDevice {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("kernels_lowered", lowered::count())]
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        alloc::counters()
    }

    fn reset_peak(&self) {
        alloc::reset_peak();
    }

    fn set_profiling(&self, _: bool) -> Result<()> {
        Ok(())
    }

    fn explain(&self) -> String {
        String::new()
    }
}

impl CpuProgram {
    /// Runs a step.
    fn run_step(&mut self, k: usize, bindings: Bindings, token: Token) -> Result<()> {
        let (of, step) = &self.steps[k];
        if token.requested() {
            return Err(interrupt::error());
        }
        let policy = self.policies[*of as usize];
        let (noticed, by_itself) = match step {
            // An interrupt ends a launch, and the program with it. The kernel's partial results are lost.
            PreparedStep::Launch(_) => (token, false),
            PreparedStep::Kernel(kernel) => (policy.token(token), !policy.restartable && kernel.code.is_long()),
            PreparedStep::Routine(_) => (policy.token(token), policy.is_long),
        };
        // SAFETY: the engine provides the program's buffers, and nothing else writes them until the program has ended.
        let run = move |bindings: Bindings| unsafe { step.run(bindings) };
        if token.listens() && by_itself {
            // SAFETY: the step is not moved or dropped until the outcome is known (see `Drop`), and an interrupted
            // program keeps its memory.
            let started = unsafe { BackgroundStep::start(bindings, noticed, run) };
            // If no thread can be started, the step runs here, and an interrupt takes effect after it.
            if let Ok(background) = started {
                self.background = Some(background);
                return self.wait(token);
            }
        }
        with_threads(|| noticed.within(|| run(bindings)))
    }

    /// Waits for the step that runs in the background.
    fn wait(&mut self, token: Token) -> Result<()> {
        let Some(background) = self.background.take() else { return Ok(()) };
        background.wait(token).unwrap_or_else(|| {
            self.background = Some(background);
            Err(interrupt::error())
        })
    }

    /// Runs the steps from `next` on.
    fn run_remaining(&mut self, bindings: Bindings, token: Token) -> Result<()> {
        if self.background.is_some() {
            match self.wait(token) {
                Ok(()) => self.next += 1,
                // The step ended itself at the interrupt of the last run, so it is run again.
                Err(e) if e.kind == ErrorKind::Interrupted && self.background.is_none() => {}
                Err(e) => return Err(e),
            }
        }
        while self.next < self.steps.len() {
            self.run_step(self.next, bindings, token)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Runs the steps from `next` on and adds their times to a profile.
    #[cold]
    fn run_remaining_timed(&mut self, origin: Origin, bindings: Bindings, token: Token) -> Result<()> {
        let mut events = Vec::with_capacity(self.steps.len());
        let mut start = profile::now();
        let mut all = || -> Result<()> {
            while self.next < self.steps.len() {
                let k = self.next;
                self.run_step(k, bindings, token)?;
                self.next += 1;
                let (of, _) = self.steps[k];
                // Several prepared steps may belong to one step of the program.
                if self.steps.get(k + 1).is_none_or(|(next, _)| *next != of) {
                    let now = profile::now();
                    events.push(Event { kind: Kind::Step, origin, start, length: now - start, amount: of.into() });
                    start = now;
                }
            }
            Ok(())
        };
        let result = all();
        profile::add(&events);
        result
    }
}

impl Drop for CpuProgram {
    fn drop(&mut self) {
        // The background step uses this program.
        if let Some(background) = self.background.take() {
            background.join();
        }
    }
}

impl Executable for CpuProgram {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], _replay: bool) -> Result<()> {
        if buffers.len() < self.buffers || scalars.len() < self.scalars {
            return Err(Error::runtime("[cpu] a program was run with too few buffers or scalars"));
        }
        let bindings = Bindings { buffers, scalars };
        let token = Token::current();
        if token.listens() && self.is_long {
            interrupt::arm();
        }
        let resumed = std::mem::take(&mut self.interrupted);
        if !resumed {
            self.next = 0;
        }
        let origin = profile::current().filter(|_| !resumed);
        // A thread that waits for a long step must not belong to the pool that runs the step.
        let in_pool = !self.is_long;
        let mut run_remaining = || match origin {
            Some(origin) => self.run_remaining_timed(origin, bindings, token),
            None => self.run_remaining(bindings, token),
        };
        let result = interrupt::catch(|| if in_pool { with_threads(run_remaining) } else { run_remaining() });
        if let Err(error) = &result {
            let step = |part: usize| self.steps.get(part).map(|(of, _)| *of as usize);
            self.progress = Progress::between(self.next.checked_sub(1).and_then(step), step(self.next), 0);
            self.interrupted = error.kind == ErrorKind::Interrupted;
        }
        result
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn is_busy(&self) -> bool {
        self.background.as_ref().is_some_and(BackgroundStep::is_busy)
    }

    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        None
    }
}
