//! Calibration: measures the rates that programs reach on a device, through its engine.
//!
//! The rate of an elementwise function is a slope: the time that a longer chain takes beyond a shorter one, so that
//! launches and memory cancel out. All other rates come from whole runs, less the launches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuprous_advisor::rates::{Copies, Rates, Room};
use cuprous_advisor::weights::weight;
use cuprous_advisor::{Group, Load};
use cuprous_core::ops::Class;
use cuprous_core::routine::{Edge, FftKind, FftScale, LinalgOp, Vectors};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, ReduceOp, Result, RoutineOp, ScanOp, ScatterOp};

use crate::cost;
use crate::engine::{Engine, Operand};

pub mod dry_run;

/// What the caller knows about the device.
#[derive(Clone, Debug)]
pub struct DeviceSetup {
    /// Its name.
    pub name: String,
    /// Bytes of its caches, nearest first, as far as all cores can use them at once. Memory is measured after the last.
    pub caches: Vec<f64>,
    /// Bytes of its memory, or 0 if it does not matter.
    pub memory: f64,
    /// Threads that share larger work.
    pub threads: f64,
    /// Seconds to record an operation in the user's language.
    pub record: f64,
    /// Seconds until the device can be used.
    pub startup: f64,
    /// True for a GPU, which needs larger work, and whose copies are measured.
    pub gpu: bool,
    /// Bytes per second to and from pinned memory, if there is pinned memory.
    pub pinned: Option<[f64; 2]>,
    /// Smaller work, each measured once, for tests that only use the figures.
    pub quick: bool,
}

impl DeviceSetup {
    /// Returns rates without any measurement.
    fn unknown(&self) -> Rates {
        Rates {
            name: self.name.clone(),
            work: BTreeMap::new(),
            rooms: Vec::new(),
            launch: 0.0,
            program: 0.0,
            record: self.record,
            share: 0.0,
            threads: self.threads,
            together: 0.0,
            memory: self.memory,
            startup: self.startup,
            copies: None,
        }
    }
}

/// Called with the name of each group of measurements before it starts.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// The result of a calibration.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The rates.
    pub rates: Rates,
    /// The ratio of the longest to the shortest time of the same work, repeated between the measurements. It is well
    /// above 1 if something else used the machine.
    pub spread: f64,
}

/// Measures a device.
///
/// # Errors
/// The device failed. Routines without code or library on the device are left out.
pub fn measure(engine: &Arc<Engine>, setup: &DeviceSetup, progress: Progress) -> Result<Measured> {
    let mut rates = setup.unknown();
    if setup.gpu {
        // One after another the kernels take minutes to compile.
        progress("recording the kernels to compile");
        let programs = dry_run::programs(setup, Some(engine.device.clone()));
        engine.device.prepare(&programs, &mut |done, all| {
            if done * 10 / all > (done - 1) * 10 / all {
                progress(&format!("compiled {done} of {all} kernels"));
            }
        });
    }
    let bench = Bench { engine, gpu: setup.gpu, quick: setup.quick, once: setup.quick };
    let spread = bench.all(&mut rates, setup, progress)?;
    Ok(Measured { rates, spread })
}

struct Bench<'a> {
    engine: &'a Arc<Engine>,
    gpu: bool,
    /// Smaller work.
    quick: bool,
    /// All work runs once.
    once: bool,
}

/// Time limit of one figure.
const BUDGET: Duration = Duration::from_millis(40);

/// Elements of the arrays of a chain, on a CPU and on a GPU.
const CHAIN: [i64; 2] = [1 << 17, 1 << 25];

