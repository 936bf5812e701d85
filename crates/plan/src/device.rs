//! What a device implements. Each device is a crate.
//!
//! [`Device`] is made of small traits. Their methods have no defaults, so that a device that wraps another cannot
//! forget
//! to pass one on. A device that has finished all work when a call returns implements [`Synchronous`] instead of
//! [`DeviceOrder`].

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Error, Result, RoutineOp, Scalar, interrupt};
use cuprous_kernel::linked::Object;

use crate::program::{KernelRef, Program, RawModule};

/// Returns a program's code as text.
pub type Listing<'a> = &'a dyn Fn(&Program) -> Result<String>;

/// What runs programs. All work that one engine submits to a device runs in the order of submission.
pub trait Device: DeviceMemory + DevicePrograms + DeviceKernels + DeviceOrder + DeviceStatistics {
    /// Returns `"cpu"`, `"cuda:0"`, `"hip:0"` or `"auto"`.
    fn name(&self) -> &'static str;
}

/// Allocation and copies.
pub trait DeviceMemory: Send + Sync {
    /// Returns true if the device's addresses are the host's and all its work is done when a call returns.
    fn is_host(&self) -> bool;

    /// Returns true if arrays have addresses that code outside the engine may use.
    fn has_addresses(&self) -> bool;

    /// Allocates `bytes` of uninitialized memory, aligned to at least 256 bytes.
    ///
    /// # Errors
    /// [`cuprous_core::error::ErrorKind::Memory`] if it does not fit.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;

    /// Allocates memory and copies `from` to it. Returns when `from` may be reused. Without `wait` it may return
    /// earlier if `from` is memory of [`DeviceMemory::page_locked`].
    ///
    /// # Errors
    /// It does not fit, or the copy failed.
    fn upload(&self, from: &[u8], wait: bool) -> Result<Buffer>;

    /// Copies device memory at `from` to the host, after all work submitted so far.
    ///
    /// # Errors
    /// The copy or earlier work failed.
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()>;

    /// Copies device memory at `from` to the host, after the work up to `mark`. Nothing submitted later writes that
    /// memory.
    ///
    /// # Errors
    /// As for [`DeviceMemory::download`].
    fn download_after(&self, mark: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()>;

    /// Returns the number of the GPU among those of its kind, if the device is one.
    fn gpu(&self) -> Option<usize> {
        None
    }

    /// Copies memory of another device without the host, in the order of both devices' work. `None` if these two cannot.
    fn copy_from(&self, other: &dyn Device, from: u64, bytes: usize) -> Option<Result<Buffer>> {
        let _ = (other, from, bytes);
        None
    }

    /// Allocates page-locked memory of the host, from which the device copies without the CPU.
    ///
    /// # Errors
    /// The device has none ([`no_page_locked_memory`]), or it does not fit.
    fn page_locked(&self, bytes: usize) -> Result<Buffer>;

    /// Frees cached memory that is not in use, and caches of library state.
    fn trim(&self);

    /// Bounds the memory in use; 0 removes the bound.
    ///
    /// # Errors
    /// The device failed.
    fn set_memory_limit(&self, bytes: u64) -> Result<()>;
}

/// Compilation of programs.
pub trait DevicePrograms: Send + Sync {
    /// Returns true if the device has code for a routine. It is called when the routine is recorded, so that an error
    /// names the user's line.
    fn supports(&self, op: &RoutineOp) -> bool;

    /// Returns how the device's routine for recurrent layers takes its operands, or `None` if it has no such routine.
    fn recurrence(&self, layers: &Layers) -> Option<Arc<Recurrence>>;

    /// Generates and compiles everything that a program needs.
    ///
    /// # Errors
    /// The device's compiler failed.
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>>;

    /// Compiles the kernels of `programs` at once, so that [`DevicePrograms::compile`] finds them. `progress` receives
    /// the number of kernels that are compiled and the number of all. An error is left to the run that needs the
    /// kernel.
    fn prepare(&self, programs: &[Arc<Program>], progress: &mut dyn FnMut(usize, usize));

    /// Returns the number of launches from which a program runs as a graph, on a device where replaying a graph may take
    /// longer than the launches. `None` on others.
    fn graph_threshold(&self) -> Option<usize> {
        None
    }

    /// Sets that number, on such a device.
    fn set_graph_threshold(&self, launches: usize) {
        let _ = launches;
    }

