//! Arguments of a launch: their types and their bytes.

use cuprous_core::layout::contiguous_strides;
use cuprous_core::scalar::Number;
use cuprous_core::{Array, DType, Layout, Scalar};
use cuprous_kernel::rules::python_type;
use cuprous_kernel::{ArrayTy, Order, Ty};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple, PyType};
use smallvec::SmallVec;

use crate::array::PyArray;
use crate::{devices, interrupt, numpy, operand};

/// The key of argument types, for fast look-up of overloads: one word for a number or an array, more for a tuple.
pub(super) type Key = SmallVec<[u32; 16]>;

const NONE: u32 = 1;
const SCALAR: u32 = 2 << 24;
const ARRAY: u32 = 3 << 24;
const TUPLE: u32 = 4 << 24;
const NAME: u32 = 5 << 24;

type Names = Option<std::sync::Arc<[String]>>;

/// An argument of a launch, converted from a Python object.
pub(super) enum Arg<'py> {
    None,
    Number(Number, DType),
    /// An array, and true if it may be written.
    Array(Array, bool),
    /// A NumPy array. Boxed, so that numbers, of which a launch may have hundreds, stay small.
    Host(Box<HostArray<'py>>),
    /// An array of records on a device.
    Records(Box<Records>),
    Tuple(Vec<Arg<'py>>, Names),
}

/// A NumPy array.
pub(super) struct HostArray<'py> {
    pub(super) object: Bound<'py, PyAny>,
    address: u64,
    pub(super) elem: Ty,
    shape: Vec<i64>,
    /// In bytes.
    strides: Vec<i64>,
    pub(super) writable: bool,
}

/// An array of records that was copied to a device as bytes, because a device array holds numbers.
pub(super) struct Records {
    /// The bytes, in C order.
    bytes: Array,
    elem: Ty,
    shape: Vec<i64>,
    writable: bool,
}

impl Records {
    /// Returns a copy of a host array on the device if it is an array of records.
    pub(super) fn of(py: Python<'_>, host: &HostArray<'_>, device: &str) -> PyResult<Option<Records>> {
        if !matches!(host.elem, Ty::Record(_)) {
            return Ok(None);
        }
        let packed = py.import("numpy")?.call_method1("ascontiguousarray", (&host.object,))?;
        let bytes = packed.call_method1("reshape", (-1,))?.call_method1("view", ("u1",))?;
        let bytes = numpy::from_numpy(py, &bytes, Some(device))?.array;
        Ok(Some(Records { bytes, elem: host.elem.clone(), shape: host.shape.clone(), writable: host.writable }))
    }

    /// Writes the records back field by field, which works for a single record too.
    pub(super) fn copy_to(py: Python<'_>, bytes: &Array, host: &Bound<'_, PyAny>) -> PyResult<()> {
        let copy = Py::new(py, PyArray::own(bytes.clone()))?;
        let dtype = host.getattr("dtype")?;
        let records = numpy::to_numpy(py, copy.get(), None)?.call_method1("view", (&dtype,))?;
        let records = records.call_method1("reshape", (host.getattr("shape")?,))?;
        if dtype.getattr("names")?.is_none() {
            return host.set_item(py.Ellipsis(), records);
        }
        dtype.getattr("names")?.try_iter()?.try_for_each(|name| {
            let name = name?;
            host.set_item(&name, records.get_item(&name)?)
        })
    }
}

impl HostArray<'_> {
    /// Returns the memory order of the elements.
    pub(super) fn order(&self) -> Order {
        order(&self.shape, &self.strides, self.elem.item_size() as i64)
    }

    fn is_aligned(&self) -> bool {
        let align = self.elem.item_align() as u64;
        self.address.is_multiple_of(align) && self.strides.iter().all(|s| s.unsigned_abs().is_multiple_of(align))
    }
}

/// Returns the memory order of elements with these strides in bytes.
fn order(shape: &[i64], strides: &[i64], size: i64) -> Order {
    let packed = |axes: &mut dyn Iterator<Item = usize>| {
        let mut expected = size;
        for k in axes {
            if shape[k] != 1 {
                if strides[k] != expected {
                    return false;
                }
                expected *= shape[k];
            }
        }
        true
    };
    let n = shape.len();
    if shape.contains(&0) || packed(&mut (0..n).rev()) {
        Order::C
    } else if packed(&mut (0..n)) {
        Order::F
    } else {
        Order::A
    }
}

