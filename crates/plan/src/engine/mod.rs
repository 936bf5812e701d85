//! The engine of one device: the tapes of all threads, the programs that they became, and the lock around both.
//!
//! - Recording: `operations`, `elementwise`, `routines`, `random`, `formula` and `launches`, through the guard in
//!   `recording`.
//! - Running: `ends` says where a tape ends, `run`, the program cache in `cache`, and interrupted programs in `suspended`.
//! - Memory: `transfer`.
//! - State: `state` is what the lock guards, `lock` takes it, `lease` gives each thread its tape, `replay` has settings
//!   and counters.
//! - Explanations: `journal` for `explain()`, `profiling` and `program_span` for profiles, `counting` and `estimate`
//!   for the cost of a function.

mod cache;
mod counting;
pub mod elementwise;
mod ends;
mod estimate;
mod formula;
mod journal;
mod launches;
mod lease;
mod lock;
mod operations;
mod profiling;
mod program_span;
mod random;
mod recording;
mod replay;
mod routines;
mod run;
mod state;
mod suspended;
mod transfer;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use cuprous_core::profile::{self, Kind};
use cuprous_core::{Array, DType, Error, Layout, Result, Storage, interrupt, layout, tape};

use cache::{Programs, lost_value};
use elementwise::Memo;
use journal::Journal;
use recording::Recording;
use state::State;

pub use counting::Estimate;
pub use elementwise::Operand;
pub use formula::{Formula, FormulaValue};
pub(crate) use lease::end;
pub use lock::ForkGuard;
pub use replay::{Replay, Stats};

use crate::device::{Device, Listing, Mark};
use crate::program::Program;

/// Work that is enough for a device to be busy while more is recorded, as the bytes that take as long to move: 15 µs of an
/// H200.
const BIG_WORK: u64 = 64 << 20;

/// Records operations for one device and runs them.
///
/// Invariants: `state` guards all tapes and the cells of all storages of this device. A program is submitted with the
/// lock held, so a thread that waits for a value finds it submitted. Nothing that runs under the lock needs Python.
pub struct Engine {
    /// The engine's index in the registry: [`cuprous_core::Storage::device`].
    pub id: u8,
    /// The device.
    pub device: Arc<dyn Device>,
    pub(crate) state: Mutex<State>,
    /// The last recorded operation ended a tape: the caller should call [`Engine::flush`] without Python's lock.
    due: AtomicBool,
    threads: AtomicU32,
    /// Some tape records source locations: see [`cuprous_core::Tape::tracked`].
    tracking: AtomicBool,
    /// This process was forked while another thread held the lock, so the lock is never released here.
    pub(crate) orphaned: AtomicBool,
    /// Why what the device holds is not to be read any more.
    lost: OnceLock<Error>,
}

impl Engine {
    /// Returns an engine for a device.
    pub fn new(id: u8, device: Arc<dyn Device>) -> Arc<Engine> {
        Arc::new(Engine {
            id,
            device,
            state: Mutex::new(State {
                tapes: Vec::new(),
                free_tapes: Vec::new(),
                memo: Memo::default(),
                programs: Programs::default(),
                journal: Journal::default(),
                replay: Replay::default(),
                stats: Stats::default(),
                draw: None,
                launches_per_program: 1,
                nodes_per_program: ends::FIRST_NODES,
                submitted: 0,
                recorder: None,
                scalars: DType::ALL.iter().map(|&dtype| Layout::contiguous(dtype, &[])).collect(),
            }),
            due: AtomicBool::new(false),
            threads: AtomicU32::new(0),
            tracking: AtomicBool::new(tape::ALWAYS_TRACK.load(Relaxed)),
            orphaned: AtomicBool::new(false),
            lost: OnceLock::new(),
        })
    }

