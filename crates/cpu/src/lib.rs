//! The CPU device. It is always available and serves as the reference in tests.
//!
//! A fused kernel runs as *tiled execution*: [`compile`] lowers it once to a list of block operations over a register
//! file of tile buffers, [`lowered`] keeps that list for equal kernels, and [`run`] iterates over the space tile by tile,
//! so that a chain of operations makes one pass over memory. Whole-array routines (products, sorts, scans, correlations) are in [`routines`].

pub mod alloc;
mod background;
mod blocked;
mod blocks;

mod affine;
mod compile;
mod device;
mod frame;
mod isa;
mod kernel;
mod lowered;
#[allow(dead_code, reason = "no caller uses the complete table of functions")]
mod math;
mod routines;
mod run;
mod simd;
mod source;
mod threads;

pub use device::CpuDevice;
