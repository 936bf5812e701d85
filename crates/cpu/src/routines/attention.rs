//! Attention: means of values, weighted by the softmax of products of queries and keys. Scores of a few queries at a time
//! stay in a cache; scores that a causal mask excludes are not computed, except for a few beside the diagonal.

use std::marker::PhantomData;
use std::ops::{Add, Mul};

use cuprous_core::{DType, Error, LayoutRef, Result};

use crate::alloc::Block;
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{F32, F64, Inexact};
use crate::routines::operands::View;
use crate::routines::workspaces::Workspaces;
use crate::simd::Simd;
use crate::threads::{SharedPtr, parallel_for};

/// Queries whose scores are computed together.
const ROWS: usize = 4;
/// Vectors of scores or features that are computed together.
const VECTORS: usize = 4;
/// Queries of a task, if there are more tasks than heads.
const TASK_ROWS: usize = 64;
/// Queries from which on keys are transposed, so that vectors of scores are computed.
const MIN_TRANSPOSED: usize = 3;
/// Multiplications up to which one thread computes all.
const SERIAL_WORK: i64 = 1 << 18;
/// Lanes of the longest vector.
const MAX_LANES: usize = 16;

/// Returns true if the operands Q, K and V and the result fit together: see `RoutineOp::AttendRows`.
pub(crate) fn fits(q: &LayoutRef, k: &LayoutRef, v: &LayoutRef, out: &LayoutRef) -> bool {
    let (&[b, h, rows, width], &[kb, kh, keys, kw], &[vb, vh, vk, depth]) = (&q.shape[..], &k.shape[..], &v.shape[..])
    else {
        return false;
    };
    (kb, kh, kw, vb, vh, vk) == (b, h, width, b, h, keys)
        && keys > 0
        && out.shape[..] == [b, rows, h, depth]
        && [k, v, out].iter().all(|x| x.dtype == q.dtype)
        && matches!(q.dtype, DType::F32 | DType::F64)
}

/// Arguments for some queries of one head. Strides are in elements.
struct HeadArgs {
    q: *const u8,
    k: *const u8,
    v: *const u8,
    /// Strides of rows and of features.
    q_steps: [isize; 2],
    k_steps: [isize; 2],
    v_steps: [isize; 2],
    out: *mut u8,
    /// Elements from one row of the result to the next.
    pitch: usize,
    /// The queries `first..last`.
    first: usize,
    last: usize,
    keys: usize,
    width: usize,
    depth: usize,
    causal: bool,
    scale: f64,
    /// Memory of [`Sizes::bytes`].
    space: *mut u8,
}

/// The parts of a task's memory, in elements.
struct Sizes {
    /// Elements of a row of scores: the keys, rounded up.
    keys: usize,
    width: usize,
    depth: usize,
}

impl Sizes {
    fn new(keys: usize, width: usize, depth: usize) -> Sizes {
        let width = width.next_multiple_of(MAX_LANES);
        Sizes { keys: keys.next_multiple_of(VECTORS * MAX_LANES), width, depth: depth.next_multiple_of(MAX_LANES) }
    }

    /// Returns the starts of the scores, the scaled queries, the keys and the values, and the end.
    fn parts(&self) -> [usize; 5] {
        let queries = ROWS * self.keys;
        let keys = queries + ROWS * self.width;
        let values = keys + self.keys * self.width;
        [0, queries, keys, values, values + self.keys * self.depth]
    }
}

/// An element type.
trait Element: Copy + Default + Add<Output = Self> + Mul<Output = Self> + 'static {
    fn rounded(v: f64) -> Self;
}
impl Element for f32 {
    fn rounded(v: f64) -> f32 {
        v as f32
    }
}
impl Element for f64 {
    fn rounded(v: f64) -> f64 {
        v
    }
}

/// Attention with vectors `S` of `T`; `E` is `T` with its functions.
struct Head<S, T, E>(PhantomData<(S, T, E)>);

impl<S: Simd<T> + Isa, T: Element, E: Inexact> Head<S, T, E> {
    /// Copies `rows` rows of `columns` elements, with zeros up to `pitch`.
    #[inline(always)]
    unsafe fn copy(from: *const T, steps: [isize; 2], [rows, columns, pitch]: [usize; 3], to: *mut T, factor: T) {
        // SAFETY: by the caller's contract, all elements are in memory.
        unsafe {
            for r in 0..rows {
                let (from, to) = (from.offset(r as isize * steps[0]), to.add(r * pitch));
                for c in 0..columns {
                    *to.add(c) = *from.offset(c as isize * steps[1]) * factor;
                }
                for c in columns..pitch {
                    *to.add(c) = T::default();
                }
            }
        }
    }

