//! `cuda.jit`: Python functions to the kernel crate, Python arguments to launches.

mod args;
mod dispatch;
mod entity;
mod names;
mod parse;
mod raw;
mod record;
mod types;

use cuprous_kernel::Diagnostic;
use cuprous_kernel::diagnostic::Class;
use pyo3::prelude::*;

pub(crate) use dispatch::{Kernel, Launcher};
pub(crate) use raw::{NativeKernel, NativeModule};

/// The builtins that kernels know, for tests and for the names of `cuprous.cuda`.
#[pyfunction]
pub(crate) fn kernel_builtins() -> Vec<String> {
    cuprous_kernel::table::names()
}

/// A diagnostic as the exception of `cuprous.cuda.errors`.
fn raise(py: Python<'_>, diagnostic: &Diagnostic) -> PyErr {
    let class = match diagnostic.class {
        Class::Typing => "TypingError",
        Class::Unsupported => "UnsupportedError",
    };
    match py.import("cuprous.cuda.errors").and_then(|m| m.getattr(class)?.call1((diagnostic.to_string(),))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
