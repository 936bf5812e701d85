//! Unblocked factorizations with the outputs of LAPACK.

use faer::Mat;

use super::super::number::{Element, Field, read, write};
use super::memory::Matrix;

/// Subtracts `factor · from` from `to`.
fn subtract<W: Field>(to: &mut [W], from: &[W], factor: W) {
    for (x, &y) in to.iter_mut().zip(from) {
        *x -= y * factor;
    }
}

/// Replaces a triangle of a Hermitian matrix by its Cholesky factor. Returns 0, or the order of the first leading minor
/// that is not positive.
///
/// # Safety
/// The matrix is in live memory.
pub(super) unsafe fn cholesky<T: Element>(matrix: Matrix, upper: bool) -> i32 {
    // SAFETY: by the caller's contract.
    let stored = unsafe { matrix.load::<T>() };
    let n = matrix.rows;
    // The upper factor is the adjoint of the lower one.
    let lower = |i: usize, j: usize| if upper { stored[(j, i)].conjugate() } else { stored[(i, j)] };
    let mut a = Mat::from_fn(n, n, |i, j| if i >= j { lower(i, j) } else { T::Wide::from_real(0.0) });
    let mut info = 0;
    for j in 0..n {
        let pivot = a[(j, j)].parts().0;
        if pivot.is_nan() || pivot <= 0.0 {
            info = j as i32 + 1;
            break;
        }
        let root = T::Wide::from_real(pivot.sqrt());
        a[(j, j)] = root;
        a.col_as_slice_mut(j)[j + 1..].iter_mut().for_each(|x| *x /= root);
        let column = a.col_as_slice(j).to_vec();
        for k in j + 1..n {
            subtract(&mut a.col_as_slice_mut(k)[k..], &column[k..], column[k].conjugate());
        }
    }
    let result = Mat::from_fn(n, n, |i, j| match (i.cmp(&j), upper) {
        (std::cmp::Ordering::Less, true) => a[(j, i)].conjugate(),
        (std::cmp::Ordering::Less, false) | (std::cmp::Ordering::Greater, true) => stored[(i, j)],
        _ => a[(i, j)],
    });
    // SAFETY: by the caller's contract.
    unsafe { matrix.store::<T>(result.as_ref()) };
    info
}

/// Replaces a matrix by L and U and writes pivots from 1. Returns 0, or the number of the first pivot that is zero.
///
/// # Safety
/// The matrix and min(rows, columns) pivots are in live memory.
pub(super) unsafe fn lu<T: Element>(matrix: Matrix, pivots: usize) -> i32 {
    // SAFETY: by the caller's contract.
    let mut a = unsafe { matrix.load::<T>() };
    let Matrix { rows, columns, .. } = matrix;
    let size = |x: T::Wide| {
        let (re, im) = x.parts();
        re.abs() + im.abs()
    };
    let mut info = 0;
    for k in 0..rows.min(columns) {
        let pivot = (k + 1..rows).fold(k, |best, i| if size(a[(i, k)]) > size(a[(best, k)]) { i } else { best });
        // SAFETY: by the caller's contract.
        unsafe { (pivots as *mut i64).add(k).write(pivot as i64 + 1) };
        if size(a[(pivot, k)]) == 0.0 {
            info = if info == 0 { k as i32 + 1 } else { info };
            continue;
        }
        (0..columns).for_each(|j| a.col_as_slice_mut(j).swap(k, pivot));
        let head = a[(k, k)];
        a.col_as_slice_mut(k)[k + 1..].iter_mut().for_each(|x| *x /= head);
        let column = a.col_as_slice(k).to_vec();
        for j in k + 1..columns {
            let factor = a[(k, j)];
            subtract(&mut a.col_as_slice_mut(j)[k + 1..], &column[k + 1..], factor);
        }
    }
    // SAFETY: by the caller's contract.
    unsafe { matrix.store::<T>(a.as_ref()) };
    info
}

