//! The CUDA device: driver, run-time compiler, memory, copies, graphs and library calls.

pub mod cache;
mod checker;
pub mod codegen;
mod compile;
pub mod cublaslt;
mod cudnn;
mod cufft;
pub mod cusolver;
mod cusparse;
mod device;
pub mod driver;
pub mod error;
pub mod graph;
mod link;
pub mod nvrtc;
pub mod pool;
mod routines;
mod run;
pub mod staging;
mod status;
mod timing;
mod user;

#[cfg(test)]
mod gpu_tests;

/// The CUDA C++ that an H200 would run for a program, as a listing. Needs no GPU.
pub fn source(program: &cuprous_plan::Program) -> String {
    compile::source(codegen::Arch::H200, program)
}

pub use checker::Checker;
pub use device::CudaDevice;
pub use error::{CudaError, Result};
pub use status::{Property, device_count, properties, set_library_roots, unusable_reason};
