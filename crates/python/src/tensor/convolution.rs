//! Convolutions: the Python API computes the geometry of the windows and passes it to `cuprous_autograd::conv`.

use std::sync::Arc;

use cuprous_autograd::{Tensor, conv};
use cuprous_core::convolution::Geometry;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{PyTensor, autocast, finish};
use crate::errors::OrRaise;

/// Computes one of the three products of a convolution ("output", "input" or "weight") of two operands. Extents,
/// strides and widths are given for each spatial axis.
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
    let (mut a, mut b) = (a.in_any_order(), b.in_any_order());
    autocast::cast_product([&mut a, &mut b]).or_raise()?;
    let rank = kernel.len();
    let lengths = [&input, &output, &stride, &dilation, &before].iter().all(|v| v.len() == rank);
    if !lengths || [&a, &b].iter().any(|t| t.shape().len() != rank + 2) || groups < 1 {
        return Err(PyValueError::new_err("[convolution] operands and geometry do not fit"));
    }
    let [input, kernel, output, stride, dilation, before] =
        [input, kernel, output, stride, dilation, before].map(|v| v.as_slice().into());
    let (dtype, tf32) = (a.dtype(), conv::tf32());
    let (a_shape, b_shape) = (a.shape(), b.shape());
    let images = a_shape[0];
    type Product = fn(&Tensor, &Tensor, &Arc<Geometry>) -> cuprous_core::Result<Tensor>;
    let (product, inputs, outputs): (Product, _, _) = match part {
        "output" => (conv::forward, a_shape[1], b_shape[0]),
        "input" => (conv::to_input, b_shape[1].saturating_mul(groups), a_shape[1]),
        "weight" => (conv::to_weight, b_shape[1], a_shape[1]),
        _ => return Err(PyValueError::new_err(format!("[convolution] unknown part {part:?}"))),
    };
    let channels_last = false; // the shapes are the program's, (N, C, …)
    let geometry = Geometry {
        images,
        inputs,
        outputs,
        input,
        kernel,
        output,
        stride,
        dilation,
        before,
        groups,
        dtype,
        channels_last,
        tf32,
    };
    finish(py, product(&a, &b, &Arc::new(geometry)))
}

/// Returns true if cuDNN is installed.
#[pyfunction]
pub(crate) fn has_cudnn() -> bool {
    cuprous_cuda_sys::cudnn().is_ok()
}

/// Sets whether images lie with their channels last on every device, as on GPUs with cuDNN, and returns the previous
/// setting. For tests.
#[pyfunction]
pub(crate) fn set_always_channels_last(on: bool) -> bool {
    conv::set_always_channels_last(on)
}

/// Returns true if the tensor lies in memory as an engine chose, not row-major. For tests.
#[pyfunction]
pub(crate) fn t_in_engine_order(t: &PyTensor) -> bool {
    t.in_any_order().array.layout.engine_order
}

/// Sets whether float32 convolutions may round their operands to TF32 on GPUs, and returns the previous setting.
#[pyfunction]
pub(crate) fn set_convolution_tf32(on: bool) -> bool {
    conv::set_tf32(on)
}
