//! Finds AMD's libraries.
//!
//! Search order: `CUPROUS_ROCM_PATH`, the wheels of ROCm and of a PyTorch for it in the folders that Python imports from,
//! `ROCM_PATH`, `HIP_PATH`, `/opt/rocm` and `/opt/rocm-*`, then the bare file name for the system's loader. In each, newer
//! versions come first. A wheel has files without a version in their names.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use cuprous_cuda_sys::MissingLibrary;

/// A library: its name in messages, and the names of its files.
pub(crate) struct Library {
    name: &'static str,
    files: &'static [&'static str],
    /// How to install it.
    cure: &'static str,
}

const CURE: &str = "install ROCm, or name its folder in CUPROUS_ROCM_PATH";

/// The driver: HIP's own library.
pub(crate) const DRIVER: Library = Library {
    name: "HIP (libamdhip64.so)",
    files: &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"],
    cure: CURE,
};
/// Before ROCm 5.5 hiprtc was a part of the driver.
pub(crate) const HIPRTC: Library = Library {
    name: "hiprtc",
    files: &["libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "libamdhip64.so.5"],
    cure: CURE,
};
/// The compiler that hiprtc calls.
pub(crate) const COMGR: Library =
    Library { name: "comgr", files: &["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"], cure: CURE };

/// The libraries of ROCm 6 and newer: earlier ones number the types of elements otherwise.
pub(crate) const HIPBLASLT: Library =
    Library { name: "hipBLASLt", files: &["libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"], cure: CURE };
pub(crate) const ROCBLAS: Library =
    Library { name: "rocBLAS", files: &["librocblas.so.5", "librocblas.so.4", "librocblas.so"], cure: CURE };
pub(crate) const HIPFFT: Library = Library { name: "hipFFT", files: &["libhipfft.so.0", "libhipfft.so"], cure: CURE };
pub(crate) const HIPSOLVER: Library =
    Library { name: "hipSOLVER", files: &["libhipsolver.so.1", "libhipsolver.so.0", "libhipsolver.so"], cure: CURE };
pub(crate) const HIPSPARSE: Library =
    Library { name: "hipSPARSE", files: &["libhipsparse.so.4", "libhipsparse.so.1", "libhipsparse.so"], cure: CURE };
/// What GPUs report about themselves, since ROCm 7.
pub(crate) const AMDSMI: Library =
    Library { name: "AMD's management library (amdsmi)", files: &["libamd_smi.so.26", "libamd_smi.so"], cure: CURE };

static SITES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sets the folders in which wheels are installed, for libraries that are not loaded yet.
pub fn set_sites(sites: Vec<PathBuf>) {
    *SITES.lock().unwrap_or_else(PoisonError::into_inner) = sites;
}

/// Returns the folders of wheels that contain AMD's libraries.
fn wheels() -> Vec<PathBuf> {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let of_site = |site: PathBuf| {
        let names = std::fs::read_dir(site).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = names
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with("_rocm_sdk_") || name == "torch"
            })
            .map(|entry| entry.path())
            .collect();
        // ROCm's own wheels come before PyTorch's.
        found.sort();
        found
    };
    sites.into_iter().flat_map(of_site).collect()
}

fn variable(name: &str) -> Vec<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
}

/// Returns each folder, and those of the libraries in it.
fn with_libraries(bases: Vec<PathBuf>) -> Vec<PathBuf> {
    bases.into_iter().flat_map(|base| [base.clone(), base.join("lib"), base.join("lib64")]).collect()
}

/// Returns the folders that `CUPROUS_ROCM_PATH` names.
pub(crate) fn named_folders() -> Vec<PathBuf> {
    with_libraries(variable("CUPROUS_ROCM_PATH"))
}

/// Returns the folders to search, in order.
fn folders() -> Vec<PathBuf> {
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/opt")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rocm")))
        .collect();
    // The newest of several versions; `rocm` itself is before `rocm-6.4.0`.
    installed.sort_by_key(|path| (path.file_name() != Some("rocm".as_ref()), std::cmp::Reverse(path.clone())));
    let bases =
        [variable("CUPROUS_ROCM_PATH"), wheels(), variable("ROCM_PATH"), variable("HIP_PATH"), installed].concat();
    with_libraries(bases)
}

