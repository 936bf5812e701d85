//! The `ndarray` type: attributes, operators, and what must be native to be quick.

use cuprous_core::layout::{checked_size, show};
use cuprous_core::scalar::Number;
use cuprous_core::{Array, Buffer, DType, Dims, Fun, Layout, Scalar};
use cuprous_plan::elementwise;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

use crate::errors::OrRaise;
use crate::interrupt;
use crate::operand::{self, Value, finish, settle};
use crate::operators::{Target, binary, in_place, in_place_unary, unary};
use crate::{devices, functions, hooks, index, numpy};

/// An N-dimensional array on a device. Operations on it are recorded and run when a value is needed.
///
/// The second field is the array that owns the memory, if this one is a view.
#[pyclass(frozen, name = "ndarray", module = "cuprous", weakref)]
pub(crate) struct PyArray(pub(crate) Array, Option<Py<PyArray>>, Role);

/// What NumPy returns where this is an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// An array.
    Array,
    /// A scalar, as the 0-d result of an operation: `+=` rebinds the name. Libraries write to such results, by `a[()] = x`
    /// or `out=a`, so that is allowed.
    Result,
    /// A scalar, as an element `a[i]`: as `Result`, and immutable.
    Element,
}

impl PyArray {
    /// An array that is the first to show its memory.
    pub(crate) fn own(array: Array) -> PyArray {
        PyArray(array, None, Role::Array)
    }

    /// The result of an operation.
    #[inline]
    pub(crate) fn result(array: Array) -> PyArray {
        let role = if array.layout.ndim() == 0 { Role::Result } else { Role::Array };
        PyArray(array, None, role)
    }

    /// The array for writing to it.
    ///
    /// # Errors
    /// `TypeError` for an element.
    pub(crate) fn target(&self) -> PyResult<&Array> {
        if self.2 == Role::Element {
            return Err(PyTypeError::new_err(
                "a value cannot be written: an element a[i] is immutable, like NumPy's scalars. Write a[i] = ..., or take a \
                 view of the element, a[i, ...]",
            ));
        }
        Ok(&self.0)
    }

    /// A view of another array's memory; its base is the array that showed the memory first. Of an element, which is
    /// immutable, it is a view of a copy, as NumPy makes arrays of its scalars.
    pub(crate) fn view(of: &Bound<'_, PyArray>, array: Array) -> PyResult<PyArray> {
        let this = of.get();
        if this.2 == Role::Element && this.1.is_none() {
            let engine = devices::of(&this.0);
            let copy = finish(of.py(), engine, engine.cast(&this.0, this.0.dtype()))?;
            return Ok(PyArray::own(copy.0.view(array.layout.clone())));
        }
        Ok(PyArray::alias(of, array))
    }

    /// As [`PyArray::view`], but of an element it shows the element itself and is immutable too, as are its own views.
    pub(crate) fn alias(of: &Bound<'_, PyArray>, array: Array) -> PyArray {
        let this = of.get();
        let base = this.1.as_ref().map_or_else(|| of.clone().unbind(), |base| base.clone_ref(of.py()));
        let role = if this.2 == Role::Element { Role::Element } else { Role::Array };
        PyArray(array, Some(base), role)
    }
}

