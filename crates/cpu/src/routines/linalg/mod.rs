//! Decompositions of matrices, by faer. A batch of them is shared among threads; few large ones are done one after the
//! other, each by all threads.
//!
//! Most matrices are brought to scratch memory in column-major order, which is what faer works on fastest, and results
//! are brought back row-major.

mod eigen;
mod factor;
mod number;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cuprous_core::{DType, Error, LayoutRef, LinalgOp, Result};
use faer::dyn_stack::{MemStack, StackReq};
use faer::{MatMut, Par};
use num_complex::Complex;

use crate::alloc::Block;
use crate::routines::operands::{Contiguous, View};
use crate::threads::{self, SharedPtr};
use number::Number;

/// Multiplications of a batch of decompositions from which it is shared among threads.
const LARGE: usize = 64 * 64 * 64;
/// Columns that are copied together: as many lines of the cache as stay there while both sides are walked.
const COLUMNS: usize = 16;

/// The cube root of the multiplications from which one decomposition is given several threads. They wait for one another
/// after every few columns: with two, QR of 200² takes ten times as long as with one, and of 700² a third longer.
fn min_threaded_size(op: LinalgOp) -> usize {
    match op {
        LinalgOp::Eigh { .. } | LinalgOp::Svd(_) => 256,
        LinalgOp::Cholesky { .. } | LinalgOp::Solve | LinalgOp::Slogdet => 384,
        LinalgOp::Eig { .. } => 512,
        LinalgOp::Qr(_) => 768,
    }
}

/// Whether a routine can run on those layouts.
pub(crate) fn fits(op: LinalgOp, a: &LayoutRef, b: Option<&LayoutRef>, out: &LayoutRef) -> bool {
    let d = a.ndim();
    if d < 2 || a.size == 0 || !matches!(a.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128) {
        return false;
    }
    let (m, n, batch) = (a.shape[d - 2], a.shape[d - 1], &a.shape[..d - 2]);
    let columns = match b {
        None => 0,
        Some(b) => {
            let fits = b.ndim() == d && b.dtype == a.dtype && b.shape[..d - 2] == *batch && b.shape[d - 2] == n;
            if !fits || b.size == 0 {
                return false;
            }
            b.shape[d - 1]
        }
    };
    let any_shape = matches!(op, LinalgOp::Qr(_) | LinalgOp::Svd(_));
    let dtype = match (op, a.dtype) {
        (LinalgOp::Eig { .. }, DType::F32) => DType::C64,
        (LinalgOp::Eig { .. }, DType::F64) => DType::C128,
        (_, dtype) => dtype,
    };
    let elements = op.results(m, n, columns).iter().sum::<i64>() * batch.iter().product::<i64>() + 1;
    (any_shape || m == n) && out.dtype == dtype && out.size == elements
}

/// # Safety
/// The views are in memory and fit ([`fits`]).
pub(crate) unsafe fn run(op: LinalgOp, a: View, b: Option<View>, out: View) -> Result<()> {
    let complex = out.dtype().is_complex();
    // SAFETY: passed on; the element types are the views' dtypes.
    unsafe {
        match (op, a.dtype()) {
            (LinalgOp::Eig { vectors }, DType::F32) => eigen::general_real::<f32>(&Job::new(op, a, b, out)?, vectors),
            (LinalgOp::Eig { vectors }, DType::F64) => eigen::general_real::<f64>(&Job::new(op, a, b, out)?, vectors),
            (LinalgOp::Eig { vectors }, DType::C64) => eigen::general::<f32>(&Job::new(op, a, b, out)?, vectors),
            (LinalgOp::Eig { vectors }, _) => eigen::general::<f64>(&Job::new(op, a, b, out)?, vectors),
            (_, DType::F32) => each_op::<f32>(op, &Job::new(op, a, b, out)?),
            (_, DType::F64) => each_op::<f64>(op, &Job::new(op, a, b, out)?),
            (_, DType::C64) if complex => each_op::<Complex<f32>>(op, &Job::new(op, a, b, out)?),
            _ => each_op::<Complex<f64>>(op, &Job::new(op, a, b, out)?),
        }
    }
}

fn each_op<T: Number>(op: LinalgOp, job: &Job<T, T>) -> Result<()> {
    match op {
        LinalgOp::Cholesky { upper } => factor::cholesky(job, upper),
        LinalgOp::Solve => factor::solve(job),
        LinalgOp::Slogdet => factor::slogdet(job),
        LinalgOp::Qr(mode) => factor::qr(job, mode),
        LinalgOp::Svd(vectors) => eigen::svd(job, vectors),
        LinalgOp::Eigh { upper, vectors } => eigen::hermitian(job, upper, vectors),
        LinalgOp::Eig { .. } => Err(Error::runtime("[linalg.eig] has an output of another dtype")),
    }
}

