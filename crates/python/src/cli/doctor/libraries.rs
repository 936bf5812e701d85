//! The third and fourth step: NVIDIA's libraries, of a CUDA version that the driver supports.

use cuprous_cuda::{driver, nvrtc};
use cuprous_cuda_sys as sys;

use super::super::probe;
use super::super::report::{Check, Step};

/// What is known about a library that was loaded.
struct LibraryInfo {
    version: String,
    /// The major version of its CUDA, if it is known.
    cuda: Option<u32>,
}

impl LibraryInfo {
    /// Returns the info for a version of three numbers; `cuda` maps the first of them to CUDA's major version.
    fn numbered([major, minor, patch]: [u32; 3], cuda: fn(u32) -> u32) -> LibraryInfo {
        LibraryInfo { version: format!("{major}.{minor}.{patch}"), cuda: Some(cuda(major)) }
    }

    fn unknown(why: impl Into<String>) -> LibraryInfo {
        LibraryInfo { version: why.into(), cuda: None }
    }
}

type LibraryResult = Result<LibraryInfo, sys::MissingLibrary>;

/// Checks all libraries. A missing library is a fault only if there is a GPU that needs it.
pub(super) fn checks(needed: bool) -> Vec<Check> {
    let required = [
        ("NVRTC", "libnvrtc.so", nvrtc_found()),
        ("cuBLASLt", "libcublasLt.so", cublaslt()),
        ("cuFFT", "libcufft.so", cufft()),
        ("cuSOLVER", "libcusolver.so", cusolver()),
        ("cuSPARSE", "libcusparse.so", cusparse()),
    ];
    let driver = driver::version().ok().filter(|_| needed);
    let mut checks: Vec<Check> = required
        .into_iter()
        .map(|(name, file, loaded)| describe(name, file, loaded, needed, driver).of(Step::Libraries))
        .collect();
    install_together(&mut checks, driver.map_or(13, |version| version.0));
    #[cfg(unix)]
    if driver::device_count().is_ok_and(|count| count > 1) {
        checks.push(nccl().of(Step::Libraries));
    }
    checks.push(cudnn().of(Step::Cudnn));
    checks
}

/// Replaces the fixes for several missing libraries by one command that installs all of them.
fn install_together(checks: &mut [Check], cuda: u32) {
    let missing = |check: &&mut Check| check.found.starts_with(MISSING) || check.found.starts_with(NOT_INSTALLED);
    let mut missing: Vec<&mut Check> = checks.iter_mut().filter(missing).collect();
    if missing.len() < 2 {
        return;
    }
    let extra = if cuda >= 13 { "cuda" } else { "cuda12" };
    for check in &mut missing {
        check.cure = Some(format!("pip install \"cuprous[{extra}]\""));
    }
}

const MISSING: &str = "not found. Searched:";
const NOT_INSTALLED: &str = "not installed";

fn describe(name: &str, file: &str, loaded: LibraryResult, needed: bool, driver: Option<(u32, u32)>) -> Check {
    let missing = match loaded {
        Ok(found) => {
            let path = probe::loaded_from(file).map_or_else(String::new, |p| format!(", {}", p.display()));
            return match (found.cuda, driver) {
                (Some(cuda), Some(driver)) if cuda > driver.0 => {
                    let text = format!(
                        "{}{path}\nit belongs to CUDA {cuda}, but the driver supports CUDA {}.{}",
                        found.version, driver.0, driver.1
                    );
                    Check::broken(name, text, sys::cure_for(name, driver.0).unwrap_or_default())
                }
                _ => Check::ok(name, format!("{}{path}", found.version)),
            };
        }
        Err(missing) => missing,
    };
    match (&missing.refused, needed) {
        (Some((file, why)), true) => Check::broken(name, refused(file, why), missing.cure),
        (Some((file, why)), false) => {
            Check::note(name, format!("{}; only a GPU needs it", refused(file, why))).with_cure(missing.cure)
        }
        (None, true) => {
            let searched = missing.searched.join("\n  ");
            Check::broken(name, format!("{MISSING}\n  {searched}"), missing.cure)
        }
        (None, false) => Check::note(name, format!("{NOT_INSTALLED}; only a GPU needs it")).with_cure(missing.cure),
    }
}

fn refused(file: &std::path::Path, why: &str) -> String {
    format!("found but cannot be loaded: {}\n{why}", file.display())
}

fn nvrtc_found() -> LibraryResult {
    sys::nvrtc().map(|_| match nvrtc::version() {
        Ok((major, minor)) => LibraryInfo { version: format!("{major}.{minor}"), cuda: Some(major) },
        Err(error) => LibraryInfo::unknown(error.to_string()),
    })
}

