//! The functions on tensors that the Python API is built on: they convert arguments and call `cuprous_autograd`.

use std::collections::BTreeSet;

use cuprous_autograd::engine::engine_of;
use cuprous_autograd::{Arg, Tensor, activation, batch_norm, layer_norm, loss, ops, optim, pool, promote, softmax};
use cuprous_core::layout::checked_size;
use cuprous_core::{Array, DType, Result};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

use super::operand::{Value, map, operand_argument};
use super::operators::{assign, overwrite};
use super::{PyTensor, autocast, finish, finish_some};
use crate::arguments::{dtype_argument, fun_argument, reduce_argument, scan_argument, scatter_argument};
use crate::array::PyArray;
use crate::errors::OrRaise;
use crate::index::ShapeError;
use crate::interrupt::{self, run_due_tape};
use crate::{devices, index};

/// Returns a tensor on an array's memory.
#[pyfunction]
pub(crate) fn t_wrap(a: &PyArray) -> PyTensor {
    PyTensor::wrap(Tensor::new(a.array.clone()))
}

/// Converts the operands that are not None.
fn present(args: [Option<&Bound<'_, PyAny>>; 3]) -> PyResult<SmallVec<[Value; 3]>> {
    args.into_iter().flatten().map(operand_argument).collect()
}

/// Records a scalar function of tensors and numbers.
#[pyfunction]
#[pyo3(signature = (name, a, b = None, c = None, dtype = None))]
pub(crate) fn t_map(
    py: Python<'_>,
    name: &str,
    a: &Bound<'_, PyAny>,
    b: Option<&Bound<'_, PyAny>>,
    c: Option<&Bound<'_, PyAny>>,
    dtype: Option<&str>,
) -> PyResult<PyTensor> {
    map(py, fun_argument(name)?, &present([Some(a), b, c])?, dtype.map(dtype_argument).transpose()?)
}

/// Writes a function of a tensor and other operands into the tensor.
#[pyfunction]
#[pyo3(signature = (name, target, a = None, b = None))]
pub(crate) fn t_map_inplace(
    py: Python<'_>,
    name: &str,
    target: &PyTensor,
    a: Option<&Bound<'_, PyAny>>,
    b: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    overwrite(py, fun_argument(name)?, target, &present([a, b, None])?)
}

/// Returns the result dtype of some operands.
#[pyfunction]
#[pyo3(signature = (*args))]
pub(crate) fn t_result_type(args: &Bound<'_, PyTuple>) -> PyResult<&'static str> {
    let values: SmallVec<[Value; 3]> = args.iter().map(|a| operand_argument(&a)).collect::<PyResult<_>>()?;
    let args: SmallVec<[Arg; 3]> = values.iter().map(Value::arg).collect();
    Ok(promote::result_type(&args).name())
}

/// Returns the promotion of two dtypes.
#[pyfunction]
pub(crate) fn t_promote_types(a: &str, b: &str) -> PyResult<&'static str> {
    Ok(promote::promote_types(dtype_argument(a)?, dtype_argument(b)?).name())
}

/// Returns the default dtype of floats.
#[pyfunction]
pub(crate) fn t_default_dtype() -> &'static str {
    promote::default_dtype().name()
}

/// Sets the default dtype of floats.
#[pyfunction]
pub(crate) fn t_set_default_dtype(name: &str) -> PyResult<()> {
    promote::set_default_dtype(dtype_argument(name)?).or_raise()
}

/// Returns a copy in a dtype.
#[pyfunction]
pub(crate) fn t_cast(py: Python<'_>, t: &PyTensor, dtype: &str) -> PyResult<PyTensor> {
    finish(py, ops::cast(&t.in_any_order(), dtype_argument(dtype)?))
}

