//! The meaning of Python objects inside a kernel.

use std::sync::Arc;

use cuprous_core::DType;
use cuprous_core::scalar::Number;
use cuprous_kernel::Ty;
use cuprous_kernel::ast::{ConstArray, Value};
use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};

use super::super::args::field_names;
use super::super::{Kernel, record, types};
use super::{MAX_DEPTH, Translation};
use crate::array::PyArray;
use crate::{devices, numpy, operand};

/// Converts a Python or NumPy number.
fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    Ok(match operand::value(object)? {
        Some(operand::Value::Weak(n)) => Some(Value::Number(n)),
        Some(operand::Value::Typed(n, d)) => Some(Value::Typed(n, d)),
        _ => None,
    })
}

/// Returns true if int64 or uint64 holds the number.
pub(super) fn fits(n: i128) -> bool {
    i64::try_from(n).is_ok() || u64::try_from(n).is_ok()
}

/// Returns the value for an integer that neither int64 nor uint64 holds.
fn too_long(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let bits: u64 = object.call_method0("bit_length")?.extract()?;
    Ok(Value::Other(format!("an integer of {bits} bits, which is too large for 64,")))
}

impl<'py> Translation<'py> {
    /// Returns the meaning of an object.
    pub(super) fn value(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let py = object.py();
        if object.is_none() {
            return Ok(Value::None);
        }
        if object.is(py.Ellipsis()) {
            return Ok(Value::Ellipsis);
        }
        if object.is_instance(&self.enum_class)? {
            return self.value(&object.getattr("value")?);
        }
        let is_number = object.is_instance_of::<PyBool>()
            || object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyFloat>()
            || object.is_instance_of::<PyComplex>();
        if is_number {
            return Ok(match number(object)? {
                Some(Value::Number(Number::Int(n))) if !fits(n) => too_long(object)?,
                Some(value) => value,
                None => too_long(object)?,
            });
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Value::Str(text.to_str()?.to_owned()));
        }
        if let Ok(text) = object.cast::<PyBytes>() {
            return Ok(Value::Str(text.as_bytes().iter().map(|&b| char::from(b)).collect()));
        }
        if let Ok(items) = object.cast::<PyTuple>() {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(PyRecursionError::new_err("a tuple that the kernel uses is nested too deeply"));
            }
            let values = items.iter().map(|item| self.value(&item)).collect::<PyResult<Vec<_>>>()?;
            self.depth -= 1;
            return Ok(Value::Tuple(values, field_names(object)?));
        }
        if let Ok(name) = object.getattr("_kernel_name") {
            return Ok(Value::Builtin(name.extract()?));
        }
        if let Ok(key) = object.getattr("_kernel_type") {
            // A record by itself is an array without axes; as a dtype it is the element.
            return Ok(Value::Type(match types::from_key(&key)? {
                Ty::Array(a) if a.ndim == 0 && a.record().is_some() => *a.elem,
                ty => ty,
            }));
        }
        if let Ok(class) = object.cast::<PyType>() {
            return self.class(class);
        }
        if let Ok(array) = object.cast::<PyArray>() {
            return self.array(array.get());
        }
        if let Ok(kernel) = object.cast::<Kernel>() {
            let (function, signatures) = (kernel.get().function(py), kernel.get().device_signatures());
            return self.signed_function(&function, signatures).map(Value::Function);
        }
        if object.hasattr("__code__")? && object.hasattr("__globals__")? {
            return self.function(object).map(Value::Function);
        }
        if let Some(value) = number(object)? {
            return Ok(value);
        }
        if object.hasattr("__array_interface__")? {
            return self.host_array(object);
        }
        if object.is_instance(&py.import("numpy")?.getattr("dtype")?)?
            && let Some(record) = record::element(object)?
        {
            return Ok(Value::Type(record));
        }
        if object.get_type().name()? == "dtype"
            || object.hasattr("dtype")? && object.get_type().name()?.to_str()?.ends_with("DType")
        {
            let name: String = object.getattr("name")?.extract()?;
            return Ok(DType::from_name(&name).map_or(Value::Other(format!("the dtype {name}")), scalar_type));
        }
        self.callable(object)
    }

    /// Returns the meaning of a class: a type of numbers, or an object that only Python knows.
    fn class(&self, class: &Bound<'py, PyType>) -> PyResult<Value> {
        let py = class.py();
        let name = class.name()?.to_str()?.to_owned();
        let python: [(Bound<'_, PyType>, DType); 4] = [
            (py.get_type::<PyBool>(), DType::Bool),
            (py.get_type::<PyInt>(), DType::I64),
            (py.get_type::<PyFloat>(), DType::F64),
            (py.get_type::<PyComplex>(), DType::C128),
        ];
        if let Some((_, d)) = python.iter().find(|(known, _)| class.is(known)) {
            return Ok(scalar_type(*d));
        }
        let module: String = class.getattr("__module__")?.extract().unwrap_or_default();
        if let Ok(fields) = class.getattr("_fields").and_then(|f| f.extract::<Vec<String>>()) {
            return Ok(Value::NamedTuple(fields.into()));
        }
        if module == "builtins" {
            return Ok(Value::Builtin(name));
        }
        if module.starts_with("numpy") || module.starts_with("ml_dtypes") || module.starts_with("cuprous") {
            let dtype = py.import("numpy")?.getattr("dtype")?.call1((class,));
            if let Ok(name) = dtype.and_then(|d| d.getattr("name")?.extract::<String>())
                && let Some(d) = DType::from_name(&name)
            {
                return Ok(scalar_type(d));
            }
        }
        Ok(Value::Other(format!("the class {name}")))
    }

    fn array(&mut self, array: &PyArray) -> PyResult<Value> {
        use crate::errors::OrRaise;
        let array = &array.array;
        let mut bytes = vec![0; array.layout.size as usize * array.dtype().size()];
        devices::of(array).download(array, &mut bytes).or_raise()?;
        let shape = array.shape().to_vec();
        Ok(Value::Array(Arc::new(ConstArray { elem: Ty::Scalar(array.dtype()), shape, bytes })))
    }

    fn host_array(&mut self, array: &Bound<'py, PyAny>) -> PyResult<Value> {
        let dtype = array.getattr("dtype")?;
        if let Some(elem) = record::element(&dtype)? {
            let bytes = array.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes().to_vec();
            return Ok(Value::Array(Arc::new(ConstArray { elem, shape: array.getattr("shape")?.extract()?, bytes })));
        }
        let Some(d) = DType::from_name(&dtype.getattr("name")?.extract::<String>()?) else {
            return Ok(Value::Other(format!("an array of dtype {dtype}")));
        };
        debug_assert_eq!(numpy::dtype_of(&dtype)?, d);
        let native = dtype.call_method1("newbyteorder", ("=",))?;
        let kwargs = PyDict::new(array.py());
        kwargs.set_item("order", "C")?;
        let packed = array.call_method("astype", (native,), Some(&kwargs))?;
        let bytes = packed.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes().to_vec();
        Ok(Value::Array(Arc::new(ConstArray { elem: Ty::Scalar(d), shape: array.getattr("shape")?.extract()?, bytes })))
    }

    /// Returns the meaning of a function without Python source, by its module and name.
    fn callable(&self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        let class = object.get_type().name()?.to_str()?.to_owned();
        let Ok(name) = object.getattr("__name__").and_then(|n| n.extract::<String>()) else {
            return Ok(Value::Other(format!("an object of class {class}")));
        };
        if class == "module" {
            return Ok(Value::Other(format!("the module {name}")));
        }
        let module = object.getattr("__module__").and_then(|m| m.extract::<String>()).unwrap_or_default();
        let full = match module.as_str() {
            "builtins" => name,
            "_operator" => format!("operator.{name}"),
            "math" | "cmath" => format!("{module}.{name}"),
            _ if class.ends_with("ufunc") || module.starts_with("numpy") => format!("np.{name}"),
            "" => name,
            // A function made by `vectorize` is called from the host.
            _ if object.hasattr("py_func")? => {
                return Ok(Value::Other(format!("Untyped global name '{name}': a {class}, which the host calls,")));
            }
            _ => format!("{module}.{name}"),
        };
        Ok(Value::Builtin(full))
    }
}

fn scalar_type(d: DType) -> Value {
    Value::Type(Ty::Scalar(d))
}