pub(super) fn layout_order(layout: &Layout) -> Order {
    if layout.identity || layout.is_c_contiguous() {
        Order::C
    } else if layout.is_f_contiguous() {
        Order::F
    } else {
        Order::A
    }
}

/// The deepest nesting of tuples.
const MAX_DEPTH: u32 = 100;

impl<'py> Arg<'py> {
    /// Converts a Python object to an argument; its type is appended to the key.
    #[inline]
    pub(super) fn new(object: &Bound<'py, PyAny>, key: &mut Key) -> PyResult<Arg<'py>> {
        Arg::nested(object, key, 0)
    }

    /// Converts an object inside of `depth` tuples.
    #[inline]
    fn nested(object: &Bound<'py, PyAny>, key: &mut Key, depth: u32) -> PyResult<Arg<'py>> {
        // Python's own numbers first: their classes are the fastest to recognize, and a launch may have hundreds.
        if let Ok(x) = object.cast_exact::<PyFloat>() {
            key.push(SCALAR | DType::F64 as u32);
            return Ok(Arg::Number(Number::Float(x.value()), DType::F64));
        }
        if object.is_exact_instance_of::<PyInt>()
            && let Ok(n) = object.extract::<i64>()
        {
            key.push(SCALAR | DType::I64 as u32);
            return Ok(Arg::Number(Number::Int(n.into()), DType::I64));
        }
        if let Ok(array) = object.cast_exact::<PyArray>() {
            return Ok(Arg::from_array(array.get().array.clone(), key));
        }
        Arg::other(object, key, depth)
    }

    fn from_array(array: Array, key: &mut Key) -> Arg<'py> {
        let layout = &array.layout;
        key.push(key_of_array(layout.dtype, layout.ndim(), layout_order(layout)));
        Arg::Array(array, true)
    }

    #[cold]
    fn other(object: &Bound<'py, PyAny>, key: &mut Key, depth: u32) -> PyResult<Arg<'py>> {
        if object.is_none() {
            key.push(NONE);
            return Ok(Arg::None);
        }
        if let Ok(items) = object.cast::<PyTuple>() {
            if depth == MAX_DEPTH {
                return Err(PyTypeError::new_err(format!(
                    "an argument of a kernel is a tuple nested more than {MAX_DEPTH} deep"
                )));
            }
            key.push(TUPLE | items.len() as u32);
            let names = field_names(object)?;
            names_key(&names, key);
            let args = items.iter().map(|item| Arg::nested(&item, key, depth + 1)).collect::<PyResult<_>>()?;
            return Ok(Arg::Tuple(args, names));
        }
        if let Ok(tensor) = object.cast::<crate::tensor::PyTensor>() {
            let array = tensor.as_any().call_method0("as_array")?;
            return Arg::new(&array, key);
        }
        if object.is_instance_of::<PyType>()
            && let Some(d) = super::types::class_argument(object)?
        {
            return Ok(Arg::class(d, key));
        }
        if object.hasattr("__array_interface__")? && object.hasattr("__setitem__")? {
            return Arg::host(object, key);
        }
        if let Ok(records) = object.getattr("_launch_records") {
            return Arg::records(&records, key);
        }
        if object.hasattr("_launch_dates")? {
            let (counts, unit): (Bound<'py, PyAny>, String) = object.getattr("_launch_dates")?.extract()?;
            super::dates::record_unit(unit);
            return Arg::new(&counts, key);
        }
        if let Some(value) = operand::value(object)? {
            let (n, d) = match value {
                operand::Value::Array(array) => return Ok(Arg::from_array(array.get().array.clone(), key)),
                operand::Value::Weak(Number::Int(n)) if n < i64::MIN.into() || n > u64::MAX.into() => {
                    return Err(operand::too_large());
                }
                operand::Value::Weak(n) => (n, python_type(n)),
                operand::Value::Typed(n, d) => (n, d),
                operand::Value::Huge(_) => return Err(operand::too_large()),
            };
            key.push(SCALAR | d as u32);
            return Ok(Arg::Number(n, d));
        }
        if object.hasattr("_launch_argument")? {
            return Arg::new(&object.getattr("_launch_argument")?, key);
        }
        if let Ok(interface) = object.getattr("__cuda_array_interface__") {
            let letters: String = interface.get_item("typestr")?.extract()?;
            let (module, name) = match letters.get(1..2) {
                Some("M" | "m") => ("cuprous.cuda._dates", "of_interface"),
                _ => ("cuprous._common.convert", "from_cuda_interface"),
            };
            let converted = object.py().import(module)?.getattr(name)?.call1((object, interface))?;
            return Arg::new(&converted, key);
        }
        if let Some(d) = super::types::class_argument(object)? {
            return Ok(Arg::class(d, key));
        }
        if let Some(counts) = super::dates::counts(object)? {
            return Arg::new(&counts, key);
        }
        let enum_class = object.py().import("enum")?.getattr("Enum")?;
        if object.is_instance(&enum_class)? {
            return Arg::new(&object.getattr("value")?, key);
        }
        Err(PyTypeError::new_err(format!(
            "[cuda.jit] an object of class {} cannot be an argument of a kernel; pass arrays, numbers, tuples of them or None",
            object.get_type().name()?
        )))
    }

    /// A class of numbers, which is a constant when the kernel is compiled.
    fn class(d: DType, key: &mut Key) -> Arg<'py> {
        let names = super::types::class_names(d);
        key.push(TUPLE);
        names_key(&names, key);
        Arg::Tuple(Vec::new(), names)
    }

    /// Converts an array of records on a device: its bytes, its dtype, its extents.
    fn records(object: &Bound<'py, PyAny>, key: &mut Key) -> PyResult<Arg<'py>> {
        let (bytes, dtype, shape): (Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<i64>) = object.extract()?;
        let bytes = bytes.cast::<PyArray>()?.get().array.clone();
        let Some(elem) = super::record::element(&dtype)? else {
            return Err(PyTypeError::new_err("[cuda.jit] an array of records must have a structured dtype"));
        };
        array_key(&elem, shape.len(), Order::C, true, key);
        Ok(Arg::Records(Box::new(Records { bytes, elem, shape, writable: true })))
    }

    fn host(object: &Bound<'py, PyAny>, key: &mut Key) -> PyResult<Arg<'py>> {
        let dtype = object.getattr("dtype")?;
        let elem = match super::record::element(&dtype)? {
            Some(record) => record,
            None => match numpy::dtype_of(&dtype) {
                Ok(d) => Ty::Scalar(d),
                Err(error) => match super::dates::counts(object)? {
                    Some(counts) => return Arg::host(&counts, key),
                    None => return Err(error),
                },
            },
        };
        if !dtype.getattr("isnative")?.extract::<bool>()? {
            return Err(PyTypeError::new_err(
                "[cuda.jit] arrays of foreign byte order are not supported; convert the array with astype",
            ));
        }
        let shape: Vec<i64> = object.getattr("shape")?.extract()?;
        let strides: Vec<i64> = object.getattr("strides")?.extract()?;
        let data = object.getattr("__array_interface__")?.get_item("data")?;
        let (address, read_only): (u64, bool) = data.extract()?;
        // A single record is written field by field. What NumPy 2.5 reports about its memory is true of a copy.
        let writable = !read_only
            || matches!(elem, Ty::Record(_)) && object.getattr("dtype")?.getattr("type")?.is(object.get_type());
        let array = HostArray { object: object.clone(), address, elem, shape, strides, writable };
        array_key(&array.elem, array.shape.len(), array.order(), writable, key);
        Ok(Arg::Host(Box::new(array)))
    }

    /// Returns the type of an array.
    pub(super) fn type_of(a: &Array) -> Ty {
        Ty::Array(ArrayTy::new(a.dtype(), a.layout.ndim(), layout_order(&a.layout)))
    }

    /// Returns the type of the argument, as a kernel compiled for it alone has it.
    pub(super) fn ty(&self) -> Ty {
        match self {
            Arg::None => Ty::None,
            Arg::Number(_, d) => Ty::Scalar(*d),
            Arg::Array(a, mutable) => match Arg::type_of(a) {
                Ty::Array(ty) => Ty::Array(ArrayTy { mutable: *mutable, ..ty }),
                ty => ty,
            },
            Arg::Host(a) => {
                let elem = Box::new(a.elem.clone());
                Ty::Array(ArrayTy { elem, ndim: a.shape.len() as u8, order: a.order(), mutable: a.writable })
            }
            Arg::Records(a) => {
                let elem = Box::new(a.elem.clone());
                Ty::Array(ArrayTy { elem, ndim: a.shape.len() as u8, order: Order::C, mutable: a.writable })
            }
            Arg::Tuple(items, names) => Ty::Tuple(items.iter().map(Arg::ty).collect(), names.clone()),
        }
    }

    /// Replaces host arrays whose elements are not aligned, as in views of bytes and packed records, by copies. `back`
    /// gets the arrays to write back after the launch.
    #[allow(clippy::type_complexity, reason = "an array and its copy")]
    pub(super) fn align(&mut self, back: &mut Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>) -> PyResult<()> {
        match self {
            Arg::Host(host) if !host.is_aligned() => {
                let (object, writable) = (host.object.clone(), host.writable);
                let copy = object.call_method1("copy", ("K",))?;
                *self = Arg::new(&copy, &mut Key::new())?;
                if let Arg::Host(host) = self {
                    host.writable = writable;
                }
                if writable {
                    back.push((object, copy));
                }
            }
            Arg::Tuple(items, _) => {
                for item in items {
                    item.align(back)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Replaces arrays on a GPU by copies on the CPU. `moved` gets each array with its copy.
    pub(super) fn move_to_cpu(&mut self, py: Python<'py>, moved: &mut Vec<(Array, Array)>) -> PyResult<()> {
        match self {
            Arg::Array(array, _) if devices::of(array).id != 0 => {
                let copy = interrupt::run(py, || devices::of(array).send(array, devices::by_name("cpu")?, true))?;
                moved.push((std::mem::replace(array, copy.clone()), copy));
            }
            Arg::Records(records) if devices::of(&records.bytes).id != 0 => {
                return Err(PyTypeError::new_err(
                    "[cuda.jit] check=True runs on the CPU and cannot take a record array on a GPU; pass a NumPy array",
                ));
            }
            Arg::Tuple(items, _) => {
                for item in items {
                    item.move_to_cpu(py, moved)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Calls `f` with each array in the argument, in order.
    pub(super) fn arrays<'a>(&'a self, f: &mut dyn FnMut(&'a Array)) {
        match self {
            Arg::Array(a, _) => f(a),
            Arg::Records(a) => f(&a.bytes),
            Arg::Tuple(items, _) => items.iter().for_each(|item| item.arrays(f)),
            _ => {}
        }
    }
}

/// Returns the field names of a named tuple.
pub(super) fn field_names(tuple: &Bound<'_, PyAny>) -> PyResult<Names> {
    match tuple.getattr("_fields") {
        Ok(fields) => Ok(Some(fields.extract::<Vec<String>>()?.into())),
        Err(_) => Ok(None),
    }
}

/// Field names decide what attributes mean, so they are part of a tuple's key in full.
fn names_key(names: &Names, key: &mut Key) {
    for name in names.iter().flat_map(|names| names.iter()) {
        key.push(NAME | name.len() as u32);
        key.extend(name.bytes().map(u32::from));
    }
}

/// Returns the key of a writable array of numbers.
pub(super) fn key_of_array(d: DType, ndim: usize, order: Order) -> u32 {
    number_array_key(d, ndim, order, true)
}

fn number_array_key(d: DType, ndim: usize, order: Order, mutable: bool) -> u32 {
    ARRAY | d as u32 | (ndim as u32) << 8 | (order as u32) << 16 | u32::from(mutable) << 18
}

/// The key of an array of records has a second word.
fn array_key(elem: &Ty, ndim: usize, order: Order, mutable: bool, key: &mut Key) {
    match elem {
        Ty::Record(record) => {
            key.push(number_array_key(DType::Bool, ndim, order, mutable) | 1 << 19);
            key.push(super::record::number(record));
        }
        elem => key.push(number_array_key(elem.scalar().unwrap_or(DType::F64), ndim, order, mutable)),
    }
}

/// Appends the key of a type, which equals that of arguments of exactly that type.
pub(super) fn key_of(ty: &Ty, key: &mut Key) {
    match ty {
        Ty::Scalar(d) => key.push(SCALAR | *d as u32),
        Ty::Array(a) => array_key(&a.elem, a.ndim as usize, a.order, a.mutable, key),
        Ty::Tuple(items, names) => {
            key.push(TUPLE | items.len() as u32);
            names_key(names, key);
            items.iter().for_each(|item| key_of(item, key));
        }
        Ty::None | Ty::Unknown | Ty::Record(_) => key.push(NONE),
    }
}

/// The bytes of arguments, aligned to 16, and the offsets where addresses of arrays are filled in.
pub(super) struct ArgumentBlock {
    words: SmallVec<[Scalar; 32]>,
    /// Byte offsets, in the order of the arrays.
    pub(super) addresses: SmallVec<[u32; 16]>,
}

impl ArgumentBlock {
    pub(super) fn new(bytes: usize) -> ArgumentBlock {
        ArgumentBlock { words: SmallVec::from_elem(Scalar::default(), bytes.div_ceil(16)), addresses: SmallVec::new() }
    }

    pub(super) fn block(&self) -> &[Scalar] {
        &self.words
    }

    #[inline]
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        // SAFETY: scalars are plain bytes, and the slice is borrowed from this value alone.
        let all =
            unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), self.words.len() * 16) };
        all[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    pub(super) fn word(&mut self, at: usize, n: i64) {
        self.put(at, &n.to_ne_bytes());
    }

    /// Writes an array of numbers as a parameter of its own type.
    pub(super) fn array(&mut self, at: usize, layout: &Layout) {
        self.addresses.push(at as u32);
        let size = layout.dtype.size() as i64;
        self.put_extents(at + 8, layout_order(layout), &layout.shape, &layout.strides, size);
    }

    /// Writes an array's extents and, unless its order is C, its strides, which count in units of `unit` bytes. Returns
    /// false if the number of axes differs.
    fn extents(&mut self, at: usize, param: &ArrayTy, shape: &[i64], strides: &[i64], unit: i64) -> bool {
        let same = param.ndim as usize == shape.len();
        if same {
            self.put_extents(at, param.order, shape, strides, unit);
        }
        same
    }

    fn put_extents(&mut self, at: usize, order: Order, shape: &[i64], strides: &[i64], unit: i64) {
        let axes = shape.len().max(1);
        for k in 0..axes {
            self.word(at + 8 * k, shape.get(k).copied().unwrap_or(1));
            if order != Order::C {
                self.word(at + 8 * (axes + k), strides.get(k).map_or(0, |s| s * unit));
            }
        }
    }

    /// Writes an argument as a parameter of that type. Returns false if it does not fit.
    pub(super) fn write(&mut self, at: usize, ty: &Ty, arg: &Arg<'_>) -> bool {
        match (ty, arg) {
            (Ty::None, Arg::None) => true,
            (Ty::Scalar(DType::F64), Arg::Number(Number::Float(x), DType::F64)) => {
                self.put(at, &x.to_ne_bytes());
                true
            }
            (Ty::Scalar(DType::I64), Arg::Number(Number::Int(n), DType::I64)) => {
                self.word(at, *n as i64);
                true
            }
            (Ty::Scalar(to), Arg::Number(n, from)) => {
                if from.is_complex() && !to.is_complex() {
                    return false;
                }
                let here = if from == to { *n } else { Scalar::new(*n, *from).number(*from) };
                let scalar = Scalar::new(here, *to);
                self.put(at, &scalar.0[..to.size()]);
                true
            }
            (Ty::Array(param), Arg::Array(a, mutable)) => {
                let layout = &a.layout;
                let size = layout.dtype.size() as i64;
                self.addresses.push(at as u32);
                param.dtype() == Some(layout.dtype)
                    && (*mutable || !param.mutable)
                    && (param.order == Order::A || param.order == layout_order(layout))
                    && self.extents(at + 8, param, &layout.shape, &layout.strides, size)
            }
            (Ty::Array(param), Arg::Host(a)) => {
                self.put(at, &a.address.to_ne_bytes());
                *param.elem == a.elem
                    && (a.writable || !param.mutable)
                    && (param.order == Order::A || param.order == a.order())
                    && self.extents(at + 8, param, &a.shape, &a.strides, 1)
            }
            (Ty::Array(param), Arg::Records(a)) => {
                self.addresses.push(at as u32);
                *param.elem == a.elem
                    && (a.writable || !param.mutable)
                    && param.order != Order::F
                    && self.extents(at + 8, param, &a.shape, &contiguous_strides(&a.shape), a.elem.item_size() as i64)
            }
            (Ty::Tuple(types, _), Arg::Tuple(items, _)) if types.len() == items.len() => {
                let mut offset = 0usize;
                for (ty, item) in types.iter().zip(items) {
                    let (size, align) = cuprous_kernel::abi::size_align(ty);
                    offset = offset.next_multiple_of(align);
                    if !self.write(at + offset, ty, item) {
                        return false;
                    }
                    offset += size;
                }
                true
            }
            _ => false,
        }
    }
}
