//! Finds NVIDIA's libraries and opens each on first use.
//!
//! Search order, of which the driver takes only the first and the last: `CUPROUS_CUDA_PATH`, the roots given by the caller (the `nvidia` folders of pip wheels), `CUDA_PATH`,
//! `CUDA_HOME`, `/usr/local/cuda`, then the bare file name for the system's loader. In each, files of the driver's
//! major version come first, because a CUDA 13 library does not work with a CUDA 12 driver.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::cublaslt::CublasLtApi;
use crate::cudnn::CudnnApi;
use crate::cufft::CufftApi;
use crate::cusolver::CusolverApi;
use crate::cusparse::CusparseApi;
use crate::driver::{CUresult, DriverApi};
use crate::nccl::NcclApi;
use crate::nvjitlink::NvJitLinkApi;
use crate::nvrtc::NvrtcApi;

/// A library: its files by CUDA major version, and where pip installs them.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// The name in messages.
    pub name: &'static str,
    /// (CUDA major, file name, folder under the `nvidia` root, pip requirement).
    files: &'static [(u32, &'static str, &'static str, &'static str)],
}

// Not `libcuda.so`: that may be a toolkit's stub, which loads and then fails in each call.
const DRIVER_FILE: &str = "libcuda.so.1";
const DRIVER: Library = Library { name: "the NVIDIA driver (libcuda.so.1)", files: &[] };
const NVRTC: Library = Library {
    name: "NVRTC",
    files: &[
        (13, "libnvrtc.so.13", "cu13/lib", "nvidia-cuda-nvrtc>=13,<14"),
        (12, "libnvrtc.so.12", "cuda_nvrtc/lib", "nvidia-cuda-nvrtc-cu12"),
    ],
};
const NVJITLINK: Library = Library {
    name: "nvJitLink",
    files: &[
        (13, "libnvJitLink.so.13", "cu13/lib", "nvidia-nvjitlink>=13,<14"),
        (12, "libnvJitLink.so.12", "nvjitlink/lib", "nvidia-nvjitlink-cu12"),
    ],
};
const CUBLASLT: Library = Library {
    name: "cuBLASLt",
    files: &[
        (13, "libcublasLt.so.13", "cu13/lib", "nvidia-cublas>=13,<14"),
        (12, "libcublasLt.so.12", "cublas/lib", "nvidia-cublas-cu12"),
    ],
};
const CUFFT: Library = Library {
    name: "cuFFT",
    files: &[
        (13, "libcufft.so.12", "cu13/lib", "nvidia-cufft>=12,<13"),
        (12, "libcufft.so.11", "cufft/lib", "nvidia-cufft-cu12"),
    ],
};
const CUSOLVER: Library = Library {
    name: "cuSOLVER",
    files: &[
        (13, "libcusolver.so.12", "cu13/lib", "nvidia-cusolver>=12,<13"),
        (12, "libcusolver.so.11", "cusolver/lib", "nvidia-cusolver-cu12"),
    ],
};

const CUSPARSE: Library = Library {
    name: "cuSPARSE",
    files: &[
        (13, "libcusparse.so.12", "cu13/lib", "nvidia-cusparse>=12,<13"),
        (12, "libcusparse.so.12", "cusparse/lib", "nvidia-cusparse-cu12"),
    ],
};

const CUDNN: Library = Library {
    name: "cuDNN",
    files: &[
        (13, "libcudnn.so.9", "cudnn/lib", "nvidia-cudnn-cu13>=9,<10"),
        (12, "libcudnn.so.9", "cudnn/lib", "nvidia-cudnn-cu12>=9,<10"),
    ],
};

const NCCL_FILE: &str = "libnccl.so.2";
const NCCL: Library = Library {
    name: "NCCL",
    files: &[
        (13, NCCL_FILE, "nccl/lib", "nvidia-nccl-cu13>=2.27.7,<3"),
        (12, NCCL_FILE, "nccl/lib", "nvidia-nccl-cu12>=2.27.7,<3"),
    ],
};

/// A library that cannot be loaded, and how to fix that.
#[derive(Debug, Clone)]
pub struct MissingLibrary {
    /// The library's name.
    pub library: &'static str,
    /// A shell command such as `pip install "nvidia-cuda-nvrtc>=13,<14"`, or a sentence for the driver.
    pub cure: String,
    /// Each file tried, with the loader's message if the file exists and does not load.
    pub searched: Vec<String>,
    /// The first file that exists and does not load, and why. `None` if no file exists.
    pub refused: Option<(PathBuf, String)>,
}

