//! `cuprous.profile`: starts and stops profiles and returns their reports.

use std::path::PathBuf;

use cuprous_core::nvtx;
use cuprous_core::profile::{self, Kind};
use cuprous_watch::profile::{Report, Row};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::interrupt;
use crate::{devices, source_locations};

/// The report of a profile that has ended.
#[pyclass(frozen, name = "Report", module = "cuprous._core")]
pub(crate) struct PyReport(Report);

/// Starts a profile of the whole process.
#[pyfunction]
pub(crate) fn profile_begin(py: Python<'_>) -> PyResult<()> {
    let nested = || {
        PyRuntimeError::new_err(
            "[profile] a profile is already being recorded; profiles cannot be nested or run in two threads",
        )
    };
    if profile::on() {
        return Err(nested());
    }
    devices::default_engine().or_raise()?;
    interrupt::run(py, || devices::all_started().try_for_each(|e| e.settle_for_profile()))?;
    if !profile::begin() {
        return Err(nested());
    }
    let started = py.detach(|| devices::all_started().try_for_each(|e| e.begin_profile()));
    if started.is_err() {
        profile::end();
    }
    started.or_raise()
}

/// Stops the profile and returns its report.
#[pyfunction]
pub(crate) fn profile_end(py: Python<'_>) -> PyResult<PyReport> {
    let done = py.detach(|| {
        let mut result = Ok(());
        for engine in devices::all_started() {
            result = engine.end_profile().and(result);
        }
        result
    });
    let recording = profile::end();
    done.or_raise()?;
    let recording = recording.ok_or_else(|| PyRuntimeError::new_err("[profile] no profile is being recorded"))?;
    let names = devices::all_started().map(|engine| (engine.id, devices::name(engine))).collect();
    let locations = source_locations::all();
    Ok(PyReport(py.detach(|| Report::new(*recording, locations, names))))
}

/// Returns true while a profile is recorded.
#[pyfunction]
pub(crate) fn is_profiling() -> bool {
    profile::on()
}

/// Returns the start time of a part of the program that the user names, for `profile_part`.
#[pyfunction]
pub(crate) fn profile_now() -> u64 {
    profile::now()
}

/// Records a part of the program that began at `start` and ends now.
#[pyfunction]
pub(crate) fn profile_part(name: &str, start: u64) {
    if profile::on() {
        cuprous_core::tape::capture_location();
        let origin = profile::Origin { what: profile::name(name), ..profile::origin(0) };
        profile::since(start, Kind::Mark, origin, 0);
    }
}

/// Begins a range for NVIDIA's tools and returns its depth; `None` if no tool listens.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_push(name: &str, color: Option<u32>) -> Option<i32> {
    nvtx::push(name, color)
}

/// Ends the range that was begun last and returns its depth.
#[pyfunction]
pub(crate) fn nvtx_pop() -> Option<i32> {
    nvtx::pop()
}

/// Marks an event.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_mark(name: &str, color: Option<u32>) {
    nvtx::mark(name, color);
}

/// Begins a range that any thread may end with the number that is returned.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_start(name: &str, color: Option<u32>) -> Option<u64> {
    nvtx::start(name, color)
}

/// Ends a range by its number.
#[pyfunction]
pub(crate) fn nvtx_end(range: u64) {
    nvtx::end(range);
}

fn row<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file", &*row.file)?;
    dict.set_item("line", row.line)?;
    dict.set_item("function", &*row.function)?;
    for (name, value) in row.seconds() {
        dict.set_item(name, value)?;
    }
    for (name, value) in row.counts() {
        dict.set_item(name, value)?;
    }
    dict.set_item("reasons", row.reasons.clone())?;
    Ok(dict)
}

fn raise_io_error(path: &std::path::Path, done: std::io::Result<()>) -> PyResult<()> {
    done.map_err(|e| PyOSError::new_err((e.raw_os_error().unwrap_or(0), e.to_string(), path.to_path_buf())))
}

#[pymethods]
impl PyReport {
    /// Returns one dict per line, the slowest first.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.rows.iter().map(|r| row(py, r)).collect()
    }

    /// Returns the sums of all lines, and `wall`.
    fn total<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = row(py, &self.0.total)?;
        for name in ["file", "line", "function", "reasons"] {
            dict.del_item(name)?;
        }
        dict.set_item("wall", self.0.wall)?;
        dict.set_item("python", self.0.python())?;
        Ok(dict)
    }

    /// Returns `(name, calls, seconds)` of the parts that the user named.
    fn parts(&self) -> Vec<(String, u64, f64)> {
        self.0.parts()
    }

    /// Returns `(name, begin, seconds, seconds on the device)` of each part, in order.
    fn part_spans(&self) -> Vec<(String, f64, f64, f64)> {
        self.0.part_spans()
    }

    fn advice(&self) -> Vec<String> {
        self.0.advice()
    }

    #[pyo3(signature = (limit, sort_by))]
    fn table(&self, limit: usize, sort_by: &str) -> PyResult<String> {
        self.0.table(limit, sort_by).map_err(PyValueError::new_err)
    }

    /// Returns the number of events, and how many of them are only in the sums.
    fn events(&self) -> (u64, u64) {
        self.0.events()
    }

    fn save_trace(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        raise_io_error(&path, py.detach(|| self.0.save_trace(&path)))
    }

    fn save_flame_graph(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        raise_io_error(&path, py.detach(|| self.0.save_flame_graph(&path)))
    }
}
