//! Kernels around a library's Fourier transforms, and transforms along axes that are not the last.

use cuprous_core::DType;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source, vector};

const TEXT: &str = include_str!("fft.cuh");
const LINES: &str = include_str!("fft_lines.cuh");
/// Elements or vectors of a thread.
const ITEMS: i64 = 4;
const THREADS: u32 = 256;

/// Multiplies `count` real numbers in place. Parts of complex numbers count as real numbers.
pub(crate) fn scale(at: Arg, dtype: DType, count: i64, factor: f64, builder: &mut Builder) {
    let name = ctype(dtype);
    let wide = vector(dtype.size(), builder.target.options.aligned, &[]);
    let blocks = count.div_up(ITEMS * i64::from(THREADS * wide));
    let stage = Launch::new(format!("fft_scale_{}", short(dtype)), &[dtype], &[TEXT])
        .pointer("values", name, at)
        .int("total", count)
        .int("factor", factor.to_bits() as i64)
        .stage(&format!("fft_scale<{name}, {wide}, {ITEMS}>"), blocks, THREADS, 0);
    builder.out.stages.push(stage);
}

/// The layout of half a spectrum in memory.
#[derive(Clone, Copy)]
pub(crate) struct HalfSpectrum {
    pub(crate) dtype: DType,
    /// Products of the extents before and after the transform's axes.
    pub(crate) above: i64,
    pub(crate) below: i64,
    /// Extents of the last three axes; 1 for missing ones.
    pub(crate) extents: [i64; 3],
    /// Index of the last value that is its own mirror image, besides the first; 0 if none exists.
    pub(crate) highest: i64,
}

/// Copies half a spectrum, times a factor. The parts that the spectrum of real points cannot have are removed.
pub(crate) fn half_spectrum(from: Source, to: Arg, shape: HalfSpectrum, factor: f64, builder: &mut Builder) {
    let HalfSpectrum { dtype, above, below, extents: [n0, n1, m], highest } = shape;
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
    builder.out.stages.push(stage);
}

/// Completes spectra [rows, n, below] of real points, of which the first n / 2 + 1 values are given.
pub(crate) fn mirror(at: Arg, dtype: DType, [rows, n, below]: [i64; 3], builder: &mut Builder) {
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
    builder.out.stages.push(stage);
}

/// Transforms of dense complex numbers [above, points, below] along the middle axis.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) dtype: DType,
    pub(crate) above: i64,
    pub(crate) points: i64,
    pub(crate) below: i64,
    /// True for the inverse transform.
    pub(crate) inverse: bool,
}

/// Points that a thread holds; the most points that a block transforms in shared memory.
const SLOTS: i64 = 16;
const MOST_POINTS: i64 = 4096;

impl Columns {
    /// Returns the lines that a block transforms together: enough to use whole sectors of memory and to keep threads
    /// busy.
    fn lines_per_block(&self) -> i64 {
        let size = self.dtype.size() as i64;
        let most = MOST_POINTS / self.points * 32 / size;
        let sectors = if self.points > 256 { 2 } else { 4 };
        let wanted = (sectors * 32 / size).max(256 * SLOTS / self.points);
        wanted.min(most).min(self.below.unsigned_abs().next_power_of_two() as i64)
    }

    fn shared(&self) -> usize {
        ((self.points + self.points / 16) * self.lines_per_block()) as usize * self.dtype.size()
    }

    /// Returns true if a kernel exists for these transforms and neighboring lines fill whole sectors of memory.
    pub(crate) fn fit(&self, builder: &Builder) -> bool {
        let Columns { points, below, dtype, .. } = *self;
        let known = (SLOTS..=MOST_POINTS).contains(&points) && points & (points - 1) == 0;
        known && below * dtype.size() as i64 >= 32 && self.shared() <= builder.target.arch.max_shared
    }
}

/// Transforms along an axis that is not the last, times a factor. May run in place.
pub(crate) fn columns(from: Source, to: Arg, shape: Columns, factor: f64, builder: &mut Builder) {
    let Columns { dtype, above, points, below, inverse } = shape;
    let (name, side) = (ctype(dtype), shape.lines_per_block());
    let (tiles, threads) = (below.div_up(side), (points / SLOTS * side) as u32);
    let direction = if inverse { "_inverse" } else { "" };
    // Without a bound, 512 threads use too many registers for a second block: 55 instead of 51 µs for 1024 × 8192.
    let pairs = if threads == 512 && dtype == DType::C64 { 2 } else { 0 };
    let stage = Launch::new(format!("fft_lines_{}_{points}_{side}{direction}", short(dtype)), &[dtype], &[LINES])
        .shared(shape.shared())
        .source("from", name, from)
        .pointer("to", name, to)
        .int("below", below)
        .int("tiles", tiles)
        .int("factor", factor.to_bits() as i64)
        .stage(&format!("fft_lines<{name}, {points}, {SLOTS}, {side}, {inverse}>"), above * tiles, threads, pairs);
    builder.out.stages.push(stage);
}
