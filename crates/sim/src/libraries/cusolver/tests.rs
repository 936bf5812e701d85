use std::ffi::c_schar;

use faer::Mat;
use num_complex::Complex;

use super::super::finish;
use super::super::number::{Element, Field};
use super::basis::*;
use super::eigen::*;
use super::svd::*;
use super::*;

type C = Complex<f64>;

const OK: SolverStatus = SolverStatus::SUCCESS;
const VECTORS: Mode = Mode::CUSOLVER_EIG_MODE_VECTOR;
const NONE: Mode = Mode::CUSOLVER_EIG_MODE_NOVECTOR;

/// An element type with its codes, and the real and the complex type of the same precision.
trait Number: Element {
    const TYPES: [DataType; 3];
    /// The tolerance of results of small matrices.
    const NEAR: f64;
    type Real: Element<Wide = f64>;
    fn complex(self) -> C {
        let (re, im) = self.wide().parts();
        C::new(re, im)
    }
    fn from_complex(z: C) -> Self {
        Self::narrow(Self::Wide::from_parts(z.re, z.im))
    }
}

macro_rules! numbers {
    ($($t:ty: $real:ty, $own:ident, $r:ident, $c:ident, $near:literal;)*) => {$(
        impl Number for $t {
            const TYPES: [DataType; 3] = [DataType::$own, DataType::$r, DataType::$c];
            const NEAR: f64 = $near;
            type Real = $real;
        }
    )*};
}
numbers! {
    f32: f32, CUDA_R_32F, CUDA_R_32F, CUDA_C_32F, 1e-4;
    f64: f64, CUDA_R_64F, CUDA_R_64F, CUDA_C_64F, 1e-11;
    Complex<f32>: f32, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, 1e-4;
    Complex<f64>: f64, CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, 1e-11;
}

/// Handle and parameters, which are leaked.
fn handles() -> (cusolverDnHandle_t, cusolverDnParams_t) {
    let (mut handle, mut params) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the calls write one handle each.
    unsafe {
        assert_eq!(cusolverDnCreate(&raw mut handle), OK);
        assert_eq!(cusolverDnCreateParams(&raw mut params), OK);
        assert_eq!(cusolverDnSetStream(handle, std::ptr::null_mut()), OK);
    }
    (handle, params)
}

/// Calls a function of the 64-bit interface with workspaces of the sizes that the other function returns. Gives the
/// statuses of `batch` matrices.
macro_rules! call {
    ($query:ident / $run:ident, ($($arg:expr),* $(,)?), $batch:expr $(, $last:expr)* $(; $of_run:expr)?) => {{
        let (handle, params) = handles();
        let (mut device, mut host, mut info) = (0, 0, vec![-1; $batch]);
        // SAFETY: the operands live until the work is done.
        unsafe {
            let to = (&raw mut device, &raw mut host);
            assert_eq!($query(handle, params, $($arg,)* to.0, to.1 $(, $last)*), OK);
            let (mut work, mut host_work) = (vec![0u64; device / 8 + 1], vec![0u64; host / 8 + 1]);
            let (at, host_at, to) = (work.as_mut_ptr().cast(), host_work.as_mut_ptr().cast(), info.as_mut_ptr());
            assert_eq!($run(handle, params, $($arg,)* at, device, host_at, host, to $(, $last)* $(, $of_run)?), OK);
            finish();
        }
        info
    }};
}

fn sample<T: Number>(rows: usize, columns: usize) -> Vec<T> {
    (0..rows * columns)
        .map(|k| T::from_complex(C::new((k * 7 % 11) as f64 - 5.0 + (k as f64).sin(), (k * 5 % 13) as f64 - 6.0)))
        .collect()
}

/// Returns a column-major matrix.
fn matrix<T: Number>(data: &[T], rows: usize, columns: usize) -> Mat<C> {
    Mat::from_fn(rows, columns, |i, j| data[i + j * rows].complex())
}

fn memory<T: Number>(a: &Mat<C>) -> Vec<T> {
    (0..a.nrows() * a.ncols()).map(|k| T::from_complex(a[(k % a.nrows(), k / a.nrows())])).collect()
}

fn pointer<T>(data: &mut [T]) -> *mut c_void {
    data.as_mut_ptr().cast()
}

