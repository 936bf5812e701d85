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

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use cuprous_advisor::counted::Counted;
use cuprous_advisor::rates::Rates;
use cuprous_advisor::units::{quantity, seconds};
use cuprous_core::error::ErrorKind;
use cuprous_core::{Buffer, CallOp, Error, Memory, Result, Scalar};

use crate::cost;
use crate::device::{Device, Executable, Mark};
use crate::kernels::KernelRef;
use crate::program::{Place, Program, Step};

/// The host, and the GPU.
const HOST: usize = 0;
const GPU: usize = 1;

/// Seconds that a GPU's compiler takes for a kernel that it does not know yet.
const COMPILE: f64 = 0.03;
/// Decisions that `explain()` still tells.
const TOLD: usize = 32;
const ALIGN: u64 = 256;

/// Two devices as one.
pub struct AutoDevice(Arc<Inner>);

struct Inner {
    sides: [Arc<dyn Device>; 2],
    names: [String; 2],
    rates: [Rates; 2],
    table: Arc<Table>,
    journal: Mutex<VecDeque<Decision>>,
    /// The GPU was given work since it was last waited for: waiting for one that has none takes it 5 µs.
    busy: AtomicBool,
}

/// Memory on either side or both.
struct Dual {
    base: u64,
    bytes: usize,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    memory: [Option<Buffer>; 2],
    /// Which sides hold the present contents. Neither does before the first write.
    valid: [bool; 2],
    /// The side to which it was brought, or where it was written, last. A write on the other side costs the way back.
    home: usize,
    /// Seconds that programs have lost by leaving it where it is.
    owed: f64,
    /// Where the program that wrote it keeps how many bytes of its results the host read.
    writer: Option<Arc<AtomicU64>>,
}

/// Every dual, by its address. Addresses are never given anew.
struct Table {
    next: AtomicU64,
    duals: Mutex<BTreeMap<u64, Arc<Dual>>>,
}

/// What the engine holds of a dual.
struct Handle {
    dual: Arc<Dual>,
    table: Arc<Table>,
}

