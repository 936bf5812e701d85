//! The calculator behind the command line and the web page: a question and its answer.

use cuprous_core::{DType, Error, Result};
use serde::Serialize;

use crate::advice;
use crate::counted::{Counted, CountedProgram, compare};
use crate::estimate::{Estimate, Prices, Setting, Work, estimate};
use crate::profile::{self, ComputeUnit, Cpu, Gpu, Level};
use crate::rates::{Demand, Group, Load, Rates};
use crate::simple::simple;
use crate::units::{quantity, seconds, times};

mod sides;

use sides::{Figures, Side, comparable, kind, listed};

/// The name of this machine's own CPU or GPU.
pub const THIS_MACHINE: &str = "this";

/// A question, in SI units. A field that is `None` has a default that depends on the others.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "those of `Work`, `Setting` and `simple`")]
pub struct Question {
    /// The name of a listed CPU. `None` or [`THIS_MACHINE`] is this machine's.
    pub cpu: Option<String>,
    /// The name of a listed GPU. `None` or [`THIS_MACHINE`] is this machine's.
    pub gpu: Option<String>,
    pub flops: f64,
    pub data: f64,
    pub result: f64,
    pub traffic: Option<f64>,
    pub footprint: Option<f64>,
    pub launches: f64,
    pub parallel: f64,
    pub repeats: f64,
    pub copied: bool,
    pub dtype: DType,
    pub matrix: bool,
    pub tf32: bool,
    pub gpus: f64,
    pub pinned: bool,
    pub overlapped: bool,
    pub startup: Option<f64>,
    pub launch: Option<f64>,
    pub throttle: f64,
    /// Prices of a kilowatt-hour, an hour on the machine without GPUs, and an hour on the machine with the GPUs.
    pub prices: [Option<f64>; 3],
    pub simple: bool,
    /// For the simple formula: throughput of the CPU and of the GPU, and bandwidth of the slot.
    pub given: [Option<f64>; 3],
}

impl Default for Question {
    fn default() -> Question {
        Question {
            cpu: None,
            gpu: None,
            flops: 0.0,
            data: 0.0,
            result: 0.0,
            traffic: None,
            footprint: None,
            launches: 1.0,
            parallel: 1.0,
            repeats: 1.0,
            copied: false,
            dtype: DType::F32,
            matrix: false,
            tf32: false,
            gpus: 1.0,
            pinned: false,
            overlapped: false,
            startup: None,
            launch: None,
            throttle: 1.0,
            prices: [None; 3],
            simple: false,
            given: [None; 3],
        }
    }
}

/// What is known of this machine.
#[derive(Clone, Debug)]
pub struct ThisMachine {
    /// Rates of its CPU: measured, or those of a similar listed CPU.
    pub host: Rates,
    /// Rates of its first usable GPU.
    pub gpu: Option<Rates>,
    /// Whether the CPU and the GPU were measured.
    pub measured: [bool; 2],
    /// The sources of the CPU's and the GPU's figures.
    pub source: [String; 2],
    /// Why measurements are not used or not reliable, and what to do.
    pub hint: Option<String>,
}

/// The answer, in SI units.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The CPU's name.
    pub cpu: String,
    /// The GPU's name.
    pub gpu: String,
    /// Total time on the CPU.
    pub cpu_seconds: f64,
    /// Total time on the GPU.
    pub gpu_seconds: f64,
    /// Time of copies both ways, which other calculators call "data latency".
    pub latency_seconds: f64,
    /// The parts of the GPU's time.
    pub parts: Vec<(&'static str, f64)>,
    /// How many times faster the GPU is.
    pub speedup: f64,
    /// The range of the speedup, by the quality of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// What limits the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The answer as a sentence.
    pub sentence: String,
    /// The times formatted: CPU, GPU, copies.
    pub words: [String; 3],
    /// See [`Estimate`].
    pub break_even_size: Option<f64>,
    /// See [`Estimate`].
    pub break_even_repeats: Option<f64>,
    /// Energy on the CPU and on the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules: Option<[f64; 2]>,
    /// Price on the CPU and on the GPU. `None` if neither the machine nor energy has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<[Option<f64>; 2]>,
    /// The speedup formatted.
    pub factor: String,
    /// The range formatted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_words: Option<[String; 2]>,
    /// The sources of the CPU's and the GPU's figures.
    pub figures: [String; 2],
    /// The position in the roofline model. The simple formula has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roofline: Option<Roofline>,
}