fn assert_near(a: &Mat<C>, b: &Mat<C>, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    let differ = (0..a.ncols()).flat_map(|j| (0..a.nrows()).map(move |i| (a[(i, j)] - b[(i, j)]).norm()));
    let most = differ.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most });
    assert!(most < tolerance, "{most}");
}

fn identity(n: usize) -> Mat<C> {
    Mat::identity(n, n)
}

/// Runs a generic test for all element types.
macro_rules! for_each_type {
    ($test:ident) => {
        $test::<f32>();
        $test::<f64>();
        $test::<Complex<f32>>();
        $test::<Complex<f64>>();
    };
}

fn cholesky_of<T: Number>() {
    let ([t, ..], n) = (T::TYPES, 5);
    let a = matrix(&sample::<T>(n, n), n, n);
    let a = &a * a.adjoint() + identity(n);
    for (fill, upper) in [(Fill::CUBLAS_FILL_MODE_LOWER, false), (Fill::CUBLAS_FILL_MODE_UPPER, true)] {
        let mut data: Vec<T> = memory(&a);
        let run = |data: &mut [T]| {
            let d = n as i64;
            call!(cusolverDnXpotrf_bufferSize / cusolverDnXpotrf, (fill, d, t, pointer(data), d, t), 1)
        };
        assert_eq!(run(&mut data), [0]);
        let found = matrix(&data, n, n);
        let inside = |i: usize, j: usize| if upper { i <= j } else { i >= j };
        let factor = Mat::from_fn(n, n, |i, j| if inside(i, j) { found[(i, j)] } else { C::default() });
        let product = if upper { factor.adjoint() * &factor } else { &factor * factor.adjoint() };
        assert_near(&product, &a, T::NEAR * 1e3);
        let outside = |m: &Mat<C>| Mat::from_fn(n, n, |i, j| if inside(i, j) { C::default() } else { m[(i, j)] });
        assert_near(&outside(&found), &outside(&a), T::NEAR * 1e3);
        let mut indefinite = a.clone();
        indefinite[(2, 2)] = C::new(-1.0, 0.0);
        assert_eq!(run(&mut memory::<T>(&indefinite)), [3]);
        indefinite[(1, 1)] = C::new(f64::NAN, 0.0);
        assert_eq!(run(&mut memory::<T>(&indefinite)), [2]);
    }
}

#[test]
fn cholesky_factors_of_both_triangles() {
    for_each_type!(cholesky_of);
}

fn systems_of<T: Number>() {
    let ([t, ..], n, columns) = (T::TYPES, 5usize, 3usize);
    let (a, b) = (sample::<T>(n, n), sample::<T>(n, columns));
    let (mut factors, mut x, mut pivots) = (a.clone(), b.clone(), vec![0i64; n]);
    let d = n as i64;
    let factor = |data: &mut [T], pivots: &mut [i64]| {
        let (at, to) = (pointer(data), pivots.as_mut_ptr());
        let (handle, params) = handles();
        let (mut device, mut host, mut info) = (0, 0, -1);
        // SAFETY: the operands live until the work is done.
        unsafe {
            let sizes = (&raw mut device, &raw mut host);
            assert_eq!(cusolverDnXgetrf_bufferSize(handle, params, d, d, t, at, d, t, sizes.0, sizes.1), OK);
            let mut work = vec![0u64; device / 8 + 1];
            let (work, none) = (work.as_mut_ptr().cast(), std::ptr::null_mut());
            assert_eq!(
                cusolverDnXgetrf(handle, params, d, d, t, at, d, to, t, work, device, none, 0, &raw mut info),
                OK
            );
            finish();
        }
        info
    };
    assert_eq!(factor(&mut factors, &mut pivots), 0);
    let found = matrix(&factors, n, n);
    let lower = Mat::from_fn(n, n, |i, j| if i > j { found[(i, j)] } else { C::new(f64::from(i == j), 0.0) });
    let upper = Mat::from_fn(n, n, |i, j| if i <= j { found[(i, j)] } else { C::default() });
    let mut rows: Vec<usize> = (0..n).collect();
    (0..n).for_each(|k| rows.swap(k, pivots[k] as usize - 1));
    let original = matrix(&a, n, n);
    assert_near(&(lower * upper), &Mat::from_fn(n, n, |i, j| original[(rows[i], j)]), T::NEAR * 10.0);
    assert!((0..n).all(|j| (j + 1..n).all(|i| found[(i, j)].norm() < 1.5)));
    let (handle, params) = handles();
    let (mut info, right) = (-1, columns as i64);
    // SAFETY: the operands live until the work is done.
    unsafe {
        let (plain, a, b) = (Operation::CUBLAS_OP_N, pointer(&mut factors), pointer(&mut x));
        let p = pivots.as_ptr();
        assert_eq!(cusolverDnXgetrs(handle, params, plain, d, right, t, a, d, p, t, b, d, &raw mut info), OK);
        let transposed = Operation::CUBLAS_OP_T;
        let refused = cusolverDnXgetrs(handle, params, transposed, d, right, t, a, d, p, t, b, d, &raw mut info);
        assert_eq!(refused, UNSUPPORTED);
        finish();
    }
    assert_eq!(info, 0);
    assert_near(&(original * matrix(&x, n, columns)), &matrix(&b, n, columns), T::NEAR * 100.0);
    let mut singular = a;
    singular[n..2 * n].fill(T::from_complex(C::default()));
    assert_eq!(factor(&mut singular, &mut pivots), 2);
}

