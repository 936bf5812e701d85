//! The functions that record operations on arrays: they convert arguments and call the engine.

use std::sync::Arc;

use cuprous_core::layout::checked_size;
use cuprous_core::promote::{can_cast_safely, can_cast_same_kind, promote};
use cuprous_core::routine::{Edge, packed_mask, sparse_starts};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Dims, GroupFunction, Layout, LinalgOp, RoutineOp, Scalar, ScatterOp};
use cuprous_plan::{Engine, Operand, elementwise};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    dtype_argument, edge_argument, fun_argument, linalg_argument, reduce_argument, scan_argument, scatter_argument,
};
use crate::array::{PyArray, by_stride, copy_in_order, finish};
use crate::errors::OrRaise;
use crate::interrupt::{self, run_due_tape};
use crate::operand::{self, Value, operand_argument};
use crate::session::default_engine;
use crate::{devices, index};

fn operands<'py>(args: &Bound<'py, PyTuple>) -> PyResult<smallvec::SmallVec<[Value<'py>; 3]>> {
    args.iter().map(|a| operand_argument(&a)).collect()
}

#[pyfunction]
#[pyo3(signature = (name, *operands_, dtype = None))]
pub(crate) fn map(
    py: Python<'_>,
    name: &str,
    operands_: &Bound<'_, PyTuple>,
    dtype: Option<&str>,
) -> PyResult<PyArray> {
    let values = operands(operands_)?;
    operand::map(py, fun_argument(name)?, &values, dtype.map(dtype_argument).transpose()?)
}

#[pyfunction]
#[pyo3(signature = (name, *operands_))]
pub(crate) fn result_dtype(name: &str, operands_: &Bound<'_, PyTuple>) -> PyResult<&'static str> {
    let values = operands(operands_)?;
    let contiguous: Vec<_> = values.iter().map(Value::operand).collect();
    Ok(elementwise::result_dtype(fun_argument(name)?, &contiguous).or_raise()?.name())
}

#[pyfunction]
pub(crate) fn cast(py: Python<'_>, a: &PyArray, dtype: &str) -> PyResult<PyArray> {
    copy_in_order(py, a, dtype_argument(dtype)?, &by_stride(&a.array.layout))
}

#[pyfunction]
pub(crate) fn promote_types(a: &str, b: &str) -> PyResult<&'static str> {
    Ok(promote(dtype_argument(a)?, dtype_argument(b)?).name())
}

#[pyfunction]
pub(crate) fn can_cast(a: &str, b: &str, casting: &str) -> PyResult<bool> {
    let (from, to) = (dtype_argument(a)?, dtype_argument(b)?);
    Ok(match casting {
        "no" | "equiv" => from == to,
        "safe" => can_cast_safely(from, to),
        "same_kind" => can_cast_same_kind(from, to),
        "unsafe" => true,
        _ => {
            return Err(PyValueError::new_err(format!(
                "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' (got '{casting}')"
            )));
        }
    })
}

/// Returns an array of unknown contents, on the device of `like`.
#[pyfunction]
#[pyo3(signature = (shape, dtype, like = None))]
pub(crate) fn empty(py: Python<'_>, shape: Vec<i64>, dtype: &str, like: Option<&PyArray>) -> PyResult<PyArray> {
    let dtype = dtype_argument(dtype)?;
    Ok(PyArray::own(engine_like(py, like)?.empty(dtype, &shape).or_raise()?))
}

