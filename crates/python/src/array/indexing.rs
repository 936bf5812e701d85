//! `array[key]`: views, elements and assignments to them; the Python API handles the other keys.

use cuprous_core::{Array, Scalar, ScatterOp};
use cuprous_plan::Operand;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::{PyArray, Role, finish};
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;
use crate::{devices, hooks, index, operand, points};

/// Assigns a number, or an array of the same dtype and shape, to the elements that index arrays select. Returns false
/// for other keys and values.
fn assign_points(py: Python<'_>, array: &Array, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (engine, dtype) = (devices::of(array), array.dtype());
    let Some(offsets) = points::offsets(py, array, key)? else { return Ok(false) };
    let Some(value) = operand::value(value)? else { return Ok(false) };
    let values = match value.stored(dtype)? {
        Operand::Array(v) if v.dtype() == dtype && v.storage.device == array.storage.device => v.clone(),
        Operand::Array(_) => return Ok(false),
        Operand::Weak(n) | Operand::Typed(n, _) => {
            operand::warn_of_complex(py, &value, dtype)?;
            engine.full(&[], Scalar::new(n, dtype), dtype).or_raise()?
        }
    };
    if values.layout.ndim() > 0 && values.shape() != offsets.shape() {
        return Ok(false);
    }
    engine.scatter(array, &offsets, &values, ScatterOp::Set).or_raise()?;
    run_due_tape(py, engine)?;
    Ok(true)
}

#[pymethods]
impl PyArray {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().array;
        match index::basic(&array.layout, key)? {
            Some(index::Selection::Element(offset)) => {
                let engine = devices::of(array);
                let element = finish(slf.py(), engine, engine.element(array, offset))?;
                Ok(Py::new(slf.py(), PyArray { role: Role::Element, ..element })?.into_any())
            }
            Some(index::Selection::View(layout)) => {
                Ok(Py::new(slf.py(), PyArray::view(slf, array.view(layout))?)?.into_any())
            }
            None => match points::offsets(slf.py(), array, key)? {
                Some(offsets) => {
                    let engine = devices::of(array);
                    let picked = finish(slf.py(), engine, engine.gather(array, &offsets))?;
                    Ok(Py::new(slf.py(), picked)?.into_any())
                }
                None => hooks::call(slf.py(), hooks::Hook::GetItem, (slf, key)),
            },
        }
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let array = slf.get().target()?;
        if let Some(basic) = index::basic(&array.layout, key)?
            && let Some(value) = operand::value(value)?
        {
            let layout = basic.layout(&array.layout);
            let engine = devices::of(array);
            operand::warn_of_complex(slf.py(), &value, array.dtype())?;
            engine.update(&array.view(layout), value.stored(array.dtype())?).or_raise()?;
            return run_due_tape(slf.py(), engine);
        }
        if assign_points(slf.py(), array, key, value)? {
            return Ok(());
        }
        hooks::call(slf.py(), hooks::Hook::SetItem, (slf, key, value)).map(drop)
    }

    /// `ndarray[shape, dtype]` in annotations, as NumPy's.
    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        cls.py().import("types")?.getattr("GenericAlias")?.call1((cls, item))
    }
}
