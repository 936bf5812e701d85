//! hipSOLVER under the interface of cuSOLVER.
//!
//! Eigenvalues and singular values have no functions with 64-bit dimensions there, so those for one type of elements are
//! called. General eigenvalues and batches of Hermitian matrices in one call are missing symbols.

use std::ffi::{c_int, c_schar, c_void};
use std::path::Path;
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::cusolver::{
    CusolverApi, cublasFillMode_t as Fill, cublasOperation_t as Operation, cudaDataType_t as DataType,
    cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t as Mode, cusolverStatus_t as Status,
};

use super::same_data_types;
use crate::hipsolver::{
    HipsolverApi, hipDataType, hipblasFillMode_t as HipFill, hipblasOperation_t as HipOperation,
    hipsolverEigMode_t as HipMode, hipsolverStatus_t as HipStatus,
};
use crate::loader;

same_data_types!(DataType, hipDataType);

static HIP: OnceLock<HipsolverApi> = OnceLock::new();

/// Returns hipSOLVER. Its functions return statuses of their own, which `cusolver_status` translates.
///
/// # Errors
/// It is not installed.
pub fn cusolver() -> Result<&'static CusolverApi, MissingLibrary> {
    static LOADED: OnceLock<CusolverApi> = OnceLock::new();
    loader::once(&LOADED, &loader::HIPSOLVER, load)
}

/// Returns the status of cuSOLVER with the meaning of one of hipSOLVER.
#[must_use]
pub fn cusolver_status(status: Status) -> Status {
    match HipStatus(status.0) {
        HipStatus::HIPSOLVER_STATUS_SUCCESS => Status::CUSOLVER_STATUS_SUCCESS,
        HipStatus::HIPSOLVER_STATUS_NOT_INITIALIZED | HipStatus::HIPSOLVER_STATUS_HANDLE_IS_NULLPTR => {
            Status::CUSOLVER_STATUS_NOT_INITIALIZED
        }
        HipStatus::HIPSOLVER_STATUS_ALLOC_FAILED => Status::CUSOLVER_STATUS_ALLOC_FAILED,
        HipStatus::HIPSOLVER_STATUS_INVALID_VALUE | HipStatus::HIPSOLVER_STATUS_INVALID_ENUM => {
            Status::CUSOLVER_STATUS_INVALID_VALUE
        }
        HipStatus::HIPSOLVER_STATUS_EXECUTION_FAILED => Status::CUSOLVER_STATUS_EXECUTION_FAILED,
        HipStatus::HIPSOLVER_STATUS_NOT_SUPPORTED => Status::CUSOLVER_STATUS_NOT_SUPPORTED,
        HipStatus::HIPSOLVER_STATUS_ARCH_MISMATCH => Status::CUSOLVER_STATUS_ARCH_MISMATCH,
        _ => Status::CUSOLVER_STATUS_INTERNAL_ERROR,
    }
}

const NOT_SUPPORTED: Status = Status(HipStatus::HIPSOLVER_STATUS_NOT_SUPPORTED.0);
const INVALID: Status = Status(HipStatus::HIPSOLVER_STATUS_INVALID_VALUE.0);

