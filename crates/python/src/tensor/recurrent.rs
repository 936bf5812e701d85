//! Recurrent layers: the Python API describes a layer and passes it to `cuprous_autograd::recurrent`.

use std::sync::Arc;

use cuprous_autograd::{Tensor, conv, recurrent};
use cuprous_core::Array;
use cuprous_core::recurrent::{Cell, Layers, Steps};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::PyTensor;
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt::run_due_tape;

/// Runs recurrent layers ("RNN_TANH", "RNN_RELU", "LSTM" or "GRU") over (steps, batch, features) by a routine of the
/// device. Returns the outputs and the last states; None if it has no routine for these operands.
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
        _ => return Err(PyValueError::new_err(format!("[recurrence] unknown mode {mode:?}"))),
    };
    let x = x.tensor();
    let all = |tensors: &[Bound<'_, PyTensor>]| tensors.iter().map(|t| t.get().tensor()).collect::<Vec<Tensor>>();
    let (states, parameters) = (all(&states), all(&parameters));
    let (&[steps, batch, input], Some(&[_, _, hidden])) = (x.shape(), states.first().map(Tensor::shape)) else {
        return Err(PyValueError::new_err("[recurrence] input and states must have three dimensions"));
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
    run_due_tape(py, devices::of(&x.array))?;
    Ok(results.map(|all| all.into_iter().map(PyTensor::wrap).collect()))
}

/// Runs the steps of one direction of an LSTM layer by a routine of the device. `x` is the input's part (steps · batch,
/// 4 · width), `weight` the states' weights. Returns outputs, h, c, and the residual for `t_lstm_steps_backward`; None
/// if it has no routine for these operands. Nothing is recorded for gradients.
#[pyfunction]
pub(crate) fn t_lstm_steps(
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
    run_due_tape(py, devices::of(&x))?;
    Ok(results.map(|all| all.map(|a| PyTensor::wrap(Tensor::new(a)))))
}

/// The backward pass of `t_lstm_steps`. Takes the gradients of the outputs, the last h and the last c, and c before the
/// steps. Returns the gradients of the input's part, h and c.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the operands of the steps and the gradients of the results")]
pub(crate) fn t_lstm_steps_backward(
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
        return Err(PyValueError::new_err("[steps] gradients must have two dimensions"));
    };
    if !fits {
        return Err(PyValueError::new_err("[steps] the states are empty"));
    }
    let dtype = c.dtype();
    let of = Arc::new(Steps { steps: rows / batch, batch, hidden, reverse, training: true, dtype });
    let results = recurrent::steps_backward(&weight, &done, &outputs, [&dh, &dc], &c, &of).or_raise()?;
    run_due_tape(py, devices::of(&weight))?;
    Ok(results.map(|a| PyTensor::wrap(Tensor::new(a))))
}

/// Returns the description of the steps; `None` if the arrays do not fit together.
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
