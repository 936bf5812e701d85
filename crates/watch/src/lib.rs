//! Observes the machine: samples of GPUs, host and processes, a terminal monitor, a local web page with calculator,
//! monitor and profile viewer, and reports of profiles.
//!
//! Architecture invariant: this crate only observes. It runs no arrays and does not initialize CUDA.

mod amdsmi;
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
