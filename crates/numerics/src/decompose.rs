//! Matrix decompositions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use faer::diag::DiagMut;
use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::evd::{self, ComputeEigenvectors, SelfAdjointEvdParams};
use faer::linalg::householder;
use faer::linalg::lu::partial_pivoting::{factor as lu, solve as lu_solve};
use faer::linalg::qr::no_pivoting::factor as qr;
use faer::linalg::svd::{self, ComputeSvdVectors, SvdParams};
use faer::perm::PermRef;
use faer::traits::{ComplexField, RealField};
use faer::{Conj, MatMut, MatRef, Par, Spec};
use num_complex::Complex;

/// Size from which on a tridiagonal or bidiagonal matrix is solved by divide and conquer.
const MIN_DIVIDE_AND_CONQUER: usize = 64;

/// An element type of which decompositions are compiled. Each method has one that returns the memory that it needs.
pub trait Decompose: ComplexField + Copy {
    /// Memory for [`Decompose::cholesky`] of an n × n matrix.
    fn cholesky_scratch(n: usize, leaf: Option<usize>, par: Par) -> StackReq;

    /// Replaces the lower triangle of a Hermitian matrix by L, where A = L Lᴴ. Blocks of `leaf` rows are factored element
    /// by element (by default as many as faer chooses). Returns false if the matrix is not positive definite.
    fn cholesky(a: MatMut<'_, Self>, leaf: Option<usize>, par: Par, stack: &mut MemStack) -> bool;

    /// Memory for [`Decompose::lu`] of an n × n matrix, and for [`Decompose::lu_solve`] with k columns.
    fn lu_scratch(n: usize, k: usize, par: Par) -> StackReq;

    /// Replaces a square matrix by L and U, where P A = L U. Returns the number of transpositions and P, which it writes
    /// to `forward` and `backward`.
    fn lu<'p>(
        a: MatMut<'_, Self>,
        forward: &'p mut [usize],
        backward: &'p mut [usize],
        par: Par,
        stack: &mut MemStack,
    ) -> (usize, PermRef<'p, usize>);

    /// Replaces B by the solution of A X = B, from the results of [`Decompose::lu`].
    fn lu_solve(lu: MatRef<'_, Self>, order: PermRef<'_, usize>, b: MatMut<'_, Self>, par: Par, stack: &mut MemStack);

    /// Number of reflections that are applied together in QR of an m × n matrix.
    fn qr_block(m: usize, n: usize) -> usize;

    /// Memory for [`Decompose::qr`] of an m × n matrix by blocks, and for [`Decompose::reflect`] of `width` columns.
    fn qr_scratch(m: usize, n: usize, block: usize, width: usize, par: Par) -> StackReq;

    /// Replaces a matrix by R and, below the diagonal, the reflectors of Q, and writes their factors.
    fn qr(a: MatMut<'_, Self>, factors: MatMut<'_, Self>, par: Par, stack: &mut MemStack);

    /// Applies a block of reflections of [`Decompose::qr`] to a matrix from the left.
    fn reflect(
        reflectors: MatRef<'_, Self>,
        factors: MatRef<'_, Self>,
        to: MatMut<'_, Self>,
        par: Par,
        stack: &mut MemStack,
    );

    /// Memory for [`Decompose::svd`] of an m × n matrix.
    fn svd_scratch(m: usize, n: usize, vectors: ComputeSvdVectors, par: Par) -> StackReq;

    /// Decomposes a finite matrix as U · diag(s) · Vᴴ. Returns false if the iteration does not converge.
    fn svd(
        a: MatRef<'_, Self>,
        s: DiagMut<'_, Self>,
        u: Option<MatMut<'_, Self>>,
        v: Option<MatMut<'_, Self>>,
        par: Par,
        stack: &mut MemStack,
    ) -> bool;

    /// Memory for [`Decompose::hermitian`] of an n × n matrix.
    fn hermitian_scratch(n: usize, vectors: bool, par: Par) -> StackReq;

    /// Decomposes a finite Hermitian matrix, of which the lower triangle is read, as V · diag(w) · Vᴴ, with eigenvalues in
    /// ascending order. Returns false if the iteration does not converge.
    fn hermitian(
        a: MatRef<'_, Self>,
        w: DiagMut<'_, Self>,
        v: Option<MatMut<'_, Self>>,
        par: Par,
        stack: &mut MemStack,
    ) -> bool;
}

/// A real type of which eigenvalues of general matrices are compiled, real ones and complex ones.
pub trait Eigen: RealField + Decompose {
    /// Memory for [`Eigen::real`] of an n × n matrix.
    fn real_scratch(n: usize, vectors: bool, par: Par) -> StackReq;

    /// Computes eigenvalues and right eigenvectors of a finite real matrix. Complex eigenvalues come in conjugate pairs, of
    /// which the first has its vector's real part and the second the imaginary part. Returns false if the iteration does
    /// not converge.
    fn real(
        a: MatRef<'_, Self>,
        re: DiagMut<'_, Self>,
        im: DiagMut<'_, Self>,
        v: Option<MatMut<'_, Self>>,
        par: Par,
        stack: &mut MemStack,
    ) -> bool;

    /// Memory for [`Eigen::complex`] of an n × n matrix.
    fn complex_scratch(n: usize, vectors: bool, par: Par) -> StackReq;

    /// Computes eigenvalues and right eigenvectors of a finite complex matrix. Returns false if the iteration does not
    /// converge.
    fn complex(
        a: MatRef<'_, Complex<Self>>,
        w: DiagMut<'_, Complex<Self>>,
        v: Option<MatMut<'_, Complex<Self>>>,
        par: Par,
        stack: &mut MemStack,
    ) -> bool;
}

/// Returns true if an iteration converges. A panic in the library counts as a failure to converge.
fn converges<E>(iteration: impl FnOnce() -> Result<(), E>) -> bool {
    matches!(catch_unwind(AssertUnwindSafe(iteration)), Ok(Ok(())))
}

fn compute(vectors: bool) -> ComputeEigenvectors {
    if vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No }
}

fn llt_parameters<T: ComplexField>(leaf: Option<usize>) -> Spec<llt::LltParams, T> {
    let mut parameters = Spec::<llt::LltParams, T>::default();
    if let Some(leaf) = leaf {
        parameters.recursion_threshold = leaf;
    }
    parameters
}

fn svd_parameters<T: ComplexField>() -> Spec<SvdParams, T> {
    let mut parameters = Spec::<SvdParams, T>::default();
    parameters.recursion_threshold = MIN_DIVIDE_AND_CONQUER;
    parameters
}

fn hermitian_parameters<T: ComplexField>() -> Spec<SelfAdjointEvdParams, T> {
    let mut parameters = Spec::<SelfAdjointEvdParams, T>::default();
    parameters.recursion_threshold = MIN_DIVIDE_AND_CONQUER;
    parameters
}

macro_rules! decompose {
    ($($t:ty)*) => {$(
        impl Decompose for $t {
            fn cholesky_scratch(n: usize, leaf: Option<usize>, par: Par) -> StackReq {
                llt::cholesky_in_place_scratch::<$t>(n, par, llt_parameters(leaf))
            }

            fn cholesky(a: MatMut<'_, $t>, leaf: Option<usize>, par: Par, stack: &mut MemStack) -> bool {
                llt::cholesky_in_place(a, Default::default(), par, stack, llt_parameters(leaf)).is_ok()
            }

            fn lu_scratch(n: usize, k: usize, par: Par) -> StackReq {
                StackReq::any_of(&[
                    lu::lu_in_place_scratch::<usize, $t>(n, n, par, Default::default()),
                    lu_solve::solve_in_place_scratch::<usize, $t>(n, k, par),
                ])
            }

            fn lu<'p>(
                a: MatMut<'_, $t>,
                forward: &'p mut [usize],
                backward: &'p mut [usize],
                par: Par,
                stack: &mut MemStack,
            ) -> (usize, PermRef<'p, usize>) {
                let (info, order) = lu::lu_in_place(a, forward, backward, par, stack, Default::default());
                (info.transposition_count, order)
            }

            fn lu_solve(
                lu: MatRef<'_, $t>,
                order: PermRef<'_, usize>,
                b: MatMut<'_, $t>,
                par: Par,
                stack: &mut MemStack,
            ) {
                lu_solve::solve_in_place_with_conj(lu, lu, order, Conj::No, b, par, stack);
            }

            fn qr_block(m: usize, n: usize) -> usize {
                qr::recommended_block_size::<$t>(m, n)
            }

            fn qr_scratch(m: usize, n: usize, block: usize, width: usize, par: Par) -> StackReq {
                StackReq::any_of(&[
                    qr::qr_in_place_scratch::<$t>(m, n, block, par, Default::default()),
                    householder::apply_block_householder_on_the_left_in_place_scratch::<$t>(m, block, width),
                ])
            }

            fn qr(a: MatMut<'_, $t>, factors: MatMut<'_, $t>, par: Par, stack: &mut MemStack) {
                qr::qr_in_place(a, factors, par, stack, Default::default());
            }

            fn reflect(
                reflectors: MatRef<'_, $t>,
                factors: MatRef<'_, $t>,
                to: MatMut<'_, $t>,
                par: Par,
                stack: &mut MemStack,
            ) {
                householder::apply_block_householder_on_the_left_in_place_with_conj(
                    reflectors,
                    factors,
                    Conj::No,
                    to,
                    par,
                    stack,
                );
            }

            fn svd_scratch(m: usize, n: usize, vectors: ComputeSvdVectors, par: Par) -> StackReq {
                svd::svd_scratch::<$t>(m, n, vectors, vectors, par, svd_parameters())
            }

            fn svd(
                a: MatRef<'_, $t>,
                s: DiagMut<'_, $t>,
                u: Option<MatMut<'_, $t>>,
                v: Option<MatMut<'_, $t>>,
                par: Par,
                stack: &mut MemStack,
            ) -> bool {
                converges(|| svd::svd(a, s, u, v, par, stack, svd_parameters()))
            }

            fn hermitian_scratch(n: usize, vectors: bool, par: Par) -> StackReq {
                evd::self_adjoint_evd_scratch::<$t>(n, compute(vectors), par, hermitian_parameters())
            }

            fn hermitian(
                a: MatRef<'_, $t>,
                w: DiagMut<'_, $t>,
                v: Option<MatMut<'_, $t>>,
                par: Par,
                stack: &mut MemStack,
            ) -> bool {
                converges(|| evd::self_adjoint_evd(a, w, v, par, stack, hermitian_parameters()))
            }
        }
    )*};
}
decompose!(f32 f64 Complex<f32> Complex<f64>);