#[test]
fn systems_are_factored_and_solved() {
    for_each_type!(systems_of);
}

/// Returns `orgqr` for an element type, with the function that returns its workspace.
trait Basis: Number {
    fn basis(extents: [i32; 3], a: &mut [Self], tau: &[Self]);
}

macro_rules! basis {
    ($($t:ty: $query:ident, $run:ident;)*) => {$(
        impl Basis for $t {
            fn basis([m, n, k]: [i32; 3], a: &mut [Self], tau: &[Self]) {
                let (handle, _) = handles();
                let (mut elements, mut info) = (0, -1);
                let (a, tau) = (a.as_mut_ptr().cast(), tau.as_ptr().cast());
                // SAFETY: the operands live until the work is done.
                unsafe {
                    assert_eq!($query(handle, m, n, k, a, m, tau, &raw mut elements), OK);
                    let mut work = vec![[0u64; 2]; elements as usize];
                    let work = work.as_mut_ptr().cast();
                    assert_eq!($run(handle, m, n, k, a, m, tau, work, elements, &raw mut info), OK);
                    finish();
                }
                assert_eq!(info, 0);
            }
        }
    )*};
}
basis! {
    f32: cusolverDnSorgqr_bufferSize, cusolverDnSorgqr;
    f64: cusolverDnDorgqr_bufferSize, cusolverDnDorgqr;
    Complex<f32>: cusolverDnCungqr_bufferSize, cusolverDnCungqr;
    Complex<f64>: cusolverDnZungqr_bufferSize, cusolverDnZungqr;
}

fn bases_of<T: Basis>() {
    let [t, ..] = T::TYPES;
    for (m, n) in [(5usize, 3usize), (4, 4), (3, 5)] {
        let (a, least) = (sample::<T>(m, n), m.min(n));
        let (mut factors, mut tau) = (a.clone(), vec![a[0]; least]);
        let (rows, columns, at, to) = (m as i64, n as i64, pointer(&mut factors), pointer(&mut tau));
        let info = call!(cusolverDnXgeqrf_bufferSize / cusolverDnXgeqrf, (rows, columns, t, at, rows, t, to, t), 1);
        assert_eq!(info, [0]);
        let found = matrix(&factors, m, n);
        assert!((0..least).all(|k| found[(k, k)].im == 0.0), "the diagonal of R is real");
        for width in [least, m] {
            let mut q = factors[..m * least].to_vec();
            q.resize(m * width, a[0]);
            T::basis([m as i32, width as i32, least as i32], &mut q, &tau);
            let q = matrix(&q, m, width);
            assert_near(&(q.adjoint() * &q), &identity(width), T::NEAR);
            let r = Mat::from_fn(width, n, |i, j| if i <= j { found[(i, j)] } else { C::default() });
            assert_near(&(q * r), &matrix(&a, m, n), T::NEAR * 10.0);
        }
    }
}

#[test]
fn reflectors_and_bases() {
    for_each_type!(bases_of);
}

