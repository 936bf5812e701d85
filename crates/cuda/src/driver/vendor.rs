//! Whose GPUs this process uses. The driver of AMD's has the table of CUDA's.
//!
//! A process uses the GPUs of one maker: the one that was requested first, else AMD's if `CUPROUS_ROCM_PATH` names a HIP,
//! else NVIDIA's if there are any.

use std::borrow::Cow;
use std::sync::OnceLock;

use cuprous_cuda_sys as sys;
use cuprous_hip_sys as hip;
use sys::MissingLibrary;
use sys::driver::DriverApi;

use crate::codegen::Vendor;
use crate::error::{CudaError, Result};

static CHOSEN: OnceLock<Vendor> = OnceLock::new();

/// Returns the maker of the GPUs that this process uses, or would use if the driver were started now.
pub fn vendor() -> Vendor {
    CHOSEN.get().copied().unwrap_or_else(|| {
        let amd = hip::driver_file().is_some() || (!has_gpus(Vendor::Nvidia) && has_gpus(Vendor::Amd));
        if amd { Vendor::Amd } else { Vendor::Nvidia }
    })
}

/// Settles on a maker before the driver is started.
pub(super) fn settle() {
    CHOSEN.get_or_init(vendor);
}

/// Requests the GPUs of a maker.
///
/// # Errors
/// There are none, or this process uses those of another one.
pub fn request(wanted: Vendor) -> Result<()> {
    // A request that cannot be met leaves the choice open.
    if CHOSEN.get().is_none() && !has_gpus(wanted) {
        return Err(CudaError::Unsupported(format!("there is no {} device node in /dev", wanted.name())));
    }
    let used = *CHOSEN.get_or_init(|| wanted);
    if used == wanted {
        return Ok(());
    }
    Err(CudaError::Unsupported(format!(
        "this process uses the GPUs of {}, and a process uses those of one maker; for GPUs of {} start another process \
         that names its device first",
        used.name(),
        wanted.name()
    )))
}

/// Returns the driver's functions, without starting it.
pub(super) fn table() -> std::result::Result<&'static DriverApi, MissingLibrary> {
    match vendor() {
        Vendor::Nvidia => sys::driver(),
        Vendor::Amd => hip::driver(),
    }
}

/// Returns the oldest version of the driver that works, as (major, minor).
pub(super) fn oldest_version() -> (u32, u32) {
    match vendor() {
        Vendor::Nvidia => super::MIN_DRIVER,
        Vendor::Amd => hip::OLDEST_VERSION,
    }
}

/// Returns the compiler's target for a device: `sm_90` by its compute capability, or the name that HIP has for it.
pub(crate) fn target(ordinal: usize, (major, minor): (u32, u32)) -> Result<String> {
    match vendor() {
        Vendor::Nvidia => Ok(format!("sm_{major}{minor}")),
        Vendor::Amd => hip::target(ordinal as i32).ok_or_else(|| {
            CudaError::Unsupported(format!("HIP does not name the architecture of device {ordinal}; update ROCm"))
        }),
    }
}

/// Defines functions that return a library: NVIDIA's, or AMD's under the interface of NVIDIA's.
macro_rules! libraries {
    ($($(#[$doc:meta])* $name:ident: $table:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// It is not installed.
        pub(crate) fn $name() -> std::result::Result<&'static $table, MissingLibrary> {
            match vendor() {
                Vendor::Nvidia => sys::$name(),
                Vendor::Amd => hip::$name(),
            }
        }
    )*};
}
libraries! {
    /// Returns cuBLASLt, or hipBLASLt and rocBLAS.
    cublaslt: sys::cublaslt::CublasLtApi;
    /// Returns cuFFT or hipFFT.
    cufft: sys::cufft::CufftApi;
    /// Returns cuSOLVER or hipSOLVER.
    cusolver: sys::cusolver::CusolverApi;
    /// Returns cuSPARSE or hipSPARSE.
    cusparse: sys::cusparse::CusparseApi;
}

/// Returns the name of one of those libraries in messages, such as `hipFFT` for `cuFFT`.
pub(crate) fn library_name(nvidia: &'static str) -> Cow<'static, str> {
    match vendor() {
        Vendor::Nvidia => nvidia.into(),
        Vendor::Amd => nvidia.replacen("cu", "hip", 1).into(),
    }
}

/// Returns true if there seem to be GPUs of a maker, by their device nodes. A driver that is named explicitly is asked
/// itself.
pub(super) fn has_gpus(vendor: Vendor) -> bool {
    let named = match vendor {
        Vendor::Nvidia => sys::driver_file(),
        Vendor::Amd => hip::driver_file(),
    };
    let names = || std::fs::read_dir("/dev").into_iter().flatten().flatten().map(|entry| entry.file_name());
    named.is_some() || names().any(|name| name.to_str().is_some_and(|name| is_gpu_node(vendor, name)))
}

/// Returns true for `nvidia0` and so on, `dxg` (WSL) and `nvgpu` (Jetson), or for `kfd`.
fn is_gpu_node(vendor: Vendor, name: &str) -> bool {
    let numbered = name.strip_prefix("nvidia").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    match vendor {
        Vendor::Nvidia => numbered || name == "dxg" || name == "nvgpu",
        Vendor::Amd => name == "kfd",
    }
}

/// Returns the variable of the environment that hides all devices, if one does.
pub(super) fn hiding_variable() -> Option<&'static str> {
    let names: &[&str] = match vendor() {
        Vendor::Nvidia => &["CUDA_VISIBLE_DEVICES"],
        // HIP reads both.
        Vendor::Amd => &["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"],
    };
    names.iter().copied().find(|name| std::env::var(name).is_ok_and(|value| super::hides_all(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_nodes() {
        let nvidia = |name| is_gpu_node(Vendor::Nvidia, name);
        assert!(nvidia("nvidia0") && nvidia("nvidia15") && nvidia("dxg"));
        assert!(!nvidia("nvidiactl") && !nvidia("nvidia-uvm") && !nvidia("nvidia") && !nvidia("kfd"));
        assert!(is_gpu_node(Vendor::Amd, "kfd") && !is_gpu_node(Vendor::Amd, "nvidia0"));
    }
}
