//! One device's engine: the tapes of all threads, the programs they became, and the lock around both.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_core::error::ErrorKind;
use cuprous_core::layout::show;
use cuprous_core::profile::{self, Kind};
use cuprous_core::{
    Array, Buffer, DType, Error, In, Layout, LayoutRef, Node, NodeKind, Result, RoutineOp, SharedGuard, Storage, Tape,
    interrupt, tape,
};

use crate::aside::Watch;
use crate::cache::Programs;
use crate::device::{Device, Listing, Mark};
use crate::explain::{self, Journal};
use crate::operations::Draw;
use crate::profiled;
use crate::program::Program;
use crate::record::Memo;

/// Nodes after which a tape ends by itself.
const NODE_CAP: usize = 512;
/// Nodes after which a tape that repeats itself ends, at a whole number of repetitions.
const PERIODIC_CAP: usize = 160;
/// Recorded work (in bytes that take as long) after which an asynchronous device is given the tape at the next whole-array
/// routine: 15 µs of an H200.
const BIG_WORK: u64 = 64 << 20;
/// Nodes for which a tape with enough work waits after a product, unless there is another routine: what its call can take
/// over, and what is one kernel, such as the way back through a softmax, its scale and its mask. Recording them takes some
/// microseconds.
const EPILOGUE_NODES: usize = 64;
/// Work of a product for which it waits; what a smaller one saves is little beside the rest of the tape.
const BIG_PRODUCT: u64 = BIG_WORK / 8;
/// Recorded work after which a read waits before it submits its copy, so that an interrupt can end the wait: 1 ms of an
/// H200. After less work the copy is submitted at once, because submitting it later delays the read by some microseconds.
const LONG_WORK: u64 = 64 * BIG_WORK;
/// Results that an error names of those that did not fit; there may be hundreds.
const TOLD: usize = 5;

/// How much of the machinery runs; for tests and measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// Everything.
    #[default]
    Auto,
    /// Each operation on its own, at once.
    Single,
    /// Fused, without graph replay; launches of users' kernels wait for others on every device.
    Fused,
}

/// Counters since the start.
#[derive(Clone, Copy, Default, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Stats {
    pub nodes: u64,
    pub planned: u64,
    pub replayed: u64,
    pub steps: u64,
}

/// Everything behind the lock.
pub(crate) struct State {
    pub(crate) tapes: Vec<Tape>,
    pub(crate) free_tapes: Vec<u32>,
    pub(crate) memo: Memo,
    pub(crate) programs: Programs,
    pub(crate) journal: Journal,
    pub(crate) replay: Replay,
    pub(crate) stats: Stats,
    /// What the last draw of random numbers needed: a loop draws the same again and again.
    pub(crate) draw: Option<Draw>,
    /// Launches of users' kernels that one program has, by now: see [`Engine::launch`].
    pub(crate) launches_wait: usize,
    /// Work submitted since the device was last waited for, in bytes that take as long.
    submitted: u64,
    /// What a function takes is being counted.
    pub(crate) watch: Option<Box<Watch>>,
    /// The layouts without axes, by dtype.
    pub(crate) scalars: Vec<LayoutRef>,
}

impl State {
    /// A tape that no thread has.
    pub(crate) fn take_tape(&mut self) -> u32 {
        let tape = self.free_tapes.pop().unwrap_or_else(|| self.add_tape());
        if profile::on() && self.tapes[tape as usize].nodes.is_empty() {
            self.tapes[tape as usize].track(true);
        }
        tape
    }

    /// Returns a tape that no thread has and on which nothing is pending. What ended threads have recorded may be.
    pub(crate) fn take_empty_tape(&mut self) -> u32 {
        match self.free_tapes.iter().position(|&tape| self.tapes[tape as usize].nodes.is_empty()) {
            Some(at) => self.free_tapes.swap_remove(at),
            None => self.add_tape(),
        }
    }

    fn add_tape(&mut self) -> u32 {
        let index = self.tapes.len() as u32;
        self.tapes.push(Tape::new(index));
        index
    }

    /// Do operations of some tape note their places?
    fn tracks(&self) -> bool {
        self.tapes.iter().any(|tape| tape.tracked)
    }

