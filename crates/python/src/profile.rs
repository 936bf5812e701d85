//! `cuprous.profile`: begins and ends, and hands out what the report says.

use std::path::PathBuf;

use cuprous_core::nvtx;
use cuprous_core::profile::{self, Kind};
use cuprous_watch::profile::{Report, Row};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::OrRaise;
use crate::interrupt;
use crate::{devices, places};

/// What a profile says, once it has ended.
#[pyclass(frozen, name = "Report", module = "cuprous._core")]
pub(crate) struct PyReport(Report);

/// Begins a profile of the whole process.
#[pyfunction]
pub(crate) fn profile_begin(py: Python<'_>) -> PyResult<()> {
    let nested = || {
        PyRuntimeError::new_err(
            "[profile] a profile is being made already: profiles cannot be nested, nor can two threads make one each",
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
    let begun = py.detach(|| devices::all_started().try_for_each(|e| e.begin_profile()));
    if begun.is_err() {
        profile::end();
    }
    begun.or_raise()
}

/// Ends it.
#[pyfunction]
pub(crate) fn profile_end(py: Python<'_>) -> PyResult<PyReport> {
    let done = py.detach(|| {
        let mut result = Ok(());
        for engine in devices::all_started() {
            result = engine.end_profile().and(result);
        }
        result
    });
    let taken = profile::end();
    done.or_raise()?;
    let taken = taken.ok_or_else(|| PyRuntimeError::new_err("[profile] no profile is being made"))?;
    let names = devices::all_started().map(|engine| (engine.id, devices::name(engine))).collect();
    let places = places::all();
    Ok(PyReport(py.detach(|| Report::new(*taken, places, names))))
}

/// Is a profile being made?
#[pyfunction]
pub(crate) fn profile_on() -> bool {
    profile::on()
}

/// A part of the program, named by the user, began; gives what `profile_part` wants at its end.
#[pyfunction]
pub(crate) fn profile_now() -> u64 {
    profile::now()
}

/// A part that began at `start` ends now.
#[pyfunction]
pub(crate) fn profile_part(name: &str, start: u64) {
    if profile::on() {
        cuprous_core::tape::capture_location();
        let origin = profile::Origin { what: profile::name(name), ..profile::origin(0) };
        profile::since(start, Kind::Mark, origin, 0);
    }
}

/// Begins a range for NVIDIA's tools; how deep it lies, none where no tool listens.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_push(name: &str, color: Option<u32>) -> Option<i32> {
    nvtx::push(name, color)
}

/// Ends the range that was begun last; how deep it lay.
#[pyfunction]
pub(crate) fn nvtx_pop() -> Option<i32> {
    nvtx::pop()
}

/// Something took place.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_mark(name: &str, color: Option<u32>) {
    nvtx::mark(name, color);
}

/// Begins a range that any thread may end, by the number that this gives.
#[pyfunction]
#[pyo3(signature = (name, color=None))]
pub(crate) fn nvtx_start(name: &str, color: Option<u32>) -> Option<u64> {
    nvtx::start(name, color)
}

/// Ends it.
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

fn written(path: &std::path::Path, done: std::io::Result<()>) -> PyResult<()> {
    done.map_err(|e| PyOSError::new_err((e.raw_os_error().unwrap_or(0), e.to_string(), path.to_path_buf())))
}

#[pymethods]
impl PyReport {
    /// A dict a line, those with most time first.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.rows.iter().map(|r| row(py, r)).collect()
    }

    /// Sums of all lines, and `wall`.
    fn total<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = row(py, &self.0.total)?;
        for name in ["file", "line", "function", "reasons"] {
            dict.del_item(name)?;
        }
        dict.set_item("wall", self.0.wall)?;
        dict.set_item("python", self.0.python())?;
        Ok(dict)
    }

    /// `(name, calls, seconds)` of the parts that the user named.
    fn parts(&self) -> Vec<(String, u64, f64)> {
        self.0.parts()
    }

    /// `(name, begin, seconds, seconds on the device)` of each, in order.
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

    /// Events in all, and how many of them are only in the sums.
    fn events(&self) -> (u64, u64) {
        self.0.events()
    }

    fn save_trace(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        written(&path, py.detach(|| self.0.save_trace(&path)))
    }

    fn save_flame_graph(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        written(&path, py.detach(|| self.0.save_flame_graph(&path)))
    }
}