/// Returns the engine of an array, by default that of new arrays.
fn engine_like(py: Python<'_>, like: Option<&PyArray>) -> PyResult<&'static Arc<Engine>> {
    like.map_or_else(|| default_engine(py), |like| Ok(devices::of(&like.array)))
}

/// Returns an array of one value, on the device of `like`. If `strict`, the value must fit the dtype, as in an assignment.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype, strict = false, like = None))]
pub(crate) fn full(
    py: Python<'_>,
    shape: Vec<i64>,
    value: &Bound<'_, PyAny>,
    dtype: &str,
    strict: bool,
    like: Option<&PyArray>,
) -> PyResult<PyArray> {
    let dtype = dtype_argument(dtype)?;
    checked_size(dtype, &shape).or_raise()?;
    let value = operand_argument(value)?;
    if strict || matches!(value, Value::Huge(_)) {
        value.stored(dtype)?;
    }
    let number = match value {
        Value::Weak(n) | Value::Typed(n, _) => n,
        Value::Huge(x) => Number::Float(x),
        Value::Array(_) => return Err(PyTypeError::new_err("[full] the value must be a scalar")),
    };
    let engine = engine_like(py, like)?;
    let array = finish(py, engine, engine.full(&shape, Scalar::new(number, dtype), dtype))?;
    Ok(PyArray::own(array.array)) // even of shape () it is an array, not a scalar
}

#[pyfunction]
pub(crate) fn iota(py: Python<'_>, shape: Vec<i64>, strides: Vec<i64>, offset: i64) -> PyResult<PyArray> {
    let layout = Layout::try_new(DType::I64, &shape, &strides, offset).or_raise()?;
    let engine = default_engine(py)?;
    finish(py, engine, engine.iota(&layout))
}

#[pyfunction]
#[pyo3(signature = (name, shape, seed, offset, parameter = None))]
pub(crate) fn random(
    py: Python<'_>,
    name: &str,
    shape: Vec<i64>,
    seed: u64,
    offset: u64,
    parameter: Option<Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let fun = fun_argument(name)?;
    checked_size(DType::F64, &shape).or_raise()?;
    let (_, parameter_dtype) =
        fun.random_dtypes().ok_or_else(|| PyValueError::new_err(format!("{name:?} is not a random distribution")))?;
    let parameter = match (parameter_dtype, parameter) {
        (None, None) => None,
        (None, Some(_)) => return Err(PyTypeError::new_err(format!("[{name}] takes no parameter"))),
        (Some(_), None) => return Err(PyTypeError::new_err(format!("[{name}] needs a parameter"))),
        (Some(dtype), Some(p)) => {
            let value = operand_argument(&p)?;
            let engine = operand::engine_of([&value])?;
            let array = match &value {
                Value::Array(a) if a.get().array.dtype() == dtype => a.get().array.clone(),
                Value::Array(a) => finish(py, engine, engine.cast(&a.get().array, dtype))?.array,
                Value::Weak(n) | Value::Typed(n, _) => {
                    finish(py, engine, engine.full(&[], Scalar::new(*n, dtype), dtype))?.array
                }
                Value::Huge(x) => {
                    finish(py, engine, engine.full(&[], Scalar::new(operand::huge_as_float(*x)?, dtype), dtype))?.array
                }
            };
            Some(array)
        }
    };
    let engine = match &parameter {
        Some(p) => devices::of(p),
        None => default_engine(py)?,
    };
    finish(py, engine, engine.random(fun, &shape, seed, offset, parameter.as_ref()))
}

#[pyfunction]
pub(crate) fn broadcast_to(a: &Bound<'_, PyArray>, shape: Vec<i64>) -> PyResult<PyArray> {
    let array = &a.get().array;
    PyArray::view(a, array.view(array.layout.broadcast_to(&shape).or_raise()?))
}

/// Returns the same array without a base.
#[pyfunction]
pub(crate) fn without_base(a: &PyArray) -> PyArray {
    PyArray::own(a.array.clone())
}

#[pyfunction]
pub(crate) fn update(py: Python<'_>, a: &PyArray, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let value = operand_argument(value)?;
    let target = a.target()?;
    let engine = devices::of(target);
    if let Value::Typed(..) = value {
        operand::warn_of_complex(py, &value, target.dtype())?; // for arrays the callers have warned
    }
    engine.update(target, value.stored(target.dtype())?).or_raise()?;
    run_due_tape(py, engine)
}

#[pyfunction]
pub(crate) fn gather(py: Python<'_>, a: &PyArray, index: &PyArray) -> PyResult<PyArray> {
    let engine = devices::of(&a.array);
    if a.array.storage.bytes == 0 && index.array.layout.size > 0 {
        return Err(pyo3::exceptions::PyIndexError::new_err("cannot do a non-empty take from an empty array"));
    }
    finish(py, engine, engine.gather(&a.array, &index.array))
}

#[pyfunction]
#[pyo3(signature = (a, index, value, op = "set"))]
pub(crate) fn scatter(
    py: Python<'_>,
    a: &PyArray,
    index: &PyArray,
    value: &Bound<'_, PyAny>,
    op: &str,
) -> PyResult<()> {
    let op = scatter_argument(op)?;
    let target = a.target()?;
    let engine = devices::of(target);
    let dtype = target.dtype();
    let value = operand_argument(value)?;
    let stored = if matches!(op, ScatterOp::Set) { value.stored(dtype)? } else { value.operand() };
    let value = match (&value, stored) {
        (Value::Array(v), _) => v.get().array.clone(),
        (_, Operand::Weak(n) | Operand::Typed(n, _)) => {
            finish(py, engine, engine.full(&[], Scalar::new(n, dtype), dtype))?.array
        }
        _ => unreachable!("only arrays are stored as arrays"),
    };
    value.layout.broadcast_to(index.array.shape()).or_raise()?;
    engine.scatter(target, &index.array, &value, op).or_raise()?;
    run_due_tape(py, engine)
}

#[pyfunction]
#[pyo3(signature = (op, a, axes, keepdims = false))]
pub(crate) fn reduce(
    py: Python<'_>,
    op: &str,
    a: &PyArray,
    axes: Option<Vec<i64>>,
    keepdims: bool,
) -> PyResult<PyArray> {
    let op = reduce_argument(op)?;
    let array = &a.array;
    let ndim = array.layout.ndim();
    let mask = match axes {
        None => u64::MAX.checked_shr(u64::BITS - ndim as u32).unwrap_or(0),
        Some(axes) => {
            let axes = axes.iter().map(|&k| index::axis(k, ndim));
            index::distinct_axes(axes, |_| PyValueError::new_err("duplicate value in 'axis'"))?.1
        }
    };
    let engine = devices::of(array);
    let result = match u32::try_from(mask) {
        Ok(mask) if ndim <= 32 => engine.reduce(op, array, mask),
        _ => {
            let (array, mask) = drop_unit_axes(array, mask)?;
            engine.reduce(op, &array, mask)
        }
    };
    let out = finish(py, engine, result)?;
    if !keepdims && ndim <= 32 {
        return Ok(out);
    }
    let extents = array.shape().iter().enumerate();
    let kept = extents.filter_map(|(k, &n)| if mask >> k & 1 == 0 { Some(n) } else { keepdims.then_some(1) });
    let shape: Dims = kept.collect();
    let layout = out.array.layout.reshape(&shape).expect("a result is contiguous");
    Ok(PyArray::own(out.array.view(layout)))
}

/// Returns the smallest and the largest element of an int64 array. They are known for a range that was just recorded;
/// others are copied to the host, which takes less time than two reductions of a shape that is new.
#[pyfunction]
pub(crate) fn int_range(py: Python<'_>, a: &PyArray) -> PyResult<(i64, i64)> {
    let array = &a.array;
    if array.dtype() != DType::I64 || array.layout.size == 0 {
        return Err(PyValueError::new_err("[int_range] takes int64 arrays that are not empty"));
    }
    let engine = devices::of(array);
    if let Some(range) = engine.recorded_range(array) {
        return Ok(range);
    }
    let mut elements = vec![0_u8; array.layout.size as usize * DType::I64.size()];
    interrupt::run(py, || engine.download(array, &mut elements))?;
    let (values, _) = elements.as_chunks::<8>();
    let range = values.iter().map(|&value| i64::from_ne_bytes(value));
    Ok(range.fold((i64::MAX, i64::MIN), |(low, high), value| (low.min(value), high.max(value))))
}

/// Returns the array without axes of extent 1 and the mask of the remaining axes, so that the engine's 32 bits suffice.
#[cold]
fn drop_unit_axes(array: &Array, mask: u64) -> PyResult<(Array, u32)> {
    let layout = &array.layout;
    let reduced = |k: usize| mask >> k & 1 == 1;
    let mut axes: Vec<usize> = (0..layout.ndim()).filter(|&k| layout.shape[k] != 1).collect();
    if mask != 0 && !axes.iter().any(|&k| reduced(k)) {
        axes.insert(0, mask.trailing_zeros() as usize); // all reduced axes have extent 1
    }
    if axes.len() > 32 {
        return Err(pyo3::exceptions::PyNotImplementedError::new_err(format!(
            "reductions of arrays with more than 32 dimensions that are not 1 are not supported: got {}",
            axes.len()
        )));
    }
    let shape: Dims = axes.iter().map(|&k| layout.shape[k]).collect();
    let strides: Dims = axes.iter().map(|&k| layout.strides[k]).collect();
    let narrow = axes.iter().enumerate().fold(0, |bits, (at, &k)| bits | u32::from(reduced(k)) << at);
    Ok((array.view(layout.with(&shape, &strides, layout.offset)), narrow))
}

#[pyfunction]
pub(crate) fn scan(py: Python<'_>, op: &str, a: &PyArray, axis: i64) -> PyResult<PyArray> {
    let op = scan_argument(op)?;
    let ndim = a.array.layout.ndim();
    let axis = index::axis(axis, ndim)?;
    let engine = devices::of(&a.array);
    finish(py, engine, engine.scan(op, &a.array, axis))
}

/// Records a routine on whole arrays.
pub(crate) fn record_routine(
    py: Python<'_>,
    op: RoutineOp,
    ins: &[&PyArray],
    dtype: DType,
    shape: &[i64],
) -> PyResult<PyArray> {
    let engine = devices::of(&ins[0].array);
    let arrays: smallvec::SmallVec<[_; 3]> = ins.iter().map(|a| &a.array).collect();
    finish(py, engine, engine.routine(op, &arrays, dtype, shape))
}

#[pyfunction]
pub(crate) fn dot(py: Python<'_>, a: &PyArray, b: &PyArray) -> PyResult<PyArray> {
    let engine = devices::of(&a.array);
    finish(py, engine, engine.dot(&a.array, &b.array))
}

#[pyfunction]
pub(crate) fn sort(py: Python<'_>, a: &PyArray) -> PyResult<PyArray> {
    record_routine(py, RoutineOp::Sort, &[a], a.array.dtype(), a.array.shape())
}

#[pyfunction]
pub(crate) fn argsort(py: Python<'_>, a: &PyArray) -> PyResult<PyArray> {
    record_routine(py, RoutineOp::ArgSort, &[a], DType::I64, a.array.shape())
}

#[pyfunction]
pub(crate) fn searchsorted(py: Python<'_>, a: &PyArray, v: &PyArray, right: bool) -> PyResult<PyArray> {
    if a.array.layout.ndim() != 1 || a.array.dtype() != v.array.dtype() {
        return Err(PyValueError::new_err("[searchsorted] the sorted array must be 1-d and of the values' dtype"));
    }
    record_routine(py, RoutineOp::SearchSorted { right }, &[a, v], DType::I64, v.array.shape())
}

/// Checks that a position is within the rows.
fn check_position(op: &str, a: &PyArray, position: i64) -> PyResult<()> {
    match a.array.shape().last() {
        Some(&n) if (0..n).contains(&position) => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "[{op}] position {position} is out of bounds for rows of shape {}",
            cuprous_core::layout::show(a.array.shape())
        ))),
    }
}

