//! cuSOLVER: matrix decompositions, computed in float64 or complex128.

pub mod basis;
pub mod eigen;
mod factor;
mod memory;
mod spectral;
pub mod svd;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuprous_cuda_sys::cusolver::{
    cublasFillMode_t as Fill, cublasOperation_t as Operation, cudaDataType_t as DataType, cudaStream_t,
    cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t as Mode, cusolverStatus_t as SolverStatus,
};

use super::number::{Type, with_element};
use super::{Status, address, ensure, extent, objects, scribble, status, submit, write};
use memory::Matrix;

type Result<T = ()> = std::result::Result<T, SolverStatus>;

const INVALID: SolverStatus = SolverStatus::INVALID;
const UNSUPPORTED: SolverStatus = SolverStatus::UNSUPPORTED;

/// Written as the status of a matrix if its computation panics.
const PANICKED: i32 = i32::MAX;

/// Bytes of the workspace on the host of functions that iterate.
const HOST_BYTES: usize = 64;

#[derive(Clone)]
struct Handle {
    stream: usize,
}

struct Params;

/// What the functions share: the stream, the element type and the bytes of workspace on the device and on the host.
#[derive(Clone, Copy)]
struct Call {
    stream: usize,
    element: Type,
    workspace: [usize; 2],
}

/// The workspaces that a caller passes.
struct Buffers {
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
}

impl Call {
    /// Checks handle, parameters and types, which must be equal. The workspace on the device has `elements` elements.
    fn new(
        handle: cusolverDnHandle_t,
        params: cusolverDnParams_t,
        types: &[DataType],
        elements: usize,
        host_bytes: usize,
    ) -> Result<Call> {
        objects::update(params.addr(), |_: &mut Params| ()).ok_or(INVALID)?;
        let element = element(types[0])?;
        ensure(types.iter().all(|&t| t == types[0]), UNSUPPORTED)?;
        Ok(Call { stream: stream(handle)?, element, workspace: [elements * element.size(), host_bytes] })
    }

    /// Writes the bytes of the workspaces.
    ///
    /// # Safety
    /// The pointers are null or valid for writes.
    unsafe fn query(&self, device: *mut usize, host: *mut usize) -> Result {
        // SAFETY: by the caller's contract.
        unsafe {
            write(device, self.workspace[0])?;
            write(host, self.workspace[1])
        }
    }

    /// Returns a matrix argument.
    fn matrix(&self, at: *const c_void, [rows, columns, leading]: [i64; 3]) -> Result<Matrix> {
        ensure(leading >= rows.max(1), INVALID)?;
        let at = address(at, self.element.size())?;
        Ok(Matrix { at, rows: extent(rows)?, columns: extent(columns)?, leading: extent(leading)? })
    }

    /// Submits work that returns a status for each matrix of a batch.
    ///
    /// # Safety
    /// Workspaces and statuses are in live memory when the work runs.
    unsafe fn submit(
        self,
        buffers: &Buffers,
        info: *mut c_int,
        batch: usize,
        work: impl Fn(usize) -> i32 + Send + Sync + 'static,
    ) -> Result {
        let info = address(info, align_of::<c_int>())?;
        let [device_bytes, host_bytes] = self.workspace;
        ensure(buffers.device_bytes >= device_bytes && buffers.host_bytes >= host_bytes, INVALID)?;
        let device = if device_bytes == 0 { 0 } else { address(buffers.device, 1)? };
        let host = if host_bytes == 0 { 0 } else { address(buffers.host, 1)? };
        submit(self.stream, move || {
            // SAFETY: by the caller's contract.
            unsafe {
                scribble(device, device_bytes);
                scribble(host, host_bytes);
            }
            for k in 0..batch {
                let found = catch_unwind(AssertUnwindSafe(|| work(k))).unwrap_or(PANICKED);
                // SAFETY: by the caller's contract.
                unsafe { (info as *mut i32).add(k).write(found) };
            }
        })
    }
}

fn stream(handle: cusolverDnHandle_t) -> Result<usize> {
    let Handle { stream } = objects::get(handle.addr()).ok_or(SolverStatus::CUSOLVER_STATUS_NOT_INITIALIZED)?;
    Ok(stream)
}

/// Returns the element type, if it is supported.
fn element(data_type: DataType) -> Result<Type> {
    Type::of(data_type.0).filter(|&element| !matches!(element, Type::F16 | Type::Bf16)).ok_or(UNSUPPORTED)
}

fn is_upper(fill: Fill) -> Result<bool> {
    match fill {
        Fill::CUBLAS_FILL_MODE_LOWER => Ok(false),
        Fill::CUBLAS_FILL_MODE_UPPER => Ok(true),
        _ => Err(INVALID),
    }
}

fn has_vectors(mode: Mode) -> Result<bool> {
    match mode {
        Mode::CUSOLVER_EIG_MODE_NOVECTOR => Ok(false),
        Mode::CUSOLVER_EIG_MODE_VECTOR => Ok(true),
        _ => Err(INVALID),
    }
}

/// Returns an error unless `data_type` is `expected`.
fn ensure_type(data_type: DataType, expected: Type) -> Result {
    ensure(Type::of(data_type.0) == Some(expected), UNSUPPORTED)
}

/// Evaluates an expression with `$t` as the Rust type of an element and `$r` as the real type of the same precision.
macro_rules! with_real {
    ($element:expr, $t:ident, $r:ident => $body:expr) => {
        match $element {
            Type::F32 | Type::C64 => {
                type $r = f32;
                with_element!($element, $t => $body)
            }
            _ => {
                type $r = f64;
                with_element!($element, $t => $body)
            }
        }
    };
}
use with_real;