/// A roofline diagram: operations per second by operations per byte.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Roofline {
    /// Operations per byte of this work. `None` if it moves no data.
    pub intensity: Option<f64>,
    /// Operations and bytes per second that programs reach on the CPU.
    pub cpu: [f64; 2],
    /// The same on the GPU.
    pub gpu: [f64; 2],
}

/// Returns true if this machine's figures are used.
pub fn uses_this_machine(question: &Question) -> bool {
    let [cpu, gpu] = question.needs();
    cpu && own(question.cpu.as_deref()) || gpu && own(question.gpu.as_deref())
}

fn own(name: Option<&str>) -> bool {
    name.is_none_or(|name| name == THIS_MACHINE)
}

impl Question {
    /// Returns whether the CPU and the GPU must be known. The simple formula needs no hardware if its figures are
    /// given.
    fn needs(&self) -> [bool; 2] {
        let [cpu, gpu, slot] = self.given.map(|given| given.is_none());
        let moved = self.data + self.result > 0.0;
        [!self.simple || self.cpu.is_some() || cpu, !self.simple || self.gpu.is_some() || gpu || (slot && moved)]
    }

    fn work(&self) -> Work {
        let moved = self.data + self.result;
        Work {
            flops: self.flops,
            upload: self.data,
            download: self.result,
            traffic: self.traffic.unwrap_or(moved),
            footprint: self.footprint.unwrap_or(moved),
            launches: self.launches,
            parallel: self.parallel,
            repeats: self.repeats,
            resident: !self.copied,
            dtype: self.dtype,
            unit: if self.matrix { ComputeUnit::Matrix } else { ComputeUnit::Vector },
            tf32: self.tf32,
        }
    }

    fn setting(&self, cpu: &'static Cpu, gpu: &'static Gpu) -> Setting {
        let default = Setting::new(cpu, gpu);
        let [energy, cpu_hour, gpu_hour] = self.prices;
        Setting {
            gpus: self.gpus,
            pinned: self.pinned,
            overlapped: self.overlapped,
            startup: self.startup.unwrap_or(default.startup),
            launch: self.launch.unwrap_or(default.launch),
            throttle: self.throttle,
            prices: Prices { energy, cpu_hour, gpu_hour },
            ..default
        }
    }