    /// Returns the code that was or would be generated for a program.
    ///
    /// # Errors
    /// The device has no code for the program.
    fn source(&self, program: &Program) -> Result<String>;
}

/// Compilation of user kernels.
pub trait DeviceKernels: Send + Sync {
    /// Compiles a user kernel.
    ///
    /// # Errors
    /// The device takes no user kernels ([`no_user_kernels`]), or its compiler failed.
    fn user_kernel(&self, module: &cuprous_kernel::Module, options: &cuprous_kernel::Options) -> Result<KernelRef>;

    /// Compiles a module in the device's own language, CUDA C++ on a GPU. `binary` says that `code` is device code
    /// instead of source; `options` go to the compiler.
    ///
    /// # Errors
    /// The device takes no such modules ([`no_raw_modules`]), or its compiler failed.
    fn raw_module(&self, code: &[u8], binary: bool, name: &str, options: &[String]) -> Result<Arc<dyn RawModule>>;

    /// Links relocatable device code with other device code.
    ///
    /// # Errors
    /// The device has no linker ([`no_linker`]), or it failed.
    fn link(&self, code: &[u8], objects: &[Object], name: &str) -> Result<Arc<[u8]>>;
}

/// The order of work: waiting, marks and streams of others.
pub trait DeviceOrder: Send + Sync {
    /// Returns true if work runs while the host goes on, so that submitting early pays.
    fn is_asynchronous(&self) -> bool;

    /// Returns true if work on the memory at `address` runs while the host goes on. Only devices whose arrays have no
    /// addresses of their own distinguish addresses.
    fn is_asynchronous_at(&self, address: u64) -> bool;

    /// Waits for all work submitted so far.
    ///
    /// # Errors
    /// Earlier work failed.
    fn synchronize(&self) -> Result<()>;

    /// Returns a point after all work submitted so far.
    ///
    /// # Errors
    /// The device failed.
    fn mark(&self) -> Result<Box<dyn Mark>>;

    /// Returns true if all work submitted so far is done.
    ///
    /// # Errors
    /// Earlier work failed.
    fn is_idle(&self) -> Result<bool>;

    /// Waits for the work that others submitted to the stream with a native handle.
    ///
    /// # Errors
    /// That work failed.
    fn wait_for_stream(&self, stream: u64) -> Result<()>;

    /// Returns true if all work that others submitted to a stream is done.
    ///
    /// # Errors
    /// That work failed.
    fn is_stream_done(&self, stream: u64) -> Result<bool>;

    /// Returns the native handle of the stream on which all work runs, or 0 without streams.
    fn stream(&self) -> u64;