#[pyfunction]
pub(crate) fn partition(py: Python<'_>, a: &PyArray, kth: i64, indices: bool) -> PyResult<PyArray> {
    check_position("partition", a, kth)?;
    let dtype = if indices { DType::I64 } else { a.array.dtype() };
    record_routine(py, RoutineOp::Partition { kth, indices }, &[a], dtype, a.array.shape())
}

/// Returns the shape if the rows hold real numbers and are short enough for 32-bit positions.
fn real_rows_shape(op: &str, a: &PyArray) -> PyResult<Dims> {
    let fits = a.array.shape().last().is_some_and(|&n| n < 1 << 31) && !a.array.dtype().is_complex();
    if fits {
        return Ok(a.array.shape().into());
    }
    Err(PyValueError::new_err(format!(
        "[{op}] needs real numbers and rows of fewer than 2**31 elements: got {}{}",
        a.array.dtype().name(),
        cuprous_core::layout::show(a.array.shape())
    )))
}

#[pyfunction]
pub(crate) fn topk(py: Python<'_>, a: &PyArray, k: i64, largest: bool) -> PyResult<PyArray> {
    let mut shape = real_rows_shape("topk", a)?;
    check_position("topk", a, k.max(1) - 1)?;
    if let Some(n) = shape.last_mut() {
        *n = k.max(0);
    }
    record_routine(py, RoutineOp::TopK { largest }, &[a], DType::I64, &shape)
}

