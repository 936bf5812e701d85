//! The device: memory, compiling, and programs step by step.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use cuprous_core::error::ErrorKind;
use cuprous_core::interrupt::{self, Token};
use cuprous_core::profile::{self, Event, Kind, Origin};
use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Error, Result, RoutineOp, Scalar};
use cuprous_kernel::linked::Object;
use cuprous_plan::device::{
    DeviceKernels, DeviceMemory, DevicePrograms, DeviceStatistics, Mark, Synchronous, no_linker, no_page_locked_memory,
    no_raw_modules,
};
use cuprous_plan::{Assignment, BufferInfo, Device, Executable, Inst, KernelRef, LaunchStep, Program, RawModule, Step};
use smallvec::SmallVec;

use crate::alloc;
use crate::background::{self, Background};
use crate::blocked::blocked;
use crate::compile::{Code, lower};
use crate::kernel::CpuKernel;
use crate::routines;
use crate::routines::dispatch::Routine;
use crate::run::Env;
use crate::source;
use crate::threads::{self, with_threads};

/// The host's processors.
#[derive(Clone, Copy, Default, Debug)]
pub struct CpuDevice;

impl CpuDevice {
    /// The device; it needs nothing.
    pub fn new() -> Self {
        threads::watch();
        CpuDevice
    }
}

/// Steps of a program that may take long together, whatever they are.
const MANY_STEPS: usize = 32;

/// A step, ready to run.
enum Ready {
    Kernel(Code),
    RoutineCall(Routine),
    Launch(LaunchStep),
}

impl Ready {
    /// # Safety
    /// The buffers have the sizes that the program was planned for, and nothing else writes them meanwhile.
    unsafe fn run(&self, env: Env) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Ready::Kernel(code) => code.run(env),
                Ready::RoutineCall(routine) => routine.run(env),
                Ready::Launch(launched) => launch(launched, env),
            }
        }
    }
}

/// A compiled program.
struct CpuProgram {
    /// Each with the step of the program that it is of.
    steps: Vec<(u32, Ready)>,
    /// How an interrupt ends each step of the program.
    endings: Vec<Ending>,
    /// The last run was interrupted: the next one goes on with step `next`.
    interrupted: bool,
    next: usize,
    /// The step of the program in which the last run ended early.
    ended_at: u32,
    /// That step, if it still runs.
    background: Option<Background>,
    /// Some step may take long.
    long: bool,
    buffers: usize,
    scalars: usize,
}

/// How an interrupt ends a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ending {
    /// The step may stop anywhere and be run again from its beginning: it reads nothing that it writes.
    again: bool,
    /// A routine that takes long.
    long: bool,
}

impl Ending {
    /// The token under which the step runs: only one that can be run again may stop anywhere.
    fn token(self, token: Token) -> Token {
        if self.again { token } else { Token::NONE }
    }

    fn of(program: &Program, step: &Step) -> Ending {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        step.touches(|buffer, writes| {
            let list = if writes { &mut written } else { &mut read };
            list.push(program.buffers[buffer as usize]);
        });
        // A kernel lists a buffer that it writes once, also if it reads it.
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
        let again = read.iter().all(|r| written.iter().all(|w| apart(r, w)));
        Ending { again, long: matches!(step, Step::Routine(call) if background::is_long(call)) }
    }
}

fn ready(program: &Program) -> Result<Vec<(u32, Ready)>> {
    let mut ready = Vec::new();
    for (k, step) in program.steps.iter().enumerate() {
        let k = k as u32;
        for kernel in step.kernels() {
            match blocked(kernel) {
                Some(parts) => {
                    for part in &parts {
                        ready.push((k, Ready::Kernel(lower(part)?)));
                    }
                }
                None => ready.push((k, Ready::Kernel(lower(kernel)?))),
            }
        }
        if let Step::Routine(call) = step {
            ready.push((k, Ready::RoutineCall(Routine::new(call, program.buffers.len())?)));
        }
        if let Step::Launch(launched) = step {
            ready.push((k, Ready::Launch(launched.clone())));
        }
    }
    Ok(ready)
}

/// The kernel of the user that a step launches.
fn kernel_of(launched: &LaunchStep) -> Result<&CpuKernel> {
    let any: &dyn Any = &*launched.launch.kernel;
    any.downcast_ref().ok_or_else(|| Error::runtime("[cpu] a kernel of another device"))
}

