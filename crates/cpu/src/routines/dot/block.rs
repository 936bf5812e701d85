//! Products of floats and complex numbers by the `gemm` crate.
//!
//! The library suits operands whose rows are contiguous. A right one with contiguous columns it copies element by element,
//! and along a row of such a left one it meets the same few sets of a cache if the columns are a large power of two apart:
//! it then reaches half of its speed. Such operands are transposed in registers before, or, where that copies less, the
//! transposed product is computed.

use cuprous_core::DType;
use gemm::{Parallelism, c32, c64, gemm};

use super::Shape;
use crate::affine::copy_rect;
use crate::alloc::Block;
use crate::threads::{SharedPtr, parallel_for};

/// Products with fewer multiplications are left to the library as they are, and those with fewer for each copied element.
const MIN_REORDERED_WORK: usize = 1 << 20;
const MIN_WORK_PER_COPY: usize = 128;
/// Multiplications from which on operands are copied as a whole. For fewer, each block copies its part, because all threads
/// wait for each other between the copies and the products.
const MIN_SHARED_WORK: usize = 1 << 28;
/// Columns of a block: a multiple of the micro-kernels' widths (48 float32, 24 float64), and a panel that fits into L2.
const COLUMNS: usize = 192;
/// Rows of an operand that one task copies.
const COPIED_ROWS: usize = 64;
/// Multiple of bytes between rows at which their first elements are in at most 8 of the 64 sets of an L1 cache.
const CONFLICT: usize = 512;

/// Computes a product on this thread.
///
/// # Safety
/// The matrices are in memory, in a dtype that `gemm` supports.
pub(crate) unsafe fn block(dtype: DType, s: Shape, a: *const u8, b: *const u8, c: *mut u8) {
    // SAFETY: by this function's contract.
    unsafe {
        match Reordered::new(dtype, s, a, b, false) {
            Some(product) => product.run(0, 0, usize::MAX, usize::MAX, c),
            None => by_library(dtype, s, a, b, c),
        }
    }
}

/// Computes a product block by block on all threads, so that a thread that is slowed down by other work leaves its blocks
/// to other threads. Blocks depend only on the sizes and not on the machine.
///
/// # Safety
/// As for [`block`].
pub(super) unsafe fn blocks(dtype: DType, s: Shape, a: *const u8, b: *const u8, c: *mut u8) {
    let is_large = s.m * s.n * s.k >= MIN_SHARED_WORK;
    // SAFETY: by this function's contract.
    let reordered = if is_large { unsafe { Reordered::new(dtype, s, a, b, true) } } else { None };
    let (m, n) = reordered.as_ref().map_or((s.m, s.n), |product| (product.shape.m, product.shape.n));
    let rows = (m / 4).next_multiple_of(8).clamp(64, 512);
    let down = m.div_ceil(rows);
    let (a, b, c) = (SharedPtr(a as *mut u8), SharedPtr(b as *mut u8), SharedPtr(c));
    parallel_for(down * n.div_ceil(COLUMNS), |t| {
        let (i, j) = (t % down * rows, t / down * COLUMNS);
        // SAFETY: the task has rows of `a`, columns of `b` and a block of `c` that no other task writes.
        unsafe {
            if let Some(product) = &reordered {
                return product.run(i, j, rows, COLUMNS, c.at(0));
            }
            let part = Shape { m: rows.min(m - i), n: COLUMNS.min(n - j), ..s };
            let at = |p: SharedPtr, elements: i64| p.at(elements * dtype.size() as i64);
            let (i, j) = (i as i64, j as i64);
            block(dtype, part, at(a, i * s.a.0), at(b, j * s.b.1), at(c, i * s.c.0 + j * s.c.1));
        }
    });
}

/// A matrix in memory, with its strides (row, column) in elements.
#[derive(Clone, Copy)]
struct Matrix {
    at: SharedPtr,
    strides: (i64, i64),
}

impl Matrix {
    fn new(at: *const u8, strides: (i64, i64)) -> Matrix {
        Matrix { at: SharedPtr(at as *mut u8), strides }
    }

    fn transposed(self) -> Matrix {
        Matrix { strides: (self.strides.1, self.strides.0), ..self }
    }

    fn has_rows(self) -> bool {
        self.strides.1 == 1
    }

    fn has_columns(self) -> bool {
        self.strides.0 == 1
    }

    /// Returns the matrix with contiguous rows, and the memory of a copy if it has none. The copy is made on all threads
    /// with `share`. Returns `None` if there is no memory.
    unsafe fn with_rows(
        self,
        rows: usize,
        columns: usize,
        size: usize,
        share: bool,
    ) -> Option<(Matrix, Option<Block>)> {
        if self.has_rows() {
            return Some((self, None));
        }
        let to_pitch = pitch(columns, size);
        let copy = Block::new(rows * to_pitch * size).ok()?;
        let to = Matrix::new(copy.as_ptr(), (to_pitch as i64, 1));
        let part = |first: usize, count: usize| {
            let at = |m: Matrix| m.at.at(first as i64 * m.strides.0 * size as i64);
            // SAFETY: by the caller's contract, the matrix has these rows; the block has space for them.
            unsafe { copy_rect(at(to), to.strides.into(), at(self), self.strides.into(), count, columns, size) };
        };
        if share {
            parallel_for(rows.div_ceil(COPIED_ROWS), |t| {
                part(t * COPIED_ROWS, COPIED_ROWS.min(rows - t * COPIED_ROWS))
            });
        } else {
            part(0, rows);
        }
        Some((to, Some(copy)))
    }
}

