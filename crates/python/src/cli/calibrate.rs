//! `cuprous calibrate`: measures this machine.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use cuprous_advisor::machine::FORMAT;
use cuprous_advisor::units::{quantity, seconds};
use cuprous_advisor::{Group, Machine};
use cuprous_cuda::{Property, driver};
use cuprous_plan::calibrate::{DeviceSetup, Measured, Progress, measure};

use super::report::json;
use super::{Host, probe};
use crate::{devices, machine};

#[derive(Args)]
pub(super) struct Options {
    /// Shows the stored figures without measuring
    #[arg(long)]
    show: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Measures each figure once, on small arrays: takes a second, and the figures are inaccurate
    #[arg(long, hide = true)]
    quick: bool,
}

/// Measures, stores and shows the figures; returns the exit code.
pub(super) fn run(options: &Options, host: &Host<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let path = match machine::path() {
        Ok(path) => path,
        Err(why) => {
            writeln!(err, "cuprous: the figures cannot be stored: {why}; set CUPROUS_CACHE_DIR to a folder")?;
            return Ok(1);
        }
    };
    if options.show {
        let found = machine::read_measured();
        if let Some(hint) = &found.hint {
            writeln!(err, "cuprous: {hint}")?;
        }
        return match found.machine {
            Some(it) if options.json => json(out, &it).map(|()| 0),
            Some(it) => show(out, &it).map(|()| 0),
            None => writeln!(err, "cuprous: this machine has not been measured; run `cuprous calibrate`").map(|()| 1),
        };
    }
    let start = Instant::now();
    let record = (host.time_recording)();
    super::restore_default_sigint();
    let measured = match measure_machine(options.quick, record, &path, err) {
        Ok(measured) => measured,
        Err(Fault::Measuring(e)) => return writeln!(err, "cuprous: {}", e.message).map(|()| 1),
        Err(Fault::Keeping(e)) => {
            writeln!(err, "cuprous: cannot write {}: {e}", path.display())?;
            return Ok(1);
        }
    };
    if let Some(what) = &measured.disturbed {
        writeln!(err, "cuprous: the figures may be wrong, because {what}; run it again on an idle machine")?;
    }
    if options.json {
        return json(out, &measured).map(|()| 0);
    }
    show(out, &measured)?;
    writeln!(out, "\nMeasured in {} and stored in {}.", seconds(start.elapsed().as_secs_f64()), path.display())?;
    Ok(0)
}

enum Fault {
    Measuring(cuprous_core::Error),
    Keeping(io::Error),
}

impl From<cuprous_core::Error> for Fault {
    fn from(e: cuprous_core::Error) -> Fault {
        Fault::Measuring(e)
    }
}

/// Reports the next step: on a terminal it overwrites the previous one, otherwise on lines.
fn report_progress(device: &str, what: &str, err: &mut dyn Write) {
    let _ = if io::stderr().is_terminal() {
        write!(err, "\r{device}: {what:<40}\r").and_then(|()| err.flush())
    } else {
        writeln!(err, "{device}: {what}")
    };
}

/// The highest ratio between times of the same work on an idle machine.
const SPREAD: f64 = 1.3;

/// The highest share of the CPU that other programs may take.
const OTHERS: f64 = 0.1;

/// Measures everything and writes the file once, at the end. An interrupted run leaves the previous file.
fn measure_machine(quick: bool, record: f64, path: &Path, err: &mut dyn Write) -> Result<Machine, Fault> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let name = probe::cpu();
    let about = DeviceSetup {
        name: name.split(',').next().unwrap_or("CPU").to_owned(),
        caches: probe::caches(threads),
        memory: 0.0,
        threads,
        record,
        startup: 0.0,
        gpu: false,
        pinned: None,
        quick,
    };
    let before = probe::CpuTime::now();
    let cpu = measure(devices::by_name("cpu")?, &about, &mut |what| report_progress("CPU", what, err))?;
    let board = machine::board();
    let gpu = board
        .as_ref()
        .map(|board| on_gpu(board, record, quick, &mut |what| report_progress("GPU", what, err)))
        .transpose();
    let mut disturbed = Vec::new();
    if let Some(others) = probe::CpuTime::now().others_since(&before).filter(|&others| others > OTHERS) {
        disturbed.push(format!("other programs took {:.0} % of the CPU", 100.0 * others));
    }
    for (device, spread) in
        [("CPU", Some(cpu.spread)), ("GPU", gpu.as_ref().ok().and_then(|g| Some(g.as_ref()?.spread)))]
    {
        if let Some(spread) = spread.filter(|&spread| spread > SPREAD) {
            disturbed.push(format!("the same work took the {device} up to {spread:.1} times as long as at best"));
        }
    }
    let whole = Machine {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        host: name,
        board: board.filter(|_| gpu.is_ok()),
        measured: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
        cpu: cpu.rates,
        gpu: gpu.as_ref().ok().and_then(|gpu| Some(gpu.as_ref()?.rates.clone())),
        disturbed: (!disturbed.is_empty()).then(|| disturbed.join(", and ")),
    };
    whole.write(path).map_err(Fault::Keeping)?;
    // If the GPU failed, the file has the figures of the CPU.
    gpu?;
    Ok(whole)
}

