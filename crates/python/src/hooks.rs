//! Hooks: Python functions that the native types call for behavior that is implemented in Python.

use std::sync::RwLock;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The operations that call a hook.
#[derive(Clone, Copy)]
pub(crate) enum Hook {
    GetItem,
    SetItem,
    MatMul,
    UfuncCall,
    Operand,
    Compare,
    Buffer,
    TensorNew,
    TensorGetItem,
    TensorSetItem,
    TensorSize,
    TensorDtype,
    TensorDevice,
}

const NAMES: [&str; 13] = [
    "getitem",
    "setitem",
    "matmul",
    "ufunc_call",
    "operand",
    "compare",
    "buffer",
    "tensor_new",
    "tensor_getitem",
    "tensor_setitem",
    "tensor_size",
    "tensor_dtype",
    "tensor_device",
];
static HOOKS: [RwLock<Option<Py<PyAny>>>; NAMES.len()] = [const { RwLock::new(None) }; NAMES.len()];

/// Calls a hook.
pub(crate) fn call<'py>(
    py: Python<'py>,
    hook: Hook,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Py<PyAny>> {
    let function = HOOKS[hook as usize]
        .read()
        .ok()
        .and_then(|f| f.as_ref().map(|f| f.clone_ref(py)))
        .ok_or_else(|| PyRuntimeError::new_err(format!("the hook {:?} is not set", NAMES[hook as usize])))?;
    function.bind(py).call1(args.into_pyobject(py)?).map(Bound::unbind)
}

/// Sets the hook of that name.
#[pyfunction]
pub(crate) fn set_hook(name: &str, hook: Py<PyAny>) -> PyResult<()> {
    let k =
        NAMES.iter().position(|n| *n == name).ok_or_else(|| PyValueError::new_err(format!("unknown hook {name:?}")))?;
    *HOOKS[k].write().map_err(|_| PyRuntimeError::new_err("a thread panicked while it set a hook"))? = Some(hook);
    Ok(())
}
