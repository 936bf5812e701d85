//! Convolutions: how windows lie, worked out by the Python face, goes to `cuprous_autograd::conv`. And recurrences.

use std::sync::Arc;

use cuprous_autograd::{Tensor, conv, recurrent};
use cuprous_core::convolution::Geometry;
use cuprous_core::recurrent::{Cell, Layers};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{PyTensor, finish};
use crate::devices;
use crate::errors::OrRaise;
use crate::operand::settle;

/// One of the three products of a convolution ("output", "input" or "weight") of two operands; extents, strides and
/// widths for each spatial axis.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "one for each part of the geometry")]
pub(crate) fn t_convolution(
    py: Python<'_>,
    part: &str,
    a: &PyTensor,
    b: &PyTensor,
    input: Vec<i64>,
    kernel: Vec<i64>,
    output: Vec<i64>,
    stride: Vec<i64>,
    dilation: Vec<i64>,
    before: Vec<i64>,
    groups: i64,
) -> PyResult<PyTensor> {
    let (a, b) = (a.tensor(), b.tensor());
    let rank = kernel.len();
    let lengths = [&input, &output, &stride, &dilation, &before].iter().all(|v| v.len() == rank);
    if !lengths || [&a, &b].iter().any(|t| t.shape().len() != rank + 2) || groups < 1 {
        return Err(PyValueError::new_err("[convolution] operands and geometry do not fit"));
    }
    let [input, kernel, output, stride, dilation, before] =
        [input, kernel, output, stride, dilation, before].map(|v| v.as_slice().into());
    let (dtype, tf32) = (a.dtype(), conv::tf32());
    let geometry = Arc::new(Geometry { input, kernel, output, stride, dilation, before, groups, dtype, tf32 });
    let product = match part {
        "output" => conv::forward,
        "input" => conv::to_input,
        "weight" => conv::to_weight,
        _ => return Err(PyValueError::new_err(format!("[convolution] no part is called {part:?}"))),
    };
    finish(py, product(&a, &b, &geometry))
}

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

/// Is cuDNN installed?
#[pyfunction]
pub(crate) fn has_cudnn() -> bool {
    cuprous_cuda_sys::cudnn().is_ok()
}

/// Lets convolutions of float32 round their operands to TF32 on GPUs, or not; what it was before.
#[pyfunction]
pub(crate) fn set_convolution_tf32(on: bool) -> bool {
    conv::set_tf32(on)
}
