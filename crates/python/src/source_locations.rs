//! Where in the user's program an operation is recorded, for `explain()`, errors at run time and profiles.
//!
//! Invariant: the table's lock is never held while Python code may run, such as the garbage collector.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use cuprous_core::profile;
use cuprous_core::tape::{ALWAYS_TRACK, CURRENT_LOCATION, FORMAT_LOCATION};
use cuprous_watch::profile::SourceLocation;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{ffi, intern};
use smallvec::SmallVec;

/// The most locations, code objects and lines that are stored. Programs that generate code could exceed any bound.
const MAX_LOCATIONS: usize = 1 << 16;
/// The most lines of a stack that are recorded, the innermost ones.
const MAX_DEPTH: usize = 100;

/// A code object. It is kept alive, so that its address stays unique.
struct Code {
    /// True for code of this package or of Python's own machinery, which is not shown to the user.
    is_internal: bool,
    file: Arc<str>,
    function: Arc<str>,
    _kept: Py<PyAny>,
}

#[derive(Default)]
struct Table {
    code_numbers: HashMap<usize, u32>,
    codes: Vec<Code>,
    /// Line numbers by code and instruction. Python finds a line by reading its table from the start of the code.
    lines: HashMap<(u32, i32), u32>,
    /// Numbers of locations by code, line and the caller's location.
    location_numbers: HashMap<(u32, u32, u32), u32>,
    locations: Vec<(u32, u32, u32)>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Default::default);

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Registers the functions through which the engine queries locations.
pub(crate) fn install() {
    let always = std::env::var_os("CUPROUS_PLACES").is_some_and(|value| !value.is_empty() && value != "0");
    ALWAYS_TRACK.store(always, Relaxed);
    let _ = CURRENT_LOCATION.set(current);
    let _ = FORMAT_LOCATION.set(describe);
}

/// Returns the number of the innermost line outside of this package; during a profile, of the whole stack of such
/// lines.
fn current() -> u32 {
    Python::attach(|py| record_stack(py, profile::on()).unwrap_or(0))
}

/// Returns the innermost line outside of this package as `file:line`; empty if it is not known.
#[cfg(unix)]
pub(crate) fn current_line(py: Python<'_>) -> String {
    describe(record_stack(py, false).unwrap_or(0))
}

fn record_stack(py: Python<'_>, whole_stack: bool) -> PyResult<u32> {
    // SAFETY: the interpreter is attached; the frame is borrowed, and null if no Python code runs.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let Some(mut frame) = frame else { return Ok(0) };
    let mut lines: SmallVec<[(u32, u32); 16]> = SmallVec::new();
    loop {
        // SAFETY: the object is a frame.
        let code = unsafe { Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) };
        let (number, is_internal) = code_number(py, &code)?;
        let back = frame.getattr(intern!(py, "f_back"))?;
        if !is_internal || (back.is_none() && lines.is_empty()) {
            lines.push((number, line(&frame, number)?));
        }
        if back.is_none() || lines.len() >= MAX_DEPTH || (!whole_stack && !is_internal) {
            break;
        }
        frame = back;
    }
    let mut table = table();
    Ok(lines.iter().rev().fold(0, |caller, &(code, line)| table.number(code, line, caller)))
}

/// Returns the current line of a frame with that code.
fn line(frame: &Bound<'_, PyAny>, code: u32) -> PyResult<u32> {
    let at = (code, frame.getattr(intern!(frame.py(), "f_lasti"))?.extract()?);
    if let Some(&line) = table().lines.get(&at) {
        return Ok(line);
    }
    // SAFETY: the object is a frame.
    let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) }.max(0) as u32;
    let mut table = table();
    if code != u32::MAX && table.lines.len() < MAX_LOCATIONS {
        table.lines.insert(at, line);
    }
    Ok(line)
}

/// Returns the number of a code object and whether it is internal.
fn code_number(py: Python<'_>, code: &Bound<'_, PyAny>) -> PyResult<(u32, bool)> {
    static PACKAGE: PyOnceLock<String> = PyOnceLock::new();
    let address = code.as_ptr() as usize;
    {
        let table = table();
        if let Some(&number) = table.code_numbers.get(&address) {
            return Ok((number, table.codes[number as usize].is_internal));
        }
    }
    let package = PACKAGE.get_or_try_init(py, || -> PyResult<String> {
        let path: String = py.import("cuprous")?.getattr("__path__")?.get_item(0)?.extract()?;
        Ok(path + std::path::MAIN_SEPARATOR_STR)
    })?;
    let file: String = code.getattr("co_filename")?.extract()?;
    let function: String = code.getattr("co_qualname").or_else(|_| code.getattr("co_name"))?.extract()?;
    let is_internal = file.starts_with(package) || file.starts_with("<frozen ");
    let mut table = table();
    if table.codes.len() >= MAX_LOCATIONS {
        return Ok((u32::MAX, is_internal));
    }
    let number = table.codes.len() as u32;
    table.codes.push(Code { is_internal, file: file.into(), function: function.into(), _kept: code.clone().unbind() });
    table.code_numbers.insert(address, number);
    Ok((number, is_internal))
}

impl Table {
    /// Returns the number of a location, counted from 1; 0 if the table is full.
    fn number(&mut self, code: u32, line: u32, caller: u32) -> u32 {
        if let Some(&location_numbers) = self.location_numbers.get(&(code, line, caller)) {
            return location_numbers;
        }
        if self.locations.len() >= MAX_LOCATIONS || code == u32::MAX {
            return 0;
        }
        self.locations.push((code, line, caller));
        let number = self.locations.len() as u32;
        self.location_numbers.insert((code, line, caller), number);
        number
    }
}

/// Formats the location of that number as `file:line`; empty for the unknown location.
fn describe(location: u32) -> String {
    let table = table();
    let location = (location as usize).checked_sub(1).and_then(|k| table.locations.get(k));
    location.map_or_else(String::new, |&(code, line, _)| format!("{}:{line}", table.codes[code as usize].file))
}

/// Returns all locations, the unknown location first.
pub(crate) fn all() -> Vec<SourceLocation> {
    let table = table();
    let to_place = |&(code, line, caller): &(u32, u32, u32)| {
        let code = &table.codes[code as usize];
        SourceLocation { file: code.file.clone(), function: code.function.clone(), line, caller }
    };
    std::iter::once(SourceLocation::unknown()).chain(table.locations.iter().map(to_place)).collect()
}
