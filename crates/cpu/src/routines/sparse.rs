//! Products of sparse matrices with dense ones.
//!
//! Compressed rows are distributed over threads by their number of values. The transposed product adds to rows of the
//! result, which threads cannot share. Each thread therefore takes columns of the result or, if there is only one
//! column, adds to a vector of its own.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::routine::sparse_starts;
use cuprous_core::{DType, Error, Layout, Result};

use crate::alloc::Block;
use crate::isa::{self, Body, Entry, Isa, Level, V1, V3, V4};
use crate::math::{Cx, F32, F64, Num};
use crate::routines::operands::{Contiguous, View};
use crate::threads::{SharedPtr, parallel_for};

/// Number of multiplications in a task.
const TASK_WORK: usize = 1 << 15;
/// Minimum number of columns of the result in a task of a transposed product.
const MIN_TASK_COLUMNS: usize = 8;
/// Maximum number of vectors that a transposed product with a vector adds to.
const MAX_PARTS: usize = 16;
/// Number of values per element of such a vector that justify its memory.
const MIN_VALUES_PER_SUM: usize = 8;

/// Returns true if the operands of a product fit together.
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

/// A compressed matrix and the dense matrix that it is multiplied with.
#[derive(Clone, Copy)]
struct Operands {
    values: SharedPtr,
    starts: SharedPtr,
    columns: SharedPtr,
    count: usize,
    dense: SharedPtr,
    /// Upper bound of the column indices.
    limit: usize,
    /// Number of columns of the dense matrix and of the result.
    width: usize,
}

/// A part of a product: a range of compressed rows and a range of columns of the result.
struct Part<'a> {
    of: Operands,
    out: SharedPtr,
    rows: (usize, usize),
    wide: (usize, usize),
    /// Set if a start or column lies outside the matrix.
    bad: &'a AtomicBool,
}

/// An index type of the pattern.
trait Index: Copy + 'static {
    /// The unsigned type, in which a negative number exceeds every limit.
    type Bits: Copy + Ord + Default;
    fn bits(self) -> Self::Bits;
    fn get(self) -> usize;
    fn size(bits: Self::Bits) -> usize;
}

macro_rules! index {
    ($t:ty, $bits:ty) => {
        impl Index for $t {
            type Bits = $bits;
            #[inline(always)]
            fn bits(self) -> $bits {
                self as $bits
            }
            #[inline(always)]
            fn get(self) -> usize {
                self as $bits as usize
            }
            #[inline(always)]
            fn size(bits: $bits) -> usize {
                bits as usize
            }
        }
    };
}
index!(i32, u32);
index!(i64, u64);

/// Number of values that are checked before they are used: as many as fit into L1.
const CHECKED_VALUES: usize = 2048;

impl Part<'_> {
    /// # Safety
    /// There are `count` columns.
    #[inline(always)]
    unsafe fn columns<I: Index>(&self) -> *const I {
        self.of.columns.0 as *const I
    }

    /// Returns the range of values of compressed row `r`.
    ///
    /// # Safety
    /// There is one more start than there are rows.
    #[inline(always)]
    unsafe fn row<I: Index>(&self, r: usize) -> (usize, usize) {
        let starts = self.of.starts.0 as *const I;
        // SAFETY: by this function's contract.
        unsafe { ((*starts.add(r)).get(), (*starts.add(r + 1)).get()) }
    }

    /// Checks rows from `first` on. Returns the row behind the checked ones, or `None` if a start or column lies
    /// outside the matrix.
    ///
    /// # Safety
    /// There are as many starts and columns as for [`Part::row`] and [`Part::columns`].
    #[inline(always)]
    unsafe fn checked_rows<I: Index>(&self, first: usize) -> Option<usize> {
        // SAFETY: the row indices are below the number of rows, and values are read only below `count`.
        unsafe {
            let (begin, mut end) = self.row::<I>(first);
            let mut r = first + 1;
            let mut ordered = begin <= end && end <= self.of.count;
            while ordered && r < self.rows.1 && end - begin < CHECKED_VALUES {
                let (from, to) = self.row::<I>(r);
                ordered = from <= to && to <= self.of.count;
                (r, end) = (r + 1, to);
            }
            if ordered {
                let columns = std::slice::from_raw_parts(self.columns::<I>().add(begin), end - begin);
                let highest = columns.iter().fold(I::Bits::default(), |m, c| m.max(c.bits()));
                if columns.is_empty() || I::size(highest) < self.of.limit {
                    return Some(r);
                }
            }
        }
        self.bad.store(true, Relaxed);
        None
    }
}

