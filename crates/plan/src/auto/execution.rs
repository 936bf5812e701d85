//! A program on "auto": on which side it runs, and what is copied there first.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cuprous_advisor::counted::Counted;
use cuprous_core::error::ErrorKind;
use cuprous_core::{Buffer, Result, Scalar};
use smallvec::SmallVec;

use super::background::BackgroundCompile;
use super::{Decision, GPU, HOST, Shared};
use crate::cost;
use crate::device::{Device, Executable, Mark, Progress};
use crate::program::{Assignment, BufferInfo, Program, Step};

/// Seconds that a GPU's compiler takes for a new kernel.
const COMPILE: f64 = 0.03;
/// Seconds that a program loses by staying before it is compiled in the background. That costs processor time, but no
/// wait.
const WORTH_COMPILING: f64 = COMPILE / 16.0;
/// The reason for a program that runs where it was predicted to be faster.
const FASTER: &str = "faster there";

/// A program compiled for "auto".
pub(super) struct AutoExecutable {
    auto: Arc<Shared>,
    name: String,
    program: Arc<Program>,
    /// True if it has kernels to compile.
    kernels: bool,
    /// For each buffer: is it read, is it written?
    touched: Box<[[bool; 2]]>,
    /// For each buffer: does it come from outside, and is it used?
    leaves: Box<[bool]>,
    /// The decision that was logged last: the side, the bytes moved, the reason, and the number of runs.
    last_decision: Option<(usize, usize, Cow<'static, str>, Arc<AtomicU64>)>,
    /// Seconds on each side, by the model.
    seconds: [f64; 2],
    supported: [bool; 2],
    executables: [Option<Box<dyn Executable>>; 2],
    /// The compilation for the GPU, and the model's clock at its start.
    background: Option<(Arc<BackgroundCompile>, u64)>,
    /// Seconds lost because it was not compiled for the GPU.
    loss: f64,
    /// The reason why a side cannot run it.
    why_not: String,
    /// Bytes of its results that the host read last time.
    read: Arc<AtomicU64>,
    /// This run has reached a device, so that no other one may be tried.
    submitted: bool,
    /// The side that the last run reached.
    side: usize,
    /// The last run was interrupted. The next one continues on the same side.
    interrupted: bool,
}

/// A buffer of the program: the slot of its twin buffer and the byte offset, or `None` if the program does not use it.
type Binding = Option<(usize, u64)>;

impl AutoExecutable {
    pub(super) fn new(auto: &Arc<Shared>, program: &Arc<Program>) -> AutoExecutable {
        let work = Counted { programs: vec![cost::of(program, 0)], ..Counted::default() };
        let supports = |side: &Arc<dyn Device>| {
            program.steps.iter().all(|step| if let Step::Routine(call) = step { side.supports(&call.op) } else { true })
        };
        let mut names: Vec<&str> = work.programs[0].steps.iter().map(|(name, _)| name.as_str()).collect();
        let more = names.len().saturating_sub(2);
        names.truncate(2);
        let mut name = names.join("; ");
        if more > 0 {
            let _ = write!(name, "; and {more} more");
        }
        let touched = touched(program);
        let is_leaf = |(buffer, touched): (&BufferInfo, &[bool; 2])| {
            matches!(buffer.assignment, Assignment::Leaf(_)) && *touched != [false, false]
        };
        AutoExecutable {
            auto: auto.clone(),
            name,
            seconds: [HOST, GPU].map(|side| work.run(&auto.rates[side])),
            supported: [HOST, GPU].map(|side| supports(&auto.sides[side])),
            executables: [None, None],
            background: None,
            loss: 0.0,
            why_not: String::new(),
            read: Arc::default(),
            submitted: false,
            side: HOST,
            interrupted: false,
            kernels: program.steps.iter().any(|step| !matches!(step, Step::Routine(_))),
            leaves: program.buffers.iter().zip(&touched).map(is_leaf).collect(),
            touched: touched.into(),
            last_decision: None,
            program: program.clone(),
        }
    }

