//! Eigenvalues and singular values by faer.

use cuprous_numerics::{Decompose, Eigen};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::svd::ComputeSvdVectors;
use faer::{Mat, MatRef, Par};
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
    let (mut w, mut v) = (vec![T::Wide::from_real(0.0); n], Mat::zeros(n, if vectors { n } else { 0 }));
    let wanted = vectors.then(|| v.as_mut());
    let scratch = T::Wide::hermitian_scratch(n, vectors, Par::Seq);
    let found = with_stack(scratch, |stack| {
        T::Wide::hermitian(a.as_ref(), DiagMut::from_slice_mut(&mut w), wanted, Par::Seq, stack)
    });
    if !found {
        return NOT_CONVERGED;
    }
    // SAFETY: by the caller's contract.
    unsafe {
        store_real::<R>(values, w.iter().map(|x| x.parts().0));
        if vectors {
            matrix.store::<T>(v.as_ref());
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
    let (m, n) = (matrix.rows, matrix.columns);
    let compute = if full { ComputeSvdVectors::Full } else { ComputeSvdVectors::Thin };
    let mut s = vec![T::Wide::from_real(0.0); width];
    let mut u = Mat::zeros(m, if full { m } else { width });
    let mut v = Mat::zeros(n, if full { n } else { width });
    let found = with_stack(T::Wide::svd_scratch(m, n, compute, Par::Seq), |stack| {
        let values = DiagMut::from_slice_mut(&mut s);
        T::Wide::svd(a.as_ref(), values, Some(u.as_mut()), Some(v.as_mut()), Par::Seq, stack)
    });
    if !found {
        return NOT_CONVERGED;
    }
    // SAFETY: by the caller's contract.
    unsafe {
        store_real::<R>(values, s.iter().map(|x| x.parts().0));
        if let Some(left) = left {
            left.store::<T>(u.as_ref());
        }
        if let Some(right) = right {
            let adjoint_v = Mat::from_fn(v.ncols(), v.nrows(), |i, j| v[(j, i)].conjugate());
            right.store::<T>(if adjoint { adjoint_v.as_ref() } else { v.as_ref() });
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
                let n = a.nrows();
                let (mut re, mut im, mut v) = (vec![0.0; n], vec![0.0; n], Mat::zeros(n, n));
                let found = with_stack(f64::real_scratch(n, true, Par::Seq), |stack| {
                    let [re, im] = [&mut re, &mut im].map(|part| DiagMut::from_slice_mut(part));
                    f64::real(a.as_ref(), re, im, Some(v.as_mut()), Par::Seq, stack)
                });
                let mut values: Vec<Complex<f64>> = re.iter().zip(&im).map(|(&re, &im)| Complex::new(re, im)).collect();
                let mut vectors = Mat::from_fn(n, n, |i, j| Complex::new(v[(i, j)], 0.0));
                // Conjugate pairs start with the positive imaginary part.
                let mut j = 0;
                while j < n {
                    let paired = values[j].im != 0.0 && j + 1 < n;
                    if paired {
                        let sign = values[j].im.signum();
                        for i in 0..n {
                            vectors[(i, j)] = Complex::new(v[(i, j)], sign * v[(i, j + 1)]);
                            vectors[(i, j + 1)] = vectors[(i, j)].conj();
                        }
                        if sign < 0.0 {
                            values.swap(j, j + 1);
                        }
                    }
                    j += if paired { 2 } else { 1 };
                }
                found.then_some((values, vectors))
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
                let n = a.nrows();
                let (mut values, mut v) = (vec![Complex::default(); n], Mat::zeros(n, n));
                let found = with_stack(f64::complex_scratch(n, true, Par::Seq), |stack| {
                    f64::complex(a.as_ref(), DiagMut::from_slice_mut(&mut values), Some(v.as_mut()), Par::Seq, stack)
                });
                found.then_some((values, v))
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

/// Calls a function with the memory that it requests.
fn with_stack<R>(request: StackReq, call: impl FnOnce(&mut MemStack) -> R) -> R {
    call(MemStack::new(&mut MemBuffer::new(request)))
}

fn is_finite<W: Field>(a: MatRef<'_, W>) -> bool {
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)].is_finite()))
}
