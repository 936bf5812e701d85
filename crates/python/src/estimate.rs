//! Estimates: the work that a function records, as seconds on this machine or a listed one, and the simple formula.

use std::sync::{Arc, Mutex};

use cuprous_advisor::counted::{Counted, compare};
use cuprous_advisor::profile::{self, Level};
use cuprous_advisor::question::{Question, ask};
use cuprous_advisor::units::{self, Kind, parse};
use cuprous_advisor::{Group, Load, advice, rates::Rates};
use cuprous_core::{Array, DType, Error, Result};
use cuprous_plan::Engine;
use cuprous_plan::engine::Estimate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::tensor::PyTensor;
use crate::{devices, machine};

/// Counts the work of a function and keeps the result.
#[pyclass(frozen, name = "WorkCounter", module = "cuprous._core")]
pub(crate) struct WorkCounter(Mutex<State>);

#[derive(Default)]
struct State {
    engines: Vec<&'static Arc<Engine>>,
    taken: Estimate,
}

/// Returns the rates of a device of this machine or of a listed one, and whether they were measured. Without a name,
/// `gpu` chooses between this machine's devices.
fn rates(name: Option<&str>, gpu: bool, tf32: bool) -> Result<(Rates, bool)> {
    let found = machine::read_measured();
    let measured = |is_gpu: bool| found.machine.as_ref().is_some_and(|m| !is_gpu || m.gpu.is_some());
    let here = |is_gpu: bool| {
        if is_gpu { machine::gpu(&found) } else { Some(machine::host(&found)) }.map(|rates| (rates, measured(is_gpu)))
    };
    let missing = |name: &str| {
        let several = profile::candidates(profile::gpus(), |g| g.name, name);
        if several.len() > 1 {
            let names: Vec<&str> = several.iter().map(|g| g.name).collect();
            return Error::value(format!("[estimate] {name:?} is ambiguous; use one of {}", names.join(", ")));
        }
        let names = profile::gpus().iter().map(|g| g.name).chain(profile::cpus().iter().map(|c| c.name));
        let names: Vec<&str> = names.collect();
        Error::value(format!(
            "[estimate] unknown device {name:?}; use \"cpu\" or \"cuda\" of this machine, {}",
            names.join(", ")
        ))
    };
    match name {
        Some("cpu") => here(false).ok_or_else(|| missing("cpu")),
        None if !gpu => here(false).ok_or_else(|| missing("cpu")),
        None | Some("cuda" | "gpu" | "cuda:0" | "hip" | "hip:0") => here(true).ok_or_else(|| {
            Error::runtime("[estimate] this machine has no usable GPU; name one, such as device=\"H200\"")
        }),
        Some(name) => {
            let paper = |rates| (rates, false);
            let gpu = profile::find(profile::gpus(), |g| g.name, name);
            let cpu = || profile::find(profile::cpus(), |c| c.name, name);
            gpu.map(|g| Rates::of_gpu(g, tf32, Level::Typical))
                .or_else(|| cpu().map(|c| Rates::of_cpu(c, Level::Typical)))
                .map(paper)
                .ok_or_else(|| missing(name))
        }
    }
}

/// Checks that a listed GPU computes in all dtypes of the counted work.
fn require(name: Option<&str>, counted: &Counted) -> Result<()> {
    let listed = name.and_then(|name| profile::find(profile::gpus(), |g| g.name, name));
    let wide = |load: &Load| load.demands.iter().any(|demand| demand.group == Group::F64 && demand.amount > 0.0);
    match listed {
        Some(gpu) if counted.loads().any(wide) => gpu.require(DType::F64),
        _ => Ok(()),
    }
}