    /// Returns the seconds until it would be compiled for the GPU.
    fn compile_seconds(&self) -> f64 {
        match (&self.executables[GPU], &self.background) {
            (Some(_), _) => 0.0,
            _ if !self.kernels => 0.0,
            (None, None) => COMPILE,
            (None, Some((_, since))) => {
                let passed = (self.auto.clock.load(Relaxed) - since) as f64 * 1e-9;
                (COMPILE - passed).max(0.0)
            }
        }
    }

    /// Returns the side on which to run, and why.
    fn choose(&mut self, leaves: &[(usize, bool)]) -> (usize, Cow<'static, str>) {
        let auto = self.auto.clone();
        let mut slots = auto.table.open();
        // Bytes that a run on each side moves, by the side that they are copied to.
        let mut bytes = [[0.0; 2]; 2];
        for &(at, written) in leaves {
            for side in [HOST, GPU] {
                if let Some(to) = slots[at].copy_direction(side, written) {
                    bytes[side][to] += slots[at].bytes as f64;
                }
            }
        }
        let moves = bytes.map(|to| auto.move_seconds(HOST, to[HOST]) + auto.move_seconds(GPU, to[GPU]));
        let compile = self.compile_seconds();
        let extra = [moves[HOST], moves[GPU] + compile];
        for side in [HOST, GPU] {
            if !self.supported[1 - side] {
                return (side, format!("{} cannot{}", auto.names[1 - side], self.why_not).into());
            }
        }
        let alone = [HOST, GPU].map(|side| self.total(side));
        let total = [HOST, GPU].map(|side| alone[side] + extra[side]);
        let near = if total[GPU] < total[HOST] { GPU } else { HOST };
        let far = 1 - near;
        let lost = alone[near] - alone[far];
        if lost <= 0.0 {
            // What this program gains where its data are is set off against what others lose there.
            for &(at, written) in leaves {
                let twin = &mut slots[at];
                if twin.copy_direction(far, written).is_some() {
                    twin.loss = (twin.loss + lost).max(0.0);
                }
            }
            return (near, FASTER.into());
        }
        // It would be faster on the other side, were it not for the moves. Its losses pay for them over time.
        let needed = extra[far] - extra[near].min(extra[far]);
        let own = if far == GPU { compile } else { 0.0 };
        let share = own / (own + moves[far]).max(1e-12);
        self.loss += lost * share;
        if own > 0.0 && self.background.is_none() && self.loss >= WORTH_COMPILING {
            let now = auto.clock.load(Relaxed);
            self.background = Some((BackgroundCompile::start(&auto.sides[GPU], &self.program), now));
        }
        let mut paid = if own > 0.0 { self.loss.min(own) } else { 0.0 };
        let all = (bytes[far][HOST] + bytes[far][GPU]).max(1.0);
        for &(at, written) in leaves {
            let twin = &mut slots[at];
            if twin.copy_direction(far, written).is_some() {
                let part = twin.bytes as f64 / all;
                twin.loss += lost * (1.0 - share) * part;
                paid += twin.loss.min(moves[far] * part);
            }
        }
        // The loss is a sum of many parts, each of them rounded.
        if paid >= needed * (1.0 - 1e-9) {
            return (far, "faster there, and staying has cost as much as the move".into());
        }
        let what = match (moves[far] > 0.0, own > 0.0) {
            (true, true) => "moving its data and compiling it would cost more so far",
            (true, false) => "moving its data would cost more so far",
            _ if self.background.is_some() => "it is being compiled for the other in the background",
            _ => "compiling it would cost more so far",
        };
        (near, what.into())
    }

