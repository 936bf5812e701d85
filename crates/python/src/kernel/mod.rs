//! `cuda.jit`: passes Python functions to the kernel crate and Python arguments to launches.

mod args;
mod dates;
mod dispatch;
mod fast_path;
mod grid;
mod parse;

mod raw;
mod record;
mod types;

use cuprous_kernel::diagnostic::ErrorKind;
use cuprous_kernel::{Diagnostic, Ty};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;

pub(crate) use dispatch::{Kernel, Launcher};
pub(crate) use raw::{
    NativeKernel, NativeModule, compile_code, compiler_identity, link_code, load_cached_code, missing_header,
    store_cached_code,
};

/// Returns the builtins of the kernel language, for tests and for the names of `cuprous.cuda`.
#[pyfunction]
pub(crate) fn kernel_builtins() -> Vec<String> {
    cuprous_kernel::lower::builtin_names()
}

/// Declares a function of CUDA C++ and returns its name in the kernel language.
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
            "[cuda.declare_device] {ty} is not supported; parameters and results of CUDA C++ functions must be numbers"
        ))),
    };
    let mut all = Vec::new();
    for key in &params {
        all.extend(number(key)?);
    }
    Ok(cuprous_kernel::linked::declare(name, &all, number(ret)?, pointer))
}

/// Enables or disables Numba's warnings: of launches with few blocks, and of host arrays.
#[pyfunction]
pub(crate) fn kernel_warnings(few_blocks: bool, host_arrays: bool) {
    dispatch::warn_of(few_blocks, host_arrays);
}

/// Returns a diagnostic as an exception of `cuprous.cuda.errors`.
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