#[pyfunction]
pub(crate) fn select(py: Python<'_>, a: &PyArray, rank: i64) -> PyResult<PyArray> {
    let mut shape = real_rows_shape("select", a)?;
    check_position("select", a, rank)?;
    shape.pop();
    record_routine(py, RoutineOp::Select { rank }, &[a], a.array.dtype(), &shape)
}

#[pyfunction]
pub(crate) fn pack_mask(py: Python<'_>, mask: &PyArray) -> PyResult<PyArray> {
    let layout = &mask.array.layout;
    if layout.ndim() != 1 || layout.dtype != DType::Bool {
        return Err(PyValueError::new_err("[pack_mask] the mask must be 1-d and bool"));
    }
    record_routine(py, RoutineOp::PackMask, &[mask], DType::I64, &[packed_mask(layout.size).0])
}

/// Returns the `count` true positions of a packed mask of `n` elements, or the values there.
#[pyfunction]
pub(crate) fn compact(
    py: Python<'_>,
    packed: &PyArray,
    n: i64,
    count: i64,
    values: Option<&PyArray>,
) -> PyResult<PyArray> {
    let fits = packed.array.shape() == [packed_mask(n).0] && packed.array.dtype() == DType::I64;
    if !fits || !(0..=n).contains(&count) || values.is_some_and(|v| v.array.shape() != [n]) {
        return Err(PyValueError::new_err("[compact] mask, count and values do not fit together"));
    }
    let dtype = values.map_or(DType::I64, |v| v.array.dtype());
    let ins: smallvec::SmallVec<[&PyArray; 2]> = [packed].into_iter().chain(values).collect();
    record_routine(py, RoutineOp::Compact, &ins, dtype, &[count])
}

