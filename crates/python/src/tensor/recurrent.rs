//! Recurrences: what a layer is, said by the Python face, goes to `cuprous_autograd::recurrent`.

use cuprous_autograd::{Tensor, conv, recurrent};
use cuprous_core::recurrent::{Cell, Layers};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PyTensor;
use crate::devices;
use crate::errors::OrRaise;
use crate::operand::settle;

/// Layers of a recurrence ("RNN_TANH", "RNN_RELU", "LSTM" or "GRU") over (steps, batch, features) by a routine of the device:
/// the outputs and the last states; None where it has none for these.
#[pyfunction]
pub(crate) fn t_recurrent(
    py: Python<'_>,
    mode: &str,
    x: &PyTensor,
    states: Vec<Bound<'_, PyTensor>>,
    parameters: Vec<Bound<'_, PyTensor>>,
    layers: i64,
    both: bool,
) -> PyResult<Option<Vec<PyTensor>>> {
    let cell = match mode {
        "RNN_TANH" => Cell::Tanh,
        "RNN_RELU" => Cell::Relu,
        "LSTM" => Cell::Lstm,
        "GRU" => Cell::Gru,
        _ => return Err(PyValueError::new_err(format!("[recurrence] no formula is called {mode:?}"))),
    };
    let x = x.tensor();
    let all = |tensors: &[Bound<'_, PyTensor>]| tensors.iter().map(|t| t.get().tensor()).collect::<Vec<Tensor>>();
    let (states, parameters) = (all(&states), all(&parameters));
    let (&[steps, batch, input], Some(&[_, _, hidden])) = (x.shape(), states.first().map(Tensor::shape)) else {
        return Err(PyValueError::new_err("[recurrence] input and states have three dimensions"));
    };
    let alike = |t: &Tensor| t.dtype() == x.dtype() && t.array.storage.device == x.array.storage.device;
    if !states.iter().chain(&parameters).all(alike) {
        return Ok(None);
    }
    let bias = parameters.len() as i64 > 2 * layers * (1 + i64::from(both));
    let (dtype, tf32) = (x.dtype(), conv::tf32());
    let of = Layers { cell, input, hidden, layers, both, bias, steps, batch, dtype, tf32, training: true };
    let (states, parameters): (Vec<&Tensor>, Vec<&Tensor>) = (states.iter().collect(), parameters.iter().collect());
    let results = recurrent::layers(&x, &states, &parameters, of).or_raise()?;
    settle(py, devices::of(&x.array))?;
    Ok(results.map(|all| all.into_iter().map(PyTensor::wrap).collect()))
}
