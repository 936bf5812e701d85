//! Direct correlation in N dimensions.
//!
//! The last two axes are processed together, a band of output rows at a time. The rows that a band needs are copied to
//! a padded scratch that stays in L2, with the edges filled in, and a register block of rows × vectors runs over all
//! taps. Leading axes are loops over pairs of planes.

use std::marker::PhantomData;

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Dims, Result};
use rayon::prelude::*;

use super::pad::source;
use crate::affine::copy_strided;
use crate::alloc::Block;
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::routines::operands::{Contiguous, View};
use crate::simd::Simd;
use crate::threads::SharedPtr;

/// Bytes of scratch for a band: about half of an L2 cache.
const BAND_BYTES: usize = 1 << 20;
/// Output rows of a register block. Taps beyond the edge of the weights are zeros, so a block has 4 - 1 wasted rows of
/// taps.
const ROWS: usize = 4;
/// Columns of a task, where there is one row.
const TILE: i64 = 1 << 13;
/// Elements behind each scratch row that vector loads may read.
const ROW_SLACK: usize = 192;

/// Arguments of a band: `rows` × `cols` outputs from padded rows.
struct BandArgs {
    /// Padded input: `rows + kh - 1` rows of `pitch` elements, and [`ROWS`] more that may be read.
    input: *const u8,
    pitch: usize,
    /// `kh + 2·(ROWS - 1)` × `kw` weights, with rows of zeros around them.
    weights: *const u8,
    kh: usize,
    kw: usize,
    out: *mut u8,
    out_pitch: usize,
    rows: usize,
    cols: usize,
    /// Add to the contents of the output.
    add: bool,
}

struct Band<S, T>(PhantomData<(S, T)>);

impl<S: Simd<T>, T: Copy + Default + std::ops::Add<Output = T> + 'static> Band<S, T> {
    /// Computes `R` rows × `N` vectors of output at (row, col), and writes `n` columns of them.
    #[inline(always)]
    unsafe fn block<const R: usize, const N: usize>(a: &BandArgs, row: usize, col: usize, rows: usize, n: usize) {
        // SAFETY: taps and scratch rows are in memory, with slack for complete vectors; only requested outputs are
        // written.
        unsafe {
            let zero = S::splat(T::default());
            let mut acc = [[zero; N]; R];
            let weights = a.weights as *const T;
            for y in 0..a.kh + R - 1 {
                let input = (a.input as *const T).add((row + y) * a.pitch + col);
                // Row r of the block sees scratch row y through weight row y - r. If there is no such row, the product
                // is skipped instead of multiplied by zero, because infinity times zero is NaN.
                let (first, last) = (y.saturating_sub(a.kh - 1), y.min(R - 1));
                for x in 0..a.kw {
                    let mut v = [zero; N];
                    for (l, v) in v.iter_mut().enumerate() {
                        *v = S::load(input.add(x + l * S::LANES));
                    }
                    for (r, acc) in acc.iter_mut().enumerate() {
                        if r < first || r > last {
                            continue;
                        }
                        let w = S::splat(*weights.add((y + ROWS - 1 - r) * a.kw + x));
                        for (acc, &v) in acc.iter_mut().zip(&v) {
                            *acc = S::fma(v, w, *acc);
                        }
                    }
                }
            }
            for (r, acc) in acc.iter().enumerate().take(rows) {
                let out = (a.out as *mut T).add((row + r) * a.out_pitch + col);
                for (l, &v) in acc.iter().enumerate() {
                    let from = l * S::LANES;
                    if from + S::LANES <= n {
                        let at = out.add(from);
                        S::store(at, if a.add { S::add(v, S::load(at)) } else { v });
                    } else if from < n {
                        let mut part = [T::default(); 16];
                        S::store(part.as_mut_ptr(), v);
                        for (k, &p) in part[..n - from].iter().enumerate() {
                            let at = out.add(from + k);
                            *at = if a.add { *at + p } else { p };
                        }
                    }
                }
            }
        }
    }
}

impl<S: Simd<T>, T: Copy + Default + std::ops::Add<Output = T> + 'static> Body for Band<S, T> {
    type Args = BandArgs;

    #[inline(always)]
    unsafe fn run(a: &BandArgs) {
        // A block of rows does not help a single row of taps, so it uses more vectors instead.
        let (rows, vectors) = if a.kh < 3 { (1, 8) } else { (ROWS, 2) };
        for row in (0..a.rows).step_by(rows) {
            for col in (0..a.cols).step_by(vectors * S::LANES) {
                let (left, n) = (a.rows - row, a.cols - col);
                // SAFETY: by the contract of `BandArgs`, the rows and columns are in memory.
                unsafe {
                    match rows {
                        1 => Self::block::<1, 8>(a, row, col, 1, n),
                        _ => Self::block::<ROWS, 2>(a, row, col, left.min(ROWS), n),
                    }
                }
            }
        }
    }
}

