//! NumPy's dates and durations: kernels compute with their integer counts, which have no unit and no NaT.

use std::cell::{Cell, RefCell};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

thread_local! {
    /// Units of the arguments of the launch that is being prepared.
    static UNITS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// True if there are any units. Most launches check only this.
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Records the unit of an argument.
pub(super) fn record_unit(unit: String) {
    ANY.set(true);
    UNITS.with_borrow_mut(|units| units.push(unit));
}

/// Returns the counts of an array or number of dates or durations, as integers in the same memory; `None` for anything
/// else.
pub(super) fn counts<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(dtype) = object.getattr("dtype") else { return Ok(None) };
    // Dtypes of other libraries may lack a kind.
    let kind = dtype.getattr("kind").and_then(|kind| kind.extract::<String>()).unwrap_or_default();
    if kind != "M" && kind != "m" {
        return Ok(None);
    }
    let numpy = object.py().import("numpy")?;
    let unit = numpy.getattr("datetime_data")?.call1((dtype,))?.repr()?.to_string();
    record_unit(unit);
    if numpy.getattr("isnat")?.call1((object,))?.call_method0("any")?.is_truthy()? {
        return Err(PyValueError::new_err(
            "[cuda.jit] NaT is not supported in kernels; fill it, or pass a mask as well",
        ));
    }
    object.call_method1("view", ("i8",)).map(Some)
}

/// Drops the units that a failed launch has left.
#[inline]
pub(super) fn reset() {
    if ANY.replace(false) {
        UNITS.with_borrow_mut(Vec::clear);
    }
}

/// Raises for arguments with different units, because their counts are not comparable.
#[inline]
pub(super) fn check() -> PyResult<()> {
    if !ANY.get() {
        return Ok(());
    }
    UNITS.with_borrow(|units| match units.iter().find(|unit| **unit != units[0]) {
        Some(other) => Err(PyTypeError::new_err(format!(
            "[cuda.jit] dates and durations must have one unit, not {} and {other}; convert with astype",
            units[0]
        ))),
        None => Ok(()),
    })
}
