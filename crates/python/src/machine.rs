//! This machine: its name, and its rates as far as they are known.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use cuprous_advisor::machine::{StoredMachine, file};
use cuprous_advisor::profile::{self, Level};
use cuprous_advisor::question::ThisMachine;
use cuprous_advisor::{Machine, rates::Rates};
use cuprous_cuda::cache::DiskCache;
use cuprous_cuda::codegen::Vendor;
use cuprous_cuda::driver;
use pyo3::prelude::*;

use crate::cli::probe;

/// Returns the path of the measurements file, or why there is none.
pub(crate) fn path() -> Result<PathBuf, String> {
    let cache = DiskCache::open_default();
    match cache.folder() {
        Some(folder) => Ok(file(folder)),
        None => Err(cache.disabled_because().unwrap_or("there is no cache folder").to_owned()),
    }
}

/// Returns the name of the first GPU that this process may use, with its driver, without initializing CUDA.
pub(crate) fn board() -> Option<String> {
    if cuprous_cuda::device_count() == 0 {
        return None;
    }
    if driver::vendor() == Vendor::Amd {
        // HIP starts in a few milliseconds, and its name is the only one in words.
        let name = driver::init().and_then(|()| driver::device_info(0)).map(|info| info.name);
        let version = cuprous_cuda::hip_version().unwrap_or_default();
        return Some(format!("{}, HIP {version}", name.unwrap_or_else(|_| "AMD GPU".into())));
    }
    let mut folders: Vec<PathBuf> =
        fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let model = folders.iter().find_map(|folder| {
        let text = fs::read_to_string(folder.join("information")).ok()?;
        Some(text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim().to_owned())
    });
    let driver = fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    Some(format!("{}, driver {}", model.as_deref().unwrap_or("NVIDIA GPU"), driver.trim()))
}

/// Reads the measurements of this machine.
pub(crate) fn read_measured() -> StoredMachine {
    match path() {
        Ok(path) => Machine::read(&path, &probe::cpu(), board().as_deref()),
        Err(_) => StoredMachine::default(),
    }
}

/// Returns what estimates know about this machine.
pub(crate) fn estimator_machine() -> ThisMachine {
    let found = read_measured();
    let measured = found.machine.as_ref().map_or([false; 2], |machine| [true, machine.gpu.is_some()]);
    let source = [false, true].map(|is_gpu| {
        if measured[usize::from(is_gpu)] {
            return "measured by `cuprous calibrate`".to_owned();
        }
        let like = if is_gpu { board().map(|board| like_gpu(&board).name) } else { Some(like_cpu().name) };
        let like = like.unwrap_or_default();
        format!("not measured, assumed to be similar to the {like} (run `cuprous calibrate` to measure it)")
    });
    ThisMachine { host: host(&found), gpu: gpu(&found), measured, source, hint: found.hint }
}

/// Returns the listed CPU that is most similar to this one: one of the same model number, such as `9654` or `12400`.
fn like_cpu() -> &'static profile::Cpu {
    let name = probe::cpu();
    let model = name.split(',').next().unwrap_or_default();
    let listed = profile::cpus();
    let known = listed.iter().find(|cpu| {
        let last = cpu.name.split([' ', '-']).next_back().unwrap_or_default();
        model.split([' ', '-']).any(|word| word == last)
    });
    known.or_else(|| listed.iter().find(|cpu| cpu.name.contains("7763"))).unwrap_or(&listed[0])
}

/// Returns the listed GPU that is most similar to a board; a small one if no GPU is similar.
fn like_gpu(board: &str) -> &'static profile::Gpu {
    let model = board.split(',').next().unwrap_or_default();
    let small = || profile::find(profile::gpus(), |gpu| gpu.name, "T4");
    profile::like(model).or_else(small).unwrap_or(&profile::gpus()[0])
}

/// Returns the host's rates: measured, or those of a similar CPU.
pub(crate) fn host(found: &StoredMachine) -> Rates {
    if let Some(machine) = &found.machine {
        return machine.cpu.clone();
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Rates::of_cores(&probe::cpu(), like_cpu(), cores as f64)
}

/// Returns the GPU's rates: measured, or those of a similar listed GPU; `None` without a usable GPU.
pub(crate) fn gpu(found: &StoredMachine) -> Option<Rates> {
    if let Some(gpu) = found.machine.as_ref().and_then(|machine| machine.gpu.clone()) {
        return Some(gpu);
    }
    let board = board()?;
    let name = board.split(',').next().unwrap_or_default().to_owned();
    Some(Rates { name, ..Rates::of_gpu(like_gpu(&board), false, Level::Typical) })
}

/// Measures the seconds that recording an operation from Python takes.
pub(crate) fn time_recording(py: Python<'_>) -> f64 {
    let code = c"
import time
import cuprous
def once():
    y = cuprous.zeros(8)
    cuprous.synchronize()
    start = time.perf_counter()
    for _ in range(100):
        y = y * 1.5
    taken = time.perf_counter() - start
    cuprous.synchronize()
    return taken / 100
result = sorted(once() for _ in range(50))[25]
";
    let globals = pyo3::types::PyDict::new(py);
    let start = Instant::now();
    let run = py
        .run(code, Some(&globals), None)
        .and_then(|()| globals.get_item("result")?.map_or(Ok(3e-7), |found| found.extract::<f64>()));
    run.unwrap_or_else(|_| start.elapsed().as_secs_f64().min(3e-7))
}