/// Returns a copy on a device; the tensor itself if it is there already.
#[pyfunction]
#[pyo3(signature = (t, device, non_blocking = false))]
pub(crate) fn t_to_device<'py>(
    t: &Bound<'py, PyTensor>,
    device: &str,
    non_blocking: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, tensor) = (t.py(), t.get().tensor());
    let to = devices::by_name(device).or_raise()?;
    if to.id == tensor.array.storage.device {
        return Ok(t.clone());
    }
    let moved = interrupt::run(py, || ops::to_device(&tensor, to.id, !non_blocking))?;
    Bound::new(py, PyTensor::wrap(moved))
}

/// Returns a copy of a tensor in page-locked host memory, from which the GPU copies asynchronously.
#[pyfunction]
pub(crate) fn t_pin(t: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
    let (py, tensor) = (t.py(), t.get().tensor());
    let gpu = devices::by_name("cuda").or_raise()?;
    let array = interrupt::run(py, || devices::of(&tensor.array).pin(&tensor.array, gpu))?;
    Ok(PyTensor::wrap(Tensor::new(array)))
}

/// Returns true for a tensor in page-locked memory.
#[pyfunction]
pub(crate) fn t_is_pinned(t: &PyTensor) -> bool {
    let array = t.array();
    devices::of(&array).peek(&array.storage, |buffer| buffer.is_page_locked()).unwrap_or(false)
}

/// Returns the tensor, or a copy of it in row-major order.
#[pyfunction]
pub(crate) fn t_contiguous<'py>(t: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    let tensor = t.get().in_any_order();
    if tensor.array.layout.engine_order || tensor.array.layout.is_c_contiguous() {
        return Ok(t.clone());
    }
    Bound::new(t.py(), finish(t.py(), ops::contiguous(&tensor))?)
}

/// Returns the index of a dimension, which may be negative.
fn dimension(dim: i64, ndim: usize) -> PyResult<usize> {
    let n = ndim.max(1) as i64;
    if !(-n..n).contains(&dim) {
        return Err(PyIndexError::new_err(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -n,
            n - 1
        )));
    }
    Ok((if dim < 0 { dim + n } else { dim }) as usize)
}

/// Reduces dimensions (all without `dims`).
#[pyfunction]
#[pyo3(signature = (op, t, dims = None, keepdim = false))]
pub(crate) fn t_reduce(
    py: Python<'_>,
    op: &str,
    t: &PyTensor,
    dims: Option<Vec<i64>>,
    keepdim: bool,
) -> PyResult<PyTensor> {
    let op = reduce_argument(op)?;
    let tensor = t.in_any_order();
    let ndim = tensor.array.layout.ndim();
    if ndim > 32 {
        return Err(pyo3::exceptions::PyNotImplementedError::new_err(
            "tensors of more than 32 dimensions are not supported",
        ));
    }
    let all = (1u64 << ndim) - 1;
    let mask = match dims {
        None => all,
        Some(dims) => {
            let axes = dims.iter().map(|&dim| dimension(dim, ndim));
            let repeated = |k| PyRuntimeError::new_err(format!("dim {k} appears multiple times in the list of dims"));
            index::distinct_axes(axes, repeated)?.1 & all // without axes, dimension 0 may be reduced
        }
    };
    finish(py, ops::reduce(op, &tensor, mask as u32, keepdim))
}

/// Scans along a dimension.
#[pyfunction]
pub(crate) fn t_scan(py: Python<'_>, op: &str, t: &PyTensor, dim: i64) -> PyResult<PyTensor> {
    let op = scan_argument(op)?;
    let tensor = t.in_any_order();
    let axis = dimension(dim, tensor.array.layout.ndim())?;
    finish(py, ops::scan(op, &tensor, axis))
}

