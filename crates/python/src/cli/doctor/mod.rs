//! `cuprous doctor`: checks of the steps of an installation, from the processor to a kernel that runs.

mod amd;
mod libraries;
mod machine;
mod packages;
mod ranks;

use std::io::{self, Write};

use cuprous_cuda::cache::DiskCache;
use cuprous_cuda::codegen::Vendor;
use cuprous_cuda::driver;

use super::report::{Check, Step, any_broken, write_json, write_text};
use super::{Host, probe};

/// Runs all checks and writes the findings; returns the exit code.
pub(super) fn run(host: &Host<'_>, json: bool, out: &mut dyn Write) -> io::Result<i32> {
    let mut checks = vec![
        Check::ok("cuprous", format!("{}, Python {}", env!("CARGO_PKG_VERSION"), host.python)),
        Check::ok("system", probe::system()),
        Check::ok("cpu", probe::cpu()),
        kernel("cpu", host),
    ];
    // A step is checked only if the previous one did not fail, because a consequence of a fault has no fix of its own.
    let nvidia = driver::vendor() == Vendor::Nvidia;
    let gpus = match nvidia {
        true => {
            machine::hardware(&mut checks).and_then(|found| if found { machine::driver(&mut checks) } else { Ok(0) })
        }
        false => amd::checks(&mut checks),
    };
    let has_gpu = gpus.is_ok_and(|count| count > 0);
    if nvidia {
        checks.extend(libraries::checks(has_gpu));
        if has_gpu {
            libraries::targets(&mut checks, gpus.unwrap_or(0));
        }
    }
    checks.extend(packages::checks(host));
    checks.extend(ranks::checks(host, gpus.unwrap_or(0)));
    let mut last = vec![cache(has_gpu)];
    last.extend((0..gpus.unwrap_or(0)).map(|ordinal| kernel(&format!("cuda:{ordinal}"), host)));
    checks.extend(last.into_iter().map(|check| check.of(Step::Run)));
    let summary = summary(&checks, has_gpu);
    if json { write_json(out, &checks, summary) } else { write_text(out, &checks, summary) }?;
    Ok(i32::from(any_broken(&checks)))
}

fn summary(checks: &[Check], gpu: bool) -> &'static str {
    match (any_broken(checks), gpu) {
        (true, _) => "Something is broken: see the lines marked BROKEN, and begin with the first.",
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
        "pip install --force-reinstall --no-deps cuprous"
    } else {
        "see the first BROKEN line above; if there is none, run `nvidia-smi` and restart the machine if it fails too"
    }
}

fn cache(has_gpu: bool) -> Check {
    let cache = DiskCache::open_default();
    if let Some(reason) = cache.disabled_because() {
        let cure = "set CUPROUS_CACHE_DIR to a folder of your own";
        let text = format!("off: {reason}");
        return if has_gpu { Check::broken("kernel cache", text, cure) } else { Check::note("kernel cache", text) };
    }
    let Some(folder) = cache.folder() else { return Check::note("kernel cache", "off") };
    let (files, bytes) = probe::folder_size(folder);
    let mib = bytes as f64 / f64::from(1 << 20);
    Check::ok("kernel cache", format!("{}, {files} files, {mib:.1} MiB, writable", folder.display()))
}