#[pymethods]
impl PyArray {
    // --- attributes
    /// Extents of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// Bytes from one element to the next along each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        // As in NumPy, all strides of an array without elements are 0, unless it is a view of some.
        let empty = self.0.layout.size == 0 && self.1.as_ref().is_none_or(|base| base.get().0.layout.size == 0);
        let strides = byte_strides(&self.0.layout);
        PyTuple::new(py, strides.into_iter().map(|s| if empty { 0 } else { s }))
    }

    /// Elements from one to the next along each axis.
    #[getter]
    fn element_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.layout.strides)
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.layout.ndim()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> i64 {
        self.0.layout.size
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> i64 {
        self.0.layout.size * self.0.dtype().size() as i64
    }

    /// The elements' type, as NumPy's dtype (bfloat16 is ml_dtypes').
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        numpy::dtype(py, self.0.dtype())
    }

    /// The name of the elements' type.
    #[getter]
    fn dtype_name(&self) -> &'static str {
        self.0.dtype().name()
    }

    /// A view with its axes in reverse order.
    #[getter]
    #[pyo3(name = "T")]
    fn transposed(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        let array = &slf.get().0;
        let axes: Vec<usize> = (0..array.layout.ndim()).rev().collect();
        PyArray::view(slf, array.view(array.layout.permute(&axes)))
    }

    /// Of a view the array whose memory it shows; None for an array that was the first to show its memory.
    #[getter]
    fn base(&self, py: Python<'_>) -> Option<Py<PyArray>> {
        self.1.as_ref().map(|base| base.clone_ref(py))
    }

    /// Whether the elements lie in C order, without gaps.
    #[getter]
    fn is_c_contiguous(&self) -> bool {
        self.0.layout.is_c_contiguous()
    }

    /// Whether the elements lie in Fortran's order, without gaps.
    #[getter]
    fn is_f_contiguous(&self) -> bool {
        self.0.layout.is_f_contiguous()
    }

    /// Whether somebody else may see the memory: what touches it runs at once.
    #[getter]
    fn is_external(&self) -> bool {
        self.0.storage.is_external()
    }

    /// True for what NumPy gives as a scalar: an element, or the 0-d result of an operation.
    #[getter]
    pub(crate) fn is_value(&self) -> bool {
        self.2 != Role::Array
    }

    /// True for an element `a[i]`, to which nothing writes.
    #[getter]
    fn is_element(&self) -> bool {
        self.2 == Role::Element
    }

    /// The device that holds the elements: "cpu", "cuda:0", "auto".
    #[getter]
    fn device_name(&self) -> String {
        devices::name(devices::of(&self.0))
    }

    /// Address of the first element, after running what is pending. The memory counts as shared with the outside
    /// from then on: whatever touches it runs at once.
    fn address(&self, py: Python<'_>) -> PyResult<u64> {
        let engine = devices::of(&self.0);
        let buffer = interrupt::run(py, || engine.export(&self.0.storage))?;
        Ok(first_byte(&self.0, &buffer))
    }

    /// Whether two arrays are views of the same memory, of the same part or not.
    fn shares_storage(&self, other: &PyArray) -> bool {
        std::sync::Arc::ptr_eq(&self.0.storage, &other.0.storage)
    }

    /// First and last byte (exclusive) that the view touches, relative to its memory.
    fn span(&self) -> (i64, i64) {
        let bytes = self.0.dtype().size() as i64;
        match self.0.layout.span() {
            Some((lo, hi)) => (lo * bytes, (hi + 1) * bytes),
            None => [self.0.layout.offset.saturating_mul(bytes); 2].into(),
        }
    }

    // --- values
    /// The one element as a Python scalar; or the one at an index, of the flattened array or of every axis.
    ///
    /// Raises:
    ///     ValueError: if there is not exactly one.
    ///     IndexError: for an index out of bounds.
    #[pyo3(signature = (*args))]
    fn item(slf: &Bound<'_, Self>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().0;
        let one = match (args.len(), array.layout.size) {
            (0, 1) => array.view(array.layout.with(&[], &[], array.layout.offset)),
            (0, _) => {
                return Err(PyValueError::new_err("can only convert an array of size 1 to a Python scalar"));
            }
            _ => index::element(array, args)?,
        };
        scalar(slf.py(), &one)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        match slf.get().0.layout.size {
            1 => Ok(match number(slf.py(), &slf.get().0)? {
                Number::Bool(b) => b,
                Number::Int(i) => i != 0,
                Number::Float(x) => x != 0.0,
                Number::Complex(re, im) => re != 0.0 || im != 0.0,
            }),
            0 => Err(PyValueError::new_err(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not \
                 empty.",
            )),
            _ => Err(PyValueError::new_err(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
            )),
        }
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        slf.py().get_type::<pyo3::types::PyInt>().call1((single(slf)?,)).map(Bound::unbind)
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        single(slf)?.extract(slf.py())
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyComplex>> {
        let (re, im) = match number(slf.py(), &only(slf)?)? {
            Number::Complex(re, im) => (re, im),
            Number::Float(x) => (x, 0.0),
            Number::Int(i) => (i as f64, 0.0),
            Number::Bool(b) => (f64::from(u8::from(b)), 0.0),
        };
        Ok(PyComplex::from_doubles(slf.py(), re, im))
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().0;
        if !array.dtype().is_int() || array.layout.ndim() != 0 {
            return Err(PyTypeError::new_err("only integer scalar arrays can be converted to a scalar index"));
        }
        scalar(slf.py(), array)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.0.shape().first() {
            Some(&n) => Ok(n as usize),
            None => Err(PyTypeError::new_err("len() of unsized object")),
        }
    }

    // --- indexing
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let array = &slf.get().0;
        match index::basic(&array.layout, key)? {
            Some(index::Basic::Element(offset)) => {
                let engine = devices::of(array);
                let element = finish(slf.py(), engine, engine.element(array, offset))?;
                Ok(Py::new(slf.py(), PyArray { 2: Role::Element, ..element })?.into_any())
            }
            Some(index::Basic::View(layout)) => {
                Ok(Py::new(slf.py(), PyArray::view(slf, array.view(layout))?)?.into_any())
            }
            None => hooks::call(slf.py(), hooks::Hook::GetItem, (slf, key)),
        }
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let array = slf.get().target()?;
        if let Some(basic) = index::basic(&array.layout, key)?
            && let Some(value) = operand::value(value)?
        {
            let layout = basic.layout(&array.layout);
            let engine = devices::of(array);
            warn_of_complex(slf.py(), &value, array.dtype())?;
            engine.update(&array.view(layout), value.stored(array.dtype())?).or_raise()?;
            return settle(slf.py(), engine);
        }
        hooks::call(slf.py(), hooks::Hook::SetItem, (slf, key, value)).map(drop)
    }

    // --- operators that are not of the table's form
    fn __pow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("pow() with a modulus is not defined for arrays"));
        }
        if let Some(fun) = simpler_power(slf.get().0.dtype(), o)? {
            return Ok(Py::new(slf.py(), unary(slf, fun)?)?.into_any());
        }
        binary(slf.py(), Fun::Power, slf.as_any(), o)
    }

    fn __rpow__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Err(PyTypeError::new_err("pow() with a modulus is not defined for arrays"));
        }
        binary(slf.py(), Fun::Power, o, slf.as_any())
    }

    fn __ipow__(slf: Target<'_, '_>, o: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        match simpler_power(slf.dtype(), o)?.filter(|_| slf.dtype() != DType::Bool) {
            Some(fun) => in_place_unary(slf, fun),
            None => in_place(slf, Fun::Power, o),
        }
    }

    fn __matmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        // Two matrices that fit need none of the rules of the hook.
        if let Ok(other) = o.cast::<PyArray>() {
            let (a, b) = (&slf.get().0, &other.get().0);
            if let (&[_, k], &[l, _]) = (a.shape(), b.shape())
                && k == l
                && a.dtype() == b.dtype()
                && a.dtype() != DType::Bool
            {
                let product = functions::dot(slf.py(), slf.get(), other.get())?;
                return Ok(Py::new(slf.py(), product)?.into_any());
            }
        }
        hooks::call(slf.py(), hooks::Hook::MatMul, (slf, o))
    }

    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        hooks::call(slf.py(), hooks::Hook::MatMul, (o, slf))
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Negative)
    }

    fn __pos__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Positive)
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Absolute)
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<PyArray> {
        unary(slf, Fun::Invert)
    }

    fn __richcmp__<'py>(slf: &Bound<'py, Self>, o: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let fun = match op {
            CompareOp::Lt => Fun::Less,
            CompareOp::Le => Fun::LessEqual,
            CompareOp::Eq => Fun::Equal,
            CompareOp::Ne => Fun::NotEqual,
            CompareOp::Gt => Fun::Greater,
            CompareOp::Ge => Fun::GreaterEqual,
        };
        let py = slf.py();
        if !matches!(fun, Fun::Equal | Fun::NotEqual) {
            return binary(py, fun, slf.as_any(), o);
        }
        // No number equals these; NumPy says so element by element.
        let result = if o.is_none() || o.is_instance_of::<PyString>() || o.is_instance_of::<PyBytes>() {
            let array = &slf.get().0;
            let engine = devices::of(array);
            let value = Scalar::new(Number::Bool(fun == Fun::NotEqual), DType::Bool);
            finish(py, engine, engine.full(array.shape(), value, DType::Bool))?
        } else if let Some(other) = operand::value(o)? {
            operand::map(py, fun, &[Value::Array(slf.clone()), other], None)?
        } else {
            return hooks::call(py, hooks::Hook::Compare, (slf, o, fun == Fun::Equal));
        };
        Ok(Py::new(py, result)?.into_any())
    }

    // --- shape
    /// The elements in another shape, of which one extent may be -1: a view where strides can say it, otherwise a copy.
    /// `copy` asks for a copy in any case, or for none.
    ///
    /// Raises:
    ///     ValueError: if the shape has another number of elements, and for `copy=False` where a copy is needed.
    #[pyo3(signature = (*shape, order = "C", copy = None))]
    fn reshape(
        slf: &Bound<'_, Self>,
        shape: &Bound<'_, PyTuple>,
        order: &str,
        copy: Option<bool>,
    ) -> PyResult<PyArray> {
        let array = &slf.get().0;
        let dims = index::dims_argument(shape)?;
        let dims = fill_in(&dims, array)?;
        let column_major = match order {
            "C" | "c" => false,
            "F" | "f" => true,
            "A" | "a" => array.layout.is_f_contiguous() && !array.layout.is_c_contiguous(),
            "K" | "k" => return Err(PyValueError::new_err("order 'K' is not permitted for reshaping")),
            _ => return Err(PyValueError::new_err(format!("order must be one of 'C', 'F', or 'A' (got '{order}')"))),
        };
        let result = if column_major {
            // Column-major order is row-major order of the transposed array.
            let reversed = |n: usize| (0..n).rev().collect::<Vec<_>>();
            let t = array.view(array.layout.permute(&reversed(array.layout.ndim())));
            let back: Dims = dims.iter().rev().copied().collect();
            let r = reshaped(slf.py(), &t, &back)?;
            r.view(r.layout.permute(&reversed(dims.len())))
        } else {
            reshaped(slf.py(), array, &dims)?
        };
        let shared = std::sync::Arc::ptr_eq(&result.storage, &array.storage);
        match copy {
            Some(false) if !shared => Err(PyValueError::new_err("Unable to avoid creating a copy while reshaping.")),
            Some(true) if shared => {
                let order: Vec<usize> = (0..dims.len()).collect();
                let order = if column_major { order.into_iter().rev().collect() } else { order };
                laid(slf.py(), &PyArray::own(result), array.dtype(), &order)
            }
            _ if shared => PyArray::view(slf, result),
            _ => Ok(PyArray::own(result)),
        }
    }

    /// A view with its axes permuted; reversed if no order is given.
    ///
    /// Raises:
    ///     ValueError: if the order is no permutation of the axes.
    #[pyo3(signature = (*axes))]
    fn transpose(slf: &Bound<'_, Self>, axes: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let array = &slf.get().0;
        let ndim = array.layout.ndim();
        let order: Vec<usize> = if axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none()) {
            (0..ndim).rev().collect()
        } else {
            let given = index::dims_argument(axes)?;
            if given.len() != ndim {
                return Err(PyValueError::new_err("axes don't match array"));
            }
            let mut seen = vec![false; ndim];
            let order: PyResult<_> = given.iter().map(|&k| index::axis(k, ndim, &mut seen)).collect();
            order.map_err(|error| match error.to_string().contains("repeated") {
                true => PyValueError::new_err("repeated axis in transpose"),
                false => error,
            })?
        };
        PyArray::view(slf, array.view(array.layout.permute(&order)))
    }

    /// A copy, computed when needed. Order "K" keeps the order of the axes in memory; None is "C".
    ///
    /// Raises:
    ///     ValueError: for another order than "C", "F", "A" or "K".
    #[pyo3(signature = (order = Some("C")))]
    fn copy(slf: &Bound<'_, Self>, order: Option<&str>) -> PyResult<PyArray> {
        let order = order.unwrap_or("C");
        let array = &slf.get().0;
        let layout = &array.layout;
        let upright: Vec<usize> = (0..layout.ndim()).collect();
        let axes = match order {
            "C" | "c" => upright,
            "A" | "a" if !layout.is_f_contiguous() || layout.is_c_contiguous() => upright,
            "F" | "f" | "A" | "a" => upright.into_iter().rev().collect(),
            "K" | "k" => by_stride(layout),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "order must be one of 'C', 'F', 'A', or 'K' (got '{order}')"
                )));
            }
        };
        // A copy can be written, that of a scalar too.
        laid(slf.py(), slf.get(), array.dtype(), &axes).map(|copy| PyArray::own(copy.0))
    }
}

