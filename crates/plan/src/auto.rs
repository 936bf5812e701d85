//! The device "auto": each program runs where the model says that it is faster, given where its data are.
//!
//! It is a device like any other, made of two: the host and a GPU. An array has one address here and memory on either or
//! both; the address only names it. What a program reads is brought to where it runs, and stays there as well until
//! somebody writes it.
//!
//! A move is made when the program gains more than the move costs, or when the programs that stayed because of that move
//! have lost as much by staying: then the move has been paid for already (as one buys skis after having paid their price
//! in rent). So nothing goes back and forth for a loss, work that repeats ends where it is faster, and both depend on what
//! was recorded and on the rates, never on clocks.
//!
//! The GPU's compiler is slow. A program that has lost a little by staying is compiled beside the work that goes on; by the
//! model's own time, which all programs together let pass, the wait that is left shrinks to nothing.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use cuprous_advisor::counted::Counted;
use cuprous_advisor::rates::Rates;
use cuprous_advisor::units::{quantity, seconds};
use cuprous_core::error::ErrorKind;
use cuprous_core::{Buffer, CallOp, Error, Result, Scalar};
use smallvec::SmallVec;

use crate::cost;
use crate::device::{Device, Executable, Mark};
use crate::kernels::KernelRef;
use crate::program::{Place, Program, Step};

pub(crate) mod background;
mod duals;

use background::Making;
use duals::{Dual, Table, lock};

/// The host, and the GPU.
const HOST: usize = 0;
const GPU: usize = 1;

/// Seconds that a GPU's compiler takes for a kernel that it does not know yet.
const COMPILE: f64 = 0.03;
/// Seconds that a program loses by staying before it is compiled in the background: a processor's time, but nobody's wait.
const WORTH_COMPILING: f64 = COMPILE / 16.0;
/// Decisions that `explain()` still tells.
const TOLD: usize = 32;
/// Why a program runs where it does: no more is to be said.
const FASTER: &str = "faster there";

/// Two devices as one.
pub struct AutoDevice(Arc<Inner>);

struct Inner {
    sides: [Arc<dyn Device>; 2],
    names: [String; 2],
    rates: [Rates; 2],
    table: Arc<Table>,
    journal: Mutex<VecDeque<Decision>>,
    /// Nanoseconds that everything took by the model.
    clock: AtomicU64,
    /// The GPU was given work since it was last waited for: waiting for one that has none takes it 5 µs.
    busy: AtomicBool,
}

impl Inner {
    /// Seconds until that side has what it lacks of `bytes`.
    fn moving(&self, to: usize, bytes: f64) -> f64 {
        if to == GPU { self.rates[GPU].upload(bytes, false) } else { self.rates[GPU].download(bytes, false) }
    }

    /// Memory for a dual on one side.
    fn memory(&self, dual: &Dual, side: usize) -> Result<Buffer> {
        let mut places = lock(&dual.places);
        if let Some(memory) = &places.memory[side] {
            return Ok(memory.clone());
        }
        let made = self.sides[side].alloc(dual.bytes)?;
        places.memory[side] = Some(made.clone());
        Ok(made)
    }

    /// Brings the contents of a dual to one side; how many bytes that moved.
    fn bring(&self, dual: &Dual, side: usize) -> Result<usize> {
        let mut places = lock(&dual.places);
        if places.valid[side] || !places.valid[1 - side] {
            return Ok(0);
        }
        let Some(from) = places.memory[1 - side].clone() else { return Ok(0) };
        let host = if side == GPU { from.clone() } else { self.sides[HOST].alloc(dual.bytes)? };
        let brought = if dual.bytes == 0 {
            self.sides[side].alloc(0)?
        } else {
            // SAFETY: memory of the host device of that size, which `host` keeps; the engine that asks holds its lock, so
            // nothing else touches it.
            let slice = unsafe { std::slice::from_raw_parts_mut(host.address() as *mut u8, dual.bytes) };
            if side == GPU {
                self.busy.store(true, Relaxed);
                self.sides[GPU].upload(slice, true)?
            } else {
                self.sides[GPU].download(from.address(), slice)?;
                host
            }
        };
        places.memory[side] = Some(brought);
        places.valid[side] = true;
        (places.home, places.owed) = (side, 0.0);
        Ok(dual.bytes)
    }

