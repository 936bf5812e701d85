//! `cuprous estimate`: the calculator.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use cuprous_advisor::lists::lists;
use cuprous_advisor::question::{Answer, Question, ask, uses_this_machine};
use cuprous_advisor::units::{Kind, parse, quantity, seconds};
use cuprous_advisor::{ComputeUnit, profile};
use cuprous_core::DType;

use super::report::json;
use super::terminal;
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
    ($($name:ident: $kind:ident;)*) => {$(
        fn $name(text: &str) -> std::result::Result<f64, String> {
            parse(text, Kind::$kind).map_err(|e| e.message)
        }
    )*};
}
quantity_of! {
    flops: Operations;
    bytes: Bytes;
    time: Seconds;
    rate: Rate;
    bandwidth: Bandwidth;
    count: Count;
}

#[derive(Args)]
pub(super) struct Options {
    /// Operations of one repeat, such as 10 TFLOP
    #[arg(long, value_parser = flops, required_unless_present = "list")]
    flops: Option<f64>,
    /// Data copied to the GPU, such as 1 GB
    #[arg(long, value_parser = bytes, default_value = "0")]
    data: f64,
    /// Data copied back
    #[arg(long, value_parser = bytes, default_value = "0")]
    result: f64,
    /// Bytes between memory and chip in one repeat [default: the data copied to the GPU and back]
    #[arg(long, value_parser = bytes)]
    traffic: Option<f64>,
    /// Bytes in the GPU's memory at once [default: the data copied to the GPU and back]
    #[arg(long, value_parser = bytes)]
    footprint: Option<f64>,
    /// A listed GPU, such as "RTX 3080" [default: this machine's]
    #[arg(long)]
    gpu: Option<String>,
    /// A listed CPU, such as "EPYC 9654" [default: this machine's]
    #[arg(long)]
    cpu: Option<String>,
    /// Element type
    #[arg(long, value_enum, default_value = "float32")]
    dtype: Precision,
    /// The operations are matrix products
    #[arg(long)]
    matrix: bool,
    /// Products of float32 may be rounded to TF32
    #[arg(long)]
    tf32: bool,
    /// Number of repeats
    #[arg(long, value_parser = count, default_value = "1")]
    repeats: f64,
    /// The data is copied for each repeat
    #[arg(long)]
    copied_each_time: bool,
    /// Kernels of one repeat
    #[arg(long, value_parser = count, default_value = "1")]
    launches: f64,
    /// Share of the CPU's time that can run in parallel, 0 to 1
    #[arg(long, value_parser = count, default_value = "1")]
    parallel: f64,
    /// Copies from pinned memory
    #[arg(long)]
    pinned: bool,
    /// Copies overlap with the arithmetic
    #[arg(long)]
    overlapped: bool,
    /// GPUs that share the work
    #[arg(long, value_parser = count, default_value = "1")]
    gpus: f64,
    /// Share of its boost clock that the GPU sustains, 0 to 1
    #[arg(long, value_parser = count, default_value = "1")]
    throttle: f64,
    /// One-time start-up of the GPU, such as "375 ms" [default: as measured on this machine's GPU, else 400 ms]
    #[arg(long, value_parser = time)]
    startup: Option<f64>,
    /// Time of each launch [default: 7 us]
    #[arg(long, value_parser = time)]
    launch: Option<f64>,
    /// Price of a kilowatt-hour
    #[arg(long, value_parser = count)]
    energy_price: Option<f64>,
    /// Price per hour of the machine without GPU
    #[arg(long, value_parser = count)]
    cpu_price: Option<f64>,
    /// Price per hour of the machine with the GPUs
    #[arg(long, value_parser = count)]
    gpu_price: Option<f64>,
    /// The simple formula: operations / throughput + data / bandwidth + overhead. Needs no listed hardware if rates and
    /// bandwidth are given
    #[arg(long)]
    simple: bool,
    /// With --simple: the CPU's throughput, such as "400 GFLOPS" [default: its peak]
    #[arg(long, value_parser = rate, requires = "simple")]
    cpu_rate: Option<f64>,
    /// With --simple: the GPU's throughput, such as "12.5 TFLOPS" [default: its peak]
    #[arg(long, value_parser = rate, requires = "simple")]
    gpu_rate: Option<f64>,
    /// With --simple: bandwidth of the PCIe slot, such as "8 GB/s" [default: its line rate]
    #[arg(long, value_parser = bandwidth, requires = "simple")]
    bandwidth: Option<f64>,
    /// Lists the known GPUs and CPUs, with the sources of their figures
    #[arg(long)]
    list: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// Runs one command line and returns the exit code.
pub(super) fn run(options: &Options, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    if options.list {
        let [gpus, cpus] = lists();
        let figures = serde_json::json!({ "gpus": gpus, "cpus": cpus });
        return if options.json { json(out, &figures) } else { list(out) }.map(|()| 0);
    }
    let question = options.question();
    let here = uses_this_machine(&question).then(machine::estimator_machine);
    if let Some(hint) = here.as_ref().and_then(|here| here.hint.as_ref()) {
        writeln!(err, "cuprous: {hint}")?;
    }
    match ask(&question, || here.clone().unwrap_or_else(machine::estimator_machine)) {
        Ok(answer) if options.json => json(out, &answer).map(|()| 0),
        Ok(answer) => show(out, &answer).map(|()| 0),
        Err(e) => writeln!(err, "cuprous: {}", e.message).map(|()| 2),
    }
}

impl Options {
    fn question(&self) -> Question {
        Question {
            cpu: self.cpu.clone(),
            gpu: self.gpu.clone(),
            flops: self.flops.unwrap_or_default(),
            data: self.data,
            result: self.result,
            traffic: self.traffic,
            footprint: self.footprint,
            launches: self.launches,
            parallel: self.parallel,
            repeats: self.repeats,
            copied: self.copied_each_time,
            dtype: self.dtype.dtype(),
            matrix: self.matrix,
            tf32: self.tf32,
            gpus: self.gpus,
            pinned: self.pinned,
            overlapped: self.overlapped,
            startup: self.startup,
            launch: self.launch,
            throttle: self.throttle,
            prices: [self.energy_price, self.cpu_price, self.gpu_price],
            simple: self.simple,
            given: [self.cpu_rate, self.gpu_rate, self.bandwidth],
        }
    }
}

/// The longest bar, in characters, and the one that the narrowest terminals show.
const BAR: [usize; 2] = [48, 4];

/// Writes the answer in characters that the locale has.
fn show(out: &mut dyn Write, answer: &Answer) -> io::Result<()> {
    let mut page = Vec::new();
    text(&mut page, answer)?;
    out.write_all(&terminal::in_locale(page))
}

fn text(out: &mut dyn Write, a: &Answer) -> io::Result<()> {
    let (gray, blue, plain) = if terminal::colored() { ("\x1b[90m", "\x1b[34m", "\x1b[0m") } else { ("", "", "") };
    let longest = a.cpu_seconds.max(a.gpu_seconds).max(f64::MIN_POSITIVE);
    let width = a.cpu.len().max(a.gpu.len());
    // A line is the name, two spaces, the bar, a space and the time.
    let times = seconds(a.cpu_seconds).chars().count().max(seconds(a.gpu_seconds).chars().count());
    let room = terminal::columns().map_or(BAR[0], |columns| columns.saturating_sub(width + times + 3));
    let full = room.clamp(BAR[1], BAR[0]) as f64;
    let bar = |t: f64| "█".repeat(((t / longest * full).round() as usize).max(1));
    writeln!(out, "{:<width$}  {gray}{}{plain} {}", a.cpu, bar(a.cpu_seconds), seconds(a.cpu_seconds))?;
    writeln!(out, "{:<width$}  {blue}{}{plain} {}", a.gpu, bar(a.gpu_seconds), seconds(a.gpu_seconds))?;
    for (name, t) in &a.parts {
        writeln!(out, "{:<width$}  {name:<11}{}", "", seconds(*t))?;
    }
    if let Some([low, high]) = &a.range_words {
        writeln!(
            out,
            "\nSpeed-up about {} ({low} to {high}, depending on how good the code is on each side).",
            a.factor
        )?;
    }
    if let Some([cpu, gpu]) = a.joules {
        writeln!(out, "Energy {} on the CPU, {} on the GPU.", quantity(cpu, "J"), quantity(gpu, "J"))?;
    }
    if let Some(prices) = a.price {
        let devices = [("CPU", "--cpu-price"), ("GPU", "--gpu-price")];
        let costs = prices.iter().zip(devices).map(|(price, (device, option))| match price {
            Some(price) => format!("{} on the {device}", money(*price)),
            None => format!("unknown on the {device} ({option})"),
        });
        writeln!(out, "Cost {}.", costs.collect::<Vec<_>>().join(", "))?;
    }
    writeln!(out, "{}", a.sentence)?;
    writeln!(out, "Figures: CPU: {}; GPU: {}.", a.figures[0], a.figures[1])
}

/// Formats a price with at least three significant digits.
fn money(price: f64) -> String {
    let digits = if price > 0.0 { (2 - price.log10().floor() as i32).clamp(0, 12) as usize } else { 0 };
    format!("{price:.digits$}")
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:<23}{:>10}{:>10}{:>10}{:>10}{:>12}{:>8}",
        "TFLOPS, dense", "float64", "float32", "16 bits", "memory", "bandwidth", "power"
    )?;
    let tera = |value: f64| format!("{:.4}", value / 1e12).trim_end_matches('0').trim_end_matches('.').to_owned();
    for gpu in profile::gpus() {
        let peak = |dtype| {
            let rate = gpu.require(dtype).map(|()| gpu.peak(dtype, ComputeUnit::Matrix, false));
            rate.map_or_else(|_| "-".to_owned(), tera)
        };
        let memory = quantity(gpu.memory.value, "B");
        let bandwidth = quantity(gpu.bandwidth.value, "B/s");
        let power = quantity(gpu.power.value, "W");
        let peaks = [DType::F64, DType::F32, DType::F16].map(peak);
        writeln!(
            out,
            "{:<23}{:>10}{:>10}{:>10}{memory:>10}{bandwidth:>12}{power:>8}{}",
            gpu.name,
            peaks[0],
            peaks[1],
            peaks[2],
            match gpu.remark() {
                None => "",
                Some(_) if gpu.is_supported() => "  +",
                Some(_) => "  *",
            }
        )?;
    }
    writeln!(out)?;
    for cpu in profile::cpus() {
        let (bandwidth, power) = (quantity(cpu.bandwidth.value, "B/s"), quantity(cpu.power.value, "W"));
        let peaks = [cpu.peak(DType::F64), cpu.peak(DType::F32)].map(tera);
        writeln!(out, "{:<23}{:>10}{:>10}{:>10}{:>10}{bandwidth:>12}{power:>8}", cpu.name, peaks[0], peaks[1], "", "")?;
    }
    writeln!(
        out,
        "\n* For comparison: `cuprous[cuda]` needs an NVIDIA GPU of compute capability 7.5 or later. GTX 1080 and V100 take \
         `cuprous[cuda12]`, which has not been run.\n+ AMD: kernels are compiled for gfx90a, gfx942, gfx1030, gfx1100 \
         and gfx1201, and simulated; not yet run on AMD hardware. Estimates are made as for the other GPUs.\n\
         - The GPU does not compute in float64."
    )?;
    writeln!(out, "`cuprous estimate --list --json` has the source of each figure.")
}
