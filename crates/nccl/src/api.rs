//! NCCL's functions with statuses as errors.

use std::ffi::{CStr, c_char};

use cuprous_cuda_sys as sys;
use cuprous_distributed::{Failure, Result};
use sys::nccl::{NCCL_UNIQUE_ID_BYTES, NcclApi, ncclComm_t, ncclResult_t, ncclUniqueId};

/// The oldest version, as NCCL encodes it: 2.18.
const OLDEST: i32 = 21_800;

/// Calls a function of NCCL.
macro_rules! call {
    ($api:expr, $comm:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match &$api.$name {
            Ok(function) => $crate::api::check($api, $comm, stringify!($name), function($($arg),*)),
            Err(e) => Err($crate::api::missing(stringify!($name), e)),
        }
    };
}
pub(crate) use call;

/// Returns the library if its version will do.
pub(crate) fn api() -> Result<&'static NcclApi> {
    let api = sys::nccl().map_err(|missing| Failure::backend(format!("[nccl] {missing}")))?;
    let found = number(api)?;
    if found < OLDEST {
        return Err(Failure::backend(format!(
            "[nccl] version {} of NCCL is too old; {}",
            text(found),
            sys::cure_for("NCCL", 13).unwrap_or_default()
        )));
    }
    Ok(api)
}

fn number(api: &'static NcclApi) -> Result<i32> {
    let mut found = 0;
    // SAFETY: the call writes one number.
    unsafe { call!(api, std::ptr::null_mut(), ncclGetVersion(&raw mut found)) }?;
    Ok(found)
}

fn text(version: i32) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

/// Returns the version of NCCL as text.
///
/// # Errors
/// It is missing or does not answer.
pub fn version() -> Result<String> {
    let api = sys::nccl().map_err(|missing| Failure::backend(missing.to_string()))?;
    number(api).map(text)
}

/// Returns the bytes by which the ranks of a new communicator find each other.
pub(crate) fn unique_id() -> Result<Vec<u8>> {
    let api = api()?;
    let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
    // SAFETY: the call writes one id.
    unsafe { call!(api, std::ptr::null_mut(), ncclGetUniqueId(&raw mut id)) }?;
    Ok(id.internal.iter().map(|&byte| byte as u8).collect())
}

pub(crate) fn check(api: &NcclApi, comm: ncclComm_t, call: &str, status: ncclResult_t) -> Result<()> {
    match status {
        ncclResult_t::ncclSuccess => Ok(()),
        ncclResult_t::ncclInProgress => Err(Failure::backend(format!(
            "[nccl] {call} has returned before it was done, as NCCL_COMM_BLOCKING=0 in the environment asks; unset it"
        ))),
        other => Err(Failure::backend(format!("[nccl] {call} failed: {}", describe(api, comm, other)))),
    }
}

fn read(text: *const c_char) -> Option<String> {
    // SAFETY: NCCL returns null or a string that stays valid.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned())
}

/// Returns NCCL's text about its last error, if it has one.
pub(crate) fn last_error(api: &NcclApi, comm: ncclComm_t) -> Option<String> {
    // SAFETY: the communicator is null or valid.
    let last = api.ncclGetLastError.as_ref().ok().and_then(|f| read(unsafe { f(comm) }));
    last.filter(|text| !text.is_empty())
}

/// Describes a status, with what NCCL says about its last error.
pub(crate) fn describe(api: &NcclApi, comm: ncclComm_t, status: ncclResult_t) -> String {
    // SAFETY: the function takes any status.
    let name = api.ncclGetErrorString.as_ref().ok().and_then(|f| read(unsafe { f(status) }));
    let name = name.unwrap_or_else(|| format!("status {}", status.0));
    match last_error(api, comm) {
        Some(last) => format!("{name} ({last})"),
        None => name,
    }
}

pub(crate) fn missing(symbol: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::backend(format!("[nccl] NCCL has no function {symbol}: {error}; install a newer version"))
}
