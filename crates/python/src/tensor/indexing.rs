//! `tensor[key]`: views and assignments are native, other keys are handled by the Python API.

use cuprous_autograd::ops;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

use super::PyTensor;
use super::operand::{Value, value};
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;
use crate::{devices, hooks, index};

/// Raises for negative steps, which PyTorch does not allow.
fn check_steps(key: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(slice) = key.cast_exact::<PySlice>() {
        let step = slice.getattr("step")?;
        if !step.is_none() && step.le(0)? {
            return Err(PyValueError::new_err("step must be greater than zero"));
        }
    } else if let Ok(items) = key.cast::<PyTuple>() {
        for item in items.iter() {
            if item.is_exact_instance_of::<PySlice>() {
                check_steps(&item)?;
            }
        }
    }
    Ok(())
}

#[pymethods]
impl PyTensor {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        check_steps(key)?;
        let tensor = slf.get().tensor();
        if !key.is_instance_of::<PyTensor>()
            && let Some(basic) = index::basic(&tensor.array.layout, key)?
        {
            let layout = basic.layout(&tensor.array.layout);
            return Ok(Py::new(py, PyTensor::wrap(tensor.view(layout)))?.into_any());
        }
        hooks::call(py, hooks::Hook::TensorGetItem, (slf, key))
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, to: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = slf.py();
        check_steps(key)?;
        let tensor = slf.get().tensor();
        if !key.is_instance_of::<PyTensor>()
            && let Some(basic) = index::basic(&tensor.array.layout, key)?
            && let Some(to) = value(to)?
        {
            let layout = basic.layout(&tensor.array.layout);
            // Like `copy_`, an assignment accepts values from any device.
            let to = match to {
                Value::Tensor(v) if v.array.storage.device != tensor.array.storage.device => {
                    Value::Tensor(ops::to_device(&v, tensor.array.storage.device, true).or_raise()?)
                }
                to => to,
            };
            ops::update(&tensor.view(layout), to.arg()).or_raise()?;
            return run_due_tape(py, devices::of(&tensor.array));
        }
        hooks::call(py, hooks::Hook::TensorSetItem, (slf, key, to)).map(drop)
    }
}
