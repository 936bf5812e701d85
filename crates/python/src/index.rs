//! Basic indexing: integers, slices, None and Ellipsis make views.

use cuprous_core::layout::{MAX_NDIM, show};
use cuprous_core::{Array, DType, Dims, Error, Layout, LayoutRef};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};
use smallvec::SmallVec;

use crate::errors::OrRaise;

/// One part of a basic key.
enum Part<'py> {
    At(i64),
    Slice(Bound<'py, PySlice>),
    NewAxis,
    Ellipsis,
}

/// Converts a part of a key; `None` if it is not basic.
fn part<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<Part<'py>>> {
    if key.is_exact_instance_of::<PyInt>() {
        return Ok(Some(Part::At(
            key.extract().map_err(|_| PyIndexError::new_err(format!("index {key} does not fit in 64 bits")))?,
        )));
    }
    if let Ok(slice) = key.cast_exact::<PySlice>() {
        return Ok(Some(Part::Slice(slice.clone())));
    }
    if key.is_none() {
        return Ok(Some(Part::NewAxis));
    }
    if key.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Part::Ellipsis));
    }
    // NumPy's integer scalars are indices; a bool is a mask.
    if !key.is_instance_of::<PyBool>()
        && !key.is_instance_of::<PyList>()
        && !key.is_instance_of::<crate::array::PyArray>()
        && !key.hasattr("ndim")?
        && key.hasattr("__index__")?
    {
        return Ok(Some(Part::At(key.call_method0("__index__")?.extract()?)));
    }
    if key.hasattr("ndim")?
        && !key.is_instance_of::<crate::array::PyArray>()
        && !key.hasattr("__setitem__")?
        && key.getattr("dtype")?.getattr("kind")?.extract::<String>().is_ok_and(|k| k == "i" || k == "u")
    {
        return Ok(Some(Part::At(key.call_method0("__index__")?.extract()?)));
    }
    Ok(None)
}

/// The selection of a basic key.
pub(crate) enum Selection {
    View(LayoutRef),
    /// The offset of an element: the key is an integer for each axis and nothing else. NumPy returns the element
    /// itself, not a view of it.
    Element(i64),
}

impl Selection {
    /// Returns the layout of the view, or of the element as a view.
    pub(crate) fn layout(self, of: &Layout) -> LayoutRef {
        match self {
            Selection::View(layout) => layout,
            Selection::Element(offset) => of.with(&[], &[], offset),
        }
    }
}