fn cublaslt() -> LibraryResult {
    sys::cublaslt().map(|api| match &api.cublasLtGetVersion {
        Ok(get) => {
            // SAFETY: the function takes no arguments and returns a number.
            let n = unsafe { get() } as u32;
            // 130100 is 13.1.0; before version 13 it was 120803 for 12.8.3.
            LibraryInfo::numbered([n / 10_000, n / 100 % 100, n % 100], |major| major)
        }
        Err(error) => LibraryInfo::unknown(error.to_string()),
    })
}

fn cufft() -> LibraryResult {
    sys::cufft().map(|api| match &api.cufftGetVersion {
        Ok(get) => {
            let mut version = 0;
            // SAFETY: the call writes one number.
            let status = unsafe { get(&raw mut version) };
            match u32::try_from(version) {
                // 12500 is 12.5.0, of CUDA 13; CUDA 12 had 11.
                Ok(n) if status == sys::cufft::cufftResult::CUFFT_SUCCESS => {
                    LibraryInfo::numbered([n / 1000, n / 100 % 10, n % 100], |major| major + 1)
                }
                _ => LibraryInfo::unknown(format!("version unknown: {status:?}")),
            }
        }
        Err(error) => LibraryInfo::unknown(error.to_string()),
    })
}

fn cusolver() -> LibraryResult {
    sys::cusolver().map(|api| match &api.cusolverGetVersion {
        Ok(get) => {
            let mut version = 0;
            // SAFETY: the call writes one number.
            let status = unsafe { get(&raw mut version) };
            match u32::try_from(version) {
                Ok(n) if status.0 == 0 => LibraryInfo::numbered([n / 1000, n / 100 % 10, n % 100], |major| major + 1),
                _ => LibraryInfo::unknown(format!("status {}", status.0)),
            }
        }
        Err(error) => LibraryInfo::unknown(error.to_string()),
    })
}

/// The file name is the same for CUDA 12 and 13; pip's folder differs.
fn cusparse() -> LibraryResult {
    sys::cusparse().map(|_| {
        let path = probe::loaded_from("libcusparse.so");
        let of_13 = path.is_some_and(|path| path.components().any(|part| part.as_os_str() == "cu13"));
        LibraryInfo { version: "found".into(), cuda: of_13.then_some(13) }
    })
}

fn cudnn() -> Check {
    match sys::cudnn() {
        Ok(_) => {
            let path = probe::loaded_from("libcudnn.so").map_or_else(String::new, |p| format!(", {}", p.display()));
            Check::ok("cuDNN", format!("found{path}"))
        }
        Err(missing) => {
            let text = match &missing.refused {
                Some((file, why)) => refused(file, why),
                None => "not installed".into(),
            };
            let text = format!("{text}; optional: large convolutions on a GPU are faster with it");
            Check::note("cuDNN", text).with_cure(missing.cure)
        }
    }
}

#[cfg(unix)]
fn nccl() -> Check {
    match (sys::nccl(), cuprous_nccl::version()) {
        (Ok(_), Ok(version)) => {
            let path = probe::loaded_from("libnccl.so").map_or_else(String::new, |p| format!(", {}", p.display()));
            Check::ok("NCCL", format!("{version}{path}"))
        }
        (Ok(_), Err(failure)) => Check::note("NCCL", failure.message),
        (Err(missing), _) => {
            let text = match &missing.refused {
                Some((file, why)) => refused(file, why),
                None => "not installed".into(),
            };
            let text = format!("{text}; optional: processes with one GPU each compute together with it");
            Check::note("NCCL", text).with_cure(missing.cure)
        }
    }
}

/// Checks that the compiler supports each GPU.
pub(super) fn targets(checks: &mut Vec<Check>, gpus: usize) {
    for ordinal in 0..gpus {
        let (Ok(info), Ok(version)) = (driver::device_info(ordinal), nvrtc::version()) else { continue };
        if let Err(error) = nvrtc::best_arch(info.compute_capability) {
            // Each major version drops the oldest GPUs; a GPU that is too new needs a newer compiler.
            let cure = if info.compute_capability < (7, 5) && version.0 >= 13 {
                sys::cure_for("NVRTC", 12).unwrap_or_default()
            } else {
                "pip install --upgrade nvidia-cuda-nvrtc".into()
            };
            checks.push(
                Check::broken(&format!("compiler for gpu {ordinal}"), error.to_string(), cure).of(Step::Libraries),
            );
        }
    }
}
