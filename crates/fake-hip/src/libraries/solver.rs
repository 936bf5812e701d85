//! hipSOLVER on cuSOLVER. Functions for one type of elements call those for any type; what these compute on the host is kept
//! with the handle.

use std::ffi::{c_int, c_schar, c_void};

use cuprous_cuda_sys::cusolver::{
    cublasFillMode_t, cublasOperation_t, cudaDataType_t as DataType, cusolverDnHandle_t, cusolverDnParams_t,
    cusolverEigMode_t, cusolverStatus_t,
};
use cuprous_hip_sys::hipsolver::{
    HipsolverApi, double2, float2, hipDataType, hipStream_t, hipblasFillMode_t, hipblasOperation_t,
    hipsolverDnParams_t, hipsolverEigMode_t, hipsolverHandle_t, hipsolverStatus_t as Status,
};

use super::{declared, library};

declared!(HipsolverApi: hipsolverDnCreate hipsolverDnDestroy hipsolverDnSetStream hipsolverDnCreateParams
    hipsolverDnDestroyParams hipsolverDnXgeqrf hipsolverDnXgeqrf_bufferSize hipsolverDnXgetrf
    hipsolverDnXgetrf_bufferSize hipsolverDnXgetrs hipsolverDnXpotrf hipsolverDnXpotrf_bufferSize hipsolverDnSorgqr
    hipsolverDnDorgqr hipsolverDnCungqr hipsolverDnZungqr hipsolverDnSorgqr_bufferSize hipsolverDnDorgqr_bufferSize
    hipsolverDnCungqr_bufferSize hipsolverDnZungqr_bufferSize hipsolverDnSsyevd hipsolverDnDsyevd hipsolverDnCheevd
    hipsolverDnZheevd hipsolverDnSsyevd_bufferSize hipsolverDnDsyevd_bufferSize hipsolverDnCheevd_bufferSize
    hipsolverDnZheevd_bufferSize hipsolverDnSgesvd hipsolverDnDgesvd hipsolverDnCgesvd hipsolverDnZgesvd
    hipsolverDnSgesvd_bufferSize hipsolverDnDgesvd_bufferSize hipsolverDnCgesvd_bufferSize
    hipsolverDnZgesvd_bufferSize);

/// A handle with the parameters that CUDA's functions take, and workspaces on the host.
struct Handle {
    own: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    host: Vec<Box<[u8]>>,
}

fn status(of: cusolverStatus_t) -> Status {
    match of {
        cusolverStatus_t::CUSOLVER_STATUS_SUCCESS => Status::HIPSOLVER_STATUS_SUCCESS,
        cusolverStatus_t::CUSOLVER_STATUS_INVALID_VALUE => Status::HIPSOLVER_STATUS_INVALID_VALUE,
        cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED => Status::HIPSOLVER_STATUS_NOT_SUPPORTED,
        cusolverStatus_t::CUSOLVER_STATUS_ALLOC_FAILED => Status::HIPSOLVER_STATUS_ALLOC_FAILED,
        _ => Status::HIPSOLVER_STATUS_INTERNAL_ERROR,
    }
}

macro_rules! solver {
    ($name:ident($($arg:expr),* $(,)?)) => {
        status(library!(cusolver, cusolverStatus_t::CUSOLVER_STATUS_NOT_SUPPORTED, $name($($arg),*)))
    };
}

fn data_type(of: hipDataType) -> DataType {
    match of {
        hipDataType::HIP_R_32F => DataType::CUDA_R_32F,
        hipDataType::HIP_R_64F => DataType::CUDA_R_64F,
        hipDataType::HIP_C_32F => DataType::CUDA_C_32F,
        hipDataType::HIP_C_64F => DataType::CUDA_C_64F,
        _ => DataType(u32::MAX),
    }
}

fn fill(of: hipblasFillMode_t) -> cublasFillMode_t {
    match of {
        hipblasFillMode_t::HIPBLAS_FILL_MODE_UPPER => cublasFillMode_t::CUBLAS_FILL_MODE_UPPER,
        hipblasFillMode_t::HIPBLAS_FILL_MODE_LOWER => cublasFillMode_t::CUBLAS_FILL_MODE_LOWER,
        _ => cublasFillMode_t(u32::MAX),
    }
}

fn operation(of: hipblasOperation_t) -> cublasOperation_t {
    match of {
        hipblasOperation_t::HIPBLAS_OP_N => cublasOperation_t::CUBLAS_OP_N,
        hipblasOperation_t::HIPBLAS_OP_T => cublasOperation_t::CUBLAS_OP_T,
        _ => cublasOperation_t(u32::MAX),
    }
}