/// Returns connected components. `edges` has shape (words, n), with one bit for each step.
#[pyfunction]
pub(crate) fn components(py: Python<'_>, edges: &PyArray, steps: Vec<i64>) -> PyResult<PyArray> {
    let (shape, dtype) = (edges.array.shape(), edges.array.dtype());
    let unsigned = matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
    let bits = shape.first().map_or(0, |words| words.saturating_mul(8 * dtype.size() as i64));
    if shape.len() != 2 || !unsigned || bits < steps.len() as i64 || steps.iter().any(|&s| s < 1) {
        return Err(PyValueError::new_err("[components] edges and steps do not fit together"));
    }
    let dtype = if shape[1] <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    record_routine(py, RoutineOp::Components { steps: steps.into() }, &[edges], dtype, &shape[1..])
}

/// Returns true if the array's device has the routines on rows of tables.
#[pyfunction]
pub(crate) fn has_table_routines(a: &PyArray) -> bool {
    devices::of(&a.array).supports(&RoutineOp::GroupIds { domain: 0 })
}

fn check_columns(op: &str, columns: &[&PyArray], n: i64) -> PyResult<()> {
    if columns.iter().all(|column| column.array.shape() == [n]) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("[{op}] needs columns of {n} rows")))
}

/// Numbers rows by their keys: see [`RoutineOp::GroupIds`].
#[pyfunction]
pub(crate) fn group_ids(py: Python<'_>, keys: &PyArray, domain: i64, mask: Option<&PyArray>) -> PyResult<PyArray> {
    let n = keys.array.layout.size;
    let ins: smallvec::SmallVec<[&PyArray; 2]> = [keys].into_iter().chain(mask).collect();
    check_columns("group_ids", &ins, n)?;
    let dtype = if n < 1 << 31 { DType::I32 } else { DType::I64 };
    record_routine(py, RoutineOp::GroupIds { domain }, &ins, dtype, &[2 * n + 1])
}