/// A batch of matrices in memory, in any layout.
struct MatrixBatch<T> {
    flat: Contiguous,
    shape: Vec<i64>,
    strides: Vec<i64>,
    element: std::marker::PhantomData<T>,
}

// SAFETY: the matrices are only read.
unsafe impl<T> Sync for MatrixBatch<T> {}

impl<T: Number> MatrixBatch<T> {
    /// # Safety
    /// The view is in memory, and of elements `T`, for as long as the stack is used.
    unsafe fn new(v: View) -> Result<MatrixBatch<T>> {
        let strides = v.strides().to_vec();
        let shape = v.shape().to_vec();
        if (v.origin() as usize).is_multiple_of(align_of::<T>()) {
            return Ok(MatrixBatch {
                flat: Contiguous::Borrowed(v.origin()),
                shape,
                strides,
                element: std::marker::PhantomData,
            });
        }
        // SAFETY: passed on.
        let flat = unsafe { Contiguous::new(v, v.dtype())? };
        let mut strides = vec![1; shape.len()];
        for k in (1..shape.len()).rev() {
            strides[k - 1] = strides[k] * shape[k];
        }
        Ok(MatrixBatch { flat, shape, strides, element: std::marker::PhantomData })
    }

    fn rows(&self) -> usize {
        self.shape[self.shape.len() - 2] as usize
    }

    fn columns(&self) -> usize {
        self.shape[self.shape.len() - 1] as usize
    }

    fn batch(&self) -> usize {
        self.shape[..self.shape.len() - 2].iter().product::<i64>() as usize
    }

    /// The matrix of that number.
    fn source(&self, mut index: usize) -> MatrixPtr<T> {
        let d = self.shape.len();
        let mut offset = 0;
        for k in (0..d - 2).rev() {
            let n = self.shape[k] as usize;
            offset += (index % n) as i64 * self.strides[k];
            index /= n;
        }
        let at = (self.flat.ptr() as *mut T).wrapping_offset(offset as isize);
        MatrixPtr { at, row: self.strides[d - 2] as isize, column: self.strides[d - 1] as isize }
    }
}

/// Where the elements of a matrix are.
#[derive(Clone, Copy)]
struct MatrixPtr<T> {
    at: *mut T,
    row: isize,
    column: isize,
}

impl<T> MatrixPtr<T> {
    /// Row-major.
    fn rows(at: *mut T, columns: usize) -> MatrixPtr<T> {
        MatrixPtr { at, row: columns as isize, column: 1 }
    }

    /// Column-major.
    fn columns(at: &mut [T], rows: usize) -> MatrixPtr<T> {
        MatrixPtr { at: at.as_mut_ptr(), row: 1, column: rows as isize }
    }

    fn transposed(self) -> MatrixPtr<T> {
        MatrixPtr { at: self.at, row: self.column, column: self.row }
    }
}

/// Copies an m × n matrix, each element through `f`.
///
/// # Safety
/// Both are in memory, and do not overlap.
unsafe fn transfer<S: Copy, T>(m: usize, n: usize, from: MatrixPtr<S>, to: MatrixPtr<T>, f: impl Fn(S) -> T) {
    for first in (0..n).step_by(COLUMNS) {
        for i in 0..m as isize {
            for j in first as isize..n.min(first + COLUMNS) as isize {
                // SAFETY: (i, j) is an element of both.
                unsafe {
                    let element = *from.at.offset(i * from.row + j * from.column);
                    to.at.offset(i * to.row + j * to.column).write(f(element));
                }
            }
        }
    }
}

/// Copies an m × n matrix to row-major memory: of row i at least the columns in `columns_of_row(i)`.
///
/// # Safety
/// The matrix is in memory, and does not overlap `to`.
unsafe fn copy_rows<T: Number>(
    m: usize,
    n: usize,
    from: MatrixPtr<T>,
    to: &mut [T],
    columns_of_row: impl Fn(usize) -> Range<usize>,
) {
    assert!(to.len() >= m * n);
    if from.column != 1 {
        // SAFETY: passed on; there is room.
        return unsafe { transfer(m, n, from, MatrixPtr::rows(to.as_mut_ptr(), n), |x| x) };
    }
    for (i, row) in to.chunks_exact_mut(n).take(m).enumerate() {
        let columns = columns_of_row(i);
        // SAFETY: passed on: these are elements of row i.
        let source = unsafe {
            let at = from.at.offset(i as isize * from.row).add(columns.start);
            std::slice::from_raw_parts(at, columns.len())
        };
        row[columns].copy_from_slice(source);
    }
}