impl WorkCounter {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn merge(all: &mut Estimate, one: Estimate) {
    let counted = &mut all.counted;
    counted.programs.extend(one.counted.programs);
    counted.upload += one.counted.upload;
    counted.download += one.counted.download;
    counted.reads += one.counted.reads;
    all.ran += one.ran;
    all.kernels += one.kernels;
}

#[pymethods]
impl WorkCounter {
    /// Starts counting what the calling thread records, on every device that has been started.
    #[new]
    fn new() -> PyResult<WorkCounter> {
        devices::default_engine().or_raise()?;
        let engines: Vec<_> = devices::all_started().collect();
        for (k, engine) in engines.iter().enumerate() {
            if let Err(e) = engine.begin_estimate() {
                for started in &engines[..k] {
                    started.end_estimate().or_raise()?;
                }
                return Err(e).or_raise();
            }
        }
        Ok(WorkCounter(Mutex::new(State { engines, taken: Estimate::default() })))
    }

    /// Counts what is recorded and has not run; `results` are the wanted results.
    fn count(&self, results: Vec<Bound<'_, PyAny>>) {
        let arrays: Vec<Array> = results
            .iter()
            .filter_map(|object| {
                let array = object.cast::<PyArray>().map(|a| a.get().array.clone()).ok();
                array.or_else(|| object.cast::<PyTensor>().map(|t| t.get().array()).ok())
            })
            .collect();
        let arrays: Vec<&Array> = arrays.iter().collect();
        self.state().engines.iter().for_each(|engine| engine.estimate_results(&arrays));
    }

    /// Stops counting. The results must have been dropped. Called once.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let engines = std::mem::take(&mut self.state().engines);
        let taken = py.detach(|| {
            let mut all = Estimate::default();
            let mut result = Ok(());
            for engine in engines {
                match engine.end_estimate() {
                    Ok(one) => merge(&mut all, one),
                    Err(e) => result = Err(e),
                }
            }
            result.map(|()| all)
        });
        self.state().taken = taken.or_raise()?;
        Ok(())
    }

    /// Returns what was counted.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Estimate { counted, ran, kernels } = self.state().taken.clone();
        let dict = PyDict::new(py);
        dict.set_item("flops", counted.sum(|l| l.flops()))?;
        dict.set_item("read", counted.sum(Load::fetched))?;
        dict.set_item("written", counted.sum(|l| l.written))?;
        dict.set_item("launches", counted.sum(|l| l.launches))?;
        dict.set_item("upload", counted.upload)?;
        dict.set_item("download", counted.download)?;
        dict.set_item("ran", ran)?;
        dict.set_item("kernels", kernels)?;
        let step = |(name, load): &(String, cuprous_advisor::Load)| {
            let work: Vec<(&str, f64)> = load.demands.iter().map(|d| (d.what, d.amount)).collect();
            (name.clone(), load.flops(), load.fetched(), load.written, work)
        };
        let programs: Vec<_> =
            counted.programs.iter().map(|p| (p.nodes, p.steps.iter().map(step).collect::<Vec<_>>())).collect();
        dict.set_item("programs", programs)?;
        Ok(dict)
    }

    /// Returns the seconds of one run on a device, without copies: `name`, `measured`, `seconds`, `bound`, and the
    /// seconds of each step.
    fn on<'py>(&self, py: Python<'py>, device: Option<&str>, gpu: bool, tf32: bool) -> PyResult<Bound<'py, PyDict>> {
        let (rates, measured) = rates(device, gpu, tf32).or_raise()?;
        let counted: Counted = self.state().taken.counted.clone();
        require(device, &counted).or_raise()?;
        let dict = PyDict::new(py);
        dict.set_item("name", &rates.name)?;
        dict.set_item("measured", measured)?;
        dict.set_item("gpu", rates.copies.is_some())?;
        dict.set_item("seconds", counted.run(&rates))?;
        dict.set_item("bound", format!("{:?}", counted.bound(&rates)).to_lowercase())?;
        dict.set_item("fits", rates.memory == 0.0 || counted.footprint() <= rates.memory)?;
        let steps: Vec<Vec<f64>> = counted
            .programs
            .iter()
            .map(|p| p.steps.iter().map(|(_, load)| rates.span(load).total()).collect())
            .collect();
        dict.set_item("steps", steps)?;
        Ok(dict)
    }

    /// Compares both devices, with copies.
    #[allow(clippy::too_many_arguments, reason = "one for each of Python's")]
    #[pyo3(signature = (cpu, gpu, repeats, pinned, startup, tf32))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        cpu: Option<&str>,
        gpu: Option<&str>,
        repeats: f64,
        pinned: bool,
        startup: Option<f64>,
        tf32: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ((host, _), (board, _)) = (rates(cpu, false, tf32).or_raise()?, rates(gpu, true, tf32).or_raise()?);
        let counted: Counted = self.state().taken.counted.clone();
        require(gpu, &counted).or_raise()?;
        let e = compare(&counted, &host, &board, repeats, pinned, startup).or_raise()?;
        let dict = PyDict::new(py);
        dict.set_item("cpu", e.cpu)?;
        dict.set_item("gpu", e.gpu.total)?;
        dict.set_item("copies", e.gpu.copies)?;
        dict.set_item("speedup", e.speedup)?;
        dict.set_item("range", (e.range[0], e.range[1]))?;
        dict.set_item("bound", format!("{:?}", e.bound).to_lowercase())?;
        dict.set_item("break_even_size", e.break_even_size)?;
        dict.set_item("break_even_repeats", e.break_even_repeats)?;
        dict.set_item("sentence", advice::sentence(&e))?;
        Ok(dict)
    }

    /// Returns why existing measurements are not used, if that is the case.
    #[staticmethod]
    fn hint() -> Option<String> {
        machine::read_measured().hint
    }
}

