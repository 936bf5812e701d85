//! What a device must do. Each device is a crate with the same file names that implements [`Device`].

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Error, Result, RoutineOp, Scalar, interrupt};
use cuprous_kernel::linked::Object;

use crate::program::{KernelRef, Program, RawModule};

/// Shows a program's code.
pub type Listing<'a> = &'a dyn Fn(&Program) -> Result<String>;

/// A place where programs run. All work given to a device by one engine runs in the order given.
pub trait Device: Send + Sync {
    /// `"cpu"`, `"cuda:0"` or `"auto"`.
    fn name(&self) -> &'static str;

    /// Uninitialised memory of that size; aligned to at least 256 bytes.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;

    /// Memory with a copy of host bytes in it. Returns when `from` may be reused; without `wait` also before, where it
    /// is memory of [`Device::page_locked`].
    fn upload(&self, from: &[u8], wait: bool) -> Result<Buffer>;

    /// Copies device memory at `from` to the host, after all work given so far.
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()>;

    /// Are its addresses the host's, and its work done when it is asked for?
    fn is_host(&self) -> bool {
        false
    }

    /// Memory of the host from which the device copies by itself.
    fn page_locked(&self, bytes: usize) -> Result<Buffer> {
        let _ = bytes;
        Err(Error::runtime("[pin_memory] there is no device that copies by itself"))
    }

