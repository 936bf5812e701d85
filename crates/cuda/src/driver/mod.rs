//! A thin wrapper of the CUDA driver, or of HIP by the same table: errors become `CudaError` and handles become owned values.
//!
//! CUDA is started on first use only: `cuInit` and the primary context cost 0.3 s in a new process.

mod context;
mod info;
mod launch;
mod memory;
mod peer;
mod stream;
mod vendor;

use std::ffi::CStr;
use std::os::raw::c_char;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use cuprous_cuda_sys as sys;
use sys::driver::{CUresult, DriverApi};

use crate::error::{CudaError, Result};

pub use context::Context;
pub(crate) use context::{enter, for_drop};
pub use info::{DeviceInfo, device_count, device_info};
pub use launch::{ArgBlock, Function, FunctionInfo, LaunchShape, Module};
pub use memory::{
    DevPtr, PinnedBuffer, mem_alloc, mem_free, mem_info, memcpy_dtod_async, memcpy_dtoh_async, memcpy_htod_async,
    memset_async,
};
pub use peer::can_access;
pub(crate) use peer::{connected, memcpy_peer_async};
pub use stream::{Event, Stream};
pub(crate) use vendor::{cublaslt, cufft, cusolver, cusparse, library_name, target};
pub use vendor::{request, vendor};

/// The oldest supported driver, given by the newest CUDA version that it supports.
pub const MIN_DRIVER: (u32, u32) = (12, 0);

/// Calls a driver function. A missing symbol or a status other than success becomes an error.
macro_rules! call {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => $crate::driver::check($api, stringify!($name), function($($arg),*)),
            Err(e) => Err($crate::driver::missing_symbol(stringify!($name), e)),
        }
    };
}
pub(crate) use call;

#[inline]
pub(crate) fn check(api: &DriverApi, call: &'static str, status: CUresult) -> Result<()> {
    if status == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failure(api, call, status)) }
}

#[cold]
pub(crate) fn missing_symbol(symbol: &'static str, error: &dyn std::fmt::Display) -> CudaError {
    CudaError::MissingSymbol { symbol, text: error.to_string() }
}

#[cold]
fn failure(api: &DriverApi, call: &'static str, status: CUresult) -> CudaError {
    type Describe = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;
    let describe = |function: Option<&Describe>| {
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver writes a pointer to a static string, or null for an unknown status.
        function.map(|f| unsafe { f(status, &raw mut text) });
        // SAFETY: the pointer is not null, so it is the driver's static string.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    CudaError::Driver {
        call,
        code: status.0,
        name: describe(api.cuGetErrorName.as_ref().ok()).unwrap_or_else(|| "unknown status".into()),
        text: describe(api.cuGetErrorString.as_ref().ok()).unwrap_or_else(|| "no description".into()),
    }
}

static STARTED: OnceLock<&'static DriverApi> = OnceLock::new();
static STARTED_BY: AtomicU32 = AtomicU32::new(0);
/// Set in the child of a fork. Reading it costs nothing, unlike querying the process id at each call.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Returns the driver, which is started on the first call.
#[inline]
pub(crate) fn api() -> Result<&'static DriverApi> {
    match STARTED.get() {
        Some(api) if !FORKED.load(Ordering::Relaxed) => Ok(api),
        _ => start(),
    }
}

/// Returns the driver if it is running and usable in this process. For destructors.
pub(crate) fn api_if_started() -> Option<&'static DriverApi> {
    STARTED.get().copied().filter(|_| !FORKED.load(Ordering::Relaxed))
}

/// Starts CUDA (`cuInit`). The other functions here call it themselves.
///
/// # Errors
/// There is no driver, it is older than CUDA 12.0, there is no device, or the process was forked after its parent
/// started CUDA.
pub fn init() -> Result<()> {
    api().map(|_| ())
}

/// Returns true if CUDA was started in this process.
#[must_use]
pub fn is_started() -> bool {
    api_if_started().is_some()
}

#[cold]
fn start() -> Result<&'static DriverApi> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if FORKED.load(Ordering::Relaxed) {
        return Err(CudaError::Forked { parent: STARTED_BY.load(Ordering::Relaxed) });
    }
    if let Some(api) = STARTED.get() {
        return Ok(api);
    }
    vendor::settle();
    let found = version()?;
    let needed = vendor::oldest_version();
    if found < needed {
        return Err(CudaError::DriverTooOld { found, needed });
    }
    let api = vendor::table()?;
    // SAFETY: the only argument is the flags, which must be zero.
    unsafe { call!(api, cuInit(0)) }?;
    STARTED_BY.store(std::process::id(), Ordering::Relaxed);
    // SAFETY: the handler only stores to an atomic, which is allowed between fork and exec.
    #[cfg(unix)]
    unsafe {
        libc::pthread_atfork(None, None, Some(after_fork_in_child))
    };
    Ok(STARTED.get_or_init(|| api))
}

#[cfg(unix)]
extern "C" fn after_fork_in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Returns the newest CUDA version that the driver supports, or HIP's version, as (major, minor). Loads the driver without starting it.
///
/// # Errors
/// There is no driver.
pub fn version() -> Result<(u32, u32)> {
    let api = vendor::table()?;
    let mut version = 0;
    // SAFETY: the call writes one int and needs no cuInit.
    unsafe { call!(api, cuDriverGetVersion(&raw mut version)) }?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// Returns true if CUDA looks usable. Cheap: reads the environment and `/dev` and loads the driver, but does not start
/// it.
#[must_use]
pub fn is_available() -> bool {
    why_unavailable().is_none()
}

/// Returns the reason why CUDA cannot work, or `None` if it looks usable.
#[must_use]
pub fn why_unavailable() -> Option<String> {
    if let Some(name) = vendor::hiding_variable() {
        return Some(format!("{name} hides every device"));
    }
    // The caller adds the prefix.
    let plain = |error: CudaError| error.to_string().trim_start_matches("[cuda] ").to_owned();
    if FORKED.load(Ordering::Relaxed) {
        return Some(plain(CudaError::Forked { parent: STARTED_BY.load(Ordering::Relaxed) }));
    }
    if !vendor::has_gpus(vendor()) {
        return Some(format!("there is no {} device node in /dev", vendor().name()));
    }
    let needed = vendor::oldest_version();
    match version() {
        Err(error) => Some(plain(error)),
        Ok(found) if found < needed => Some(plain(CudaError::DriverTooOld { found, needed })),
        Ok(_) => None,
    }
}

/// Returns true if this value of `CUDA_VISIBLE_DEVICES` hides all devices. The driver stops reading at the first entry
/// that is not a device.
#[must_use]
pub fn hides_all(visible_devices: &str) -> bool {
    let first = visible_devices.split(',').next().unwrap_or("").trim();
    first.is_empty() || first.starts_with('-') || first.eq_ignore_ascii_case("NoDevFiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_devices_that_hide_all() {
        for hidden in ["", " ", "-1", "-1,0", "NoDevFiles"] {
            assert!(hides_all(hidden), "{hidden:?}");
        }
        for shown in ["0", "1,2", "GPU-8932f937", "0,-1"] {
            assert!(!hides_all(shown), "{shown:?}");
        }
    }

    #[test]
    fn without_a_driver_everything_is_an_error_and_nothing_panics() {
        if sys::driver().is_ok() {
            return;
        }
        assert!(matches!(init(), Err(CudaError::MissingLibrary(_))));
        assert!(matches!(device_count(), Err(CudaError::MissingLibrary(_))));
        assert!(!is_available());
        assert!(!is_started());
    }
}
