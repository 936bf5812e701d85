//! Products of sparse matrices with dense ones.
//!
//! Compressed rows are shared among threads by their number of values. The transpose adds to rows of the result that
//! threads cannot share: they take columns of the result, or, if it has one, add up in vectors of their own.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::call::sparse_starts;
use cuprous_core::{DType, Error, Layout, Result};

use super::{Flat, Ptr};
use crate::alloc::Block;
use crate::call::View;
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{Cx, F32, F64, Num};
use crate::threads::each;

/// Multiplications of a task.
const GRAIN: usize = 1 << 15;
/// Columns of the result that a task of a transposed product takes at least.
const COLUMNS: usize = 16;
/// Vectors that a transposed product with a vector adds up in at most.
const PARTS: usize = 16;
/// Values per element of such a vector that make it worth its memory.
const WORTH: usize = 8;

/// Do the operands of a product fit together?
pub(crate) fn fits(transposed: bool, values: &Layout, pattern: &Layout, dense: &Layout, out: &Layout) -> bool {
    let matrices = values.ndim() == 1 && pattern.ndim() == 1 && dense.ndim() == 2 && out.ndim() == 2;
    matrices
        && matches!(values.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128)
        && values.dtype == dense.dtype
        && values.dtype == out.dtype
        && matches!(pattern.dtype, DType::I32 | DType::I64)
        && dense.shape[1] == out.shape[1]
        && pattern.size == sparse_starts(if transposed { dense.shape[0] } else { out.shape[0] }) + values.size
}

/// A compressed matrix and what it is multiplied with.
#[derive(Clone, Copy)]
struct Operands {
    values: Ptr,
    starts: Ptr,
    columns: Ptr,
    count: usize,
    dense: Ptr,
    /// Column numbers are below this.
    limit: usize,
    /// Columns of the dense matrix and of the result.
    width: usize,
}

/// A part of a product: compressed rows, and columns of the result.
struct Part<'a> {
    of: Operands,
    out: Ptr,
    rows: (usize, usize),
    wide: (usize, usize),
    /// Set where a start or column lies outside the matrix.
    bad: &'a AtomicBool,
}

/// A type of the pattern.
trait Index: Copy + 'static {
    fn get(self) -> usize;
}

impl Index for i32 {
    #[inline(always)]
    fn get(self) -> usize {
        // A negative number becomes one that is beyond every limit.
        self as usize
    }
}

impl Index for i64 {
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

/// The values of compressed row `r`, from and to; none where the starts make no sense.
#[inline(always)]
unsafe fn row<I: Index>(part: &Part, r: usize) -> (usize, usize) {
    // SAFETY: there is one start more than rows.
    let (from, to) =
        unsafe { ((*(part.of.starts.0 as *const I).add(r)).get(), (*(part.of.starts.0 as *const I).add(r + 1)).get()) };
    if from > to || to > part.of.count {
        part.bad.store(true, Relaxed);
        return (0, 0);
    }
    (from, to)
}

/// Rows of a product.
struct Rows<E, I>(PhantomData<(E, I)>);

impl<E: Num, I: Index> Rows<E, I> {
    /// Columns `at..at + w` of row `r`, where `w` is at most `W`.
    #[inline(always)]
    unsafe fn block<const W: usize>(part: &Part, r: usize, (from, to): (usize, usize), at: usize, w: usize) {
        let of = &part.of;
        let (values, columns) = (of.values.0 as *const E, of.columns.0 as *const I);
        let (dense, out) = (of.dense.0 as *const E, part.out.0 as *mut E);
        let mut sum = [E::ZERO; W];
        // SAFETY: elements `from..to` are there, and rows of the dense matrix below the limit.
        unsafe {
            for j in from..to {
                let column = (*columns.add(j)).get();
                if column >= of.limit {
                    part.bad.store(true, Relaxed);
                    return;
                }
                let (value, x) = (*values.add(j), std::slice::from_raw_parts(dense.add(column * of.width + at), w));
                for (s, &x) in sum[..w].iter_mut().zip(x) {
                    *s = s.add(value.mul(x));
                }
            }
            std::slice::from_raw_parts_mut(out.add(r * of.width + at), w).copy_from_slice(&sum[..w]);
        }
    }

    /// Row `r` of a product with a vector.
    #[inline(always)]
    unsafe fn one(part: &Part, r: usize, (from, to): (usize, usize)) {
        const W: usize = 4;
        let of = &part.of;
        let (values, columns, dense) = (of.values.0 as *const E, of.columns.0 as *const I, of.dense.0 as *const E);
        let mut sum = [E::ZERO; W];
        let mut j = from;
        // SAFETY: as in `block`.
        unsafe {
            while j + W <= to {
                let at: [usize; W] = std::array::from_fn(|l| (*columns.add(j + l)).get());
                if at.iter().any(|&c| c >= of.limit) {
                    part.bad.store(true, Relaxed);
                    return;
                }
                for l in 0..W {
                    sum[l] = sum[l].add((*values.add(j + l)).mul(*dense.add(at[l])));
                }
                j += W;
            }
            while j < to {
                let column = (*columns.add(j)).get();
                if column >= of.limit {
                    part.bad.store(true, Relaxed);
                    return;
                }
                sum[0] = sum[0].add((*values.add(j)).mul(*dense.add(column)));
                j += 1;
            }
            *(part.out.0 as *mut E).add(r) = (sum[0].add(sum[1])).add(sum[2].add(sum[3]));
        }
    }
}

impl<E: Num, I: Index> Body for Rows<E, I> {
    type Args = Part<'static>;

