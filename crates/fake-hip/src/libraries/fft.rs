//! hipFFT on cuFFT. A plan's address is its number plus one.

use std::ffi::{c_int, c_longlong, c_void};

use cuprous_cuda_sys::cufft::{cudaDataType_t, cufftHandle, cufftResult};
use cuprous_hip_sys::hipfft::{HipfftApi, hipDataType, hipStream_t, hipfftHandle, hipfftResult};

use super::{declared, library};

declared!(HipfftApi: hipfftCreate hipfftDestroy hipfftSetAutoAllocation hipfftSetStream hipfftSetWorkArea
    hipfftXtMakePlanMany hipfftXtExec);

macro_rules! fft {
    ($name:ident($($arg:expr),* $(,)?)) => {
        hipfftResult(library!(cufft, cufftResult::CUFFT_NOT_SUPPORTED, $name($($arg),*)).0)
    };
}

fn number(plan: hipfftHandle) -> cufftHandle {
    (plan as usize).wrapping_sub(1) as cufftHandle
}

fn data_type(of: hipDataType) -> cudaDataType_t {
    match of {
        hipDataType::HIP_R_32F => cudaDataType_t::CUDA_R_32F,
        hipDataType::HIP_R_64F => cudaDataType_t::CUDA_R_64F,
        hipDataType::HIP_C_32F => cudaDataType_t::CUDA_C_32F,
        hipDataType::HIP_C_64F => cudaDataType_t::CUDA_C_64F,
        _ => cudaDataType_t(u32::MAX),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftCreate(to: *mut hipfftHandle) -> hipfftResult {
    let mut plan: cufftHandle = 0;
    // SAFETY: the caller passes the address of a variable.
    unsafe {
        let status = fft!(cufftCreate(&raw mut plan));
        *to = (plan as usize + 1) as hipfftHandle;
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftDestroy(plan: hipfftHandle) -> hipfftResult {
    // SAFETY: the caller passes a plan.
    unsafe { fft!(cufftDestroy(number(plan))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftSetAutoAllocation(plan: hipfftHandle, on: c_int) -> hipfftResult {
    // SAFETY: as above.
    unsafe { fft!(cufftSetAutoAllocation(number(plan), on)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftSetStream(plan: hipfftHandle, stream: hipStream_t) -> hipfftResult {
    // SAFETY: as above.
    unsafe { fft!(cufftSetStream(number(plan), stream.cast())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftSetWorkArea(plan: hipfftHandle, area: *mut c_void) -> hipfftResult {
    // SAFETY: as above.
    unsafe { fft!(cufftSetWorkArea(number(plan), area)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftXtMakePlanMany(
    plan: hipfftHandle,
    rank: c_int,
    points: *mut c_longlong,
    reads: *mut c_longlong,
    read_step: c_longlong,
    read_distance: c_longlong,
    input: hipDataType,
    writes: *mut c_longlong,
    written_step: c_longlong,
    written_distance: c_longlong,
    output: hipDataType,
    count: c_longlong,
    workspace: *mut usize,
    computed: hipDataType,
) -> hipfftResult {
    let [input, output, computed] = [input, output, computed].map(data_type);
    // SAFETY: the caller passes what the library requires.
    unsafe {
        fft!(cufftXtMakePlanMany(
            number(plan),
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
            computed
        ))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipfftXtExec(
    plan: hipfftHandle,
    from: *mut c_void,
    to: *mut c_void,
    direction: c_int,
) -> hipfftResult {
    // SAFETY: as above.
    unsafe { fft!(cufftXtExec(number(plan), from, to, direction)) }
}
