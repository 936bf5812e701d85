//! Where in the user's program an operation is recorded, for `explain()` and for errors at run time.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{LazyLock, Mutex};

use cuprous_core::tape::{ALWAYS, SPELL, WHERE};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Places by number, file and line. Programs are finite; still, past this many no new ones are told apart.
const MAX_PLACES: usize = 1 << 16;

type Places = (HashMap<(String, u32), u32>, Vec<(String, u32)>);
static PLACES: LazyLock<Mutex<Places>> = LazyLock::new(Default::default);

/// Tells the engine how to ask.
pub(crate) fn install() {
    let always = std::env::var_os("CUPROUS_PLACES").is_some_and(|value| !value.is_empty() && value != "0");
    ALWAYS.store(always, Relaxed);
    let _ = WHERE.set(here);
    let _ = SPELL.set(spell);
}

/// The number of the innermost line outside this package.
fn here() -> u32 {
    Python::attach(|py| find(py).unwrap_or(0))
}

fn find(py: Python<'_>) -> PyResult<u32> {
    let mut frame = py.import("sys")?.call_method1("_getframe", (0,))?;
    let package = py.import("cuprous")?.getattr("__path__")?.get_item(0)?.extract::<String>()?;
    loop {
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.cast::<PyString>()?.extract()?;
        let back = frame.getattr("f_back")?;
        if !file.starts_with(&package) || back.is_none() {
            let line: u32 = frame.getattr("f_lineno")?.extract()?;
            return Ok(number(file, line));
        }
        frame = back;
    }
}

fn number(file: String, line: u32) -> u32 {
    let mut places = PLACES.lock().unwrap_or_else(|e| e.into_inner());
    let next = places.1.len() as u32;
    if let Some(&known) = places.0.get(&(file.clone(), line)) {
        return known;
    }
    if places.1.len() >= MAX_PLACES {
        return 0;
    }
    places.1.push((file.clone(), line));
    places.0.insert((file, line), next);
    next
}

fn spell(place: u32) -> String {
    let places = PLACES.lock().unwrap_or_else(|e| e.into_inner());
    places.1.get(place as usize).map_or_else(String::new, |(file, line)| format!("{file}:{line}"))
}