/// Returns the selection of a key; `None` if the key is not basic.
pub(crate) fn basic(layout: &Layout, key: &Bound<'_, PyAny>) -> PyResult<Option<Selection>> {
    let mut parts: SmallVec<[Part; 4]> = SmallVec::new();
    if let Ok(tuple) = key.cast::<PyTuple>() {
        for item in tuple.iter() {
            match part(&item)? {
                Some(p) => parts.push(p),
                None => return Ok(None),
            }
        }
    } else {
        match part(key)? {
            Some(p) => parts.push(p),
            None => return Ok(None),
        }
    }
    let ndim = layout.ndim();
    let used = parts.iter().filter(|p| matches!(p, Part::At(_) | Part::Slice(_))).count();
    if used > ndim {
        return Err(PyIndexError::new_err(format!(
            "too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )));
    }
    if parts.iter().filter(|p| matches!(p, Part::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    let (mut shape, mut strides) = (Dims::new(), Dims::new());
    let mut offset = layout.offset;
    let mut axis = 0;
    for p in &parts {
        match p {
            Part::At(i) => {
                let n = layout.shape[axis];
                let at = if *i < 0 { i + n } else { *i };
                if at < 0 || at >= n {
                    return Err(PyIndexError::new_err(format!(
                        "index {i} is out of bounds for axis {axis} with size {n}"
                    )));
                }
                offset += at * layout.strides[axis];
                axis += 1;
            }
            Part::Slice(slice) => {
                let n = layout.shape[axis];
                let s = slice.indices(n as isize)?;
                shape.push(s.slicelength as i64);
                // The stride of an axis of at most one element is not used, so saturation does no harm.
                strides.push(layout.strides[axis].saturating_mul(s.step as i64));
                if s.slicelength > 0 {
                    offset += s.start as i64 * layout.strides[axis];
                }
                axis += 1;
            }
            Part::NewAxis => {
                shape.push(1);
                strides.push(0);
            }
            Part::Ellipsis => {
                for _ in 0..ndim - used {
                    shape.push(layout.shape[axis]);
                    strides.push(layout.strides[axis]);
                    axis += 1;
                }
            }
        }
    }
    shape.extend_from_slice(&layout.shape[axis..]);
    strides.extend_from_slice(&layout.strides[axis..]);
    if shape.is_empty() && !parts.iter().any(|p| matches!(p, Part::Ellipsis)) {
        return Ok(Some(Selection::Element(offset)));
    }
    if shape.len() > MAX_NDIM {
        return Err(PyIndexError::new_err(format!(
            "number of dimensions must be within [0, {MAX_NDIM}], indexing result would have {}",
            shape.len()
        )));
    }
    let view = Layout::try_new(layout.dtype, &shape, &strides, offset).or_raise()?;
    Ok(Some(Selection::View(view)))
}

/// Returns the element at a flat index or at one index per axis.
pub(crate) fn element(array: &Array, args: &Bound<'_, PyTuple>) -> PyResult<Array> {
    let indices = dims_argument(args)?;
    let layout = &array.layout;
    let ndim = layout.ndim();
    let mut at: Dims = Dims::new();
    match indices.len() {
        1 if ndim != 1 => {
            let mut flat = if indices[0] < 0 { indices[0] + layout.size } else { indices[0] };
            if flat < 0 || flat >= layout.size {
                return Err(PyIndexError::new_err(format!(
                    "index {} is out of bounds for size {}",
                    indices[0], layout.size
                )));
            }
            at.resize(ndim, 0);
            for k in (0..ndim).rev() {
                at[k] = flat % layout.shape[k];
                flat /= layout.shape[k];
            }
        }
        n if n == ndim => {
            for (k, &i) in indices.iter().enumerate() {
                let n = layout.shape[k];
                let j = if i < 0 { i + n } else { i };
                if j < 0 || j >= n {
                    return Err(PyIndexError::new_err(format!(
                        "index {i} is out of bounds for axis {k} with size {n}"
                    )));
                }
                at.push(j);
            }
        }
        _ => return Err(PyValueError::new_err("incorrect number of indices for array")),
    }
    let offset = layout.offset + at.iter().zip(&layout.strides).map(|(i, s)| i * s).sum::<i64>();
    Ok(array.view(layout.with(&[], &[], offset)))
}

/// Returns integers that were given one by one or as one sequence.
pub(crate) fn dims_argument(args: &Bound<'_, PyTuple>) -> PyResult<Dims> {
    if args.len() == 1 {
        let first = args.get_item(0)?;
        if let Ok(items) = first.cast::<PyTuple>() {
            return items.iter().map(|i| integer(&i)).collect();
        }
        if let Ok(items) = first.cast::<PyList>() {
            return items.iter().map(|i| integer(&i)).collect();
        }
        // Another sequence, such as a 1-d array.
        if first.extract::<i64>().is_err()
            && let Ok(items) = first.try_iter()
        {
            return items.map(|i| integer(&i?)).collect();
        }
    }
    args.iter().map(|i| integer(&i)).collect()
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    if object.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is required, not a bool"));
    }
    object.extract::<i64>().map_err(|_| {
        PyTypeError::new_err(format!(
            "'{}' object cannot be interpreted as an integer",
            object.get_type().name().map(|n| n.to_string()).unwrap_or_default()
        ))
    })
}

/// Returns an axis number, counted from the end if negative.
pub(crate) fn axis(k: i64, ndim: usize) -> PyResult<usize> {
    let at = if k < 0 { k + ndim as i64 } else { k };
    if at < 0 || at >= ndim as i64 {
        return Err(Error::axis(format!("axis {k} is out of bounds for array of dimension {ndim}"))).or_raise();
    }
    Ok(at as usize)
}

/// Returns the axes, at most 64, and their bits. An axis that occurs twice is the error that `repeated` returns.
pub(crate) fn distinct_axes(
    axes: impl Iterator<Item = PyResult<usize>>,
    repeated: impl Fn(usize) -> PyErr,
) -> PyResult<(SmallVec<[usize; 6]>, u64)> {
    let (mut order, mut mask) = (SmallVec::new(), 0u64);
    for axis in axes {
        let axis = axis?;
        if mask >> axis & 1 == 1 {
            return Err(repeated(axis));
        }
        order.push(axis);
        mask |= 1 << axis;
    }
    Ok((order, mask))
}

/// Why a shape does not fit a number of elements.
pub(crate) enum ShapeError {
    /// Several extents are negative.
    SeveralOpen,
    /// The number of elements differs, or an extent is below -1.
    OtherSize,
}

/// Returns the shape of an array of `size` elements. One of its extents may be -1, which stands for what is left.
pub(crate) fn resolve_shape(dims: &[i64], size: i64) -> Result<Dims, ShapeError> {
    let mut out: Dims = dims.into();
    let open: SmallVec<[usize; 2]> = (0..dims.len()).filter(|&k| dims[k] < 0).collect();
    let product = dims.iter().filter(|&&n| n >= 0).try_fold(1i64, |p, &n| p.checked_mul(n));
    let product = product.ok_or(ShapeError::OtherSize)?;
    match open[..] {
        [] if product == size => {}
        [k] if dims[k] == -1 && product > 0 && size % product == 0 => out[k] = size / product,
        [_, _, ..] => return Err(ShapeError::SeveralOpen),
        _ => return Err(ShapeError::OtherSize),
    }
    Ok(out)
}

/// Returns the layout that `as_strided` and files request if all its elements are within the array's storage. Every
/// view that is defined outside of this crate is checked here.
pub(crate) fn strided(
    array: &Array,
    dtype: DType,
    shape: &[i64],
    strides: &[i64],
    offset: i64,
) -> cuprous_core::Result<LayoutRef> {
    // A view without elements reads no memory, so any offset is valid, such as that of the imaginary parts of an empty
    // array.
    let offset = if shape.contains(&0) { 0 } else { offset };
    let layout = Layout::try_new(dtype, shape, strides, offset)?;
    let bytes = array.storage.bytes;
    if layout.is_within(bytes) {
        return Ok(layout);
    }
    Err(Error::value(format!(
        "[as_strided] a view of shape {} with strides {} from element {offset} exceeds the array's storage of {bytes} bytes",
        show(shape),
        show(strides),
    )))
}