/// Aggregates rows by the numbers of their groups: see [`RoutineOp::GroupAggregate`].
#[pyfunction]
pub(crate) fn group_aggregate(
    py: Python<'_>,
    ids: &PyArray,
    groups: i64,
    functions: Vec<String>,
    values: Option<&PyArray>,
    mask: Option<&PyArray>,
) -> PyResult<PyArray> {
    let functions: Option<std::sync::Arc<[GroupFunction]>> =
        functions.iter().map(|name| GroupFunction::from_name(name)).collect();
    let functions = functions.ok_or_else(|| PyValueError::new_err("[group_aggregate] an unknown function"))?;
    // A mask comes after values; without them it stands for itself.
    let ins: smallvec::SmallVec<[&PyArray; 3]> = [ids].into_iter().chain(values.or(mask)).chain(mask).collect();
    check_columns("group_aggregate", &ins, ids.array.layout.size)?;
    let shape = [functions.len() as i64, groups];
    record_routine(py, RoutineOp::GroupAggregate { functions }, &ins, DType::I64, &shape)
}

/// Finds for each left key the first equal right key: see [`RoutineOp::JoinMatch`].
#[pyfunction]
pub(crate) fn join_match(py: Python<'_>, right: &PyArray, left: &PyArray, domain: i64) -> PyResult<PyArray> {
    let rows = left.array.layout.size;
    record_routine(py, RoutineOp::JoinMatch { domain }, &[right, left], DType::I64, &[rows + 3])
}

/// Returns the pairs of equal keys: see [`RoutineOp::JoinPairs`].
#[pyfunction]
pub(crate) fn join_pairs(
    py: Python<'_>,
    right: &PyArray,
    left: &PyArray,
    domain: i64,
    pairs: i64,
    keep_left: bool,
) -> PyResult<PyArray> {
    record_routine(py, RoutineOp::JoinPairs { domain, keep_left }, &[right, left], DType::I64, &[2, pairs])
}

#[pyfunction]
#[pyo3(signature = (a, weights, edge, constant, origin, shape = None))]
pub(crate) fn correlate(
    py: Python<'_>,
    a: &PyArray,
    weights: &PyArray,
    edge: &str,
    constant: f64,
    origin: Vec<i64>,
    shape: Option<Vec<i64>>,
) -> PyResult<PyArray> {
    let dtype = weights.array.dtype();
    if a.array.dtype() != dtype || !matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
        return Err(PyTypeError::new_err(format!(
            "[correlate] needs float32, float64, int32 or int64 for both operands, not {} and {}",
            a.array.dtype().name(),
            dtype.name()
        )));
    }
    let (ndim, shape) = (a.array.layout.ndim(), shape.as_deref().unwrap_or(a.array.shape()));
    if [weights.array.layout.ndim(), origin.len(), shape.len()] != [ndim; 3] {
        return Err(PyValueError::new_err(
            "[correlate] array, weights, origin and shape must have the same number of axes",
        ));
    }
    if weights.array.layout.size == 0 {
        return Err(PyValueError::new_err("[correlate] the weights are empty"));
    }
    let op = RoutineOp::Correlate { edge: edge_argument(edge)?, constant: constant.to_bits(), origin: origin.into() };
    record_routine(py, op, &[a, weights], dtype, shape)
}

#[pyfunction]
pub(crate) fn pad(
    py: Python<'_>,
    a: &PyArray,
    before: Vec<i64>,
    after: Vec<i64>,
    edge: &str,
    constant: f64,
) -> PyResult<PyArray> {
    let ndim = a.array.layout.ndim();
    if before.len() != ndim || after.len() != ndim || before.iter().chain(&after).any(|&n| n < 0) {
        return Err(PyValueError::new_err("[pad] needs one width ≥ 0 before and after each axis"));
    }
    let edge = edge_argument(edge)?;
    if a.array.layout.size == 0 && edge != Edge::Constant {
        return Err(PyValueError::new_err("can't extend empty axis using modes other than 'constant'"));
    }
    // A saturated sum is refused like any other size that is too large.
    let extent = |k: usize| a.array.shape()[k].saturating_add(before[k]).saturating_add(after[k]);
    let shape: Dims = (0..ndim).map(extent).collect();
    let op = RoutineOp::Pad { edge, constant: constant.to_bits(), before: before.into() };
    record_routine(py, op, &[a], a.array.dtype(), &shape)
}

