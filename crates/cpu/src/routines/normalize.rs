//! Layer normalization of few rows: mean, variance, scale and shift of a row while it is in a cache.

use std::marker::PhantomData;

use cuprous_core::{DType, LayoutRef, Result};

use crate::isa::{self, Body, Isa, Level, V1, V3, V4};
use crate::math::{F32, F64, Float};
use crate::routines::operands::{Contiguous, View};

/// Sums that are accumulated side by side: a multiple of the lanes of every vector.
const SUMS: usize = 16;

/// Returns true if the operands and the result fit together: see `RoutineOp::Normalize`.
pub(crate) fn fits(first: usize, x: &LayoutRef, weight: &LayoutRef, bias: &LayoutRef, out: &LayoutRef) -> bool {
    first < x.ndim()
        && x.shape == out.shape
        && [weight, bias].iter().all(|p| p.shape[..] == x.shape[first..])
        && [weight, bias, out].iter().all(|p| p.dtype == x.dtype)
        && matches!(x.dtype, DType::F32 | DType::F64)
}

/// Contiguous rows of `width` elements.
struct Rows {
    x: *const u8,
    weight: *const u8,
    bias: *const u8,
    out: *mut u8,
    rows: usize,
    width: usize,
    eps: f64,
}

struct Normalize<E>(PhantomData<E>);

impl<E: Float> Normalize<E> {
    /// Returns the sum of `f` of `n` elements.
    #[inline(always)]
    unsafe fn sum(x: *const E, n: usize, f: impl Fn(E) -> E) -> E {
        let whole = n / SUMS * SUMS;
        let mut sums = [E::ZERO; SUMS];
        // SAFETY: by the caller's contract, the elements are in memory.
        unsafe {
            for at in (0..whole).step_by(SUMS) {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(f(*x.add(at + k)));
                }
            }
            for at in whole..n {
                sums[at - whole] = sums[at - whole].add(f(*x.add(at)));
            }
        }
        let mut half = SUMS / 2;
        while half > 0 {
            for k in 0..half {
                sums[k] = sums[k].add(sums[k + half]);
            }
            half /= 2;
        }
        sums[0]
    }
}

impl<E: Float> Body for Normalize<E> {
    type Args = Rows;

    #[inline(always)]
    unsafe fn run(a: &Rows) {
        let (n, count, eps) = (a.width, E::from_f64(a.width as f64), E::from_f64(a.eps));
        let (weight, bias) = (a.weight as *const E, a.bias as *const E);
        for row in 0..a.rows {
            // SAFETY: by the contract of `Rows`.
            unsafe {
                let (x, out) = ((a.x as *const E).add(row * n), (a.out as *mut E).add(row * n));
                let mean = Self::sum(x, n, |v| v).div(count);
                let variance = Self::sum(x, n, |v| v.sub(mean).mul(v.sub(mean))).div(count);
                let scale = E::ONE.div(variance.add(eps).sqrt());
                for k in 0..n {
                    let normal = (*x.add(k)).sub(mean).mul(scale);
                    *out.add(k) = normal.mul(*weight.add(k)).add(*bias.add(k));
                }
            }
        }
    }
}

/// # Safety
/// The views are in memory and [fit](fits) together. The output is contiguous and not empty.
pub(crate) unsafe fn normalize(first: usize, eps: f64, x: View, weight: View, bias: View, out: View) -> Result<()> {
    let dtype = x.dtype();
    let entry = match (isa::level(), dtype) {
        (Level::V1, DType::F32) => V1::entry::<Normalize<F32<V1>>>(),
        (Level::V3, DType::F32) => V3::entry::<Normalize<F32<V3>>>(),
        (Level::V4, DType::F32) => V4::entry::<Normalize<F32<V4>>>(),
        (Level::V1, _) => V1::entry::<Normalize<F64<V1>>>(),
        (Level::V3, _) => V3::entry::<Normalize<F64<V3>>>(),
        (Level::V4, _) => V4::entry::<Normalize<F64<V4>>>(),
    };
    let extent = |axes: &[i64]| axes.iter().product::<i64>() as usize;
    let (rows, width) = (extent(&x.shape()[..first]), extent(&x.shape()[first..]));
    // SAFETY: by this function's contract.
    unsafe {
        let [x, weight, bias] =
            [Contiguous::new(x, dtype)?, Contiguous::new(weight, dtype)?, Contiguous::new(bias, dtype)?];
        let out = out.origin();
        entry(&Rows { x: x.ptr(), weight: weight.ptr(), bias: bias.ptr(), out, rows, width, eps });
    }
    Ok(())
}