fn mode(of: hipsolverEigMode_t) -> cusolverEigMode_t {
    match of {
        hipsolverEigMode_t::HIPSOLVER_EIG_MODE_VECTOR => cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR,
        hipsolverEigMode_t::HIPSOLVER_EIG_MODE_NOVECTOR => cusolverEigMode_t::CUSOLVER_EIG_MODE_NOVECTOR,
        _ => cusolverEigMode_t(u32::MAX),
    }
}

/// Returns CUDA's handle.
unsafe fn own(handle: hipsolverHandle_t) -> cusolverDnHandle_t {
    // SAFETY: the caller passes a handle of `hipsolverDnCreate`.
    unsafe { (*handle.cast::<Handle>()).own }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsolverDnCreate(to: *mut hipsolverHandle_t) -> Status {
    let mut handle = Handle { own: std::ptr::null_mut(), params: std::ptr::null_mut(), host: Vec::new() };
    // SAFETY: each call writes one handle; the caller passes the address of a variable.
    unsafe {
        let all =
            [solver!(cusolverDnCreate(&raw mut handle.own)), solver!(cusolverDnCreateParams(&raw mut handle.params))];
        *to = Box::into_raw(Box::new(handle)).cast();
        all.into_iter()
            .find(|status| *status != Status::HIPSOLVER_STATUS_SUCCESS)
            .unwrap_or(Status::HIPSOLVER_STATUS_SUCCESS)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsolverDnDestroy(handle: hipsolverHandle_t) -> Status {
    // SAFETY: the caller passes a handle that is destroyed once.
    unsafe {
        let handle = Box::from_raw(handle.cast::<Handle>());
        let _at_worst_leaked = solver!(cusolverDnDestroyParams(handle.params));
        solver!(cusolverDnDestroy(handle.own))
    }
}

/// Defines functions: the name, CUDA's name, the parameters, and the arguments that differ.
macro_rules! forward {
    ($($hip:ident = $cuda:ident($($arg:ident: $type:ty = $value:expr),* $(,)?);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($($arg: $type),*) -> Status {
            // SAFETY: the caller passes what the library requires.
            unsafe { solver!($cuda($($value),*)) }
        }
    )*};
}

forward! {
    hipsolverDnSetStream = cusolverDnSetStream(
        handle: hipsolverHandle_t = own(handle), stream: hipStream_t = stream.cast(),
    );
    hipsolverDnCreateParams = cusolverDnCreateParams(to: *mut hipsolverDnParams_t = to.cast());
    hipsolverDnDestroyParams = cusolverDnDestroyParams(params: hipsolverDnParams_t = params.cast());
    hipsolverDnXgeqrf_bufferSize = cusolverDnXgeqrf_bufferSize(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(), m: i64 = m, n: i64 = n,
        of_a: hipDataType = data_type(of_a), a: *const c_void = a, lda: i64 = lda,
        of_tau: hipDataType = data_type(of_tau), tau: *const c_void = tau, computed: hipDataType = data_type(computed),
        device: *mut usize = device, host: *mut usize = host,
    );
    hipsolverDnXgeqrf = cusolverDnXgeqrf(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(), m: i64 = m, n: i64 = n,
        of_a: hipDataType = data_type(of_a), a: *mut c_void = a, lda: i64 = lda,
        of_tau: hipDataType = data_type(of_tau), tau: *mut c_void = tau, computed: hipDataType = data_type(computed),
        device: *mut c_void = device, on_device: usize = on_device, host: *mut c_void = host, on_host: usize = on_host,
        info: *mut c_int = info,
    );
    hipsolverDnXgetrf_bufferSize = cusolverDnXgetrf_bufferSize(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(), m: i64 = m, n: i64 = n,
        of_a: hipDataType = data_type(of_a), a: *const c_void = a, lda: i64 = lda,
        computed: hipDataType = data_type(computed), device: *mut usize = device, host: *mut usize = host,
    );
    hipsolverDnXgetrf = cusolverDnXgetrf(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(), m: i64 = m, n: i64 = n,
        of_a: hipDataType = data_type(of_a), a: *mut c_void = a, lda: i64 = lda, pivots: *mut i64 = pivots,
        computed: hipDataType = data_type(computed), device: *mut c_void = device, on_device: usize = on_device,
        host: *mut c_void = host, on_host: usize = on_host, info: *mut c_int = info,
    );
    hipsolverDnXgetrs = cusolverDnXgetrs(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(),
        op: hipblasOperation_t = operation(op), n: i64 = n, columns: i64 = columns,
        of_a: hipDataType = data_type(of_a), a: *const c_void = a, lda: i64 = lda, pivots: *const i64 = pivots,
        of_b: hipDataType = data_type(of_b), b: *mut c_void = b, ldb: i64 = ldb, info: *mut c_int = info,
    );
    hipsolverDnXpotrf_bufferSize = cusolverDnXpotrf_bufferSize(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(),
        uplo: hipblasFillMode_t = fill(uplo), n: i64 = n, of_a: hipDataType = data_type(of_a), a: *const c_void = a,
        lda: i64 = lda, computed: hipDataType = data_type(computed), device: *mut usize = device,
        host: *mut usize = host,
    );
    hipsolverDnXpotrf = cusolverDnXpotrf(
        handle: hipsolverHandle_t = own(handle), params: hipsolverDnParams_t = params.cast(),
        uplo: hipblasFillMode_t = fill(uplo), n: i64 = n, of_a: hipDataType = data_type(of_a), a: *mut c_void = a,
        lda: i64 = lda, computed: hipDataType = data_type(computed), device: *mut c_void = device,
        on_device: usize = on_device, host: *mut c_void = host, on_host: usize = on_host, info: *mut c_int = info,
    );
}

/// Returns the workspaces of a function in elements, or why there are none.
unsafe fn count<T>(to: *mut c_int, sizes: impl FnOnce(*mut usize, *mut usize) -> Status) -> Status {
    let (mut device, mut host) = (0, 0);
    let status = sizes(&raw mut device, &raw mut host);
    // SAFETY: the caller passes the address of a variable.
    unsafe { *to = device.div_ceil(size_of::<T>()) as c_int };
    status
}

/// Returns memory on the host that lives as long as the handle: the work runs after the call.
unsafe fn on_host(handle: hipsolverHandle_t, bytes: usize) -> *mut c_void {
    // SAFETY: the caller passes a handle of `hipsolverDnCreate`.
    let host = unsafe { &mut (*handle.cast::<Handle>()).host };
    host.push(vec![0; bytes.max(1)].into_boxed_slice());
    host.last_mut().map_or(std::ptr::null_mut(), |block| block.as_mut_ptr().cast())
}

/// Defines the functions of one type of elements.
macro_rules! typed {
    ($element:ty, $real:ty, $of:ident, $of_real:ident; $basis:ident = $cuda_basis:ident,
     $basis_size:ident = $cuda_basis_size:ident; $eigh:ident, $eigh_size:ident; $svd:ident, $svd_size:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $basis_size(
            handle: hipsolverHandle_t,
            m: c_int,
            n: c_int,
            k: c_int,
            a: *const $element,
            lda: c_int,
            tau: *const $element,
            to: *mut c_int,
        ) -> Status {
            // SAFETY: the caller passes what the library requires.
            unsafe { solver!($cuda_basis_size(own(handle), m, n, k, a.cast(), lda, tau.cast(), to)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $basis(
            handle: hipsolverHandle_t,
            m: c_int,
            n: c_int,
            k: c_int,
            a: *mut $element,
            lda: c_int,
            tau: *const $element,
            work: *mut $element,
            count: c_int,
            info: *mut c_int,
        ) -> Status {
            // SAFETY: as above.
            unsafe { solver!($cuda_basis(own(handle), m, n, k, a.cast(), lda, tau.cast(), work.cast(), count, info)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $eigh_size(
            handle: hipsolverHandle_t,
            vectors: hipsolverEigMode_t,
            uplo: hipblasFillMode_t,
            n: c_int,
            a: *const $element,
            lda: c_int,
            values: *const $real,
            to: *mut c_int,
        ) -> Status {
            let (of, of_values, n, lda) = (DataType::$of, DataType::$of_real, i64::from(n), i64::from(lda));
            // SAFETY: as above.
            unsafe {
                let params = (*handle.cast::<Handle>()).params;
                count::<$element>(to, |device, host| {
                    let (vectors, uplo) = (mode(vectors), fill(uplo));
                    solver!(cusolverDnXsyevd_bufferSize(
                        own(handle),
                        params,
                        vectors,
                        uplo,
                        n,
                        of,
                        a.cast(),
                        lda,
                        of_values,
                        values.cast(),
                        of,
                        device,
                        host
                    ))
                })
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $eigh(
            handle: hipsolverHandle_t,
            vectors: hipsolverEigMode_t,
            uplo: hipblasFillMode_t,
            n: c_int,
            a: *mut $element,
            lda: c_int,
            values: *mut $real,
            work: *mut $element,
            count: c_int,
            info: *mut c_int,
        ) -> Status {
            let (of, of_values, n, lda) = (DataType::$of, DataType::$of_real, i64::from(n), i64::from(lda));
            let (mut device, mut host, vectors, uplo) = (0, 0, mode(vectors), fill(uplo));
            // SAFETY: as above.
            unsafe {
                let params = (*handle.cast::<Handle>()).params;
                solver!(cusolverDnXsyevd_bufferSize(
                    own(handle),
                    params,
                    vectors,
                    uplo,
                    n,
                    of,
                    a.cast(),
                    lda,
                    of_values,
                    values.cast(),
                    of,
                    &raw mut device,
                    &raw mut host
                ));
                let bytes = count as usize * size_of::<$element>();
                solver!(cusolverDnXsyevd(
                    own(handle),
                    params,
                    vectors,
                    uplo,
                    n,
                    of,
                    a.cast(),
                    lda,
                    of_values,
                    values.cast(),
                    of,
                    work.cast(),
                    bytes,
                    on_host(handle, host),
                    host,
                    info
                ))
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $svd_size(handle: hipsolverHandle_t, m: c_int, n: c_int, to: *mut c_int) -> Status {
            let (of, real, m, n, job) =
                (DataType::$of, DataType::$of_real, i64::from(m), i64::from(n), b'A' as c_schar);
            // The addresses are not read.
            let any = 256 as *mut c_void;
            // SAFETY: as above.
            unsafe {
                let params = (*handle.cast::<Handle>()).params;
                count::<$element>(to, |device, host| {
                    solver!(cusolverDnXgesvd_bufferSize(
                        own(handle),
                        params,
                        job,
                        job,
                        m,
                        n,
                        of,
                        any,
                        m,
                        real,
                        any,
                        of,
                        any,
                        m,
                        of,
                        any,
                        n,
                        of,
                        device,
                        host
                    ))
                })
            }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $svd(
            handle: hipsolverHandle_t,
            of_u: c_schar,
            of_v: c_schar,
            m: c_int,
            n: c_int,
            a: *mut $element,
            lda: c_int,
            values: *mut $real,
            u: *mut $element,
            ldu: c_int,
            v: *mut $element,
            ldv: c_int,
            work: *mut $element,
            count: c_int,
            superdiagonal: *mut $real,
            info: *mut c_int,
        ) -> Status {
            if superdiagonal.is_null() {
                return Status::HIPSOLVER_STATUS_INVALID_VALUE;
            }
            let (of, real, m, n) = (DataType::$of, DataType::$of_real, i64::from(m), i64::from(n));
            let [lda, ldu, ldv] = [lda, ldu, ldv].map(i64::from);
            let (mut device, mut host) = (0, 0);
            // SAFETY: as above.
            unsafe {
                let params = (*handle.cast::<Handle>()).params;
                solver!(cusolverDnXgesvd_bufferSize(
                    own(handle),
                    params,
                    of_u,
                    of_v,
                    m,
                    n,
                    of,
                    a.cast(),
                    lda,
                    real,
                    values.cast(),
                    of,
                    u.cast(),
                    ldu,
                    of,
                    v.cast(),
                    ldv,
                    of,
                    &raw mut device,
                    &raw mut host
                ));
                let bytes = count as usize * size_of::<$element>();
                solver!(cusolverDnXgesvd(
                    own(handle),
                    params,
                    of_u,
                    of_v,
                    m,
                    n,
                    of,
                    a.cast(),
                    lda,
                    real,
                    values.cast(),
                    of,
                    u.cast(),
                    ldu,
                    of,
                    v.cast(),
                    ldv,
                    of,
                    work.cast(),
                    bytes,
                    on_host(handle, host),
                    host,
                    info
                ))
            }
        }
    };
}

typed!(f32, f32, CUDA_R_32F, CUDA_R_32F; hipsolverDnSorgqr = cusolverDnSorgqr,
    hipsolverDnSorgqr_bufferSize = cusolverDnSorgqr_bufferSize; hipsolverDnSsyevd, hipsolverDnSsyevd_bufferSize;
    hipsolverDnSgesvd, hipsolverDnSgesvd_bufferSize);
typed!(f64, f64, CUDA_R_64F, CUDA_R_64F; hipsolverDnDorgqr = cusolverDnDorgqr,
    hipsolverDnDorgqr_bufferSize = cusolverDnDorgqr_bufferSize; hipsolverDnDsyevd, hipsolverDnDsyevd_bufferSize;
    hipsolverDnDgesvd, hipsolverDnDgesvd_bufferSize);
typed!(float2, f32, CUDA_C_32F, CUDA_R_32F; hipsolverDnCungqr = cusolverDnCungqr,
    hipsolverDnCungqr_bufferSize = cusolverDnCungqr_bufferSize; hipsolverDnCheevd, hipsolverDnCheevd_bufferSize;
    hipsolverDnCgesvd, hipsolverDnCgesvd_bufferSize);
typed!(double2, f64, CUDA_C_64F, CUDA_R_64F; hipsolverDnZungqr = cusolverDnZungqr,
    hipsolverDnZungqr_bufferSize = cusolverDnZungqr_bufferSize; hipsolverDnZheevd, hipsolverDnZheevd_bufferSize;
    hipsolverDnZgesvd, hipsolverDnZgesvd_bufferSize);