/// Returns a library's table, opened on first use. A failure is not stored, so the user may install the library and try
/// again in the same process.
pub(crate) fn once<T>(
    loaded: &'static OnceLock<T>,
    library: &Library,
    open: impl Fn(&Path) -> Result<T, libloading::Error>,
) -> Result<&'static T, MissingLibrary> {
    if let Some(api) = loaded.get() {
        return Ok(api);
    }
    let api = library.open(open)?;
    Ok(loaded.get_or_init(|| api))
}

impl Library {
    /// Returns the name in messages.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the file that would be opened. `None` if the system's loader has to find it.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.file_in(&folders())
    }

    /// Returns the file in the first of the folders that has one.
    pub(crate) fn file_in(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let mut candidates = folders.iter().flat_map(|folder| self.files.iter().map(move |file| folder.join(file)));
        candidates.find(|path| path.exists())
    }

    /// Opens the first file that loads.
    pub(crate) fn open<T>(&self, open: impl Fn(&Path) -> Result<T, libloading::Error>) -> Result<T, MissingLibrary> {
        let (mut searched, mut refused) = (Vec::new(), None);
        for path in folders().iter().flat_map(|folder| self.files.iter().map(move |file| folder.join(file))) {
            if !path.exists() {
                searched.push(path.display().to_string());
                continue;
            }
            match open(&path) {
                Ok(library) => return Ok(library),
                Err(error) => {
                    searched.push(format!("{}: {error}", path.display()));
                    refused.get_or_insert((path, error.to_string()));
                }
            }
        }
        for file in self.files {
            match open(Path::new(file)) {
                Ok(library) => return Ok(library),
                Err(error) => searched.push(format!("{file}: {error}")),
            }
        }
        Err(MissingLibrary { library: self.name, cure: self.cure.into(), searched, refused })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_file_of_the_first_folder_is_chosen() {
        let base = std::env::temp_dir().join(format!("hip-sys-{}", std::process::id()));
        let folders = [base.join("none"), base.join("a"), base.join("b")];
        for (folder, file) in
            [(1, "libamdhip64.so.5"), (1, "libamdhip64.so.6"), (1, "libamdhip64.so"), (2, "libamdhip64.so.7")]
        {
            std::fs::create_dir_all(&folders[folder]).expect("a folder of this test");
            std::fs::write(folders[folder].join(file), "").expect("a file of this test");
        }
        assert_eq!(DRIVER.file_in(&folders), Some(folders[1].join("libamdhip64.so.6")));
        // It is a part of this version's driver.
        assert_eq!(HIPRTC.file_in(&folders), Some(folders[1].join("libamdhip64.so.5")));
        assert_eq!(COMGR.file_in(&folders), None);
        std::fs::remove_dir_all(base).expect("the folder of this test");
    }

    #[test]
    fn wheels_of_rocm_come_before_a_pytorch_for_it() {
        let site = std::env::temp_dir().join(format!("hip-sys-site-{}", std::process::id()));
        for folder in ["torch/lib", "numpy", "_rocm_sdk_core/lib", "_rocm_sdk_libraries_gfx90X/lib"] {
            std::fs::create_dir_all(site.join(folder)).expect("a folder of this test");
        }
        set_sites(vec![site.clone()]);
        let wheels = ["_rocm_sdk_core", "_rocm_sdk_libraries_gfx90X", "torch"].map(|name| site.join(name));
        assert_eq!(super::wheels(), wheels);
        let searched: Vec<PathBuf> = folders().into_iter().filter(|path| path.starts_with(&site)).collect();
        assert_eq!(searched, with_libraries(wheels.into()));
        set_sites(Vec::new());
        std::fs::remove_dir_all(site).expect("the folder of this test");
    }

    #[test]
    fn a_missing_library_is_an_error_that_says_what_to_do() {
        let none = |_: &Path| -> Result<(), libloading::Error> { Err(libloading::Error::DlOpenUnknown) };
        let missing = HIPRTC.open(none).expect_err("nothing opens");
        assert_eq!((missing.library, missing.cure.as_str()), ("hiprtc", CURE));
        assert!(missing.searched.iter().any(|place| place.starts_with("libhiprtc.so.6: ")), "{:?}", missing.searched);
    }
}