    /// Begins to record an operation on the calling thread's tape.
    ///
    /// # Errors
    /// As for [`Recording::settle`].
    fn open<'a>(self: &'a Arc<Engine>, operands: &[&Array]) -> Result<Recording<'a>> {
        let tape = self.tape()?;
        if profile::on() && self.threads.load(Relaxed) > 1 {
            tape::capture_location(); // another thread's tape may have to run
        }
        let mut recording = Recording::new(self, self.enter()?, tape);
        for array in operands {
            recording.settle(array)?;
        }
        Ok(recording)
    }

    /// Makes sure that an operand is not pending on another thread's tape.
    ///
    /// # Errors
    /// The other tape failed, or the operand's value is lost.
    #[inline]
    pub(crate) fn settle(&self, state: &mut State, array: &Array, tape: u32) -> Result<()> {
        // SAFETY: the caller has the state, so the lock is held.
        match unsafe { array.storage.latest_version() } {
            Some(head) if head.tape != tape => self.run_tape(state, head.tape),
            // SAFETY: the caller has the state, so the lock is held.
            None if unsafe { array.storage.is_lost() } => Err(lost_value()),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn check(&self, array: &Array) -> Result<()> {
        self.check_storage(&array.storage)
    }

    /// Makes sure that a storage is this engine's, whose lock guards its contents.
    ///
    /// # Errors
    /// It is another device's.
    #[inline]
    fn check_storage(&self, storage: &Storage) -> Result<()> {
        if storage.device != self.id {
            let name = self.device.name();
            let message = format!(
                "expected all arrays to be on the same device, but one on another device was mixed with arrays on \
                 {name}. Move it first, with x.to(\"{name}\") or cuprous.asarray(x, device=\"{name}\")."
            );
            return Err(Error::device(message));
        }
        Ok(())
    }

    /// Returns true once after an operation that ended the tape. The caller then calls [`Engine::flush`].
    #[inline]
    pub fn take_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    /// Returns the device's name.
    pub fn name(&self) -> &'static str {
        self.device.name()
    }

    /// Submits what the calling thread has recorded.
    ///
    /// # Errors
    /// A program failed.
    pub fn flush(self: &Arc<Engine>) -> Result<()> {
        let tape = self.tape()?;
        capture_location();
        self.due.store(false, Relaxed);
        let mut state = self.enter()?;
        self.run_tape(&mut state, tape)
    }

    /// Submits what the calling thread has recorded and waits for the device.
    ///
    /// # Errors
    /// A program failed, or an interrupt ended the wait.
    pub fn synchronize(self: &Arc<Engine>) -> Result<()> {
        self.flush()?;
        self.enter()?.note_wait();
        if self.device.is_host() {
            // All its work is done.
            return self.device.synchronize();
        }
        // The device's own wait comes last in any case, because drivers print the output of kernels only then.
        profile::timed(Kind::Wait, self.id, 1, || self.wait(None).and_then(|()| self.device.synchronize()))?;
        self.check_lost()
    }

    /// Makes every later read of the device raise this error: code outside the engine left results behind that are wrong,
    /// and others may have been computed from them.
    pub fn lose(&self, error: Error) {
        let _the_first_stays = self.lost.set(error);
    }

    /// Returns the error of [`Engine::lose`].
    fn check_lost(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Waits for a mark, or for all work submitted so far. An interrupt ends the wait; the work continues.
    fn wait(&self, mark: Option<&dyn Mark>) -> Result<()> {
        match mark {
            Some(mark) if !interrupt::poll(|| mark.done())? => mark.wait()?,
            None if !interrupt::poll(|| self.device.is_idle())? => self.device.synchronize()?,
            _ => (),
        }
        self.enter()?.submitted = 0;
        Ok(())
    }

    /// Sets how programs run.
    pub fn set_replay(&self, replay: Replay) {
        if let Ok(mut state) = self.enter() {
            state.replay = replay;
            state.programs.clear();
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        self.enter().map_or_else(
            |_| Stats::default(),
            |state| Stats {
                programs_kept: state.programs.len() as u64,
                layouts_kept: layout::count() as u64,
                ..state.stats
            },
        )
    }

    /// Returns why the last programs were replayed or planned anew.
    pub fn explain(&self) -> String {
        match self.enter() {
            Ok(state) => state.journal.text() + &self.device.explain(),
            Err(error) => error.message,
        }
    }

    /// Returns the generated code of this thread's pending program or, without one, of the program that ran last. With
    /// `other` it is the code of another device.
    ///
    /// # Errors
    /// The device has no code for the program.
    pub fn show_code(self: &Arc<Engine>, other: Option<Listing>) -> Result<String> {
        let tape = self.tape()?;
        let mut state = self.enter()?;
        let State { tapes, programs, .. } = &mut *state;
        let own = |program: &Program| self.device.source(program);
        programs.source(&mut tapes[tape as usize], other.unwrap_or(&own))
    }

    /// Drops cached programs and frees cached memory.
    pub fn trim(&self) {
        if let Ok(mut state) = self.enter() {
            state.programs.clear();
        }
        self.device.trim();
    }
}

/// Notes the source line that waits for something or makes it run, for a profile.
#[inline]
pub(crate) fn capture_location() {
    if profile::on() {
        tape::capture_location();
    }
}
