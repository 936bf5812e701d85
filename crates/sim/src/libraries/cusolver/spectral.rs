//! Eigenvalues and singular values by faer.

use faer::{Mat, MatRef, Par, Side};
use num_complex::Complex;

use super::super::number::{Element, Field, write};
use super::memory::Matrix;

/// Returned if an iteration does not converge.
const NOT_CONVERGED: i32 = 1;

/// Writes a vector of real numbers.
///
/// # Safety
/// The vector is in live memory.
unsafe fn store_real<R: Element<Wide = f64>>(at: usize, values: impl Iterator<Item = f64>) {
    // SAFETY: by the caller's contract.
    values.enumerate().for_each(|(k, value)| unsafe { write::<R>(at, k, value) });
}

/// Decomposes a Hermitian matrix, of which one triangle is read. Writes the eigenvalues in ascending order. The matrix
/// is overwritten by the eigenvectors. Returns 0 for success.
///
/// # Safety
/// The matrix and its eigenvalues are in live memory.
pub(super) unsafe fn hermitian<T: Element, R: Element<Wide = f64>>(
    matrix: Matrix,
    upper: bool,
    vectors: bool,
    values: usize,
) -> i32 {
    faer::set_global_parallelism(Par::Seq);
    let n = matrix.rows;
    // SAFETY: by the caller's contract.
    let stored = unsafe { matrix.load::<T>() };
    // SAFETY: by the caller's contract.
    unsafe { matrix.destroy::<T>() };
    let a = Mat::from_fn(n, n, |i, j| match (i == j, (i < j) == upper) {
        (true, _) => T::Wide::from_real(stored[(i, i)].parts().0),
        (false, true) => stored[(i, j)],
        (false, false) => stored[(j, i)].conjugate(),
    });
    if !is_finite(a.as_ref()) {
        return NOT_CONVERGED;
    }
    let Ok(decomposition) = a.self_adjoint_eigen(Side::Lower) else { return NOT_CONVERGED };
    // SAFETY: by the caller's contract.
    unsafe {
        store_real::<R>(values, decomposition.S().column_vector().iter().map(|x| x.parts().0));
        if vectors {
            matrix.store::<T>(decomposition.U());
        }
    }
    0
}

/// Decomposes a matrix as U · diag(values) · Vᴴ. `left` and `right` are written if given, `right` with V or, if
/// `adjoint`, with Vᴴ. The matrix is destroyed. Returns 0 for success.
///
/// # Safety
/// The matrices and the singular values are in live memory.
pub(super) unsafe fn singular<T: Element, R: Element<Wide = f64>>(
    matrix: Matrix,
    values: usize,
    left: Option<Matrix>,
    right: Option<Matrix>,
    adjoint: bool,
) -> i32 {
    faer::set_global_parallelism(Par::Seq);
    // SAFETY: by the caller's contract.
    let a = unsafe { matrix.load::<T>() };
    // SAFETY: by the caller's contract.
    unsafe { matrix.destroy::<T>() };
    if !is_finite(a.as_ref()) {
        return NOT_CONVERGED;
    }
    let width = matrix.rows.min(matrix.columns);
    let count = |m: Matrix| if adjoint { m.rows } else { m.columns };
    let full = left.is_some_and(|m| m.columns > width) || right.is_some_and(|m| count(m) > width);
    let Ok(svd) = (if full { a.svd() } else { a.thin_svd() }) else { return NOT_CONVERGED };
    // SAFETY: by the caller's contract.
    unsafe {
        store_real::<R>(values, svd.S().column_vector().iter().map(|x| x.parts().0));
        if let Some(left) = left {
            left.store::<T>(svd.U());
        }
        if let Some(right) = right {
            let v = svd.V();
            let adjoint_v = Mat::from_fn(v.ncols(), v.nrows(), |i, j| v[(j, i)].conjugate());
            right.store::<T>(if adjoint { adjoint_v.as_ref() } else { v });
        }
    }
    0
}

/// Eigenvalues and eigenvectors.
type Pairs = (Vec<Complex<f64>>, Mat<Complex<f64>>);

