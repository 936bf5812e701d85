//! Is the GPU worth it? Hardware profiles, a roofline estimate of the time on CPU and GPU, and the sentence that says so.
//!
//! All quantities are in SI units: operations, bytes, seconds, watts, and their rates a second.

pub mod advice;
pub mod estimate;
pub mod profile;
pub mod simple;
mod table;
pub mod units;

pub use estimate::{Bound, Estimate, Prices, Setting, Times, Work, estimate};
pub use profile::{Cpu, Figure, Gpu, Level, Rates, Source, Unit};
