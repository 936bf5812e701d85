//! The first steps on a machine with a GPU of AMD: a device node that this process may use, HIP, and its compiler.

use cuprous_cuda::driver;
use cuprous_hip_sys as sys;

use super::super::probe;
use super::super::report::{Check, Step};

const NODE: &str = "/dev/kfd";
/// What is true of this version.
const UNTRIED: &str = "kernels are compiled for GPUs of AMD and simulated, but no GPU of AMD has run them yet; please report what \
                       `cuprous doctor --json` says";

/// Checks the device node, HIP and hiprtc. Returns the number of GPUs, or `Err` if something that is present does not
/// work.
pub(super) fn checks(checks: &mut Vec<Check>) -> Result<usize, ()> {
    checks.push(Check::note("amd gpu", UNTRIED).of(Step::Gpu));
    let closed = if sys::driver_file().is_some() { Vec::new() } else { probe::unreadable(&[NODE.into()]) };
    if !closed.is_empty() {
        let cure = match probe::inside() {
            Some("a container") => "start the container with `--device /dev/kfd --device /dev/dri`",
            _ => "sudo usermod -aG video,render \"$USER\", then log in again",
        };
        checks.push(Check::broken("amd device", closed.join("\n"), cure).of(Step::Gpu));
        return Err(());
    }
    let count = match hip() {
        Ok((check, count)) => {
            checks.push(check.of(Step::Driver));
            count
        }
        Err(check) => {
            checks.push(check.of(Step::Driver));
            return Err(());
        }
    };
    checks.extend((0..count).map(|ordinal| gpu(ordinal).of(Step::Driver)));
    match sys::hiprtc() {
        Ok(_) => {
            let path = probe::loaded_from("libhiprtc.so").map_or_else(|| "found".into(), |p| p.display().to_string());
            checks.push(Check::ok("hiprtc", path).of(Step::Libraries));
            checks.extend(libraries());
            Ok(count)
        }
        Err(missing) => {
            checks.push(Check::broken("hiprtc", missing.to_string(), missing.cure.clone()).of(Step::Libraries));
            Err(())
        }
    }
}

/// What a library of AMD does, and what happens without it. None is required.
const LIBRARIES: [(&str, &str); 6] = [
    ("hipBLASLt", "products of matrices take rocBLAS, or a slower kernel"),
    ("rocBLAS", "products that hipBLASLt lacks, such as complex ones, take a slower kernel"),
    ("hipFFT", "Fourier transforms of lengths that our kernels do not have raise"),
    ("hipSOLVER", "decompositions of larger matrices raise"),
    ("hipSPARSE", "products of sparse matrices raise"),
    ("AMD's management library (amdsmi)", "`cuprous top` does not show the GPUs"),
];

/// Returns where each library was found, or what happens without it.
fn libraries() -> impl Iterator<Item = Check> {
    let found = sys::library_files();
    LIBRARIES.into_iter().map(move |(name, without)| {
        let file = found.iter().find(|row| row.0 == name).and_then(|row| row.1.as_ref());
        let check = match file {
            Some(path) => Check::ok(name, path.display().to_string()),
            None => Check::note(name, format!("not found: {without}; it is part of ROCm")),
        };
        check.of(Step::Libraries)
    })
}

/// Checks that HIP starts and sees a GPU.
fn hip() -> Result<(Check, usize), Check> {
    let broken = |found: String, cure: &str| Check::broken("hip", found, cure);
    let (major, minor) = driver::version().map_err(|error| match sys::driver() {
        Err(missing) => broken(missing.to_string(), &missing.cure),
        Ok(_) => broken(error.to_string(), "reinstall ROCm"),
    })?;
    let path = probe::loaded_from("libamdhip64.so").map_or_else(String::new, |p| format!(", {}", p.display()));
    let found = format!("{major}.{minor}{path}");
    let cure = "run `rocminfo`; if it fails too, install AMD's driver for this GPU and restart the machine";
    driver::init().map_err(|error| broken(format!("{found}\n{error}"), cure))?;
    match driver::device_count() {
        Ok(0) => Err(broken(format!("{found}\nHIP sees no GPU"), cure)),
        Ok(count) => Ok((Check::ok("hip", found), count)),
        Err(error) => Err(broken(format!("{found}\n{error}"), cure)),
    }
}

fn gpu(ordinal: usize) -> Check {
    let name = format!("gpu {ordinal}");
    match (driver::device_info(ordinal), sys::target(ordinal as i32)) {
        (Ok(info), Some(target)) => {
            let memory = info.total_memory as f64 / f64::from(1 << 30);
            Check::ok(&name, format!("{}, {memory:.0} GiB, {target}, {} compute units", info.name, info.sm_count))
        }
        (Ok(info), None) => Check::broken(&name, format!("{}: its architecture is unknown", info.name), "update ROCm"),
        (Err(error), _) => Check::broken(&name, error.to_string(), "restart the machine"),
    }
}
