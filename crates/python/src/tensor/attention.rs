//! Attention by a library routine of the device.

use cuprous_autograd::attention;
use pyo3::prelude::*;

use super::PyTensor;
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;

/// Returns `softmax(scale · q kᵀ + mask) v` of (batch, heads, rows, features) by a routine of the device; None if it has
/// no routine for these operands. The mask is finite and has no gradient.
#[pyfunction]
pub(crate) fn t_attention(
    py: Python<'_>,
    q: &PyTensor,
    k: &PyTensor,
    v: &PyTensor,
    mask: Option<&PyTensor>,
    causal: bool,
    scale: f64,
) -> PyResult<Option<PyTensor>> {
    let (q, k, v) = (q.tensor(), k.tensor(), v.tensor());
    let mask = mask.map(PyTensor::tensor);
    let out = attention::attend(&q, &k, &v, mask.as_ref(), causal, scale).or_raise()?;
    run_due_tape(py, devices::of(&q.array))?;
    Ok(out.map(PyTensor::wrap))
}
