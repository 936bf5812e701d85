//! What the machine does now: samples of GPUs, host and processes, a terminal monitor, and the local web page with
//! calculator, monitor and viewer of profiles; and what a profile of our own says of a program.
//!
//! Architecture invariant: this crate looks and never computes; it starts no CUDA.

pub mod history;
mod host;
pub mod metrics;
pub mod monitor;
mod nvml;
pub mod profile;
pub mod sample;
pub mod screen;
pub mod serve;
pub mod text;
pub mod top;

pub use monitor::Monitor;
pub use sample::Sample;
