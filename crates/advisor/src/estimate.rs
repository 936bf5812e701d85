//! The time of work on the CPU and on the GPU, by a roofline model.
//!
//! The time on a device is that of arithmetic or of memory traffic, whichever is longer (Williams, Waterman, Patterson,
//! "Roofline", 2009). On a GPU, startup, copies both ways and launches are added, and the serial part runs on the CPU
//! (Amdahl, 1967).

use cuprous_core::{DType, Result};

use crate::profile::{ComputeUnit, Cpu, Gpu, Level, Rates};
use crate::simple::check;

/// Work to be done. Amounts are those of one repeat.
#[derive(Clone, Debug)]
pub struct Work {
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes of memory traffic.
    pub traffic: f64,
    /// Bytes to copy to the GPU.
    pub upload: f64,
    /// Bytes to copy back.
    pub download: f64,
    /// Bytes that the GPU's memory must hold at once.
    pub footprint: f64,
    /// Number of kernel launches.
    pub launches: f64,
    /// The share of the CPU's time that can run on the GPU, 0 to 1.
    pub parallel: f64,
    /// Number of repeats.
    pub repeats: f64,
    /// The data stays on the GPU between repeats.
    pub resident: bool,
    /// Element type.
    pub dtype: DType,
    /// Kind of arithmetic.
    pub unit: ComputeUnit,
    /// float32 products may be rounded to TF32.
    pub tf32: bool,
}

impl Default for Work {
    /// Returns work of nothing: in float32, done once, with everything in parallel.
    fn default() -> Self {
        Work {
            flops: 0.0,
            traffic: 0.0,
            upload: 0.0,
            download: 0.0,
            footprint: 0.0,
            launches: 1.0,
            parallel: 1.0,
            repeats: 1.0,
            resident: true,
            dtype: DType::F32,
            unit: ComputeUnit::Vector,
            tf32: false,
        }
    }
}

impl Work {
    /// Returns the same work on data of `factor` times the size.
    pub fn scaled(&self, factor: f64) -> Work {
        let Work { flops, traffic, upload, download, footprint, .. } = *self;
        let [flops, traffic, upload, download, footprint] =
            [flops, traffic, upload, download, footprint].map(|amount| amount * factor);
        Work { flops, traffic, upload, download, footprint, ..self.clone() }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let amounts = [
            ("operations", self.flops),
            ("bytes to the GPU", self.upload),
            ("bytes from the GPU", self.download),
            ("bytes in memory", self.footprint),
            ("memory traffic", self.traffic),
            ("launches", self.launches),
        ];
        for (name, value) in amounts {
            check(name, value, value.is_finite() && value >= 0.0, "a number that is not negative")?;
        }
        check("parallel part", self.parallel, (0.0..=1.0).contains(&self.parallel), "from 0 to 1")?;
        check("repeats", self.repeats, self.repeats.is_finite() && self.repeats >= 1.0, "1 or more")
    }
}

/// Prices of energy and machines, in any currency.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prices {
    /// Price of a kilowatt-hour.
    pub energy: Option<f64>,
    /// Price of an hour on a machine with only the CPU.
    pub cpu_hour: Option<f64>,
    /// Price of an hour on the machine with the GPUs.
    pub gpu_hour: Option<f64>,
}

/// The hardware, and how it is used.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The CPU.
    pub cpu: &'static Cpu,
    /// The GPU.
    pub gpu: &'static Gpu,
    /// The number of GPUs that share the work.
    pub gpus: f64,
    /// Host memory is pinned.
    pub pinned: bool,
    /// Copies overlap with computation.
    pub overlapped: bool,
    /// Seconds until the GPU can be used; counted once.
    pub startup: f64,
    /// Seconds for each launch: 5 to 10 µs in eager programs, about 2.5 µs in a replayed one.
    pub launch: f64,
    /// The share of the boost clock that the GPU holds under load, above 0 to 1.
    pub throttle: f64,
    /// Prices.
    pub prices: Prices,
}

impl Setting {
    /// Seconds until a GPU can be used: driver, context, kernels, as measured on an H200.
    pub const DEFAULT_STARTUP: f64 = 0.4;

