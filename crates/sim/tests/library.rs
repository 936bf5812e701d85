//! The library as Cuprous opens it, under the names of NVIDIA's. Cargo builds it for these tests, and the simulated GPU of
//! the tests in Python is the same file.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;

use cuprous_cuda_sys::driver::{CUresult, DriverApi};
use cuprous_cuda_sys::nvrtc::{NvrtcApi, nvrtcResult};

/// Returns the file, which lies beside this test's own.
fn file() -> PathBuf {
    std::env::current_exe().expect("a test is a file").with_file_name(format!("{DLL_PREFIX}cuprous_sim{DLL_SUFFIX}"))
}

#[test]
fn a_program_finds_a_gpu() {
    // SAFETY: the library is this crate's, and its functions have the signatures of the driver's.
    let driver = unsafe { DriverApi::new(file()) }.expect("the library opens");
    let (init, count) =
        (driver.cuInit.as_ref().expect("exported"), driver.cuDeviceGetCount.as_ref().expect("exported"));
    let mut gpus = 0;
    // SAFETY: the argument of the second is the address of a variable.
    let statuses = unsafe { [init(0), count(&raw mut gpus)] };
    assert_eq!((statuses, gpus), ([CUresult::CUDA_SUCCESS; 2], 1));
}

#[test]
fn a_program_finds_a_compiler() {
    // SAFETY: as above.
    let nvrtc = unsafe { NvrtcApi::new(file()) }.expect("the library opens");
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the arguments are addresses of variables.
    let status = unsafe { nvrtc.nvrtcVersion.as_ref().expect("exported")(&raw mut major, &raw mut minor) };
    assert_eq!((status, major), (nvrtcResult::NVRTC_SUCCESS, 13));
}

/// Libraries of which Cuprous calls other functions for other arrays.
#[test]
fn the_other_libraries_are_there() {
    // SAFETY: as above.
    let library = unsafe { libloading::Library::new(file()) }.expect("the library opens");
    for name in ["cublasLtMatmul", "cufftXtExec", "cusolverDnXsyevd", "cusparseSpMV", "ncclAllReduce"] {
        // SAFETY: the address is not used.
        let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
        assert!(found.is_ok(), "{name}");
    }
}
