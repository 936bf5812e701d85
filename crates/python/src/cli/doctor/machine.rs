//! The first two steps: an NVIDIA GPU that this process may use, and a driver that starts it.

use cuprous_cuda::driver;
use cuprous_cuda::error::CudaError;

use super::super::probe;
use super::super::report::{Check, Step};

/// Checks GPUs on the bus, device nodes, permissions, and environment variables that hide GPUs. Returns true if the
/// driver should be checked, and `Err` if something that is present does not work.
pub(super) fn hardware(checks: &mut Vec<Check>) -> Result<bool, ()> {
    let mut add = |check: Check| checks.push(check.of(Step::Gpu));
    let makers = probe::pci_gpus();
    for maker in makers.iter().filter(|maker| **maker != "NVIDIA") {
        let found = match *maker {
            "AMD" if std::path::Path::new("/dev/kfd").exists() => {
                "found, but not used here: a process uses it that names the device \"hip\" before any GPU of NVIDIA"
                    .into()
            }
            "AMD" => "found, but it has no device node (/dev/kfd): install AMD's driver and ROCm to use it".to_owned(),
            _ => format!("found, but Cuprous cannot use {maker} GPUs and computes on the CPU instead"),
        };
        add(Check::note(&format!("{maker} gpu"), found));
    }
    let nodes = probe::nvidia_nodes();
    if !nodes.iter().any(|node| probe::is_gpu_node(node)) {
        return match no_node(makers.contains(&"NVIDIA")) {
            check if check.is_broken() => {
                add(check);
                Err(())
            }
            check => {
                add(check);
                Ok(false)
            }
        };
    }
    let closed = probe::unreadable(&nodes);
    if !closed.is_empty() {
        let cure = match probe::inside() {
            Some("a container") => "start the container with the GPU (docker: `--gpus all`)",
            _ => "sudo usermod -aG video,render \"$USER\", then log in again",
        };
        add(Check::broken("nvidia device", closed.join("\n"), cure));
        return Err(());
    }
    add(Check::ok("nvidia device", nodes.join(" ")));
    if let Ok(visible) = std::env::var("CUDA_VISIBLE_DEVICES") {
        if driver::hides_all(&visible) {
            let found = format!("{visible:?} hides every GPU from this process");
            add(Check::note("CUDA_VISIBLE_DEVICES", found).with_cure("unset CUDA_VISIBLE_DEVICES"));
            return Ok(false);
        }
        add(Check::note("CUDA_VISIBLE_DEVICES", format!("{visible:?} limits which GPUs this process sees")));
    }
    Ok(true)
}

/// Returns the check for missing NVIDIA device nodes.
fn no_node(on_the_bus: bool) -> Check {
    if !on_the_bus {
        return Check::note("gpu", "none: no NVIDIA device was found");
    }
    let found = "an NVIDIA GPU is on the PCI bus, but it has no device node in /dev";
    match (probe::inside(), probe::kernel_module()) {
        // Inside a container the bus shows the host's devices, which may be withheld on purpose.
        (Some("a container"), _) => {
            Check::note("gpu", found).with_cure("start the container with the GPU (docker: `--gpus all`)")
        }
        (_, Some(version)) => {
            let found = format!("{found}, though the driver's kernel module {version} is loaded");
            Check::broken("gpu", found, "sudo nvidia-modprobe -c 0 -u")
        }
        (_, None) => Check::broken("gpu", found, "install NVIDIA's driver, then restart the machine"),
    }
}