/// Replaces right-hand sides by the solutions, from the results of [`lu`]. Returns 0.
///
/// # Safety
/// The matrices and the pivots are in live memory.
pub(super) unsafe fn solve<T: Element>(factors: Matrix, pivots: usize, right: Matrix) -> i32 {
    // SAFETY: by the caller's contract.
    let (lu, mut b) = unsafe { (factors.load::<T>(), right.load::<T>()) };
    let n = factors.rows;
    for j in 0..right.columns {
        let x = b.col_as_slice_mut(j);
        for k in 0..n {
            // SAFETY: by the caller's contract.
            let pivot = unsafe { (pivots as *const i64).add(k).read() };
            // A pivot out of range is not from a factorization.
            if let Some(pivot) = usize::try_from(pivot - 1).ok().filter(|&pivot| pivot < n) {
                x.swap(k, pivot);
            }
        }
        for k in 0..n {
            let value = x[k];
            subtract(&mut x[k + 1..], &lu.col_as_slice(k)[k + 1..], value);
        }
        for k in (0..n).rev() {
            x[k] /= lu[(k, k)];
            let value = x[k];
            subtract(&mut x[..k], &lu.col_as_slice(k)[..k], value);
        }
    }
    // SAFETY: by the caller's contract.
    unsafe { right.store::<T>(b.as_ref()) };
    0
}

/// Applies I - tau · v vᴴ to a vector.
fn reflect<W: Field>(x: &mut [W], v: &[W], tau: W) {
    let product = v.iter().zip(&*x).fold(W::from_real(0.0), |sum, (&v, &x)| sum + v.conjugate() * x);
    subtract(x, v, tau * product);
}

/// Replaces a matrix by R and, below the diagonal, the reflectors of Q, and writes their factors. Q is the product of
/// I - tau · v vᴴ, where v starts with an implied 1. Returns 0.
///
/// # Safety
/// The matrix and min(rows, columns) factors are in live memory.
pub(super) unsafe fn qr<T: Element>(matrix: Matrix, taus: usize) -> i32 {
    // SAFETY: by the caller's contract.
    let mut a = unsafe { matrix.load::<T>() };
    let Matrix { rows, columns, .. } = matrix;
    let (zero, one) = (T::Wide::from_real(0.0), T::Wide::from_real(1.0));
    for k in 0..rows.min(columns) {
        let column = &mut a.col_as_slice_mut(k)[k..];
        let (head, tail) = (column[0], column[1..].iter().map(|x| x.square()).sum::<f64>());
        let (re, im) = head.parts();
        let mut tau = zero;
        if tail != 0.0 || im != 0.0 {
            let norm = (tail + head.square()).sqrt();
            let beta = if re > 0.0 { -norm } else { norm };
            tau = T::Wide::from_parts((beta - re) / beta, -im / beta);
            let scale = head - T::Wide::from_real(beta);
            column[1..].iter_mut().for_each(|x| *x /= scale);
            column[0] = one;
            let reflector = column.to_vec();
            column[0] = T::Wide::from_real(beta);
            // R is the product of the adjoint reflections with A.
            (k + 1..columns).for_each(|j| reflect(&mut a.col_as_slice_mut(j)[k..], &reflector, tau.conjugate()));
        }
        // SAFETY: by the caller's contract.
        unsafe { write::<T>(taus, k, tau) };
    }
    // SAFETY: by the caller's contract.
    unsafe { matrix.store::<T>(a.as_ref()) };
    0
}

/// Replaces the results of [`qr`] by the first columns of Q. Returns 0.
///
/// # Safety
/// The matrix and the factors are in live memory.
pub(super) unsafe fn basis<T: Element>(matrix: Matrix, reflectors: usize, taus: usize) -> i32 {
    // SAFETY: by the caller's contract.
    let a = unsafe { matrix.load::<T>() };
    let (zero, one) = (T::Wide::from_real(0.0), T::Wide::from_real(1.0));
    let mut q = Mat::from_fn(matrix.rows, matrix.columns, |i, j| if i == j { one } else { zero });
    for k in (0..reflectors).rev() {
        let mut reflector = a.col_as_slice(k)[k..].to_vec();
        reflector[0] = one;
        // SAFETY: by the caller's contract.
        let tau = unsafe { read::<T>(taus, k) };
        // Earlier columns are zero in these rows.
        (k..matrix.columns).for_each(|j| reflect(&mut q.col_as_slice_mut(j)[k..], &reflector, tau));
    }
    // SAFETY: by the caller's contract.
    unsafe { matrix.store::<T>(q.as_ref()) };
    0
}
