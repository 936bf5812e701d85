//! Discrete Fourier transforms, axis by axis, by the crate `rustfft`. Lines are independent, so groups of them are
//! distributed over threads.

mod lines;

use std::any::Any;
use std::sync::{Arc, Mutex};

use cuprous_core::routine::{FftKind, FftScale};
use cuprous_core::{DType, Layout, Result};
use cuprous_numerics::FftReal;
use num_complex::Complex;
use rustfft::FftDirection;

use self::lines::{HalfToReal, RealToFull, RealToHalf, Transform};
use crate::alloc::Block;
use crate::routines::operands::{Contiguous, PARALLEL, View};
use crate::threads::{SharedPtr, parallel_for};

/// Minimum number of points in a group of lines.
const GROUP: usize = 1 << 13;
/// Bytes of neighboring columns that are transformed together: several cache lines, so that each page is visited
/// rarely.
const COLUMN_BYTES: usize = 512;
/// Bytes of such columns that stay in a processor's cache.
const TILE: usize = 1 << 20;
/// Rows and columns of a block that is transposed at once.
const BLOCK: usize = 8;

/// Returns true if dtypes and extents of the operands fit the kind.
pub(crate) fn fits(kind: FftKind, axis: usize, rank: usize, a: &Layout, out: &Layout) -> bool {
    let (points, values) = match kind {
        FftKind::Forward | FftKind::Backward => (out, out),
        FftKind::Real | FftKind::Whole => (a, out),
        FftKind::Half => (out, a),
    };
    let halved = matches!(kind, FftKind::Real | FftKind::Half);
    let real = halved || kind == FftKind::Whole;
    let dtypes = match values.dtype {
        DType::C64 => points.dtype == if real { DType::F32 } else { DType::C64 },
        DType::C128 => points.dtype == if real { DType::F64 } else { DType::C128 },
        _ => false,
    };
    dtypes
        && (real || a.dtype == out.dtype)
        && a.ndim() == out.ndim()
        && (0..a.ndim()).all(|k| k == axis || a.shape[k] == out.shape[k])
        && axis < a.ndim()
        && (1..=axis + 1).contains(&rank)
        && points.shape[axis] >= 1
        && if halved { values.shape[axis] == points.shape[axis] / 2 + 1 } else { a.shape[axis] == out.shape[axis] }
}

/// Kind, dtype of the real numbers, and number of points.
type Key = (FftKind, DType, usize);

/// Plans, the most recently used last. There are at most [`PLANS`], and with at most [`PLAN_BYTES`] unless the last one
/// alone is larger.
static PLAN_CACHE: Mutex<Vec<(Key, Box<dyn Any + Send>)>> = Mutex::new(Vec::new());
const PLANS: usize = 64;
const PLAN_BYTES: usize = 256 << 20;

/// Returns the approximate bytes of a plan's twiddle factors.
fn plan_bytes((_, dtype, n): Key) -> usize {
    2 * n * dtype.size()
}

/// Returns a plan from the cache, or creates it.
fn cached_plan<P: Clone + Send + 'static>(key: Key, make: impl FnOnce() -> P) -> P {
    let lock_cache = || PLAN_CACHE.lock().unwrap_or_else(|e| e.into_inner());
    let cached = {
        let mut plans = lock_cache();
        let at = plans.iter().position(|(k, _)| *k == key);
        at.map(|at| plans.remove(at).1)
    };
    let plan: Box<dyn Any + Send> = cached.unwrap_or_else(|| Box::new(make()));
    let result = plan.downcast_ref::<P>().expect("a kind and a dtype determine the type of the plan").clone();
    let mut plans = lock_cache();
    plans.push((key, plan));
    while plans.len() > PLANS
        || (plans.len() > 1 && plans.iter().map(|(k, _)| plan_bytes(*k)).sum::<usize>() > PLAN_BYTES)
    {
        plans.remove(0);
    }
    result
}

/// Empties the cache of plans.
pub(crate) fn trim() {
    PLAN_CACHE.lock().unwrap_or_else(|e| e.into_inner()).clear();
}

/// The lines of an array. Their elements are `below` apart.
#[derive(Clone, Copy)]
struct Lines {
    above: usize,
    below: usize,
    /// Points of a line, and elements of a line in the operand and in the result.
    n: usize,
    from: usize,
    to: usize,
}

/// # Safety
/// The views are in memory, dtypes and extents satisfy [`fits`], and the output is contiguous.
pub(crate) unsafe fn fft(kind: FftKind, axis: usize, rank: usize, scale: FftScale, a: View, out: View) -> Result<()> {
    // SAFETY: by this function's contract.
    unsafe {
        match out.dtype().component() {
            DType::F32 => transform_axes::<f32>(kind, axis, rank, scale, a, out),
            _ => transform_axes::<f64>(kind, axis, rank, scale, a, out),
        }
    }
}