fn load(path: &Path) -> Result<CusolverApi, libloading::Error> {
    // SAFETY: the file is hipSOLVER by its name. Each function has the parameters of the field's type: handles are
    // pointers, and types of elements have the same numbers.
    unsafe {
        let library = libloading::Library::new(path)?;
        let hip = HipsolverApi::new(path)?;
        HIP.get_or_init(|| hip);
        // None of CUDA's names is in the library, so all fields are errors until they are filled.
        let mut api = CusolverApi::new(path)?;
        macro_rules! table {
            ($($field:ident: $symbol:literal,)*) => { $(api.$field = library.get($symbol).map(|symbol| *symbol);)* };
        }
        table! {
            cusolverDnCreate: b"hipsolverDnCreate\0",
            cusolverDnDestroy: b"hipsolverDnDestroy\0",
            cusolverDnSetStream: b"hipsolverDnSetStream\0",
            cusolverDnCreateParams: b"hipsolverDnCreateParams\0",
            cusolverDnDestroyParams: b"hipsolverDnDestroyParams\0",
            cusolverDnXgeqrf: b"hipsolverDnXgeqrf\0",
            cusolverDnXgeqrf_bufferSize: b"hipsolverDnXgeqrf_bufferSize\0",
            cusolverDnXgetrf: b"hipsolverDnXgetrf\0",
            cusolverDnXgetrf_bufferSize: b"hipsolverDnXgetrf_bufferSize\0",
            cusolverDnSorgqr: b"hipsolverDnSorgqr\0",
            cusolverDnDorgqr: b"hipsolverDnDorgqr\0",
            cusolverDnCungqr: b"hipsolverDnCungqr\0",
            cusolverDnZungqr: b"hipsolverDnZungqr\0",
            cusolverDnSorgqr_bufferSize: b"hipsolverDnSorgqr_bufferSize\0",
            cusolverDnDorgqr_bufferSize: b"hipsolverDnDorgqr_bufferSize\0",
            cusolverDnCungqr_bufferSize: b"hipsolverDnCungqr_bufferSize\0",
            cusolverDnZungqr_bufferSize: b"hipsolverDnZungqr_bufferSize\0",
        }
        api.cusolverDnXpotrf = Ok(cholesky);
        api.cusolverDnXpotrf_bufferSize = Ok(cholesky_size);
        api.cusolverDnXgetrs = Ok(substitute);
        api.cusolverDnXsyevd = Ok(eigh);
        api.cusolverDnXsyevd_bufferSize = Ok(eigh_size);
        api.cusolverDnXgesvd = Ok(svd);
        api.cusolverDnXgesvd_bufferSize = Ok(svd_size);
        Ok(api)
    }
}

/// Calls a function of the library.
macro_rules! call {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match HIP.get().map(|hip| &hip.$name) {
            Some(Ok(function)) => Status(function($($arg),*).0),
            _ => NOT_SUPPORTED,
        }
    };
}

/// Calls the function of a type of elements; the names are those for float32, float64, complex64 and complex128.
macro_rules! typed {
    ($data_type:expr, [$s:ident $d:ident $c:ident $z:ident]($($arg:expr),* $(,)?)) => {
        match $data_type {
            DataType::CUDA_R_32F => call!($s($($arg),*)),
            DataType::CUDA_R_64F => call!($d($($arg),*)),
            DataType::CUDA_C_32F => call!($c($($arg),*)),
            DataType::CUDA_C_64F => call!($z($($arg),*)),
            _ => NOT_SUPPORTED,
        }
    };
}

fn fill(of: Fill) -> HipFill {
    if of == Fill::CUBLAS_FILL_MODE_UPPER { HipFill::HIPBLAS_FILL_MODE_UPPER } else { HipFill::HIPBLAS_FILL_MODE_LOWER }
}

fn mode(of: Mode) -> HipMode {
    if of == Mode::CUSOLVER_EIG_MODE_VECTOR {
        HipMode::HIPSOLVER_EIG_MODE_VECTOR
    } else {
        HipMode::HIPSOLVER_EIG_MODE_NOVECTOR
    }
}

/// Returns the bytes of an element and of its real part.
fn bytes(of: DataType) -> [usize; 2] {
    match of {
        DataType::CUDA_R_32F => [4, 4],
        DataType::CUDA_C_32F => [8, 4],
        DataType::CUDA_C_64F => [16, 8],
        _ => [8, 8],
    }
}

/// Returns dimensions as the functions of one type take them; `None` if one is too large.
fn narrow<const N: usize>(dimensions: [i64; N]) -> Option<[c_int; N]> {
    let all: Vec<c_int> = dimensions.iter().map_while(|&n| c_int::try_from(n).ok()).collect();
    all.try_into().ok()
}

