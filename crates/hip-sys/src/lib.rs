//! AMD's libraries under the interfaces of NVIDIA's: the tables of functions of `cuprous-cuda-sys`, filled from HIP, and
//! the loader that finds these libraries at run time.

mod driver;
mod hiprtc;
mod libraries;
mod loader;

macro_rules! generated {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[allow(
            non_camel_case_types,
            non_snake_case,
            non_upper_case_globals,
            missing_docs,
            unreachable_pub,
            unsafe_op_in_unsafe_fn,
            dead_code,
            clippy::all,
            clippy::undocumented_unsafe_blocks,
            reason = "generated from C headers"
        )]
        pub mod $name {
            include!(concat!("generated/", stringify!($name), ".rs"));
        }
    };
}

generated!(
    /// HIP (`hip_runtime_api.h`).
    hip
);
generated!(
    /// Matrix products (`hipblaslt.h`).
    hipblaslt
);
generated!(
    /// Matrix products of all dtypes, on all GPUs of AMD (`rocblas.h`).
    rocblas
);
generated!(
    /// Fourier transforms (`hipfftXt.h`).
    hipfft
);
generated!(
    /// Matrix decompositions (`hipsolver.h`).
    hipsolver
);
generated!(
    /// Products with sparse matrices (`hipsparse.h`).
    hipsparse
);
generated!(
    /// What GPUs report about themselves (`amdsmi.h`).
    amdsmi
);

pub use driver::{driver, driver_file, target};
pub use hiprtc::{hiprtc, hiprtc_files};
pub use libraries::{amdsmi, cublaslt, cufft, cusolver, cusolver_status, cusparse, library_files};
pub use loader::set_sites;

/// The oldest version of HIP whose interface is used, as (major, minor).
pub const OLDEST_VERSION: (u32, u32) = (5, 2);