impl fmt::Display for MissingLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, why)) = &self.refused {
            return write!(
                f,
                "{} was found but does not load ({}: {why}); {}",
                self.library,
                file.display(),
                self.cure
            );
        }
        write!(f, "{} was not found; {}. Searched:", self.library, self.cure)?;
        self.searched.iter().try_for_each(|path| write!(f, "\n  {path}"))
    }
}

impl std::error::Error for MissingLibrary {}

static ROOTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sets the folders of pip's `nvidia` namespace package (`nvidia.__path__`), for libraries that are not loaded yet.
pub fn set_roots(roots: Vec<PathBuf>) {
    *ROOTS.lock().unwrap_or_else(PoisonError::into_inner) = roots;
}

/// Returns the driver, without initializing it.
pub fn driver() -> Result<&'static DriverApi, MissingLibrary> {
    static LOADED: Once<DriverApi> = Once::new();
    LOADED.get_or_load(|| {
        let file = driver_file().unwrap_or_else(|| DRIVER_FILE.into());
        // SAFETY: opening NVIDIA's driver runs its initializers, which have no requirements.
        unsafe { DriverApi::new(&file) }.map_err(|e| MissingLibrary {
            library: DRIVER.name,
            cure: "install the NVIDIA driver, or run the container with its GPU (`--gpus all`)".into(),
            refused: refusal(&file, &e.to_string()),
            searched: vec![format!("{}: {e}", file.display())],
        })
    })
}

/// Returns the driver's file in `CUPROUS_CUDA_PATH`: a driver for another kernel module, or the simulator. `None` if it
/// has none, so that the system's loader finds the driver.
pub fn driver_file() -> Option<PathBuf> {
    env_paths("CUPROUS_CUDA_PATH").into_iter().map(|base| base.join(DRIVER_FILE)).find(|file| file.exists())
}

/// Returns the run-time compiler. Needs no driver and no GPU.
pub fn nvrtc() -> Result<&'static NvrtcApi, MissingLibrary> {
    static LOADED: Once<NvrtcApi> = Once::new();
    // SAFETY: the file is NVRTC by its name; opening it has no requirements.
    LOADED.get_or_load(|| NVRTC.open(|path| unsafe { NvrtcApi::new(path) }))
}

/// Returns the file that `nvrtc()` would open, without opening it. `None` if the system's loader has to find it.
pub fn nvrtc_file() -> Option<PathBuf> {
    let roots = ROOTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let candidates = NVRTC.candidates(&roots, driver_major());
    candidates.into_iter().find(|path| path.components().count() > 1 && path.exists())
}

/// Returns the linker of LTO IR. Needs no driver and no GPU.
pub fn nvjitlink() -> Result<&'static NvJitLinkApi, MissingLibrary> {
    static LOADED: Once<NvJitLinkApi> = Once::new();
    // SAFETY: the file is nvJitLink by its name; opening it has no requirements.
    LOADED.get_or_load(|| NVJITLINK.open(|path| unsafe { NvJitLinkApi::new(path) }))
}

/// Returns cuBLASLt: matrix products.
pub fn cublaslt() -> Result<&'static CublasLtApi, MissingLibrary> {
    static LOADED: Once<CublasLtApi> = Once::new();
    // SAFETY: the file is cuBLASLt by its name; opening it has no requirements.
    LOADED.get_or_load(|| CUBLASLT.open(|path| unsafe { CublasLtApi::new(path) }))
}

/// Returns cuFFT: Fourier transforms.
pub fn cufft() -> Result<&'static CufftApi, MissingLibrary> {
    static LOADED: Once<CufftApi> = Once::new();
    // SAFETY: the file is cuFFT by its name; opening it has no requirements.
    LOADED.get_or_load(|| CUFFT.open(|path| unsafe { CufftApi::new(path) }))
}

/// Returns cuSOLVER: matrix decompositions.
pub fn cusolver() -> Result<&'static CusolverApi, MissingLibrary> {
    static LOADED: Once<CusolverApi> = Once::new();
    // SAFETY: the file is cuSOLVER by its name; opening it has no requirements.
    LOADED.get_or_load(|| CUSOLVER.open(|path| unsafe { CusolverApi::new(path) }))
}