/// The loop over rows of a product.
struct Rows<E, I>(PhantomData<(E, I)>);

impl<E: Num, I: Index> Rows<E, I> {
    /// Computes columns `at..at + w` of row `r`, where `w` is at most `W`.
    #[inline(always)]
    unsafe fn block<const W: usize>(part: &Part, r: usize, (from, to): (usize, usize), at: usize, w: usize) {
        let of = &part.of;
        let (dense, out) = (of.dense.0 as *const E, part.out.0 as *mut E);
        let mut sum = [E::ZERO; W];
        // SAFETY: the row was checked.
        unsafe {
            let (values, columns) = (of.values.0 as *const E, part.columns::<I>());
            for j in from..to {
                let column = (*columns.add(j)).get();
                let (value, x) = (*values.add(j), std::slice::from_raw_parts(dense.add(column * of.width + at), w));
                for (s, &x) in sum[..w].iter_mut().zip(x) {
                    *s = s.add(value.mul(x));
                }
            }
            std::slice::from_raw_parts_mut(out.add(r * of.width + at), w).copy_from_slice(&sum[..w]);
        }
    }

    /// Computes row `r` of a product with a matrix.
    #[inline(always)]
    unsafe fn wide(part: &Part, r: usize, span: (usize, usize)) {
        let mut at = part.wide.0;
        // SAFETY: by the caller's contract, the row was checked.
        unsafe {
            while at + 32 <= part.wide.1 {
                Self::block::<32>(part, r, span, at, 32);
                at += 32;
            }
            while at < part.wide.1 {
                let w = (part.wide.1 - at).min(8);
                if w == 8 {
                    Self::block::<8>(part, r, span, at, 8)
                } else {
                    Self::block::<8>(part, r, span, at, w)
                }
                at += w;
            }
        }
    }

