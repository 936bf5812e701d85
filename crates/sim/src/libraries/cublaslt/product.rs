//! The arithmetic of products. Products of half precision are summed in float32.

use std::ops::{Add, Mul};

use gemm::{Parallelism, gemm};
use half::{bf16, f16};
use num_complex::Complex;

/// What follows the sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Activation {
    None,
    /// max(x, 0)
    Relu,
    /// GELU by its tanh formula.
    Gelu,
}

/// The type of a sum.
pub(super) trait Sum:
    Copy + Default + PartialEq + Add<Output = Self> + Mul<Output = Self> + Send + Sync + 'static
{
    const ONE: Self;
    /// Only float32 has activations.
    fn activated(self, _: Activation) -> Self {
        self
    }
}

impl Sum for f32 {
    const ONE: f32 = 1.0;
    fn activated(self, activation: Activation) -> f32 {
        match activation {
            Activation::None => self,
            // NaN stays NaN.
            Activation::Relu => {
                if self < 0.0 {
                    0.0
                } else {
                    self
                }
            }
            Activation::Gelu => {
                let inner = (2.0 / std::f32::consts::PI).sqrt() * (self + 0.044_715 * self.powi(3));
                0.5 * self * (1.0 + inner.tanh())
            }
        }
    }
}

impl Sum for f64 {
    const ONE: f64 = 1.0;
}

impl Sum for Complex<f32> {
    const ONE: Self = Complex::new(1.0, 0.0);
}

impl Sum for Complex<f64> {
    const ONE: Self = Complex::new(1.0, 0.0);
}

/// An element in memory.
pub(super) trait Number: Copy + 'static {
    /// The type in which products are summed, which is the type of alpha and beta.
    type Wide: Sum;
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! numbers {
    ($($t:ty: $wide:ty, $to:expr, $from:expr;)*) => {$(
        impl Number for $t {
            type Wide = $wide;
            fn wide(self) -> $wide {
                $to(self)
            }
            fn narrow(wide: $wide) -> $t {
                $from(wide)
            }
        }
    )*};
}
numbers! {
    f16: f32, f16::to_f32, f16::from_f32;
    bf16: f32, bf16::to_f32, bf16::from_f32;
    f32: f32, f32::from, f32::from;
    f64: f64, f64::from, f64::from;
    Complex<f32>: Complex<f32>, Self::from, Self::from;
    Complex<f64>: Complex<f64>, Self::from, Self::from;
}

/// A matrix in memory; steps and stride in elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_step: usize,
    pub(super) column_step: usize,
    /// The distance between matrices of a batch.
    pub(super) batch_stride: i64,
}

/// `result = activation(alpha · first × second + beta · addend + bias)`, for each matrix of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Problem {
    pub(super) first: Matrix,
    pub(super) second: Matrix,
    pub(super) addend: Matrix,
    pub(super) result: Matrix,
    pub(super) batch: usize,
    pub(super) activation: Activation,
    /// Adds one value for each row.
    pub(super) bias: bool,
}

/// The addresses of the operands, which are 0 for those that are not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) c: usize,
    pub(super) d: usize,
    pub(super) bias: usize,
}

impl Matrix {
    /// Returns the address of the first element of a matrix of the batch.
    fn start<T>(&self, at: usize, index: usize) -> usize {
        at.wrapping_add_signed((index as i64 * self.batch_stride * size_of::<T>() as i64) as isize)
    }

    /// Returns the address of an element of the matrix that starts at `at`.
    fn element<T>(&self, at: usize, row: usize, column: usize) -> usize {
        at + (row * self.row_step + column * self.column_step) * size_of::<T>()
    }

    /// Returns a matrix in the type of the sum, column-major without gaps.
    ///
    /// # Safety
    /// The matrix at `at` is in live memory.
    unsafe fn gather<T: Number>(&self, at: usize) -> Vec<T::Wide> {
        let positions = (0..self.columns).flat_map(|j| (0..self.rows).map(move |i| (i, j)));
        // SAFETY: by the caller's contract.
        positions.map(|(i, j)| unsafe { (self.element::<T>(at, i, j) as *const T).read() }.wide()).collect()
    }
}

/// Computes all products of a batch.
///
/// # Safety
/// The operands are in live memory, aligned to their elements.
pub(super) unsafe fn multiply<T: Number, Out: Number<Wide = T::Wide>>(
    problem: &Problem,
    at: Addresses,
    alpha: T::Wide,
    beta: T::Wide,
) {
    let Problem { first, second, addend, result, batch, activation, .. } = *problem;
    let (zero, one) = (T::Wide::default(), T::Wide::ONE);
    let (m, n, k) = (result.rows, result.columns, first.columns);
    let mut sums = vec![zero; m * n];
    for index in 0..batch {
        // SAFETY: by the caller's contract; the sums have m · n elements.
        unsafe {
            let a = first.gather::<T>(first.start::<T>(at.a, index));
            let b = second.gather::<T>(second.start::<T>(at.b, index));
            gemm(
                m,
                n,
                k,
                sums.as_mut_ptr(),
                m as isize,
                1,
                false,
                a.as_ptr(),
                m as isize,
                1,
                b.as_ptr(),
                k as isize,
                1,
                zero,
                one,
                false,
                false,
                false,
                Parallelism::None,
            );
            let (c, d) = (addend.start::<Out>(at.c, index), result.start::<Out>(at.d, index));
            for (position, &sum) in sums.iter().enumerate() {
                let (i, j) = (position % m, position / m);
                // Factors of one are skipped, because a complex product with an infinity is NaN.
                let mut x = if alpha == one { sum } else { alpha * sum };
                if beta != zero {
                    let c = (addend.element::<Out>(c, i, j) as *const Out).read().wide();
                    x = x + if beta == one { c } else { beta * c };
                }
                if problem.bias {
                    x = x + (at.bias as *const Out).add(i).read().wide();
                }
                (result.element::<Out>(d, i, j) as *mut Out).write(Out::narrow(x.activated(activation)));
            }
        }
    }
}