/// Returns cuSPARSE: products with sparse matrices.
pub fn cusparse() -> Result<&'static CusparseApi, MissingLibrary> {
    static LOADED: Once<CusparseApi> = Once::new();
    // SAFETY: the file is cuSPARSE by its name; opening it has no requirements.
    LOADED.get_or_load(|| CUSPARSE.open(|path| unsafe { CusparseApi::new(path) }))
}

/// Returns cuDNN: convolutions, attention and recurrent layers.
pub fn cudnn() -> Result<&'static CudnnApi, MissingLibrary> {
    static LOADED: Once<CudnnApi> = Once::new();
    // SAFETY: the file is cuDNN by its name; opening it has no requirements.
    LOADED.get_or_load(|| CUDNN.open(|path| unsafe { CudnnApi::new(path) }))
}

/// Returns NCCL: collectives of several GPUs. `CUPROUS_NCCL_LIBRARY` names its file. If the process has it already, as
/// with PyTorch, it is that one: two copies of NCCL would compete for the same GPUs and shared memory.
pub fn nccl() -> Result<&'static NcclApi, MissingLibrary> {
    static LOADED: Once<NcclApi> = Once::new();
    LOADED.get_or_load(|| {
        if let Some(file) = std::env::var_os("CUPROUS_NCCL_LIBRARY").filter(|file| !file.is_empty()) {
            let file = PathBuf::from(file);
            return open_nccl(&file).map_err(|e| MissingLibrary {
                library: NCCL.name,
                cure: "set CUPROUS_NCCL_LIBRARY to the path of libnccl.so.2, or unset it".into(),
                searched: vec![format!("{}: {e}", file.display())],
                refused: refusal(&file, &e.to_string()),
            });
        }
        match already_loaded(NCCL_FILE) {
            // SAFETY: the library is NCCL by its name.
            Some(library) => Ok(unsafe { NcclApi::from_library(library) }),
            None => NCCL.open(open_nccl),
        }
    })
}

fn open_nccl(path: &Path) -> Result<NcclApi, libloading::Error> {
    // SAFETY: the file is NCCL by its name; opening it has no requirements.
    unsafe { libloading::Library::new(path).map(|library| NcclApi::from_library(library)) }
}

/// Returns a library that the process has loaded under this name.
#[cfg(target_os = "linux")]
fn already_loaded(name: &str) -> Option<libloading::Library> {
    use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
    const RTLD_NOLOAD: std::ffi::c_int = 4;
    // SAFETY: nothing is loaded, so no initializer runs.
    unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) }.ok().map(Into::into)
}

#[cfg(not(target_os = "linux"))]
fn already_loaded(_: &str) -> Option<libloading::Library> {
    None
}

/// Returns the shell command that installs the library of that name for a driver of that CUDA major version.
pub fn cure_for(name: &str, driver_major: u32) -> Option<String> {
    let all = [NVRTC, NVJITLINK, CUBLASLT, CUFFT, CUSOLVER, CUSPARSE, CUDNN, NCCL];
    all.iter().find(|library| library.name == name).map(|library| library.cure(driver_major))
}

/// A library that is loaded once. A failure is not stored, so the user may install the wheel and try again in the same
/// process.
struct Once<T> {
    value: OnceLock<T>,
    loading: Mutex<()>,
}

impl<T> Once<T> {
    const fn new() -> Self {
        Once { value: OnceLock::new(), loading: Mutex::new(()) }
    }

    fn get_or_load(&self, load: impl FnOnce() -> Result<T, MissingLibrary>) -> Result<&T, MissingLibrary> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = load()?;
        Ok(self.value.get_or_init(|| value))
    }
}

impl Library {
    fn open<T>(&self, open: impl Fn(&Path) -> Result<T, libloading::Error>) -> Result<T, MissingLibrary> {
        let roots = ROOTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let major = driver_major();
        let (mut searched, mut refused) = (Vec::new(), None);
        for path in self.candidates(&roots, major) {
            // A bare name is searched for by the system's loader.
            if path.components().count() > 1 && !path.exists() {
                searched.push(path.display().to_string());
                continue;
            }
            match open(&path) {
                Ok(library) => return Ok(library),
                Err(e) => {
                    let why = e.to_string();
                    refused = refused.or_else(|| refusal(&path, &why));
                    searched.push(format!("{}: {why}", path.display()));
                }
            }
        }
        let cure = match &refused {
            Some((file, why)) => self.cure_of_refusal(file, why, major),
            None => self.cure(major),
        };
        Err(MissingLibrary { library: self.name, cure, searched, refused })
    }

