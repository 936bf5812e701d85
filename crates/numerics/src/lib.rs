//! Matrix decompositions by faer and Fourier transforms by rustfft, compiled once for each element type.
//!
//! Both libraries are generic, so each crate that uses them for a type would compile all of their code again. Here their
//! functions are methods of traits that the element types implement.

mod decompose;
mod transform;

pub use decompose::{Decompose, Eigen};
pub use transform::FftReal;
