//! Normalization to mean 0 and variance 1: of [rows], and of [channels] of a batch. Each part is read from memory once and
//! is in a cache for what follows.

pub(crate) mod channels;
pub(crate) mod rows;

use crate::math::Float;

/// Elements of a task.
const TASK: usize = 1 << 14;

/// Returns the loop for float32 or float64 and this processor.
macro_rules! compiled {
    ($body:ident, $dtype:expr) => {{
        use crate::isa::{self, Isa, Level, V1, V3, V4};
        use crate::math::{F32, F64};
        match (isa::level(), $dtype) {
            (Level::V1, DType::F32) => V1::entry::<$body<F32<V1>>>(),
            (Level::V3, DType::F32) => V3::entry::<$body<F32<V3>>>(),
            (Level::V4, DType::F32) => V4::entry::<$body<F32<V4>>>(),
            (Level::V1, _) => V1::entry::<$body<F64<V1>>>(),
            (Level::V3, _) => V3::entry::<$body<F64<V3>>>(),
            (Level::V4, _) => V4::entry::<$body<F64<V4>>>(),
        }
    }};
}
use compiled;

/// Adds up `N` values for each index below `n`, in `WIDTH` sums side by side, from index `at` on as far as these are
/// whole. Returns the sums, and the index that is next.
#[inline(always)]
fn side_by_side<E: Float, const N: usize, const WIDTH: usize>(
    mut at: usize,
    n: usize,
    f: &impl Fn(usize) -> [E; N],
) -> ([E; N], usize) {
    let mut sums = [[E::ZERO; WIDTH]; N];
    while at + WIDTH <= n {
        for k in 0..WIDTH {
            let values = f(at + k);
            for (sum, value) in sums.iter_mut().zip(values) {
                sum[k] = sum[k].add(value);
            }
        }
        at += WIDTH;
    }
    let total = |mut sum: [E; WIDTH]| {
        let mut half = WIDTH / 2;
        while half > 0 {
            for k in 0..half {
                sum[k] = sum[k].add(sum[k + half]);
            }
            half /= 2;
        }
        sum[0]
    };
    (sums.map(total), at)
}

/// Returns the sums of `N` values over the indices below `n`.
#[inline(always)]
fn sums<E: Float, const N: usize>(n: usize, f: impl Fn(usize) -> [E; N]) -> [E; N] {
    let (mut sums, at) = if n < 64 { ([E::ZERO; N], 0) } else { side_by_side::<E, N, 64>(0, n, &f) };
    let (more, at) = side_by_side::<E, N, 8>(at, n, &f);
    let (rest, _) = side_by_side::<E, N, 1>(at, n, &f);
    for k in 0..N {
        sums[k] = sums[k].add(more[k].add(rest[k]));
    }
    sums
}