    /// Returns one GPU with pageable memory, no overlap and no throttling.
    pub fn new(cpu: &'static Cpu, gpu: &'static Gpu) -> Setting {
        Setting {
            cpu,
            gpu,
            gpus: 1.0,
            pinned: false,
            overlapped: false,
            startup: Setting::DEFAULT_STARTUP,
            launch: 7e-6,
            throttle: 1.0,
            prices: Prices::default(),
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let some = (1.0..=1e6).contains(&self.gpus) && self.gpus.fract() == 0.0;
        check("number of GPUs", self.gpus, some, "a whole number from 1 to 1,000,000")?;
        check("throttling", self.throttle, self.throttle > 0.0 && self.throttle <= 1.0, "above 0, up to 1")?;
        for (name, value) in [("start-up", self.startup), ("launch", self.launch)] {
            check(name, value, value.is_finite() && value >= 0.0, "a number that is not negative")?;
        }
        let Prices { energy, cpu_hour, gpu_hour } = self.prices;
        for (name, value) in [("energy's price", energy), ("CPU's price", cpu_hour), ("GPU's price", gpu_hour)] {
            let value = value.unwrap_or_default();
            check(name, value, value.is_finite() && value >= 0.0, "a number that is not negative")?;
        }
        Ok(())
    }
}

/// Seconds on a GPU, for all repeats together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Times {
    /// Startup.
    pub startup: f64,
    /// Copies both ways.
    pub copies: f64,
    /// Arithmetic alone.
    pub compute: f64,
    /// Memory traffic alone.
    pub memory: f64,
    /// Launching kernels.
    pub launches: f64,
    /// Exchange of results between GPUs.
    pub exchange: f64,
    /// The serial part, on the CPU.
    pub serial: f64,
    /// Total. Parts that overlap are counted once.
    pub total: f64,
}

/// What limits the GPU: the part that takes most of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of `Times`")]
pub enum Bound {
    Startup,
    Copies,
    Compute,
    Memory,
    Launches,
    Exchange,
    Serial,
}

impl Times {
    /// Returns the part that takes most of the time.
    pub fn bound(&self) -> Bound {
        let parts = [
            (Bound::Compute, self.compute),
            (Bound::Memory, self.memory),
            (Bound::Copies, self.copies),
            (Bound::Startup, self.startup),
            (Bound::Launches, self.launches),
            (Bound::Exchange, self.exchange),
            (Bound::Serial, self.serial),
        ];
        parts.into_iter().fold(parts[0], |most, part| if part.1 > most.1 { part } else { most }).0
    }
}

/// Energy and price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Joules, at full power for the whole time.
    pub energy: f64,
    /// Price of machine and energy. `None` if neither has a price.
    pub price: Option<f64>,
}

/// The estimate for both devices.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Seconds on the CPU.
    pub cpu: f64,
    /// Seconds on the GPU, by part.
    pub gpu: Times,
    /// How many times faster the GPU is.
    pub speedup: f64,
    /// The speedup from plain GPU code against the best CPU code, up to the opposite.
    pub range: [f64; 2],
    /// What limits the GPU: the part that takes most of its time.
    pub bound: Bound,
    /// The number of pieces in which the data passes through the GPU's memory. It is 1 if the data fits.
    pub pieces: f64,
    /// The factor on the data size from which on the GPU is faster, or `None` if it never is.
    pub break_even_size: Option<f64>,
    /// The number of repeats from which on the GPU is faster, or `None` if it never is.
    pub break_even_repeats: Option<f64>,
    /// The largest possible speedup, given the serial part. Infinite if there is none.
    pub limit: f64,
    /// Cost on the CPU.
    pub cpu_cost: Cost,
    /// Cost on the GPU.
    pub gpu_cost: Cost,
}

/// The number of chunks of an overlapped copy. Computation waits for the first chunk.
const COPY_CHUNKS: f64 = 8.0;

/// Returns the seconds of arithmetic and of memory traffic in one repeat.
fn roofline(work: &Work, rates: Rates) -> [f64; 2] {
    [work.flops / rates.flops, work.traffic / rates.bandwidth]
}

fn on_cpu(work: &Work, setting: &Setting, level: Level) -> f64 {
    let [compute, memory] = roofline(work, setting.cpu.rates(work.dtype, work.unit, level));
    compute.max(memory)
}

/// Returns the number of pieces in which the data passes through the GPU's memory.
fn pieces(work: &Work, setting: &Setting) -> f64 {
    (work.footprint / (setting.gpu.memory.value * setting.gpus)).ceil().max(1.0)
}