    /// Copies keys as panels of `VECTORS` vectors of keys for each feature.
    #[inline(always)]
    unsafe fn transpose(a: &HeadArgs, keys: usize, to: *mut T) {
        let panel = VECTORS * S::LANES;
        let from = a.k as *const T;
        // SAFETY: by the contract of `HeadArgs`.
        unsafe {
            for start in (0..keys).step_by(panel) {
                let to = to.add(start * a.width);
                for j in 0..panel {
                    let from = from.offset((start + j) as isize * a.k_steps[0]);
                    for f in 0..a.width {
                        *to.add(f * panel + j) =
                            if start + j < keys { *from.offset(f as isize * a.k_steps[1]) } else { T::default() };
                    }
                }
            }
        }
    }

    /// Computes the scores of `R` queries for the first `keys` transposed keys, and for some that follow.
    #[inline(always)]
    unsafe fn scores<const R: usize>(a: &HeadArgs, sizes: &Sizes, q: *const T, k: *const T, keys: usize, to: *mut T) {
        let panel = VECTORS * S::LANES;
        // SAFETY: by the contract of `HeadArgs`; rows of queries and scores have the pitches of `sizes`.
        unsafe {
            for start in (0..keys).step_by(panel) {
                let k = k.add(start * a.width);
                let mut sums = [[S::splat(T::default()); VECTORS]; R];
                for f in 0..a.width {
                    let k: [S::V; VECTORS] = std::array::from_fn(|v| S::load(k.add(f * panel + v * S::LANES)));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let q = S::splat(*q.add(r * sizes.width + f));
                        for (sum, &k) in sums.iter_mut().zip(&k) {
                            *sum = S::fma(q, k, *sum);
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    for (v, &sum) in sums.iter().enumerate() {
                        S::store(to.add(r * sizes.keys + start + v * S::LANES), sum);
                    }
                }
            }
        }
    }

    /// Computes the scores of one query: a product of rows for each key. The features are padded with zeros, and so are the
    /// scores.
    #[inline(always)]
    unsafe fn score(q: *const T, k: *const T, pitch: isize, padded: usize, keys: usize, to: *mut T) {
        // SAFETY: by the caller's contract, query and keys are in memory.
        unsafe {
            for j in 0..keys {
                let k = k.offset(j as isize * pitch);
                let mut sum = S::splat(T::default());
                for f in (0..padded).step_by(S::LANES) {
                    sum = S::fma(S::load(q.add(f)), S::load(k.add(f)), sum);
                }
                let mut lanes = [T::default(); MAX_LANES];
                S::store(lanes.as_mut_ptr(), sum);
                let mut half = MAX_LANES / 2;
                while half > 0 {
                    for l in 0..half {
                        lanes[l] = lanes[l] + lanes[l + half];
                    }
                    half /= 2;
                }
                *to.add(j) = lanes[0];
            }
            for j in keys..keys.next_multiple_of(MAX_LANES) {
                *to.add(j) = T::default();
            }
        }
    }

    /// Replaces `n` scores by their softmax. All elements are NaN if one is NaN or none is greater than -inf.
    #[inline(always)]
    unsafe fn softmax(scores: *mut E, n: usize) {
        let whole = n / MAX_LANES * MAX_LANES;
        // SAFETY: by the caller's contract, the scores are in memory.
        unsafe {
            let mut top = [E::LOWEST; MAX_LANES];
            for j in (0..whole).step_by(MAX_LANES) {
                for (l, top) in top.iter_mut().enumerate() {
                    let v = *scores.add(j + l);
                    *top = if top.lt(v) { v } else { *top };
                }
            }
            for j in whole..n {
                let v = *scores.add(j);
                top[0] = if top[0].lt(v) { v } else { top[0] };
            }
            let mut all = E::LOWEST;
            for v in top {
                all = if all.lt(v) { v } else { all };
            }
            // Elements behind the last are computed too, because loops without a rest are vectors; they are not added.
            let padded = n.next_multiple_of(MAX_LANES);
            for j in (0..padded).step_by(MAX_LANES) {
                for l in 0..MAX_LANES {
                    let at = scores.add(j + l);
                    *at = (*at).sub(all).exp();
                }
            }
            let mut sums = [E::ZERO; MAX_LANES];
            for j in (0..whole).step_by(MAX_LANES) {
                for (l, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(*scores.add(j + l));
                }
            }
            for j in whole..n {
                sums[j - whole] = sums[j - whole].add(*scores.add(j));
            }
            let mut half = MAX_LANES / 2;
            while half > 0 {
                for l in 0..half {
                    sums[l] = sums[l].add(sums[l + half]);
                }
                half /= 2;
            }
            for j in (0..padded).step_by(MAX_LANES) {
                for l in 0..MAX_LANES {
                    let at = scores.add(j + l);
                    *at = (*at).div(sums[0]);
                }
            }
        }
    }

    /// Computes `N` vectors of the means of `R` rows from feature `d` on. Row r takes `counts[r]` values, no fewer than
    /// the first row.
    #[inline(always)]
    unsafe fn means<const R: usize, const N: usize>(
        (weights, weight_pitch): (*const T, usize),
        (values, value_pitch): (*const T, isize),
        counts: [usize; R],
        (out, pitch): (*mut T, usize),
        room: usize,
    ) {
        // SAFETY: by the caller's contract, weights and values are in memory.
        unsafe {
            let mut sums = [[S::splat(T::default()); N]; R];
            for j in 0..counts[0] {
                let at = values.offset(j as isize * value_pitch);
                let value: [S::V; N] = std::array::from_fn(|n| S::load(at.add(n * S::LANES)));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let weight = S::splat(*weights.add(r * weight_pitch + j));
                    for (sum, &value) in sums.iter_mut().zip(&value) {
                        *sum = S::fma(weight, value, *sum);
                    }
                }
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                for j in counts[0]..counts[r] {
                    let at = values.offset(j as isize * value_pitch);
                    let weight = S::splat(*weights.add(r * weight_pitch + j));
                    for (n, sum) in sums.iter_mut().enumerate() {
                        *sum = S::fma(weight, S::load(at.add(n * S::LANES)), *sum);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let out = out.add(r * pitch);
                if room >= N * S::LANES {
                    for (n, &sum) in sums.iter().enumerate() {
                        S::store(out.add(n * S::LANES), sum);
                    }
                    continue;
                }
                let mut last = [T::default(); VECTORS * MAX_LANES];
                for (n, &sum) in sums.iter().enumerate() {
                    S::store(last.as_mut_ptr().add(n * S::LANES), sum);
                }
                std::ptr::copy_nonoverlapping(last.as_ptr(), out, room);
            }
        }
    }

    /// Computes `R` rows from `row` on.
    #[inline(always)]
    unsafe fn rows<const R: usize>(a: &HeadArgs, sizes: &Sizes, keys: Keys<T>, values: (*const T, isize), row: usize) {
        let [scores, queries, ..] = sizes.parts();
        let counts: [usize; R] = std::array::from_fn(|r| if a.causal { (row + r + 1).min(a.keys) } else { a.keys });
        // SAFETY: by the contract of `HeadArgs`.
        unsafe {
            let space = a.space as *mut T;
            let (scores, q) = (space.add(scores), space.add(queries));
            let from = (a.q as *const T).offset(row as isize * a.q_steps[0]);
            Self::copy(from, a.q_steps, [R, a.width, sizes.width], q, T::rounded(a.scale));
            match keys {
                Keys::Transposed(k) => Self::scores::<R>(a, sizes, q, k, counts[R - 1], scores),
                Keys::Rows(k, pitch, padded) => {
                    for (r, &count) in counts.iter().enumerate() {
                        Self::score(q.add(r * sizes.width), k, pitch, padded, count, scores.add(r * sizes.keys));
                    }
                }
            }
            for (r, &count) in counts.iter().enumerate() {
                Self::softmax(scores.add(r * sizes.keys) as *mut E, count);
            }
            let out = (a.out as *mut T).add((row - a.first) * a.pitch);
            let mut d = 0;
            while d < a.depth {
                let (from, to, room) = ((values.0.add(d), values.1), (out.add(d), a.pitch), a.depth - d);
                let weights = (scores as *const T, sizes.keys);
                if room >= VECTORS * S::LANES {
                    Self::means::<R, VECTORS>(weights, from, counts, to, room);
                    d += VECTORS * S::LANES;
                } else {
                    Self::means::<R, 1>(weights, from, counts, to, room);
                    d += S::LANES;
                }
            }
        }
    }
}

/// Keys as their scores are computed.
#[derive(Clone, Copy)]
enum Keys<T> {
    /// Panels of vectors of keys.
    Transposed(*const T),
    /// Rows, the elements from one to the next, and the features of a row that are read.
    Rows(*const T, isize, usize),
}

impl<S: Simd<T> + Isa, T: Element, E: Inexact> Body for Head<S, T, E> {
    type Args = HeadArgs;

    #[inline(always)]
    unsafe fn run(a: &HeadArgs) {
        let sizes = Sizes::new(a.keys, a.width, a.depth);
        let [_, _, keys, values, _] = sizes.parts();
        let seen = if a.causal { a.last.min(a.keys) } else { a.keys };
        // SAFETY: by the contract of `HeadArgs`.
        unsafe {
            let space = a.space as *mut T;
            let (own_keys, own_values) = (space.add(keys), space.add(values));
            let keys = if a.last - a.first >= MIN_TRANSPOSED {
                Self::transpose(a, seen, own_keys);
                Keys::Transposed(own_keys)
            } else if a.k_steps[1] == 1 && a.width.is_multiple_of(S::LANES) {
                Keys::Rows(a.k as *const T, a.k_steps[0], a.width)
            } else {
                Self::copy(a.k as *const T, a.k_steps, [seen, a.width, sizes.width], own_keys, T::rounded(1.0));
                Keys::Rows(own_keys, sizes.width as isize, a.width.next_multiple_of(S::LANES))
            };
            let values = if a.v_steps[1] == 1 && a.depth.is_multiple_of(S::LANES) {
                (a.v as *const T, a.v_steps[0])
            } else {
                Self::copy(a.v as *const T, a.v_steps, [seen, a.depth, sizes.depth], own_values, T::rounded(1.0));
                (own_values as *const T, sizes.depth as isize)
            };
            let mut row = a.first;
            while row + ROWS <= a.last {
                Self::rows::<ROWS>(a, &sizes, keys, values, row);
                row += ROWS;
            }
            while row < a.last {
                Self::rows::<1>(a, &sizes, keys, values, row);
                row += 1;
            }
        }
    }
}

fn head(dtype: DType) -> Entry<HeadArgs> {
    match (isa::level(), dtype) {
        (Level::V1, DType::F32) => V1::entry::<Head<V1, f32, F32<V1>>>(),
        (Level::V3, DType::F32) => V3::entry::<Head<V3, f32, F32<V3>>>(),
        (Level::V4, DType::F32) => V4::entry::<Head<V4, f32, F32<V4>>>(),
        (Level::V1, _) => V1::entry::<Head<V1, f64, F64<V1>>>(),
        (Level::V3, _) => V3::entry::<Head<V3, f64, F64<V3>>>(),
        (Level::V4, _) => V4::entry::<Head<V4, f64, F64<V4>>>(),
    }
}

/// # Safety
/// The views are in memory and [fit](fits) together. The output is contiguous and not empty.
pub(crate) unsafe fn attend(causal: bool, scale: f64, q: View, k: View, v: View, out: View) -> Result<()> {
    let &[batch, heads, rows, width] = q.shape() else {
        return Err(Error::runtime("[cpu] internal error: attention of other than four axes"));
    };
    let (keys, depth) = (v.shape()[2], v.shape()[3]);
    let size = q.dtype().size();
    let sizes = Sizes::new(keys as usize, width as usize, depth as usize);
    let workspaces = Workspaces::new(|| Block::new(sizes.parts()[4] * size));
    let run = head(q.dtype());
    let (bases, result) = ([q, k, v].map(|v| SharedPtr(v.origin())), SharedPtr(out.origin()));
    let steps = [q, k, v].map(|v| v.layout.clone());
    let work = batch * heads * rows * keys * (width + depth);
    let (heads, rows, pitch) = (heads as usize, rows as usize, (heads * depth) as usize);
    let task = |head: usize, first: usize, last: usize| {
        let Some(space) = workspaces.take() else { return };
        let (b, h) = (head / heads, head % heads);
        let [q, k, v] = [0, 1, 2].map(|i| {
            let strides = &steps[i].strides;
            bases[i].at((b as i64 * strides[0] + h as i64 * strides[1]) * size as i64) as *const u8
        });
        let [q_steps, k_steps, v_steps] = [0, 1, 2].map(|i| [2, 3].map(|axis| steps[i].strides[axis] as isize));
        let at = (b * rows + first) * pitch + h * depth as usize;
        let args = HeadArgs {
            q,
            k,
            v,
            q_steps,
            k_steps,
            v_steps,
            out: result.at((at * size) as i64),
            pitch,
            first,
            last,
            keys: keys as usize,
            width: width as usize,
            depth: depth as usize,
            causal,
            scale,
            space: space.as_ptr(),
        };
        // SAFETY: by this function's contract; a task writes its rows of its head.
        unsafe { run(&args) };
        workspaces.put_back(space);
    };
    let count = batch as usize * heads;
    if work <= SERIAL_WORK {
        (0..count).for_each(|head| task(head, 0, rows));
    } else {
        let parts = rows.div_ceil(TASK_ROWS);
        parallel_for(count * parts, |t| {
            // Last rows first: with a causal mask they have the most work.
            let first = (parts - 1 - t % parts) * TASK_ROWS;
            task(t / parts, first, rows.min(first + TASK_ROWS));
        });
    }
    workspaces.finish()
}
