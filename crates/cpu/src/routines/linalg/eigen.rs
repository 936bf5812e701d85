//! Iterative decompositions: singular values and eigenvalues.

use cuprous_core::{Result, Vectors};
use cuprous_numerics::Eigen;
use faer::diag::DiagMut;
use faer::linalg::svd::ComputeSvdVectors;
use num_complex::Complex;

use super::number::{Number, make_diagonal_real, rescaled, scaled, scaled_triangle};
use super::{Job, MatrixPtr, matrix, transfer};

/// Computes A = U S Vᴴ.
pub(super) fn svd<T: Number>(job: &Job<T, T>, vectors: Vectors) -> Result<()> {
    let (m, n) = (job.m, job.n);
    let least = m.min(n);
    let (compute, columns, rows) = match vectors {
        Vectors::No => (ComputeSvdVectors::No, 0, 0),
        Vectors::Thin => (ComputeSvdVectors::Thin, least, least),
        Vectors::Full => (ComputeSvdVectors::Full, m, n),
    };
    let wants = vectors != Vectors::No;
    let stack = |par| T::svd_scratch(m, n, compute, par);
    job.each(m * n + m * columns, stack, |index, space, stack, par| {
        let (a, u) = space.split_at_mut(m * n);
        job.load(index, a);
        let Some(factor) = scaled(a) else { return false };
        let values = job.result(0, index);
        // V in column-major order is Vᵀ in row-major order. The vectors beyond the first min(m, n) are built from the
        // initial contents, which must be zeros.
        let v = job.result(2, index);
        u.fill(T::from_real(0.0));
        v.fill(T::from_real(0.0));
        let ok = T::svd(
            matrix(a, m, n).as_ref(),
            DiagMut::from_slice_mut(values),
            wants.then(|| matrix(u, m, columns)),
            wants.then(|| matrix(v, n, rows)),
            par,
            stack,
        );
        if !ok || values.iter().any(|s| s.magnitude().is_nan()) {
            return false;
        }
        values.iter_mut().for_each(|s| *s = rescaled(*s, factor));
        v.iter_mut().for_each(|x| *x = x.conjugate());
        let to = MatrixPtr::rows(job.result(1, index).as_mut_ptr(), columns);
        // SAFETY: both have m · columns elements.
        unsafe { transfer(m, columns, MatrixPtr::columns(u, m), to, |x| x) };
        true
    })
}

/// Computes A = V diag(w) Vᴴ for Hermitian A. Infinity or NaN in A gives NaN and not an error, as in NumPy.
pub(super) fn hermitian<T: Number>(job: &Job<T, T>, upper: bool, vectors: bool) -> Result<()> {
    let n = job.n;
    let size = if vectors { n * n } else { 0 };
    let stack = |par| T::hermitian_scratch(n, vectors, par);
    job.each(n * n + size, stack, |index, space, stack, par| {
        let (a, v) = space.split_at_mut(n * n);
        let from = job.a.source(index);
        // SAFETY: the operand is in memory, and the scratch has space.
        unsafe {
            match upper {
                false => transfer(n, n, from, MatrixPtr::columns(a, n), |x| x),
                true => transfer(n, n, from.transposed(), MatrixPtr::columns(a, n), T::conjugate),
            }
        }
        make_diagonal_real(a, n);
        let values = job.result(0, index);
        // The other triangle has arbitrary contents.
        let Some(factor) = scaled_triangle(a, n) else {
            values.fill(T::from_real(f64::NAN));
            job.result(1, index).fill(T::from_real(f64::NAN));
            return true;
        };
        let ok = T::hermitian(
            matrix(a, n, n).as_ref(),
            DiagMut::from_slice_mut(values),
            vectors.then(|| matrix(v, n, n)),
            par,
            stack,
        );
        if !ok || values.iter().any(|w| w.magnitude().is_nan()) {
            return false;
        }
        values.iter_mut().for_each(|w| *w = rescaled(T::from_real(w.parts().0), factor));
        if vectors {
            let to = MatrixPtr::rows(job.result(1, index).as_mut_ptr(), n);
            // SAFETY: both have n · n elements.
            unsafe { transfer(n, n, MatrixPtr::columns(v, n), to, |x| x) };
        }
        true
    })
}