    /// Returns how to make an existing file load.
    fn cure_of_refusal(&self, file: &Path, why: &str, major: u32) -> String {
        // The package of the file itself, which may be of another major version than the driver.
        let name = file.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let row =
            self.files.iter().filter(|row| row.1 == name).find(|row| file.parent().is_some_and(|p| p.ends_with(row.2)));
        let (major, pip) = row.map_or_else(|| (major, self.by_preference(major)[0].2), |row| (row.0, row.3));
        match missing_file(why) {
            Some(needed) => match DEPENDENCIES.iter().find(|(start, ..)| needed.starts_with(start)) {
                Some((_, _, for_12)) if major <= 12 => format!("pip install {for_12}"),
                Some((_, for_13, _)) => format!("pip install \"{for_13}\""),
                None => format!("install the package that contains {needed}, with the system's package manager"),
            },
            None if why.contains("GLIBC") => {
                "use a newer Linux: this system's C library is older than the file requires".into()
            }
            None => format!("pip install --force-reinstall --no-deps \"{pip}\""),
        }
    }

    /// Returns the files as (file, folder, pip requirement), those for `major`, the driver's version, first.
    fn by_preference(&self, major: u32) -> Vec<(&'static str, &'static str, &'static str)> {
        let mut files = self.files.to_vec();
        files.sort_by_key(|&(m, ..)| m != major);
        files.into_iter().map(|(_, file, folder, pip)| (file, folder, pip)).collect()
    }

    fn cure(&self, major: u32) -> String {
        let pip = self.by_preference(major).first().map_or("", |f| f.2);
        if pip.contains(['<', '>']) { format!("pip install \"{pip}\"") } else { format!("pip install {pip}") }
    }

    fn candidates(&self, roots: &[PathBuf], major: u32) -> Vec<PathBuf> {
        let override_paths = env_paths("CUPROUS_CUDA_PATH");
        let mut toolkits = env_paths("CUDA_PATH");
        toolkits.extend(env_paths("CUDA_HOME"));
        toolkits.push("/usr/local/cuda".into());
        let mut found = Vec::new();
        for (file, folder, _) in self.by_preference(major) {
            for base in &override_paths {
                found.extend([folder, "lib64", "lib", "targets/x86_64-linux/lib", ""].map(|f| base.join(f).join(file)));
            }
            found.extend(roots.iter().map(|root| root.join(folder).join(file)));
            for base in &toolkits {
                found.extend(["lib64", "lib", "targets/x86_64-linux/lib"].map(|f| base.join(f).join(file)));
            }
            found.push(file.into());
        }
        found.dedup();
        found
    }
}

/// The packages of libraries that NVIDIA's libraries depend on: start of the file name, package for CUDA 13, package
/// for CUDA 12.
const DEPENDENCIES: [(&str, &str, &str); 7] = [
    ("libnvJitLink", "nvidia-nvjitlink>=13,<14", "nvidia-nvjitlink-cu12"),
    ("libcublas", "nvidia-cublas>=13,<14", "nvidia-cublas-cu12"),
    ("libcusparse", "nvidia-cusparse>=12,<13", "nvidia-cusparse-cu12"),
    ("libcudart", "nvidia-cuda-runtime>=13,<14", "nvidia-cuda-runtime-cu12"),
    ("libnvrtc", "nvidia-cuda-nvrtc>=13,<14", "nvidia-cuda-nvrtc-cu12"),
    ("libcufft", "nvidia-cufft>=12,<13", "nvidia-cufft-cu12"),
    ("libcudnn", "nvidia-cudnn-cu13>=9,<10", "nvidia-cudnn-cu12>=9,<10"),
];

/// Returns the file that the system's loader did not find, from its message: `libx.so.1: cannot open shared object
/// file: No such …`.
fn missing_file(why: &str) -> Option<&str> {
    let (file, rest) = why.split_once(": cannot open shared object file")?;
    rest.contains("No such file").then(|| file.rsplit(' ').next().unwrap_or(file))
}

