//! Errors that tests plan: the next call of a function, or the one after so many, fails.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cuprous_cuda_sys::driver::CUresult;

struct Plan {
    /// The function; any if empty.
    name: String,
    /// Calls that succeed before.
    after: u64,
    status: CUresult,
}

static PLAN: Mutex<Option<Plan>> = Mutex::new(None);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Returns the error that the call of a function gives by the plan, once.
pub(crate) fn planned(name: &str) -> Option<CUresult> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Plan { name: wanted, after, status }) = &mut *plan else { return None };
    if !wanted.is_empty() && wanted != name {
        return None;
    }
    if *after > 0 {
        *after -= 1;
        return None;
    }
    let status = *status;
    *plan = None;
    Some(status)
}

/// Makes a call of `name` fail with `status` after `after` calls that succeed. An empty name means any function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuprous_sim_fail(name: *const c_char, after: u64, status: CUresult) {
    // SAFETY: tests pass a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    *PLAN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Plan { name, after, status });
}

/// Returns true if a planned error has not happened, and forgets it.
#[unsafe(no_mangle)]
pub extern "C" fn cuprous_sim_forget() -> bool {
    PLAN.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
}

/// Returns the number of calls of the driver's functions so far.
#[unsafe(no_mangle)]
pub extern "C" fn cuprous_sim_calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}