fn on_gpu(board: &str, record: f64, quick: bool, progress: Progress) -> cuprous_core::Result<Measured> {
    let start = Instant::now();
    let engine = devices::by_name("cuda")?;
    let startup = start.elapsed().as_secs_f64();
    let properties = cuprous_cuda::properties(0)?;
    let number = |key: &str| {
        properties.iter().find_map(|(name, value)| match value {
            Property::Number(n) if *name == key => Some(*n as f64),
            _ => None,
        })
    };
    let about = DeviceSetup {
        name: board.split(',').next().unwrap_or("GPU").to_owned(),
        // Half of the cache, because written data occupies it as well.
        caches: number("l2CacheSize").filter(|&n| n > 0.0).map(|n| n / 2.0).into_iter().collect(),
        memory: number("totalGlobalMem").unwrap_or(0.0),
        threads: 1.0,
        record,
        startup,
        gpu: true,
        pinned: pinned(),
        quick,
    };
    measure(engine, &about, progress)
}

/// Measures the bytes per second of copies from and to pinned memory.
fn pinned() -> Option<[f64; 2]> {
    const BYTES: usize = 64 << 20;
    let context = driver::Context::of_device(0).ok()?;
    context.make_current().ok()?;
    let stream = driver::Stream::new(context).ok()?;
    let host = driver::PinnedBuffer::new(context, BYTES).ok()?;
    let device = driver::mem_alloc(context, BYTES).ok()?;
    let mut best = [0.0f64; 2];
    for _ in 0..5 {
        for (way, rate) in best.iter_mut().enumerate() {
            let start = Instant::now();
            // SAFETY: both ranges are live and of that size, and the copy has finished before they are freed.
            let copied = unsafe {
                match way {
                    0 => driver::memcpy_htod_async(device, host.as_ptr(), BYTES, &stream),
                    _ => driver::memcpy_dtoh_async(host.as_ptr(), device, BYTES, &stream),
                }
            };
            if copied.and_then(|()| stream.synchronize()).is_ok() {
                *rate = rate.max(BYTES as f64 / start.elapsed().as_secs_f64());
            }
        }
    }
    // SAFETY: it came from `mem_alloc` and is no longer used.
    let _ = unsafe { driver::mem_free(context, device) };
    best.iter().all(|&rate| rate > 0.0).then_some(best)
}

/// The work items that are shown.
const SHOWN: [&str; 19] = [
    "add",
    "divide",
    "sqrt",
    "exp",
    "log",
    "sin",
    "tanh",
    "erf",
    "power",
    "dot",
    "thin dot",
    "reduce across",
    "m2 across",
    "fft",
    "factor",
    "sort",
    "scan",
    "gather",
    "random_normal32",
];

fn show(out: &mut dyn Write, it: &Machine) -> io::Result<()> {
    for rates in std::iter::once(&it.cpu).chain(&it.gpu) {
        writeln!(out, "{}", rates.name)?;
        let mut rooms: Vec<String> = Vec::new();
        for room in &rates.memory_levels {
            let size = if room.bytes > 0.0 { quantity(room.bytes, "B") } else { "memory".into() };
            rooms.push(format!("{size} {}", quantity(room.bandwidth, "B/s")));
        }
        writeln!(out, "  bandwidth     {}", rooms.join(", "))?;
        if rates.graph > 0 {
            let from = if rates.graph == usize::MAX { "never".into() } else { format!("from {} kernels", rates.graph) };
            writeln!(out, "  graphs        faster than launches {from}")?;
        }
        writeln!(
            out,
            "  launches      a kernel {}, a program {}, recording an operation {}{}",
            seconds(rates.launch),
            seconds(rates.program),
            seconds(rates.record),
            if rates.together > 0.0 {
                format!(
                    ", sharing among {} threads, {:.1} times as fast as one, {}",
                    rates.threads,
                    rates.together,
                    seconds(rates.share)
                )
            } else {
                String::new()
            }
        )?;
        if let Some(c) = &rates.copies {
            let rate = |x: f64| quantity(x, "B/s");
            writeln!(
                out,
                "  copies        to it {}, pinned {}; from it {}, pinned {}; at least {}",
                rate(c.up),
                rate(c.up_pinned),
                rate(c.down),
                rate(c.down_pinned),
                seconds(c.latency)
            )?;
        }
        writeln!(
            out,
            "  {:<16}{:>12}{:>12}{:>12}{:>12}{:>12}",
            "units a second", "float16", "float32", "float64", "int32", "int64"
        )?;
        for what in SHOWN.iter().filter(|what| rates.work.contains_key(**what)) {
            write!(out, "  {what:<16}")?;
            for group in Group::ALL {
                let rate = rates.work[*what][group as usize];
                let text = if rate > 0.0 { quantity(rate, "") } else { "-".into() };
                write!(out, "{:>12}", text.trim())?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