    #[inline(always)]
    unsafe fn run(part: &Part<'static>) {
        for r in part.rows.0..part.rows.1 {
            // SAFETY: the caller's operands.
            unsafe {
                let span = row::<I>(part, r);
                if part.of.width == 1 {
                    Self::one(part, r, span);
                    continue;
                }
                let mut at = part.wide.0;
                while at + 32 <= part.wide.1 {
                    Self::block::<32>(part, r, span, at, 32);
                    at += 32;
                }
                while at + 8 <= part.wide.1 {
                    Self::block::<8>(part, r, span, at, 8);
                    at += 8;
                }
                if at < part.wide.1 {
                    Self::block::<8>(part, r, span, at, part.wide.1 - at);
                }
            }
        }
    }
}

/// Columns of a transposed product, which start at what the result holds.
struct Columns<E, I>(PhantomData<(E, I)>);

impl<E: Num, I: Index> Body for Columns<E, I> {
    type Args = Part<'static>;

    #[inline(always)]
    unsafe fn run(part: &Part<'static>) {
        let of = &part.of;
        let (values, columns) = (of.values.0 as *const E, of.columns.0 as *const I);
        let (dense, out) = (of.dense.0 as *const E, part.out.0 as *mut E);
        let (first, w) = (part.wide.0, part.wide.1 - part.wide.0);
        for r in part.rows.0..part.rows.1 {
            // SAFETY: elements `from..to` are there, rows of the result below the limit, and nobody else has them.
            unsafe {
                let (from, to) = row::<I>(part, r);
                let x = std::slice::from_raw_parts(dense.add(r * of.width + first), w);
                for j in from..to {
                    let at = (*columns.add(j)).get();
                    if at >= of.limit {
                        part.bad.store(true, Relaxed);
                        return;
                    }
                    let value = *values.add(j);
                    if w == 1 {
                        let sum = out.add(at * of.width + first);
                        *sum = (*sum).add(value.mul(x[0]));
                        continue;
                    }
                    let sums = std::slice::from_raw_parts_mut(out.add(at * of.width + first), w);
                    for (s, &x) in sums.iter_mut().zip(x) {
                        *s = s.add(value.mul(x));
                    }
                }
            }
        }
    }
}

type Run = Entry<Part<'static>>;

fn entry<F1: Body, F3: Body<Args = F1::Args>, F4: Body<Args = F1::Args>>() -> Entry<F1::Args> {
    match isa::level() {
        Level::V1 => V1::entry::<F1>(),
        Level::V3 => V3::entry::<F3>(),
        Level::V4 => V4::entry::<F4>(),
    }
}

/// The loops for a dtype: over rows, or over columns of the transpose.
fn loops<I: Index>(dtype: DType, transposed: bool) -> Run {
    macro_rules! pick {
        ($body:ident) => {
            match dtype {
                DType::F32 => entry::<$body<F32<V1>, I>, $body<F32<V3>, I>, $body<F32<V4>, I>>(),
                DType::F64 => entry::<$body<F64<V1>, I>, $body<F64<V3>, I>, $body<F64<V4>, I>>(),
                DType::C64 => entry::<$body<Cx<F32<V1>>, I>, $body<Cx<F32<V3>>, I>, $body<Cx<F32<V4>>, I>>(),
                _ => entry::<$body<Cx<F64<V1>>, I>, $body<Cx<F64<V3>>, I>, $body<Cx<F64<V4>>, I>>(),
            }
        };
    }
    if transposed { pick!(Columns) } else { pick!(Rows) }
}

/// # Safety
/// The views are in memory and fit together; the output is contiguous.
pub(crate) unsafe fn dot(transposed: bool, values: View, pattern: View, dense: View, out: View) -> Result<()> {
    let (dtype, width) = (out.dtype(), out.shape()[1] as usize);
    // SAFETY: passed on.
    let (v, p, d) =
        unsafe { (Flat::new(values, dtype)?, Flat::new(pattern, pattern.dtype())?, Flat::new(dense, dtype)?) };
    let rows = if transposed { dense.shape()[0] } else { out.shape()[0] } as usize;
    let index = pattern.dtype().size();
    let of = Operands {
        values: Ptr(v.ptr()),
        starts: Ptr(p.ptr()),
        columns: Ptr(Ptr(p.ptr()).at(sparse_starts(rows as i64) * index as i64)),
        count: values.layout.size as usize,
        dense: Ptr(d.ptr()),
        limit: if transposed { out.shape()[0] } else { dense.shape()[0] } as usize,
        width,
    };
    let run = if index == 4 { loops::<i32>(dtype, transposed) } else { loops::<i64>(dtype, transposed) };
    let bad = AtomicBool::new(false);
    // SAFETY: passed on.
    unsafe {
        if transposed {
            columns(run, of, rows, index, out, &bad)?;
        } else {
            shared(run, of, rows, index, out, &bad);
        }
    }
    if bad.load(Relaxed) {
        return Err(Error::index("[sparse dot] a row start or column index lies outside the matrix"));
    }
    Ok(())
}

/// Row at which `share` of `shares` begins: rows and values before it are that part of all.
fn cut(of: &Operands, rows: usize, index: usize, share: usize, shares: usize) -> usize {
    let start = |r: usize| {
        let at = of.starts.at((r * index) as i64);
        // SAFETY: there are `rows + 1` starts of that size.
        if index == 4 { unsafe { *(at as *const i32) as usize } } else { unsafe { *(at as *const i64) as usize } }
    };
    let goal = (rows + of.count) as u128 * share as u128 / shares as u128;
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = (low + high) / 2;
        if (middle + start(middle).min(of.count)) as u128 >= goal { high = middle } else { low = middle + 1 }
    }
    low
}