/// Returns a view by element strides; the offset counts from the tensor's first element.
#[pyfunction]
#[pyo3(signature = (t, shape, strides, offset = 0))]
pub(crate) fn t_strided(t: &PyTensor, shape: Vec<i64>, strides: Vec<i64>, offset: i64) -> PyResult<PyTensor> {
    if shape.len() != strides.len() {
        return Err(PyRuntimeError::new_err("as_strided: shape and strides must have the same length"));
    }
    let tensor = t.tensor();
    let own = &tensor.array.layout;
    let layout = index::strided(&tensor.array, own.dtype, &shape, &strides, own.offset.saturating_add(offset));
    let layout = layout.map_err(|e| PyRuntimeError::new_err(e.message))?;
    Ok(PyTensor::wrap(tensor.view(layout)))
}

/// Returns the elements in another shape: a view, or a copy if strides cannot express it (an error with `view`).
#[pyfunction]
pub(crate) fn t_reshape(py: Python<'_>, t: &PyTensor, shape: Vec<i64>, view: bool) -> PyResult<PyTensor> {
    let tensor = t.tensor();
    let size = tensor.array.layout.size;
    let invalid = || PyRuntimeError::new_err(format!("shape '{shape:?}' is invalid for input of size {size}"));
    let dims = index::resolve_shape(&shape, size).map_err(|error| match error {
        ShapeError::SeveralOpen if shape.iter().all(|&n| n >= -1) => {
            PyRuntimeError::new_err("only one dimension can be inferred")
        }
        _ => invalid(),
    })?;
    checked_size(tensor.dtype(), &dims).map_err(|error| PyRuntimeError::new_err(error.message))?;
    if view && tensor.array.layout.reshape(&dims).is_none() {
        return Err(PyRuntimeError::new_err(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two \
             contiguous subspaces). Use .reshape(...) instead.",
        ));
    }
    finish(py, ops::reshape(&tensor, &dims))
}

/// Returns the dimensions in another order.
#[pyfunction]
pub(crate) fn t_permute(t: &PyTensor, dims: Vec<i64>) -> PyResult<PyTensor> {
    let tensor = t.tensor();
    let ndim = tensor.array.layout.ndim();
    let mismatch = || {
        PyRuntimeError::new_err(format!(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired \
             ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {}",
            dims.len()
        ))
    };
    let (order, _) = index::distinct_axes(dims.iter().map(|&d| dimension(d, ndim)), |_| mismatch())?;
    if order.len() != ndim {
        return Err(mismatch());
    }
    Ok(PyTensor::wrap(tensor.view(tensor.array.layout.permute(&order))))
}

/// Returns a view broadcast to a shape; -1 keeps an extent.
#[pyfunction]
pub(crate) fn t_expand(t: &PyTensor, shape: Vec<i64>) -> PyResult<PyTensor> {
    let tensor = t.tensor();
    let own = tensor.shape();
    let lead = shape.len().checked_sub(own.len()).ok_or_else(|| {
        PyRuntimeError::new_err(format!(
            "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the \
             tensor ({})",
            shape.len(),
            own.len()
        ))
    })?;
    let full: Vec<i64> =
        shape.iter().enumerate().map(|(k, &n)| if n == -1 && k >= lead { own[k - lead] } else { n }).collect();
    let expanded = full.iter().all(|&n| n >= 0).then(|| ops::expand(&tensor, &full).ok()).flatten();
    expanded.map(PyTensor::wrap).ok_or_else(|| {
        PyRuntimeError::new_err(format!(
            "The expanded size of the tensor ({shape:?}) must match the existing size ({own:?}) at non-singleton \
             dimensions"
        ))
    })
}

/// Returns elements by their offset from the tensor's first (int64).
#[pyfunction]
pub(crate) fn t_gather(py: Python<'_>, t: &PyTensor, index: &PyArray) -> PyResult<PyTensor> {
    finish(py, ops::gather(&t.tensor(), &Tensor::new(index.array.clone())))
}

/// Returns the tensor, or a copy in which each element has memory of its own if the graph will record `t_gather` of it.
#[pyfunction]
pub(crate) fn t_indexable(py: Python<'_>, t: &PyTensor) -> PyResult<PyTensor> {
    finish(py, ops::indexable(&t.tensor()))
}