fn on_gpu(work: &Work, setting: &Setting, level: Level) -> Times {
    let rates = setting.gpu.rates(work.dtype, work.unit, work.tf32, setting.pinned, level);
    let n = work.repeats;
    let [compute, memory] = roofline(work, rates);
    let compute = n * compute / (setting.gpus * setting.throttle);
    let memory = n * memory / setting.gpus;
    let trips = if work.resident && pieces(work, setting) == 1.0 { 1.0 } else { n };
    let copies = trips * (work.upload + work.download) / rates.copies;
    let link = setting.gpu.link.map_or(rates.copies, |link| link.value);
    let exchange = n * 2.0 * (setting.gpus - 1.0) / setting.gpus * work.download / link;
    let launches = n * work.launches * setting.launch * pieces(work, setting);
    let serial = n * (1.0 - work.parallel) * on_cpu(work, setting, Level::Typical);
    let inside = compute.max(memory) + exchange + launches + serial;
    let together =
        if setting.overlapped { inside.max(copies) + copies / (COPY_CHUNKS * trips) } else { inside + copies };
    Times {
        startup: setting.startup,
        copies,
        compute,
        memory,
        launches,
        exchange,
        serial,
        total: setting.startup + together,
    }
}

/// Returns the smallest argument in `from..=to` at which `faster` is true. The search goes in steps of a quarter of a
/// power of ten, because `faster` may be false again at `to`: data that no longer fits into the GPU's memory is copied
/// in each repeat.
pub(crate) fn threshold(from: f64, to: f64, faster: impl Fn(f64) -> bool) -> Option<f64> {
    if faster(from) {
        return Some(from);
    }
    let step = 10f64.ln() / 4.0;
    let steps = ((to / from).ln() / step).ceil() as i32;
    let at = |k: i32| (from.ln() + f64::from(k) * step).min(to.ln());
    let first = (1..=steps).find(|&k| faster(at(k).exp()))?;
    let (mut no, mut yes) = (at(first - 1), at(first));
    for _ in 0..48 {
        let middle = f64::midpoint(no, yes);
        *(if faster(middle.exp()) { &mut yes } else { &mut no }) = middle;
    }
    Some(yes.exp())
}

/// Estimates the time of `work` in `setting`, the speedup and the costs.
///
/// # Errors
/// `ValueError` that names a quantity which is not a number, negative or out of range, or a GPU without the dtype.
pub fn estimate(work: &Work, setting: &Setting) -> Result<Estimate> {
    work.validate()?;
    setting.validate()?;
    setting.gpu.require(work.dtype)?;
    let cpu = |work: &Work, level| work.repeats * on_cpu(work, setting, level);
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 1.0 };
    let times = on_gpu(work, setting, Level::Typical);
    let slowest = on_gpu(work, setting, Level::Low).total;
    let fastest = on_gpu(work, setting, Level::High).total;
    let faster = |work: &Work| cpu(work, Level::Typical) > on_gpu(work, setting, Level::Typical).total;
    let cost = |seconds: f64, watts: f64, hour: Option<f64>| {
        let energy = seconds * watts;
        let parts =
            [hour.map(|price| price * seconds / 3600.0), setting.prices.energy.map(|price| price * energy / 3.6e6)];
        let price = parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().sum());
        Cost { energy, price }
    };
    let here = cpu(work, Level::Typical);
    Ok(Estimate {
        cpu: here,
        gpu: times,
        speedup: ratio(here, times.total),
        range: [ratio(cpu(work, Level::High), slowest), ratio(cpu(work, Level::Low), fastest)],
        bound: times.bound(),
        pieces: pieces(work, setting),
        break_even_size: threshold(1e-9, 1e9, |factor| faster(&work.scaled(factor))),
        break_even_repeats: threshold(1.0, 1e12, |n| faster(&Work { repeats: n.ceil(), ..work.clone() }))
            .map(f64::ceil),
        limit: 1.0 / (1.0 - work.parallel),
        cpu_cost: cost(here, setting.cpu.power.value, setting.prices.cpu_hour),
        gpu_cost: cost(times.total, setting.gpu.power.value * setting.gpus, setting.prices.gpu_hour),
    })
}