/// Returns the distance of the rows of a copy in elements, at which neighboring rows are in different sets of a cache.
fn pitch(columns: usize, size: usize) -> usize {
    if (columns * size).is_multiple_of(CONFLICT) { columns + 64 / size } else { columns }
}

/// A product, or the transposed one, of operands with contiguous rows.
struct Reordered {
    dtype: DType,
    shape: Shape,
    left: Matrix,
    right: Matrix,
    /// The transposed product is computed.
    across: bool,
    /// Memory of copied operands.
    _copies: [Option<Block>; 2],
}

impl Reordered {
    /// Chooses the product that copies less. Returns `None` if the library suits the operands as they are, if copies would
    /// take longer than they save, and if there is no memory for them.
    ///
    /// # Safety
    /// As for [`block`].
    unsafe fn new(dtype: DType, s: Shape, a: *const u8, b: *const u8, share: bool) -> Option<Reordered> {
        let (size, Shape { m, n, k, .. }) = (dtype.size(), s);
        let (a, b) = (Matrix::new(a, s.a), Matrix::new(b, s.b));
        let is_slow = !b.has_rows() || !a.has_rows() && s.a.1 % (CONFLICT / size) as i64 == 0;
        let is_known = |m: Matrix| m.has_rows() || m.has_columns();
        if !is_slow || !is_known(a) || !is_known(b) || s.c.1 != 1 || !matches!(dtype, DType::F32 | DType::F64) {
            return None;
        }
        // Elements to copy for the product, and for the transposed one.
        let unless = |ready: bool, elements: usize| if ready { 0 } else { elements };
        let straight = unless(a.has_rows(), m * k) + unless(b.has_rows(), k * n);
        // Rows of the result are far apart, so its elements take twice as long. Sums stay where they are.
        let across = match s.accumulate {
            true => usize::MAX,
            false => unless(a.has_columns(), m * k) + unless(b.has_columns(), k * n) + 2 * m * n,
        };
        let work = m * n * k;
        if work < MIN_REORDERED_WORK || work < MIN_WORK_PER_COPY * straight.min(across) {
            return None;
        }
        // SAFETY: by this function's contract, the matrices have these sizes.
        unsafe {
            let across = across < straight;
            let (a, b, m, n) = if across { (b.transposed(), a.transposed(), n, m) } else { (a, b, m, n) };
            let (left, of_left) = a.with_rows(m, k, size, share)?;
            let (right, of_right) = b.with_rows(k, n, size, share)?;
            let shape = Shape { m, n, a: left.strides, b: right.strides, ..s };
            Some(Reordered { dtype, shape, left, right, across, _copies: [of_left, of_right] })
        }
    }

    /// Computes at most `rows` × `columns` elements from (`row`, `column`) on. `c` is the whole result.
    ///
    /// # Safety
    /// The result is in memory, and no other thread accesses these elements.
    unsafe fn run(&self, row: usize, column: usize, rows: usize, columns: usize, c: *mut u8) {
        let (s, size) = (self.shape, self.dtype.size());
        let part = Shape { m: rows.min(s.m - row), n: columns.min(s.n - column), ..s };
        let (row, column) = (row as i64, column as i64);
        let (a, b) = (self.left.at.at(row * s.a.0 * size as i64), self.right.at.at(column * s.b.1 * size as i64));
        let to = if self.across { column * s.c.0 + row * s.c.1 } else { row * s.c.0 + column * s.c.1 };
        // SAFETY: by this function's contract and that of `new`.
        unsafe {
            let c = c.offset(to as isize * size as isize);
            if !self.across {
                return by_library(self.dtype, part, a, b, c);
            }
            let pitch = pitch(part.n, size) as i64;
            let Ok(sums) = Block::new(part.m * pitch as usize * size) else {
                // The library can write columns too, which takes longer.
                return by_library(self.dtype, Shape { c: (s.c.1, s.c.0), ..part }, a, b, c);
            };
            by_library(self.dtype, Shape { c: (pitch, 1), ..part }, a, b, sums.as_ptr());
            copy_rect(c, [s.c.0, 1], sums.as_ptr(), [1, pitch], part.n, part.m, size);
        }
    }
}

/// Computes a product by the library.
unsafe fn by_library(dtype: DType, s: Shape, a: *const u8, b: *const u8, c: *mut u8) {
    macro_rules! gemm_as {
        ($t:ty, $one:expr, $scale:expr) => {
            gemm::<$t>(
                s.m,
                s.n,
                s.k,
                c as *mut $t,
                s.c.1 as isize,
                s.c.0 as isize,
                s.accumulate,
                a as *const $t,
                s.a.1 as isize,
                s.a.0 as isize,
                b as *const $t,
                s.b.1 as isize,
                s.b.0 as isize,
                $one,
                $scale,
                false,
                false,
                false,
                Parallelism::None,
            )
        };
    }
    // SAFETY: by the caller's contract.
    unsafe {
        match dtype {
            DType::F32 => gemm_as!(f32, 1.0, s.scale as f32),
            DType::F64 => gemm_as!(f64, 1.0, s.scale),
            DType::C64 => gemm_as!(c32, c32::new(1.0, 0.0), c32::new(1.0, 0.0)),
            _ => gemm_as!(c64, c64::new(1.0, 0.0), c64::new(1.0, 0.0)),
        }
    }
}
