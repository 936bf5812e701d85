//! `cuprous doctor`: looks at everything that a computation needs, from the processor to a kernel that really runs.

use std::io::{self, Write};

use cuprous_cuda::cache::DiskCache;
use cuprous_cuda::{driver, nvrtc};
use cuprous_cuda_sys as sys;

use super::report::{Check, any_broken, write_json, write_text};
use super::{Host, probe};

/// Looks at everything and writes what was found; the answer is the exit code.
pub(super) fn run(host: &Host<'_>, json: bool, out: &mut dyn Write) -> io::Result<i32> {
    let mut checks = vec![
        Check::ok("cuprous", format!("{}, Python {}", env!("CARGO_PKG_VERSION"), host.python)),
        Check::ok("system", probe::system()),
        Check::ok("cpu", probe::cpu()),
        kernel("cpu", host),
    ];
    let gpus = gpu(&mut checks);
    let wanted = gpus.as_ref().is_ok_and(|count| *count > 0);
    checks.extend(libraries(wanted));
    checks.push(cache(wanted));
    if let Ok(count) = gpus {
        checks.extend((0..count).map(|ordinal| kernel(&format!("cuda:{ordinal}"), host)));
    }
    let summary = summary(&checks, wanted);
    if json { write_json(out, &checks, summary) } else { write_text(out, &checks, summary) }?;
    Ok(i32::from(any_broken(&checks)))
}

fn summary(checks: &[Check], gpu: bool) -> &'static str {
    match (any_broken(checks), gpu) {
        (true, _) => "Something is broken: see the lines marked BROKEN.",
        (false, true) => "All is well: the GPU is usable.",
        (false, false) => "All is well: no GPU is usable here, and Cuprous computes on the CPU.",
    }
}

fn kernel(device: &str, host: &Host<'_>) -> Check {
    let name = format!("kernel on {device}");
    match (host.run_kernel)(device) {
        Ok(what) => Check::ok(&name, what),
        Err(cause) => Check::broken(&name, cause, kernel_cure(device)),
    }
}

fn kernel_cure(device: &str) -> &'static str {
    if device == "cpu" {
        "reinstall Cuprous: pip install --force-reinstall --no-deps cuprous"
    } else {
        "see the first BROKEN line above; if there is none, run `nvidia-smi` and restart the machine if it fails too"
    }
}

/// Devices, driver and GPUs. The answer is the number of GPUs; `Err` where what is there does not work.
fn gpu(checks: &mut Vec<Check>) -> Result<usize, ()> {
    let nodes = probe::nvidia_nodes();
    let makers = probe::pci_gpus();
    for maker in makers.iter().filter(|maker| **maker != "NVIDIA") {
        checks.push(Check::note(
            &format!("{maker} gpu"),
            format!("there is one, and Cuprous cannot use {maker} GPUs yet; the CPU computes in its place"),
        ));
    }
    if let Ok(visible) = std::env::var("CUDA_VISIBLE_DEVICES") {
        checks.push(Check::note("CUDA_VISIBLE_DEVICES", format!("{visible:?} limits which GPUs this process sees")));
    }
    if nodes.is_empty() {
        return no_node(checks, makers.contains(&"NVIDIA"));
    }
    let closed = probe::unreadable(&nodes);
    if !closed.is_empty() {
        let cure = "add the user to the group that owns the nodes (often `video` or `render`), then log in again";
        checks.push(Check::broken("nvidia device", closed.join("\n"), cure));
        return Err(());
    }
    checks.push(Check::ok("nvidia device", nodes.join(" ")));
    match driver::version() {
        Ok((major, minor)) => {
            let path = probe::loaded_from("libcuda.so").map_or_else(String::new, |p| format!(", {}", p.display()));
            checks.push(Check::ok("driver", format!("for CUDA {major}.{minor}{path}")));
        }
        Err(error) => {
            let cure = if probe::inside() == Some("WSL") {
                "install NVIDIA's driver in Windows, then `wsl --shutdown`"
            } else {
                "install NVIDIA's driver for this GPU; in a container, start it with the GPU (`--gpus all`)"
            };
            checks.push(Check::broken("driver", error.to_string(), cure));
            return Err(());
        }
    }
    if let Some(reason) = driver::why_unavailable() {
        let hidden = reason.contains("CUDA_VISIBLE_DEVICES");
        checks.push(if hidden {
            Check::note("gpu", reason).with_cure("unset CUDA_VISIBLE_DEVICES to use the GPU")
        } else {
            Check::broken("gpu", reason, "install a newer NVIDIA driver (CUDA 12.0 or newer)")
        });
        return if hidden { Ok(0) } else { Err(()) };
    }
    devices(checks)
}

/// What to say where NVIDIA's nodes are missing.
fn no_node(checks: &mut Vec<Check>, on_the_bus: bool) -> Result<usize, ()> {
    if !on_the_bus {
        checks.push(Check::note("gpu", "none: there is no NVIDIA device here"));
        return Ok(0);
    }
    let found = "there is an NVIDIA GPU on the PCI bus, and no device node for it in /dev";
    let cure = match probe::inside() {
        Some("a container") => "start the container with the GPU (docker: `--gpus all`)",
        _ => "install NVIDIA's driver and load it (`sudo modprobe nvidia`)",
    };
    // Inside a container the bus shows the host's devices, which may well be withheld on purpose.
    if probe::inside() == Some("a container") {
        checks.push(Check::note("gpu", found).with_cure(cure));
        return Ok(0);
    }
    checks.push(Check::broken("gpu", found, cure));
    Err(())
}

