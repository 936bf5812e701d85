//! `cuda.jit`: Python functions to the kernel crate, Python arguments to launches.

mod args;
mod dates;
mod dispatch;
mod entity;
mod names;
mod parse;
mod quick;
mod raw;
mod record;
mod types;

use cuprous_kernel::diagnostic::ErrorKind;
use cuprous_kernel::{Diagnostic, Ty};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;

pub(crate) use dispatch::{Kernel, Launcher};
pub(crate) use raw::{NativeKernel, NativeModule, keep_code, kept_code, link_code, missing_header};

/// The builtins that kernels know, for tests and for the names of `cuprous.cuda`.
#[pyfunction]
pub(crate) fn kernel_builtins() -> Vec<String> {
    cuprous_kernel::lower::builtin_names()
}

/// Declares a function of CUDA C++; the name that kernels know.
#[pyfunction]
pub(crate) fn declare_linked(
    name: &str,
    params: Vec<Bound<'_, PyAny>>,
    ret: &Bound<'_, PyAny>,
    pointer: bool,
) -> PyResult<String> {
    let number = |key: &Bound<'_, PyAny>| match types::from_key(key)? {
        Ty::Scalar(d) => Ok(Some(d)),
        Ty::None => Ok(None),
        ty => Err(PyNotImplementedError::new_err(format!(
            "[cuda.declare_device] {ty} is not supported; functions of CUDA C++ take and give numbers"
        ))),
    };
    let mut all = Vec::new();
    for key in &params {
        all.extend(number(key)?);
    }
    Ok(cuprous_kernel::linked::declare(name, &all, number(ret)?, pointer))
}

/// Switches what Numba warns of: launches of too few blocks, and of arrays of the host.
#[pyfunction]
pub(crate) fn kernel_warnings(few_blocks: bool, host_arrays: bool) {
    dispatch::warn_of(few_blocks, host_arrays);
}

/// A diagnostic as the exception of `cuprous.cuda.errors`.
fn raise(py: Python<'_>, diagnostic: &Diagnostic) -> PyErr {
    let class = match diagnostic.kind {
        ErrorKind::Typing => "TypingError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Value => "InvalidValueError",
    };
    match py.import("cuprous.cuda.errors").and_then(|m| m.getattr(class)?.call1((diagnostic.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
