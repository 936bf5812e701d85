//! Compiles CUDA C++ with the compiler of a target's maker.

use crate::codegen::Vendor;
use crate::error::{Result, translate};
use crate::nvrtc::{CompileOptions, Compiled};
use crate::{hiprtc, nvrtc};

/// Compiles a source, which messages call `name`. May run in several threads at once.
///
/// # Errors
/// The compiler is not installed, or the source has errors.
pub(crate) fn compile(source: &str, name: &str, options: &CompileOptions) -> Result<Compiled> {
    match options.vendor() {
        Vendor::Nvidia => nvrtc::compile(source, name, options),
        Vendor::Amd => hiprtc::compile(source, name, options),
    }
}

/// Compiles a user's source without loading it, for code that is loaded as a binary. `expressions` are those of
/// [`CompileOptions`].
///
/// # Errors
/// The compiler is not installed, or the source has errors.
pub fn compile_user(
    source: &str,
    name: &str,
    target: &str,
    extra: Vec<String>,
    expressions: Vec<String>,
) -> cuprous_core::Result<Compiled> {
    let options = CompileOptions { extra, expressions, user_source: true, ..CompileOptions::new(target) };
    compile(source, name, &options).map_err(translate)
}

/// Returns a string that identifies the compiler of a target.
///
/// # Errors
/// The compiler is not installed.
pub fn identity(target: &str) -> Result<String> {
    match Vendor::of_target(target) {
        Vendor::Nvidia => nvrtc::identity(),
        Vendor::Amd => hiprtc::identity(),
    }
}
