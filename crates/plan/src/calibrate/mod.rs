//! Calibration: measures the rates that programs reach on a device, through its engine.
//!
//! The rate of an elementwise function is a slope: the time that a longer chain takes beyond a shorter one, so that
//! launches and memory cancel out. All other rates come from whole runs, less the launches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuprous_advisor::rates::{MemoryLevel, Rates};
use cuprous_advisor::{Group, Load};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Fun, Result};

use crate::engine::{Engine, Operand};

pub mod dry_run;
mod elementwise;
mod machine;
mod routines;

/// What the caller knows about the device.
#[derive(Clone, Debug)]
pub struct DeviceSetup {
    /// Its name.
    pub name: String,
    /// Bytes of its caches, the fastest first: what all cores together can use. Main memory is measured after the last.
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
            memory_levels: Vec::new(),
            launch: 0.0,
            program: 0.0,
            record: self.record,
            graph: 0,
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
        if self.engine.device.graph_threshold().is_some() {
            rates.graph = self.graph_threshold()?;
        }
        let mut same = vec![self.reference()?];
        progress("memory");
        for bytes in setup.caches.iter().copied().chain([0.0]) {
            let bandwidth = self.bandwidth(bytes)?;
            rates.memory_levels.push(MemoryLevel { bytes, bandwidth });
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