    /// Computes row `r` of a product with a vector.
    #[inline(always)]
    unsafe fn one(part: &Part, r: usize, (from, to): (usize, usize)) {
        const W: usize = 4;
        let of = &part.of;
        let dense = of.dense.0 as *const E;
        let mut sum = [E::ZERO; W];
        let mut j = from;
        // SAFETY: the row was checked.
        unsafe {
            let (values, columns) = (of.values.0 as *const E, part.columns::<I>());
            while j + W <= to {
                for (l, s) in sum.iter_mut().enumerate() {
                    *s = s.add((*values.add(j + l)).mul(*dense.add((*columns.add(j + l)).get())));
                }
                j += W;
            }
            while j < to {
                sum[0] = sum[0].add((*values.add(j)).mul(*dense.add((*columns.add(j)).get())));
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
        let mut r = part.rows.0;
        while r < part.rows.1 {
            // SAFETY: by the caller's contract; rows are checked before they are used.
            unsafe {
                let Some(end) = part.checked_rows::<I>(r) else { return };
                while r < end {
                    let span = part.row::<I>(r);
                    if part.of.width == 1 {
                        Self::one(part, r, span);
                    } else {
                        Self::wide(part, r, span);
                    }
                    r += 1;
                }
            }
        }
    }
}

/// The loop over columns of a transposed product, which adds to the contents of the result.
struct Columns<E, I>(PhantomData<(E, I)>);

impl<E: Num, I: Index> Body for Columns<E, I> {
    type Args = Part<'static>;

    #[inline(always)]
    unsafe fn run(part: &Part<'static>) {
        let of = &part.of;
        let (dense, out) = (of.dense.0 as *const E, part.out.0 as *mut E);
        let (first, w) = (part.wide.0, part.wide.1 - part.wide.0);
        let mut r = part.rows.0;
        while r < part.rows.1 {
            // SAFETY: rows are checked before they are used, and no other task writes these columns of the result.
            unsafe {
                let (values, columns) = (of.values.0 as *const E, part.columns::<I>());
                let Some(end) = part.checked_rows::<I>(r) else { return };
                while r < end {
                    let (from, to) = part.row::<I>(r);
                    let x = std::slice::from_raw_parts(dense.add(r * of.width + first), w);
                    r += 1;
                    if w == 1 {
                        for j in from..to {
                            let sum = out.add((*columns.add(j)).get() * of.width + first);
                            *sum = (*sum).add((*values.add(j)).mul(x[0]));
                        }
                        continue;
                    }
                    for j in from..to {
                        let at = (*columns.add(j)).get() * of.width + first;
                        let (value, sums) = (*values.add(j), std::slice::from_raw_parts_mut(out.add(at), w));
                        for (s, &x) in sums.iter_mut().zip(x) {
                            *s = s.add(value.mul(x));
                        }
                    }
                }
            }
        }
    }
}

type Run = Entry<Part<'static>>;

/// Returns the loop for the best level. Products with a vector avoid the gathers of AVX-512, which take longer than
/// scalar loads.
fn entry<F1: Body, F3: Body<Args = F1::Args>, F4: Body<Args = F1::Args>>(vector: bool) -> Entry<F1::Args> {
    match isa::level() {
        Level::V1 => V1::entry::<F1>(),
        Level::V4 if !vector => V4::entry::<F4>(),
        Level::V3 | Level::V4 => V3::entry::<F3>(),
    }
}

/// Returns the loop for a dtype: over rows, or over columns of the transposed product.
fn loops<I: Index>(dtype: DType, transposed: bool, vector: bool) -> Run {
    macro_rules! pick {
        ($body:ident) => {
            match dtype {
                DType::F32 => entry::<$body<F32<V1>, I>, $body<F32<V3>, I>, $body<F32<V4>, I>>(vector),
                DType::F64 => entry::<$body<F64<V1>, I>, $body<F64<V3>, I>, $body<F64<V4>, I>>(vector),
                DType::C64 => entry::<$body<Cx<F32<V1>>, I>, $body<Cx<F32<V3>>, I>, $body<Cx<F32<V4>>, I>>(vector),
                _ => entry::<$body<Cx<F64<V1>>, I>, $body<Cx<F64<V3>>, I>, $body<Cx<F64<V4>>, I>>(vector),
            }
        };
    }
    if transposed { pick!(Columns) } else { pick!(Rows) }
}

/// # Safety
/// The views are in memory and fit together. The output is contiguous.
pub(crate) unsafe fn dot(transposed: bool, values: View, pattern: View, dense: View, out: View) -> Result<()> {
    let (dtype, width) = (out.dtype(), out.shape()[1] as usize);
    // SAFETY: by this function's contract.
    let (v, p, d) = unsafe {
        (Contiguous::new(values, dtype)?, Contiguous::new(pattern, pattern.dtype())?, Contiguous::new(dense, dtype)?)
    };
    let rows = if transposed { dense.shape()[0] } else { out.shape()[0] } as usize;
    let index = pattern.dtype().size();
    let of = Operands {
        values: SharedPtr(v.ptr()),
        starts: SharedPtr(p.ptr()),
        columns: SharedPtr(SharedPtr(p.ptr()).at(sparse_starts(rows as i64) * index as i64)),
        count: values.layout.size as usize,
        dense: SharedPtr(d.ptr()),
        limit: if transposed { out.shape()[0] } else { dense.shape()[0] } as usize,
        width,
    };
    let run = if index == 4 {
        loops::<i32>(dtype, transposed, width == 1)
    } else {
        loops::<i64>(dtype, transposed, width == 1)
    };
    let bad = AtomicBool::new(false);
    // SAFETY: by this function's contract.
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

/// Returns the row at which share `share` of `shares` begins. Rows and values count equally.
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

/// Returns the rows of a share.
fn span(of: &Operands, rows: usize, index: usize, share: usize, shares: usize) -> (usize, usize) {
    let to = if share + 1 == shares { rows } else { cut(of, rows, index, share + 1, shares) };
    (if share == 0 { 0 } else { cut(of, rows, index, share, shares) }.min(to), to)
}

/// Computes a product whose rows are distributed over threads.
unsafe fn shared(run: Run, of: Operands, rows: usize, index: usize, out: View, bad: &AtomicBool) {
    let to = SharedPtr(out.origin());
    let part = |rows: (usize, usize)| {
        let part = Part { of, out: to, rows, wide: (0, of.width), bad };
        // SAFETY: no other task writes these rows. The flag outlives the call, although the type claims a longer
        // lifetime.
        unsafe { run(std::mem::transmute::<&Part<'_>, &Part<'static>>(&part)) };
    };
    let tasks = ((rows + of.count) * of.width).div_ceil(TASK_WORK).min(rows);
    if tasks <= 1 {
        return part((0, rows));
    }
    parallel_for(tasks, |t| part(span(&of, rows, index, t, tasks)));
}

/// Computes a transposed product.
unsafe fn columns(run: Run, of: Operands, rows: usize, index: usize, out: View, bad: &AtomicBool) -> Result<()> {
    let (to, bytes) = (SharedPtr(out.origin()), out.layout.size as usize * out.dtype().size());
    // SAFETY: the output is contiguous; zero bits are zero in every dtype.
    unsafe { std::ptr::write_bytes(to.0, 0, bytes) };
    let part = |out: SharedPtr, rows: (usize, usize), wide: (usize, usize)| {
        let part = Part { of, out, rows, wide, bad };
        // SAFETY: no other task writes these columns or this result. The flag outlives the call.
        unsafe { run(std::mem::transmute::<&Part<'_>, &Part<'static>>(&part)) };
    };
    let work = (rows + of.count) * of.width;
    if of.width >= 2 * MIN_TASK_COLUMNS && work > TASK_WORK {
        let tasks = (of.width / MIN_TASK_COLUMNS).min(MAX_PARTS);
        let edge = |t: usize| of.width * t / tasks;
        parallel_for(tasks, |t| part(to, (0, rows), (edge(t), edge(t + 1))));
        return Ok(());
    }
    // The number of parts determines how sums are rounded, so it does not depend on the number of threads.
    let parts = (of.count / (MIN_VALUES_PER_SUM * of.limit.max(1))).min(work / TASK_WORK).clamp(1, MAX_PARTS);
    if parts == 1 {
        part(to, (0, rows), (0, of.width));
        return Ok(());
    }
    let own = Block::new(bytes * (parts - 1))?;
    let own = SharedPtr(own.as_ptr());
    parallel_for(parts, |t| {
        let sums = if t == 0 { to } else { SharedPtr(own.at(((t - 1) * bytes) as i64)) };
        // SAFETY: each task has its own part of the block; zero bits are zero in every dtype.
        unsafe { std::ptr::write_bytes(sums.0, 0, bytes) };
        part(sums, span(&of, rows, index, t, parts), (0, of.width));
    });
    let real = if out.dtype().component() == DType::F32 { 4 } else { 8 };
    let count = bytes / real;
    parallel_for(count.div_ceil(TASK_WORK), |t| {
        let (from, n) = (t * TASK_WORK, TASK_WORK.min(count - t * TASK_WORK));
        for k in 0..parts - 1 {
            let more = own.at((k * bytes + from * real) as i64);
            let sums = to.at((from * real) as i64);
            // SAFETY: floats `from..from + n` of both exist.
            unsafe { if real == 4 { add::<f32>(sums, more, n) } else { add::<f64>(sums, more, n) } }
        }
    });
    Ok(())
}

/// # Safety
/// Both have `n` elements.
unsafe fn add<T: Copy + std::ops::AddAssign>(sums: *mut u8, more: *mut u8, n: usize) {
    // SAFETY: by this function's contract.
    let (sums, more) =
        unsafe { (std::slice::from_raw_parts_mut(sums as *mut T, n), std::slice::from_raw_parts(more as *const T, n)) };
    for (s, &m) in sums.iter_mut().zip(more) {
        *s += m;
    }
}
