//! The module's functions: arguments in, engine calls out.

use cuprous_core::layout::checked_size;
use cuprous_core::promote::{can_cast_safely, can_cast_same_kind, promote};
use cuprous_core::routine::{Edge, ScanOp, packed_mask, sparse_starts};
use cuprous_core::scalar::Number;
use cuprous_core::{
    Array, DType, Dims, Fun, Layout, LinalgOp, QrMode, ReduceOp, RoutineOp, Scalar, ScatterOp, Vectors,
};
use cuprous_plan::{Operand, Replay, elementwise};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{PyArray, by_stride, laid};
use crate::devices;
use crate::errors::OrRaise;
use crate::interrupt;
use crate::operand::{self, Value, finish, settle};

/// The dtype of that name.
pub(crate) fn dtype_argument(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| PyTypeError::new_err(format!("data type '{name}' not understood")))
}

/// The scalar function of that name.
pub(crate) fn fun_argument(name: &str) -> PyResult<Fun> {
    Fun::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no scalar function is called {name:?}")))
}

/// An operand, or a TypeError that says what to do.
pub(crate) fn operand_argument<'py>(object: &Bound<'py, PyAny>) -> PyResult<Value<'py>> {
    operand::value(object)?.ok_or_else(|| {
        let class = object.get_type().repr().map(|r| r.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("Unsupported type {class}: convert it with cuprous.asarray first"))
    })
}

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
    let plain: Vec<_> = values.iter().map(Value::operand).collect();
    Ok(elementwise::result_dtype(fun_argument(name)?, &plain).or_raise()?.name())
}

