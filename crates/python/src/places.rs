//! Where in the user's program an operation is recorded, for `explain()`, for errors at run time and for profiles.
//!
//! Invariant: the table's lock is never held while Python runs, which may be anything: a collection of garbage, for one.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use cuprous_core::profile;
use cuprous_core::tape::{ALWAYS_TRACK, CURRENT_LOCATION, FORMAT_LOCATION};
use cuprous_watch::profile::Place;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{ffi, intern};
use smallvec::SmallVec;

/// Programs are finite; still, past this many no new places are told apart, nor code objects kept.
const MAX_PLACES: usize = 1 << 16;
/// Lines of a stack, the innermost ones.
const MAX_DEPTH: usize = 100;

/// A code object, by its address: it is kept, so that the address stays its own.
struct Code {
    /// Of this package, or of Python's own machinery: no place of the user's.
    ours: bool,
    file: Arc<str>,
    function: Arc<str>,
    _kept: Py<PyAny>,
}

#[derive(Default)]
struct Table {
    numbers: HashMap<usize, u32>,
    codes: Vec<Code>,
    /// By code and instruction: Python finds a line by reading its table from the code's beginning.
    lines: HashMap<(u32, i32), u32>,
    /// Code, line and the caller's place.
    known: HashMap<(u32, u32, u32), u32>,
    places: Vec<(u32, u32, u32)>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Default::default);

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Tells the engine how to ask.
pub(crate) fn install() {
    let always = std::env::var_os("CUPROUS_PLACES").is_some_and(|value| !value.is_empty() && value != "0");
    ALWAYS_TRACK.store(always, Relaxed);
    let _ = CURRENT_LOCATION.set(here);
    let _ = FORMAT_LOCATION.set(spell);
}

/// The number of the innermost line outside this package; while somebody profiles, of the whole stack of such lines.
fn here() -> u32 {
    Python::attach(|py| find(py, profile::on()).unwrap_or(0))
}

fn find(py: Python<'_>, whole: bool) -> PyResult<u32> {
    // SAFETY: the interpreter is attached; the frame is borrowed, and none where nothing runs.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let Some(mut frame) = frame else { return Ok(0) };
    let mut lines: SmallVec<[(u32, u32); 16]> = SmallVec::new();
    loop {
        // SAFETY: it is a frame.
        let code = unsafe { Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) };
        let (number, ours) = code_number(py, &code)?;
        let back = frame.getattr(intern!(py, "f_back"))?;
        if !ours || (back.is_none() && lines.is_empty()) {
            lines.push((number, line(&frame, number)?));
        }
        if back.is_none() || lines.len() >= MAX_DEPTH || (!whole && !ours) {
            break;
        }
        frame = back;
    }
    let mut table = table();
    Ok(lines.iter().rev().fold(0, |caller, &(code, line)| table.number(code, line, caller)))
}

/// The line that a frame of that code is at.
fn line(frame: &Bound<'_, PyAny>, code: u32) -> PyResult<u32> {
    let at = (code, frame.getattr(intern!(frame.py(), "f_lasti"))?.extract()?);
    if let Some(&line) = table().lines.get(&at) {
        return Ok(line);
    }
    // SAFETY: it is a frame.
    let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) }.max(0) as u32;
    let mut table = table();
    if code != u32::MAX && table.lines.len() < MAX_PLACES {
        table.lines.insert(at, line);
    }
    Ok(line)
}

/// The number of a code object, and whether it is none of the user's.
fn code_number(py: Python<'_>, code: &Bound<'_, PyAny>) -> PyResult<(u32, bool)> {
    static PACKAGE: PyOnceLock<String> = PyOnceLock::new();
    let address = code.as_ptr() as usize;
    {
        let table = table();
        if let Some(&number) = table.numbers.get(&address) {
            return Ok((number, table.codes[number as usize].ours));
        }
    }
    let package = PACKAGE.get_or_try_init(py, || -> PyResult<String> {
        let path: String = py.import("cuprous")?.getattr("__path__")?.get_item(0)?.extract()?;
        Ok(path + std::path::MAIN_SEPARATOR_STR)
    })?;
    let file: String = code.getattr("co_filename")?.extract()?;
    let function: String = code.getattr("co_qualname").or_else(|_| code.getattr("co_name"))?.extract()?;
    let ours = file.starts_with(package) || file.starts_with("<frozen ");
    let mut table = table();
    if table.codes.len() >= MAX_PLACES {
        return Ok((u32::MAX, ours));
    }
    let number = table.codes.len() as u32;
    table.codes.push(Code { ours, file: file.into(), function: function.into(), _kept: code.clone().unbind() });
    table.numbers.insert(address, number);
    Ok((number, ours))
}

impl Table {
    /// The number of a place, counted from 1; 0 where there is no room for it.
    fn number(&mut self, code: u32, line: u32, caller: u32) -> u32 {
        if let Some(&known) = self.known.get(&(code, line, caller)) {
            return known;
        }
        if self.places.len() >= MAX_PLACES || code == u32::MAX {
            return 0;
        }
        self.places.push((code, line, caller));
        let number = self.places.len() as u32;
        self.known.insert((code, line, caller), number);
        number
    }
}

fn spell(place: u32) -> String {
    let table = table();
    let place = (place as usize).checked_sub(1).and_then(|k| table.places.get(k));
    place.map_or_else(String::new, |&(code, line, _)| format!("{}:{line}", table.codes[code as usize].file))
}

/// All places; the first one is the unknown one.
pub(crate) fn all() -> Vec<Place> {
    let table = table();
    let place = |&(code, line, caller): &(u32, u32, u32)| {
        let code = &table.codes[code as usize];
        Place { file: code.file.clone(), function: code.function.clone(), line, caller }
    };
    std::iter::once(Place::unknown()).chain(table.places.iter().map(place)).collect()
}
