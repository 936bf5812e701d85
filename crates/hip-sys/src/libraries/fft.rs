//! hipFFT under the interface of cuFFT. A plan is a pointer in the one and a number in the other.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::cufft::{CufftApi, cudaDataType_t, cudaStream_t, cufftHandle, cufftResult};

use super::{same, same_data_types};
use crate::hipfft::{HipfftApi, hipDataType, hipfftHandle, hipfftResult};
use crate::loader;

same_data_types!(cudaDataType_t, hipDataType);
same! {
    cufftResult::CUFFT_SUCCESS = hipfftResult::HIPFFT_SUCCESS;
    cufftResult::CUFFT_INVALID_PLAN = hipfftResult::HIPFFT_INVALID_PLAN;
    cufftResult::CUFFT_ALLOC_FAILED = hipfftResult::HIPFFT_ALLOC_FAILED;
    cufftResult::CUFFT_INVALID_TYPE = hipfftResult::HIPFFT_INVALID_TYPE;
    cufftResult::CUFFT_INVALID_VALUE = hipfftResult::HIPFFT_INVALID_VALUE;
    cufftResult::CUFFT_INTERNAL_ERROR = hipfftResult::HIPFFT_INTERNAL_ERROR;
    cufftResult::CUFFT_EXEC_FAILED = hipfftResult::HIPFFT_EXEC_FAILED;
    cufftResult::CUFFT_SETUP_FAILED = hipfftResult::HIPFFT_SETUP_FAILED;
    cufftResult::CUFFT_INVALID_SIZE = hipfftResult::HIPFFT_INVALID_SIZE;
    cufftResult::CUFFT_INVALID_DEVICE = hipfftResult::HIPFFT_INVALID_DEVICE;
    cufftResult::CUFFT_NO_WORKSPACE = hipfftResult::HIPFFT_NO_WORKSPACE;
    cufftResult::CUFFT_NOT_IMPLEMENTED = hipfftResult::HIPFFT_NOT_IMPLEMENTED;
    cufftResult::CUFFT_NOT_SUPPORTED = hipfftResult::HIPFFT_NOT_SUPPORTED;
}

static HIP: OnceLock<HipfftApi> = OnceLock::new();
/// The library's plans by number; 0 where a number is free.
static PLANS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Returns hipFFT.
///
/// # Errors
/// It is not installed.
pub fn cufft() -> Result<&'static CufftApi, MissingLibrary> {
    static LOADED: OnceLock<CufftApi> = OnceLock::new();
    loader::once(&LOADED, &loader::HIPFFT, load)
}

fn load(path: &Path) -> Result<CufftApi, libloading::Error> {
    // SAFETY: the file is hipFFT by its name; opening it has no requirements.
    let (hip, mut api) = unsafe { (HipfftApi::new(path)?, CufftApi::new(path)?) };
    HIP.get_or_init(|| hip);
    api.cufftCreate = Ok(create);
    api.cufftDestroy = Ok(destroy);
    api.cufftSetAutoAllocation = Ok(set_auto_allocation);
    api.cufftSetStream = Ok(set_stream);
    api.cufftSetWorkArea = Ok(set_work_area);
    api.cufftXtMakePlanMany = Ok(make_plan);
    api.cufftXtExec = Ok(execute);
    Ok(api)
}

/// Returns the library's plan of that number; null for a wrong one.
fn plan(number: cufftHandle) -> hipfftHandle {
    let plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    usize::try_from(number).ok().and_then(|number| plans.get(number)).map_or(std::ptr::null_mut(), |plan| *plan as _)
}

/// Calls a function of the library.
macro_rules! call {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match HIP.get().map(|hip| &hip.$name) {
            Some(Ok(function)) => cufftResult(function($($arg),*).0),
            _ => cufftResult::CUFFT_NOT_IMPLEMENTED,
        }
    };
}

// Every function below: the caller meets the requirements of CUDA's function, which imply those of HIP's.

unsafe extern "C" fn create(to: *mut cufftHandle) -> cufftResult {
    let mut created: hipfftHandle = std::ptr::null_mut();
    // SAFETY: the call writes one handle.
    let status = unsafe { call!(hipfftCreate(&raw mut created)) };
    if status != cufftResult::CUFFT_SUCCESS {
        return status;
    }
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    let free = plans.iter().position(|plan| *plan == 0).unwrap_or(plans.len());
    if free == plans.len() {
        plans.push(0);
    }
    plans[free] = created as usize;
    // SAFETY: as for CUDA's function.
    unsafe { *to = free as cufftHandle };
    status
}

unsafe extern "C" fn destroy(number: cufftHandle) -> cufftResult {
    let destroyed = plan(number);
    if destroyed.is_null() {
        return cufftResult::CUFFT_INVALID_PLAN;
    }
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)[number as usize] = 0;
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipfftDestroy(destroyed)) }
}

unsafe extern "C" fn set_auto_allocation(number: cufftHandle, on: c_int) -> cufftResult {
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipfftSetAutoAllocation(plan(number), on)) }
}

unsafe extern "C" fn set_stream(number: cufftHandle, stream: cudaStream_t) -> cufftResult {
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipfftSetStream(plan(number), stream.cast())) }
}

unsafe extern "C" fn set_work_area(number: cufftHandle, area: *mut c_void) -> cufftResult {
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipfftSetWorkArea(plan(number), area)) }
}

#[allow(clippy::too_many_arguments, reason = "the library's function")]
unsafe extern "C" fn make_plan(
    number: cufftHandle,
    rank: c_int,
    points: *mut c_longlong,
    reads: *mut c_longlong,
    read_step: c_longlong,
    read_distance: c_longlong,
    input: cudaDataType_t,
    writes: *mut c_longlong,
    written_step: c_longlong,
    written_distance: c_longlong,
    output: cudaDataType_t,
    count: c_longlong,
    workspace: *mut usize,
    computed: cudaDataType_t,
) -> cufftResult {
    let [input, output, computed] = [input, output, computed].map(|of| hipDataType(of.0));
    // SAFETY: as for CUDA's function.
    unsafe {
        call!(hipfftXtMakePlanMany(
            plan(number),
            rank,
            points,
            reads,
            read_step,
            read_distance,
            input,
            writes,
            written_step,
            written_distance,
            output,
            count,
            workspace,
            computed,
        ))
    }
}

unsafe extern "C" fn execute(number: cufftHandle, from: *mut c_void, to: *mut c_void, direction: c_int) -> cufftResult {
    // SAFETY: as for CUDA's function; directions have the same numbers.
    unsafe { call!(hipfftXtExec(plan(number), from, to, direction)) }
}
