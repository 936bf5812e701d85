//! Discrete Fourier transforms along one axis, by the crates `rustfft` and `realfft`. Lines are independent of each
//! other: groups of them are shared among threads.

use std::any::Any;
use std::sync::{Arc, Mutex};

use cuprous_core::call::{FftKind, FftScale};
use cuprous_core::{DType, Layout, Result};
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use super::{Flat, PARALLEL, Ptr};
use crate::alloc::Block;
use crate::call::View;
use crate::threads::each;

/// Points that a group of lines has at least, where there are so many.
const GROUP: usize = 1 << 13;
/// Bytes of neighbouring columns that are transformed together: some cache lines, so that a page is seldom visited.
const ACROSS: usize = 256;
/// Bytes of such columns that stay in a processor's cache.
const TILE: usize = 1 << 20;
/// Rows and columns of a block that is transposed at once.
const BLOCK: usize = 8;

/// Do the operands' dtypes and extents fit the kind?
pub(crate) fn fits(kind: FftKind, axis: usize, a: &Layout, out: &Layout) -> bool {
    let (points, values) = match kind {
        FftKind::Forward | FftKind::Backward => (out, out),
        FftKind::Real => (a, out),
        FftKind::Half => (out, a),
    };
    let real = matches!(kind, FftKind::Real | FftKind::Half);
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
        && points.shape[axis] >= 1
        && if real { values.shape[axis] == points.shape[axis] / 2 + 1 } else { a.shape[axis] == out.shape[axis] }
}

/// A planned transform of lines.
trait Transform: Send + Sync + 'static {
    /// What it reads, and what it writes.
    type In: Copy;
    type Out: Copy;
    /// The real type.
    type Real: FftNum;

    /// Transforms the lines in `from`, which it spoils, into `to`.
    fn run(&self, from: &mut [Self::In], to: &mut [Self::Out], scratch: &mut [Complex<Self::Real>]);
    fn scratch(&self) -> usize;
    fn times(value: &mut Self::Out, factor: Self::Real);
}

impl<T: FftNum> Transform for Arc<dyn Fft<T>> {
    type In = Complex<T>;
    type Out = Complex<T>;
    type Real = T;

    fn run(&self, from: &mut [Complex<T>], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.process_outofplace_with_scratch(from, to, scratch);
    }

    fn scratch(&self) -> usize {
        self.get_outofplace_scratch_len()
    }

    fn times(value: &mut Complex<T>, factor: T) {
        *value = value.scale(factor);
    }
}

impl<T: FftNum> Transform for Arc<dyn RealToComplex<T>> {
    type In = T;
    type Out = Complex<T>;
    type Real = T;

    fn run(&self, from: &mut [T], to: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let (n, m) = (self.len(), self.complex_len());
        for (from, to) in from.chunks_exact_mut(n).zip(to.chunks_exact_mut(m)) {
            self.process_with_scratch(from, to, scratch).expect("the lengths are the plan's");
        }
    }

    fn scratch(&self) -> usize {
        self.get_scratch_len()
    }

    fn times(value: &mut Complex<T>, factor: T) {
        *value = value.scale(factor);
    }
}

impl<T: FftNum> Transform for Arc<dyn ComplexToReal<T>> {
    type In = Complex<T>;
    type Out = T;
    type Real = T;

    fn run(&self, from: &mut [Complex<T>], to: &mut [T], scratch: &mut [Complex<T>]) {
        let (n, m) = (self.len(), self.complex_len());
        for (from, to) in from.chunks_exact_mut(m).zip(to.chunks_exact_mut(n)) {
            from[0].im = T::zero();
            if n % 2 == 0 {
                from[m - 1].im = T::zero();
            }
            self.process_with_scratch(from, to, scratch).expect("the lengths are the plan's");
        }
    }

    fn scratch(&self) -> usize {
        self.get_scratch_len()
    }

    fn times(value: &mut T, factor: T) {
        *value = *value * factor;
    }
}

/// Kind, dtype of the real numbers, points.
type Key = (FftKind, DType, usize);

/// Plans, the most recently used last: at most [`PLANS`], and with [`PLAN_BYTES`] unless the last alone has more.
static RECENT: Mutex<Vec<(Key, Box<dyn Any + Send>)>> = Mutex::new(Vec::new());
const PLANS: usize = 64;
const PLAN_BYTES: usize = 256 << 20;