/// Writes values by their offset from the tensor's first element (int64).
#[pyfunction]
#[pyo3(signature = (t, index, value, op = "set"))]
pub(crate) fn t_scatter(
    py: Python<'_>,
    t: &PyTensor,
    index: &PyArray,
    value: &Bound<'_, PyAny>,
    op: &str,
) -> PyResult<()> {
    let op = scatter_argument(op)?;
    let tensor = t.tensor();
    let write = |value: Value| -> Result<()> {
        let value = match value {
            Value::Tensor(v) => v,
            Value::Number(n) => {
                let bits = cuprous_core::Scalar::new(n, tensor.dtype());
                Tensor::new(engine_of(&tensor.array).full(&[], bits, tensor.dtype())?)
            }
        };
        ops::scatter(&tensor, &Tensor::new(index.array.clone()), &value, op)
    };
    write(operand_argument(value)?).or_raise()?;
    run_due_tape(py, devices::of(&tensor.array))
}

/// Writes the result of an in-place operation into its target. The shapes must be equal.
#[pyfunction]
pub(crate) fn t_assign(py: Python<'_>, target: &PyTensor, result: &PyTensor) -> PyResult<()> {
    let target = target.in_any_order();
    assign(&target, &result.in_any_order()).or_raise()?;
    run_due_tape(py, devices::of(&target.array))
}

/// Writes a value into a tensor, with broadcasting and casting.
#[pyfunction]
pub(crate) fn t_update(py: Python<'_>, t: &PyTensor, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let tensor = t.in_any_order();
    ops::update(&tensor, operand_argument(value)?.arg()).or_raise()?;
    run_due_tape(py, devices::of(&tensor.array))
}

/// Concatenates tensors of one dtype along a dimension.
#[pyfunction]
pub(crate) fn t_cat(py: Python<'_>, tensors: Vec<Bound<'_, PyTensor>>, dim: i64) -> PyResult<PyTensor> {
    let tensors: Vec<Tensor> = tensors.iter().map(|t| t.get().tensor()).collect();
    let all: Vec<&Tensor> = tensors.iter().collect();
    let axis = dimension(dim, all.first().map_or(0, |t| t.shape().len()))?;
    finish(py, ops::concatenate(&all, axis))
}

/// Returns the softmax along a dimension, or its logarithm.
#[pyfunction]
pub(crate) fn t_softmax(py: Python<'_>, t: &PyTensor, dim: i64, log: bool) -> PyResult<PyTensor> {
    let t = t.tensor();
    let axis = dimension(dim, t.array.layout.ndim())?;
    finish(py, softmax::softmax(&t, axis, log))
}

/// Returns the logarithm of the softmax along a dimension at the positions in `index` (int64).
#[pyfunction]
pub(crate) fn t_log_likelihood(py: Python<'_>, t: &PyTensor, index: &PyTensor, dim: i64) -> PyResult<PyTensor> {
    let (t, index) = (t.tensor(), index.tensor());
    let axis = dimension(dim, t.array.layout.ndim())?;
    let rest = t.shape().iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, &n)| n);
    if t.shape().is_empty() || !rest.eq(index.shape().iter().copied()) || index.dtype() != DType::I64 {
        return Err(PyValueError::new_err("[likelihood] the index (int64) must have all dimensions but one"));
    }
    finish(py, softmax::log_likelihood(&t, &index, axis, autocast::wide(&t)))
}

/// Returns the mean of `-log(softmax(t))` at the targets: see [`loss::cross_entropy`].
#[pyfunction]
pub(crate) fn t_cross_entropy(
    py: Python<'_>,
    t: &PyTensor,
    target: &PyTensor,
    ignore: i64,
) -> PyResult<Option<PyTensor>> {
    let (t, target) = (t.tensor(), target.tensor());
    if let &[rows, classes] = t.shape()
        && target.shape() == [rows]
    {
        check_classes(&target, classes, ignore)?;
    }
    finish_some(py, loss::cross_entropy(&t, &target, ignore, autocast::wide(&t)))
}

