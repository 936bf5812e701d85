//! Conversion of types between Python and the kernel crate: `("float32",)`, `("array", "float32", 2, "C")`, `("tuple",
//! a, b)`.

use std::sync::Arc;

use cuprous_core::DType;
use cuprous_kernel::types::{Field, RecordTy};
use cuprous_kernel::{ArrayTy, Order, Ty};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::arguments::dtype_argument;

/// Returns the type for the `key` of a type object of `cuprous.cuda.types`.
pub(super) fn from_key(key: &Bound<'_, PyAny>) -> PyResult<Ty> {
    let key = key.cast::<PyTuple>().map_err(|_| PyTypeError::new_err("a type's key must be a tuple"))?;
    let kind: String = key.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "none" => Ty::None,
        "array" => {
            let elem = match key.get_item(1)?.extract::<String>() {
                Ok(name) => Ty::Scalar(dtype_argument(&name)?),
                Err(_) => Ty::Record(Arc::new(record_from_key(key.get_item(1)?.cast()?)?)),
            };
            let order = match key.get_item(3)?.extract::<String>()?.as_str() {
                "C" => Order::C,
                "F" => Order::F,
                _ => Order::A,
            };
            Ty::Array(ArrayTy { elem: Box::new(elem), ndim: key.get_item(2)?.extract()?, order, mutable: true })
        }
        "tuple" => {
            let items = key.iter().skip(1).map(|item| from_key(&item)).collect::<PyResult<_>>()?;
            Ty::Tuple(items, None)
        }
        "dtype" => Ty::Tuple(Vec::new(), class_names(dtype_argument(&key.get_item(1)?.extract::<String>()?)?)),
        // A record by itself is an array without axes.
        "record" => {
            let elem = Ty::Record(Arc::new(record_from_key(key)?));
            Ty::Array(ArrayTy { elem: Box::new(elem), ndim: 0, order: Order::C, mutable: true })
        }
        name => Ty::Scalar(dtype_argument(name)?),
    })
}

/// Prefix of the name for a class of numbers. As an argument of a kernel, the class is an empty tuple with that name,
/// which no Python tuple has.
const CLASS: &str = "@dtype ";

pub(super) fn class_names(d: DType) -> Option<Arc<[String]>> {
    Some(vec![format!("{CLASS}{}", d.name())].into())
}

/// Returns the class of numbers that an argument of that type is.
pub(super) fn class_of(ty: &Ty) -> Option<DType> {
    match ty {
        Ty::Tuple(items, Some(names)) if items.is_empty() && names.len() == 1 => {
            DType::from_name(names[0].strip_prefix(CLASS)?)
        }
        _ => None,
    }
}

/// Returns the dtype that a class, a dtype or one of our type objects stands for.
pub(super) fn class_argument(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Ok(key) = object.getattr("_kernel_type") {
        return Ok(from_key(&key)?.scalar());
    }
    let numpy = object.py().import("numpy")?;
    let is_class = match object.cast::<PyType>() {
        Ok(class) => class.is_subclass(&numpy.getattr("generic")?)?,
        Err(_) => object.is_instance(&numpy.getattr("dtype")?)?,
    };
    if !is_class {
        return Ok(None);
    }
    let name: String = numpy.getattr("dtype")?.call1((object,))?.getattr("name")?.extract()?;
    Ok(DType::from_name(&name))
}

/// Returns the key of a type.
pub(super) fn to_key<'py>(py: Python<'py>, ty: &Ty) -> PyResult<Bound<'py, PyTuple>> {
    match ty {
        Ty::Scalar(d) => PyTuple::new(py, [d.name()]),
        Ty::Array(a) => {
            let order = match a.order {
                Order::C => "C",
                Order::F => "F",
                Order::A => "A",
            };
            match a.record() {
                Some(record) if a.ndim == 0 => record_to_key(py, record),
                Some(record) => ("array", record_to_key(py, record)?, a.ndim, order).into_pyobject(py),
                None => ("array", a.dtype().map_or("?", DType::name), a.ndim, order).into_pyobject(py),
            }
        }
        ty if class_of(ty).is_some() => ("dtype", class_of(ty).map_or("?", DType::name)).into_pyobject(py),
        Ty::Tuple(items, _) => {
            let mut all = vec!["tuple".into_pyobject(py)?.into_any()];
            for item in items {
                all.push(to_key(py, item)?.into_any());
            }
            PyTuple::new(py, all)
        }
        Ty::Record(record) => record_to_key(py, record),
        Ty::None | Ty::Unknown => PyTuple::new(py, ["none"]),
    }
}

/// Returns the record for a key `("record", size, ((name, offset, type, shape), …))`.
fn record_from_key(key: &Bound<'_, PyTuple>) -> PyResult<RecordTy> {
    let mut fields = Vec::new();
    for item in key.get_item(2)?.try_iter()? {
        let (name, offset, elem, shape): (String, usize, Bound<'_, PyAny>, Vec<i64>) = item?.extract()?;
        // A record by itself is an array without axes; as a field it is the element.
        let elem = match from_key(&elem)? {
            Ty::Array(a) if a.ndim == 0 && a.record().is_some() => *a.elem,
            ty => ty,
        };
        fields.push(Field { name, offset, elem, shape });
    }
    Ok(RecordTy { size: key.get_item(1)?.extract()?, fields })
}

/// Returns the key of a record.
fn record_to_key<'py>(py: Python<'py>, record: &RecordTy) -> PyResult<Bound<'py, PyTuple>> {
    let mut fields = Vec::new();
    for field in &record.fields {
        let elem = to_key(py, &field.elem)?;
        let shape = PyTuple::new(py, &field.shape)?;
        fields.push((field.name.as_str(), field.offset, elem, shape).into_pyobject(py)?);
    }
    ("record", record.size, PyTuple::new(py, fields)?).into_pyobject(py)
}