    pub(crate) fn give_tape(&mut self, tape: u32) {
        self.free_tapes.push(tape);
    }
}

/// Makes that tape the calling thread's.
pub(crate) fn lease(engine: &Arc<Engine>, tape: u32) {
    LEASE.with_borrow_mut(|lease| {
        if let Some(held) = lease.tapes.iter_mut().find(|(held, _)| held.id == engine.id) {
            held.1 = tape;
        }
    });
}

/// Records operations for one device and runs them.
///
/// Invariants: `state` guards all tapes and the cells of all storages of this device; a program runs with the lock
/// held, so whoever waits for a value finds it computed; nothing that runs under the lock needs Python.
pub struct Engine {
    /// This engine's place in the registry: [`Storage::device`].
    pub id: u8,
    /// The device.
    pub device: Arc<dyn Device>,
    pub(crate) state: Mutex<State>,
    /// The last recorded operation ended a tape: somebody should call [`Engine::flush`] (without Python's lock).
    due: AtomicBool,
    threads: AtomicU32,
    /// Some tape notes places: see [`Tape::tracked`].
    tracking: AtomicBool,
    /// This process was forked while another thread held the lock, so it is never released here.
    pub(crate) orphaned: AtomicBool,
}

/// The calling thread's tape on each device; gives the tapes back when the thread ends.
struct Lease {
    tapes: Vec<(Arc<Engine>, u32)>,
}

thread_local! {
    static LEASE: std::cell::RefCell<Lease> = const { std::cell::RefCell::new(Lease { tapes: Vec::new() }) };
}

/// The process is about to end: what is still recorded will not be asked for.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Says that the process is about to end; tapes of ending threads are no longer run.
pub fn end() {
    ENDING.store(true, Relaxed);
    crate::auto::background::end();
}

impl Drop for Lease {
    fn drop(&mut self) {
        if ENDING.load(Relaxed) {
            // Handles may be gone in any order by now; the system takes all memory back.
            self.tapes.drain(..).for_each(std::mem::forget);
            return;
        }
        // What is pending stays: a reader finds the tape through the value, or the next thread goes on with it. Running
        // it here would need thread-local memory that may be gone already.
        for (engine, tape) in self.tapes.drain(..) {
            if let Ok(mut state) = engine.enter() {
                state.free_tapes.push(tape);
            }
            engine.threads.fetch_sub(1, Relaxed);
        }
    }
}

