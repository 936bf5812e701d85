//! Eigenvalues by the interface of cuSOLVER.

use std::ffi::{c_int, c_void};

use cuprous_cuda_sys::cusolver::{
    cublasFillMode_t as Fill, cudaDataType_t as DataType, cusolverDnHandle_t, cusolverDnParams_t,
    cusolverEigMode_t as Mode, cusolverStatus_t as SolverStatus,
};
use num_complex::Complex;

use super::{Buffers, Call, HOST_BYTES, INVALID, Result, Type, UNSUPPORTED, elements, ensure_type, has_vectors};
use super::{address, ensure, extent, is_upper, spectral, status, with_element, with_real};

/// The Hermitian problem of `syevd` and `syevBatched`.
struct Hermitian {
    call: Call,
    vectors: bool,
    upper: bool,
    n: i64,
    batch: usize,
}

impl Hermitian {
    fn new(
        handle: cusolverDnHandle_t,
        params: cusolverDnParams_t,
        (mode, fill): (Mode, Fill),
        (n, batch): (i64, i64),
        [data_type, values_type, compute]: [DataType; 3],
    ) -> Result<Hermitian> {
        let size = elements(n, n)?.checked_mul(extent(batch)?).ok_or(INVALID)?;
        let call = Call::new(handle, params, &[data_type, compute], size, HOST_BYTES)?;
        ensure_type(values_type, call.element.real())?;
        Ok(Hermitian { call, vectors: has_vectors(mode)?, upper: is_upper(fill)?, n, batch: extent(batch)? })
    }

    /// # Safety
    /// The operands are in live memory when the work runs.
    unsafe fn submit(
        self,
        a: *mut c_void,
        leading: i64,
        values: *mut c_void,
        buffers: &Buffers,
        info: *mut c_int,
    ) -> Result {
        let Hermitian { call, vectors, upper, n, batch } = self;
        let (a, values) = (call.matrix(a, [n, n, leading])?, address(values, call.element.real().size())?);
        let n = a.rows;
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_real!(call.element, T, R => unsafe {
            call.submit(buffers, info, batch, move |k| {
                let values = values + k * n * size_of::<R>();
                spectral::hermitian::<T, R>(a.of_batch::<T>(k), upper, vectors, values)
            })
        });
        done.ok_or(UNSUPPORTED)?
    }
}

/// Returns the workspaces for the eigenvalues of a Hermitian matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXsyevd_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    fill: Fill,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    values_type: DataType,
    _values: *const c_void,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    let types = [data_type, values_type, compute];
    // SAFETY: by the caller's contract.
    status(|| unsafe { Hermitian::new(handle, params, (mode, fill), (n, 1), types)?.call.query(device, host) })
}

/// Submits the decomposition of a Hermitian matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXsyevd(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    fill: Fill,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    values_type: DataType,
    values: *mut c_void,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let problem = Hermitian::new(handle, params, (mode, fill), (n, 1), [data_type, values_type, compute])?;
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        unsafe { problem.submit(a, lda, values, &buffers, info) }
    })
}

/// Returns the workspaces for the eigenvalues of a batch of Hermitian matrices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXsyevBatched_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    fill: Fill,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    values_type: DataType,
    _values: *const c_void,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
    batch: i64,
) -> SolverStatus {
    let types = [data_type, values_type, compute];
    // SAFETY: by the caller's contract.
    status(|| unsafe { Hermitian::new(handle, params, (mode, fill), (n, batch), types)?.call.query(device, host) })
}

/// Submits the decomposition of a batch of Hermitian matrices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXsyevBatched(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    fill: Fill,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    values_type: DataType,
    values: *mut c_void,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
    batch: i64,
) -> SolverStatus {
    status(|| {
        let problem = Hermitian::new(handle, params, (mode, fill), (n, batch), [data_type, values_type, compute])?;
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        unsafe { problem.submit(a, lda, values, &buffers, info) }
    })
}

/// Checks the arguments of `geev`. Returns whether there are right eigenvectors. Left ones are not supported.
fn general_call(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    [left, right]: [Mode; 2],
    n: i64,
    types: [DataType; 4],
    values_type: DataType,
) -> Result<(Call, bool)> {
    let call = Call::new(handle, params, &types, elements(n, n)?, HOST_BYTES)?;
    ensure_type(values_type, call.element.complex())?;
    ensure(!has_vectors(left)?, UNSUPPORTED)?;
    Ok((call, has_vectors(right)?))
}

/// Returns the workspaces for the eigenvalues of a general matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgeev_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    left: Mode,
    right: Mode,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    values_type: DataType,
    _values: *const c_void,
    left_type: DataType,
    _vl: *const c_void,
    _ldvl: i64,
    right_type: DataType,
    _vr: *const c_void,
    _ldvr: i64,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    let types = [data_type, left_type, right_type, compute];
    status(|| {
        let (call, _) = general_call(handle, params, [left, right], n, types, values_type)?;
        // SAFETY: by the caller's contract.
        unsafe { call.query(device, host) }
    })
}

/// Submits the decomposition of a general matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgeev(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    left: Mode,
    right: Mode,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    values_type: DataType,
    values: *mut c_void,
    left_type: DataType,
    _vl: *mut c_void,
    _ldvl: i64,
    right_type: DataType,
    vr: *mut c_void,
    ldvr: i64,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let types = [data_type, left_type, right_type, compute];
        let (call, vectors) = general_call(handle, params, [left, right], n, types, values_type)?;
        let (a, values) = (call.matrix(a, [n, n, lda])?, address(values, call.element.complex().size())?);
        let vr = if vectors { Some(call.matrix(vr, [n, n, ldvr])?) } else { None };
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_real!(call.element, T, R => unsafe {
            call.submit(&buffers, info, 1, move |_| spectral::general::<T, Complex<R>>(a, values, vr))
        });
        done.ok_or(UNSUPPORTED)?
    })
}
