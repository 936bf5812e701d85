//! Singular values by the interface of cuSOLVER.

use std::ffi::{c_int, c_schar, c_void};

use cuprous_cuda_sys::cusolver::{
    cudaDataType_t as DataType, cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t as Mode,
    cusolverStatus_t as SolverStatus,
};

use super::memory::Matrix;
use super::{Buffers, Call, HOST_BYTES, INVALID, Result, Type, UNSUPPORTED, elements, ensure_type, has_vectors};
use super::{address, ensure, spectral, status, with_element, with_real, write};

/// The singular value decomposition of `gesvd` and `gesvdp`: the call, and how many vectors there are on both sides.
struct Singular {
    call: Call,
    extents: [i64; 2],
    widths: [Option<i64>; 2],
}

impl Singular {
    fn new(
        handle: cusolverDnHandle_t,
        params: cusolverDnParams_t,
        extents: [i64; 2],
        widths: [Option<i64>; 2],
        types: [DataType; 4],
        values_type: DataType,
    ) -> Result<Singular> {
        let call = Call::new(handle, params, &types, elements(extents[0], extents[1])?, HOST_BYTES)?;
        ensure_type(values_type, call.element.real())?;
        Ok(Singular { call, extents, widths })
    }

    /// Checks the arguments of `gesvd`, which requires at least as many rows as columns.
    fn by_jobs(
        handle: cusolverDnHandle_t,
        params: cusolverDnParams_t,
        [left, right]: [c_schar; 2],
        [m, n]: [i64; 2],
        types: [DataType; 4],
        values_type: DataType,
    ) -> Result<Singular> {
        ensure(m >= n, INVALID)?;
        let width = |job: c_schar, all: i64| match job as u8 {
            b'N' => Ok(None),
            b'S' => Ok(Some(n)),
            b'A' => Ok(Some(all)),
            _ => Err(UNSUPPORTED),
        };
        Singular::new(handle, params, [m, n], [width(left, m)?, width(right, n)?], types, values_type)
    }

    /// Checks the arguments of `gesvdp`.
    fn by_mode(
        handle: cusolverDnHandle_t,
        params: cusolverDnParams_t,
        (mode, thin): (Mode, c_int),
        [m, n]: [i64; 2],
        types: [DataType; 4],
        values_type: DataType,
    ) -> Result<Singular> {
        let least = m.min(n);
        let widths = match (has_vectors(mode)?, thin != 0) {
            (false, _) => [None, None],
            (true, true) => [Some(least), Some(least)],
            (true, false) => [Some(m), Some(n)],
        };
        Singular::new(handle, params, [m, n], widths, types, values_type)
    }

    /// Submits the decomposition. `outputs` are U and V, or with `adjoint` Vᴴ, with their leading dimensions.
    ///
    /// # Safety
    /// The operands are in live memory when the work runs.
    unsafe fn submit(
        self,
        (a, leading): (*mut c_void, i64),
        values: *mut c_void,
        outputs: [(*mut c_void, i64); 2],
        adjoint: bool,
        buffers: &Buffers,
        info: *mut c_int,
    ) -> Result {
        let [(u, u_leading), (v, v_leading)] = outputs;
        let Singular { call, extents: [m, n], widths: [left, right] } = self;
        let (a, values) = (call.matrix(a, [m, n, leading])?, address(values, call.element.real().size())?);
        let left = left.map(|width| call.matrix(u, [m, width, u_leading])).transpose()?;
        let shape = |width: i64| if adjoint { [width, n, v_leading] } else { [n, width, v_leading] };
        let right: Option<Matrix> = right.map(|width| call.matrix(v, shape(width))).transpose()?;
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_real!(call.element, T, R => unsafe {
            call.submit(buffers, info, 1, move |_| spectral::singular::<T, R>(a, values, left, right, adjoint))
        });
        done.ok_or(UNSUPPORTED)?
    }
}

/// Returns the workspaces of a singular value decomposition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgesvd_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    left: c_schar,
    right: c_schar,
    m: i64,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    values_type: DataType,
    _values: *const c_void,
    u_type: DataType,
    _u: *const c_void,
    _ldu: i64,
    vt_type: DataType,
    _vt: *const c_void,
    _ldvt: i64,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    let types = [data_type, u_type, vt_type, compute];
    status(|| {
        let problem = Singular::by_jobs(handle, params, [left, right], [m, n], types, values_type)?;
        // SAFETY: by the caller's contract.
        unsafe { problem.call.query(device, host) }
    })
}

/// Submits a singular value decomposition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgesvd(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    left: c_schar,
    right: c_schar,
    m: i64,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    values_type: DataType,
    values: *mut c_void,
    u_type: DataType,
    u: *mut c_void,
    ldu: i64,
    vt_type: DataType,
    vt: *mut c_void,
    ldvt: i64,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let types = [data_type, u_type, vt_type, compute];
        let problem = Singular::by_jobs(handle, params, [left, right], [m, n], types, values_type)?;
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        unsafe { problem.submit((a, lda), values, [(u, ldu), (vt, ldvt)], true, &buffers, info) }
    })
}

/// Returns the workspaces of a singular value decomposition by the polar decomposition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgesvdp_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    thin: c_int,
    m: i64,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    values_type: DataType,
    _values: *const c_void,
    u_type: DataType,
    _u: *const c_void,
    _ldu: i64,
    v_type: DataType,
    _v: *const c_void,
    _ldv: i64,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    let types = [data_type, u_type, v_type, compute];
    status(|| {
        let problem = Singular::by_mode(handle, params, (mode, thin), [m, n], types, values_type)?;
        // SAFETY: by the caller's contract.
        unsafe { problem.call.query(device, host) }
    })
}

/// Submits a singular value decomposition, with V instead of its adjoint. The error is reported as zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgesvdp(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    mode: Mode,
    thin: c_int,
    m: i64,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    values_type: DataType,
    values: *mut c_void,
    u_type: DataType,
    u: *mut c_void,
    ldu: i64,
    v_type: DataType,
    v: *mut c_void,
    ldv: i64,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
    error: *mut f64,
) -> SolverStatus {
    status(|| {
        let types = [data_type, u_type, v_type, compute];
        let problem = Singular::by_mode(handle, params, (mode, thin), [m, n], types, values_type)?;
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        unsafe {
            write(error, 0.0)?;
            problem.submit((a, lda), values, [(u, ldu), (v, ldv)], false, &buffers, info)
        }
    })
}