/// The eigenvectors of a general matrix as LAPACK stores them.
pub(super) trait General: Element {
    /// Returns eigenvalues and eigenvectors.
    fn decompose(a: &Mat<Self::Wide>) -> Option<Pairs>;

    /// Returns the columns of the eigenvectors in memory.
    fn columns(values: &[Complex<f64>], vectors: &Mat<Complex<f64>>) -> Mat<Self::Wide>;
}

macro_rules! general {
    ($($t:ty)*) => {$(
        impl General for $t {
            fn decompose(a: &Mat<f64>) -> Option<Pairs> {
                let found = a.eigen().ok()?;
                let mut values: Vec<Complex<f64>> = found.S().column_vector().iter().copied().collect();
                let mut vectors = found.U().to_owned();
                // Conjugate pairs start with the positive imaginary part.
                let mut j = 0;
                while j < values.len() {
                    let paired = values[j].im != 0.0 && j + 1 < values.len();
                    if paired && values[j].im < 0.0 {
                        values.swap(j, j + 1);
                        vectors.col_as_slice_mut(j).iter_mut().for_each(|x| *x = x.conj());
                    }
                    j += if paired { 2 } else { 1 };
                }
                Some((values, vectors))
            }

            /// A pair has a column of real parts and one of imaginary parts.
            fn columns(values: &[Complex<f64>], vectors: &Mat<Complex<f64>>) -> Mat<f64> {
                Mat::from_fn(values.len(), values.len(), |i, j| {
                    if values[j].im < 0.0 { vectors[(i, j - 1)].im } else { vectors[(i, j)].re }
                })
            }
        }

        impl General for Complex<$t> {
            fn decompose(a: &Mat<Complex<f64>>) -> Option<Pairs> {
                let found = a.eigen().ok()?;
                Some((found.S().column_vector().iter().copied().collect(), found.U().to_owned()))
            }

            fn columns(_: &[Complex<f64>], vectors: &Mat<Complex<f64>>) -> Mat<Complex<f64>> {
                vectors.clone()
            }
        }
    )*};
}
general!(f32 f64);

/// Decomposes a general matrix. Writes the eigenvalues and, if `right` is given, the right eigenvectors: of length 1,
/// the largest component real. The matrix is destroyed. Returns 0 for success.
///
/// # Safety
/// The matrices and the eigenvalues are in live memory.
pub(super) unsafe fn general<T: General, C: Element<Wide = Complex<f64>>>(
    matrix: Matrix,
    values: usize,
    right: Option<Matrix>,
) -> i32 {
    faer::set_global_parallelism(Par::Seq);
    // SAFETY: by the caller's contract.
    let a = unsafe { matrix.load::<T>() };
    // SAFETY: by the caller's contract.
    unsafe { matrix.destroy::<T>() };
    if !is_finite(a.as_ref()) {
        return NOT_CONVERGED;
    }
    let found = if matrix.rows == 1 {
        let (re, im) = a[(0, 0)].parts();
        Some((vec![Complex::new(re, im)], Mat::from_fn(1, 1, |_, _| Complex::new(1.0, 0.0))))
    } else {
        T::decompose(&a)
    };
    let Some((eigenvalues, mut vectors)) = found else { return NOT_CONVERGED };
    for j in 0..matrix.rows {
        normalize(vectors.col_as_slice_mut(j));
    }
    // SAFETY: by the caller's contract.
    unsafe {
        eigenvalues.iter().enumerate().for_each(|(k, &value)| write::<C>(values, k, value));
        if let Some(right) = right {
            right.store::<T>(T::columns(&eigenvalues, &vectors).as_ref());
        }
    }
    0
}

/// Scales a vector to length 1 and its largest component to a real number.
fn normalize(v: &mut [Complex<f64>]) {
    let length = v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    let largest = v.iter().copied().fold(Complex::default(), |a, b| if b.norm() > a.norm() { b } else { a });
    if length > 0.0 {
        // A real vector keeps its sign.
        let phase = if largest.im == 0.0 { Complex::new(1.0, 0.0) } else { largest.conj() / largest.norm() };
        v.iter_mut().for_each(|x| *x = *x * phase / length);
    }
}

fn is_finite<W: Field>(a: MatRef<'_, W>) -> bool {
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)].is_finite()))
}