#[pyfunction]
#[pyo3(signature = (name, a, b = None))]
pub(crate) fn decompose(py: Python<'_>, name: &str, a: &PyArray, b: Option<&PyArray>) -> PyResult<PyArray> {
    let op = linalg_argument(name)?;
    let (dtype, shape) = (a.array.dtype(), a.array.shape());
    let d = shape.len();
    let sides = b.map(|b| (b.array.dtype(), b.array.shape()));
    let square = matches!(op, LinalgOp::Qr(_) | LinalgOp::Svd(_)) || d >= 2 && shape[d - 1] == shape[d - 2];
    let right = match sides {
        None => op != LinalgOp::Solve,
        Some((of, b)) => {
            op == LinalgOp::Solve
                && of == dtype
                && b.len() == d
                && d >= 2
                && b[..d - 1] == shape[..d - 1]
                && b[d - 1] > 0
        }
    };
    let known = matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    if d < 2 || a.array.layout.size == 0 || !square || !right || !known {
        return Err(PyValueError::new_err(format!(
            "[{}] matrices of {} and shape {} are not supported: the shape must be (…, n, n), not empty, and the dtype \
             of single or double precision",
            op.name(),
            dtype.name(),
            cuprous_core::layout::show(shape)
        )));
    }
    let columns = sides.map_or(0, |(_, b)| b[d - 1]);
    let batch: i64 = shape[..d - 2].iter().product();
    let each = op.results(shape[d - 2], shape[d - 1], columns).iter().fold(0i64, |sum, &n| sum.saturating_add(n));
    let elements = each.saturating_mul(batch).saturating_add(1);
    let dtype = match (op, dtype) {
        (LinalgOp::Eig { .. }, DType::F32) => DType::C64,
        (LinalgOp::Eig { .. }, DType::F64) => DType::C128,
        (_, dtype) => dtype,
    };
    checked_size(dtype, &[elements]).or_raise()?;
    let ins: smallvec::SmallVec<[&PyArray; 2]> = std::iter::once(a).chain(b).collect();
    record_routine(py, RoutineOp::Linalg(op), &ins, dtype, &[elements])
}

#[pyfunction]
pub(crate) fn sparse_dot(
    py: Python<'_>,
    values: &PyArray,
    pattern: &PyArray,
    dense: &PyArray,
    rows: i64,
    transposed: bool,
) -> PyResult<PyArray> {
    let (dtype, shape) = (values.array.dtype(), dense.array.shape());
    let known = matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
        && matches!(pattern.array.dtype(), DType::I32 | DType::I64);
    let fit = shape.len() == 2 && rows >= 0 && {
        let compressed = if transposed { shape[0] } else { rows };
        compressed < pattern.array.layout.size
            && pattern.array.shape() == [sparse_starts(compressed) + values.array.layout.size]
    };
    if !known || !fit || values.array.layout.ndim() != 1 || dense.array.dtype() != dtype {
        return Err(PyValueError::new_err(format!(
            "[sparse dot] values {} {}, pattern {} {} and dense matrix {} {} do not fit together for {rows} rows",
            dtype.name(),
            cuprous_core::layout::show(values.array.shape()),
            pattern.array.dtype().name(),
            cuprous_core::layout::show(pattern.array.shape()),
            dense.array.dtype().name(),
            cuprous_core::layout::show(shape)
        )));
    }
    let out = [rows, shape[1]];
    checked_size(dtype, &out).or_raise()?;
    if values.array.layout.size == 0 || shape[0] == 0 {
        let engine = devices::of(&values.array);
        return finish(py, engine, engine.full(&out, Scalar::default(), dtype));
    }
    // Libraries need contiguous arrays.
    let contiguous = |a: &PyArray| {
        if a.array.layout.is_c_contiguous() {
            return Ok(PyArray::own(a.array.clone()));
        }
        let engine = devices::of(&a.array);
        finish(py, engine, engine.cast(&a.array, a.array.dtype()))
    };
    let (values, pattern, dense) = (contiguous(values)?, contiguous(pattern)?, contiguous(dense)?);
    record_routine(py, RoutineOp::SparseDot { transposed }, &[&values, &pattern, &dense], dtype, &out)
}