/// Raises for targets (int64) out of bounds if the check is cheap: on the CPU, for targets in memory. Pending targets
/// are not waited for.
#[pyfunction]
pub(crate) fn t_check_classes(target: &PyTensor, classes: i64, ignore: i64) -> PyResult<()> {
    check_classes(&target.tensor(), classes, ignore)
}

fn check_classes(target: &Tensor, classes: i64, ignore: i64) -> PyResult<()> {
    let array = &target.array;
    if array.storage.device != 0 || array.dtype() != DType::I64 || !array.layout.is_c_contiguous() {
        return Ok(());
    }
    let found = devices::of(array).peek(&array.storage, |buffer| {
        let first = (buffer.address() as *const i64).wrapping_offset(array.layout.offset as isize);
        // SAFETY: the layout is within the buffer, and programs, which might write it, run under the lock that `peek`
        // holds.
        let targets = unsafe { std::slice::from_raw_parts(first, array.layout.size as usize) };
        targets.iter().copied().find(|&t| t != ignore && !(0..classes).contains(&t))
    });
    match found.flatten() {
        Some(bad) => Err(PyIndexError::new_err(format!("Target {bad} is out of bounds."))),
        None => Ok(()),
    }
}

/// Returns x times the normal distribution function of x.
#[pyfunction]
pub(crate) fn t_gelu(py: Python<'_>, t: &PyTensor) -> PyResult<PyTensor> {
    finish(py, activation::gelu(&t.in_any_order()))
}

/// Normalizes the last `dims` dimensions to mean 0 and variance 1, then scales and shifts them.
#[pyfunction]
pub(crate) fn t_layer_norm(
    py: Python<'_>,
    t: &PyTensor,
    dims: usize,
    weight: Option<&PyTensor>,
    bias: Option<&PyTensor>,
    eps: f64,
) -> PyResult<PyTensor> {
    let (t, weight, bias) = (t.tensor(), weight.map(PyTensor::tensor), bias.map(PyTensor::tensor));
    let first = t.shape().len().checked_sub(dims).filter(|_| t.shape().len() < 32);
    let first = first.ok_or_else(|| PyValueError::new_err("[layer_norm] the number of dimensions is not supported"))?;
    finish(py, layer_norm::layer_norm(&t, first, weight.as_ref(), bias.as_ref(), eps))
}

/// Normalizes each channel (dimension 1) of a batch to mean 0 and variance 1, then scales and shifts it. Returns the result,
/// and the means and variances that the channels had.
#[pyfunction]
pub(crate) fn t_batch_norm(
    py: Python<'_>,
    t: &PyTensor,
    weight: Option<&PyTensor>,
    bias: Option<&PyTensor>,
    eps: f64,
) -> PyResult<(PyTensor, PyTensor, PyTensor)> {
    let (t, weight, bias) = (t.in_any_order(), weight.map(PyTensor::tensor), bias.map(PyTensor::tensor));
    if !(2..32).contains(&t.shape().len()) {
        return Err(PyValueError::new_err("[batch_norm] the number of dimensions is not supported"));
    }
    let [out, mean, variance] = batch_norm::batch_norm(&t, weight.as_ref(), bias.as_ref(), eps).or_raise()?;
    Ok((finish(py, Ok(out))?, PyTensor::wrap(mean), PyTensor::wrap(variance)))
}

/// Returns the larger of each element and 0.
#[pyfunction]
pub(crate) fn t_relu(py: Python<'_>, t: &PyTensor) -> PyResult<PyTensor> {
    finish(py, activation::relu(&t.in_any_order()))
}

/// Returns the largest element of each window of `kernel` elements, without overlap, along the last dimensions; None if
/// this case is not supported here.
#[pyfunction]
pub(crate) fn t_max_pool(py: Python<'_>, t: &PyTensor, kernel: Vec<i64>) -> PyResult<Option<PyTensor>> {
    let t = t.in_any_order();
    if !pool::is_supported(&t, &kernel) {
        return Ok(None);
    }
    finish(py, pool::max_pool(&t, &kernel)).map(Some)
}

