//! The device "auto": each program runs where the cost model expects it to be faster, given where its data are.
//!
//! It is a device like any other, memory of two: the host and a GPU. An array has one address, which only names it, and
//! memory on either device or both. What a program reads is copied to where it runs, and stays valid there until it is
//! written.
//!
//! Data are moved when the program gains more than the move costs. They are also moved when the programs that stayed
//! because of the move have lost as much by staying: the move has then been paid for, as in the ski-rental problem. So
//! data do not move back and forth at a loss, and repeated work ends where it is faster. Both depend on what was
//! recorded and on the rates, never on clocks.
//!
//! The GPU's compiler is slow. A program that has lost a little by staying is compiled in the background. The wait that
//! is left shrinks to zero by the model's own clock, which all programs together advance.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_advisor::rates::Rates;
use cuprous_advisor::units::{quantity, seconds};
use cuprous_core::recurrent::{Layers, Recurrence};
use cuprous_core::{Buffer, Error, Result, RoutineOp};
use cuprous_kernel::linked::Object;

use crate::device::{
    Device, DeviceKernels, DeviceMemory, DeviceOrder, DevicePrograms, DeviceStatistics, Executable, Mark, no_addresses,
    no_linker, no_page_locked_memory, no_raw_modules,
};
use crate::program::{KernelRef, Program, RawModule};

pub(crate) mod background;
mod buffers;
mod execution;

use buffers::Table;
use execution::AutoExecutable;

/// Indices of the two devices: the host and the GPU.
const HOST: usize = 0;
const GPU: usize = 1;

/// Number of decisions that `explain()` shows.
const MAX_DECISIONS: usize = 32;

/// Two devices as one.
pub struct AutoDevice(Arc<Shared>);

struct Shared {
    sides: [Arc<dyn Device>; 2],
    names: [String; 2],
    rates: [Rates; 2],
    table: Arc<Table>,
    journal: Mutex<VecDeque<Decision>>,
    /// Nanoseconds that all programs took by the model.
    clock: AtomicU64,
    /// The GPU was given work since the last wait for it. Waiting for an idle GPU takes 5 µs.
    busy: AtomicBool,
}

impl Shared {
    /// Returns the seconds that it takes to copy `bytes` to a side.
    fn move_seconds(&self, to: usize, bytes: f64) -> f64 {
        if to == GPU { self.rates[GPU].upload(bytes, false) } else { self.rates[GPU].download(bytes, false) }
    }

    /// Returns the memory of a twin buffer on one side, allocated if necessary.
    fn memory(&self, at: usize, side: usize) -> Result<Buffer> {
        let twin = &mut self.table.open()[at];
        if let Some(memory) = &twin.memory[side] {
            return Ok(memory.clone());
        }
        let memory = self.sides[side].alloc(twin.bytes)?;
        twin.memory[side] = Some(memory.clone());
        Ok(memory)
    }

    /// Copies the contents of a twin buffer to one side if that side is not valid, and returns the number of bytes
    /// copied. The calling engine holds its lock, so nothing else copies or writes the buffer meanwhile.
    fn copy_to(&self, at: usize, side: usize) -> Result<usize> {
        let (bytes, from) = {
            let twin = &self.table.open()[at];
            match &twin.memory[1 - side] {
                Some(from) if twin.copy_direction(side, false) == Some(side) => (twin.bytes, from.clone()),
                _ => return Ok(0),
            }
        };
        let host = if side == GPU { from.clone() } else { self.sides[HOST].alloc(bytes)? };
        let copied = if bytes == 0 {
            self.sides[side].alloc(0)?
        } else {
            // SAFETY: memory of the host device of that size, which `host` keeps alive. The engine's lock keeps others
            // from it.
            let slice = unsafe { std::slice::from_raw_parts_mut(host.address() as *mut u8, bytes) };
            if side == GPU {
                self.busy.store(true, Relaxed);
                self.sides[GPU].upload(slice, true)?
            } else {
                self.sides[GPU].download(from.address(), slice)?;
                host
            }
        };
        let twin = &mut self.table.open()[at];
        twin.memory[side] = Some(copied);
        twin.valid[side] = true;
        (twin.home, twin.loss) = (side, 0.0);
        Ok(bytes)
    }

    fn journal(&self) -> MutexGuard<'_, VecDeque<Decision>> {
        self.journal.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn log(&self, decision: Decision) {
        let mut journal = self.journal();
        if journal.len() == MAX_DECISIONS {
            journal.pop_front();
        }
        journal.push_back(decision);
    }
}

/// Why a program ran where it did.
struct Decision {
    program: String,
    side: usize,
    seconds: [f64; 2],
    moved: usize,
    move_seconds: f64,
    why: Cow<'static, str>,
    runs: Arc<AtomicU64>,
}

impl AutoDevice {
    /// Returns a device memory of two. `host` keeps its memory where the process can read it. `rates` are those of the
    /// two devices, the GPU's with copies.
    pub fn new(host: Arc<dyn Device>, gpu: Arc<dyn Device>, names: [String; 2], rates: [Rates; 2]) -> AutoDevice {
        let table = Arc::default();
        let journal = Mutex::default();
        let (clock, busy) = (AtomicU64::new(0), AtomicBool::new(false));
        AutoDevice(Arc::new(Shared { sides: [host, gpu], names, rates, table, journal, clock, busy }))
    }
}

impl Device for AutoDevice {
    fn name(&self) -> &'static str {
        "auto"
    }
}