fn devices(checks: &mut Vec<Check>) -> Result<usize, ()> {
    let count = match driver::device_count() {
        Ok(count) => count,
        Err(error) => {
            let cure = "run `nvidia-smi`; if it fails too, restart the machine or reinstall the driver";
            checks.push(Check::broken("gpu", error.to_string(), cure));
            return Err(());
        }
    };
    for ordinal in 0..count {
        let name = format!("gpu {ordinal}");
        checks.push(match driver::device_info(ordinal) {
            Ok(info) => {
                let (major, minor) = info.compute_capability;
                let memory = info.total_memory as f64 / f64::from(1 << 30);
                let sms = info.sm_count;
                Check::ok(&name, format!("{}, {memory:.0} GiB, compute {major}.{minor}, {sms} SMs", info.name))
            }
            Err(error) => Check::broken(&name, error.to_string(), "restart the machine"),
        });
        if let Ok(info) = driver::device_info(ordinal)
            && nvrtc::version().is_ok()
            && let Err(error) = nvrtc::best_arch(info.compute_capability)
        {
            let cure = "pip install --upgrade nvidia-cuda-nvrtc";
            checks.push(Check::broken(&format!("compiler for {name}"), error.to_string(), cure));
        }
    }
    Ok(count)
}

/// NVIDIA's libraries. Missing ones are broken only where there is a GPU that wants them.
fn libraries(wanted: bool) -> [Check; 6] {
    let describe = |name: &str, loaded: Result<String, sys::MissingLibrary>, file: &str| match loaded {
        Ok(version) => {
            let path = probe::loaded_from(file).map_or_else(String::new, |p| format!(", {}", p.display()));
            Check::ok(name, format!("{version}{path}"))
        }
        Err(missing) if wanted => {
            let places = missing.searched.join("\n  ");
            Check::broken(name, format!("not found. Searched:\n  {places}"), missing.cure)
        }
        Err(missing) => Check::note(name, "not installed; only a GPU needs it").with_cure(missing.cure),
    };
    let nvrtc_version = sys::nvrtc().map(|_| match nvrtc::version() {
        Ok((major, minor)) => format!("{major}.{minor}"),
        Err(error) => error.to_string(),
    });
    let cublaslt_version = sys::cublaslt().map(|api| match &api.cublasLtGetVersion {
        // SAFETY: no arguments; it answers a number.
        Ok(get) => version_text(unsafe { get() }),
        Err(error) => error.to_string(),
    });
    let cufft_version = sys::cufft().map(|api| match &api.cufftGetVersion {
        Ok(get) => {
            let mut version = 0;
            // SAFETY: it writes one number.
            let status = unsafe { get(&raw mut version) };
            let known = status == sys::cufft::cufftResult::CUFFT_SUCCESS;
            // 12500 is 12.5.0.
            let parts = [version / 1000, version / 100 % 10, version % 100];
            if known { parts.map(|n| n.to_string()).join(".") } else { format!("version unknown: {status:?}") }
        }
        Err(error) => error.to_string(),
    });
    let cusolver_version = sys::cusolver().map(|api| match &api.cusolverGetVersion {
        Ok(get) => {
            let mut version = 0;
            // SAFETY: the call writes one number.
            let status = unsafe { get(&raw mut version) };
            match usize::try_from(version) {
                Ok(version) if status.0 == 0 => format!("{}.{}.{}", version / 1000, version / 100 % 10, version % 100),
                _ => format!("status {}", status.0),
            }
        }
        Err(error) => error.to_string(),
    });
    let cusparse_version = sys::cusparse().map(|_| "found".into());
    let cudnn = match sys::cudnn() {
        Ok(_) => describe("cuDNN", Ok("found".into()), "libcudnn.so"),
        Err(missing) => {
            let text = "not installed; on a GPU large convolutions are faster with it, and run without it";
            Check::note("cuDNN", text).with_cure(missing.cure)
        }
    };
    [
        describe("NVRTC", nvrtc_version, "libnvrtc.so"),
        describe("cuBLASLt", cublaslt_version, "libcublasLt.so"),
        describe("cuFFT", cufft_version, "libcufft.so"),
        describe("cuSOLVER", cusolver_version, "libcusolver.so"),
        describe("cuSPARSE", cusparse_version, "libcusparse.so"),
        cudnn,
    ]
}

/// 130100 is 13.1.0; before version 13 it was 120803 for 12.8.3.
fn version_text(number: usize) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

fn cache(wanted: bool) -> Check {
    let cache = DiskCache::open_default();
    if let Some(reason) = cache.disabled_because() {
        let cure = "name a folder of your own in CUPROUS_CACHE_DIR";
        let text = format!("off: {reason}");
        return if wanted { Check::broken("kernel cache", text, cure) } else { Check::note("kernel cache", text) };
    }
    let Some(folder) = cache.folder() else { return Check::note("kernel cache", "off") };
    let (files, bytes) = probe::folder_size(folder);
    let mib = bytes as f64 / f64::from(1 << 20);
    Check::ok("kernel cache", format!("{}, {files} files, {mib:.1} MiB, writable", folder.display()))
}