/// Returns the file and why it does not load, or `None` if the file does not exist.
fn refusal(path: &Path, why: &str) -> Option<(PathBuf, String)> {
    // If the loader did not find a bare name, its message names it. If an existing file lacks a dependency, the message
    // names the dependency.
    let absent = missing_file(why).is_some_and(|file| Path::new(file) == path);
    (!absent).then(|| (path.to_owned(), why.to_owned()))
}

fn env_paths(name: &str) -> Vec<PathBuf> {
    let Some(value) = std::env::var_os(name) else { return Vec::new() };
    std::env::split_paths(&value).filter(|p| !p.as_os_str().is_empty()).collect()
}

/// Returns the driver's CUDA major version, or the newest supported one if there is no driver.
fn driver_major() -> u32 {
    const NEWEST: u32 = 13;
    let Ok(api) = driver() else { return NEWEST };
    let Ok(get) = api.cuDriverGetVersion.as_ref() else { return NEWEST };
    let mut version = 0;
    // SAFETY: the call writes one int. Unlike the driver's other functions, it needs no cuInit.
    let status = unsafe { get(&raw mut version) };
    if status == CUresult::CUDA_SUCCESS { u32::try_from(version / 1000).unwrap_or(NEWEST).min(NEWEST) } else { NEWEST }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_major_version_comes_first() {
        let roots = [PathBuf::from("/venv/nvidia")];
        let for_13 = NVRTC.candidates(&roots, 13);
        assert!(for_13.contains(&"/venv/nvidia/cu13/lib/libnvrtc.so.13".into()));
        assert!(for_13.contains(&"/venv/nvidia/cuda_nvrtc/lib/libnvrtc.so.12".into()));
        let position = |list: &[PathBuf], name: &str| list.iter().position(|p| p == Path::new(name));
        assert!(position(&for_13, "libnvrtc.so.13") < position(&for_13, "libnvrtc.so.12"));
        let for_12 = NVRTC.candidates(&roots, 12);
        assert!(position(&for_12, "libnvrtc.so.12") < position(&for_12, "libnvrtc.so.13"));
    }

    #[test]
    fn a_missing_library_names_its_cure_and_the_searched_paths() {
        let error = Library { name: "NVRTC", files: &[(13, "libno-such.so.13", "cu13/lib", "no-such>=13,<14")] }
            // SAFETY: no file of this name exists.
            .open(|path| unsafe { NvrtcApi::new(path) })
            .err()
            .expect("there is no such library");
        let text = error.to_string();
        assert!(text.contains("pip install \"no-such>=13,<14\""), "{text}");
        assert!(text.contains("/usr/local/cuda/lib64/libno-such.so.13"), "{text}");
        assert_eq!(CUBLASLT.cure(12), "pip install nvidia-cublas-cu12");
        assert!(error.refused.is_none(), "{:?}", error.refused);
    }

    #[test]
    fn a_file_without_its_dependency_is_found_but_does_not_load() {
        let file = Path::new("/venv/nvidia/cu13/lib/libcusolver.so.12");
        let why = "libnvJitLink.so.13: cannot open shared object file: No such file or directory";
        assert_eq!(refusal(file, why).unwrap().0, file);
        assert_eq!(CUSOLVER.cure_of_refusal(file, why, 12), "pip install \"nvidia-nvjitlink>=13,<14\"");
        let old = Path::new("/venv/nvidia/cusolver/lib/libcusolver.so.11");
        assert_eq!(CUSOLVER.cure_of_refusal(old, &why.replace("13", "12"), 13), "pip install nvidia-nvjitlink-cu12");
        assert!(
            CUSOLVER
                .cure_of_refusal(file, "libm.so.9: cannot open shared object file: No such file", 13)
                .contains("libm.so.9")
        );
        let torn = CUSOLVER.cure_of_refusal(file, "libcusolver.so.12: file too short", 13);
        assert_eq!(torn, "pip install --force-reinstall --no-deps \"nvidia-cusolver>=12,<13\"");
        let bare = Path::new("libcusolver.so.12");
        assert!(
            refusal(bare, "libcusolver.so.12: cannot open shared object file: No such file or directory").is_none()
        );
        assert!(refusal(bare, why).is_some());
    }
}