/// Bytes from one element to the next along each axis. Strides that leave 64 bits belong to axes of one element, which
/// never use them.
pub(crate) fn byte_strides(layout: &Layout) -> Dims {
    layout.strides.iter().map(|s| s.saturating_mul(layout.dtype.size() as i64)).collect()
}

/// Address of the first element, in the memory of the array's storage; an array without elements may begin anywhere.
pub(crate) fn first_byte(array: &Array, memory: &Buffer) -> u64 {
    memory.address().wrapping_add_signed(array.layout.offset.wrapping_mul(array.dtype().size() as i64))
}

/// The function that NumPy's `**` computes for some Python numbers as exponents. At zeros, infinities and NaN it differs
/// from `power`.
fn simpler_power(dtype: DType, exponent: &Bound<'_, PyAny>) -> PyResult<Option<Fun>> {
    let is_int = exponent.is_exact_instance_of::<PyInt>();
    if dtype == DType::Bool {
        // The square of bool has another dtype than other powers.
        return Ok(if is_int && exponent.eq(2)? { Some(Fun::Square) } else { None });
    }
    if !(is_int || exponent.is_exact_instance_of::<PyFloat>()) || !(dtype.is_float() || dtype.is_complex()) {
        return Ok(None);
    }
    Ok(match exponent.extract::<f64>() {
        Ok(1.0) => Some(Fun::Positive),
        Ok(-1.0) if is_int || dtype.is_float() => Some(Fun::Reciprocal),
        Ok(0.5) => Some(Fun::Sqrt),
        _ => None,
    })
}

