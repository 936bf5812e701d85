//! The time of programs whose work was counted step by step.

use cuprous_core::Result;

use crate::estimate::{Bound, Cost, Estimate, Times, threshold};
use crate::rates::{Load, Rates, Span};
use crate::simple::check;

/// One program.
#[derive(Clone, Debug, Default)]
pub struct CountedProgram {
    /// Number of operations that Python recorded.
    pub nodes: f64,
    /// Its kernels and routines in order, with their names.
    pub steps: Vec<(String, Load)>,
}

/// The counted work of a function.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Its programs, in order.
    pub programs: Vec<CountedProgram>,
    /// Bytes of its inputs.
    pub upload: f64,
    /// Bytes that it returned or read on the host.
    pub download: f64,
    /// Number of reads on the host.
    pub reads: f64,
}

impl Counted {
    /// Returns the loads of all kernels and routines.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.programs.iter().flat_map(|p| p.steps.iter().map(|(_, load)| load))
    }

    /// Returns the sum of a quantity over all steps.
    pub fn sum(&self, of: impl Fn(&Load) -> f64) -> f64 {
        self.loads().map(of).sum()
    }

    /// Returns the bytes that the largest step touches, and at least those of the inputs.
    pub fn footprint(&self) -> f64 {
        self.loads().map(|l| l.footprint).fold(self.upload, f64::max)
    }

    /// Returns the same work on `factor` times the data.
    pub fn scaled(&self, factor: f64) -> Counted {
        let grown = |p: &CountedProgram| CountedProgram {
            nodes: p.nodes,
            steps: p.steps.iter().map(|(name, load)| (name.clone(), load.scaled(factor))).collect(),
        };
        Counted {
            programs: self.programs.iter().map(grown).collect(),
            upload: self.upload * factor,
            download: self.download * factor,
            reads: self.reads,
        }
    }

    fn spans(&self, rates: &Rates) -> Span {
        self.loads().map(|load| rates.span(load)).fold(Span::default(), |a, b| Span {
            compute: a.compute + b.compute,
            memory: a.memory + b.memory,
            launches: a.launches + b.launches,
        })
    }

    /// Returns the seconds of one run on data that are already on the device. A CPU runs each program after it was
    /// recorded. A GPU runs a program while the host records the next one, and starts when the first is recorded. The
    /// cost of a program beyond its steps includes the wait for its end.
    pub fn run(&self, rates: &Rates) -> f64 {
        let (mut host, mut device) = (0.0, 0.0_f64);
        for p in &self.programs {
            let steps: f64 = p.steps.iter().map(|(_, load)| rates.span(load).total()).sum();
            host += p.nodes * rates.record;
            device = device.max(host) + steps;
            if rates.copies.is_none() {
                host = device;
            }
        }
        self.programs.len() as f64 * rates.program + host.max(device)
    }

    /// Returns what limits a run.
    pub fn bound(&self, rates: &Rates) -> Bound {
        let Span { compute, memory, launches } = self.spans(rates);
        let other =
            self.run(rates) - self.loads().map(|l| rates.span(l).compute.max(rates.span(l).memory)).sum::<f64>();
        if other.max(launches) > compute.max(memory) {
            Bound::Launches
        } else if compute > memory {
            Bound::Compute
        } else {
            Bound::Memory
        }
    }

    fn on_gpu(&self, rates: &Rates, repeats: f64, pinned: bool, startup: f64) -> Times {
        let Span { compute, memory, launches } = self.spans(rates);
        let fits = rates.memory == 0.0 || self.footprint() <= rates.memory;
        let trips = if fits { 1.0 } else { repeats };
        let copies = trips * (rates.upload(self.upload, pinned) + rates.download(self.download, pinned));
        let inside = repeats * self.run(rates);
        Times {
            startup,
            copies,
            compute: repeats * compute,
            memory: repeats * memory,
            launches: (repeats * launches).max(inside - repeats * compute.max(memory)),
            exchange: 0.0,
            serial: 0.0,
            total: startup + copies + inside,
        }
    }
}

/// The uncertainty of each time, as a factor.
const UNCERTAINTY: f64 = 1.5;

/// Compares both devices for `repeats` runs on data that are on the host at first.
///
/// # Errors
/// `ValueError` for repeats or seconds out of range.
pub fn compare(
    counted: &Counted,
    host: &Rates,
    gpu: &Rates,
    repeats: f64,
    pinned: bool,
    startup: Option<f64>,
) -> Result<Estimate> {
    check("repeats", repeats, repeats.is_finite() && repeats >= 1.0, "1 or more")?;
    let startup = startup.unwrap_or(0.0);
    check("start-up", startup, startup.is_finite() && startup >= 0.0, "a number that is not negative")?;
    let times = counted.on_gpu(gpu, repeats, pinned, startup);
    let cpu = repeats * counted.run(host);
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 1.0 };
    let faster = |c: &Counted, n: f64| n * c.run(host) > c.on_gpu(gpu, n, pinned, startup).total;
    let speedup = ratio(cpu, times.total);
    Ok(Estimate {
        cpu,
        gpu: times,
        speedup,
        range: [speedup / (UNCERTAINTY * UNCERTAINTY), speedup * UNCERTAINTY * UNCERTAINTY],
        bound: times.bound(),
        pieces: if gpu.memory > 0.0 { (counted.footprint() / gpu.memory).ceil().max(1.0) } else { 1.0 },
        break_even_size: threshold(1e-9, 1e9, |factor| faster(&counted.scaled(factor), repeats)),
        break_even_repeats: threshold(1.0, 1e12, |n| faster(counted, n.ceil())).map(f64::ceil),
        limit: f64::INFINITY,
        cpu_cost: Cost { energy: 0.0, price: None },
        gpu_cost: Cost { energy: 0.0, price: None },
    })
}
