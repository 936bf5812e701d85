//! The CUDA device: driver, run-time compiler, memory, copies, graphs and library calls.

pub mod cache;
pub mod cublaslt;
pub mod driver;
pub mod error;
pub mod graph;
pub mod nvrtc;
pub mod pool;
pub mod staging;

#[cfg(test)]
mod gpu_tests;

pub use error::{CudaError, Result};