/// NumPy's warning where an assignment drops imaginary parts.
#[inline]
pub(crate) fn warn_of_complex(py: Python<'_>, value: &Value, to: DType) -> PyResult<()> {
    let from = match value {
        Value::Array(from) => from.get().0.dtype(),
        Value::Typed(_, from) => *from,
        _ => return Ok(()),
    };
    if !from.is_complex() || to.is_complex() || to == DType::Bool {
        return Ok(());
    }
    let class = py.import("numpy.exceptions")?.getattr("ComplexWarning")?;
    PyErr::warn(py, &class, c"Casting complex values to real discards the imaginary part", 1)
}

/// The axes from the slowest to the fastest in memory, as NumPy's order "K" copies them.
pub(crate) fn by_stride(layout: &Layout) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..layout.ndim()).collect();
    if !layout.is_c_contiguous() {
        axes.sort_by_key(|&k| std::cmp::Reverse(layout.strides[k].unsigned_abs()));
    }
    axes
}

/// A fresh array of `dtype` with the same elements; its axes lie in memory in the order `axes`, the slowest first.
pub(crate) fn laid(py: Python<'_>, source: &PyArray, dtype: DType, axes: &[usize]) -> PyResult<PyArray> {
    let array = &source.0;
    let engine = devices::of(array);
    if axes.is_sorted() {
        let copy = finish(py, engine, engine.cast(array, dtype))?;
        return Ok(if source.is_value() { copy } else { PyArray::own(copy.0) });
    }
    let upright = array.view(array.layout.permute(axes));
    let out = finish(py, engine, engine.cast(&upright, dtype))?.0;
    Ok(PyArray::own(out.view(out.layout.permute(&elementwise::inverse_permutation(axes)))))
}