    /// One side has been written.
    fn written(dual: &Dual, side: usize, writer: &Arc<AtomicU64>) {
        let mut places = lock(&dual.places);
        if places.writer.as_ref().is_none_or(|known| !Arc::ptr_eq(known, writer)) {
            places.writer = Some(writer.clone());
        }
        if places.home != side {
            (places.home, places.owed) = (side, 0.0);
        }
        places.valid[side] = true;
        places.valid[1 - side] = false;
        places.memory[1 - side] = None;
    }

    fn tell(&self, decision: Decision) {
        let mut journal = lock(&self.journal);
        if journal.len() == TOLD {
            journal.pop_front();
        }
        journal.push_back(decision);
    }
}

/// Why a program ran where it did.
struct Decision {
    what: String,
    side: usize,
    seconds: [f64; 2],
    moved: usize,
    moving: f64,
    why: Cow<'static, str>,
    times: Arc<AtomicU64>,
}

impl AutoDevice {
    /// A device of two. `host` keeps its memory where the process can read it; `rates` are theirs, the GPU's with copies.
    pub fn new(host: Arc<dyn Device>, gpu: Arc<dyn Device>, names: [String; 2], rates: [Rates; 2]) -> AutoDevice {
        let table = Arc::default();
        let journal = Mutex::default();
        let (clock, busy) = (AtomicU64::new(0), AtomicBool::new(false));
        AutoDevice(Arc::new(Inner { sides: [host, gpu], names, rates, table, journal, clock, busy }))
    }
}

impl Device for AutoDevice {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        Ok(self.0.table.make(bytes))
    }

    fn upload(&self, from: &[u8], _: bool) -> Result<Buffer> {
        let made = self.0.table.make(from.len());
        let (dual, _) = self.0.table.find(made.address())?;
        lock(&dual.places).memory[HOST] = Some(self.0.sides[HOST].upload(from, true)?);
        let mut places = lock(&dual.places);
        (places.home, places.valid) = (HOST, [true, false]);
        Ok(made)
    }

    fn download(&self, from: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let (dual, at) = self.0.table.find(from)?;
        let side = {
            let places = lock(&dual.places);
            if let Some(read) = &places.writer {
                read.store(to.len() as u64, Relaxed);
            }
            if places.valid[HOST] { HOST } else { GPU }
        };
        let memory = self.0.memory(&dual, side)?;
        self.0.sides[side].download(memory.address() + at, to)
    }

    fn synchronize(&self) -> Result<()> {
        if self.0.busy.swap(false, Relaxed) {
            self.0.sides[GPU].synchronize()?;
        }
        self.0.sides[HOST].synchronize()
    }

    fn can(&self, call: &CallOp) -> bool {
        self.0.sides[HOST].can(call)
    }

    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>> {
        let piece = cost::of(program, 0);
        let work = Counted { programs: vec![piece], ..Counted::default() };
        let knows = |side: &Arc<dyn Device>| {
            program.steps.iter().all(|step| if let Step::Call(call) = step { side.can(&call.op) } else { true })
        };
        let mut what: Vec<&str> = work.programs[0].steps.iter().map(|(name, _)| name.as_str()).collect();
        let more = what.len().saturating_sub(2);
        what.truncate(2);
        let mut what = what.join("; ");
        if more > 0 {
            let _ = write!(what, "; and {more} more");
        }
        let touched = touched(program);
        let is_leaf = |(buffer, touched): (&crate::program::BufferInfo, &[bool; 2])| {
            matches!(buffer.place, Place::Leaf(_)) && *touched != [false, false]
        };
        let leaves: Vec<bool> = program.buffers.iter().zip(&touched).map(is_leaf).collect();
        Ok(Box::new(AutoProgram {
            auto: self.0.clone(),
            what,
            seconds: [HOST, GPU].map(|side| work.run(&self.0.rates[side])),
            able: [HOST, GPU].map(|side| knows(&self.0.sides[side])),
            made: [None, None],
            making: None,
            owed: 0.0,
            why_not: String::new(),
            read: Arc::default(),
            submitted: false,
            kernels: program.steps.iter().any(|step| !matches!(step, Step::Call(_))),
            leaves: leaves.into(),
            touched: touched.into(),
            told: None,
            program: program.clone(),
        }))
    }

    fn source(&self, program: &Program) -> Result<String> {
        self.0.sides[HOST].source(program)
    }

    fn user_kernel(&self, _: &cuprous_kernel::Module, _: &cuprous_kernel::Options) -> Result<KernelRef> {
        Err(Error::not_implemented(
            "[cuda.jit] kernels of your own run on \"cpu\" or \"cuda\", not on \"auto\": move their arrays first, with \
             x.to_device(\"cuda\")",
        ))
    }

    fn trim(&self) {
        self.0.sides.iter().for_each(|side| side.trim());
    }

    fn mark(&self) -> Result<Box<dyn Mark>> {
        self.0.sides[GPU].mark()
    }

    fn idle(&self) -> Result<bool> {
        // Nobody else is given work through this device.
        if self.0.busy.load(Relaxed) { self.0.sides[GPU].idle() } else { Ok(true) }
    }

    fn wait_for(&self, stream: u64) -> Result<()> {
        self.0.sides[GPU].wait_for(stream)
    }

    fn is_done(&self, stream: u64) -> Result<bool> {
        self.0.sides[GPU].is_done(stream)
    }

    fn stream(&self) -> u64 {
        self.0.sides[GPU].stream()
    }

    fn hand_over(&self, _: Option<i64>) -> Result<()> {
        Err(no_address())
    }

    fn has_addresses(&self) -> bool {
        false
    }

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

    fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.0.sides[GPU].set_memory_limit(bytes)
    }

    fn is_asynchronous(&self) -> bool {
        self.0.sides[GPU].is_asynchronous()
    }

    fn explain(&self) -> String {
        let [host, gpu] = &self.0.names;
        let mut text = String::new();
        for d in lock(&self.0.journal).iter() {
            let times = d.times.load(Relaxed);
            let times = if times > 1 { format!(" {times}×") } else { String::new() };
            let _ = write!(
                text,
                "auto: {} ran{times} on {}: {} on {host}, {} on {gpu}",
                d.what,
                self.0.names[d.side],
                seconds(d.seconds[HOST]),
                seconds(d.seconds[GPU])
            );
            if d.moved > 0 {
                let _ = write!(text, "; {} came there first, {}", quantity(d.moved as f64, "B"), seconds(d.moving));
            }
            let _ = writeln!(text, "; {}", d.why);
        }
        text
    }
}