/// Bytes of a plan's factors, about.
fn weight((_, dtype, n): Key) -> usize {
    2 * n * dtype.size()
}

/// A plan, from the recent ones where it is there.
fn planned<P: Clone + Send + 'static>(key: Key, make: impl FnOnce() -> P) -> P {
    let recent = || RECENT.lock().unwrap_or_else(|e| e.into_inner());
    let known = {
        let mut recent = recent();
        let at = recent.iter().position(|(k, _)| *k == key);
        at.map(|at| recent.remove(at).1)
    };
    let plan: Box<dyn Any + Send> = known.unwrap_or_else(|| Box::new(make()));
    let result = plan.downcast_ref::<P>().expect("a kind and a dtype have one type").clone();
    let mut recent = recent();
    recent.push((key, plan));
    while recent.len() > PLANS
        || (recent.len() > 1 && recent.iter().map(|(k, _)| weight(*k)).sum::<usize>() > PLAN_BYTES)
    {
        recent.remove(0);
    }
    result
}

/// Forgets all plans.
pub(crate) fn trim() {
    RECENT.lock().unwrap_or_else(|e| e.into_inner()).clear();
}

/// The lines of an array: `n` elements, `below` apart.
#[derive(Clone, Copy)]
struct Lines {
    above: usize,
    below: usize,
    /// Points of a line, and elements of a line before and after.
    n: usize,
    from: usize,
    to: usize,
}

/// # Safety
/// The views are in memory; dtypes and extents [`fits`]; the output is contiguous.
pub(crate) unsafe fn fft(kind: FftKind, axis: usize, scale: FftScale, a: View, out: View) -> Result<()> {
    // SAFETY: passed on.
    unsafe {
        match out.dtype().component() {
            DType::F32 => typed::<f32>(kind, axis, scale, a, out),
            _ => typed::<f64>(kind, axis, scale, a, out),
        }
    }
}

unsafe fn typed<T: FftNum>(kind: FftKind, axis: usize, scale: FftScale, a: View, out: View) -> Result<()> {
    // SAFETY: the view is in memory.
    let flat = unsafe { Flat::new(a, a.dtype())? };
    let (from, to) = (Ptr(flat.ptr()), Ptr(out.origin()));
    let shape = out.shape();
    let extent = |v: View| v.shape()[axis] as usize;
    let n = extent(if kind == FftKind::Real { a } else { out });
    let product = |part: &[i64]| part.iter().product::<i64>() as usize;
    let (above, below) = (product(&shape[..axis]), product(&shape[axis + 1..]));
    let lines = Lines { above, below, n, from: extent(a), to: extent(out) };
    let factor = match scale {
        FftScale::One => None,
        FftScale::Root => T::from_f64(1.0 / (n as f64).sqrt()),
        FftScale::Points => T::from_f64(1.0 / n as f64),
    };
    let key = (kind, out.dtype().component(), n);
    let complex = |direction| planned(key, || FftPlanner::<T>::new().plan_fft(n, direction));
    // SAFETY: the operands have the elements that the kind reads and writes, by `fits`.
    unsafe {
        match kind {
            FftKind::Forward => transform(&complex(FftDirection::Forward), lines, factor, from, to),
            FftKind::Backward => transform(&complex(FftDirection::Inverse), lines, factor, from, to),
            FftKind::Real => {
                let plan = planned(key, || RealFftPlanner::<T>::new().plan_fft_forward(n));
                transform(&plan, lines, factor, from, to)
            }
            FftKind::Half => {
                let plan = planned(key, || RealFftPlanner::<T>::new().plan_fft_inverse(n));
                transform(&plan, lines, factor, from, to)
            }
        }
    }
}

/// # Safety
/// `from` and `to` have the elements of `lines`, aligned; nobody else looks at `to`.
unsafe fn transform<P: Transform>(plan: &P, lines: Lines, factor: Option<P::Real>, from: Ptr, to: Ptr) -> Result<()> {
    let Lines { above, below, n, .. } = lines;
    let (group, across) = match below {
        1 => ((GROUP / n).clamp(1, above), 1),
        _ => (1, (ACROSS.min(TILE / n) / size_of::<P::Out>()).clamp(1, below)),
    };
    let blocks = below.div_ceil(across);
    let tasks = above.div_ceil(group) * blocks;
    let failed = Mutex::new(None);
    let one = |task: usize| {
        let (row, column) = (task / blocks * group, task % blocks * across);
        let wide = across.min(below - column);
        let count = group.min(above - row);
        // SAFETY: the lines are within the arrays, and each task has its own.
        let done = unsafe { some(plan, lines, factor, from, to, (row, count), (column, wide)) };
        if let Err(error) = done {
            failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        }
    };
    if (above * n * below) as i64 >= PARALLEL && tasks > 1 {
        each(tasks, one)
    } else {
        (0..tasks).for_each(one)
    }
    failed.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
}