/// Returns 0 for the name of a CPU and 1 for that of a GPU.
#[pyfunction]
pub(crate) fn device_side(name: &str) -> PyResult<usize> {
    if name == "cpu" || devices::is_gpu_name(name) {
        return Ok(usize::from(name != "cpu"));
    }
    let gpu = profile::find(profile::gpus(), |g| g.name, name).is_some();
    if !gpu {
        rates(Some(name), false, false).or_raise()?;
    }
    Ok(usize::from(gpu))
}

/// Returns the names of all listed devices.
#[pyfunction]
pub(crate) fn profiles() -> Vec<&'static str> {
    profile::gpus().iter().map(|g| g.name).chain(profile::cpus().iter().map(|c| c.name)).collect()
}

/// Parses a quantity such as "10,000 GFLOP" into SI units; `kind` is "operations", "bytes", "seconds", "rate" or
/// "bandwidth".
#[pyfunction]
pub(crate) fn parse_quantity(text: &str, kind: &str) -> PyResult<f64> {
    let kind = match kind {
        "operations" => Kind::Operations,
        "bytes" => Kind::Bytes,
        "seconds" => Kind::Seconds,
        "rate" => Kind::Rate,
        "bandwidth" => Kind::Bandwidth,
        _ => return Err(PyValueError::new_err(format!("[parse_quantity] unknown kind of quantity {kind:?}"))),
    };
    parse(text, kind).or_raise()
}

/// Formats a quantity: "12.5 ms", "6 h 56 min", "1.50 GB".
#[pyfunction]
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    if unit == "s" { units::seconds(value) } else { units::quantity(value, unit) }
}

/// Evaluates the simple formula, in SI units. `given` holds the CPU's rate, the GPU's rate and the bandwidth.
#[pyfunction]
pub(crate) fn estimate_simple<'py>(
    py: Python<'py>,
    flops: f64,
    data: f64,
    given: [Option<f64>; 3],
    startup: Option<f64>,
    cpu: Option<String>,
    gpu: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let question = Question { flops, data, given, startup, cpu, gpu, simple: true, ..Question::default() };
    let answer = ask(&question, machine::estimator_machine).or_raise()?;
    let dict = PyDict::new(py);
    dict.set_item("cpu_seconds", answer.cpu_seconds)?;
    dict.set_item("gpu_seconds", answer.gpu_seconds)?;
    for (name, seconds) in &answer.parts {
        dict.set_item(name.replace("start-up", "startup"), seconds)?;
    }
    dict.set_item("speedup", answer.speedup)?;
    dict.set_item("sentence", answer.sentence)?;
    dict.set_item("figures", (&answer.figures[0], &answer.figures[1]))?;
    Ok(dict)
}