/// For those who ask where an array lies.
pub(crate) fn no_address() -> Error {
    Error::not_implemented(
        "[auto] arrays on the device \"auto\" lie on the CPU or on the GPU as it suits, so they have no address; move one \
         first, with x.to_device(\"cpu\") or x.to_device(\"cuda\")",
    )
}

struct AutoProgram {
    auto: Arc<Inner>,
    what: String,
    program: Arc<Program>,
    /// It has kernels to compile.
    kernels: bool,
    /// Of each buffer: is it read, is it written?
    touched: Box<[[bool; 2]]>,
    /// Of each: does it come from outside, and is it used?
    leaves: Box<[bool]>,
    /// What the journal was told last: the side, the bytes that were moved, why, and how often.
    told: Option<(usize, usize, Cow<'static, str>, Arc<AtomicU64>)>,
    /// What it takes on each side, by the model.
    seconds: [f64; 2],
    able: [bool; 2],
    made: [Option<Box<dyn Executable>>; 2],
    /// It is being compiled for the GPU, since the model's clock said that.
    making: Option<(Arc<Making>, u64)>,
    /// Seconds lost because it had not been compiled for the GPU.
    owed: f64,
    /// Why a side is out.
    why_not: String,
    /// Bytes of its results that the host read last time.
    read: Arc<AtomicU64>,
    /// This run has reached the device: nothing else may be tried.
    submitted: bool,
}

/// A buffer of the program: which dual, and where in it.
type Bound = (Arc<Dual>, u64);

impl AutoProgram {
    /// The side, what must come there, and why.
    fn choose(&mut self, leaves: &[(Arc<Dual>, bool)]) -> (usize, Cow<'static, str>) {
        // What is not there, and what a write there would take from the other side, where it is wanted.
        let lacks = |side: usize| {
            leaves.iter().filter_map(move |(dual, written)| {
                let places = lock(&dual.places);
                let absent = !places.valid[side] && places.valid[1 - side];
                let taken = *written && places.valid == [true, true] && places.home != side;
                (absent || taken).then_some((dual, if absent { side } else { 1 - side }))
            })
        };
        let bytes = |side: usize, to: usize| {
            lacks(side).filter(|&(_, way)| way == to).map(|(dual, _)| dual.bytes as f64).sum::<f64>()
        };
        let moves =
            [HOST, GPU].map(|side| self.auto.moving(HOST, bytes(side, HOST)) + self.auto.moving(GPU, bytes(side, GPU)));
        // A GPU's compiler is slow, and what it makes is kept.
        let compile = match (&self.made[GPU], &self.making) {
            (Some(_), _) => 0.0,
            _ if !self.kernels => 0.0,
            (None, None) => COMPILE,
            (None, Some((_, since))) => {
                let passed = (self.auto.clock.load(Relaxed) - since) as f64 * 1e-9;
                (COMPILE - passed).max(0.0)
            }
        };
        let extra = [moves[HOST], moves[GPU] + compile];
        for side in [HOST, GPU] {
            if !self.able[1 - side] {
                return (side, format!("{} cannot{}", self.auto.names[1 - side], self.why_not).into());
            }
        }
        let alone = [HOST, GPU].map(|side| self.total(side));
        let total = [HOST, GPU].map(|side| alone[side] + extra[side]);
        let near = if total[GPU] < total[HOST] { GPU } else { HOST };
        let far = 1 - near;
        let lost = alone[near] - alone[far];
        if lost <= 0.0 {
            // What it wins by where its data are speaks against what others lose by it.
            for (dual, _) in lacks(far) {
                let mut places = lock(&dual.places);
                places.owed = (places.owed + lost).max(0.0);
            }
            return (near, FASTER.into());
        }
        // Faster where it does not run, were it not for moves: what is lost by that pays for them in time.
        let needed = extra[far] - extra[near].min(extra[far]);
        let own = if far == GPU { compile } else { 0.0 };
        let share = own / (own + moves[far]).max(1e-12);
        self.owed += lost * share;
        if own > 0.0 && self.making.is_none() && self.owed >= WORTH_COMPILING {
            let now = self.auto.clock.load(Relaxed);
            self.making = Some((Making::start(&self.auto.sides[GPU], &self.program), now));
        }
        let mut paid = if own > 0.0 { self.owed.min(own) } else { 0.0 };
        let all = (bytes(far, HOST) + bytes(far, GPU)).max(1.0);
        for (dual, _) in lacks(far) {
            let part = dual.bytes as f64 / all;
            let mut places = lock(&dual.places);
            places.owed += lost * (1.0 - share) * part;
            paid += places.owed.min(moves[far] * part);
        }
        // What was lost is the sum of many parts, each of them rounded.
        if paid >= needed * (1.0 - 1e-9) {
            return (far, "faster there, and staying has cost as much as the move by now".into());
        }
        let what = match (moves[far] > 0.0, own > 0.0) {
            (true, true) => "moving its data and compiling it would cost more so far",
            (true, false) => "moving its data would cost more so far",
            _ if self.making.is_some() => "it is being compiled for the other meanwhile",
            _ => "compiling it would cost more so far",
        };
        (near, what.into())
    }