/// The loop for integers, whose sums wrap.
struct Wrapping<T>(PhantomData<T>);

macro_rules! wrapping {
    ($($t:ty)*) => {$(
        impl Body for Wrapping<$t> {
            type Args = BandArgs;

            #[inline(always)]
            unsafe fn run(a: &BandArgs) {
                const N: usize = 32;
                for (row, col) in (0..a.rows).flat_map(|row| (0..a.cols).step_by(N).map(move |col| (row, col))) {
                    let mut acc = [0 as $t; N];
                    // SAFETY: taps and scratch rows are in memory, with slack of more than `N` elements; only requested
                    // outputs are written.
                    unsafe {
                        for y in 0..a.kh {
                            let input = (a.input as *const $t).add((row + y) * a.pitch + col);
                            let weights = (a.weights as *const $t).add((y + ROWS - 1) * a.kw);
                            for x in 0..a.kw {
                                let (w, from) = (*weights.add(x), input.add(x));
                                for (l, acc) in acc.iter_mut().enumerate() {
                                    *acc = acc.wrapping_add(w.wrapping_mul(*from.add(l)));
                                }
                            }
                        }
                        let out = (a.out as *mut $t).add(row * a.out_pitch + col);
                        for (l, &v) in acc[..N.min(a.cols - col)].iter().enumerate() {
                            let before = if a.add { *out.add(l) } else { 0 };
                            *out.add(l) = before.wrapping_add(v);
                        }
                    }
                }
            }
        }
    )*};
}
wrapping!(i32 i64);

/// Returns true if there is a routine for the dtype.
pub(crate) fn is_supported(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64)
}

fn entry(dtype: DType) -> Entry<BandArgs> {
    match (isa::level(), dtype) {
        (Level::V1, DType::F32) => V1::entry::<Band<V1, f32>>(),
        (Level::V3, DType::F32) => V3::entry::<Band<V3, f32>>(),
        (Level::V4, DType::F32) => V4::entry::<Band<V4, f32>>(),
        (Level::V1, DType::I32) => V1::entry::<Wrapping<i32>>(),
        (Level::V3, DType::I32) => V3::entry::<Wrapping<i32>>(),
        (Level::V4, DType::I32) => V4::entry::<Wrapping<i32>>(),
        (Level::V1, DType::I64) => V1::entry::<Wrapping<i64>>(),
        (Level::V3, DType::I64) => V3::entry::<Wrapping<i64>>(),
        (Level::V4, DType::I64) => V4::entry::<Wrapping<i64>>(),
        (Level::V1, _) => V1::entry::<Band<V1, f64>>(),
        (Level::V3, _) => V3::entry::<Band<V3, f64>>(),
        (Level::V4, _) => V4::entry::<Band<V4, f64>>(),
    }
}