/// A view with another shape, or a copy where strides cannot say it.
fn reshaped(py: Python<'_>, array: &Array, shape: &[i64]) -> PyResult<Array> {
    if let Some(layout) = array.layout.reshape(shape) {
        return Ok(array.view(layout));
    }
    let engine = devices::of(array);
    let copy = finish(py, engine, engine.cast(array, array.dtype()))?.0;
    let layout = copy.layout.reshape(shape).expect("a copy is contiguous");
    Ok(copy.view(layout))
}

/// A shape with one extent possibly left open as -1.
fn fill_in(dims: &[i64], array: &Array) -> PyResult<Dims> {
    let dims = filled_in(dims, array.layout.size)?;
    checked_size(array.dtype(), &dims).or_raise()?;
    Ok(dims)
}

fn filled_in(dims: &[i64], size: i64) -> PyResult<Dims> {
    let fail = || PyValueError::new_err(format!("cannot reshape array of size {size} into shape {}", show(dims)));
    let mut out: Dims = dims.into();
    let open: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] < 0).collect();
    let product = dims.iter().filter(|&&n| n >= 0).try_fold(1i64, |p, &n| p.checked_mul(n)).ok_or_else(fail)?;
    match open[..] {
        [] if product == size => Ok(out),
        [k] if dims[k] == -1 && product > 0 && size % product == 0 => {
            out[k] = size / product;
            Ok(out)
        }
        [_, _, ..] => Err(PyValueError::new_err("can only specify one unknown dimension")),
        _ => Err(fail()),
    }
}