    /// Runs where it ran last, if nothing has changed that could speak against it; the side. Most runs are such.
    fn again(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Option<Result<usize>> {
        let (side, 0, Cow::Borrowed(FASTER), _) = self.told.as_ref()? else { return None };
        let side = *side;
        if self.total(side) > self.total(1 - side) {
            return None;
        }
        // What the engine asks to be run it holds, and so the memory that the duals have.
        let mut addresses: SmallVec<[u64; 8]> = SmallVec::with_capacity(buffers.len());
        let open = self.auto.table.open();
        for ((&address, touched), &leaf) in buffers.iter().zip(self.touched.iter()).zip(&self.leaves) {
            let (dual, at) = open.find(address)?;
            let mut places = lock(&dual.places);
            if leaf {
                let there = places.valid[side] || !places.valid[1 - side];
                let taken = touched[1] && places.valid == [true, true] && places.home != side;
                if !there || taken || places.owed != 0.0 {
                    return None;
                }
            }
            let memory = match &mut places.memory[side] {
                Some(memory) => memory,
                none => none.insert(self.auto.sides[side].alloc(dual.bytes).ok()?),
            };
            addresses.push(memory.address() + at);
        }
        drop(open);
        if side == GPU {
            self.auto.busy.store(true, Relaxed);
        }
        self.submitted = true;
        if let Err(e) = self.made[side].as_mut()?.run(&addresses, scalars, replay) {
            return Some(Err(e));
        }
        let open = self.auto.table.open();
        for (&address, touched) in buffers.iter().zip(self.touched.iter()) {
            if let (true, Some((dual, _))) = (touched[1], open.find(address)) {
                Inner::written(dual, side, &self.read);
            }
        }
        drop(open);
        if let Some((.., times)) = &self.told {
            times.fetch_add(1, Relaxed);
        }
        Some(Ok(side))
    }

    /// Seconds on a side where its data are there. Results that the host read last time will be read again; the wait for
    /// them is in the program's time.
    fn total(&self, side: usize) -> f64 {
        let back = |side: usize| {
            let read = self.read.load(Relaxed);
            let copies = if side == GPU && read > 0 { self.auto.rates[GPU].copies } else { None };
            copies.map_or(0.0, |c| read as f64 / c.down)
        };
        self.seconds[side] + back(side)
    }

    fn on(&mut self, side: usize, bound: &[Bound], scalars: &[Scalar], replay: bool) -> Result<usize> {
        let mut moved = 0;
        let mut addresses: SmallVec<[u64; 8]> = SmallVec::with_capacity(bound.len());
        // Held, so that memory that is replaced below lives until the program has been submitted.
        let mut held: SmallVec<[Buffer; 8]> = SmallVec::with_capacity(bound.len());
        for ((dual, at), &leaf) in bound.iter().zip(&self.leaves) {
            let memory = match dual.there(side) {
                Some(memory) => memory,
                None => {
                    if leaf {
                        moved += self.auto.bring(dual, side)?;
                    }
                    self.auto.memory(dual, side)?
                }
            };
            addresses.push(memory.address() + at);
            held.push(memory);
        }
        if self.made[side].is_none() {
            if side == GPU
                && let Some((making, _)) = self.making.take()
            {
                making.wait();
            }
            self.made[side] = Some(self.auto.sides[side].compile(&self.program)?);
        }
        if let Some(made) = &mut self.made[side] {
            self.submitted = true;
            if side == GPU {
                self.auto.busy.store(true, Relaxed);
            }
            made.run(&addresses, scalars, replay)?;
        }
        for ((dual, _), touched) in bound.iter().zip(self.touched.iter()) {
            if touched[1] {
                Inner::written(dual, side, &self.read);
            }
        }
        Ok(moved)
    }

    fn bind(&self, buffers: &[u64]) -> Result<SmallVec<[Bound; 8]>> {
        let bind = |&address: &u64| if address == 0 { Ok((Dual::nothing(), 0)) } else { self.auto.table.find(address) };
        buffers.iter().map(bind).collect()
    }

    /// Runs where it is chosen to, and tells the journal.
    fn decide(&mut self, bound: &[Bound], scalars: &[Scalar], replay: bool) -> Result<usize> {
        let mut leaves: Vec<(Arc<Dual>, bool)> = Vec::new();
        for (k, (dual, _)) in bound.iter().enumerate().filter(|(k, _)| self.leaves[*k]) {
            match leaves.iter_mut().find(|(known, _)| Arc::ptr_eq(known, dual)) {
                Some((_, written)) => *written |= self.touched[k][1],
                None => leaves.push((dual.clone(), self.touched[k][1])),
            }
        }
        let (side, mut why) = self.choose(&leaves);
        let mut chosen = side;
        let moved = match self.on(side, bound, scalars, replay) {
            // No room there, or a library that is not installed: the host can do it as well.
            Err(e) if side == GPU && self.able[HOST] && !self.submitted => {
                if e.kind != ErrorKind::Memory {
                    self.able[GPU] = false;
                    self.why_not = format!(": {}", e.message.lines().next().unwrap_or_default());
                }
                why =
                    format!("{} failed: {}", self.auto.names[GPU], e.message.lines().next().unwrap_or_default()).into();
                chosen = HOST;
                self.on(HOST, bound, scalars, replay)?
            }
            done => done?,
        };
        if let Some((side, bytes, before, times)) = &self.told
            && (*side, *bytes, before) == (chosen, moved, &why)
        {
            times.fetch_add(1, Relaxed);
            return Ok(chosen);
        }
        let times = Arc::new(AtomicU64::new(1));
        self.told = Some((chosen, moved, why.clone(), times.clone()));
        self.auto.tell(Decision {
            what: self.what.clone(),
            side: chosen,
            seconds: self.seconds,
            moved,
            moving: self.auto.moving(chosen, moved as f64),
            why,
            times,
        });
        Ok(chosen)
    }
}

/// Of each buffer: is it read, is it written?
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

impl Executable for AutoProgram {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()> {
        self.submitted = false;
        let side = match self.again(buffers, scalars, replay) {
            Some(done) => done?,
            None => self.decide(&self.bind(buffers)?, scalars, replay)?,
        };
        self.auto.clock.fetch_add((self.seconds[side] * 1e9) as u64, Relaxed);
        Ok(())
    }

    fn weight(&self) -> usize {
        self.made.iter().flatten().map(|made| made.weight()).sum::<usize>() + (1 << 12)
    }
}