impl DeviceMemory for AutoDevice {
    fn is_host(&self) -> bool {
        false
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        Ok(self.0.table.create(bytes, None))
    }

    fn upload(&self, from: &[u8], _: bool) -> Result<Buffer> {
        let memory = self.0.sides[HOST].upload(from, true)?;
        Ok(self.0.table.create(from.len(), Some(memory)))
    }

    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let (at, offset) = self.0.table.find(from)?;
        let side = {
            let twin = &self.0.table.open()[at];
            twin.read(to.len());
            // A buffer that was never written is read where it costs nothing.
            if twin.valid == [false, true] { GPU } else { HOST }
        };
        let memory = self.0.memory(at, side)?;
        self.0.sides[side].download(memory.address() + offset, to)
    }

    fn download_after(&self, _: &dyn Mark, from: u64, to: &mut [u8]) -> Result<()> {
        self.download(from, to)
    }

    fn page_locked(&self, _: usize) -> Result<Buffer> {
        Err(no_page_locked_memory())
    }

    fn trim(&self) {
        self.0.sides.iter().for_each(|side| side.trim());
    }

    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.0.sides[GPU].set_memory_limit(bytes)
    }
}

impl DevicePrograms for AutoDevice {
    fn supports(&self, call: &RoutineOp) -> bool {
        self.0.sides[HOST].supports(call) && (!call.is_composable() || self.0.sides[GPU].supports(call))
    }

    fn recurrence(&self, _: &Layers) -> Option<Arc<Recurrence>> {
        None
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        Ok(Box::new(AutoExecutable::new(&self.0, program)))
    }

    fn prepare(&self, _: &[Arc<Program>], _: &mut dyn FnMut(usize, usize)) {}

    fn source(&self, program: &Program) -> Result<String> {
        self.0.sides[HOST].source(program)
    }
}

impl DeviceKernels for AutoDevice {
    fn user_kernel(&self, _: &cuprous_kernel::Module, _: &cuprous_kernel::Options) -> Result<KernelRef> {
        Err(Error::not_implemented(
            "[cuda.jit] user kernels run on \"cpu\" or \"cuda\", not on \"auto\"; move their arrays first, with \
             x.to_device(\"cuda\")",
        ))
    }

    fn raw_module(&self, _: &[u8], _: bool, name: &str, _: &[String]) -> Result<Arc<dyn RawModule>> {
        Err(no_raw_modules(name, self.name()))
    }

    fn link(&self, _: &[u8], _: &[Object], name: &str) -> Result<Arc<[u8]>> {
        Err(no_linker(name, self.name()))
    }
}

impl DeviceOrder for AutoDevice {
    fn is_asynchronous(&self) -> bool {
        self.0.sides[GPU].is_asynchronous()
    }

    fn is_asynchronous_at(&self, address: u64) -> bool {
        let slots = self.0.table.open();
        self.is_asynchronous() && slots.find(address).is_some_and(|(at, _)| slots[at].home == GPU)
    }

    fn synchronize(&self) -> Result<()> {
        if self.0.busy.swap(false, Relaxed) {
            self.0.sides[GPU].synchronize()?;
        }
        self.0.sides[HOST].synchronize()
    }

    fn mark(&self) -> Result<Box<dyn Mark>> {
        self.0.sides[GPU].mark()
    }

    fn is_idle(&self) -> Result<bool> {
        // Only this device gives work to the GPU.
        if self.0.busy.load(Relaxed) { self.0.sides[GPU].is_idle() } else { Ok(true) }
    }

    fn wait_for_stream(&self, stream: u64) -> Result<()> {
        self.0.sides[GPU].wait_for_stream(stream)
    }

    fn is_stream_done(&self, stream: u64) -> Result<bool> {
        self.0.sides[GPU].is_stream_done(stream)
    }

    fn stream(&self) -> u64 {
        self.0.sides[GPU].stream()
    }

    fn hand_over(&self, _: Option<i64>) -> Result<()> {
        Err(no_addresses())
    }
}

impl DeviceStatistics for AutoDevice {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.sides[GPU].counters()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        let (host, mut all) = (self.0.sides[HOST].memory(), self.0.sides[GPU].memory());
        for (name, value) in &mut all {
            *value += host.iter().find(|(other, _)| other == name).map_or(0, |(_, value)| *value);
        }
        all
    }

    fn reset_peak(&self) {
        self.0.sides.iter().for_each(|side| side.reset_peak());
    }

    fn set_profiling(&self, _: bool) -> Result<()> {
        Ok(()) // the two devices have engines of their own, which begin their profiles
    }

    fn explain(&self) -> String {
        let [host, gpu] = &self.0.names;
        let mut text = String::new();
        for d in self.0.journal().iter() {
            let runs = d.runs.load(Relaxed);
            let runs = if runs > 1 { format!(" {runs}×") } else { String::new() };
            let _ = write!(
                text,
                "auto: {} ran{runs} on {}: {} on {host}, {} on {gpu}",
                d.program,
                self.0.names[d.side],
                seconds(d.seconds[HOST]),
                seconds(d.seconds[GPU])
            );
            if d.moved > 0 {
                let _ = write!(
                    text,
                    "; {} was copied there first, {}",
                    quantity(d.moved as f64, "B"),
                    seconds(d.move_seconds)
                );
            }
            let _ = writeln!(text, "; {}", d.why);
        }
        text
    }
}