#[pyfunction]
pub(crate) fn cast(py: Python<'_>, a: &PyArray, dtype: &str) -> PyResult<PyArray> {
    laid(py, a, dtype_argument(dtype)?, &by_stride(&a.0.layout))
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

fn default_engine(py: Python<'_>) -> PyResult<&'static std::sync::Arc<cuprous_plan::Engine>> {
    let engine = devices::default_engine().or_raise()?;
    if let Some(cause) = devices::take_warning() {
        let text =
            format!("a GPU is visible but cannot be used: {cause} Running on the CPU; `cuprous doctor` explains.");
        let text = std::ffi::CString::new(text).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyRuntimeWarning>(), &text, 2)?;
    }
    Ok(engine)
}

#[pyfunction]
pub(crate) fn empty(py: Python<'_>, shape: Vec<i64>, dtype: &str) -> PyResult<PyArray> {
    let dtype = dtype_argument(dtype)?;
    Ok(PyArray::own(default_engine(py)?.empty(dtype, &shape).or_raise()?))
}

/// An array of one value; a `strict` one must fit, as where it is assigned.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype, strict = false))]
pub(crate) fn full(
    py: Python<'_>,
    shape: Vec<i64>,
    value: &Bound<'_, PyAny>,
    dtype: &str,
    strict: bool,
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
    let engine = default_engine(py)?;
    let array = finish(py, engine, engine.full(&shape, Scalar::new(number, dtype), dtype))?;
    Ok(PyArray::own(array.0)) // a new array, not a scalar, whatever its shape
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
    let wanted = match fun {
        Fun::RandomGamma | Fun::RandomPoisson => Some(DType::F64),
        Fun::RandomBinomial => Some(DType::C128),
        Fun::RandomBits32
        | Fun::RandomBits64
        | Fun::RandomUnit32
        | Fun::RandomUnit64
        | Fun::RandomNormal32
        | Fun::RandomNormal64 => None,
        _ => return Err(PyValueError::new_err(format!("{name:?} makes no random numbers"))),
    };
    let parameter = match (wanted, parameter) {
        (None, None) => None,
        (None, Some(_)) => return Err(PyTypeError::new_err(format!("[{name}] takes no parameter"))),
        (Some(_), None) => return Err(PyTypeError::new_err(format!("[{name}] needs a parameter"))),
        (Some(dtype), Some(p)) => {
            let value = operand_argument(&p)?;
            let engine = operand::engine_of([&value])?;
            let array = match &value {
                Value::Array(a) if a.get().0.dtype() == dtype => a.get().0.clone(),
                Value::Array(a) => finish(py, engine, engine.cast(&a.get().0, dtype))?.0,
                Value::Weak(n) | Value::Typed(n, _) => {
                    finish(py, engine, engine.full(&[], Scalar::new(*n, dtype), dtype))?.0
                }
                Value::Huge(x) => {
                    finish(py, engine, engine.full(&[], Scalar::new(operand::as_float(*x)?, dtype), dtype))?.0
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
    let array = &a.get().0;
    PyArray::view(a, array.view(array.layout.broadcast_to(&shape).or_raise()?))
}

/// The same array, as the first to show its memory.
#[pyfunction]
pub(crate) fn owner(a: &PyArray) -> PyArray {
    PyArray::own(a.0.clone())
}

#[pyfunction]
pub(crate) fn update(py: Python<'_>, a: &PyArray, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let value = operand_argument(value)?;
    let target = a.target()?;
    let engine = devices::of(target);
    if let Value::Typed(..) = value {
        crate::array::warn_of_complex(py, &value, target.dtype())?; // of arrays callers have warned
    }
    engine.update(target, value.stored(target.dtype())?).or_raise()?;
    settle(py, engine)
}

#[pyfunction]
pub(crate) fn gather(py: Python<'_>, a: &PyArray, index: &PyArray) -> PyResult<PyArray> {
    let engine = devices::of(&a.0);
    if a.0.storage.bytes == 0 && index.0.layout.size > 0 {
        return Err(pyo3::exceptions::PyIndexError::new_err("cannot do a non-empty take from an empty array"));
    }
    finish(py, engine, engine.gather(&a.0, &index.0))
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
    let op = match op {
        "set" => ScatterOp::Set,
        "add" => ScatterOp::Add,
        "multiply" => ScatterOp::Multiply,
        "maximum" => ScatterOp::Maximum,
        "minimum" => ScatterOp::Minimum,
        _ => return Err(PyValueError::new_err(format!("[scatter] no combination is called {op:?}"))),
    };
    let target = a.target()?;
    let engine = devices::of(target);
    let dtype = target.dtype();
    let value = operand_argument(value)?;
    let stored = if matches!(op, ScatterOp::Set) { value.stored(dtype)? } else { value.operand() };
    let value = match (&value, stored) {
        (Value::Array(v), _) => v.get().0.clone(),
        (_, Operand::Weak(n) | Operand::Typed(n, _)) => {
            finish(py, engine, engine.full(&[], Scalar::new(n, dtype), dtype))?.0
        }
        _ => unreachable!("only arrays are stored as arrays"),
    };
    value.layout.broadcast_to(index.0.shape()).or_raise()?;
    engine.scatter(target, &index.0, &value, op).or_raise()?;
    settle(py, engine)
}

/// The fold of that name.
pub(crate) fn reduce_op_named(name: &str) -> PyResult<ReduceOp> {
    Ok(match name {
        "sum" => ReduceOp::Sum,
        "prod" => ReduceOp::Prod,
        "max" => ReduceOp::Max,
        "min" => ReduceOp::Min,
        "argmax" => ReduceOp::ArgMax,
        "argmin" => ReduceOp::ArgMin,
        "m2" => ReduceOp::M2,
        _ => return Err(PyValueError::new_err(format!("no fold is called {name:?}"))),
    })
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
    let op = reduce_op_named(op)?;
    let array = &a.0;
    let ndim = array.layout.ndim();
    let mask = match axes {
        None => u64::MAX.checked_shr(u64::BITS - ndim as u32).unwrap_or(0),
        Some(axes) => {
            let mut seen = vec![false; ndim];
            let mut mask = 0u64;
            for axis in axes {
                mask |= 1
                    << match crate::index::axis(axis, ndim, &mut seen) {
                        Err(e) if e.is_instance_of::<PyValueError>(py) && e.to_string().contains("repeated") => {
                            return Err(PyValueError::new_err("duplicate value in 'axis'"));
                        }
                        axis => axis?,
                    };
            }
            mask
        }
    };
    let engine = devices::of(array);
    let result = match u32::try_from(mask) {
        Ok(mask) if ndim <= 32 => engine.reduce(op, array, mask),
        _ => {
            let (array, mask) = squeezed(array, mask)?;
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
    let layout = out.0.layout.reshape(&shape).expect("a result is contiguous");
    Ok(PyArray::own(out.0.view(layout)))
}

/// The array without axes of extent 1 and the mask of what is left, so that the engine's 32 bits are enough.
#[cold]
fn squeezed(array: &Array, mask: u64) -> PyResult<(Array, u32)> {
    let layout = &array.layout;
    let reduced = |k: usize| mask >> k & 1 == 1;
    let mut axes: Vec<usize> = (0..layout.ndim()).filter(|&k| layout.shape[k] != 1).collect();
    if mask != 0 && !axes.iter().any(|&k| reduced(k)) {
        axes.insert(0, mask.trailing_zeros() as usize); // a reduction of nothing but axes of extent 1
    }
    if axes.len() > 32 {
        return Err(pyo3::exceptions::PyNotImplementedError::new_err(format!(
            "reductions of more than 32 dimensions of another extent than 1 are not supported: {}",
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
    let op = match op {
        "sum" => ScanOp::Sum,
        "prod" => ScanOp::Prod,
        "max" => ScanOp::Max,
        "min" => ScanOp::Min,
        _ => return Err(PyValueError::new_err(format!("no running fold is called {op:?}"))),
    };
    let ndim = a.0.layout.ndim();
    let axis = crate::index::axis(axis, ndim, &mut vec![false; ndim])?;
    let engine = devices::of(&a.0);
    finish(py, engine, engine.scan(op, &a.0, axis))
}

/// Records a routine on whole arrays.
pub(crate) fn whole(py: Python<'_>, op: RoutineOp, ins: &[&PyArray], dtype: DType, shape: &[i64]) -> PyResult<PyArray> {
    let engine = devices::of(&ins[0].0);
    let arrays: smallvec::SmallVec<[_; 3]> = ins.iter().map(|a| &a.0).collect();
    finish(py, engine, engine.routine(op, &arrays, dtype, shape))
}

#[pyfunction]
pub(crate) fn dot(py: Python<'_>, a: &PyArray, b: &PyArray) -> PyResult<PyArray> {
    let engine = devices::of(&a.0);
    finish(py, engine, engine.dot(&a.0, &b.0))
}

#[pyfunction]
pub(crate) fn sort(py: Python<'_>, a: &PyArray) -> PyResult<PyArray> {
    whole(py, RoutineOp::Sort, &[a], a.0.dtype(), a.0.shape())
}

#[pyfunction]
pub(crate) fn argsort(py: Python<'_>, a: &PyArray) -> PyResult<PyArray> {
    whole(py, RoutineOp::ArgSort, &[a], DType::I64, a.0.shape())
}

#[pyfunction]
pub(crate) fn searchsorted(py: Python<'_>, a: &PyArray, v: &PyArray, right: bool) -> PyResult<PyArray> {
    if a.0.layout.ndim() != 1 || a.0.dtype() != v.0.dtype() {
        return Err(PyValueError::new_err("[searchsorted] the sorted array must be 1-d and of the values' dtype"));
    }
    whole(py, RoutineOp::SearchSorted { right }, &[a, v], DType::I64, v.0.shape())
}

/// Rows, and whether a place is in them.
fn in_row(op: &str, a: &PyArray, place: i64) -> PyResult<()> {
    match a.0.shape().last() {
        Some(&n) if (0..n).contains(&place) => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "[{op}] no element {place} in rows of shape {}",
            cuprous_core::layout::show(a.0.shape())
        ))),
    }
}

#[pyfunction]
pub(crate) fn partition(py: Python<'_>, a: &PyArray, kth: i64, indices: bool) -> PyResult<PyArray> {
    in_row("partition", a, kth)?;
    let dtype = if indices { DType::I64 } else { a.0.dtype() };
    whole(py, RoutineOp::Partition { kth, indices }, &[a], dtype, a.0.shape())
}

/// What has rows of real numbers, short enough for 32-bit places.
fn real_rows(op: &str, a: &PyArray) -> PyResult<Dims> {
    let fits = a.0.shape().last().is_some_and(|&n| n < 1 << 31) && !a.0.dtype().is_complex();
    if fits {
        return Ok(a.0.shape().into());
    }
    Err(PyValueError::new_err(format!(
        "[{op}] needs real numbers and rows of fewer than 2**31 elements: got {}{}",
        a.0.dtype().name(),
        cuprous_core::layout::show(a.0.shape())
    )))
}

#[pyfunction]
pub(crate) fn topk(py: Python<'_>, a: &PyArray, k: i64, largest: bool) -> PyResult<PyArray> {
    let mut shape = real_rows("topk", a)?;
    in_row("topk", a, k.max(1) - 1)?;
    if let Some(n) = shape.last_mut() {
        *n = k.max(0);
    }
    whole(py, RoutineOp::TopK { largest }, &[a], DType::I64, &shape)
}

#[pyfunction]
pub(crate) fn select(py: Python<'_>, a: &PyArray, rank: i64) -> PyResult<PyArray> {
    let mut shape = real_rows("select", a)?;
    in_row("select", a, rank)?;
    shape.pop();
    whole(py, RoutineOp::Select { rank }, &[a], a.0.dtype(), &shape)
}

#[pyfunction]
pub(crate) fn pack_mask(py: Python<'_>, mask: &PyArray) -> PyResult<PyArray> {
    let layout = &mask.0.layout;
    if layout.ndim() != 1 || layout.dtype != DType::Bool {
        return Err(PyValueError::new_err("[pack_mask] the mask must be 1-d and bool"));
    }
    whole(py, RoutineOp::PackMask, &[mask], DType::I64, &[packed_mask(layout.size).0])
}

/// `n` elements of a packed mask, of which `count` hold.
#[pyfunction]
pub(crate) fn compact(
    py: Python<'_>,
    packed: &PyArray,
    n: i64,
    count: i64,
    values: Option<&PyArray>,
) -> PyResult<PyArray> {
    let fits = packed.0.shape() == [packed_mask(n).0] && packed.0.dtype() == DType::I64;
    if !fits || !(0..=n).contains(&count) || values.is_some_and(|v| v.0.shape() != [n]) {
        return Err(PyValueError::new_err("[compact] mask, count and values do not fit together"));
    }
    let dtype = values.map_or(DType::I64, |v| v.0.dtype());
    let ins: smallvec::SmallVec<[&PyArray; 2]> = [packed].into_iter().chain(values).collect();
    whole(py, RoutineOp::Compact, &ins, dtype, &[count])
}

/// `edges`: words × n, a bit for each step.
#[pyfunction]
pub(crate) fn components(py: Python<'_>, edges: &PyArray, steps: Vec<i64>) -> PyResult<PyArray> {
    let (shape, dtype) = (edges.0.shape(), edges.0.dtype());
    let unsigned = matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
    let bits = shape.first().map_or(0, |words| words.saturating_mul(8 * dtype.size() as i64));
    if shape.len() != 2 || !unsigned || bits < steps.len() as i64 || steps.iter().any(|&s| s < 1) {
        return Err(PyValueError::new_err("[components] edges and steps do not fit together"));
    }
    let dtype = if shape[1] <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    whole(py, RoutineOp::Components { steps: steps.into() }, &[edges], dtype, &shape[1..])
}

fn edge_argument(name: &str) -> PyResult<Edge> {
    Ok(match name {
        "reflect" => Edge::Reflect,
        "constant" => Edge::Constant,
        "nearest" => Edge::Nearest,
        "mirror" => Edge::Mirror,
        "wrap" => Edge::Wrap,
        _ => return Err(PyValueError::new_err(format!("boundary mode not supported: {name:?}"))),
    })
}

#[pyfunction]
pub(crate) fn correlate(
    py: Python<'_>,
    a: &PyArray,
    weights: &PyArray,
    edge: &str,
    constant: f64,
    origin: Vec<i64>,
) -> PyResult<PyArray> {
    let dtype = weights.0.dtype();
    if a.0.dtype() != dtype || !matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
        return Err(PyTypeError::new_err(format!(
            "[correlate] needs float32, float64, int32 or int64 for both operands, not {} and {}",
            a.0.dtype().name(),
            dtype.name()
        )));
    }
    if a.0.layout.ndim() != weights.0.layout.ndim() || origin.len() != a.0.layout.ndim() {
        return Err(PyValueError::new_err("[correlate] array, weights and origin must have the same number of axes"));
    }
    if weights.0.layout.size == 0 {
        return Err(PyValueError::new_err("[correlate] the weights are empty"));
    }
    let op = RoutineOp::Correlate { edge: edge_argument(edge)?, constant: constant.to_bits(), origin: origin.into() };
    whole(py, op, &[a, weights], dtype, a.0.shape())
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
    let ndim = a.0.layout.ndim();
    if before.len() != ndim || after.len() != ndim || before.iter().chain(&after).any(|&n| n < 0) {
        return Err(PyValueError::new_err("[pad] needs one width ≥ 0 before and after each axis"));
    }
    let edge = edge_argument(edge)?;
    if a.0.layout.size == 0 && edge != Edge::Constant {
        return Err(PyValueError::new_err("can't extend empty axis using modes other than 'constant'"));
    }
    // A sum that leaves 64 bits is as much too big as the largest extent.
    let extent = |k: usize| a.0.shape()[k].saturating_add(before[k]).saturating_add(after[k]);
    let shape: Dims = (0..ndim).map(extent).collect();
    let op = RoutineOp::Pad { edge, constant: constant.to_bits(), before: before.into() };
    whole(py, op, &[a], a.0.dtype(), &shape)
}

/// The decomposition of that name.
fn linalg_argument(name: &str) -> PyResult<LinalgOp> {
    Ok(match name {
        "cholesky" => LinalgOp::Cholesky { upper: false },
        "cholesky_upper" => LinalgOp::Cholesky { upper: true },
        "solve" => LinalgOp::Solve,
        "slogdet" => LinalgOp::Slogdet,
        "qr" => LinalgOp::Qr(QrMode::Reduced),
        "qr_complete" => LinalgOp::Qr(QrMode::Complete),
        "qr_r" => LinalgOp::Qr(QrMode::R),
        "qr_raw" => LinalgOp::Qr(QrMode::Raw),
        "svdvals" => LinalgOp::Svd(Vectors::No),
        "svd" => LinalgOp::Svd(Vectors::Thin),
        "svd_full" => LinalgOp::Svd(Vectors::Full),
        "eigh" => LinalgOp::Eigh { upper: false, vectors: true },
        "eigh_upper" => LinalgOp::Eigh { upper: true, vectors: true },
        "eigvalsh" => LinalgOp::Eigh { upper: false, vectors: false },
        "eigvalsh_upper" => LinalgOp::Eigh { upper: true, vectors: false },
        "eig" => LinalgOp::Eig { vectors: true },
        "eigvals" => LinalgOp::Eig { vectors: false },
        _ => return Err(PyValueError::new_err(format!("no decomposition is called {name:?}"))),
    })
}

#[pyfunction]
#[pyo3(signature = (name, a, b = None))]
pub(crate) fn decompose(py: Python<'_>, name: &str, a: &PyArray, b: Option<&PyArray>) -> PyResult<PyArray> {
    let op = linalg_argument(name)?;
    let (dtype, shape) = (a.0.dtype(), a.0.shape());
    let d = shape.len();
    let sides = b.map(|b| (b.0.dtype(), b.0.shape()));
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
    if d < 2 || a.0.layout.size == 0 || !square || !right || !known {
        return Err(PyValueError::new_err(format!(
            "[{}] matrices of {} and shape {} do not fit: (…, n, n), not empty, in single or double precision",
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
    whole(py, RoutineOp::Linalg(op), &ins, dtype, &[elements])
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
    let (dtype, shape) = (values.0.dtype(), dense.0.shape());
    let known = matches!(dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
        && matches!(pattern.0.dtype(), DType::I32 | DType::I64);
    let fit = shape.len() == 2 && rows >= 0 && {
        let compressed = if transposed { shape[0] } else { rows };
        compressed < pattern.0.layout.size && pattern.0.shape() == [sparse_starts(compressed) + values.0.layout.size]
    };
    if !known || !fit || values.0.layout.ndim() != 1 || dense.0.dtype() != dtype {
        return Err(PyValueError::new_err(format!(
            "[sparse dot] values {} {}, pattern {} {} and dense matrix {} {} do not fit together for {rows} rows",
            dtype.name(),
            cuprous_core::layout::show(values.0.shape()),
            pattern.0.dtype().name(),
            cuprous_core::layout::show(pattern.0.shape()),
            dense.0.dtype().name(),
            cuprous_core::layout::show(shape)
        )));
    }
    let out = [rows, shape[1]];
    checked_size(dtype, &out).or_raise()?;
    if values.0.layout.size == 0 || shape[0] == 0 {
        let engine = devices::of(&values.0);
        return finish(py, engine, engine.full(&out, Scalar::default(), dtype));
    }
    // Libraries read arrays without gaps.
    let plain = |a: &PyArray| {
        if a.0.layout.is_c_contiguous() {
            return Ok(PyArray::own(a.0.clone()));
        }
        let engine = devices::of(&a.0);
        finish(py, engine, engine.cast(&a.0, a.0.dtype()))
    };
    let (values, pattern, dense) = (plain(values)?, plain(pattern)?, plain(dense)?);
    whole(py, RoutineOp::SparseDot { transposed }, &[&values, &pattern, &dense], dtype, &out)
}

// --- running

#[pyfunction]
pub(crate) fn flush(py: Python<'_>) -> PyResult<()> {
    interrupt::run(py, || devices::all_started().try_for_each(|e| e.flush()))
}

#[pyfunction]
pub(crate) fn synchronize(py: Python<'_>) -> PyResult<()> {
    interrupt::run(py, || devices::all_started().try_for_each(|e| e.synchronize()))
}

#[pyfunction]
pub(crate) fn explain() -> PyResult<String> {
    Ok(devices::default_engine().or_raise()?.explain() + &devices::about_auto())
}

#[pyfunction]
#[pyo3(signature = (a = None, device = None))]
pub(crate) fn show_code(py: Python<'_>, a: Option<&PyArray>, device: Option<&str>) -> PyResult<String> {
    let engine = match a {
        Some(a) => devices::of(&a.0),
        None => devices::default_engine().or_raise()?,
    };
    let own = devices::name(engine);
    match device {
        Some(name) if !["cpu", "cuda"].contains(&name) => {
            Err(PyValueError::new_err(format!("[show_code] there is no device {name:?}; use 'cpu' or 'cuda'")))
        }
        Some("cuda") if own == "cpu" => {
            py.detach(|| engine.show_code(Some(&|program| Ok(cuprous_cuda::source(program))))).or_raise()
        }
        Some("cpu") if own != "cpu" => {
            Err(PyValueError::new_err("[show_code] the program is one of the GPU; move its arrays to the CPU first"))
        }
        _ => py.detach(|| engine.show_code(None)).or_raise(),
    }
}

#[pyfunction]
pub(crate) fn set_device(py: Python<'_>, name: &str) -> PyResult<()> {
    py.detach(|| devices::set_default(name)).or_raise()
}

#[pyfunction]
pub(crate) fn get_device(py: Python<'_>) -> PyResult<String> {
    Ok(devices::name(default_engine(py)?))
}

#[pyfunction]
pub(crate) fn device_count() -> u32 {
    cuprous_cuda::device_count()
}

#[pyfunction]
pub(crate) fn unusable_gpu_reason() -> Option<String> {
    cuprous_cuda::unusable_reason()
}

#[pyfunction]
pub(crate) fn set_library_roots(roots: Vec<String>) {
    cuprous_cuda::set_library_roots(roots.into_iter().map(Into::into).collect());
}

#[pyfunction]
pub(crate) fn set_replay(mode: &str) -> PyResult<()> {
    let replay = match mode {
        "auto" => Replay::Auto,
        "single" => Replay::Single,
        "fused" => Replay::Fused,
        _ => return Err(PyValueError::new_err("the mode is \"auto\", \"single\" or \"fused\"")),
    };
    devices::default_engine().or_raise()?.set_replay(replay);
    Ok(())
}

#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, pyo3::types::PyDict>> {
    let engine = devices::default_engine().or_raise()?;
    let s = engine.stats();
    let dict = pyo3::types::PyDict::new(py);
    for (name, value) in [("nodes", s.nodes), ("planned", s.planned), ("replayed", s.replayed), ("steps", s.steps)]
        .into_iter()
        .chain(engine.device.counters())
    {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pyfunction]
pub(crate) fn memory_stats<'py>(py: Python<'py>, device: &str) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
    let dict = pyo3::types::PyDict::new(py);
    for (name, value) in devices::named(device).or_raise()?.device.memory() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

#[pyfunction]
pub(crate) fn set_memory_limit(device: &str, limit: u64) -> PyResult<()> {
    devices::named(device).or_raise()?.device.set_memory_limit(limit).or_raise()
}

#[pyfunction]
pub(crate) fn reset_peak_memory(device: &str) -> PyResult<()> {
    devices::named(device).or_raise()?.device.reset_peak();
    Ok(())
}

#[pyfunction]
pub(crate) fn trim_memory(py: Python<'_>, device: &str) -> PyResult<()> {
    let engine = devices::named(device).or_raise()?;
    py.detach(|| engine.trim());
    Ok(())
}

/// The name of a device that is a second CPU, for tests of what mixes devices.
#[pyfunction]
pub(crate) fn stand_in_device() -> String {
    devices::stand_in()
}

/// Makes "auto" a device of two CPUs, of which the second is said to be `faster` times as fast, for tests.
#[pyfunction]
pub(crate) fn stand_in_auto(faster: f64, copies: f64, launch: f64) -> PyResult<()> {
    devices::stand_in_auto(faster, copies, launch).or_raise()
}

/// Does nothing: the cheapest native call, the yardstick for the cost of recording.
#[pyfunction]
pub(crate) fn nothing(_a: &Bound<'_, PyAny>) {}

/// Computes something small on a device and checks it, for `cuprous doctor`.
pub(crate) fn try_kernel(device: &str) -> Result<String, String> {
    let run = || -> cuprous_core::Result<String> {
        let engine = devices::named(device)?;
        let index = engine.iota(&Layout::contiguous(DType::I64, &[1000]))?;
        let square = engine.map(Fun::Square, &[cuprous_plan::Operand::Array(&index)], None)?;
        let sum = engine.reduce(ReduceOp::Sum, &square, 1)?;
        let mut bytes = [0; 8];
        engine.download(&sum, &mut bytes)?;
        match i64::from_le_bytes(bytes) {
            332_833_500 => Ok("the sum of the first 1000 squares is right".into()),
            wrong => {
                Err(cuprous_core::Error::runtime(format!("the sum of the first 1000 squares came out as {wrong}")))
            }
        }
    };
    run().map_err(|e| e.message)
}