/// # Safety
/// The views are in memory and have equal numbers of axes. The output is contiguous and has the weights' dtype.
pub(crate) unsafe fn correlate(edge: Edge, constant: f64, origin: &Dims, a: View, w: View, out: View) -> Result<()> {
    let dtype = out.dtype();
    let size = dtype.size();
    // SAFETY: by this function's contract. Operands of other types are converted once, as whole arrays.
    let (input, weights) = unsafe { (Contiguous::new(a, dtype)?, Contiguous::new(w, dtype)?) };
    // Adds axes up to two dimensions.
    let to_2d = |d: &[i64], one: i64| -> Vec<i64> {
        std::iter::repeat_n(one, 2usize.saturating_sub(d.len())).chain(d.iter().copied()).collect()
    };
    let (from, shape) = (to_2d(a.shape(), 1), to_2d(out.shape(), 1));
    let (taps, origin) = (to_2d(w.shape(), 1), to_2d(origin, 0));
    let d = shape.len();
    let (from_h, from_width) = (from[d - 2], from[d - 1]);
    let (h, width, kh, kw) = (shape[d - 2], shape[d - 1], taps[d - 2] as usize, taps[d - 1] as usize);
    let planes: i64 = shape[..d - 2].iter().product();
    let plane_taps: i64 = taps[..d - 2].iter().product();

    // Weights with rows of zeros around them, per plane of taps.
    let plane_weights = (kh + 2 * (ROWS - 1)) * kw;
    let padded_weights = Block::new(plane_taps as usize * plane_weights * size)?;
    // SAFETY: the block has space for all planes.
    unsafe {
        std::ptr::write_bytes(padded_weights.as_ptr(), 0, plane_taps as usize * plane_weights * size);
        for p in 0..plane_taps as usize {
            let to = padded_weights.as_ptr().add((p * plane_weights + (ROWS - 1) * kw) * size);
            copy_strided(to, 1, weights.ptr().add(p * kh * kw * size), 1, kh * kw, size);
        }
    }
    // Neighboring tiles copy the same `kw - 1` columns.
    let tile = if h == 1 { TILE.max(4 * kw as i64).min(width) } else { width };
    let tiles = (width + tile - 1) / tile;
    let pitch = (tile as usize + kw - 1 + ROW_SLACK).next_multiple_of(16);
    let fit = (BAND_BYTES / (pitch * size)).saturating_sub(kh - 1);
    // At least 8 rows, and not much fewer than the taps, because adjacent bands copy the same `kh - 1` rows.
    let band = (fit.max(kh.min(64)).max(8) as i64).min(h);
    let bands = (h + band - 1) / band;
    let f = entry(dtype);
    let fill = match dtype {
        DType::F32 => (constant as f32).to_bits().to_le_bytes().to_vec(),
        DType::I32 => (constant as i32).to_le_bytes().to_vec(),
        DType::I64 => (constant as i64).to_le_bytes().to_vec(),
        _ => constant.to_bits().to_le_bytes().to_vec(),
    };
    let (input, padded_weights, out) =
        (SharedPtr(input.ptr()), SharedPtr(padded_weights.as_ptr()), SharedPtr(out.origin()));
    let one = |task: i64| -> Result<()> {
        let (plane, top, left) = (task / tiles / bands, task / tiles % bands * band, task % tiles * tile);
        let (rows, cols) = (band.min(h - top) as usize, tile.min(width - left) as usize);
        let need = rows + kh - 1;
        let start = left - origin[d - 1];
        // A single row is read in place where nothing beyond its edges is read.
        let in_place = from.len() == 2
            && need == 1
            && from_h == 1
            && origin[0] == 0
            && start >= 0
            && start + (cols + kw - 1 + ROW_SLACK) as i64 <= from_width;
        let scratch = Block::new(if in_place { 0 } else { (need + ROWS) * pitch * size })?;
        let mut first = true;
        for p in 0..plane_taps {
            // The plane that these taps read, computed index by index over the leading axes.
            let (mut i, mut j, mut stride, mut at) = (plane, p, 1, Some(0));
            for axis in (0..d - 2).rev() {
                let k = source(i % shape[axis] + j % taps[axis] - origin[axis], from[axis], edge);
                at = at.zip(k).map(|(at, k)| at + k * stride);
                (i, j, stride) = (i / shape[axis], j / taps[axis], stride * from[axis]);
            }
            for r in 0..if in_place { 0 } else { need + ROWS - 1 } {
                let y = source(top + r as i64 - origin[d - 2], from_h, edge);
                let to = scratch.as_ptr().wrapping_add(r * pitch * size);
                let row = at.zip(y).map(|(at, y)| input.at((at * from_h + y) * from_width * size as i64));
                // SAFETY: the scratch has this row, and the input has the row at `row`.
                unsafe { padded_row(to, cols + kw - 1, row, from_width, -start, edge, &fill, size) };
            }
            let args = BandArgs {
                input: if in_place { input.at(start * size as i64) } else { scratch.as_ptr() },
                pitch,
                weights: padded_weights.at(p * (plane_weights * size) as i64),
                kh,
                kw,
                out: out.at(((plane * h + top) * width + left) * size as i64),
                out_pitch: width as usize,
                rows,
                cols,
                add: !first,
            };
            // SAFETY: no other task writes the band's outputs.
            unsafe { f(&args) };
            first = false;
        }
        Ok(())
    };
    let work = planes * h * width * (kh * kw) as i64 * plane_taps;
    if work < 1 << 18 {
        (0..planes * bands * tiles).try_for_each(one)
    } else {
        (0..planes * bands * tiles).into_par_iter().try_for_each(one)
    }
}

/// Writes `total` elements of a scratch row, which the input row follows after `lead` elements (before, if negative).
#[allow(clippy::too_many_arguments, reason = "the parameters of a padded row")]
unsafe fn padded_row(
    to: *mut u8,
    total: usize,
    from: Option<*mut u8>,
    width: i64,
    lead: i64,
    edge: Edge,
    fill: &[u8],
    size: usize,
) {
    let total = total as i64;
    // SAFETY: by the caller's contract, there are a scratch row and an input row.
    unsafe {
        let at = |k: i64| to.wrapping_offset((k * size as i64) as isize);
        let Some(from) = from else {
            return copy_strided(to, 1, fill.as_ptr(), 0, total as usize, size);
        };
        let pick = |k: i64| match source(k - lead, width, edge) {
            Some(i) => from.wrapping_offset((i * size as i64) as isize) as *const u8,
            None => fill.as_ptr(),
        };
        // The middle is copied at once, the edges element by element.
        let (start, end) = (lead.clamp(0, total), (lead + width).clamp(0, total));
        if start < end {
            copy_strided(
                at(start),
                1,
                from.wrapping_offset(((start - lead) * size as i64) as isize),
                1,
                (end - start) as usize,
                size,
            );
        }
        for k in (0..start).chain(end.max(start)..total) {
            copy_strided(at(k), 1, pick(k), 1, 1, size);
        }
    }
}