fn hermitian_of<T: Number>() {
    let ([t, real, _], n) = (T::TYPES, 6usize);
    let d = n as i64;
    let a = matrix(&sample::<T>(n, 2 * n), n, 2 * n);
    let matrices = [0, n].map(|start| {
        let part = Mat::from_fn(n, n, |i, j| a[(i, start + j)]);
        &part + part.adjoint()
    });
    for (fill, upper) in [(Fill::CUBLAS_FILL_MODE_LOWER, false), (Fill::CUBLAS_FILL_MODE_UPPER, true)] {
        // The other triangle is not read.
        let stored = matrices.each_ref().map(|a| {
            let inside = |i: usize, j: usize| if upper { i <= j } else { i >= j };
            memory::<T>(&Mat::from_fn(n, n, |i, j| if inside(i, j) { a[(i, j)] } else { C::new(f64::NAN, 0.0) }))
        });
        let check = |vectors: &[T], values: &[T::Real], a: &Mat<C>| {
            let values: Vec<f64> = values.iter().map(|w| w.wide()).collect();
            assert!(values.is_sorted());
            let v = matrix(vectors, n, n);
            let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * values[j]);
            assert_near(&(scaled * v.adjoint()), a, T::NEAR * 10.0);
            values
        };
        let mut data = stored.concat();
        let mut values = vec![T::Real::narrow(0.0); 2 * n];
        let (at, to) = (pointer(&mut data), pointer(&mut values));
        let run = call!(
            cusolverDnXsyevBatched_bufferSize / cusolverDnXsyevBatched,
            (VECTORS, fill, d, t, at, d, real, to, t),
            2,
            2
        );
        assert_eq!(run, [0, 0]);
        for k in 0..2 {
            let first = check(&data[k * n * n..], &values[k * n..][..n], &matrices[k]);
            for mode in [VECTORS, NONE] {
                let (mut one, mut values) = (stored[k].clone(), vec![T::Real::narrow(0.0); n]);
                let (at, to) = (pointer(&mut one), pointer(&mut values));
                let info =
                    call!(cusolverDnXsyevd_bufferSize / cusolverDnXsyevd, (mode, fill, d, t, at, d, real, to, t), 1);
                assert_eq!(info, [0]);
                assert_eq!(values.iter().map(|w| w.wide()).collect::<Vec<_>>(), first);
                assert_eq!(one[0].complex().re.is_nan(), mode == NONE);
            }
        }
    }
}

#[test]
fn hermitian_matrices_one_by_one_and_in_batches() {
    for_each_type!(hermitian_of);
}

fn general_of<T: Number>() {
    let [t, _, complex] = T::TYPES;
    for n in [1usize, 2, 6] {
        let (a, d) = (sample::<T>(n, n), n as i64);
        let (mut data, mut vectors, mut values) = (a.clone(), a.clone(), vec![[0u8; 16]; n]);
        let (at, w, v, none) = (pointer(&mut data), pointer(&mut values), pointer(&mut vectors), std::ptr::null_mut());
        let info = call!(
            cusolverDnXgeev_bufferSize / cusolverDnXgeev,
            (NONE, VECTORS, d, t, at, d, complex, w, t, none, d, t, v, d, t),
            1
        );
        assert_eq!(info, [0]);
        let values: Vec<C> = (0..n)
            // SAFETY: the library wrote n complex numbers of the precision of the matrix.
            .map(|k| unsafe {
                if size_of::<T::Real>() == 4 {
                    w.cast::<Complex<f32>>().add(k).read().complex()
                } else {
                    w.cast::<C>().add(k).read()
                }
            })
            .collect();
        let stored = matrix(&vectors, n, n);
        let real = t == T::TYPES[1];
        let column = |i: usize, j: usize| match (real, values[j].im) {
            (true, im) if im > 0.0 => C::new(stored[(i, j)].re, stored[(i, j + 1)].re),
            (true, im) if im < 0.0 => C::new(stored[(i, j - 1)].re, -stored[(i, j)].re),
            _ => stored[(i, j)],
        };
        let v = Mat::from_fn(n, n, column);
        let scaled = Mat::from_fn(n, n, |i, j| v[(i, j)] * values[j]);
        assert_near(&(matrix(&a, n, n) * &v), &scaled, T::NEAR * 10.0);
        for j in 0..n {
            let length: f64 = (0..n).map(|i| v[(i, j)].norm_sqr()).sum();
            assert!((length - 1.0).abs() < T::NEAR);
        }
    }
}

#[test]
fn general_matrices_and_their_conjugate_pairs() {
    for_each_type!(general_of);
}