/// Launches a kernel of the user on memory that the caller vouches for.
fn launch(launched: &LaunchStep, env: Env) -> Result<()> {
    let range = launched.constants.start as usize..launched.constants.end as usize;
    let mut block: SmallVec<[Scalar; 16]> = SmallVec::from_slice(&env.scalars[range]);
    for (at, address) in launched.addresses(env.buffers) {
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
            // SAFETY: the buffer was just made, with that many bytes.
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
            RoutineOp::Convolve(_, geometry) => routines::convolve::known(geometry),
            RoutineOp::Recur(_) | RoutineOp::RecurBackward(_) | RoutineOp::Attend(_) | RoutineOp::AttendBackward(_) => {
                false
            }
            RoutineOp::Steps(of) | RoutineOp::StepsBackward(of) => routines::recurrent::known(of),
            _ => true,
        }
    }

    fn recurrence(&self, _: &Layers) -> Option<Arc<Recurrence>> {
        None
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        let steps = ready(program)?;
        let endings: Vec<Ending> = program.steps.iter().map(|step| Ending::of(program, step)).collect();
        let long = steps.len() >= MANY_STEPS
            || steps.iter().any(|(of, step)| match step {
                Ready::Kernel(code) => code.is_long(),
                Ready::RoutineCall(_) => endings[*of as usize].long,
                Ready::Launch(launched) => {
                    kernel_of(launched).is_ok_and(|kernel| kernel.is_long(&launched.launch.config))
                }
            });
        Ok(Box::new(CpuProgram {
            steps,
            endings,
            interrupted: false,
            next: 0,
            ended_at: 0,
            background: None,
            long,
            buffers: program.buffers.len(),
            scalars: program.scalars,
        }))
    }

    fn prepare(&self, _: &[Arc<Program>], _: &mut dyn FnMut(usize, usize)) {}

    fn source(&self, program: &Program) -> Result<String> {
        let mut text = String::new();
        for (k, (_, step)) in ready(program)?.iter().enumerate() {
            let part = match step {
                Ready::Kernel(code) => source::kernel(code),
                Ready::RoutineCall(routine) => source::call(routine),
                Ready::Launch(launched) => format!("{:?}\n{}", launched.launch, launched.launch.kernel.source()),
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
        Vec::new()
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
    fn step(&mut self, k: usize, env: Env, token: Token) -> Result<()> {
        let (of, step) = &self.steps[k];
        if token.requested() {
            return Err(interrupt::error());
        }
        let ending = self.endings[*of as usize];
        let (noticed, by_itself) = match step {
            // A launch ends at an interrupt, and the program with it: what the kernel has written is lost.
            Ready::Launch(_) => (token, false),
            Ready::Kernel(code) => (ending.token(token), !ending.again && code.is_long()),
            Ready::RoutineCall(_) => (ending.token(token), ending.long),
        };
        // SAFETY: the engine gives the program's buffers, and lets nothing else write them until the program has ended.
        let run = move |env: Env| unsafe { step.run(env) };
        if token.listens() && by_itself {
            // SAFETY: the step stays where it is until the outcome is known (see `Drop`), and so does the memory: an
            // interrupted program keeps it.
            let started = unsafe { Background::start(env, noticed, run) };
            // If no thread can be started, the step runs here, and an interrupt waits for its end.
            if let Ok(background) = started {
                self.background = Some(background);
                return self.wait(token);
            }
        }
        with_threads(|| noticed.within(|| run(env)))
    }

    /// Waits for the step that runs on a thread of its own.
    fn wait(&mut self, token: Token) -> Result<()> {
        let Some(background) = self.background.take() else { return Ok(()) };
        background.wait(token).unwrap_or_else(|| {
            self.background = Some(background);
            Err(interrupt::error())
        })
    }

    /// Runs the steps from the next one on.
    fn rest(&mut self, env: Env, token: Token) -> Result<()> {
        if self.background.is_some() {
            match self.wait(token) {
                Ok(()) => self.next += 1,
                // Its own loops noticed the interrupt that ended the last run, so it is run again.
                Err(e) if e.kind == ErrorKind::Interrupted && self.background.is_none() => {}
                Err(e) => return Err(e),
            }
        }
        while self.next < self.steps.len() {
            self.step(self.next, env, token)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Runs the steps from the next one on, and adds their times to a profile.
    #[cold]
    fn rest_timed(&mut self, origin: Origin, env: Env, token: Token) -> Result<()> {
        let mut events = Vec::with_capacity(self.steps.len());
        let mut start = profile::now();
        let mut all = || -> Result<()> {
            while self.next < self.steps.len() {
                let k = self.next;
                self.step(k, env, token)?;
                self.next += 1;
                let (of, _) = self.steps[k];
                // Several loops may be one step.
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
        // The step that still runs uses this program.
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
        let env = Env { buffers, scalars };
        let token = Token::current();
        if token.listens() && self.long {
            interrupt::arm();
        }
        let resumed = std::mem::take(&mut self.interrupted);
        if !resumed {
            self.next = 0;
        }
        let origin = profile::current().filter(|_| !resumed);
        // A thread that waits for a long step must not be one of the pool's, which work on it.
        let in_pool = !self.long;
        let mut rest = || match origin {
            Some(origin) => self.rest_timed(origin, env, token),
            None => self.rest(env, token),
        };
        let result = interrupt::catch(|| if in_pool { with_threads(rest) } else { rest() });
        if let Err(error) = &result {
            self.ended_at = self.steps.get(self.next).map_or(0, |(of, _)| *of);
            self.interrupted = error.kind == ErrorKind::Interrupted;
        }
        result
    }

    fn done(&self) -> usize {
        self.ended_at as usize
    }

    fn is_busy(&self) -> bool {
        self.background.as_ref().is_some_and(Background::is_busy)
    }

    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        None
    }
}
