//! hiprtc under the interface of NVRTC, whose functions have the same parameters.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::nvrtc::NvrtcApi;

use crate::loader;

/// Returns the run-time compiler. Needs no driver and no GPU.
///
/// # Errors
/// hiprtc is not installed.
pub fn hiprtc() -> Result<&'static NvrtcApi, MissingLibrary> {
    static LOADED: OnceLock<NvrtcApi> = OnceLock::new();
    loader::once(&LOADED, &loader::HIPRTC, load)
}

/// Returns the files of the run-time compiler, without opening them: hiprtc and the compiler that it calls. Files that the
/// system's loader finds are missing.
///
/// # Errors
/// hiprtc is not installed.
pub fn hiprtc_files() -> Result<Vec<PathBuf>, MissingLibrary> {
    let files: Vec<PathBuf> = [loader::HIPRTC, loader::COMGR].iter().filter_map(|library| library.file()).collect();
    if files.is_empty() {
        hiprtc()?;
    }
    Ok(files)
}

/// Fills the table from the library at a path.
fn load(path: &Path) -> Result<NvrtcApi, libloading::Error> {
    // SAFETY: the file is hiprtc by its name. Each function has the parameters of the field's type: handles are
    // pointers, and a status is an int in which zero is success.
    unsafe {
        let library = libloading::Library::new(path)?;
        macro_rules! table {
            ($($field:ident: $symbol:literal,)*) => {
                // None of NVRTC's names is in the library, so all fields are errors until they are filled.
                let mut api = NvrtcApi::new(path)?;
                $(api.$field = library.get($symbol).map(|symbol| *symbol);)*
                Ok(api)
            };
        }
        table! {
            nvrtcVersion: b"hiprtcVersion\0",
            nvrtcGetErrorString: b"hiprtcGetErrorString\0",
            nvrtcCreateProgram: b"hiprtcCreateProgram\0",
            nvrtcDestroyProgram: b"hiprtcDestroyProgram\0",
            nvrtcCompileProgram: b"hiprtcCompileProgram\0",
            nvrtcGetCUBINSize: b"hiprtcGetCodeSize\0",
            nvrtcGetCUBIN: b"hiprtcGetCode\0",
            nvrtcGetProgramLogSize: b"hiprtcGetProgramLogSize\0",
            nvrtcGetProgramLog: b"hiprtcGetProgramLog\0",
            nvrtcAddNameExpression: b"hiprtcAddNameExpression\0",
            nvrtcGetLoweredName: b"hiprtcGetLoweredName\0",
        }
    }
}
