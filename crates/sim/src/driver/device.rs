//! The driver's start, devices and contexts.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use cuprous_cuda_sys::driver::{CUcontext, CUdevice, CUdevice_attribute as Attribute, CUuuid};

use super::{INVALID_CONTEXT, INVALID_VALUE, Outcome, PEER_ACCESS_ALREADY_ENABLED, functions, put};
use crate::settings::{Peers, settings};

/// The version of CUDA whose functions are here.
pub(crate) const VERSION: (i32, i32) = (13, 0);
/// Shared memory of a block, by default and at most, and of a multiprocessor: those of compute capability 8.0.
pub(crate) const SHARED: [i32; 3] = [48 << 10, 163 << 10, 164 << 10];
pub(crate) const THREADS_PER_SM: i32 = 2048;
const COMPUTE_CAPABILITY: [i32; 2] = [8, 0];

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

fn check_device(device: CUdevice) -> Outcome {
    if (0..settings().devices as i32).contains(&device) { Ok(()) } else { Err(INVALID_VALUE) }
}

/// Writes a text with its final zero, cut to the length.
fn put_text(to: *mut c_char, length: c_int, text: &str) -> Outcome {
    let bytes = text.bytes().take((length.max(1) - 1) as usize).chain([0]);
    // SAFETY: the caller passes an array of that length.
    bytes.enumerate().for_each(|(k, byte)| unsafe { to.add(k).write(byte as c_char) });
    Ok(())
}

functions! {
    cuInit(state, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        state.initialized = true;
        Ok(())
    }

    cuDriverGetVersion(_state, to: *mut c_int) {
        put(to, VERSION.0 * 1000 + VERSION.1 * 10)
    }

    cuDeviceGetCount(_state, to: *mut c_int) {
        put(to, settings().devices as c_int)
    }

    cuDeviceGet(_state, to: *mut CUdevice, ordinal: c_int) {
        check_device(ordinal)?;
        put(to, ordinal)
    }

    cuDeviceGetName(_state, to: *mut c_char, length: c_int, device: CUdevice) {
        check_device(device)?;
        put_text(to, length, &format!("Simulated GPU (waves of {})", settings().wave))
    }

    cuDeviceGetUuid_v2(_state, to: *mut CUuuid, device: CUdevice) {
        check_device(device)?;
        put(to, CUuuid { bytes: [device as c_char; 16] })
    }

    cuDeviceGetPCIBusId(_state, to: *mut c_char, length: c_int, device: CUdevice) {
        check_device(device)?;
        put_text(to, length, &format!("0000:{device:02x}:00.0"))
    }

    cuDeviceTotalMem_v2(_state, to: *mut usize, device: CUdevice) {
        check_device(device)?;
        put(to, settings().memory as usize)
    }

    cuDeviceGetAttribute(_state, to: *mut c_int, attribute: Attribute, device: CUdevice) {
        check_device(device)?;
        let value = match attribute {
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => COMPUTE_CAPABILITY[0],
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => COMPUTE_CAPABILITY[1],
            Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => settings().sms as c_int,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => THREADS_PER_SM,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR => 32,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => c_int::MAX,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y | Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => 65535,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => SHARED[0],
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => SHARED[1],
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => SHARED[2],
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR => 65536,
            Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 4 << 20,
            Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE | Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 1_000_000,
            Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => 1024,
            Attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED => 0,
            _ => return Err(INVALID_VALUE),
        };
        put(to, value)
    }

    cuDevicePrimaryCtxRetain(_state, to: *mut CUcontext, device: CUdevice) {
        check_device(device)?;
        put(to, (0x5000_0000 + device as usize) as CUcontext)
    }

    cuCtxSetCurrent(_state, context: CUcontext) {
        CURRENT.set(context as usize);
        Ok(())
    }

    cuCtxGetCurrent(_state, to: *mut CUcontext) {
        put(to, CURRENT.get() as CUcontext)
    }

    cuDeviceCanAccessPeer(_state, to: *mut c_int, device: CUdevice, peer: CUdevice) {
        check_device(device)?;
        check_device(peer)?;
        put(to, c_int::from(device != peer && settings().peers != Peers::No))
    }

    cuCtxEnablePeerAccess(state, peer: CUcontext, flags: u32) {
        if flags != 0 || peer as usize == CURRENT.get() || settings().peers == Peers::No {
            return Err(INVALID_VALUE);
        }
        if state.peers.insert((CURRENT.get(), peer as usize)) { Ok(()) } else { Err(PEER_ACCESS_ALREADY_ENABLED) }
    }

    cuCtxSynchronize(state,) {
        if CURRENT.get() == 0 {
            return Err(INVALID_CONTEXT);
        }
        state.drain_all()
    }
}