/// Transforms along each of the axes. The axis with half a spectrum comes first in the forward direction and last in
/// the backward direction.
unsafe fn transform_axes<T: FftReal>(
    kind: FftKind,
    axis: usize,
    rank: usize,
    scale: FftScale,
    a: View,
    out: View,
) -> Result<()> {
    // SAFETY: by the caller's contract, the view is in memory.
    let flat = unsafe { Contiguous::new(a, a.dtype())? };
    let (from, to) = (SharedPtr(flat.ptr()), SharedPtr(out.origin()));
    let points = if kind == FftKind::Real { a.shape() } else { out.shape() };
    let factor = scale.factor(points[axis + 1 - rank..=axis].iter().product()).and_then(T::from_f64);
    let others = axis + 1 - rank..axis;
    // SAFETY: by `fits`, the operands have the elements that the kind reads and writes, and so has the intermediate
    // array.
    unsafe {
        if kind != FftKind::Half {
            transform_axis(kind, axis, factor, (from, a.shape()), (to, out.shape()))?;
            let kind = if kind == FftKind::Backward { kind } else { FftKind::Forward };
            return others
                .rev()
                .try_for_each(|k| transform_axis::<T>(kind, k, None, (to, out.shape()), (to, out.shape())));
        }
        let intermediate = if rank > 1 { Some(Block::new(a.layout.size as usize * a.dtype().size())?) } else { None };
        let mut values = from;
        for k in others {
            let to = intermediate.as_ref().map_or(from, |b| SharedPtr(b.as_ptr()));
            transform_axis::<T>(FftKind::Backward, k, None, (values, a.shape()), (to, a.shape()))?;
            values = to;
        }
        transform_axis(kind, axis, factor, (values, a.shape()), (to, out.shape()))
    }
}

/// Transforms along one axis of a contiguous array, to another array or in place.
///
/// # Safety
/// The arrays have the elements of their shapes, and the shapes fit the kind.
unsafe fn transform_axis<T: FftReal>(
    kind: FftKind,
    axis: usize,
    factor: Option<T>,
    (from, reads): (SharedPtr, &[i64]),
    (to, writes): (SharedPtr, &[i64]),
) -> Result<()> {
    let n = if kind == FftKind::Real { reads } else { writes }[axis] as usize;
    let product = |part: &[i64]| part.iter().product::<i64>() as usize;
    let (above, below) = (product(&writes[..axis]), product(&writes[axis + 1..]));
    let lines = Lines { above, below, n, from: reads[axis] as usize, to: writes[axis] as usize };
    let dtype = if size_of::<T>() == 4 { DType::F32 } else { DType::F64 };
    let key = (kind, dtype, n);
    let complex = |direction| cached_plan(key, || T::plan(n, direction));
    // SAFETY: by this function's contract.
    unsafe {
        match kind {
            FftKind::Forward => transform(&complex(FftDirection::Forward), lines, factor, from, to),
            FftKind::Backward => transform(&complex(FftDirection::Inverse), lines, factor, from, to),
            FftKind::Real => {
                transform(&*cached_plan(key, || Arc::new(RealToHalf::<T>::new(n))), lines, factor, from, to)
            }
            FftKind::Whole => {
                transform(&*cached_plan(key, || Arc::new(RealToFull::<T>::new(n))), lines, factor, from, to)
            }
            FftKind::Half => {
                transform(&*cached_plan(key, || Arc::new(HalfToReal::<T>::new(n))), lines, factor, from, to)
            }
        }
    }
}

/// # Safety
/// `from` and `to` are aligned and have the elements of `lines`. Nothing else accesses `to`.
unsafe fn transform<P: Transform>(
    plan: &P,
    lines: Lines,
    factor: Option<P::Real>,
    from: SharedPtr,
    to: SharedPtr,
) -> Result<()> {
    let Lines { above, below, n, .. } = lines;
    let (group, across) = match below {
        1 => ((GROUP / n).clamp(1, above), 1),
        _ => (1, (COLUMN_BYTES.min(TILE / n) / size_of::<P::Out>()).clamp(1, below)),
    };
    let blocks = below.div_ceil(across);
    let tasks = above.div_ceil(group) * blocks;
    let failed = Mutex::new(None);
    let one = |task: usize| {
        let (row, column) = (task / blocks * group, task % blocks * across);
        let wide = across.min(below - column);
        let count = group.min(above - row);
        // SAFETY: the lines are within the arrays, and each task has its own.
        let done = unsafe { transform_group(plan, lines, factor, from, to, (row, count), (column, wide)) };
        if let Err(error) = done {
            failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        }
    };
    if (above * n * below) as i64 >= PARALLEL && tasks > 1 {
        parallel_for(tasks, one)
    } else {
        (0..tasks).for_each(one)
    }
    failed.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
}