/// The rows of a share.
fn span(of: &Operands, rows: usize, index: usize, share: usize, shares: usize) -> (usize, usize) {
    let to = if share + 1 == shares { rows } else { cut(of, rows, index, share + 1, shares) };
    (if share == 0 { 0 } else { cut(of, rows, index, share, shares) }.min(to), to)
}

/// A product of which threads do rows.
unsafe fn shared(run: Run, of: Operands, rows: usize, index: usize, out: View, bad: &AtomicBool) {
    let to = Ptr(out.origin());
    let part = |rows: (usize, usize)| {
        let part = Part { of, out: to, rows, wide: (0, of.width), bad };
        // SAFETY: rows that no other task writes. The flag is borrowed for longer than the call.
        unsafe { run(std::mem::transmute::<&Part<'_>, &Part<'static>>(&part)) };
    };
    let tasks = ((rows + of.count) * of.width).div_ceil(GRAIN).min(rows);
    if tasks <= 1 {
        return part((0, rows));
    }
    each(tasks, |t| part(span(&of, rows, index, t, tasks)));
}

/// A transposed product.
unsafe fn columns(run: Run, of: Operands, rows: usize, index: usize, out: View, bad: &AtomicBool) -> Result<()> {
    let (to, bytes) = (Ptr(out.origin()), out.layout.size as usize * out.dtype().size());
    // SAFETY: the output is contiguous; all bits zero is zero.
    unsafe { std::ptr::write_bytes(to.0, 0, bytes) };
    let part = |out: Ptr, rows: (usize, usize), wide: (usize, usize)| {
        let part = Part { of, out, rows, wide, bad };
        // SAFETY: columns, or a result, that no other task writes; the flag as in `shared`.
        unsafe { run(std::mem::transmute::<&Part<'_>, &Part<'static>>(&part)) };
    };
    let work = (rows + of.count) * of.width;
    if of.width >= 2 * COLUMNS && work > GRAIN {
        let tasks = (of.width / COLUMNS).min(PARTS);
        let edge = |t: usize| of.width * t / tasks;
        each(tasks, |t| part(to, (0, rows), (edge(t), edge(t + 1))));
        return Ok(());
    }
    // The number of parts decides how sums are rounded, so it does not depend on the number of threads.
    let parts = (of.count / (WORTH * of.limit.max(1))).min(work / GRAIN).clamp(1, PARTS);
    if parts == 1 {
        part(to, (0, rows), (0, of.width));
        return Ok(());
    }
    let own = Block::new(bytes * (parts - 1))?;
    let own = Ptr(own.as_ptr());
    each(parts, |t| {
        let sums = if t == 0 { to } else { Ptr(own.at(((t - 1) * bytes) as i64)) };
        // SAFETY: this task's part of the block; see above.
        unsafe { std::ptr::write_bytes(sums.0, 0, bytes) };
        part(sums, span(&of, rows, index, t, parts), (0, of.width));
    });
    let real = if out.dtype().component() == DType::F32 { 4 } else { 8 };
    let count = bytes / real;
    each(count.div_ceil(GRAIN), |t| {
        let (from, n) = (t * GRAIN, GRAIN.min(count - t * GRAIN));
        for k in 0..parts - 1 {
            let more = own.at((k * bytes + from * real) as i64);
            let sums = to.at((from * real) as i64);
            // SAFETY: floats `from..from + n` of both.
            unsafe { if real == 4 { add::<f32>(sums, more, n) } else { add::<f64>(sums, more, n) } }
        }
    });
    Ok(())
}

/// # Safety
/// There are `n` of both.
unsafe fn add<T: Copy + std::ops::AddAssign>(sums: *mut u8, more: *mut u8, n: usize) {
    // SAFETY: the caller's.
    let (sums, more) =
        unsafe { (std::slice::from_raw_parts_mut(sums as *mut T, n), std::slice::from_raw_parts(more as *const T, n)) };
    for (s, &m) in sums.iter_mut().zip(more) {
        *s += m;
    }
}
