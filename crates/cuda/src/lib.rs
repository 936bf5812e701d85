//! The CUDA device: driver, run-time compiler, memory, copies, graphs and library routines.
//!
//! Modules by layer, each using only those above it: [`driver`], [`nvrtc`], [`cache`], [`pool`], [`staging`], [`graph`]
//! and the libraries' wrappers; `gpu`, which owns them; `modules` and `link`, which turn source into loaded kernels;
//! `kernel` (users' kernels), `routines` (library routines) and `run` (compiled programs); `compile`; `device`.

mod buffers;
pub mod cache;
mod checker;
pub mod codegen;
mod compile;
mod compiler;
pub mod cublaslt;
mod cudnn;
mod cufft;
pub mod cusolver;
mod cusparse;
mod device;
pub mod driver;
pub mod error;
mod gpu;
pub mod graph;
mod hiprtc;
mod kernel;
mod link;
mod modules;
pub mod nvrtc;
pub mod pool;
mod progress;
mod routines;
mod run;
mod source;
pub mod staging;
mod status;
mod templates;
mod timing;

#[cfg(test)]
mod gpu_tests;

/// Returns the CUDA C++ that an H200 would run for a program, as a listing. Needs no GPU.
pub fn source(program: &cuprous_plan::Program) -> String {
    source::listing(codegen::Arch::H200, None, program)
}

pub use checker::Checker;
pub use compiler::{compile_user, identity as compiler_identity};
pub use device::CudaDevice;
pub use error::{CudaError, Result};
pub use status::{Property, device_count, hip_version, properties, set_library_roots, set_sites, unusable_reason};