/// Returns the number of elements of a matrix.
fn elements(rows: i64, columns: i64) -> Result<usize> {
    extent::<SolverStatus>(rows)?.checked_mul(extent(columns)?).ok_or(INVALID)
}

/// Returns the version of CUDA 13.1's library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverGetVersion(version: *mut c_int) -> SolverStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(version, 12_000) })
}

/// Creates a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnCreate(handle: *mut cusolverDnHandle_t) -> SolverStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(handle, objects::create(Handle { stream: 0 }) as cusolverDnHandle_t) })
}

/// Destroys a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnDestroy(handle: cusolverDnHandle_t) -> SolverStatus {
    status(|| objects::destroy::<Handle>(handle.addr()).ok_or(INVALID))
}

/// Sets the stream of later calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnSetStream(handle: cusolverDnHandle_t, stream: cudaStream_t) -> SolverStatus {
    status(|| objects::update(handle.addr(), |h: &mut Handle| h.stream = stream.addr()).ok_or(INVALID))
}

/// Creates parameters, of which there are none to set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnCreateParams(params: *mut cusolverDnParams_t) -> SolverStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { write(params, objects::create(Params) as cusolverDnParams_t) })
}

/// Destroys parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnDestroyParams(params: cusolverDnParams_t) -> SolverStatus {
    status(|| objects::destroy::<Params>(params.addr()).ok_or(INVALID))
}

/// Returns the workspaces of a Cholesky factorization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXpotrf_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    _fill: Fill,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { Call::new(handle, params, &[data_type, compute], elements(n, 1)?, 0)?.query(device, host) })
}

/// Submits a Cholesky factorization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXpotrf(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    fill: Fill,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let call = Call::new(handle, params, &[data_type, compute], elements(n, 1)?, 0)?;
        let (a, upper) = (call.matrix(a, [n, n, lda])?, is_upper(fill)?);
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_element!(call.element, T => unsafe {
            call.submit(&buffers, info, 1, move |_| factor::cholesky::<T>(a, upper))
        });
        done.ok_or(UNSUPPORTED)?
    })
}

/// Returns the workspaces of a QR factorization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgeqrf_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    tau_type: DataType,
    _tau: *const c_void,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    let types = [data_type, tau_type, compute];
    // SAFETY: by the caller's contract.
    status(|| unsafe { Call::new(handle, params, &types, elements(m, n)?, 0)?.query(device, host) })
}

/// Submits a QR factorization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgeqrf(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    tau_type: DataType,
    tau: *mut c_void,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let call = Call::new(handle, params, &[data_type, tau_type, compute], elements(m, n)?, 0)?;
        let (a, tau) = (call.matrix(a, [m, n, lda])?, address(tau, call.element.size())?);
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_element!(call.element, T => unsafe {
            call.submit(&buffers, info, 1, move |_| factor::qr::<T>(a, tau))
        });
        done.ok_or(UNSUPPORTED)?
    })
}

/// Returns the workspaces of an LU factorization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgetrf_bufferSize(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data_type: DataType,
    _a: *const c_void,
    _lda: i64,
    compute: DataType,
    device: *mut usize,
    host: *mut usize,
) -> SolverStatus {
    // SAFETY: by the caller's contract.
    status(|| unsafe { Call::new(handle, params, &[data_type, compute], elements(m, n)?, 0)?.query(device, host) })
}

/// Submits an LU factorization with pivots, which are required.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgetrf(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    m: i64,
    n: i64,
    data_type: DataType,
    a: *mut c_void,
    lda: i64,
    pivots: *mut i64,
    compute: DataType,
    device: *mut c_void,
    device_bytes: usize,
    host: *mut c_void,
    host_bytes: usize,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let call = Call::new(handle, params, &[data_type, compute], elements(m, n)?, 0)?;
        ensure(!pivots.is_null(), UNSUPPORTED)?;
        let (a, pivots) = (call.matrix(a, [m, n, lda])?, address(pivots, 8)?);
        let buffers = Buffers { device, device_bytes, host, host_bytes };
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_element!(call.element, T => unsafe {
            call.submit(&buffers, info, 1, move |_| factor::lu::<T>(a, pivots))
        });
        done.ok_or(UNSUPPORTED)?
    })
}

/// Submits the solution of a factored system that is not transposed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cusolverDnXgetrs(
    handle: cusolverDnHandle_t,
    params: cusolverDnParams_t,
    transpose: Operation,
    n: i64,
    columns: i64,
    data_type: DataType,
    a: *const c_void,
    lda: i64,
    pivots: *const i64,
    right_type: DataType,
    b: *mut c_void,
    ldb: i64,
    info: *mut c_int,
) -> SolverStatus {
    status(|| {
        let call = Call::new(handle, params, &[data_type, right_type], 0, 0)?;
        ensure(transpose == Operation::CUBLAS_OP_N && !pivots.is_null(), UNSUPPORTED)?;
        let (a, b) = (call.matrix(a, [n, n, lda])?, call.matrix(b, [n, columns, ldb])?);
        let pivots = address(pivots, 8)?;
        let none = std::ptr::null_mut();
        let buffers = Buffers { device: none, device_bytes: 0, host: none, host_bytes: 0 };
        // SAFETY: the caller vouches for the memory when the work runs.
        let done = with_element!(call.element, T => unsafe {
            call.submit(&buffers, info, 1, move |_| factor::solve::<T>(a, pivots, b))
        });
        done.ok_or(UNSUPPORTED)?
    })
}
