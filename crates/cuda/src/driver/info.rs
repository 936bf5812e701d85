//! Properties of devices that planning and code generation need.

use std::ffi::CStr;
use std::os::raw::c_int;

use cuprous_cuda_sys::driver::{CUdevice_attribute as Attribute, CUuuid};

use super::{api, call};
use crate::error::{CudaError, Result};

/// A device's properties. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The device's number in this process.
    pub ordinal: usize,
    /// The product's name.
    pub name: String,
    /// Compute capability (major, minor).
    pub compute_capability: (u32, u32),
    /// The number of streaming multiprocessors.
    pub sm_count: u32,
    /// The size of the level-2 cache.
    pub l2_bytes: u64,
    /// The size of the device memory.
    pub total_memory: u64,
    /// Shared memory per block by default.
    pub shared_per_block: u32,
    /// Shared memory per block at most, with `Function::set_max_dynamic_shared`.
    pub shared_per_block_optin: u32,
    /// Shared memory per multiprocessor.
    pub shared_per_sm: u32,
    /// 32-bit registers per multiprocessor.
    pub registers_per_sm: u32,
    /// Threads per multiprocessor at most.
    pub threads_per_sm: u32,
    /// Threads per block at most.
    pub threads_per_block: u32,
    /// Blocks per multiprocessor at most.
    pub blocks_per_sm: u32,
    /// The largest grid extents.
    pub max_grid: [u32; 3],
    /// Core clock in kHz.
    pub clock_khz: u32,
    /// Memory clock in kHz.
    pub memory_clock_khz: u32,
    /// Memory bus width in bits.
    pub memory_bus_bits: u32,
    /// The device shares its memory with the host.
    pub integrated: bool,
    /// The device's unique id, the same in every process.
    pub uuid: [u8; 16],
    /// The PCI bus id, such as `0000:3b:00.0`.
    pub pci_bus_id: String,
}

impl DeviceInfo {
    /// Returns the UUID as `nvidia-smi` prints it.
    #[must_use]
    pub fn uuid_text(&self) -> String {
        let hex: String = self.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// Returns the number of devices that this process sees. Starts CUDA.
///
/// # Errors
/// The driver is missing or fails. On a machine without a usable device, `cuInit` fails.
pub fn device_count() -> Result<usize> {
    let api = api()?;
    let mut count: c_int = 0;
    // SAFETY: the call writes one int.
    unsafe { call!(api, cuDeviceGetCount(&raw mut count)) }?;
    Ok(count.unsigned_abs() as usize)
}

/// Returns the driver's handle of a device.
pub(super) fn device_handle(ordinal: usize) -> Result<c_int> {
    let count = device_count()?;
    if ordinal >= count {
        return Err(CudaError::NoDevice { ordinal, count });
    }
    let api = api()?;
    let mut device: c_int = 0;
    // SAFETY: the call writes one int; the ordinal was checked, so it fits.
    unsafe { call!(api, cuDeviceGet(&raw mut device, ordinal as c_int)) }?;
    Ok(device)
}

/// Returns a device's properties. Does not create a context.
///
/// # Errors
/// The device does not exist, or the driver fails.
pub fn device_info(ordinal: usize) -> Result<DeviceInfo> {
    let api = api()?;
    let device = device_handle(ordinal)?;
    let get = |attribute: Attribute| -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: the call writes one int.
        unsafe { call!(api, cuDeviceGetAttribute(&raw mut value, attribute, device)) }?;
        Ok(value.unsigned_abs())
    };
    let mut name = [0; 256];
    // SAFETY: the driver writes at most the given length, including the final zero.
    unsafe { call!(api, cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device)) }?;
    let mut bus = [0; 32];
    // SAFETY: the driver writes at most the given length, including the final zero.
    unsafe { call!(api, cuDeviceGetPCIBusId(bus.as_mut_ptr(), bus.len() as c_int, device)) }?;
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the call writes 16 bytes.
    unsafe { call!(api, cuDeviceGetUuid_v2(&raw mut uuid, device)) }?;
    let mut total = 0;
    // SAFETY: the call writes one size.
    unsafe { call!(api, cuDeviceTotalMem_v2(&raw mut total, device)) }?;
    // SAFETY: the driver terminated each string with a zero within the array.
    let text = |chars: &[_]| unsafe { CStr::from_ptr(chars.as_ptr()) }.to_string_lossy().into_owned();
    Ok(DeviceInfo {
        ordinal,
        name: text(&name),
        compute_capability: (
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sm_count: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        total_memory: total as u64,
        shared_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        shared_per_block_optin: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        shared_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        registers_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        threads_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        threads_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        blocks_per_sm: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        max_grid: [
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        clock_khz: get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        memory_bus_bits: get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        integrated: get(Attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
        uuid: uuid.bytes.map(|byte| byte as u8),
        pci_bus_id: text(&bus),
    })
}
