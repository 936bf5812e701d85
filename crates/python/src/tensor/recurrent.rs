//! Recurrences: what a layer is, said by the Python face, goes to `cuprous_autograd::recurrent`.

use std::sync::Arc;

use cuprous_autograd::{Tensor, conv, recurrent};
use cuprous_core::Array;
use cuprous_core::recurrent::{Cell, Layers, Steps};
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
    let of =
        Layers { cell, input, hidden, layers, bidirectional: both, bias, steps, batch, dtype, tf32, training: true };
    let (states, parameters): (Vec<&Tensor>, Vec<&Tensor>) = (states.iter().collect(), parameters.iter().collect());
    let results = recurrent::layers(&x, &states, &parameters, of).or_raise()?;
    settle(py, devices::of(&x.array))?;
    Ok(results.map(|all| all.into_iter().map(PyTensor::wrap).collect()))
}

/// The steps of one direction of an LSTM layer, of the inputs' part (steps · batch, 4 · width) and the states' weights, by a
/// routine of the device: outputs, h, c, and what `t_steps_back` wants; None where it has none for these. Nothing is noted.
#[pyfunction]
pub(crate) fn t_steps(
    py: Python<'_>,
    reverse: bool,
    training: bool,
    x: &PyTensor,
    weight: &PyTensor,
    h: &PyTensor,
    c: &PyTensor,
) -> PyResult<Option<[PyTensor; 4]>> {
    let (x, weight, h, c) = (x.array(), weight.array(), h.array(), c.array());
    let Some(of) = steps_of(&x, &weight, [&h, &c], reverse, training) else { return Ok(None) };
    let results = recurrent::steps(&x, &weight, [&h, &c], &of).or_raise()?;
    settle(py, devices::of(&x))?;
    Ok(results.map(|all| all.map(|a| PyTensor::wrap(Tensor::new(a)))))
}

/// Their way back: gradients of the inputs' part, h and c, of those of outputs, last h and last c, and c before the steps.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "what steps were made of, and the gradients of what they gave")]
pub(crate) fn t_steps_back(
    py: Python<'_>,
    reverse: bool,
    weight: &PyTensor,
    done: &PyTensor,
    outputs: &PyTensor,
    dh: &PyTensor,
    dc: &PyTensor,
    c: &PyTensor,
) -> PyResult<[PyTensor; 3]> {
    let (weight, done, outputs) = (weight.array(), done.array(), outputs.array());
    let (dh, dc, c) = (dh.array(), dc.array(), c.array());
    let fits = outputs.shape().len() == 2 && c.shape().len() == 2 && c.layout.size > 0;
    let (&[rows, hidden], &[batch, _]) = (outputs.shape(), c.shape()) else {
        return Err(PyValueError::new_err("[steps] gradients have two dimensions"));
    };
    if !fits {
        return Err(PyValueError::new_err("[steps] there are no states"));
    }
    let dtype = c.dtype();
    let of = Arc::new(Steps { steps: rows / batch, batch, hidden, reverse, training: true, dtype });
    let results = recurrent::steps_backward(&weight, &done, &outputs, [&dh, &dc], &c, &of).or_raise()?;
    settle(py, devices::of(&weight))?;
    Ok(results.map(|a| PyTensor::wrap(Tensor::new(a))))
}

/// What the arrays are steps of; None where they do not fit together.
fn steps_of(x: &Array, weight: &Array, states: [&Array; 2], reverse: bool, training: bool) -> Option<Arc<Steps>> {
    let (&[rows, gates], &[batch, hidden]) = (x.shape(), states[0].shape()) else { return None };
    let alike = |a: &&Array| a.dtype() == x.dtype() && a.storage.device == x.storage.device;
    let fits = gates == 4 * hidden
        && weight.shape() == [gates, hidden]
        && states[1].shape() == [batch, hidden]
        && x.layout.size > 0
        && rows % batch == 0
        && [weight, states[0], states[1]].iter().all(alike);
    let dtype = x.dtype();
    fits.then(|| Arc::new(Steps { steps: rows / batch, batch, hidden, reverse, training, dtype }))
}