macro_rules! eigen {
    ($($t:ty)*) => {$(
        impl Eigen for $t {
            fn real_scratch(n: usize, vectors: bool, par: Par) -> StackReq {
                evd::evd_scratch::<$t>(n, ComputeEigenvectors::No, compute(vectors), par, Default::default())
            }

            fn real(
                a: MatRef<'_, $t>,
                re: DiagMut<'_, $t>,
                im: DiagMut<'_, $t>,
                v: Option<MatMut<'_, $t>>,
                par: Par,
                stack: &mut MemStack,
            ) -> bool {
                converges(|| evd::evd_real(a, re, im, None, v, par, stack, Default::default()))
            }

            fn complex_scratch(n: usize, vectors: bool, par: Par) -> StackReq {
                evd::evd_scratch::<Complex<$t>>(n, ComputeEigenvectors::No, compute(vectors), par, Default::default())
            }

            fn complex(
                a: MatRef<'_, Complex<$t>>,
                w: DiagMut<'_, Complex<$t>>,
                v: Option<MatMut<'_, Complex<$t>>>,
                par: Par,
                stack: &mut MemStack,
            ) -> bool {
                converges(|| evd::evd_cplx(a, w, None, v, par, stack, Default::default()))
            }
        }
    )*};
}
eigen!(f32 f64);