impl Memory for Handle {
    fn address(&self) -> u64 {
        self.dual.base
    }
    fn bytes(&self) -> usize {
        self.dual.bytes
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.table.duals).remove(&self.dual.base);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Table {
    fn make(self: &Arc<Table>, bytes: usize) -> Buffer {
        let room = (bytes as u64).next_multiple_of(ALIGN) + ALIGN;
        let base = self.next.fetch_add(room, Relaxed);
        let dual = Arc::new(Dual { base, bytes, places: Mutex::default() });
        lock(&self.duals).insert(base, dual.clone());
        Arc::new(Handle { dual, table: self.clone() })
    }

    /// The dual that an address lies in, and how far inside.
    fn find(&self, address: u64) -> Result<(Arc<Dual>, u64)> {
        let duals = lock(&self.duals);
        let found = duals.range(..=address).next_back().filter(|(base, dual)| address - **base <= dual.bytes as u64);
        found.map(|(base, dual)| (dual.clone(), address - base)).ok_or_else(|| {
            Error::not_implemented(
                "[auto] memory of others cannot be used on the device \"auto\"; copy it with cuprous.array first",
            )
        })
    }
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
    fn written(dual: &Dual, side: usize, writer: Option<&Arc<AtomicU64>>) {
        let mut places = lock(&dual.places);
        places.writer = writer.cloned();
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
        let table = Arc::new(Table { next: AtomicU64::new(1 << 40), duals: Mutex::default() });
        let journal = Mutex::default();
        AutoDevice(Arc::new(Inner { sides: [host, gpu], names, rates, table, journal, busy: AtomicBool::new(false) }))
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
        Inner::written(&dual, HOST, None);
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
        Ok(Box::new(AutoProgram {
            auto: self.0.clone(),
            what,
            seconds: [HOST, GPU].map(|side| work.run(&self.0.rates[side])),
            able: [HOST, GPU].map(|side| knows(&self.0.sides[side])),
            made: [None, None],
            owed: 0.0,
            why_not: String::new(),
            read: Arc::default(),
            submitted: false,
            kernels: program.steps.iter().any(|step| !matches!(step, Step::Call(_))),
            touched: touched(program).into(),
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
        self.0.sides[GPU].idle()
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
    touched: Arc<[[bool; 2]]>,
    /// What the journal was told last: the side, the bytes that were moved, why, and how often.
    told: Option<(usize, usize, Cow<'static, str>, Arc<AtomicU64>)>,
    /// What it takes on each side, by the model.
    seconds: [f64; 2],
    able: [bool; 2],
    made: [Option<Box<dyn Executable>>; 2],
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
        let compile = if self.made[GPU].is_none() && self.kernels { COMPILE } else { 0.0 };
        let extra = [moves[HOST], moves[GPU] + compile];
        for side in [HOST, GPU] {
            if !self.able[1 - side] {
                return (side, format!("{} cannot{}", self.auto.names[1 - side], self.why_not).into());
            }
        }
        // Results that the host read last time will be read again; the wait for them is in the program's time.
        let gpu = &self.auto.rates[GPU];
        let back = gpu.copies.map_or(0.0, |c| self.read.load(Relaxed) as f64 / c.down);
        let alone = [self.seconds[HOST], self.seconds[GPU] + back];
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
            return (near, "faster there".into());
        }
        // Faster where it does not run, were it not for moves: what is lost by that pays for them in time.
        let needed = extra[far] - extra[near].min(extra[far]);
        let own = if far == GPU { compile } else { 0.0 };
        let share = own / (own + moves[far]).max(1e-12);
        self.owed += lost * share;
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
            _ => "compiling it would cost more so far",
        };
        (near, what.into())
    }

    fn on(
        &mut self,
        side: usize,
        bound: &[Bound],
        touched: &[[bool; 2]],
        scalars: &[Scalar],
        replay: bool,
    ) -> Result<usize> {
        let mut moved = 0;
        let mut addresses = Vec::with_capacity(bound.len());
        // Held, so that memory that is replaced below lives until the program has been submitted.
        let mut held = Vec::with_capacity(bound.len());
        for (k, (dual, at)) in bound.iter().enumerate() {
            let leaf = matches!(self.program.buffers[k].place, Place::Leaf(_));
            if leaf && touched[k] != [false, false] {
                moved += self.auto.bring(dual, side)?;
            }
            let memory = self.auto.memory(dual, side)?;
            addresses.push(memory.address() + at);
            held.push(memory);
        }
        if self.made[side].is_none() {
            self.made[side] = Some(self.auto.sides[side].compile(&self.program)?);
        }
        if let Some(made) = &mut self.made[side] {
            self.submitted = true;
            if side == GPU {
                self.auto.busy.store(true, Relaxed);
            }
            made.run(&addresses, scalars, replay)?;
        }
        for ((dual, _), touched) in bound.iter().zip(touched) {
            if touched[1] {
                Inner::written(dual, side, Some(&self.read));
            }
        }
        Ok(moved)
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
        let touched = self.touched.clone();
        let bound = buffers
            .iter()
            .map(|&address| if address == 0 { Ok(None) } else { self.auto.table.find(address).map(Some) })
            .collect::<Result<Vec<Option<Bound>>>>()?;
        let nothing = || (Arc::new(Dual { base: 0, bytes: 0, places: Mutex::default() }), 0);
        let bound: Vec<Bound> = bound.into_iter().map(|b| b.unwrap_or_else(nothing)).collect();
        let mut leaves: Vec<(Arc<Dual>, bool)> = Vec::new();
        for (k, (dual, _)) in bound.iter().enumerate() {
            let leaf = matches!(self.program.buffers[k].place, Place::Leaf(_)) && touched[k] != [false, false];
            if !leaf {
                continue;
            }
            match leaves.iter_mut().find(|(known, _)| Arc::ptr_eq(known, dual)) {
                Some((_, written)) => *written |= touched[k][1],
                None => leaves.push((dual.clone(), touched[k][1])),
            }
        }
        let (side, mut why) = self.choose(&leaves);
        self.submitted = false;
        let mut chosen = side;
        let moved = match self.on(side, &bound, &touched, scalars, replay) {
            // No room there, or a library that is not installed: the host can do it as well.
            Err(e) if side == GPU && self.able[HOST] && !self.submitted => {
                if e.kind != ErrorKind::Memory {
                    self.able[GPU] = false;
                    self.why_not = format!(": {}", e.message.lines().next().unwrap_or_default());
                }
                why =
                    format!("{} failed: {}", self.auto.names[GPU], e.message.lines().next().unwrap_or_default()).into();
                chosen = HOST;
                self.on(HOST, &bound, &touched, scalars, replay)?
            }
            done => done?,
        };
        if let Some((side, bytes, before, times)) = &self.told
            && (*side, *bytes, before) == (chosen, moved, &why)
        {
            times.fetch_add(1, Relaxed);
            return Ok(());
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
        Ok(())
    }

    fn weight(&self) -> usize {
        self.made.iter().flatten().map(|made| made.weight()).sum::<usize>() + (1 << 12)
    }
}
