//! AMD's libraries under the interfaces of cuBLASLt, cuFFT, cuSOLVER and cuSPARSE.
//!
//! As in the driver's table, most functions differ in their names only. Types of elements have the same numbers; other
//! values are translated. A function that AMD's library lacks is a missing symbol.

mod blas;
mod fft;
mod solver;
mod sparse;

use std::path::PathBuf;
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;

use crate::amdsmi::AmdsmiApi;
use crate::loader;

pub use blas::cublaslt;
pub use fft::cufft;
pub use solver::{cusolver, cusolver_status};
pub use sparse::cusparse;

/// Returns amdsmi.
///
/// # Errors
/// It is not installed.
pub fn amdsmi() -> Result<&'static AmdsmiApi, MissingLibrary> {
    static LOADED: OnceLock<AmdsmiApi> = OnceLock::new();
    // SAFETY: the file is amdsmi by its name; opening it has no requirements.
    loader::once(&LOADED, &loader::AMDSMI, |path| unsafe { AmdsmiApi::new(path) })
}

/// Returns the name of each library and its file, or `None` if the system's loader would have to find it. None is opened.
pub fn library_files() -> Vec<(&'static str, Option<PathBuf>)> {
    let all = [
        &loader::DRIVER,
        &loader::HIPRTC,
        &loader::COMGR,
        &loader::HIPBLASLT,
        &loader::ROCBLAS,
        &loader::HIPFFT,
        &loader::HIPSOLVER,
        &loader::HIPSPARSE,
        &loader::AMDSMI,
    ];
    all.iter().map(|library| (library.name(), library.file())).collect()
}

/// Asserts that constants of both makers have the same number.
macro_rules! same {
    ($($cuda:path = $hip:path;)*) => {
        $(const _: () = assert!($cuda.0 == $hip.0);)*
    };
}
use same;

/// Asserts that the types of elements have the same numbers.
macro_rules! same_data_types {
    ($cuda:ident, $hip:ident) => {
        $crate::libraries::same! {
            $cuda::CUDA_R_32F = $hip::HIP_R_32F;
            $cuda::CUDA_R_64F = $hip::HIP_R_64F;
            $cuda::CUDA_R_16F = $hip::HIP_R_16F;
            $cuda::CUDA_R_16BF = $hip::HIP_R_16BF;
            $cuda::CUDA_C_32F = $hip::HIP_C_32F;
            $cuda::CUDA_C_64F = $hip::HIP_C_64F;
        }
    };
}
use same_data_types;