    /// Returns an error if the question uses what the model of measured rates does not support.
    fn refuse_what_was_not_measured(&self) -> Result<()> {
        let given = [
            ("the parallel part", self.parallel != 1.0),
            ("the number of GPUs", self.gpus != 1.0),
            ("throttling", self.throttle != 1.0),
            ("overlapping", self.overlapped),
            ("copying each time", self.copied),
            ("a price", self.prices.iter().any(Option::is_some)),
            ("the time of a launch", self.launch.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => Err(Error::value(format!(
                "[estimate] {name} cannot be combined with this machine's own figures; name a CPU and a GPU of the list"
            ))),
        }
    }
}

/// Answers a question. `here` describes this machine; it is called only if this machine's figures are used.
///
/// # Errors
/// `ValueError` that names the quantity which is out of range, or the unknown hardware.
pub fn ask(question: &Question, here: impl Fn() -> ThisMachine) -> Result<Answer> {
    let work = question.work();
    work.validate()?;
    question.setting(&profile::cpus()[0], &profile::gpus()[0]).validate()?;
    let [needs_cpu, needs_gpu] = question.needs();
    let (own_cpu, own_gpu) = (own(question.cpu.as_deref()), own(question.gpu.as_deref()));
    let here = (needs_cpu && own_cpu || needs_gpu && own_gpu).then(here);
    let mut cpu = match &here {
        _ if !needs_cpu => None,
        Some(here) if own_cpu => Some(Side::Own(Box::new(here.host.clone()), here.source[0].clone())),
        _ => Some(listed("CPU", profile::cpus(), |c| c.name, question.cpu.as_deref().unwrap_or_default())?),
    };
    let mut gpu = match here {
        _ if !needs_gpu => None,
        Some(here) if own_gpu => {
            let [_, source] = here.source;
            Some(Side::Own(Box::new(here.gpu.ok_or_else(|| no_gpu(question.simple))?), source))
        }
        _ => Some(listed("GPU", profile::gpus(), |g| g.name, question.gpu.as_deref().unwrap_or_default())?),
    };
    // The simple formula takes a rate that is given.
    let computes = !question.simple || question.given[1].is_none();
    if let (true, Some(Side::Listed(gpu))) = (computes, &gpu) {
        gpu.require(work.dtype)?;
    }
    if question.simple {
        return by_formula(question, &work, cpu.as_ref(), gpu.as_ref());
    }
    // Only the simple formula can do without hardware.
    let (Some(cpu), Some(gpu)) = (&mut cpu, &mut gpu) else { return Err(no_gpu(false)) };
    comparable(cpu, gpu, &work);
    let roofline = Roofline {
        intensity: (work.traffic > 0.0 && work.flops > 0.0).then(|| work.flops / work.traffic),
        cpu: cpu.figures().reached(&work, question.pinned),
        gpu: gpu.figures().reached(&work, question.pinned),
    };
    let (found, priced) = match (&*cpu, &*gpu) {
        (Side::Listed(cpu), Side::Listed(gpu)) => (estimate(&work, &question.setting(cpu, gpu))?, true),
        (cpu, gpu) => (measured(question, &work, cpu, gpu)?, false),
    };
    let names = [cpu.figures().name(), gpu.figures().name()].map(str::to_owned);
    Ok(answered(&found, names, [cpu.source(work.unit), gpu.source(work.unit)], roofline, priced))
}

fn no_gpu(simple: bool) -> Error {
    let given = if simple { "give the GPU's rate and the bandwidth, or " } else { "" };
    Error::value(format!("[estimate] this machine has no usable GPU: {given}name one of `cuprous estimate --list`"))
}

/// Estimates with this machine's own figures for the CPU, the GPU or both.
fn measured(question: &Question, work: &Work, cpu: &Side<Cpu>, gpu: &Side<Gpu>) -> Result<Estimate> {
    question.refuse_what_was_not_measured()?;
    let host = match cpu {
        Side::Own(rates, _) => Rates::clone(rates),
        Side::Listed(cpu) => Rates::of_cpu(cpu, Level::Typical),
    };
    let gpu = match gpu {
        Side::Own(rates, _) => Rates::clone(rates),
        Side::Listed(gpu) => Rates::of_gpu(gpu, question.tf32, Level::Typical),
    };
    let demand = Demand { what: kind(work), group: Group::of(work.dtype), amount: work.flops };
    let load = Load {
        demands: vec![demand],
        read: work.traffic,
        written: 0.0,
        scattered: 0.0,
        footprint: work.footprint,
        launches: work.launches,
        loops: work.launches,
        ..Load::default()
    };
    let counted = Counted {
        programs: vec![CountedProgram { nodes: 0.0, steps: vec![(String::new(), load)] }],
        upload: work.upload,
        download: work.download,
        reads: 0.0,
    };
    let startup = question.startup.unwrap_or(gpu.startup);
    compare(&counted, &host, &gpu, work.repeats, question.pinned, Some(startup))
}

fn by_formula(question: &Question, work: &Work, cpu: Option<&Side<Cpu>>, gpu: Option<&Side<Gpu>>) -> Result<Answer> {
    let [cpu_rate, gpu_rate, slot] = question.given;
    let own_startup = match gpu {
        Some(Side::Own(rates, _)) => rates.startup,
        _ => Setting::DEFAULT_STARTUP,
    };
    let startup = question.startup.unwrap_or(own_startup);
    let rate = |given: Option<f64>, peak: Option<f64>| given.or(peak).unwrap_or(f64::INFINITY);
    let cpu_peak = cpu.map(|side| side.figures().peak(work));
    let gpu_peak = gpu.map(|side| side.figures().peak(work));
    let s = simple(
        work.flops,
        rate(cpu_rate, cpu_peak),
        rate(gpu_rate, gpu_peak),
        work.upload + work.download,
        rate(slot, gpu.map(Side::slot)),
        startup,
    )?;
    let factor = times(s.speedup);
    let sentence = if s.speedup >= 1.0 {
        format!("The GPU is {factor} faster by the simple formula.")
    } else {
        format!("The CPU is {} faster for this task by the simple formula.", times(1.0 / s.speedup))
    };
    Ok(Answer {
        cpu: cpu.map_or("CPU", |side| side.figures().name()).to_owned(),
        gpu: gpu.map_or("GPU", |side| side.figures().name()).to_owned(),
        cpu_seconds: s.cpu,
        gpu_seconds: s.gpu,
        latency_seconds: s.transfer,
        parts: vec![("compute", s.compute), ("copies", s.transfer), ("start-up", s.overhead)],
        speedup: s.speedup,
        range: None,
        bound: None,
        sentence,
        words: [s.cpu, s.gpu, s.transfer].map(seconds),
        break_even_size: None,
        break_even_repeats: None,
        joules: None,
        price: None,
        factor,
        range_words: None,
        figures: [rate_source(cpu_rate, cpu), rate_source(gpu_rate, gpu)],
        roofline: None,
    })
}

/// Returns the source of a rate of the simple formula.
fn rate_source<T: Figures>(given: Option<f64>, side: Option<&Side<T>>) -> String {
    match (given, side) {
        (Some(rate), _) => format!("{} as given", quantity(rate, "FLOPS")),
        (None, Some(side)) => format!("{}, {}", side.figures().name(), side.peak_source()),
        (None, None) => String::new(),
    }
}

/// Returns the answer of the full model. With `priced`, both sides are listed, so their power is known.
fn answered(e: &Estimate, [cpu, gpu]: [String; 2], figures: [String; 2], roofline: Roofline, priced: bool) -> Answer {
    let t = &e.gpu;
    let parts = [
        ("start-up", t.startup),
        ("copies", t.copies),
        ("compute", t.compute),
        ("memory", t.memory),
        ("launches", t.launches),
        ("exchange", t.exchange),
        ("on the CPU", t.serial),
    ];
    Answer {
        cpu,
        gpu,
        cpu_seconds: e.cpu,
        gpu_seconds: t.total,
        latency_seconds: t.copies,
        parts: parts.into_iter().filter(|part| part.1 > 0.0).collect(),
        speedup: e.speedup,
        range: Some(e.range),
        bound: Some(format!("{:?}", e.bound).to_lowercase()),
        sentence: advice::sentence(e),
        words: [e.cpu, t.total, t.copies].map(seconds),
        break_even_size: e.break_even_size,
        break_even_repeats: e.break_even_repeats,
        joules: priced.then_some([e.cpu_cost.energy, e.gpu_cost.energy]),
        price: Some([e.cpu_cost.price, e.gpu_cost.price]).filter(|prices| prices.iter().any(Option::is_some)),
        factor: times(e.speedup),
        range_words: Some(e.range.map(times)),
        figures,
        roofline: Some(roofline),
    }
}

#[cfg(test)]
mod tests;
