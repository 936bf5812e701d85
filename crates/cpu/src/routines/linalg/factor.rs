//! Direct decompositions: Cholesky, LU, QR.

use cuprous_core::{QrMode, Result};
use faer::MatMut;
use faer::dyn_stack::MemStack;

use super::number::{Number, make_diagonal_real};
use super::{Job, MatrixPtr, copy_rows, matrix, transfer};

/// Number of rows from which on a matrix is factored in row-major order. faer's innermost loops prefer columns, but a
/// large matrix spends little time there, and transposing it costs more.
const MIN_BY_ROWS: usize = 256;

/// Computes A = L Lᴴ or A = Uᴴ U. NaN in the triangle that is read gives NaN and not an error, as in NumPy.
///
/// The triangle is copied to the result and factored there. U in row-major order is Uᵀ in column-major order, the lower
/// factor of Aᵀ.
pub(super) fn cholesky<T: Number>(job: &Job<T, T>, upper: bool) -> Result<()> {
    let n = job.n;
    let transposed = !upper && n < MIN_BY_ROWS;
    let leaf = (!upper && !transposed).then_some(32);
    let stack = |par| T::cholesky_scratch(n, leaf, par);
    job.each(if transposed { n * n } else { 0 }, stack, |index, space, stack, par| {
        let out = job.result(0, index);
        let triangle = |i: usize| if upper { i..n } else { 0..i + 1 };
        // SAFETY: the operand is in memory, and the result has n · n elements.
        unsafe { copy_rows(n, n, job.a.source(index), out, triangle) };
        make_diagonal_real(out, n);
        let nan = |i: usize| out[i * n..][triangle(i)].iter().fold(false, |nan, x| nan | x.is_nan());
        if (0..n).any(nan) {
            out.fill(T::from_real(f64::NAN));
            return true;
        }
        let factored = |a: MatMut<'_, T>, stack: &mut MemStack| T::cholesky(a, leaf, par, stack);
        let ok = if upper {
            factored(matrix(out, n, n), stack)
        } else if transposed {
            // SAFETY: both have n · n elements.
            unsafe { transfer(n, n, MatrixPtr::rows(out.as_mut_ptr(), n), MatrixPtr::columns(space, n), |x| x) };
            let ok = factored(matrix(space, n, n), stack);
            // SAFETY: both have n · n elements.
            unsafe { transfer(n, n, MatrixPtr::columns(space, n), MatrixPtr::rows(out.as_mut_ptr(), n), |x| x) };
            ok
        } else {
            factored(MatMut::from_row_major_slice_mut(out, n, n), stack)
        };
        for (i, row) in out.chunks_exact_mut(n).enumerate() {
            let other = if upper { 0..i } else { i + 1..n };
            row[other].fill(T::from_real(0.0));
        }
        make_diagonal_real(out, n); // rounding may leave imaginary parts
        ok
    })
}

/// Solves A X = B by LU with partial pivoting.
pub(super) fn solve<T: Number>(job: &Job<T, T>) -> Result<()> {
    let (n, k) = (job.n, job.k);
    let Some(b) = &job.b else { return Ok(()) };
    job.each(
        n * n + n * k,
        |par| T::lu_scratch(n, k, par),
        |index, space, stack, par| {
            let (a, x) = space.split_at_mut(n * n);
            job.load(index, a);
            let (mut forward, mut backward) = (vec![0usize; n], vec![0usize; n]);
            let (_, order) = T::lu(matrix(a, n, n), &mut forward, &mut backward, par, stack);
            if (0..n).any(|i| a[i * n + i].magnitude() == 0.0) {
                return false;
            }
            // SAFETY: the operand is in memory, and the scratch has n · k elements.
            unsafe { transfer(n, k, b.source(index), MatrixPtr::columns(x, n), |v| v) };
            T::lu_solve(matrix(a, n, n).as_ref(), order, matrix(x, n, k), par, stack);
            let to = MatrixPtr::rows(job.result(0, index).as_mut_ptr(), k);
            // SAFETY: the scratch and the result have n · k elements.
            unsafe { transfer(n, k, MatrixPtr::columns(x, n), to, |v| v) };
            true
        },
    )
}

