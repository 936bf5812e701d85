//! Properties, versions and statuses.

use std::ffi::{c_char, c_int};

use cuprous_cuda_sys::driver::{CUdevice_attribute as Cuda, CUresult};
use cuprous_hip_sys::hip::{hipDeviceAttribute_t as Hip, hipDeviceProp_t};

use crate::context::{NOT_SUPPORTED, cuda};

/// The version that this library has, as HIP writes it: 5.4.0.
const VERSION: c_int = 5 * 10_000_000 + 4 * 100_000;
/// The target whose code this library claims to run. The code for it is not compiled.
const TARGET: &[u8] = b"gfx90a:sramecc+:xnack-";
/// What a block of a GPU of AMD may share.
const SHARED: c_int = 64 << 10;

const ATTRIBUTES: [(Hip, Cuda); 13] = [
    (Hip::hipDeviceAttributeMultiprocessorCount, Cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    (Hip::hipDeviceAttributeL2CacheSize, Cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    (Hip::hipDeviceAttributeMaxRegistersPerBlock, Cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
    (
        Hip::hipDeviceAttributeMaxSharedMemoryPerMultiprocessor,
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    ),
    (Hip::hipDeviceAttributeMaxThreadsPerMultiProcessor, Cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
    (Hip::hipDeviceAttributeMaxThreadsPerBlock, Cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
    (Hip::hipDeviceAttributeMaxGridDimX, Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
    (Hip::hipDeviceAttributeMaxGridDimY, Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
    (Hip::hipDeviceAttributeMaxGridDimZ, Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
    (Hip::hipDeviceAttributeClockRate, Cuda::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
    (Hip::hipDeviceAttributeMemoryClockRate, Cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
    (Hip::hipDeviceAttributeMemoryBusWidth, Cuda::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
    (Hip::hipDeviceAttributeIntegrated, Cuda::CU_DEVICE_ATTRIBUTE_INTEGRATED),
];

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetAttribute(to: *mut c_int, attribute: Hip, device: c_int) -> CUresult {
    if attribute == Hip::hipDeviceAttributeMaxSharedMemoryPerBlock {
        // SAFETY: the caller passes the address of a variable.
        unsafe { *to = SHARED };
        return CUresult::CUDA_SUCCESS;
    }
    match ATTRIBUTES.iter().find(|row| row.0 == attribute) {
        // SAFETY: as above.
        Some((_, cuda)) => unsafe { cuda!(cuDeviceGetAttribute(to, *cuda, device)) },
        None => NOT_SUPPORTED,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDeviceProperties(to: *mut hipDeviceProp_t, device: c_int) -> CUresult {
    // SAFETY: the caller passes the address of a struct, all of whose fields may be zero.
    unsafe {
        to.write_bytes(0, 1);
        for (k, byte) in TARGET.iter().enumerate() {
            (*to).gcnArchName[k] = *byte as c_char;
        }
        cuda!(cuDeviceGetName((*to).name.as_mut_ptr(), (*to).name.len() as c_int, device))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDriverGetVersion(to: *mut c_int) -> CUresult {
    // SAFETY: the caller passes the address of a variable.
    unsafe { *to = VERSION };
    CUresult::CUDA_SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetErrorName(status: CUresult) -> *const c_char {
    let mut text = std::ptr::null();
    // SAFETY: the call writes one address.
    unsafe { cuda!(cuGetErrorName(status, &raw mut text)) };
    text
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetErrorString(status: CUresult) -> *const c_char {
    let mut text = std::ptr::null();
    // SAFETY: the call writes one address.
    unsafe { cuda!(cuGetErrorString(status, &raw mut text)) };
    text
}