fn only(slf: &Bound<'_, PyArray>) -> PyResult<Array> {
    let array = &slf.get().0;
    if array.layout.size != 1 {
        return Err(PyTypeError::new_err("only size-1 arrays can be converted to Python scalars"));
    }
    Ok(array.view(array.layout.with(&[], &[], array.layout.offset)))
}

fn single(slf: &Bound<'_, PyArray>) -> PyResult<Py<PyAny>> {
    let one = only(slf)?;
    if one.dtype().is_complex() {
        return Err(PyTypeError::new_err("a complex array cannot be converted to a real Python scalar; use .real"));
    }
    scalar(slf.py(), &one)
}

/// The one element of an array.
fn number(py: Python<'_>, one: &Array) -> PyResult<Number> {
    let engine = devices::of(one);
    let mut bits = Scalar::default();
    let bytes = one.dtype().size();
    let flat = one.view(one.layout.with(&[], &[], one.layout.offset));
    interrupt::run(py, || engine.download(&flat, &mut bits.0[..bytes]))?;
    Ok(bits.number(one.dtype()))
}

/// The one element of an array, as a Python scalar.
pub(crate) fn scalar(py: Python<'_>, one: &Array) -> PyResult<Py<PyAny>> {
    Ok(match number(py, one)? {
        Number::Bool(b) => b.into_pyobject(py)?.to_owned().into_any().unbind(),
        Number::Int(i) if one.dtype() == DType::U64 => (i as u64).into_pyobject(py)?.into_any().unbind(),
        Number::Int(i) => (i as i64).into_pyobject(py)?.into_any().unbind(),
        Number::Float(x) => x.into_pyobject(py)?.into_any().unbind(),
        Number::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any().unbind(),
    })
}