/// Checks NVIDIA's driver: its parts, its version, and that it starts. Returns the number of GPUs.
pub(super) fn driver(checks: &mut Vec<Check>) -> Result<usize, ()> {
    let mut add = |check: Check| checks.push(check.of(Step::Driver));
    let module = probe::kernel_module().map_or(String::new(), |version| format!(", {version}"));
    let version = match driver::version() {
        Ok(version) => version,
        Err(error) => {
            let (found, cure) = no_library(&error);
            add(Check::broken("driver", found, cure));
            return Err(());
        }
    };
    let path = probe::loaded_from("libcuda.so").map_or_else(String::new, |p| format!(", {}", p.display()));
    let found = format!("for CUDA {}.{}{module}{path}", version.0, version.1);
    if version < driver::MIN_DRIVER {
        let found = format!("{found}: too old, CUDA 12.0 is needed");
        add(Check::broken("driver", found, "install NVIDIA's driver 525.60.13 or newer (CUDA 13: 580.65.06)"));
        return Err(());
    }
    if let Err(error) = driver::init() {
        let (cause, cure) = no_start(&error);
        add(Check::broken("driver", format!("{found}\n{error}{cause}"), cure));
        return Err(());
    }
    add(Check::ok("driver", found));
    let count = match driver::device_count() {
        Ok(0) => {
            let cure = "run `nvidia-smi -L`; restart the machine if it lists none";
            add(Check::broken("gpu", "the driver sees no GPU", cure));
            return Err(());
        }
        Ok(count) => count,
        Err(error) => {
            add(Check::broken("gpu", error.to_string(), "restart the machine"));
            return Err(());
        }
    };
    for ordinal in 0..count {
        let name = format!("gpu {ordinal}");
        add(match driver::device_info(ordinal) {
            Ok(info) => {
                let (major, minor) = info.compute_capability;
                let memory = info.total_memory as f64 / f64::from(1 << 30);
                let sms = info.sm_count;
                Check::ok(&name, format!("{}, {memory:.0} GiB, compute {major}.{minor}, {sms} SMs", info.name))
            }
            Err(error) => Check::broken(&name, error.to_string(), "restart the machine"),
        });
    }
    Ok(count)
}

/// Returns why the driver's library is missing, and a fix.
fn no_library(error: &CudaError) -> (String, &'static str) {
    let found = match error {
        CudaError::MissingLibrary(missing) => match &missing.refused {
            Some((file, why)) => format!("{} exists but cannot be loaded: {why}", file.display()),
            None => "its library, libcuda.so.1, was not found".to_owned(),
        },
        other => other.to_string(),
    };
    let cure = match (probe::inside(), probe::kernel_module()) {
        (Some("WSL"), _) => "install NVIDIA's driver in Windows (none inside WSL), then `wsl --shutdown`",
        (Some("a container"), _) => {
            "start the container with NVIDIA's toolkit: `--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility`"
        }
        (_, Some(_)) => {
            "install the driver's libraries of the module's version (Debian: libcuda1), then run `sudo ldconfig`"
        }
        (_, None) => "install NVIDIA's driver for this GPU, then restart the machine",
    };
    (found, cure)
}

/// Statuses with which the driver refuses to start: the cause and a fix.
const REFUSALS: [(u32, &str, &str); 8] = [
    (2, "another process holds all of the GPU's memory", "end it: `nvidia-smi` lists it"),
    (46, "another process uses the GPU exclusively", "end it, or have an administrator run `nvidia-smi -c DEFAULT`"),
    (100, "the driver sees no GPU", "run `nvidia-smi -L`; restart the machine if it lists none"),
    (802, "the switch between the GPUs (NVSwitch) is not ready", "sudo systemctl restart nvidia-fabricmanager"),
    (
        803,
        "the driver's library and its kernel module are of different versions, as after an update",
        "restart the machine",
    ),
    (
        804,
        "the package cuda-compat is loaded instead of the driver's own library",
        "remove cuda-compat from LD_LIBRARY_PATH",
    ),
    (805, "the service that shares the GPU (MPS) does not respond", "restart nvidia-cuda-mps-control"),
    (
        999,
        "often the module nvidia-uvm is not loaded",
        "sudo nvidia-modprobe -u -c 0; if that does not help, restart the machine",
    ),
];

fn no_start(error: &CudaError) -> (String, &'static str) {
    let CudaError::Driver { code, .. } = error else { return (String::new(), "restart the machine") };
    let listed = std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
    if listed && matches!(code, 100 | 101) {
        return ("\nCUDA_VISIBLE_DEVICES does not name an existing GPU".into(), "unset CUDA_VISIBLE_DEVICES");
    }
    match REFUSALS.iter().find(|row| row.0 == *code) {
        Some((_, cause, cure)) => (format!("\n{cause}"), cure),
        None => (String::new(), "run `nvidia-smi`; if it fails too, restart the machine or reinstall the driver"),
    }
}