/// Transposes a matrix of `rows` × `columns` elements, block by block along its longer side. Its rows are `pitch`
/// apart, and those of the result `to_pitch`.
///
/// # Safety
/// Both matrices are in memory.
unsafe fn transpose<T: Copy>(
    from: *const T,
    pitch: usize,
    to: *mut T,
    to_pitch: usize,
    (rows, columns): (usize, usize),
) {
    // SAFETY: by this function's contract.
    let one = |r: usize, c: usize| unsafe { *to.add(c * to_pitch + r) = *from.add(r * pitch + c) };
    let (down, across) = (rows.div_ceil(BLOCK), columns.div_ceil(BLOCK));
    for block in 0..down * across {
        let (r, c) = if rows > columns { (block / across, block % across) } else { (block % down, block / down) };
        let (r, c) = (r * BLOCK, c * BLOCK);
        if r + BLOCK <= rows && c + BLOCK <= columns {
            (0..BLOCK).for_each(|j| (0..BLOCK).for_each(|i| one(r + i, c + j)));
        } else {
            (c..columns.min(c + BLOCK)).for_each(|j| (r..rows.min(r + BLOCK)).for_each(|i| one(i, j)));
        }
    }
}

/// Transforms the lines of some rows, in one column or in neighboring columns.
///
/// # Safety
/// The same as for [`transform`].
unsafe fn transform_group<P: Transform>(
    plan: &P,
    lines: Lines,
    factor: Option<P::Real>,
    from: SharedPtr,
    to: SharedPtr,
    (row, rows): (usize, usize),
    (column, wide): (usize, usize),
) -> Result<()> {
    let Lines { below, from: n, to: m, .. } = lines;
    let count = rows * wide;
    // Rows are contiguous, and are transformed directly unless operand and result are the same memory.
    let in_place = below == 1;
    let block = |unless: bool, bytes: usize| if unless { Ok(None) } else { Block::new(bytes).map(Some) };
    let input = block(in_place && from.0 != to.0, count * n * size_of::<P::In>())?;
    let output = block(in_place, count * m * size_of::<P::Out>())?;
    let scratch = Block::new(plan.scratch() * size_of::<Complex<P::Real>>())?;
    // SAFETY: the blocks have the required length, and the rows lie within operand and result: only contiguous
    // ones (`below` is 1) come several at a time.
    unsafe {
        let source = (from.0 as *const P::In).add(row * n * below + column);
        let target = (to.0 as *mut P::Out).add(row * m * below + column);
        let values = input.as_ref().map_or(source, |block| block.as_ptr() as *const P::In);
        match &input {
            Some(block) if in_place => std::ptr::copy_nonoverlapping(source, block.as_ptr() as *mut P::In, count * n),
            Some(block) => transpose(source, below, block.as_ptr() as *mut P::In, n, (n, wide)),
            None => {}
        }
        let results_ptr = output.as_ref().map_or(target, |block| block.as_ptr() as *mut P::Out);
        let results = std::slice::from_raw_parts_mut(results_ptr, count * m);
        let scratch = std::slice::from_raw_parts_mut(scratch.as_ptr() as *mut Complex<P::Real>, plan.scratch());
        plan.run(std::slice::from_raw_parts(values, count * n), results, scratch);
        if let Some(factor) = factor {
            results.iter_mut().for_each(|value| P::scale(value, factor));
        }
        if !in_place {
            transpose(results_ptr, m, target, below, (wide, m));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_transposed() {
        for (rows, columns) in [(1, 1), (3, 20), (8, 8), (17, 9), (40, 7), (16, 24)] {
            let (pitch, to_pitch) = (columns + 3, rows + 2);
            let from: Vec<usize> = (0..rows * pitch).collect();
            let mut to = vec![usize::MAX; columns * to_pitch];
            // SAFETY: the vectors have the required length.
            unsafe { transpose(from.as_ptr(), pitch, to.as_mut_ptr(), to_pitch, (rows, columns)) };
            for (k, &got) in to.iter().enumerate() {
                let (c, r) = (k / to_pitch, k % to_pitch);
                assert_eq!(got, if r < rows { r * pitch + c } else { usize::MAX });
            }
        }
    }

    #[test]
    fn plans_are_bounded() {
        let make = |n: usize| f32::plan(n, FftDirection::Forward);
        for n in 1..200 {
            assert_eq!(cached_plan((FftKind::Forward, DType::F32, n), || make(n)).len(), n);
        }
        let keys = |wanted: usize| PLAN_CACHE.lock().unwrap().iter().filter(|(k, _)| k.2 == wanted).count();
        assert_eq!((keys(199), keys(1)), (1, 0));
        assert!(PLAN_CACHE.lock().unwrap().len() <= PLANS);
        // A cached plan is not created again, and becomes the last one to be evicted.
        cached_plan((FftKind::Forward, DType::F32, 150), || -> Arc<dyn rustfft::Fft<f32>> {
            unreachable!("the plan is cached")
        });
        assert_eq!(PLAN_CACHE.lock().unwrap().last().unwrap().0.2, 150);
        trim();
        assert!(PLAN_CACHE.lock().unwrap().is_empty());
    }
}
