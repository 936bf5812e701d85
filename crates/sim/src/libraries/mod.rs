//! NVIDIA's libraries by their C interfaces, computed on the CPU. A call submits its work to the caller's stream.
//!
//! Workspaces are overwritten with NaN before the work, and operands that the real libraries destroy after it, so that
//! a caller that relies on their contents fails here too.
//!
//! All exported functions have one contract: pointers to host memory are null, which is an error, or valid during the
//! call. Pointers to device memory are valid when the work runs. Handles and descriptors may be any number.

pub mod cublaslt;
pub mod cufft;
pub mod cusolver;
pub mod cusparse;
pub mod nccl;
mod number;
mod objects;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The statuses that all libraries have.
trait Status: Copy + Send + 'static {
    const SUCCESS: Self;
    /// An argument is null, out of range, or not a live object.
    const INVALID: Self;
    /// A valid request that the simulator does not implement.
    const UNSUPPORTED: Self;
    /// The stream does not exist.
    const FAILED: Self;
    const INTERNAL: Self;
}

macro_rules! statuses {
    ($($status:ty: $success:ident, $invalid:ident, $unsupported:ident, $failed:ident, $internal:ident;)*) => {$(
        impl Status for $status {
            const SUCCESS: Self = <$status>::$success;
            const INVALID: Self = <$status>::$invalid;
            const UNSUPPORTED: Self = <$status>::$unsupported;
            const FAILED: Self = <$status>::$failed;
            const INTERNAL: Self = <$status>::$internal;
        }
    )*};
}
statuses! {
    cuprous_cuda_sys::cublaslt::cublasStatus_t:
        CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_SUPPORTED,
        CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR;
    cuprous_cuda_sys::cufft::cufftResult_t:
        CUFFT_SUCCESS, CUFFT_INVALID_VALUE, CUFFT_NOT_SUPPORTED, CUFFT_EXEC_FAILED, CUFFT_INTERNAL_ERROR;
    cuprous_cuda_sys::cusolver::cusolverStatus_t:
        CUSOLVER_STATUS_SUCCESS, CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_NOT_SUPPORTED,
        CUSOLVER_STATUS_EXECUTION_FAILED, CUSOLVER_STATUS_INTERNAL_ERROR;
    cuprous_cuda_sys::cusparse::cusparseStatus_t:
        CUSPARSE_STATUS_SUCCESS, CUSPARSE_STATUS_INVALID_VALUE, CUSPARSE_STATUS_NOT_SUPPORTED,
        CUSPARSE_STATUS_EXECUTION_FAILED, CUSPARSE_STATUS_INTERNAL_ERROR;
}

/// Runs the body of an exported function. A panic becomes a status.
fn status<S: Status>(body: impl FnOnce() -> Result<(), S>) -> S {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => S::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => S::INTERNAL,
    }
}

/// Returns an error unless `condition` holds.
fn ensure<S: Status>(condition: bool, error: S) -> Result<(), S> {
    if condition { Ok(()) } else { Err(error) }
}

/// Returns an argument as an extent.
fn extent<S: Status>(n: i64) -> Result<usize, S> {
    usize::try_from(n).map_err(|_| S::INVALID)
}

/// Writes a result of a call to the caller's memory.
///
/// # Safety
/// `to` is null, which is an error, or valid for a write.
unsafe fn write<T, S: Status>(to: *mut T, value: T) -> Result<(), S> {
    ensure(!to.is_null(), S::INVALID)?;
    // SAFETY: by the caller's contract.
    unsafe { to.write(value) };
    Ok(())
}

/// Returns the address of an operand in device memory, which must be a multiple of `alignment`.
fn address<T, S: Status>(pointer: *const T, alignment: usize) -> Result<usize, S> {
    ensure(!pointer.is_null() && pointer.addr().is_multiple_of(alignment), S::INVALID)?;
    Ok(pointer.addr())
}

/// Submits work to a stream, given as the address of its handle.
fn submit<S: Status>(stream: usize, work: impl Fn() + Send + Sync + 'static) -> Result<(), S> {
    crate::driver::stream::submit(stream as *mut std::ffi::c_void, work).map_err(|_| S::FAILED)
}

/// Overwrites device memory with bytes that are NaN in every float format.
///
/// # Safety
/// The memory is valid for writes, unless `bytes` is 0.
unsafe fn scribble(at: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: by the caller's contract.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0xff, bytes) };
    }
}

/// Waits for the work of the default stream.
#[cfg(test)]
fn finish() {
    assert_eq!(crate::driver::lock().drain(0), Ok(()));
}