/// A column-major matrix over scratch memory.
fn matrix<T: Number>(at: &mut [T], rows: usize, columns: usize) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(&mut at[..rows * columns], rows, columns)
}

/// Operands of elements `T`, results of elements `O`.
struct Job<T, O> {
    a: MatrixBatch<T>,
    b: Option<MatrixBatch<T>>,
    m: usize,
    n: usize,
    /// Columns of the right side.
    k: usize,
    batch: usize,
    /// Multiplications of one from which several threads work on it.
    min_threaded_work: usize,
    /// Where each result starts, and its elements per matrix.
    results: [(SharedPtr, usize); 3],
    info: SharedPtr,
    output: std::marker::PhantomData<O>,
}

impl<T: Number, O: Number> Job<T, O> {
    /// # Safety
    /// As [`run`].
    unsafe fn new(op: LinalgOp, a: View, b: Option<View>, out: View) -> Result<Job<T, O>> {
        // SAFETY: passed on.
        let (a, b) = unsafe { (MatrixBatch::<T>::new(a)?, b.map(|b| MatrixBatch::<T>::new(b)).transpose()?) };
        let (m, n, batch) = (a.rows(), a.columns(), a.batch());
        let k = b.as_ref().map_or(0, MatrixBatch::columns);
        let mut at = out.origin() as *mut O;
        let results = op.results(m as i64, n as i64, k as i64).map(|elements| {
            let result = (SharedPtr(at as *mut u8), elements as usize);
            at = at.wrapping_add(elements as usize * batch);
            result
        });
        let info = SharedPtr(at as *mut u8);
        let min_threaded_work = min_threaded_size(op).pow(3);
        Ok(Job { a, b, m, n, k, batch, min_threaded_work, results, info, output: std::marker::PhantomData })
    }

    /// Where a result of a matrix goes.
    #[allow(clippy::mut_from_ref, reason = "every matrix of every result is written by the one thread that has it")]
    fn result(&self, which: usize, index: usize) -> &mut [O] {
        let (SharedPtr(at), elements) = self.results[which];
        // SAFETY: the output has all results; no two threads have the same matrix.
        unsafe { std::slice::from_raw_parts_mut((at as *mut O).add(index * elements), elements) }
    }

    /// Operand 0's matrix, column-major.
    fn load(&self, index: usize, to: &mut [T]) {
        // SAFETY: the operand is in memory, and the scratch has room.
        unsafe {
            transfer(
                self.m,
                self.n,
                self.a.source(index),
                MatrixPtr::columns(&mut to[..self.m * self.n], self.m),
                |x| x,
            )
        }
    }

    /// Does `one(matrix, scratch, stack, parallelism)` for every matrix, with `scratch_len` scratch elements, which hold anything,
    /// and the stack that faer asks for. Where it gives back false, the results become NaN and the output says so.
    fn each(
        &self,
        scratch_len: usize,
        stack: impl Fn(Par) -> StackReq,
        one: impl Fn(usize, &mut [T], &mut MemStack, Par) -> bool + Sync,
    ) -> Result<()> {
        let work = self.m * self.n * self.m.min(self.n).max(self.k);
        let threads = rayon::current_num_threads();
        let alone = self.batch < 2 * threads || work * self.batch < LARGE;
        let par = if alone && work >= self.min_threaded_work && threads > 1 { Par::rayon(0) } else { Par::Seq };
        let parts = if alone { 1 } else { self.batch.min(8 * threads) };
        let align = crate::alloc::ALIGN;
        let scratch = (scratch_len * size_of::<T>()).next_multiple_of(align);
        let bytes = scratch + stack(par).unaligned_bytes_required().next_multiple_of(align);
        let block = Block::new(bytes * parts)?;
        let memory = SharedPtr(block.as_ptr());
        let failed = AtomicBool::new(false);
        let part = |p: usize| {
            let at = memory.at((p * bytes) as i64);
            // SAFETY: each part has its own stretch of the block, and writes what it reads.
            let (space, rest) = unsafe {
                let rest = std::slice::from_raw_parts_mut(at.add(scratch).cast(), bytes - scratch);
                (std::slice::from_raw_parts_mut(at as *mut T, scratch_len), rest)
            };
            for index in p * self.batch / parts..(p + 1) * self.batch / parts {
                if !one(index, space, MemStack::new(rest), par) {
                    failed.store(true, Relaxed);
                    (0..3).for_each(|which| self.result(which, index).fill(O::from_real(f64::NAN)));
                }
            }
        };
        if parts == 1 {
            part(0)
        } else {
            threads::parallel_for(parts, part)
        }
        // SAFETY: the output ends with this element.
        unsafe { (self.info.0 as *mut O).write(O::from_real(f64::from(u8::from(failed.into_inner())))) };
        Ok(())
    }
}