/// Returns a workspace of `bytes` bytes as a number of elements.
fn elements(bytes: usize, of: DataType) -> c_int {
    c_int::try_from(bytes / self::bytes(of)[0]).unwrap_or(c_int::MAX)
}

// Every function below: the caller meets the requirements of CUDA's function, which imply those of HIP's.

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn cholesky_size(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    uplo: Fill,
    n: i64,
    of: DataType,
    a: *const c_void,
    lda: i64,
    computed: DataType,
    device: *mut usize,
    host: *mut usize,
) -> Status {
    let (of, computed) = (hipDataType(of.0), hipDataType(computed.0));
    let (handle, params) = (handle.cast(), params.cast());
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipsolverDnXpotrf_bufferSize(handle, params, fill(uplo), n, of, a, lda, computed, device, host)) }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn cholesky(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    uplo: Fill,
    n: i64,
    of: DataType,
    a: *mut c_void,
    lda: i64,
    computed: DataType,
    device: *mut c_void,
    on_device: usize,
    host: *mut c_void,
    on_host: usize,
    info: *mut c_int,
) -> Status {
    let (of, computed) = (hipDataType(of.0), hipDataType(computed.0));
    let (handle, params) = (handle.cast(), params.cast());
    // SAFETY: as for CUDA's function.
    unsafe {
        call!(hipsolverDnXpotrf(
            handle,
            params,
            fill(uplo),
            n,
            of,
            a,
            lda,
            computed,
            device,
            on_device,
            host,
            on_host,
            info
        ))
    }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn substitute(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    operation: Operation,
    n: i64,
    columns: i64,
    of: DataType,
    a: *const c_void,
    lda: i64,
    pivots: *const i64,
    of_b: DataType,
    b: *mut c_void,
    ldb: i64,
    info: *mut c_int,
) -> Status {
    let operation = match operation {
        Operation::CUBLAS_OP_N => HipOperation::HIPBLAS_OP_N,
        Operation::CUBLAS_OP_T => HipOperation::HIPBLAS_OP_T,
        _ => HipOperation::HIPBLAS_OP_C,
    };
    let (of, of_b) = (hipDataType(of.0), hipDataType(of_b.0));
    let (handle, params) = (handle.cast(), params.cast());
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipsolverDnXgetrs(handle, params, operation, n, columns, of, a, lda, pivots, of_b, b, ldb, info)) }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn eigh_size(
    handle: cusolverDnHandle_t,
    _: cusolverDnParams_t,
    vectors: Mode,
    uplo: Fill,
    n: i64,
    of: DataType,
    a: *const c_void,
    lda: i64,
    _: DataType,
    values: *const c_void,
    _: DataType,
    device: *mut usize,
    host: *mut usize,
) -> Status {
    let Some([n, lda]) = narrow([n, lda]) else { return INVALID };
    let (vectors, uplo, mut count) = (mode(vectors), fill(uplo), 0);
    // SAFETY: as for CUDA's function.
    unsafe {
        let status = typed!(
            of,
            [hipsolverDnSsyevd_bufferSize hipsolverDnDsyevd_bufferSize hipsolverDnCheevd_bufferSize
             hipsolverDnZheevd_bufferSize](
                handle.cast(), vectors, uplo, n, a.cast(), lda, values.cast(), &raw mut count)
        );
        *device = usize::try_from(count).unwrap_or(0) * bytes(of)[0];
        *host = 0;
        status
    }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn eigh(
    handle: cusolverDnHandle_t,
    _: cusolverDnParams_t,
    vectors: Mode,
    uplo: Fill,
    n: i64,
    of: DataType,
    a: *mut c_void,
    lda: i64,
    _: DataType,
    values: *mut c_void,
    _: DataType,
    device: *mut c_void,
    on_device: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Status {
    let Some([n, lda]) = narrow([n, lda]) else { return INVALID };
    let (vectors, uplo, count) = (mode(vectors), fill(uplo), elements(on_device, of));
    // SAFETY: as for CUDA's function.
    unsafe {
        typed!(
            of,
            [hipsolverDnSsyevd hipsolverDnDsyevd hipsolverDnCheevd hipsolverDnZheevd](
                handle.cast(), vectors, uplo, n, a.cast(), lda, values.cast(), device.cast(), count, info)
        )
    }
}

/// Returns the bytes at the end of a workspace for the superdiagonal, which has to be given apart.
fn superdiagonal(rows: i64, columns: i64, of: DataType) -> usize {
    let bytes = rows.min(columns).unsigned_abs() as usize * bytes(of)[1];
    // A whole number of elements of any type.
    bytes.next_multiple_of(16)
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn svd_size(
    handle: cusolverDnHandle_t,
    _: cusolverDnParams_t,
    _: c_schar,
    _: c_schar,
    rows: i64,
    columns: i64,
    of: DataType,
    _: *const c_void,
    _: i64,
    _: DataType,
    _: *const c_void,
    _: DataType,
    _: *const c_void,
    _: i64,
    _: DataType,
    _: *const c_void,
    _: i64,
    _: DataType,
    device: *mut usize,
    host: *mut usize,
) -> Status {
    let Some([m, n]) = narrow([rows, columns]) else { return INVALID };
    let mut count = 0;
    // SAFETY: as for CUDA's function.
    unsafe {
        let status = typed!(
            of,
            [hipsolverDnSgesvd_bufferSize hipsolverDnDgesvd_bufferSize hipsolverDnCgesvd_bufferSize
             hipsolverDnZgesvd_bufferSize](handle.cast(), m, n, &raw mut count)
        );
        *device = usize::try_from(count).unwrap_or(0) * bytes(of)[0] + superdiagonal(rows, columns, of);
        *host = 0;
        status
    }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn svd(
    handle: cusolverDnHandle_t,
    _: cusolverDnParams_t,
    of_u: c_schar,
    of_v: c_schar,
    rows: i64,
    columns: i64,
    of: DataType,
    a: *mut c_void,
    lda: i64,
    _: DataType,
    values: *mut c_void,
    _: DataType,
    u: *mut c_void,
    ldu: i64,
    _: DataType,
    v: *mut c_void,
    ldv: i64,
    _: DataType,
    device: *mut c_void,
    on_device: usize,
    _: *mut c_void,
    _: usize,
    info: *mut c_int,
) -> Status {
    let Some([m, n, lda, ldu, ldv]) = narrow([rows, columns, lda, ldu, ldv]) else { return INVALID };
    let Some(work) = on_device.checked_sub(superdiagonal(rows, columns, of)) else { return INVALID };
    let (rest, count) = (device.wrapping_byte_add(work), elements(work, of));
    // SAFETY: as for CUDA's function; the workspace has the size that `svd_size` returned.
    unsafe {
        typed!(
            of,
            [hipsolverDnSgesvd hipsolverDnDgesvd hipsolverDnCgesvd hipsolverDnZgesvd](
                handle.cast(), of_u, of_v, m, n, a.cast(), lda, values.cast(), u.cast(), ldu, v.cast(), ldv, device.cast(),
                count, rest.cast(), info)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_keep_their_meaning() {
        let meaning = |hip: HipStatus| cusolver_status(Status(hip.0));
        assert_eq!(meaning(HipStatus::HIPSOLVER_STATUS_SUCCESS), Status::CUSOLVER_STATUS_SUCCESS);
        // The number 7 is an internal error of cuSOLVER.
        assert_eq!(meaning(HipStatus::HIPSOLVER_STATUS_NOT_SUPPORTED), Status::CUSOLVER_STATUS_NOT_SUPPORTED);
        assert_eq!(meaning(HipStatus::HIPSOLVER_STATUS_MAPPING_ERROR), Status::CUSOLVER_STATUS_INTERNAL_ERROR);
    }

    #[test]
    fn dimensions_beyond_32_bits_are_refused() {
        assert_eq!(narrow([3, 1 << 31]), None);
        assert_eq!(narrow([3, 4]), Some([3, 4]));
    }
}
