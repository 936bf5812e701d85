//! Estimates of whether a GPU is worth it: hardware profiles, a roofline model of the time on CPU and GPU, and the
//! answer as a sentence.
//!
//! All quantities are in SI units: operations, bytes, seconds, watts, and rates per second.

pub mod advice;
pub mod counted;
pub mod estimate;
pub mod lists;
pub mod machine;
pub mod profile;
pub mod question;
pub mod rates;
pub mod simple;
mod table;
pub mod units;
pub mod weights;

pub use counted::{Counted, CountedProgram};
pub use estimate::{Bound, Estimate, Prices, Setting, Times, Work, estimate};
pub use machine::Machine;
pub use profile::{ComputeUnit, Cpu, Gpu, Level, Rates};
pub use rates::{Demand, Group, Load};
pub use table::{Figure, Source};
