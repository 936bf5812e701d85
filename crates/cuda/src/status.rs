//! Queries about the machine's GPUs that submit no work.

use std::path::PathBuf;

use crate::codegen::Vendor;
use crate::driver;
use crate::error::translate;

/// Returns the number of GPUs that this process may use. Before CUDA was started, counts device nodes, because starting
/// takes a third of a second.
pub fn device_count() -> u32 {
    if !driver::is_available() {
        return 0;
    }
    // HIP starts in a few milliseconds.
    if driver::is_started() || driver::vendor() == Vendor::Amd {
        return driver::device_count().map_or(0, |n| n as u32);
    }
    let nodes = (0..64).filter(|k| std::path::Path::new(&format!("/dev/nvidia{k}")).exists()).count();
    // WSL has one node for all devices.
    let nodes = nodes.max(usize::from(std::path::Path::new("/dev/dxg").exists()));
    let visible = match std::env::var("CUDA_VISIBLE_DEVICES") {
        // Devices after an invalid entry are hidden too.
        Ok(list) => list.split(',').take_while(|part| !part.trim().is_empty() && part.trim() != "-1").count(),
        Err(_) => usize::MAX,
    };
    nodes.min(visible) as u32
}

/// Returns the reason why a visible GPU cannot be used. `None` if none is visible or it can be used.
pub fn unusable_reason() -> Option<String> {
    let visible = ["/dev/nvidia0", "/dev/dxg", "/dev/kfd"].iter().any(|node| std::path::Path::new(node).exists());
    if !visible { None } else { driver::why_unavailable() }
}

/// Sets the folders where NVIDIA's wheels install their libraries.
pub fn set_library_roots(roots: Vec<PathBuf>) {
    cuprous_cuda_sys::set_roots(roots);
}

/// Sets the folders in which wheels are installed, where AMD's libraries are searched for.
pub fn set_sites(sites: Vec<PathBuf>) {
    cuprous_hip_sys::set_sites(sites);
}

/// Returns the version of HIP, such as `6.4`, if this process uses GPUs of AMD.
pub fn hip_version() -> Option<String> {
    if driver::vendor() == Vendor::Nvidia {
        return None;
    }
    let (major, minor) = driver::version().ok()?;
    Some(format!("{major}.{minor}"))
}

/// The value of a device property.
pub enum Property {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
}

/// Returns the properties of a GPU by the names of `cudaDeviceProp`, and `freeMemory` and `driverVersion`.
pub fn properties(index: u32) -> cuprous_core::Result<Vec<(&'static str, Property)>> {
    driver::init().map_err(translate)?;
    let info = driver::device_info(index as usize).map_err(translate)?;
    let context = driver::Context::of_device(index as usize).map_err(translate)?;
    context.make_current().map_err(translate)?;
    let (free, _) = driver::mem_info(context).map_err(translate)?;
    let version = driver::version().map_err(translate)?;
    let number = |n: u64| Property::Number(n);
    let mut list = vec![
        ("name", Property::Text(info.name.clone())),
        ("uuid", Property::Text(info.uuid_text())),
        ("pciBusID", Property::Text(info.pci_bus_id.clone())),
        ("major", number(info.compute_capability.0.into())),
        ("minor", number(info.compute_capability.1.into())),
        ("multiProcessorCount", number(info.sm_count.into())),
        ("l2CacheSize", number(info.l2_bytes)),
        ("totalGlobalMem", number(info.total_memory)),
        ("freeMemory", number(free)),
        ("driverVersion", number(u64::from(version.0) * 1000 + u64::from(version.1) * 10)),
        ("sharedMemPerBlock", number(info.shared_per_block.into())),
        ("sharedMemPerBlockOptin", number(info.shared_per_block_optin.into())),
        ("sharedMemPerMultiprocessor", number(info.shared_per_sm.into())),
        ("regsPerMultiprocessor", number(info.registers_per_sm.into())),
        ("maxThreadsPerMultiProcessor", number(info.threads_per_sm.into())),
        ("maxThreadsPerBlock", number(info.threads_per_block.into())),
        ("clockRate", number(info.clock_khz.into())),
        ("memoryClockRate", number(info.memory_clock_khz.into())),
        ("memoryBusWidth", number(info.memory_bus_bits.into())),
        ("integrated", number(info.integrated.into())),
        ("warpSize", number(32)),
    ];
    if driver::vendor() == Vendor::Amd {
        let target = driver::target(index as usize, info.compute_capability).map_err(translate)?;
        list.push(("gcnArchName", Property::Text(target)));
    }
    Ok(list)
}