impl Engine {
    /// An engine for a device.
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
                launches_wait: 1,
                submitted: 0,
                watch: None,
                scalars: DType::ALL.iter().map(|&dtype| Layout::contiguous(dtype, &[])).collect(),
            }),
            due: AtomicBool::new(false),
            threads: AtomicU32::new(0),
            tracking: AtomicBool::new(tape::ALWAYS_TRACK.load(Relaxed)),
            orphaned: AtomicBool::new(false),
        })
    }

    /// The calling thread's tape.
    #[inline]
    pub(crate) fn tape(self: &Arc<Engine>) -> Result<u32> {
        if self.tracking.load(Relaxed) {
            cuprous_core::tape::capture_location();
        }
        LEASE.with_borrow_mut(|lease| {
            for (engine, tape) in &lease.tapes {
                if engine.id == self.id {
                    return Ok(*tape);
                }
            }
            let mut state = self.enter()?;
            let contended = self.threads.fetch_add(1, Relaxed) > 0;
            let index = state.take_tape();
            if contended {
                state.tapes.iter_mut().for_each(|tape| tape.contended = true);
            }
            self.tracking.fetch_or(state.tracks(), Relaxed);
            lease.tapes.push((self.clone(), index));
            Ok(index)
        })
    }

    /// Locks, makes sure that no operand is pending on another thread's tape, and gives the caller's tape.
    pub(crate) fn open<'a>(self: &'a Arc<Engine>, operands: &[&Array]) -> Result<(MutexGuard<'a, State>, u32)> {
        let tape = self.tape()?;
        if profile::on() && self.threads.load(Relaxed) > 1 {
            tape::capture_location(); // another thread's tape may have to run
        }
        let mut state = self.enter()?;
        for array in operands {
            self.check(array)?;
            self.settle(&mut state, array, tape)?;
        }
        Ok((state, tape))
    }

    /// Sees to it that an operand is not pending on another thread's tape.
    #[inline]
    pub(crate) fn settle(&self, state: &mut State, array: &Array, tape: u32) -> Result<()> {
        // SAFETY: the caller has the state, so the lock is held.
        match unsafe { array.storage.latest_version() } {
            Some(head) if head.tape != tape => self.run_tape(state, head.tape),
            // SAFETY: as above.
            None if unsafe { array.storage.is_lost() } => Err(lost()),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn check(&self, array: &Array) -> Result<()> {
        if array.storage.device != self.id {
            let name = self.device.name();
            let message = format!(
                "expected all arrays to be on the same device, but one on another device was mixed with arrays on \
                 {name}. Move it first, with x.to(\"{name}\") or cuprous.asarray(x, device=\"{name}\")."
            );
            return Err(Error::device(message));
        }
        Ok(())
    }

    /// After recording: decides whether the tape ends here. Where there is enough work for an asynchronous device, the
    /// tape ends so many nodes after a whole-array routine as `after` says.
    #[inline]
    pub(crate) fn close(&self, state: &mut State, tape: u32, after: Option<usize>, external: bool) {
        state.stats.nodes += 1;
        let t = &mut state.tapes[tape as usize];
        let len = t.nodes.len();
        if len == PERIODIC_CAP {
            t.period = period(&t.nodes);
        }
        if let Some(after) = after
            && t.work > BIG_WORK
            && self.device.is_asynchronous()
        {
            t.ends_at = len + after;
        }
        if external
            || len >= NODE_CAP
            || len >= t.ends_at
            || (len >= PERIODIC_CAP && t.period > 0 && len.is_multiple_of(t.period))
            || state.replay == Replay::Single
        {
            self.due.store(true, Relaxed);
        }
    }

    /// True once after an operation that ended the tape; then the caller runs [`Engine::flush`].
    #[inline]
    pub fn take_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    pub(crate) fn threads(&self) -> &AtomicU32 {
        &self.threads
    }

    /// The device's name.
    pub fn name(&self) -> &'static str {
        self.device.name()
    }

    /// Has the device such a routine?
    pub fn can(&self, op: &RoutineOp) -> bool {
        self.device.can(op)
    }

    /// Records a routine on whole arrays whose result has that dtype and shape.
    pub fn call(self: &Arc<Engine>, op: RoutineOp, ins: &[&Array], dtype: DType, shape: &[i64]) -> Result<Array> {
        if !self.device.can(&op) {
            return Err(Error::not_implemented(format!(
                "[{}] not supported on {} yet; take the array to the CPU with .to_device(\"cpu\")",
                op.name(),
                self.device.name()
            )));
        }
        let out = Layout::try_contiguous(dtype, shape)?;
        let (mut state, tape) = self.open(ins)?;
        if state.tapes[tape as usize].ends_at != usize::MAX {
            if profile::on() {
                drop(state);
                tape::capture_location();
                (state, _) = self.open(ins)?;
            }
            // The product before has waited long enough for what it might do as well.
            self.run_tape(&mut state, tape)?;
        }
        let t = &mut state.tapes[tape as usize];
        let mut moved = 0;
        let mut operands = [In::default(); 3];
        for (operand, a) in operands.iter_mut().zip(ins) {
            // SAFETY: the lock is held, foreign tapes are settled.
            let src = unsafe { t.source(&a.storage) };
            *operand = In { src, layout: t.keep_layout(&a.layout) };
            moved = u64::saturating_add(moved, (a.layout.size as usize * a.dtype().size()) as u64);
        }
        let work = op.work(moved, ins.first().map_or(&[], |a| a.shape()), dtype, shape);
        t.work = t.work.saturating_add(work);
        let waits = op == RoutineOp::Dot && work > BIG_PRODUCT;
        let (number, call) = op.intern();
        t.routines.push(call);
        if ins.len() == 3 && number >= Node::MAX_ROUTINES {
            return Err(Error::runtime("too many different routines in one process"));
        }
        let external = ins.iter().any(|a| a.storage.is_external());
        let out = t.push(NodeKind::Routine, 0, ins.len() as u8, &out, operands, self.id);
        if let Some(node) = t.nodes.last_mut() {
            node.set_routine_id(number);
        }
        self.close(&mut state, tape, Some(if waits { EPILOGUE_NODES } else { 0 }), external);
        Ok(out)
    }

    /// Begins to note the places of all operations that are recorded from now on.
    pub(crate) fn track_all(&self) -> Result<()> {
        let mut state = self.enter()?;
        state.tapes.iter_mut().filter(|tape| tape.nodes.is_empty()).for_each(|tape| tape.track(true));
        self.tracking.store(true, Relaxed);
        Ok(())
    }

    /// Submits what the calling thread has recorded.
    pub fn flush(self: &Arc<Engine>) -> Result<()> {
        let tape = self.tape()?;
        capture_location();
        self.due.store(false, Relaxed);
        let mut state = self.enter()?;
        self.run_tape(&mut state, tape)
    }

    /// Submits it and waits for the device.
    pub fn synchronize(self: &Arc<Engine>) -> Result<()> {
        self.flush()?;
        self.enter()?.launches_wait = 1;
        if self.device.is_host() {
            // Whatever it was given is done.
            return self.device.synchronize();
        }
        // The device's own wait comes last in any case, because drivers print what kernels have printed only then.
        profile::timed(Kind::Wait, self.id, 1, || self.wait(None).and_then(|()| self.device.synchronize()))
    }

    /// Waits for a mark, or for all work given so far. An interrupt ends the wait; the work goes on.
    fn wait(&self, mark: Option<&dyn Mark>) -> Result<()> {
        match mark {
            Some(mark) if !interrupt::poll(|| mark.done())? => mark.wait()?,
            None if !interrupt::poll(|| self.device.idle())? => self.device.synchronize()?,
            _ => (),
        }
        self.enter()?.submitted = 0;
        Ok(())
    }

    /// Returns the memory of a storage after submitting everything recorded for it.
    pub fn realize(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<Buffer> {
        capture_location();
        let mut state = self.enter()?;
        self.memory(&mut state, storage)
    }

    fn memory(&self, state: &mut State, storage: &Storage) -> Result<Buffer> {
        // SAFETY: the caller has the state, so the lock is held.
        if let Some(head) = unsafe { storage.latest_version() } {
            self.run_tape(state, head.tape)?;
        }
        // SAFETY: as above.
        unsafe { storage.buffer() }.ok_or_else(lost)
    }

    /// What `read` finds in the memory of a storage, unless something is pending for it.
    pub fn peek<R>(&self, storage: &Storage, read: impl FnOnce(&Buffer) -> R) -> Option<R> {
        let _state = self.enter().ok()?;
        // SAFETY: the lock is held.
        let buffer = unsafe { storage.latest_version().is_none().then(|| storage.buffer()) };
        buffer.flatten().as_ref().map(read)
    }

    /// As [`Engine::lend`], without an end.
    pub fn export(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<Buffer> {
        let (buffer, _loan) = self.lend(storage)?;
        storage.share();
        Ok(buffer)
    }

    /// Returns the memory of a storage, marked as shared with code outside the engine until the loan is dropped.
    /// Everything recorded before is submitted first: it reads what is there now.
    pub fn lend(self: &Arc<Engine>, storage: &Arc<Storage>) -> Result<(Buffer, SharedGuard)> {
        if !self.device.has_addresses() {
            return Err(crate::auto::no_address());
        }
        capture_location();
        let mut state = self.enter()?;
        if !storage.is_external() {
            for tape in 0..state.tapes.len() as u32 {
                self.run_tape(&mut state, tape)?;
            }
        }
        let buffer = self.memory(&mut state, storage)?;
        state.programs.forget_early();
        // Still under the lock, so that another thread records no work on it in between.
        Ok((buffer, storage.share_scoped()))
    }

    /// Plans (or recognises) and runs a tape. Where there is no room for all results, the largest are given up and the
    /// rest is computed; where it fails otherwise, its pending values are given up. Memory from before is untouched.
    pub(crate) fn run_tape(&self, state: &mut State, tape: u32) -> Result<()> {
        if state.watch.is_some() {
            return self.run_watched(state, tape);
        }
        self.run_now(state, tape)
    }

    /// [`Engine::run_tape`] while something is counted.
    #[cold]
    fn run_watched(&self, state: &mut State, tape: u32) -> Result<()> {
        let Some(mut watch) = state.watch.take_if(|watch| watch.is_of(tape)) else { return self.run_now(state, tape) };
        let before = watch.before(&state.tapes[tape as usize], &state.tapes);
        let result = before.map_or(Ok(()), |parked| self.run_now(state, parked));
        watch.leaves(&state.tapes[tape as usize]);
        let (nodes, count) = (state.tapes[tape as usize].nodes.len(), state.stats.planned + state.stats.replayed);
        let result = result.and_then(|()| self.run_now(state, tape));
        if state.stats.planned + state.stats.replayed > count
            && let Some(program) = state.programs.last()
        {
            watch.ran(&program, nodes);
        }
        state.watch = Some(watch);
        result
    }

    fn run_now(&self, state: &mut State, tape: u32) -> Result<()> {
        let mut parked = false;
        if state.programs.has_suspended() {
            state.sweep();
            parked = state.programs.suspended().contains(&tape);
        }
        let number = tape;
        let State { tapes, programs, journal, replay, stats, submitted, .. } = state;
        let tape = &mut tapes[tape as usize];
        if tape.nodes.is_empty() {
            return Ok(());
        }
        *submitted = submitted.saturating_add(tape.work);
        // What does not fit is given up, largest first, and the rest is computed; then the error is raised.
        let (mut no_room, mut given_up) = (None, 0);
        let result = loop {
            // A fault of ours must not pass for one of the user's, nor take the process along.
            let run = AssertUnwindSafe(|| programs.run(tape, self, *replay, journal, stats));
            match catch_unwind(run) {
                Ok(Err(e)) if e.kind == ErrorKind::Memory => {
                    let error = no_room.get_or_insert(e);
                    // SAFETY: the lock is held.
                    let Some(node) = (unsafe { tape.give_up_largest() }) else {
                        // What is left are launches, without the memory that they ask for.
                        // SAFETY: as above.
                        unsafe { tape.clear() };
                        break Ok(());
                    };
                    given_up += 1;
                    if given_up <= TOLD {
                        let (name, bytes) =
                            (explain::name(&tape.nodes[node]), tape.owners[node].as_ref().map_or(0, |s| s.bytes));
                        let _ = write!(error.message, "; given up: [{name}], {bytes} bytes{}", tape.location(node));
                    }
                }
                Ok(result) => break result,
                Err(panic) => {
                    let cause = panic.downcast_ref::<String>().map(String::as_str);
                    let cause = cause.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
                    break Err(Error::runtime(format!("an internal error of Cuprous, please report it: {cause}")));
                }
            }
        };
        if result.as_ref().is_err_and(|error| error.kind == ErrorKind::Interrupted) {
            if !parked {
                state.park(number);
            }
            return result;
        }
        let result = result.map_err(|error| Error { message: error.message + &whereabouts(tape), ..error });
        if parked {
            state.free_tapes.push(number);
        }
        if result.is_err() {
            // It would fail again: let the session go on without it.
            // SAFETY: the lock is held.
            unsafe { tape.clear() };
        }
        if let Some(error) = no_room.as_mut().filter(|_| given_up > TOLD) {
            let _ = write!(error.message, "; and {} smaller ones", given_up - TOLD);
        }
        let result = no_room.map_or(result, Err);
        self.tracking.store(state.tracks(), Relaxed);
        result
    }

    /// How programs run.
    pub fn set_replay(&self, replay: Replay) {
        if let Ok(mut state) = self.enter() {
            state.replay = replay;
            state.programs.clear();
        }
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        self.enter().map_or_else(|_| Stats::default(), |state| state.stats)
    }

    /// Why the last programs were replayed or planned anew.
    pub fn explain(&self) -> String {
        match self.enter() {
            Ok(state) => state.journal.text() + &self.device.explain(),
            Err(error) => error.message,
        }
    }

    /// Generated code of the pending program of this thread or, without one, of the last; as another device would run it
    /// where a listing of that one is given.
    pub fn show_code(self: &Arc<Engine>, other: Option<Listing>) -> Result<String> {
        let tape = self.tape()?;
        let mut state = self.enter()?;
        let State { tapes, programs, .. } = &mut *state;
        let own = |program: &Program| self.device.source(program);
        programs.source(&mut tapes[tape as usize], other.unwrap_or(&own))
    }

    /// Lets go of cached programs and memory.
    pub fn trim(&self) {
        if let Ok(mut state) = self.enter() {
            state.programs.clear();
        }
        self.device.trim();
    }

    /// Memory; where there is none, cached programs and free blocks are let go of first.
    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        match self.device.alloc(bytes) {
            Err(e) if e.kind == ErrorKind::Memory => {
                self.trim();
                self.device.alloc(bytes)
            }
            got => got,
        }
    }

    /// An array of uninitialised memory.
    pub fn empty(&self, dtype: DType, shape: &[i64]) -> Result<Array> {
        let layout = Layout::try_contiguous(dtype, shape)?;
        let bytes = layout.size as usize * dtype.size();
        let storage = Storage::ready(self.alloc(bytes)?, self.id);
        Ok(Array { storage: Arc::new(storage), layout })
    }

    /// A copy of host bytes in C order.
    pub fn upload(&self, bytes: &[u8], dtype: DType, shape: &[i64]) -> Result<Array> {
        self.receive(bytes, dtype, shape, true)
    }

    /// As [`Engine::upload`]; without `wait` perhaps before the bytes were read: see [`Device::upload`].
    ///
    /// [`Device::upload`]: crate::Device::upload
    fn receive(&self, bytes: &[u8], dtype: DType, shape: &[i64], wait: bool) -> Result<Array> {
        let layout = Layout::try_contiguous(dtype, shape)?;
        if layout.size as usize * dtype.size() != bytes.len() {
            return Err(Error::value(format!(
                "{} bytes cannot be an array of shape {} and dtype {}; pass {}",
                bytes.len(),
                show(shape),
                dtype.name(),
                layout.size as usize * dtype.size()
            )));
        }
        // Outside the engine any byte but 0 may stand for true; routines here rely on 1.
        if dtype == DType::Bool && bytes.chunks(1 << 12).any(|part| part.iter().fold(0, |all, byte| all | byte) > 1) {
            let plain: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
            return self.receive(&plain, dtype, shape, true);
        }
        capture_location();
        let copied =
            profile::timed(Kind::Upload, self.id, bytes.len() as u64, || match self.device.upload(bytes, wait) {
                Err(e) if e.kind == ErrorKind::Memory => {
                    self.trim();
                    self.device.upload(bytes, wait)
                }
                got => got,
            });
        let buffer = copied?;
        if profile::on() {
            profiled::memory(self, profile::origin(self.id));
        }
        Ok(Array { storage: Arc::new(Storage::ready(buffer, self.id)), layout })
    }

    /// A copy of an array on another engine's device. Without `wait` the copy of page-locked memory may still be under
    /// way when this returns; what the other engine is given later comes after it.
    pub fn send(self: &Arc<Engine>, a: &Array, to: &Arc<Engine>, wait: bool) -> Result<Array> {
        let bytes = a.layout.size as usize * a.dtype().size();
        if bytes == 0 {
            return to.empty(a.dtype(), a.shape());
        }
        if self.device.is_host() {
            let packed = if a.layout.is_c_contiguous() { a.clone() } else { self.cast(a, a.dtype())? };
            let buffer = self.realize(&packed.storage)?;
            let start = buffer.address() + packed.layout.offset as u64 * packed.dtype().size() as u64;
            // SAFETY: the memory is the host's, has that many bytes from `start` on and lives as long as `buffer`.
            let from = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
            return to.receive(from, a.dtype(), a.shape(), wait);
        }
        if to.device.is_host() {
            let array = to.empty(a.dtype(), a.shape())?;
            // SAFETY: nobody else knows the new storage.
            if let Some(buffer) = unsafe { array.storage.buffer() } {
                // SAFETY: as above; it has that many bytes.
                let room = unsafe { std::slice::from_raw_parts_mut(buffer.address() as *mut u8, bytes) };
                self.download(a, room)?;
            }
            return Ok(array);
        }
        let mut host = vec![0; bytes];
        self.download(a, &mut host)?;
        to.upload(&host, a.dtype(), a.shape())
    }

    /// A copy of a host array in memory from which `device` copies by itself.
    pub fn pin(self: &Arc<Engine>, a: &Array, device: &Arc<Engine>) -> Result<Array> {
        let layout = Layout::contiguous(a.dtype(), a.shape());
        let buffer = device.device.page_locked(layout.size as usize * a.dtype().size())?;
        let array = Array { storage: Arc::new(Storage::ready(buffer, self.id)), layout };
        self.update(&array, crate::Operand::Array(a))?;
        // A device may copy from it as soon as somebody has it.
        self.realize(&array.storage)?;
        Ok(array)
    }

    /// The elements in C order.
    pub fn download(self: &Arc<Engine>, a: &Array, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let packed = if a.layout.is_c_contiguous() { a.clone() } else { self.cast(a, a.dtype())? };
        let buffer = self.realize(&packed.storage)?;
        let mut state = self.enter()?;
        state.launches_wait = 1;
        if let Some(watch) = &mut state.watch {
            watch.read(to.len());
        }
        let early = state.programs.early(&buffer);
        let waits = self.device.is_asynchronous() && (profile::on() || state.submitted > LONG_WORK);
        if !waits {
            state.submitted = 0;
        }
        drop(state);
        let start = packed.layout.offset as u64 * packed.dtype().size() as u64;
        if waits {
            // A wait of its own, because the copy cannot be interrupted. It ends when the copy could begin.
            profile::timed(Kind::Wait, self.id, 0, || self.wait(early.as_deref()))?;
        }
        let from = buffer.address() + start;
        profile::timed(Kind::Download, self.id, to.len() as u64, || match early {
            // A loss is there before the backward pass has ended.
            Some(mark) => self.device.download_after(&*mark, from, to),
            None => self.device.download(from, to),
        })
    }
}

/// Notes the line that waits for something or makes it run, for a profile.
#[inline]
pub(crate) fn capture_location() {
    if profile::on() {
        tape::capture_location();
    }
}

/// The operations of a program that failed, and where they were recorded.
#[cold]
fn whereabouts(tape: &Tape) -> String {
    const SHOWN: usize = 8;
    let mut text = String::from("\nThis happened while computing");
    for (k, node) in tape.nodes.iter().take(SHOWN).enumerate() {
        let _ = write!(text, "{} [{}]{}", if k == 0 { "" } else { "," }, explain::name(node), tape.location(k));
    }
    if tape.nodes.len() > SHOWN {
        let _ = write!(text, " and {} more", tape.nodes.len() - SHOWN);
    }
    if tape.locations.is_empty() {
        text += "; with CUPROUS_PLACES=1 in the environment the lines of your program are named";
    }
    text
}

#[cold]
pub(crate) fn lost() -> Error {
    Error::runtime(
        "the value of this array was given up when the program that computes it failed, was interrupted in a kernel or \
         did not fit into the device's memory; compute it again",
    )
}

/// The length of the repetition with which some nodes end, seen three times; 0 without one. A loop that never asks for
/// a value is so cut at the same place of its body each time, and its programs are recognised.
pub(crate) fn period(nodes: &[Node]) -> usize {
    let alike = |a: &Node, b: &Node| (a.kind, a.fun, a.nin, a.out) == (b.kind, b.fun, b.nin, b.out);
    let n = nodes.len();
    (1..=n / 3).find(|&p| (n - 2 * p..n).all(|k| alike(&nodes[k], &nodes[k - p]))).unwrap_or(0)
}