fn singular_of<T: Number>() {
    let [t, real, _] = T::TYPES;
    for (m, n) in [(6usize, 4usize), (5, 5), (4, 6)] {
        let (a, least) = (sample::<T>(m, n), m.min(n));
        let check = |values: &[T::Real], u: &Mat<C>, v: &Mat<C>| {
            let values: Vec<f64> = values.iter().map(|s| s.wide()).collect();
            assert!(values.iter().rev().is_sorted());
            assert_near(&(u.adjoint() * u), &identity(u.ncols()), T::NEAR);
            assert_near(&(v.adjoint() * v), &identity(v.ncols()), T::NEAR);
            let scaled = Mat::from_fn(m, least, |i, j| u[(i, j)] * values[j]);
            let first = Mat::from_fn(n, least, |i, j| v[(i, j)]);
            assert_near(&(scaled * first.adjoint()), &matrix(&a, m, n), T::NEAR * 10.0);
        };
        let (rows, columns) = (m as i64, n as i64);
        for (job, wide_u, wide_v) in [(b'S', least, least), (b'A', m, n)] {
            let (mut data, mut u, mut v) = (a.clone(), vec![a[0]; m * m], vec![a[0]; n * n]);
            let mut values = vec![T::Real::narrow(0.0); least];
            let (at, s) = (pointer(&mut data), pointer(&mut values));
            let (left, right) = (pointer(&mut u), pointer(&mut v));
            if m >= n {
                let j = job as c_schar;
                let info = call!(
                    cusolverDnXgesvd_bufferSize / cusolverDnXgesvd,
                    (j, j, rows, columns, t, at, rows, real, s, t, left, rows, t, right, wide_v as i64, t),
                    1
                );
                assert_eq!(info, [0]);
                let adjoint = matrix(&v, wide_v, n);
                check(&values, &matrix(&u, m, wide_u), &adjoint.adjoint().to_owned());
            }
            let (mut data, thin) = (a.clone(), i32::from(job == b'S'));
            let at = pointer(&mut data);
            let mut error = -1.0;
            let info = call!(
                cusolverDnXgesvdp_bufferSize / cusolverDnXgesvdp,
                (VECTORS, thin, rows, columns, t, at, rows, real, s, t, left, rows, t, right, columns, t),
                1;
                &raw mut error
            );
            assert_eq!((info, error), (vec![0], 0.0));
            check(&values, &matrix(&u, m, wide_u), &matrix(&v, n, wide_v));
        }
    }
}

#[test]
fn singular_values_with_thin_and_full_vectors() {
    for_each_type!(singular_of);
}

#[test]
fn wrong_arguments_are_refused() {
    let (handle, params) = handles();
    let (mut a, mut info) = ([1f32; 4], -1);
    let (f, at, none, to) = (DataType::CUDA_R_32F, pointer(&mut a), std::ptr::null_mut(), &raw mut info);
    let lower = Fill::CUBLAS_FILL_MODE_LOWER;
    // SAFETY: no work is submitted.
    unsafe {
        let run =
            |handle, lda, t, bytes| cusolverDnXpotrf(handle, params, lower, 2, t, at, lda, t, at, bytes, none, 0, to);
        assert_eq!(run(handle, 2, f, 0), INVALID, "no workspace");
        assert_eq!(run(handle, 1, f, 99), INVALID);
        assert_eq!(run(handle, 2, DataType::CUDA_R_16F, 99), UNSUPPORTED);
        assert_eq!(run(params.cast(), 2, f, 99), SolverStatus::CUSOLVER_STATUS_NOT_INITIALIZED);
        let (mut device, mut host) = (0, 0);
        let sizes = (&raw mut device, &raw mut host);
        let job = b'S' as c_schar;
        let query = |m, n, values| {
            let (d, h) = sizes;
            cusolverDnXgesvd_bufferSize(
                handle, params, job, job, m, n, f, at, m, values, at, f, at, m, f, at, n, f, d, h,
            )
        };
        assert_eq!(query(2, 3, f), INVALID);
        assert_eq!(query(3, 2, DataType::CUDA_R_64F), UNSUPPORTED);
        assert_eq!(query(3, 2, f), OK);
        assert_eq!((cusolverDnDestroyParams(params), cusolverDnDestroy(handle)), (OK, OK));
        assert_eq!((cusolverDnDestroyParams(params), cusolverDnDestroy(handle)), (INVALID, INVALID));
    }
    assert_eq!(info, -1);
}