impl Bench<'_> {
    /// Measures everything. Returns [`Measured::spread`].
    fn all(&self, rates: &mut Rates, setup: &DeviceSetup, progress: Progress) -> Result<f64> {
        progress("launches");
        (rates.program, rates.launch) = self.launches()?;
        let mut same = vec![self.reference()?];
        progress("memory");
        for bytes in setup.caches.iter().copied().chain([0.0]) {
            let bandwidth = self.bandwidth(bytes)?;
            rates.rooms.push(Room { bytes, bandwidth });
        }
        if self.gpu {
            progress("copies");
            rates.copies = Some(self.copies(setup.pinned)?);
        }
        for (at, group) in Group::ALL.into_iter().enumerate() {
            progress(&format!("arithmetic, {} of {} dtypes", at + 1, Group::ALL.len()));
            self.chains(rates, group)?;
            same.push(self.reference()?);
        }
        if !self.gpu && setup.threads > 1.0 {
            rates.together = self.parallel_speedup(rates)?;
            rates.share = self.parallel_overhead(rates)?;
        }
        progress("reductions");
        self.reductions(rates)?;
        same.push(self.reference()?);
        progress("routines");
        self.routines(rates)?;
        same.push(self.reference()?);
        let least = same.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(if self.once { 1.0 } else { same.into_iter().fold(least, f64::max) / least })
    }

    /// Measures the seconds of work that is the same each time.
    fn reference(&self) -> Result<f64> {
        let x = self.random(DType::F32, &[self.chain()], 0.8)?;
        self.time(|| {
            let mut y = x.clone();
            for _ in 0..8 {
                y = self.with(Fun::Add, &self.both(Fun::Multiply, &y, &x)?, 1.0)?;
            }
            Ok(vec![y])
        })
    }

    /// Measures the seconds that `work` takes, with a wait after each run: the first quartile of the runs.
    fn time(&self, work: impl Fn() -> Result<Vec<Array>>) -> Result<f64> {
        let once = || -> Result<f64> {
            let start = Instant::now();
            let results = work()?;
            self.engine.synchronize()?;
            drop(results);
            Ok(start.elapsed().as_secs_f64())
        };
        if self.once {
            return once();
        }
        // The first runs plan, compile and build a graph.
        let start = Instant::now();
        for k in 0..4 {
            once()?;
            if k > 0 && start.elapsed() > 10 * BUDGET {
                break;
            }
        }
        let (start, mut times) = (Instant::now(), Vec::new());
        let budget = if self.gpu { BUDGET / 2 } else { BUDGET };
        let goes_on =
            |n: usize| n < 3 || (n < 5 && start.elapsed() < 10 * BUDGET) || (n < 400 && start.elapsed() < budget);
        while goes_on(times.len()) {
            times.push(once()?);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 4])
    }

    /// Returns the number of elements of the arrays of a chain.
    fn chain(&self) -> i64 {
        CHAIN[usize::from(self.gpu)] >> if self.quick { 5 } else { 0 }
    }

    fn random(&self, dtype: DType, shape: &[i64], scale: f64) -> Result<Array> {
        let unit = self.engine.random(Fun::RandomUnit64, shape, 1, 0, None)?;
        let scaled = self.with(Fun::Multiply, &unit, scale)?;
        let array = self.engine.cast(&scaled, dtype)?;
        self.engine.synchronize()?;
        Ok(array)
    }

    fn with(&self, fun: Fun, a: &Array, x: f64) -> Result<Array> {
        let number = if a.dtype().is_float() { Number::Float(x) } else { Number::Int(x as i128) };
        self.engine.map(fun, &[Operand::Array(a), Operand::Weak(number)], None)
    }

    fn both(&self, fun: Fun, a: &Array, b: &Array) -> Result<Array> {
        self.engine.map(fun, &[Operand::Array(a), Operand::Array(b)], None)
    }

    /// Measures the seconds of a program without its kernels, and those of each kernel's launch.
    fn launches(&self) -> Result<(f64, f64)> {
        let a = self.random(DType::F32, &[4, 4], 1.0)?;
        // Reductions of rows and of columns alternate: each needs all of the result before.
        let run = |iterations: usize| -> Result<(f64, f64)> {
            let work = || -> Result<Vec<Array>> {
                let mut y = a.clone();
                for k in 0..iterations {
                    let most = self.engine.reduce(ReduceOp::Max, &y, 1 << (k % 2))?;
                    let column = if k % 2 == 1 { most.layout.reshape(&[4, 1]) } else { None };
                    let most = column.map_or(most.clone(), |layout| most.view(layout));
                    y = self.both(Fun::Subtract, &y, &most)?;
                }
                Ok(vec![y])
            };
            let before = self.engine.stats().steps;
            drop(work()?);
            let kept = work()?;
            self.engine.synchronize()?;
            drop(kept);
            let steps = self.engine.stats().steps - before;
            Ok((self.time(work)?, steps as f64))
        };
        let ((short, few), (long, many)) = (run(2)?, run(22)?);
        let launch = ((long - short) / (many - few).max(1.0)).max(1e-8);
        Ok(((short - few * launch).max(1e-7), launch))
    }

    /// Measures bytes per second, read plus written, of arrays that fill half of a cache; of memory if `bytes` is zero.
    fn bandwidth(&self, bytes: f64) -> Result<f64> {
        let copy = |n: i64| -> Result<f64> {
            let a = self.random(DType::F32, &[n.max(64)], 1.0)?;
            let several = if self.gpu { 8 } else { 1 };
            let run = || {
                (0..several)
                    .map(|_| self.with(Fun::Add, &a, 1.0).and_then(|y| self.engine.flush().map(|()| y)))
                    .collect()
            };
            Ok(self.time(run)? / f64::from(several))
        };
        if bytes == 0.0 {
            let n = if self.quick {
                1 << 18
            } else if self.gpu {
                1 << 28
            } else {
                1 << 25
            };
            return Ok(8.0 * n as f64 / copy(n)?);
        }
        let n = (bytes / 2.0 / 8.0) as i64;
        let (small, large) = (copy(n / 4)?, copy(n)?);
        Ok(6.0 * n as f64 / (large - small).max(1e-9))
    }

    /// Measures the fixed seconds that it takes to share work among threads.
    fn parallel_overhead(&self, rates: &Rates) -> Result<f64> {
        let n = 1 << 17;
        let a = self.random(DType::F32, &[n], 1.0)?;
        let taken = self.time(|| Ok(vec![self.with(Fun::Add, &a, 1.0)?]))?;
        let bytes = 8.0 * n as f64;
        let known = Load {
            demands: vec![cuprous_advisor::Demand { what: "add", group: Group::F32, amount: n as f64 }],
            read: bytes / 2.0,
            written: bytes / 2.0,
            footprint: bytes,
            loops: 1.0,
            ..Load::default()
        };
        Ok((taken - rates.program - rates.span(&known).total()).max(0.0))
    }

    /// Measures the speedup of all threads over one, with the same chain on arrays too short to be shared.
    fn parallel_speedup(&self, rates: &Rates) -> Result<f64> {
        let lengths = [2, 14];
        let slope = |n: i64| -> Result<f64> {
            let x = self.random(DType::F32, &[n], 2.0)?;
            let chain = |length: usize| {
                self.time(|| {
                    let mut y = x.clone();
                    for _ in 0..length {
                        y = self.with(Fun::Add, &self.both(Fun::Multiply, &y, &x)?, 1.0)?;
                    }
                    Ok(vec![y])
                })
            };
            Ok(chain(lengths[1])? - chain(lengths[0])?)
        };
        // Recording takes longer than computing here. A chain on a few elements measures it.
        let [few, many] = [16, 1 << 11];
        let seconds = (slope(many)? - slope(few)?) / (2 * (lengths[1] - lengths[0])) as f64 / (many - few) as f64;
        let ratio = seconds * rates.rate("add", Group::F32);
        Ok(ratio.clamp(1.0, rates.threads))
    }

    /// Measures the functions of one dtype by chains.
    fn chains(&self, rates: &mut Rates, group: Group) -> Result<()> {
        let n = self.chain();
        // A tape that repeats itself ends at 160 operations.
        let plain_lengths = if self.gpu { [40, 78] } else { [2, 8] };
        let dtype = group.dtype();
        let x = self.random(dtype, &[n], if dtype.is_float() { 2.0 } else { 100.0 })?;
        let small = self.random(dtype, &[n], if dtype.is_float() { 0.8 } else { 100.0 })?;
        // On a GPU the chains are so long that arithmetic bounds them, not memory. Ten times a function of 120
        // operations would take the compiler 7 s.
        let lengths = |fun: Fun| match (self.gpu, weight(fun.op().name).0 >= 80.0) {
            (false, _) => [1, 3],
            (true, false) => [4, 10],
            (true, true) => [2, 5],
        };
        let slope = |lengths: [usize; 2], body: &dyn Fn(&Array) -> Result<Array>| -> Result<f64> {
            let chain = |length: usize| {
                self.time(|| {
                    let mut y = x.clone();
                    for _ in 0..length {
                        y = body(&y)?;
                    }
                    Ok(vec![y])
                })
            };
            let [short, long] = lengths;
            Ok((chain(long)? - chain(short)?).max(1e-9) / (long - short) as f64 / n as f64)
        };
        let mut record = |what: &str, seconds: f64| {
            rates.work.entry(what.to_owned()).or_default()[group as usize] = 1.0 / seconds;
        };
        // Each iteration has two operations.
        let plain = slope(plain_lengths, &|y| self.with(Fun::Add, &self.both(Fun::Multiply, y, &small)?, 1.0))? / 2.0;
        record("add", plain);
        if !dtype.is_float() {
            return Ok(());
        }
        let divided = slope(plain_lengths, &|y| self.with(Fun::Add, &self.both(Fun::Divide, y, &x)?, 1.0))? - plain;
        record("divide", divided.max(plain));
        for &fun in Fun::ALL.iter().filter(|fun| group != Group::F16 && is_slow(**fun)) {
            let bounded = matches!(fun, Fun::Arcsin | Fun::Arccos | Fun::Arctanh | Fun::Erfinv);
            let base = if bounded { &small } else { &x };
            // A tenth of the value before keeps the spread of the operand.
            let seconds = slope(lengths(fun), &|y| {
                let at = self.both(Fun::Add, &self.with(Fun::Multiply, y, 0.1)?, base)?;
                if fun.op().arity == 1 {
                    self.engine.map(fun, &[Operand::Array(&at)], None)
                } else {
                    self.both(fun, &at, base)
                }
            })?;
            record(fun.op().name, (seconds - 2.0 * plain).max(plain));
        }
        Ok(())
    }

    /// Measures the seconds of one program beyond the known times of launches, memory and other work in it.
    fn time_beyond(
        &self,
        rates: &Rates,
        others: &[(&'static str, Group, f64)],
        bytes: f64,
        work: impl Fn() -> Result<Vec<Array>>,
    ) -> Result<f64> {
        let whole = self.time(work)?;
        let known = Load {
            demands: others
                .iter()
                .map(|&(what, group, amount)| cuprous_advisor::Demand { what, group, amount })
                .collect(),
            ..Load::default()
        };
        let rest = whole - rates.program - rates.launch - rates.span(&known).compute;
        // If memory bounds the program, its time says nothing about the work.
        let memory = bytes / rates.bandwidth(bytes);
        Ok(if rest < 1.1 * memory { memory / 4.0 } else { rest }.max(1e-9))
    }

    fn reductions(&self, rates: &mut Rates) -> Result<()> {
        if self.gpu {
            return self.large_reductions(rates);
        }
        let n = 1 << 18;
        for group in Group::ALL {
            let a = self.random(group.dtype(), &[n], 100.0)?;
            for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::ArgMax, ReduceOp::M2] {
                if op == ReduceOp::M2 && !group.dtype().is_float() {
                    continue;
                }
                let seconds = self.time_beyond(rates, &[], 0.0, || Ok(vec![self.engine.reduce(op, &a, 1)?]))?;
                rates.work.entry(cost::reduction_name(op).into()).or_default()[group as usize] = n as f64 / seconds;
            }
            let columns = self.random(group.dtype(), &[512, 512], 100.0)?;
            for (what, op) in [("fold across", ReduceOp::Sum), ("m2 across", ReduceOp::M2)] {
                if op == ReduceOp::M2 && !group.dtype().is_float() {
                    continue;
                }
                let reduce = || Ok(vec![self.engine.reduce(op, &columns, 1)?]);
                self.record(rates, what, group, columns.layout.size as f64, 0.0, reduce)?;
            }
        }
        Ok(())
    }

    /// On a GPU memory bounds most reductions. Those of columns, and those with more than one number of state, may be
    /// slower.
    fn large_reductions(&self, rates: &mut Rates) -> Result<()> {
        let side: i64 = if self.quick { 512 } else { 4096 };
        for group in [Group::F32, Group::F64] {
            let square = self.random(group.dtype(), &[side, side], 100.0)?;
            let (area, bytes) =
                (square.layout.size as f64, (square.layout.size as usize * group.dtype().size()) as f64);
            for (what, op, axis) in
                [("m2", ReduceOp::M2, 2), ("fold across", ReduceOp::Sum, 1), ("m2 across", ReduceOp::M2, 1)]
            {
                self.record(rates, what, group, area, bytes, || Ok(vec![self.engine.reduce(op, &square, axis)?]))?;
            }
        }
        Ok(())
    }

    /// Measures everything that is not an elementwise function. Routines without code on the device are left out.
    fn routines(&self, rates: &mut Rates) -> Result<()> {
        let k = i64::from(self.gpu);
        let n: i64 = 1 << (20 + 4 * k - if self.quick { 6 } else { 0 });
        for group in [Group::F32, Group::F64, Group::I32, Group::I64] {
            let dtype = group.dtype();
            let size = dtype.size() as f64 * n as f64;
            let a = self.random(dtype, &[n], 1e6)?;
            let log = (n as f64).log2();
            let call = |op: RoutineOp, out: DType, shape: Vec<i64>| {
                let a = a.clone();
                move || Ok(vec![self.engine.record_routine(op.clone(), &[&a], out, &shape)?])
            };
            self.record(rates, "sort", group, n as f64 * log, 0.0, call(RoutineOp::Sort, dtype, vec![n]))?;
            self.record(rates, "select", group, n as f64, 0.0, call(RoutineOp::Select { rank: n / 2 }, dtype, vec![]))?;
            let running = || Ok(vec![self.engine.scan(ScanOp::Sum, &a, 0)?]);
            self.record(rates, "scan", group, n as f64, 2.0 * size, running)?;
            let index = self.engine.cast(&self.random(DType::F64, &[n], n as f64 - 1.0)?, DType::I64)?;
            let gather = || Ok(vec![self.engine.gather(&a, &index)?]);
            self.record(rates, "gather", group, n as f64, 0.0, gather)?;
            let target = self.random(dtype, &[n], 1.0)?;
            let scatter = || self.engine.scatter(&target, &index, &a, ScatterOp::Set).map(|()| vec![]);
            self.record(rates, "scatter", group, n as f64, 0.0, scatter)?;
            let few = self.engine.cast(&self.random(DType::F64, &[n], cost::CROWD)?, DType::I64)?;
            let crowd = self.random(dtype, &[cost::CROWD as i64], 1.0)?;
            let crowded = || self.engine.scatter(&crowd, &few, &a, ScatterOp::Add).map(|()| vec![]);
            self.record(rates, "crowded scatter", group, n as f64, 0.0, crowded)?;
            for (what, side) in
                [("strided", if self.gpu { 1024 } else { 768 }), ("strided far", if self.gpu { 8192 } else { 2048 })]
            {
                let square = self.random(dtype, &[side, side], 1.0)?;
                let transposed = square.view(square.layout.permute(&[1, 0]));
                let area = (side * side) as f64;
                let copy = || Ok(vec![self.engine.cast(&transposed, dtype)?]);
                self.record(rates, what, group, area, 2.0 * area * dtype.size() as f64, copy)?;
            }
            let sorted = self.engine.record_routine(RoutineOp::Sort, &[&a], dtype, &[n])?;
            let search = || {
                Ok(vec![self.engine.record_routine(
                    RoutineOp::SearchSorted { right: false },
                    &[&sorted, &a],
                    DType::I64,
                    &[n],
                )?])
            };
            self.record(rates, "search", group, n as f64 * log, 0.0, search)?;
        }
        for group in [Group::F16, Group::F32, Group::F64] {
            let dtype = group.dtype();
            let m = if self.gpu {
                4096
            } else if group == Group::F16 || self.quick {
                256
            } else {
                1024
            };
            let (a, b) = (self.random(dtype, &[m, m], 1.0)?, self.random(dtype, &[m, m], 1.0)?);
            self.record(rates, "dot", group, 2.0 * (m * m * m) as f64, 0.0, || Ok(vec![self.engine.dot(&a, &b)?]))?;
            if group == Group::F16 {
                continue;
            }
            let rows: i64 = 1 << (16 + 4 * k - if self.quick { 6 } else { 0 });
            let (tall, few) = (self.random(dtype, &[rows, 32], 1.0)?, self.random(dtype, &[32, 1], 1.0)?);
            let (flat, side) = (tall.view(tall.layout.permute(&[1, 0])), self.random(dtype, &[rows, 1], 1.0)?);
            let products = || Ok(vec![self.engine.dot(&tall, &few)?, self.engine.dot(&flat, &side)?]);
            self.record(rates, "thin dot", group, 128.0 * rows as f64, 0.0, products)?;
            self.float_routines(rates, group, dtype)?;
        }
        Ok(())
    }

    fn float_routines(&self, rates: &mut Rates, group: Group, dtype: DType) -> Result<()> {
        let k = i64::from(self.gpu);
        for (fun, of) in [
            (Fun::RandomBits32, Group::F32),
            (Fun::RandomUnit32, Group::F32),
            (Fun::RandomNormal32, Group::F32),
            (Fun::RandomBits64, Group::F64),
            (Fun::RandomUnit64, Group::F64),
            (Fun::RandomNormal64, Group::F64),
        ] {
            if of != group {
                continue;
            }
            let n = self.chain();
            // A reduction keeps the numbers from being written to memory. A GPU writes them faster than it draws them,
            // and reductions of random numbers have other costs there.
            let draw = || {
                let array = self.engine.random(fun, &[n], 1, 7, None)?;
                if self.gpu { Ok(vec![array]) } else { Ok(vec![self.engine.reduce(ReduceOp::Max, &array, 1)?]) }
            };
            let bits = matches!(fun, Fun::RandomBits32 | Fun::RandomBits64);
            let own = if bits { if of == Group::F32 { Group::I32 } else { Group::I64 } } else { of };
            let reduced = [("max", own, n as f64)];
            let bytes = if self.gpu { (n as usize * of.dtype().size()) as f64 } else { 0.0 };
            let seconds = self.time_beyond(rates, if self.gpu { &[] } else { &reduced }, bytes, draw)?;
            rates.work.entry(fun.op().name.into()).or_default()[own as usize] = n as f64 / seconds;
        }
        let points: i64 = 1 << (18 + 4 * k);
        let complex = if group == Group::F32 { DType::C64 } else { DType::C128 };
        let signal = self.engine.cast(&self.random(dtype, &[points], 1.0)?, complex)?;
        self.engine.synchronize()?;
        let op = RoutineOp::Fft { kind: FftKind::Forward, axis: 0, rank: 1, scale: FftScale::One };
        let fft = || Ok(vec![self.engine.record_routine(op.clone(), &[&signal], complex, &[points])?]);
        self.record(rates, "fft", group, 5.0 * points as f64 * (points as f64).log2(), 0.0, fft)?;
        self.factorizations(rates, group)?;
        let s: i64 = if self.gpu { 1024 } else { 256 };
        let small = self.random(dtype, &[s, s], 1.0)?;
        let op = RoutineOp::Linalg(LinalgOp::Svd(Vectors::Thin));
        let svd = || Ok(vec![self.engine.record_routine(op.clone(), &[&small], dtype, &[s + 2 * s * s + 1])?]);
        self.record(rates, "spectrum", group, 17.0 * (s * s * s) as f64, 0.0, svd)?;
        let picture = self.random(dtype, &[512 << k, 512 << k], 1.0)?;
        let weights = self.random(dtype, &[5, 5], 1.0)?;
        let op = RoutineOp::Correlate { edge: Edge::Reflect, constant: 0, origin: [2, 2].as_slice().into() };
        let filter =
            || Ok(vec![self.engine.record_routine(op.clone(), &[&picture, &weights], dtype, picture.shape())?]);
        self.record(rates, "correlate", group, 50.0 * picture.layout.size as f64, 0.0, filter)
    }

    /// Solving a system has a cost for each column and one for each operation.
    fn factorizations(&self, rates: &mut Rates, group: Group) -> Result<()> {
        let dtype = group.dtype();
        let solving = |m: i64| -> Result<f64> {
            let (matrix, side) = (self.random(dtype, &[m, m], 1.0)?, self.random(dtype, &[m, 1], 1.0)?);
            let op = RoutineOp::Linalg(LinalgOp::Solve);
            self.time_beyond(rates, &[], 0.0, || {
                Ok(vec![self.engine.record_routine(op.clone(), &[&matrix, &side], dtype, &[m + 1])?])
            })
        };
        let flops = |m: i64| 2.0 / 3.0 * (m * m * m) as f64;
        let Some(few) = if_supported(solving(512))? else { return Ok(()) };
        let mut found = vec![("factor", flops(512) / few)];
        if self.gpu {
            // Four times the columns, 64 times the operations.
            let Some(many) = if_supported(solving(2048))? else { return Ok(()) };
            let (columns, operations) = ((64.0 * few - many) / 60.0, (many - 4.0 * few) / 60.0);
            found = vec![
                ("column", 512.0 / columns.max(few / 100.0)),
                ("factor", flops(512) / operations.max(many / 1000.0)),
            ];
        }
        for (what, rate) in found {
            rates.work.entry(what.into()).or_default()[group as usize] = rate;
        }
        Ok(())
    }

    /// Measures a routine that does `amount` units of work. Records nothing if the device does not support it.
    fn record(
        &self,
        rates: &mut Rates,
        what: &str,
        group: Group,
        amount: f64,
        bytes: f64,
        work: impl Fn() -> Result<Vec<Array>>,
    ) -> Result<()> {
        if let Some(seconds) = if_supported(self.time_beyond(rates, &[], bytes, work))? {
            rates.work.entry(what.to_owned()).or_default()[group as usize] = amount / seconds.max(1e-9);
        }
        Ok(())
    }

    fn copies(&self, pinned: Option<[f64; 2]>) -> Result<Copies> {
        let rate = |bytes: usize| -> Result<[f64; 2]> {
            let mut host = vec![1u8; bytes];
            let there = self.engine.upload(&host, DType::U8, &[bytes as i64])?;
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for _ in 0..7 {
                let start = Instant::now();
                let again = self.engine.upload(&host, DType::U8, &[bytes as i64])?;
                self.engine.synchronize()?;
                up.push(start.elapsed().as_secs_f64());
                drop(again);
                let start = Instant::now();
                self.engine.download(&there, &mut host)?;
                down.push(start.elapsed().as_secs_f64());
            }
            Ok([median(&mut up), median(&mut down)])
        };
        const LARGE: usize = 64 << 20;
        let (tiny, large) = (rate(4)?, rate(LARGE)?);
        let latency = tiny[0].max(tiny[1]);
        let [up, down] = large.map(|t| LARGE as f64 / (t - latency).max(1e-9));
        let [up_pinned, down_pinned] = pinned.unwrap_or([up, down]);
        Ok(Copies { up, down, up_pinned, down_pinned, latency })
    }
}

/// Returns the measured seconds, or `None` if the device has no such routine: its library is not installed, or it does
/// not take the dtype.
fn if_supported(measured: Result<f64>) -> Result<Option<f64>> {
    use cuprous_core::error::ErrorKind::{Cast, MissingLibrary, NotImplemented, Type};
    match measured {
        Ok(seconds) => Ok(Some(seconds)),
        Err(error) if matches!(error.kind, MissingLibrary | NotImplemented | Type | Cast) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if a function has a rate of its own: slower than an addition, on floats, with one or two operands.
fn is_slow(fun: Fun) -> bool {
    let op = fun.op();
    weight(op.name).0 >= 8.0
        && matches!(op.class, Class::Float | Class::Inexact | Class::Num | Class::Real)
        && op.arity <= 2
        && !matches!(fun, Fun::Divide | Fun::Angle | Fun::Gcd | Fun::Lcm | Fun::Ldexp | Fun::FrexpExponent)
}