/// Computes A V = V diag(w) for complex A.
pub(super) fn general<R: Eigen + Number>(job: &Job<Complex<R>, Complex<R>>, vectors: bool) -> Result<()>
where
    Complex<R>: Number,
{
    let n = job.n;
    let size = if vectors { n * n } else { 0 };
    let stack = |par| R::complex_scratch(n, vectors, par);
    job.each(n * n + size, stack, |index, space, stack, par| {
        let (a, v) = space.split_at_mut(n * n);
        job.load(index, a);
        let Some(factor) = scaled(a) else { return false };
        let values = job.result(0, index);
        values.fill(Complex::from_real(f64::NAN));
        let ok = n == 1 && one_by_one(a[0], values, v)
            || R::complex(
                matrix(a, n, n).as_ref(),
                DiagMut::from_slice_mut(values),
                vectors.then(|| matrix(v, n, n)),
                par,
                stack,
            );
        if !ok || values.iter().any(|w| w.magnitude().is_nan()) {
            return false;
        }
        values.iter_mut().for_each(|w| *w = rescaled(*w, factor));
        if vectors {
            let to = MatrixPtr::rows(job.result(1, index).as_mut_ptr(), n);
            let place = MatrixPtr::columns(v, n);
            // SAFETY: both have n · n elements.
            unsafe { transfer(n, n, place, to, |x| x) };
            normalize(job.result(1, index), n);
        }
        true
    })
}

/// Handles a matrix of one element, which is its eigenvalue.
fn one_by_one<T: Number>(a: T, values: &mut [T], v: &mut [T]) -> bool {
    values[0] = a;
    v.fill(T::from_real(1.0));
    true
}

/// Does the same as [`general`] for real A. Complex eigenvalues come in conjugate pairs.
pub(super) fn general_real<R: Eigen + Number>(job: &Job<R, Complex<R>>, vectors: bool) -> Result<()>
where
    Complex<R>: Number,
{
    let n = job.n;
    let size = if vectors { n * n } else { 0 };
    let stack = |par| R::real_scratch(n, vectors, par);
    job.each(n * n + size + 2 * n, stack, |index, space, stack, par| {
        let (a, rest) = space.split_at_mut(n * n);
        let (v, parts) = rest.split_at_mut(size);
        let (re, im) = parts.split_at_mut(n);
        job.load(index, a);
        let Some(factor) = scaled(a) else { return false };
        re.fill(R::from_real(f64::NAN));
        im.fill(R::from_real(0.0));
        let ok = n == 1 && one_by_one(a[0], re, v)
            || R::real(
                matrix(a, n, n).as_ref(),
                DiagMut::from_slice_mut(re),
                DiagMut::from_slice_mut(im),
                vectors.then(|| matrix(v, n, n)),
                par,
                stack,
            );
        if !ok || re.iter().chain(im.iter()).any(|w| w.magnitude().is_nan()) {
            return false;
        }
        for (w, (re, im)) in job.result(0, index).iter_mut().zip(re.iter().zip(im.iter())) {
            *w = Complex::new(rescaled(*re, factor), rescaled(*im, factor));
        }
        if vectors {
            let out = job.result(1, index);
            let mut j = 0;
            while j < n {
                let paired = im[j].magnitude() != 0.0 && j + 1 < n;
                for i in 0..n {
                    let (x, y) = (v[j * n + i], if paired { v[(j + 1) * n + i] } else { R::from_real(0.0) });
                    out[i * n + j] = Complex::new(x, y);
                    if paired {
                        out[i * n + j + 1] = out[i * n + j].conjugate();
                    }
                }
                j += if paired { 2 } else { 1 };
            }
            normalize(out, n);
        }
        true
    })
}

/// Scales each column to norm 1.
fn normalize<T: Number>(v: &mut [T], n: usize) {
    let mut norms = vec![0.0f64; n];
    for row in v.chunks(n) {
        for (norm, x) in norms.iter_mut().zip(row) {
            let (re, im) = x.parts();
            *norm += re * re + im * im;
        }
    }
    norms.iter_mut().for_each(|norm| *norm = norm.sqrt().recip());
    for row in v.chunks_mut(n) {
        row.iter_mut().zip(&norms).for_each(|(x, factor)| *x = x.scale_by(*factor));
    }
}
