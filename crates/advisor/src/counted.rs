//! How long programs take whose work was counted, step by step.

use cuprous_core::Result;

use crate::estimate::{Bound, Cost, Estimate, Times, threshold};
use crate::rates::{Load, Rates, Span};
use crate::simple::check;

/// One program.
#[derive(Clone, Debug, Default)]
pub struct CountedProgram {
    /// Operations that Python recorded.
    pub nodes: f64,
    /// Its kernels and calls, by name, in order.
    pub steps: Vec<(String, Load)>,
}

/// All that a function did.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Its programs, in order.
    pub programs: Vec<CountedProgram>,
    /// Bytes of what it was given.
    pub upload: f64,
    /// Bytes of what it gave back, or read on the host.
    pub download: f64,
    /// How often it read something on the host.
    pub reads: f64,
}

impl Counted {
    /// Every kernel and call.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.programs.iter().flat_map(|p| p.steps.iter().map(|(_, load)| load))
    }

    /// Sums over all steps.
    pub fn sum(&self, of: impl Fn(&Load) -> f64) -> f64 {
        self.loads().map(of).sum()
    }

    /// Bytes that the largest step touches, and at least what was given.
    pub fn footprint(&self) -> f64 {
        self.loads().map(|l| l.footprint).fold(self.upload, f64::max)
    }

    /// The same on `factor` times the data.
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

    /// Seconds of one run where the data are, without copies of what it was given. A CPU does what was recorded when that
    /// is; a GPU works while the host records the next program, but not before the first is recorded. What a program takes
    /// beyond its steps has the wait for its end in it.
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

    /// What most of one run's time goes to.
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

/// Rates measured or on paper leave each time uncertain by this factor.
const UNSURE: f64 = 1.5;

/// Both devices beside one another, for so many repeats on data that are on the host at first.
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
        range: [speedup / (UNSURE * UNSURE), speedup * UNSURE * UNSURE],
        bound: times.bound(),
        pieces: if gpu.memory > 0.0 { (counted.footprint() / gpu.memory).ceil().max(1.0) } else { 1.0 },
        break_even_size: threshold(1e-9, 1e9, |factor| faster(&counted.scaled(factor), repeats)),
        break_even_repeats: threshold(1.0, 1e12, |n| faster(counted, n.ceil())).map(f64::ceil),
        limit: f64::INFINITY,
        cpu_cost: Cost { energy: 0.0, price: None },
        gpu_cost: Cost { energy: 0.0, price: None },
    })
}
