//! `cuprous estimate`: the calculator.

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use cuprous_advisor::counted::{Counted, Piece, compare};
use cuprous_advisor::profile::Level;
use cuprous_advisor::profile::{self, Cpu, Gpu};
use cuprous_advisor::rates::{Demand, Group, Load, Rates};
use cuprous_advisor::simple::{Simple, simple};
use cuprous_advisor::units::{parse, quantity, seconds};
use cuprous_advisor::{Estimate, Prices, Setting, Unit, Work, advice, estimate};
use cuprous_core::{DType, Result};
use serde::Serialize;

use super::report::json;
use crate::machine;

/// The dtypes in which estimates differ.
#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    Float64,
    Float32,
    Float16,
    Bfloat16,
}

impl Precision {
    fn dtype(self) -> DType {
        match self {
            Precision::Float64 => DType::F64,
            Precision::Float32 => DType::F32,
            Precision::Float16 => DType::F16,
            Precision::Bfloat16 => DType::BF16,
        }
    }
}

macro_rules! quantity_of {
    ($($name:ident: $($unit:literal),+;)*) => {$(
        fn $name(text: &str) -> std::result::Result<f64, String> {
            parse(text, &[$($unit),+]).map_err(|e| e.message)
        }
    )*};
}
quantity_of! {
    flops: "FLOP", "FLOPS", "op", "ops";
    bytes: "B", "byte", "bytes";
    time: "s";
    rate: "FLOPS", "FLOP/s", "FLOP";
    bandwidth: "B/s", "B";
    count: "";
}

#[derive(Args)]
pub(super) struct Options {
    /// Operations of one repeat: 10 TFLOP
    #[arg(long, value_parser = flops, required_unless_present = "list")]
    flops: Option<f64>,
    /// Data that goes to the GPU: 1 GB
    #[arg(long, value_parser = bytes, default_value = "0")]
    data: f64,
    /// Data that comes back
    #[arg(long, value_parser = bytes, default_value = "0")]
    result: f64,
    /// Bytes that go between memory and chip in one repeat; what goes to the GPU and back, unless given
    #[arg(long, value_parser = bytes)]
    traffic: Option<f64>,
    /// Bytes that must be in the GPU's memory at once; what goes to the GPU and back, unless given
    #[arg(long, value_parser = bytes)]
    footprint: Option<f64>,
    /// A GPU of the list; this machine's, unless given
    #[arg(long)]
    gpu: Option<String>,
    /// A CPU of the list; this machine's, unless given
    #[arg(long)]
    cpu: Option<String>,
    /// Element type
    #[arg(long, value_enum, default_value = "float32")]
    dtype: Precision,
    /// The operations are those of matrix products
    #[arg(long)]
    matrix: bool,
    /// Products of float32 may be rounded to TF32
    #[arg(long)]
    tf32: bool,
    /// How often it is done
    #[arg(long, value_parser = count, default_value = "1")]
    repeats: f64,
    /// The data is copied for each repeat
    #[arg(long)]
    copied_each_time: bool,
    /// Kernels of one repeat
    #[arg(long, value_parser = count, default_value = "1")]
    launches: f64,
    /// Part of the CPU's time that can run in parallel, 0 to 1
    #[arg(long, value_parser = count, default_value = "1")]
    parallel: f64,
    /// Copies from pinned memory
    #[arg(long)]
    pinned: bool,
    /// Copies run beside the arithmetic
    #[arg(long)]
    overlapped: bool,
    /// GPUs that share the work
    #[arg(long, value_parser = count, default_value = "1")]
    gpus: f64,
    /// Part of its boost clock that the GPU holds, 0 to 1
    #[arg(long, value_parser = count, default_value = "1")]
    throttle: f64,
    /// Until the GPU can be used, once
    #[arg(long, value_parser = time, default_value = "400 ms")]
    startup: f64,
    /// Each launch
    #[arg(long, value_parser = time, default_value = "7 us")]
    launch: f64,
    /// Price of a kilowatt-hour
    #[arg(long, value_parser = count)]
    energy_price: Option<f64>,
    /// Price of an hour of the machine without GPU
    #[arg(long, value_parser = count)]
    cpu_price: Option<f64>,
    /// Price of an hour of the machine with the GPUs
    #[arg(long, value_parser = count)]
    gpu_price: Option<f64>,
    /// The simple formula: operations / throughput + data / bandwidth + overhead, with peaks on paper
    #[arg(long)]
    simple: bool,
    /// With --simple: the CPU's throughput, 400 GFLOPS
    #[arg(long, value_parser = rate, requires = "simple")]
    cpu_rate: Option<f64>,
    /// With --simple: the GPU's throughput, 12.5 TFLOPS
    #[arg(long, value_parser = rate, requires = "simple")]
    gpu_rate: Option<f64>,
    /// With --simple: what the slot carries, 16 GB/s
    #[arg(long, value_parser = bandwidth, requires = "simple")]
    bandwidth: Option<f64>,
    /// The GPUs and CPUs there are, with the sources of their figures
    #[arg(long)]
    list: bool,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// Answers one command line; the exit code.
pub(super) fn run(options: &Options, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    if options.list {
        return if options.json { json(out, &Lists::new()) } else { list(out) }.map(|()| 0);
    }
    if let Some(hint) = machine::found().hint.filter(|_| options.is_here()) {
        writeln!(err, "cuprous: {hint}")?;
    }
    match answer(options) {
        Ok(answer) if options.json => json(out, &answer).map(|()| 0),
        Ok(answer) => text(out, &answer).map(|()| 0),
        Err(e) => writeln!(err, "cuprous: {}", e.message).map(|()| 2),
    }
}

/// All that is written, in SI units.
#[derive(Serialize)]
struct Answer {
    cpu: String,
    gpu: String,
    cpu_seconds: f64,
    /// Parts of the GPU's time, in seconds, and all of it.
    gpu_seconds: Vec<(&'static str, f64)>,
    gpu_total: f64,
    speedup: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<String>,
    break_even_size: Option<f64>,
    break_even_repeats: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    joules: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<[f64; 2]>,
    sentence: String,
}

fn find<T>(list: &'static [T], name: fn(&T) -> &'static str, asked: Option<&String>) -> Result<&'static T> {
    let asked = asked.map_or("", String::as_str);
    profile::find(list, name, asked).ok_or_else(|| {
        let names: Vec<&str> = list.iter().map(name).collect();
        cuprous_core::Error::value(format!(
            "[estimate] there is no profile of {asked:?}; there are {}",
            names.join(", ")
        ))
    })
}

impl Options {
    /// Is this machine one side of it?
    fn is_here(&self) -> bool {
        [&self.cpu, &self.gpu].into_iter().any(|name| name.as_deref().is_none_or(|name| name == "this"))
    }