    /// The same after the work up to `mark` alone. Nothing given later writes that memory.
    fn download_after(&self, mark: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()> {
        let _ = mark;
        self.download(from, to)
    }

    /// Waits for all work given so far.
    fn synchronize(&self) -> Result<()>;

    /// Is there code for that call? Asked when it is recorded, so that the error comes at the user's line.
    fn can(&self, call: &RoutineOp) -> bool {
        let _ = call;
        true
    }

    /// How the device's routine for those layers wants its operands; `None` where there is no such routine.
    fn recurrence(&self, layers: &Layers) -> Option<Arc<Recurrence>> {
        let _ = layers;
        None
    }

    /// Generates and compiles all that a program needs.
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>>;

    /// Compiles what those programs need, all at once, so that [`Device::compile`] finds it; `told` hears how many kernels of
    /// how many are done. What does not compile is left to the run that needs it.
    fn prepare(&self, programs: &[Arc<Program>], told: &mut dyn FnMut(usize, usize)) {
        let _ = (programs, told);
    }

    /// The code that was or would be generated for a program, readable.
    fn source(&self, program: &Program) -> Result<String>;

    /// Compiles a user's kernel.
    fn user_kernel(&self, module: &cuprous_kernel::Module, options: &cuprous_kernel::Options) -> Result<KernelRef> {
        let _ = (module, options);
        Err(Error::not_implemented(format!("[cuda.jit] kernels do not run on {}", self.name())))
    }

    /// Compiles a module of the device's own language: on a GPU CUDA C++, with these options for the compiler. `binary`
    /// is device code instead of source.
    fn raw_module(&self, code: &[u8], binary: bool, name: &str, options: &[String]) -> Result<Arc<dyn RawModule>> {
        let _ = (code, binary, options);
        Err(Error::not_implemented(format!(
            "[{name}] CUDA C++ runs on a GPU only, and the device is {}; kernels written in Python (cuda.jit) run here too",
            self.name()
        )))
    }

    /// Links relocatable device code with other device code.
    fn link(&self, code: &[u8], objects: &[Object], name: &str) -> Result<Arc<[u8]>> {
        let _ = (code, objects);
        Err(Error::not_implemented(format!(
            "[{name}] device code is linked for GPUs only, and the device is {}",
            self.name()
        )))
    }

    /// Lets go of cached free memory and compiled leftovers.
    fn trim(&self) {}

    /// A profile begins or ends. From its beginning to its end the device adds what it does to
    /// [`cuprous_core::profile`], for whom [`cuprous_core::profile::current`] says; what it does not know at once it adds
    /// at the end, when it has no work left.
    fn profile(&self, on: bool) -> Result<()> {
        let _ = on;
        Ok(())
    }

    /// A point after all work given so far.
    fn mark(&self) -> Result<Box<dyn Mark>> {
        self.synchronize()?;
        Ok(Box::new(Moment(Instant::now())))
    }

    /// Has all work given so far been done?
    fn idle(&self) -> Result<bool> {
        Ok(true)
    }

    /// Waits for what others gave to the stream with that native handle.
    fn wait_for(&self, stream: u64) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Has all that others gave to that stream been done?
    fn is_done(&self, stream: u64) -> Result<bool> {
        let _ = stream;
        Ok(true)
    }

    /// The native handle of the stream on which all work runs; 0 where there is none.
    fn stream(&self) -> u64 {
        0
    }

    /// Makes memory written so far safe to read for a consumer that works on `stream` (DLPack's numbering); `None`
    /// asks for nothing.
    fn hand_over(&self, stream: Option<i64>) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Counters for `stats()`, beyond the engine's own.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// `used_bytes`, `free_bytes`, `total_bytes`, `limit_bytes` (0: none), `n_free_blocks`, `peak_bytes`.
    fn memory(&self) -> Vec<(&'static str, u64)>;

    /// Starts `peak_bytes` anew from what is in use.
    fn reset_peak(&self);

    /// Bounds the memory in use; 0 takes the bound away.
    fn set_memory_limit(&self, bytes: u64) -> Result<()>;

    /// Do arrays have addresses that others may use?
    fn has_addresses(&self) -> bool {
        true
    }

    /// Does that memory lie where work goes on beside the host? Asked where arrays have no addresses of their own.
    fn is_beside(&self, address: u64) -> bool {
        let _ = address;
        self.is_asynchronous()
    }

    /// What the device has to say in `explain()`, a line each.
    fn explain(&self) -> String {
        String::new()
    }

    /// True where work runs while the host goes on, so that submitting early pays.
    fn is_asynchronous(&self) -> bool {
        false
    }
}

/// A point in a device's order of work.
pub trait Mark: Send + Sync {
    /// Waits until the device has come here.
    fn wait(&self) -> Result<()>;
    /// Has it?
    fn done(&self) -> Result<bool>;
    /// Milliseconds from here to a later mark of the same device.
    fn milliseconds_to(&self, later: &dyn Mark) -> Result<f64>;
    /// The concrete mark.
    fn as_any(&self) -> &dyn Any;
}

/// Waits for a mark. An interrupt ends the wait; the work goes on.
///
/// The device's own wait follows the polling, because drivers print what kernels have printed only then.
pub fn wait_for_mark(mark: &dyn Mark) -> Result<()> {
    interrupt::poll(|| mark.done())?;
    mark.wait()
}

/// A mark of a device that works at once: the time when it was set.
struct Moment(Instant);

impl Mark for Moment {
    fn wait(&self) -> Result<()> {
        Ok(())
    }
    fn done(&self) -> Result<bool> {
        Ok(true)
    }
    fn milliseconds_to(&self, later: &dyn Mark) -> Result<f64> {
        match later.as_any().downcast_ref::<Moment>() {
            Some(later) => Ok(later.0.duration_since(self.0).as_secs_f64() * 1e3),
            None => Err(Error::value("[Event] the two events belong to different devices")),
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A compiled program.
pub trait Executable: Send + Sync {
    /// Submits the program. `buffers` are the addresses of the program's buffers, in order; arena buffers point into
    /// scratch that stays untouched by others until the next submission. `scalars` are the constants. `replay` allows
    /// the device to turn a repeated program into one launch.
    ///
    /// After [`cuprous_core::error::ErrorKind::Interrupted`], the next run has the same arguments and goes on where this one
    /// stopped. After [`cuprous_core::error::ErrorKind::Aborted`], what the program writes may be partly written.
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()>;

    /// Returns how many of the program's steps have ended, after a run that was interrupted.
    fn done(&self) -> usize {
        0
    }

    /// Returns true while a step that an interrupted run started still runs. It uses the memory of that run.
    fn is_busy(&self) -> bool {
        false
    }

    /// Where the last run had written what stands at that place in [`Program::early`]; `None` where the device cannot say.
    fn early(&self, place: usize) -> Option<Arc<dyn Mark>> {
        let _ = place;
        None
    }
}

/// For those who ask where an array lies.
pub(crate) fn no_address() -> Error {
    Error::not_implemented(
        "[auto] arrays on the device \"auto\" lie on the CPU or on the GPU as it suits, so they have no address; move one \
         first, with x.to_device(\"cpu\") or x.to_device(\"cuda\")",
    )
}