/// Transposes a matrix of that many rows and columns, whose rows are `pitch` apart, into one whose rows are `to_pitch`
/// apart; block by block along its longer side.
///
/// # Safety
/// Both have their elements.
unsafe fn turn<T: Copy>(from: *const T, pitch: usize, to: *mut T, to_pitch: usize, (rows, columns): (usize, usize)) {
    // SAFETY: the caller's promise.
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

/// Transforms some rows' lines, of one column or of neighbouring ones.
///
/// # Safety
/// As [`transform`].
unsafe fn some<P: Transform>(
    plan: &P,
    lines: Lines,
    factor: Option<P::Real>,
    from: Ptr,
    to: Ptr,
    (row, rows): (usize, usize),
    (column, wide): (usize, usize),
) -> Result<()> {
    let Lines { below, from: n, to: m, .. } = lines;
    let count = rows * wide;
    let [inputs, scratch] = [count * n * size_of::<P::In>(), plan.scratch() * size_of::<Complex<P::Real>>()];
    let (work, scratch) = (Block::new(inputs)?, Block::new(scratch)?);
    let made = if below > 1 { Some(Block::new(count * m * size_of::<P::Out>())?) } else { None };
    // SAFETY: the blocks are as long; rows follow each other where `below` is 1, and there is one otherwise.
    unsafe {
        let source = (from.0 as *const P::In).add(row * n * below + column);
        let target = (to.0 as *mut P::Out).add(row * m * below + column);
        let input = work.as_ptr() as *mut P::In;
        if below == 1 {
            std::ptr::copy_nonoverlapping(source, input, count * n);
        } else {
            turn(source, below, input, n, (n, wide));
        }
        let output = made.as_ref().map_or(target, |b| b.as_ptr() as *mut P::Out);
        let results = std::slice::from_raw_parts_mut(output, count * m);
        let scratch = std::slice::from_raw_parts_mut(scratch.as_ptr() as *mut Complex<P::Real>, plan.scratch());
        plan.run(std::slice::from_raw_parts_mut(input, count * n), results, scratch);
        if let Some(factor) = factor {
            results.iter_mut().for_each(|value| P::times(value, factor));
        }
        if below > 1 {
            turn(output, m, target, below, (wide, m));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_turned() {
        for (rows, columns) in [(1, 1), (3, 20), (8, 8), (17, 9), (40, 7), (16, 24)] {
            let (pitch, to_pitch) = (columns + 3, rows + 2);
            let from: Vec<usize> = (0..rows * pitch).collect();
            let mut to = vec![usize::MAX; columns * to_pitch];
            // SAFETY: the vectors are as long.
            unsafe { turn(from.as_ptr(), pitch, to.as_mut_ptr(), to_pitch, (rows, columns)) };
            for (k, &got) in to.iter().enumerate() {
                let (c, r) = (k / to_pitch, k % to_pitch);
                assert_eq!(got, if r < rows { r * pitch + c } else { usize::MAX });
            }
        }
    }

    #[test]
    fn plans_are_bounded() {
        let make = |n: usize| FftPlanner::<f32>::new().plan_fft_forward(n);
        for n in 1..200 {
            assert_eq!(planned((FftKind::Forward, DType::F32, n), || make(n)).len(), n);
        }
        let keys = |wanted: usize| RECENT.lock().unwrap().iter().filter(|(k, _)| k.2 == wanted).count();
        assert_eq!((keys(199), keys(1)), (1, 0));
        assert!(RECENT.lock().unwrap().len() <= PLANS);
        // A plan that is there is not made again, and is the last to go from then on.
        planned((FftKind::Forward, DType::F32, 150), || -> Arc<dyn Fft<f32>> { unreachable!("it is there") });
        assert_eq!(RECENT.lock().unwrap().last().unwrap().0.2, 150);
        trim();
        assert!(RECENT.lock().unwrap().is_empty());
    }
}