    /// Runs on the side of the last run, if nothing has changed that could speak against it; returns `None` otherwise.
    /// Most runs take this path: one access to the table, and no model.
    fn repeat(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Option<Result<()>> {
        let (side, 0, Cow::Borrowed(FASTER), _) = self.last_decision.as_ref()? else { return None };
        let side = *side;
        if self.total(side) > self.total(1 - side) {
            return None;
        }
        let mut addresses: SmallVec<[u64; 8]> = SmallVec::with_capacity(buffers.len());
        let mut writes: SmallVec<[usize; 4]> = SmallVec::new();
        // Memory of the other side, freed after the table is unlocked.
        let mut freed: SmallVec<[Buffer; 2]> = SmallVec::new();
        let mut slots = self.auto.table.open();
        for ((&address, touched), &leaf) in buffers.iter().zip(self.touched.iter()).zip(&self.leaves) {
            if address == 0 {
                addresses.push(0);
                continue;
            }
            let (at, offset) = slots.find(address)?;
            let twin = &mut slots[at];
            if leaf && (twin.copy_direction(side, touched[1]).is_some() || twin.loss != 0.0) {
                return None;
            }
            let memory = match &mut twin.memory[side] {
                Some(memory) => memory,
                none => none.insert(self.auto.sides[side].alloc(twin.bytes).ok()?),
            };
            addresses.push(memory.address() + offset);
            if touched[1] {
                writes.push(at);
            }
        }
        // If the run fails, the engine gives up what it would have written.
        writes.iter().for_each(|&at| freed.extend(slots[at].written(side, &self.read)));
        drop(slots);
        drop(freed);
        let done = self.submit(side, &addresses, scalars, replay);
        if let (Ok(()), Some((.., runs))) = (&done, &self.last_decision) {
            count(runs, 1);
        }
        Some(done)
    }

    /// Returns the seconds on a side if the data are there. The model assumes that the host reads as much of the
    /// results as last time.
    fn total(&self, side: usize) -> f64 {
        let read = self.read.load(Relaxed);
        self.seconds[side] + if side == GPU { self.auto.move_seconds(HOST, read as f64) } else { 0.0 }
    }

    /// Copies what is needed to a side and runs there. Returns the bytes that were copied.
    fn run_on(&mut self, side: usize, bindings: &[Binding], scalars: &[Scalar], replay: bool) -> Result<usize> {
        let mut moved = 0;
        let mut addresses: SmallVec<[u64; 8]> = SmallVec::with_capacity(bindings.len());
        // Keeps memory that is replaced below alive until the program has been submitted.
        let mut held: SmallVec<[Buffer; 8]> = SmallVec::with_capacity(bindings.len());
        for (binding, &leaf) in bindings.iter().zip(&self.leaves) {
            let Some((at, offset)) = *binding else {
                addresses.push(0);
                continue;
            };
            if leaf {
                moved += self.auto.copy_to(at, side)?;
            }
            let memory = self.auto.memory(at, side)?;
            addresses.push(memory.address() + offset);
            held.push(memory);
        }
        if self.executables[side].is_none() {
            if side == GPU
                && let Some((background, _)) = self.background.take()
            {
                background.wait();
            }
            self.executables[side] = Some(self.auto.sides[side].compile(&self.program)?);
        }
        self.submit(side, &addresses, scalars, replay)?;
        let written = |slots: &mut super::buffers::Slots| -> Vec<Buffer> {
            let writes = bindings.iter().zip(self.touched.iter()).filter(|(_, touched)| touched[1]);
            writes.filter_map(|(binding, _)| slots[binding.as_ref()?.0].written(side, &self.read)).collect()
        };
        let freed = written(&mut self.auto.table.open());
        drop(freed);
        Ok(moved)
    }

    /// Runs the program that was compiled for a side.
    fn submit(&mut self, side: usize, addresses: &[u64], scalars: &[Scalar], replay: bool) -> Result<()> {
        let executable = self.executables[side].as_mut().expect("the caller has compiled it");
        (self.side, self.submitted) = (side, true);
        if side == GPU {
            self.auto.busy.store(true, Relaxed);
        }
        let result = executable.run(addresses, scalars, replay);
        self.interrupted = result.as_ref().is_err_and(|e| e.kind == ErrorKind::Interrupted);
        result
    }

    /// Returns the program of the side that the last run has reached.
    fn ran(&self) -> Option<&dyn Executable> {
        self.executables[self.side].as_deref().filter(|_| self.submitted)
    }

    fn bind(&self, buffers: &[u64]) -> Result<SmallVec<[Binding; 8]>> {
        let bind = |&address: &u64| if address == 0 { Ok(None) } else { self.auto.table.find(address).map(Some) };
        buffers.iter().map(bind).collect()
    }

    /// Decides on which side to run, runs there, and logs the decision.
    fn decide(&mut self, bindings: &[Binding], scalars: &[Scalar], replay: bool) -> Result<()> {
        let mut leaves: Vec<(usize, bool)> = Vec::new();
        for ((binding, &leaf), touched) in bindings.iter().zip(&self.leaves).zip(self.touched.iter()) {
            let Some((at, _)) = binding.filter(|_| leaf) else { continue };
            match leaves.iter_mut().find(|(known, _)| *known == at) {
                Some((_, written)) => *written |= touched[1],
                None => leaves.push((at, touched[1])),
            }
        }
        let (side, mut why) = self.choose(&leaves);
        let mut chosen = side;
        let moved = match self.run_on(side, bindings, scalars, replay) {
            // The GPU has no room, or a library is not installed. The host can run the program as well.
            Err(e) if side == GPU && self.supported[HOST] && !self.submitted => {
                let cause = e.message.lines().next().unwrap_or_default();
                if e.kind != ErrorKind::Memory {
                    self.supported[GPU] = false;
                    self.why_not = format!(": {cause}");
                }
                why = format!("{} failed: {cause}", self.auto.names[GPU]).into();
                chosen = HOST;
                self.run_on(HOST, bindings, scalars, replay)?
            }
            done => done?,
        };
        if let Some((side, bytes, before, runs)) = &self.last_decision
            && (*side, *bytes, before) == (chosen, moved, &why)
        {
            count(runs, 1);
            return Ok(());
        }
        let runs = Arc::new(AtomicU64::new(1));
        self.last_decision = Some((chosen, moved, why.clone(), runs.clone()));
        self.auto.log(Decision {
            program: self.name.clone(),
            side: chosen,
            seconds: [HOST, GPU].map(|side| self.total(side)),
            moved,
            move_seconds: self.auto.move_seconds(chosen, moved as f64),
            why,
            runs,
        });
        Ok(())
    }
}

/// Adds to a counter that changes only under the engine's lock.
fn count(number: &AtomicU64, more: u64) {
    number.store(number.load(Relaxed) + more, Relaxed);
}

/// Returns for each buffer whether it is read and whether it is written.
fn touched(program: &Program) -> Vec<[bool; 2]> {
    let mut touched = vec![[false; 2]; program.buffers.len()];
    for step in &program.steps {
        step.touches(|buffer, writes| {
            touched[buffer as usize][0] |= !writes;
            touched[buffer as usize][1] |= writes;
        });
    }
    touched
}

impl Executable for AutoExecutable {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()> {
        self.submitted = false;
        if self.interrupted {
            self.run_on(self.side, &self.bind(buffers)?, scalars, replay)?;
        } else {
            match self.repeat(buffers, scalars, replay) {
                Some(done) => done?,
                None => self.decide(&self.bind(buffers)?, scalars, replay)?,
            }
        }
        count(&self.auto.clock, (self.seconds[self.side] * 1e9) as u64);
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ran().map_or(Progress::default(), |executable| executable.progress())
    }

    fn is_busy(&self) -> bool {
        self.ran().is_some_and(|executable| executable.is_busy())
    }

    fn early(&self, _: usize) -> Option<Arc<dyn Mark>> {
        None
    }
}
