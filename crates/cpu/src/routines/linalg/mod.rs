//! Matrix decompositions by faer. A batch is distributed over threads. A few large matrices are processed one after the
//! other, each by all threads.
//!
//! Most matrices are copied to scratch memory in column-major order, in which faer is fastest, and results are copied
//! back in row-major order.

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

/// Multiplications from which on a batch of decompositions is distributed over threads.
const LARGE: usize = 64 * 64 * 64;
/// Columns that are copied together: as many cache lines as stay in the cache while both sides are traversed.
const COLUMNS: usize = 16;

/// Returns the cube root of the multiplications from which on one decomposition uses several threads. They synchronize
/// after every few columns: with two threads, QR of 200² takes ten times as long as with one, and of 700² a third
/// longer.
fn min_threaded_size(op: LinalgOp) -> usize {
    match op {
        LinalgOp::Eigh { .. } | LinalgOp::Svd(_) => 256,
        LinalgOp::Cholesky { .. } | LinalgOp::Solve | LinalgOp::Slogdet => 384,
        LinalgOp::Eig { .. } => 512,
        LinalgOp::Qr(_) => 768,
    }
}

/// Returns true if the layouts fit the operation.
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
/// The views are in memory and satisfy [`fits`].
pub(crate) unsafe fn run(op: LinalgOp, a: View, b: Option<View>, out: View) -> Result<()> {
    let complex = out.dtype().is_complex();
    // SAFETY: by this function's contract; the element types are those of the views' dtypes.
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
        LinalgOp::Eig { .. } => Err(Error::runtime("[linalg.eig] internal error: the output has the wrong dtype")),
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
    /// The view is in memory and has elements of type `T`, for as long as the batch is used.
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
        // SAFETY: by this function's contract.
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

    /// Returns the matrix of that number.
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

/// Address and strides of a matrix.
#[derive(Clone, Copy)]
struct MatrixPtr<T> {
    at: *mut T,
    row: isize,
    column: isize,
}

impl<T> MatrixPtr<T> {
    /// A row-major matrix.
    fn rows(at: *mut T, columns: usize) -> MatrixPtr<T> {
        MatrixPtr { at, row: columns as isize, column: 1 }
    }

    /// A column-major matrix.
    fn columns(at: &mut [T], rows: usize) -> MatrixPtr<T> {
        MatrixPtr { at: at.as_mut_ptr(), row: 1, column: rows as isize }
    }

    fn transposed(self) -> MatrixPtr<T> {
        MatrixPtr { at: self.at, row: self.column, column: self.row }
    }
}

/// Copies an m × n matrix and applies `f` to each element.
///
/// # Safety
/// Both are in memory and do not overlap.
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

/// Copies an m × n matrix to row-major memory. Of row i, at least the columns in `columns_of_row(i)` are copied.
///
/// # Safety
/// The matrix is in memory and does not overlap `to`.
unsafe fn copy_rows<T: Number>(
    m: usize,
    n: usize,
    from: MatrixPtr<T>,
    to: &mut [T],
    columns_of_row: impl Fn(usize) -> Range<usize>,
) {
    assert!(to.len() >= m * n);
    if from.column != 1 {
        // SAFETY: by this function's contract; `to` has space.
        return unsafe { transfer(m, n, from, MatrixPtr::rows(to.as_mut_ptr(), n), |x| x) };
    }
    for (i, row) in to.chunks_exact_mut(n).take(m).enumerate() {
        let columns = columns_of_row(i);
        // SAFETY: by this function's contract; these are elements of row i.
        let source = unsafe {
            let at = from.at.offset(i as isize * from.row).add(columns.start);
            std::slice::from_raw_parts(at, columns.len())
        };
        row[columns].copy_from_slice(source);
    }
}

/// Returns a column-major matrix over scratch memory.
fn matrix<T: Number>(at: &mut [T], rows: usize, columns: usize) -> MatMut<'_, T> {
    MatMut::from_column_major_slice_mut(&mut at[..rows * columns], rows, columns)
}

/// The operands of a batch of decompositions, with elements `T`, and its results, with elements `O`.
struct Job<T, O> {
    a: MatrixBatch<T>,
    b: Option<MatrixBatch<T>>,
    m: usize,
    n: usize,
    /// Number of columns of the right side.
    k: usize,
    batch: usize,
    /// Multiplications of one decomposition from which on it uses several threads.
    min_threaded_work: usize,
    /// Where each result starts, and its number of elements per matrix.
    results: [(SharedPtr, usize); 3],
    info: SharedPtr,
    output: std::marker::PhantomData<O>,
}

impl<T: Number, O: Number> Job<T, O> {
    /// # Safety
    /// The same as for [`run`].
    unsafe fn new(op: LinalgOp, a: View, b: Option<View>, out: View) -> Result<Job<T, O>> {
        // SAFETY: by this function's contract.
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

    /// Returns the elements of a result of a matrix.
    #[allow(clippy::mut_from_ref, reason = "each matrix of a result is written by one thread")]
    fn result(&self, which: usize, index: usize) -> &mut [O] {
        let (SharedPtr(at), elements) = self.results[which];
        // SAFETY: the output has all results; no two threads process the same matrix.
        unsafe { std::slice::from_raw_parts_mut((at as *mut O).add(index * elements), elements) }
    }

    /// Copies operand 0's matrix to column-major memory.
    fn load(&self, index: usize, to: &mut [T]) {
        // SAFETY: the operand is in memory, and the scratch has space.
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

    /// Calls `one(matrix, scratch, stack, parallelism)` for every matrix, with `scratch_len` uninitialized scratch
    /// elements and the stack that faer requests. If it returns false, the matrix's results become NaN and the output's
    /// last element is set.
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
            // SAFETY: each part has its own range of the block, and writes elements before it reads them.
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
