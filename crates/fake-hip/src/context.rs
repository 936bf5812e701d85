//! The current device of a thread, which CUDA's driver has as a context.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use cuprous_cuda_sys::driver::{CUcontext, CUdeviceptr, CUresult, CUstream};

pub(crate) const INVALID_DEVICE: CUresult = CUresult(101);
pub(crate) const NOT_SUPPORTED: CUresult = CUresult(801);

/// Calls a function of CUDA's driver on the thread's device.
macro_rules! cuda {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match cuprous_cuda_sys::driver().map(|api| &api.$name) {
            Ok(Ok(function)) => {
                $crate::context::ensure(stringify!($name));
                function($($arg),*)
            }
            _ => $crate::context::NOT_SUPPORTED,
        }
    };
}
pub(crate) use cuda;

thread_local! {
    static DEVICE: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// Makes the first device current, as HIP does, in a thread that has not chosen one.
pub(crate) fn ensure(function: &str) {
    let needs_none = function.starts_with("cuDevice") || function.starts_with("cuCtx") || function == "cuInit";
    if !needs_none && DEVICE.get().is_none() {
        let _the_call_fails_then = hipSetDevice(0);
    }
}

/// Returns a device's context, which is kept until the process ends.
pub(crate) fn of_device(device: c_int) -> Result<CUcontext, CUresult> {
    static RETAINED: Mutex<Vec<(c_int, usize)>> = Mutex::new(Vec::new());
    let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, context)) = retained.iter().find(|row| row.0 == device) {
        return Ok(*context as CUcontext);
    }
    let mut context: CUcontext = std::ptr::null_mut();
    // SAFETY: the call writes one handle.
    match unsafe { cuda!(cuDevicePrimaryCtxRetain(&raw mut context, device)) } {
        CUresult::CUDA_SUCCESS => {
            retained.push((device, context as usize));
            Ok(context)
        }
        status => Err(status),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn hipSetDevice(device: c_int) -> CUresult {
    match of_device(device) {
        // SAFETY: the context is alive.
        Ok(context) => match unsafe { cuda!(cuCtxSetCurrent(context)) } {
            CUresult::CUDA_SUCCESS => {
                DEVICE.set(Some(device));
                CUresult::CUDA_SUCCESS
            }
            status => status,
        },
        Err(status) => status,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevice(to: *mut c_int) -> CUresult {
    // SAFETY: the caller passes the address of a variable.
    unsafe { *to = DEVICE.get().unwrap_or(0) };
    CUresult::CUDA_SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceEnablePeerAccess(device: c_int, flags: c_uint) -> CUresult {
    // SAFETY: the context is alive.
    of_device(device).map_or_else(|status| status, |peer| unsafe { cuda!(cuCtxEnablePeerAccess(peer, flags)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let (Ok(to_context), Ok(from_context)) = (of_device(to_device), of_device(from_device)) else {
        return INVALID_DEVICE;
    };
    let (to, from) = (to as CUdeviceptr, from as CUdeviceptr);
    // SAFETY: the caller vouches for the ranges.
    unsafe { cuda!(cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream)) }
}
