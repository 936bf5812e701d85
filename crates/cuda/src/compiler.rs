//! Compiles CUDA C++ with the compiler of a target's maker.

use crate::codegen::Vendor;
use crate::error::Result;
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

/// Returns a string that identifies the compiler of a target.
///
/// # Errors
/// The compiler is not installed.
pub(crate) fn identity(target: &str) -> Result<String> {
    match Vendor::of_target(target) {
        Vendor::Nvidia => nvrtc::identity(),
        Vendor::Amd => hiprtc::identity(),
    }
}
