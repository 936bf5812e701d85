//! The grid and block of a launch.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

/// Converts one number of blocks or threads, or up to three.
pub(super) fn extents(what: &str, object: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let mut all = [1; 3];
    if let Ok(n) = object.cast_exact::<PyInt>() {
        all[0] = extent(what, n, object)?;
        return Ok(all);
    }
    if let Ok(items) = object.cast::<PyTuple>()
        && (1..=3).contains(&items.len())
    {
        for (n, item) in all.iter_mut().zip(items.iter()) {
            *n = extent(what, &item, object)?;
        }
        return Ok(all);
    }
    let Ok(items) = object.try_iter() else {
        all[0] = extent(what, object, object)?;
        return Ok(all);
    };
    let items = items.collect::<PyResult<Vec<_>>>()?;
    if !(1..=3).contains(&items.len()) {
        let message = format!("{what} must be a sequence of 1, 2 or 3 integers, got {}", format_items(object));
        return Err(PyValueError::new_err(message));
    }
    for (n, item) in all.iter_mut().zip(&items) {
        *n = extent(what, item, object)?;
    }
    Ok(all)
}

/// Converts one extent.
fn extent(what: &str, item: &Bound<'_, PyAny>, all: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number = item.extract::<i64>().or_else(|_| item.call_method0("__index__").and_then(|n| n.extract()));
    let Ok(n) = number else {
        return Err(PyTypeError::new_err(format!("{what} must be a sequence of integers, got {}", format_items(all))));
    };
    u32::try_from(n).map_err(|_| PyValueError::new_err(format!("{what} cannot be {n}")))
}

/// Formats the given extents as a list.
fn format_items(object: &Bound<'_, PyAny>) -> String {
    let items = object.try_iter().and_then(|items| items.collect::<PyResult<Vec<_>>>());
    match items.unwrap_or_else(|_| vec![object.clone()]) {
        items if items.len() > 8 => format!("{} of them", items.len()),
        items => format!("[{}]", items.iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")),
    }
}
