//! Kernels beside a library's Fourier transforms.

use cuprous_core::DType;

use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made, Source, vector};

const TEXT: &str = include_str!("fft.cuh");
/// Elements or vectors of a thread.
const ITEMS: i64 = 4;
const THREADS: u32 = 256;

/// Multiplies so many real numbers, parts of complex ones too, in place.
pub(crate) fn scale(at: Arg, dtype: DType, count: i64, factor: f64, made: &mut Made) {
    let name = ctype(dtype);
    let wide = vector(dtype.size(), made.target.options.aligned, &[]);
    let blocks = count.div_up(ITEMS * i64::from(THREADS * wide));
    let stage = Launch::new(format!("fft_scale_{}", short(dtype)), &[dtype], &[TEXT])
        .pointer("values", name, at)
        .int("total", count)
        .int("factor", factor.to_bits() as i64)
        .stage(&format!("fft_scale<{name}, {wide}, {ITEMS}>"), blocks, THREADS, 0);
    made.out.stages.push(stage);
}

/// Half a spectrum in memory.
#[derive(Clone, Copy)]
pub(crate) struct Half {
    pub(crate) dtype: DType,
    /// Products of the extents before and after the transform's axes.
    pub(crate) above: i64,
    pub(crate) below: i64,
    /// Extents of the last three axes; 1 where there are fewer.
    pub(crate) extents: [i64; 3],
    /// The last value that is its own mirror image, if there is one beside the first; else 0.
    pub(crate) highest: i64,
}

/// Copies half a spectrum, times a factor, without what no real points have.
pub(crate) fn half(from: Source, to: Arg, shape: Half, factor: f64, made: &mut Made) {
    let Half { dtype, above, below, extents: [n0, n1, m], highest } = shape;
    let total = above * n0 * n1 * m * below;
    let (name, index) = (ctype(dtype), if total < 1 << 31 { "uint32" } else { "uint64" });
    let stage = Launch::new(format!("fft_half_{}", short(dtype)), &[dtype], &[TEXT])
        .source("from", name, from)
        .pointer("to", name, to)
        .int("total", total)
        .int("n0", n0)
        .int("n1", n1)
        .int("m", m)
        .int("below", below)
        .int("highest", highest)
        .int("factor", factor.to_bits() as i64)
        .stage(&format!("fft_half<{name}, {index}, {ITEMS}>"), total.div_up(ITEMS * i64::from(THREADS)), THREADS, 0);
    made.out.stages.push(stage);
}

/// Completes spectra [rows, n, below] of real points, of which the first n / 2 + 1 values are there.
pub(crate) fn mirror(at: Arg, dtype: DType, [rows, n, below]: [i64; 3], made: &mut Made) {
    let m = (n - 1) / 2;
    let total = rows * m * below;
    if total == 0 {
        return;
    }
    let (name, index) = (ctype(dtype), if total < 1 << 31 { "uint32" } else { "uint64" });
    let stage = Launch::new(format!("fft_mirror_{}", short(dtype)), &[dtype], &[TEXT])
        .pointer("values", name, at)
        .int("total", total)
        .int("n", n)
        .int("m", m)
        .int("below", below)
        .stage(&format!("fft_mirror<{name}, {index}>"), total.div_up(i64::from(THREADS)), THREADS, 0);
    made.out.stages.push(stage);
}
