//! The library as Cuprous opens it, under the names of HIP and hiprtc. Cargo builds it for this test, and the tests in
//! Python use the same file.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

#[test]
fn functions_of_hip_are_there() {
    let name = format!("{DLL_PREFIX}cuprous_fake_hip{DLL_SUFFIX}");
    let file = std::env::current_exe().expect("a test is a file").with_file_name(name);
    // SAFETY: opening the library runs nothing.
    let library = unsafe { libloading::Library::new(file) }.expect("the library opens");
    for name in [
        "hipDeviceGetAttribute",
        "hipModuleLaunchKernel",
        "hipGraphUpload",
        "hiprtcCompileProgram",
        "hipblasLtMatmul",
        "rocblas_gemm_strided_batched_ex",
        "hipfftXtExec",
        "hipsolverDnZgesvd",
        "hipsparseSpMM",
    ] {
        // SAFETY: the address is not used.
        let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
        assert!(found.is_ok(), "{name}");
    }
}