/// Computes the determinant's sign and logarithm by LU. They are (0, -inf) if it is zero.
pub(super) fn slogdet<T: Number>(job: &Job<T, T>) -> Result<()> {
    let n = job.n;
    job.each(
        n * n,
        |par| T::lu_scratch(n, 0, par),
        |index, space, stack, par| {
            job.load(index, space);
            let (mut forward, mut backward) = (vec![0usize; n], vec![0usize; n]);
            let (transpositions, _) = T::lu(matrix(space, n, n), &mut forward, &mut backward, par, stack);
            let mut sign = T::from_real(if transpositions % 2 == 1 { -1.0 } else { 1.0 });
            let mut logarithm = 0.0;
            for i in 0..n {
                let (re, im) = space[i * n + i].parts();
                let size = re.hypot(im);
                if size == 0.0 {
                    (sign, logarithm) = (T::from_real(0.0), f64::NEG_INFINITY);
                    break;
                }
                sign = sign.multiply(T::from_parts(re / size, im / size));
                logarithm += size.ln();
            }
            job.result(0, index)[0] = sign;
            job.result(1, index)[0] = T::from_real(logarithm);
            true
        },
    )
}

/// Elements of a matrix up to which reflections are applied one by one.
const SMALL_QR: usize = 48 * 48;

/// Computes A = Q R by Householder reflections.
pub(super) fn qr<T: Number>(job: &Job<T, T>, mode: QrMode) -> Result<()> {
    let (m, n) = (job.m, job.n);
    let least = m.min(n);
    // Single reflections need no matrix products.
    let block = if m * n <= SMALL_QR { 1 } else { T::qr_block(m, n) };
    // Number of columns of Q and rows of R.
    let width = if mode == QrMode::Complete { m } else { least };
    let wants_q = matches!(mode, QrMode::Reduced | QrMode::Complete);
    let q_room = if wants_q { m * width } else { 0 };
    let stack = |par| T::qr_scratch(m, n, block, width, par);
    job.each(m * n + block * least + q_room, stack, |index, space, stack, par| {
        let (a, rest) = space.split_at_mut(m * n);
        let (factors, q) = rest.split_at_mut(block * least);
        job.load(index, a);
        T::qr(matrix(a, m, n), matrix(factors, block, least), par, stack);
        if mode == QrMode::Raw {
            job.result(0, index).copy_from_slice(a);
            for (j, tau) in job.result(1, index).iter_mut().enumerate() {
                // faer's reflections are I - v vᴴ / factor, LAPACK's are I - tau v vᴴ.
                *tau = T::from_real(1.0 / factors[j * block + j % block].parts().0);
            }
            return true;
        }
        let r = job.result(usize::from(wants_q), index);
        // SAFETY: both have width · n elements.
        unsafe { transfer(width, n, MatrixPtr::columns(a, m), MatrixPtr::rows(r.as_mut_ptr(), n), |x| x) };
        for i in 1..width {
            r[i * n..i * n + i.min(n)].fill(T::from_real(0.0));
        }
        if wants_q {
            q.fill(T::from_real(0.0));
            (0..width).for_each(|i| q[i * m + i] = T::from_real(1.0));
            let (basis, factors) = (matrix(a, m, n), matrix(factors, block, least));
            let mut whole = matrix(q, m, width);
            // From the last block on: the part that it does not change is still the identity.
            for first in (0..least).step_by(block).rev() {
                let end = least.min(first + block);
                T::reflect(
                    basis.as_ref().get(first.., first..end),
                    factors.as_ref().get(..end - first, first..end),
                    whole.as_mut().get_mut(first.., first..),
                    par,
                    stack,
                );
            }
            let to = MatrixPtr::rows(job.result(0, index).as_mut_ptr(), width);
            // SAFETY: both have m · width elements.
            unsafe { transfer(m, width, MatrixPtr::columns(q, m), to, |x| x) };
        }
        true
    })
}
