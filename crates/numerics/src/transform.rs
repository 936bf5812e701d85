//! Fourier transforms.

use std::sync::Arc;

use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// A real type of which Fourier transforms are compiled.
pub trait FftReal: FftNum {
    /// Returns the plan of a complex transform of `n` points.
    fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
}

macro_rules! transform {
    ($($t:ty)*) => {$(
        impl FftReal for $t {
            fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<$t>> {
                FftPlanner::new().plan_fft(n, direction)
            }
        }
    )*};
}
transform!(f32 f64);