/// Returns the mean of the squared differences of two float tensors of one shape; None for other tensors.
#[pyfunction]
pub(crate) fn t_mse_loss(py: Python<'_>, a: &PyTensor, b: &PyTensor) -> PyResult<Option<PyTensor>> {
    finish_some(py, loss::mean_square(&a.tensor(), &b.tensor()))
}

/// Runs one step of Adam for some parameters: see `cuprous_autograd::optim::Adam`. Without `gradients`, the parameters'
/// own gradients are used.
#[pyfunction]
#[pyo3(signature = (params, gradients, means, squares, tops, settings))]
pub(crate) fn t_adam(
    py: Python<'_>,
    params: &Bound<'_, PyList>,
    gradients: Option<&Bound<'_, PyList>>,
    means: &Bound<'_, PyList>,
    squares: &Bound<'_, PyList>,
    tops: Option<&Bound<'_, PyList>>,
    settings: [f64; 7],
) -> PyResult<()> {
    let [beta1, beta2, eps, size, root, decay, left] = settings;
    let adam = optim::Adam { beta1, beta2, eps, size, root, decay, left };
    let mut arrays: Vec<SmallVec<[Array; 5]>> = Vec::with_capacity(params.len());
    for k in 0..params.len() {
        let p = params.get_item(k)?.cast::<PyTensor>()?.get().tensor();
        let gradient = match gradients {
            Some(gradients) => gradients.get_item(k)?.cast::<PyTensor>()?.get().array(),
            None => p.grad().ok_or_else(|| PyValueError::new_err("[adam] a parameter has no gradient"))?.array,
        };
        let mut row: SmallVec<[Array; 5]> = SmallVec::new();
        p.count_write();
        row.extend([p.array, gradient]);
        for states in [Some(means), Some(squares), tops].into_iter().flatten() {
            let state = states.get_item(k)?.cast::<PyTensor>()?.get().tensor();
            state.count_write();
            row.push(state.array);
        }
        arrays.push(row);
    }
    // Parameters of one device are recorded together.
    let devices: BTreeSet<u8> = arrays.iter().map(|row| row[0].storage.device).collect();
    for device in devices {
        let own = arrays.iter().filter(|row| row[0].storage.device == device);
        let rows = own.map(|row| row.iter().collect());
        // The gradients that a collective still reduces come last: it runs beside the updates of the others.
        let (late, ready): (Vec<optim::Row>, Vec<_>) = rows.partition(|row: &optim::Row| row[1].storage.is_external());
        let engine = devices::of(late.first().or(ready.first()).expect("the device has a parameter")[0]);
        adam.steps(&ready).or_raise()?;
        if !late.is_empty() {
            interrupt::run(py, || {
                engine.flush()?;
                late.iter().try_for_each(|row| row[1].storage.wait_for_external())
            })?;
            adam.steps(&late).or_raise()?;
        }
        run_due_tape(py, engine)?;
    }
    Ok(())
}

/// Returns the parameters that have a gradient; the same list if all of them have.
#[pyfunction]
pub(crate) fn t_with_gradients<'py>(params: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
    let mut without = false;
    let mut ready = Vec::with_capacity(params.len());
    for p in params.iter() {
        let has = p.cast::<PyTensor>()?.get().tensor().grad().is_some();
        without |= !has;
        if has {
            ready.push(p);
        }
    }
    if without { PyList::new(params.py(), ready) } else { Ok(params.clone()) }
}

/// Clears the gradients of some parameters.
#[pyfunction]
pub(crate) fn t_clear_gradients(params: &Bound<'_, PyList>) -> PyResult<()> {
    params.iter().try_for_each(|p| p.cast::<PyTensor>()?.get().tensor().set_grad(None).or_raise())
}