    /// Makes memory written so far safe to read for a consumer that works on `stream` (DLPack's numbering); `None`
    /// requests nothing.
    ///
    /// # Errors
    /// Arrays have no addresses ([`no_addresses`]), or the device failed.
    fn hand_over(&self, stream: Option<i64>) -> Result<()>;
}

/// Counters and profiles.
pub trait DeviceStatistics: Send + Sync {
    /// Returns counters for `stats()` beyond the engine's own.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// Returns `used_bytes`, `free_bytes`, `total_bytes`, `limit_bytes` (0: none), `n_free_blocks` and `peak_bytes`.
    fn memory(&self) -> Vec<(&'static str, u64)>;

    /// Sets `peak_bytes` to what is in use.
    fn reset_peak(&self);

    /// Begins or ends a profile. Between the two the device adds its work to [`cuprous_core::profile`] under
    /// [`cuprous_core::profile::current`]. What it does not know at once it adds at the end, when it has no work left.
    ///
    /// # Errors
    /// The device failed.
    fn set_profiling(&self, on: bool) -> Result<()>;

    /// Returns the device's own lines of `explain()`.
    fn explain(&self) -> String;
}

/// A device whose work is done when a call returns. It has a [`DeviceOrder`] without streams.
pub trait Synchronous: Send + Sync {}

impl<T: Synchronous> DeviceOrder for T {
    fn is_asynchronous(&self) -> bool {
        false
    }
    fn is_asynchronous_at(&self, _: u64) -> bool {
        false
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

/// A point in a device's order of work.
pub trait Mark: Send + Sync {
    /// Waits until the work before the mark is done.
    ///
    /// # Errors
    /// That work failed.
    fn wait(&self) -> Result<()>;

    /// Returns true if the work before the mark is done.
    ///
    /// # Errors
    /// That work failed.
    fn done(&self) -> Result<bool>;

    /// Returns the milliseconds from here to a later mark of the same device.
    ///
    /// # Errors
    /// The mark belongs to another device, or the device failed.
    fn milliseconds_to(&self, later: &dyn Mark) -> Result<f64>;

    /// Returns the concrete mark.
    fn as_any(&self) -> &dyn Any;
}

/// Waits for a mark. An interrupt ends the wait; the work continues.
///
/// The device's own wait follows the polling because drivers print the output of kernels only then.
///
/// # Errors
/// An interrupt, or the work before the mark failed.
pub fn wait_for_mark(mark: &dyn Mark) -> Result<()> {
    interrupt::poll(|| mark.done())?;
    mark.wait()
}

/// A mark of a device without pending work: the time at which it was set.
pub struct HostMark(Instant);

impl HostMark {
    /// Returns a mark at the present time.
    pub fn now() -> HostMark {
        HostMark(Instant::now())
    }
}

impl Mark for HostMark {
    fn wait(&self) -> Result<()> {
        Ok(())
    }
    fn done(&self) -> Result<bool> {
        Ok(true)
    }
    fn milliseconds_to(&self, later: &dyn Mark) -> Result<f64> {
        match later.as_any().downcast_ref::<HostMark>() {
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
    /// Submits the program. `buffers` are the addresses of the program's buffers, in order. Arena buffers point into
    /// scratch memory that nothing else uses until the next submission. `scalars` are the constants. `replay` allows
    /// the device to turn a repeated program into one launch.
    ///
    /// # Errors
    /// After [`cuprous_core::error::ErrorKind::Interrupted`], the next run has the same arguments and continues where
    /// this one stopped. After [`cuprous_core::error::ErrorKind::Aborted`], the program's results may be partly
    /// written.
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()>;

    /// Returns how far the last run got, after an error.
    fn progress(&self) -> Progress;

    /// Returns true while a step that an interrupted run started is still running. It uses the memory of that run.
    fn is_busy(&self) -> bool;

    /// Returns the point at which the last run has written entry `index` of [`Program::early`], or `None` if the device
    /// does not know it.
    fn early(&self, index: usize) -> Option<Arc<dyn Mark>>;
}

/// How far a run got that ended with an error. On a device that works asynchronously, what was submitted counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The steps before this one have ended.
    pub ended: usize,
    /// This step and those after it have written nothing.
    pub started: usize,
}

impl Progress {
    /// Returns the progress of a run of `count` steps that ended between two parts of it: the last part that ended
    /// belongs to step `last`, the next one to step `next`. Steps may consist of several parts or of none.
    pub fn between(last: Option<usize>, next: Option<usize>, count: usize) -> Progress {
        let ended = next.unwrap_or(count);
        Progress { ended, started: last.map_or(0, |step| step + 1).max(ended) }
    }
}

/// Returns the error of [`DeviceMemory::page_locked`] on a device that does not copy by itself.
pub fn no_page_locked_memory() -> Error {
    Error::runtime("[pin_memory] page-locked memory needs a CUDA device")
}

/// Returns the error of [`DeviceKernels::user_kernel`] on a device that runs no user kernels.
pub fn no_user_kernels(device: &str) -> Error {
    Error::not_implemented(format!("[cuda.jit] kernels do not run on {device}"))
}

/// Returns the error of [`DeviceKernels::raw_module`] on a device that is not a GPU.
pub fn no_raw_modules(name: &str, device: &str) -> Error {
    Error::not_implemented(format!(
        "[{name}] CUDA C++ runs on a GPU only, and the device is {device}; kernels written in Python (cuda.jit) run \
         here too"
    ))
}

/// Returns the error of [`DeviceKernels::link`] on a device that is not a GPU.
pub fn no_linker(name: &str, device: &str) -> Error {
    Error::not_implemented(format!("[{name}] device code is linked for GPUs only, and the device is {device}"))
}

/// Returns the error of requests for an address on a device whose arrays have none.
pub fn no_addresses() -> Error {
    Error::not_implemented(
        "[auto] arrays on the device \"auto\" have no address, because they move between the CPU and the GPU; copy \
         the array to one of them first, with x.to_device(\"cpu\") or x.to_device(\"cuda\")",
    )
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn progress_between_parts_of_steps() {
        // Step 0 has two parts, step 1 none, step 2 one.
        let got = |next| {
            Progress::between([None, Some(0), Some(0), Some(2)][next], [Some(0), Some(0), Some(2), None][next], 3)
        };
        assert_eq!(got(0), Progress { ended: 0, started: 0 });
        assert_eq!(got(1), Progress { ended: 0, started: 1 });
        assert_eq!(got(2), Progress { ended: 2, started: 2 });
        assert_eq!(got(3), Progress { ended: 3, started: 3 });
    }
}
