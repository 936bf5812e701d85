//! Bindings to the CUDA driver, NVRTC, nvJitLink, cuBLASLt, cuFFT, cuSOLVER, cuSPARSE, cuDNN and NCCL, and the loader
//! that finds these libraries at run time.
//!
//! No library is linked. Each is one struct whose fields are `Result<fn, Error>`, one for each symbol, so a missing
//! library or symbol is an error and never a panic. `cargo run -p xtask --features bindgen -- bindings` writes
//! `generated/`. To add a library, add a `Library` to `xtask/src/bindings.rs`, one to `loader.rs`, and a module here.

pub mod libdevice;
mod loader;
pub mod nccl;

pub use loader::{
    Library, MissingLibrary, cublaslt, cudnn, cufft, cure_for, cusolver, cusparse, driver, driver_file, nccl,
    nvjitlink, nvrtc, nvrtc_file, set_roots,
};

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
    /// The CUDA driver API (`cuda.h`).
    driver
);
generated!(
    /// The run-time compiler (`nvrtc.h`).
    nvrtc
);
generated!(
    /// The linker of device code (`nvJitLink.h`).
    nvjitlink
);
generated!(
    /// Matrix products (`cublasLt.h`).
    cublaslt
);
generated!(
    /// Fourier transforms (`cufftXt.h`).
    cufft
);
generated!(
    /// Matrix decompositions (`cusolverDn.h`).
    cusolver
);
generated!(
    /// Products with sparse matrices (`cusparse.h`).
    cusparse
);
generated!(
    /// Convolutions (`cudnn_cnn.h`).
    cudnn
);