    fn element(&self) -> Unit {
        if self.matrix { Unit::Matrix } else { Unit::Vector }
    }
}

/// With this machine's own figures, measured or from its name.
fn here(options: &Options) -> Result<Answer> {
    let given = [
        ("--parallel", options.parallel != 1.0),
        ("--gpus", options.gpus != 1.0),
        ("--throttle", options.throttle != 1.0),
        ("--overlapped", options.overlapped),
        ("--copied-each-time", options.copied_each_time),
        ("--simple", options.simple),
        ("a price", prices(options).is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
        return Err(cuprous_core::Error::value(format!(
            "[estimate] {name} does not go with this machine's own figures; name a --cpu and a --gpu of the list"
        )));
    }
    let found = machine::found();
    let own = |name: &Option<String>| name.as_deref().is_none_or(|name| name == "this");
    let host = if own(&options.cpu) {
        machine::host(&found)
    } else {
        Rates::of_cpu(find(profile::cpus(), |c| c.name, options.cpu.as_ref())?, Level::Typical)
    };
    let gpu = if own(&options.gpu) {
        machine::gpu(&found).ok_or_else(|| {
            cuprous_core::Error::value("[estimate] this machine has no usable GPU; name one of the list with --gpu")
        })?
    } else {
        Rates::of_gpu(find(profile::gpus(), |g| g.name, options.gpu.as_ref())?, options.tf32, Level::Typical)
    };
    let moved = options.data + options.result;
    let traffic = options.traffic.unwrap_or(moved);
    let amounts = [
        ("operations", options.flops.unwrap_or_default()),
        ("bytes to the GPU", options.data),
        ("bytes from the GPU", options.result),
        ("memory traffic", traffic),
        ("launches", options.launches),
    ];
    for (name, value) in amounts {
        cuprous_advisor::simple::check(
            name,
            value,
            value.is_finite() && value >= 0.0,
            "a number that is not negative",
        )?;
    }
    let load = Load {
        demands: vec![Demand {
            what: if options.element() == Unit::Matrix { "dot" } else { "add" },
            group: Group::of(options.dtype.dtype()),
            amount: options.flops.unwrap_or_default(),
        }],
        read: traffic,
        written: 0.0,
        footprint: options.footprint.unwrap_or(moved),
        launches: options.launches,
        loops: options.launches,
    };
    let counted = Counted {
        programs: vec![Piece { nodes: 0.0, steps: vec![(String::new(), load)] }],
        upload: options.data,
        download: options.result,
        reads: 0.0,
    };
    let e = compare(&counted, &host, &gpu, options.repeats, options.pinned, Some(options.startup))?;
    Ok(told(&e, &host.name, &gpu.name))
}

fn answer(options: &Options) -> Result<Answer> {
    if options.is_here() {
        return here(options);
    }
    let gpu: &Gpu = find(profile::gpus(), |g| g.name, options.gpu.as_ref())?;
    let cpu: &Cpu = find(profile::cpus(), |c| c.name, options.cpu.as_ref())?;
    let moved = options.data + options.result;
    let work = Work {
        flops: options.flops.unwrap_or_default(),
        traffic: options.traffic.unwrap_or(moved),
        upload: options.data,
        download: options.result,
        footprint: options.footprint.unwrap_or(moved),
        launches: options.launches,
        parallel: options.parallel,
        repeats: options.repeats,
        resident: !options.copied_each_time,
        dtype: options.dtype.dtype(),
        unit: options.element(),
        tf32: options.tf32,
    };
    let setting = Setting {
        gpus: options.gpus,
        pinned: options.pinned,
        overlapped: options.overlapped,
        startup: options.startup,
        launch: options.launch,
        throttle: options.throttle,
        prices: prices(options),
        ..Setting::new(cpu, gpu)
    };
    if options.simple {
        by_formula(options, &work, &setting)
    } else {
        estimate(&work, &setting).map(|e| Answer {
            joules: Some([e.cpu_cost.energy, e.gpu_cost.energy]),
            price: e.cpu_cost.price.zip(e.gpu_cost.price).map(Into::into),
            ..told(&e, setting.cpu.name, setting.gpu.name)
        })
    }
}

fn prices(options: &Options) -> Option<Prices> {
    let given = [options.energy_price, options.cpu_price, options.gpu_price];
    let [energy, cpu_hour, gpu_hour] = given.map(Option::unwrap_or_default);
    given.iter().any(Option::is_some).then_some(Prices { energy, cpu_hour, gpu_hour })
}

fn by_formula(options: &Options, work: &Work, setting: &Setting) -> Result<Answer> {
    let cpu_rate = options.cpu_rate.unwrap_or_else(|| setting.cpu.peak(work.dtype));
    let gpu_rate = options.gpu_rate.unwrap_or_else(|| setting.gpu.peak(work.dtype, work.unit, work.tf32));
    let slot = options.bandwidth.unwrap_or_else(|| setting.gpu.slot());
    let Simple { cpu, compute, transfer, overhead, gpu, speedup } =
        simple(work.flops, cpu_rate, gpu_rate, work.upload + work.download, slot, setting.startup)?;
    let sentence = if speedup >= 1.0 {
        format!("The GPU is {speedup:.1}x faster by the simple formula.")
    } else {
        "The CPU is faster for this task by the simple formula.".to_owned()
    };
    Ok(Answer {
        cpu: setting.cpu.name.into(),
        gpu: setting.gpu.name.into(),
        cpu_seconds: cpu,
        gpu_seconds: vec![("compute", compute), ("copies", transfer), ("start-up", overhead)],
        gpu_total: gpu,
        speedup,
        range: None,
        bound: None,
        break_even_size: None,
        break_even_repeats: None,
        joules: None,
        price: None,
        sentence,
    })
}

fn told(e: &Estimate, cpu: &str, gpu: &str) -> Answer {
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
        cpu: cpu.into(),
        gpu: gpu.into(),
        cpu_seconds: e.cpu,
        gpu_seconds: parts.into_iter().filter(|part| part.1 > 0.0).collect(),
        gpu_total: t.total,
        speedup: e.speedup,
        range: Some(e.range),
        bound: Some(format!("{:?}", e.bound).to_lowercase()),
        break_even_size: e.break_even_size,
        break_even_repeats: e.break_even_repeats,
        joules: None,
        price: None,
        sentence: advice::sentence(e),
    }
}

/// The longest bar, in letters.
const BAR: f64 = 48.0;

fn text(out: &mut dyn Write, a: &Answer) -> io::Result<()> {
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (grey, blue, plain) = if colour { ("\x1b[90m", "\x1b[34m", "\x1b[0m") } else { ("", "", "") };
    let longest = a.cpu_seconds.max(a.gpu_total).max(f64::MIN_POSITIVE);
    let bar = |t: f64| "█".repeat(((t / longest * BAR).round() as usize).max(1));
    let width = a.cpu.len().max(a.gpu.len());
    writeln!(out, "{:<width$}  {grey}{}{plain} {}", a.cpu, bar(a.cpu_seconds), seconds(a.cpu_seconds))?;
    writeln!(out, "{:<width$}  {blue}{}{plain} {}", a.gpu, bar(a.gpu_total), seconds(a.gpu_total))?;
    for (name, t) in &a.gpu_seconds {
        writeln!(out, "{:<width$}  {name:<11}{}", "", seconds(*t))?;
    }
    if let Some([low, high]) = a.range {
        writeln!(out, "\nSpeed-up {:.1}x, between {low:.1}x and {high:.1}x by how good the code is.", a.speedup)?;
    }
    if let Some([cpu, gpu]) = a.joules {
        write!(out, "Energy {} on the CPU, {} on the GPU", quantity(cpu, "J"), quantity(gpu, "J"))?;
        match a.price {
            Some([cpu, gpu]) => writeln!(out, "; cost {cpu:.4} and {gpu:.4}.")?,
            None => writeln!(out, ".")?,
        }
    }
    writeln!(out, "{}", a.sentence)
}

/// Figures on paper, for programs.
#[derive(Serialize)]
struct Lists {
    gpus: Vec<Row>,
    cpus: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    figures: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    what: &'static str,
    value: f64,
    source: &'static str,
    address: &'static str,
}

impl Lists {
    fn new() -> Lists {
        let value = |(what, figure): (&'static str, profile::Figure)| Value {
            what,
            value: figure.value,
            source: figure.source.title,
            address: figure.source.address,
        };
        let row = |name, figures: Vec<(&'static str, profile::Figure)>| Row {
            name,
            figures: figures.into_iter().map(value).collect(),
        };
        Lists {
            gpus: profile::gpus().iter().map(|gpu| row(gpu.name, gpu.figures())).collect(),
            cpus: profile::cpus().iter().map(|cpu| row(cpu.name, cpu.figures())).collect(),
        }
    }
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<21}{:>10}{:>10}{:>10}{:>10}{:>12}{:>8}",
        "TFLOPS, dense", "float64", "float32", "16 bits", "memory", "bandwidth", "power"
    )?;
    let tera = |value: f64| format!("{:.4}", value / 1e12).trim_end_matches('0').trim_end_matches('.').to_owned();
    for gpu in profile::gpus() {
        let peak = |dtype| tera(gpu.peak(dtype, Unit::Matrix, false));
        let memory = quantity(gpu.memory.value, "B");
        let bandwidth = quantity(gpu.bandwidth.value, "B/s");
        let power = quantity(gpu.power.value, "W");
        let peaks = [DType::F64, DType::F32, DType::F16].map(peak);
        writeln!(
            out,
            "{:<21}{:>10}{:>10}{:>10}{memory:>10}{bandwidth:>12}{power:>8}",
            gpu.name, peaks[0], peaks[1], peaks[2]
        )?;
    }
    writeln!(out)?;
    for cpu in profile::cpus() {
        let (bandwidth, power) = (quantity(cpu.bandwidth.value, "B/s"), quantity(cpu.power.value, "W"));
        let peaks = [cpu.peak(DType::F64), cpu.peak(DType::F32)].map(tera);
        writeln!(out, "{:<21}{:>10}{:>10}{:>10}{:>10}{bandwidth:>12}{power:>8}", cpu.name, peaks[0], peaks[1], "", "")?;
    }
    writeln!(out, "\n`cuprous estimate --list --json` has the source of each figure.")
}
