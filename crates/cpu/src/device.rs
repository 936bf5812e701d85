//! The device: memory, compiling, and programs step by step.

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

use cuprous_core::profile::{self, Event, Kind, Note};
use cuprous_core::{Buffer, CallOp, Error, Result, Scalar};
use cuprous_plan::{Device, Executable, KernelRef, Launched, Program, Step};
use smallvec::SmallVec;

use crate::alloc;
use crate::blocked::blocked;
use crate::call::Routine;
use crate::calls;
use crate::compile::{Code, lower};
use crate::kernel::CpuKernel;
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

/// A step, ready to run.
enum Ready {
    Kernel(Code),
    Call(Routine),
    Launch(Launched),
}

/// A compiled program.
struct CpuProgram {
    /// Each with the step of the program that it is of.
    steps: Vec<(u32, Ready)>,
    buffers: usize,
    scalars: usize,
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
        if let Step::Call(call) = step {
            ready.push((k, Ready::Call(Routine::new(call, program.buffers.len())?)));
        }
        if let Step::Launch(launched) = step {
            ready.push((k, Ready::Launch(launched.clone())));
        }
    }
    Ok(ready)
}

/// Launches a kernel of the user on memory that the caller vouches for.
fn launch(launched: &Launched, env: Env) -> Result<()> {
    let range = launched.constants.start as usize..launched.constants.end as usize;
    let mut block: SmallVec<[Scalar; 16]> = SmallVec::from_slice(&env.scalars[range]);
    for (at, address) in launched.addresses(env.buffers) {
        block[at / 16].0[at % 16..][..8].copy_from_slice(&address.to_ne_bytes());
    }
    let any: &dyn Any = &*launched.launch.kernel;
    let kernel: Option<&CpuKernel> = any.downcast_ref();
    let kernel = kernel.ok_or_else(|| Error::runtime("[cpu] a kernel of another device"))?;
    kernel.launch(&launched.launch.launch, Scalar::bytes_of(&block))
}

impl Device for CpuDevice {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn can(&self, call: &CallOp) -> bool {
        match call {
            CallOp::Convolve(_, geometry) => calls::convolve::known(geometry),
            CallOp::Recur(_) | CallOp::RecurBack(_) | CallOp::Attend(_) | CallOp::AttendBack(_) => false,
            CallOp::Steps(of) | CallOp::StepsBack(of) => calls::recurrent::known(of),
            _ => true,
        }
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

    fn is_host(&self) -> bool {
        true
    }

    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if !to.is_empty() {
            // SAFETY: the caller owns that many bytes of this device's memory at `from`.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        let steps = ready(program)?;
        Ok(Box::new(CpuProgram { steps, buffers: program.buffers.len(), scalars: program.scalars }))
    }

    fn source(&self, program: &Program) -> Result<String> {
        let mut text = String::new();
        for (k, (_, step)) in ready(program)?.iter().enumerate() {
            let part = match step {
                Ready::Kernel(code) => source::kernel(code),
                Ready::Call(routine) => source::call(routine),
                Ready::Launch(launched) => format!("{:?}\n{}", launched.launch, launched.launch.kernel.source()),
            };
            let _ = write!(text, "step {k}: {part}");
        }
        Ok(text)
    }

    fn user_kernel(&self, module: &cuprous_kernel::Module, _: &cuprous_kernel::Options) -> Result<KernelRef> {
        Ok(CpuKernel::new(module)?)
    }

    fn trim(&self) {
        alloc::trim();
        calls::fft::trim();
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        alloc::counters()
    }

    fn reset_peak(&self) {
        alloc::reset_peak();
    }

    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        alloc::set_limit(bytes);
        Ok(())
    }
}

impl CpuProgram {
    /// Runs all steps, and tells a profile how long each took.
    #[cold]
    fn run_timed(&self, note: Note, run: impl Fn(&Ready) -> Result<()>) -> Result<()> {
        let mut events = Vec::with_capacity(self.steps.len());
        let mut start = profile::now();
        let mut all = || {
            for (k, (of, step)) in self.steps.iter().enumerate() {
                run(step)?;
                // Several loops may be one step.
                if self.steps.get(k + 1).is_none_or(|(next, _)| next != of) {
                    let now = profile::now();
                    events.push(Event { kind: Kind::Step, note, start, length: now - start, amount: (*of).into() });
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

impl Executable for CpuProgram {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], _replay: bool) -> Result<()> {
        if buffers.len() < self.buffers || scalars.len() < self.scalars {
            return Err(Error::runtime("[cpu] a program was run with too few buffers or scalars"));
        }
        let env = Env { buffers, scalars };
        // SAFETY: the program's buffers have the sizes it was planned for, and the engine runs one program at a time.
        let run = |step: &Ready| unsafe {
            match step {
                Ready::Kernel(code) => code.run(env),
                Ready::Call(routine) => routine.run(env),
                Ready::Launch(launched) => launch(launched, env),
            }
        };
        match profile::current() {
            None => with_threads(|| self.steps.iter().try_for_each(|(_, step)| run(step))),
            Some(note) => with_threads(|| self.run_timed(note, run)),
        }
    }

    fn weight(&self) -> usize {
        let code = |(_, s): &(u32, Ready)| match s {
            Ready::Kernel(c) => c.passes.iter().map(|p| (p.full.len() + p.rows.len()) * 200).sum::<usize>() + 1024,
            Ready::Call(_) | Ready::Launch(_) => 512,
        };
        self.steps.iter().map(code).sum::<usize>() + 256
    }
}
