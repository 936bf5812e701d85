//! Generates bindings to the libraries of NVIDIA and AMD, for the functions that Cuprous calls.

mod amd;

use std::path::Path;

use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ParseCallbacks};

use crate::{HEADER, Result};
use amd::{AMDSMI, HIP, HIPBLASLT, HIPFFT, HIPSOLVER, HIPSPARSE, ROCBLAS};

struct Library {
    /// The crate that the file belongs to.
    room: &'static str,
    file: &'static str,
    /// The name of the generated struct that holds the loaded symbols.
    name: &'static str,
    source: &'static str,
    functions: &'static [&'static str],
    /// Enums that no bound function mentions, because attributes are passed as bytes.
    types: &'static [&'static str],
    /// Structs of bits, whose fields are not read.
    opaque: &'static [&'static str],
}

const DRIVER: Library = Library {
    room: "cuda-sys",
    file: "driver",
    name: "DriverApi",
    // The `_v2` of cuEventElapsedTime needs a 12.8 driver. All drivers have the first version.
    source: "#include <cuda.h>\n#undef cuEventElapsedTime\n\
             CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end);\n",
    functions: &[
        "cuInit",
        "cuDriverGetVersion",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuDeviceGet",
        "cuDeviceGetCount",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuDeviceGetUuid_v2",
        "cuDeviceGetPCIBusId",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuCtxGetCurrent",
        "cuCtxSetCurrent",
        "cuCtxSynchronize",
        "cuDeviceCanAccessPeer",
        "cuCtxEnablePeerAccess",
        "cuMemcpyPeerAsync",
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuModuleGetGlobal_v2",
        "cuLinkCreate_v2",
        "cuLinkAddData_v2",
        "cuLinkComplete",
        "cuLinkDestroy",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuLaunchKernel",
        "cuLaunchCooperativeKernel",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuMemGetInfo_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemsetD8Async",
        "cuMemsetD32Async",
        "cuStreamCreateWithPriority",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuStreamQuery",
        "cuStreamWaitEvent",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuEventQuery",
        "cuEventElapsedTime",
        "cuGraphCreate",
        "cuGraphDestroy",
        "cuGraphAddKernelNode_v2",
        "cuGraphAddMemcpyNode",
        "cuGraphAddMemsetNode",
        "cuGraphAddChildGraphNode",
        "cuGraphAddEventRecordNode",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecDestroy",
        "cuGraphExecKernelNodeSetParams_v2",
        "cuGraphExecChildGraphNodeSetParams",
        "cuGraphExecMemcpyNodeSetParams",
        "cuGraphExecMemsetNodeSetParams",
        "cuGraphUpload",
        "cuGraphLaunch",
    ],
    types: &[],
    opaque: &[],
};

const NVRTC: Library = Library {
    room: "cuda-sys",
    file: "nvrtc",
    name: "NvrtcApi",
    source: "#include <nvrtc.h>\n",
    functions: &[
        "nvrtcVersion",
        "nvrtcGetNumSupportedArchs",
        "nvrtcGetSupportedArchs",
        "nvrtcGetErrorString",
        "nvrtcCreateProgram",
        "nvrtcDestroyProgram",
        "nvrtcCompileProgram",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcAddNameExpression",
        "nvrtcGetLoweredName",
    ],
    types: &[],
    opaque: &[],
};

const NVJITLINK: Library = Library {
    room: "cuda-sys",
    file: "nvjitlink",
    name: "NvJitLinkApi",
    // The functions of the header are inline and call symbols with a version in their names. All versions of the
    // library export the plain names too.
    source: "#define nvJitLinkCreate hidden0\n#define nvJitLinkDestroy hidden1\n#define nvJitLinkAddData hidden2\n\
             #define nvJitLinkComplete hidden3\n#define nvJitLinkGetLinkedCubinSize hidden4\n\
             #define nvJitLinkGetLinkedCubin hidden5\n#define nvJitLinkGetErrorLogSize hidden6\n\
             #define nvJitLinkGetErrorLog hidden7\n#include <nvJitLink.h>\n\
             #undef nvJitLinkCreate\n#undef nvJitLinkDestroy\n#undef nvJitLinkAddData\n#undef nvJitLinkComplete\n\
             #undef nvJitLinkGetLinkedCubinSize\n#undef nvJitLinkGetLinkedCubin\n#undef nvJitLinkGetErrorLogSize\n\
             #undef nvJitLinkGetErrorLog\n\
             nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char **options);\n\
             nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);\n\
             nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data,\n\
             size_t size, const char *name);\n\
             nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle);\n\
             nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size);\n\
             nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin);\n\
             nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size);\n\
             nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log);\n",
    functions: &[
        "nvJitLinkCreate",
        "nvJitLinkDestroy",
        "nvJitLinkAddData",
        "nvJitLinkComplete",
        "nvJitLinkGetLinkedCubinSize",
        "nvJitLinkGetLinkedCubin",
        "nvJitLinkGetErrorLogSize",
        "nvJitLinkGetErrorLog",
    ],
    types: &[],
    opaque: &[],
};

const CUBLASLT: Library = Library {
    room: "cuda-sys",
    file: "cublaslt",
    name: "CublasLtApi",
    // The half-precision headers need CCCL. Only the names of their types matter here.
    source: "#define __CUDA_FP16_H__\n#define __CUDA_BF16_H__\n\
             typedef struct { unsigned short x; } __half, __nv_bfloat16;\n\
             #include <cublasLt.h>\n",
    functions: &[
        "cublasLtCreate",
        "cublasLtDestroy",
        "cublasLtGetVersion",
        "cublasLtGetStatusString",
        "cublasLtMatmul",
        "cublasLtMatmulAlgoCheck",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescDestroy",
        "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate",
        "cublasLtMatrixLayoutDestroy",
        "cublasLtMatrixLayoutSetAttribute",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceDestroy",
        "cublasLtMatmulPreferenceSetAttribute",
    ],
    types: &["cublasOperation_t", "cublasLtEpilogue_t"],
    opaque: &[],
};

const CUFFT: Library = Library {
    room: "cuda-sys",
    file: "cufft",
    name: "CufftApi",
    source: "#include <cufftXt.h>\n",
    functions: &[
        "cufftCreate",
        "cufftDestroy",
        "cufftGetVersion",
        "cufftSetAutoAllocation",
        "cufftSetStream",
        "cufftSetWorkArea",
        "cufftXtExec",
        "cufftXtMakePlanMany",
    ],
    types: &[],
    opaque: &[],
};

const CUSOLVER: Library = Library {
    room: "cuda-sys",
    file: "cusolver",
    name: "CusolverApi",
    // Its header includes the half-precision headers, as cuBLASLt's does.
    source: "#define __CUDA_FP16_H__\n#define __CUDA_BF16_H__\n\
             typedef struct { unsigned short x; } __half, __nv_bfloat16;\n\
             #include <cusolverDn.h>\n",
    functions: &[
        "cusolverGetVersion",
        "cusolverDnCreate",
        "cusolverDnDestroy",
        "cusolverDnSetStream",
        "cusolverDnCreateParams",
        "cusolverDnDestroyParams",
        "cusolverDnXpotrf",
        "cusolverDnXpotrf_bufferSize",
        "cusolverDnXgetrf",
        "cusolverDnXgetrf_bufferSize",
        "cusolverDnXgetrs",
        "cusolverDnXgeqrf",
        "cusolverDnXgeqrf_bufferSize",
        "cusolverDnSorgqr",
        "cusolverDnSorgqr_bufferSize",
        "cusolverDnDorgqr",
        "cusolverDnDorgqr_bufferSize",
        "cusolverDnCungqr",
        "cusolverDnCungqr_bufferSize",
        "cusolverDnZungqr",
        "cusolverDnZungqr_bufferSize",
        "cusolverDnXgesvd",
        "cusolverDnXgesvd_bufferSize",
        "cusolverDnXgesvdp",
        "cusolverDnXgesvdp_bufferSize",
        "cusolverDnXsyevd",
        "cusolverDnXsyevd_bufferSize",
        "cusolverDnXsyevBatched",
        "cusolverDnXsyevBatched_bufferSize",
        "cusolverDnXgeev",
        "cusolverDnXgeev_bufferSize",
    ],
    types: &[],
    opaque: &[],
};

const CUSPARSE: Library = Library {
    room: "cuda-sys",
    file: "cusparse",
    name: "CusparseApi",
    source: "#include <cusparse.h>\n",
    functions: &[
        "cusparseCreate",
        "cusparseDestroy",
        "cusparseGetErrorString",
        "cusparseSetStream",
        "cusparseCreateConstCsr",
        "cusparseDestroySpMat",
        "cusparseCreateConstDnVec",
        "cusparseCreateDnVec",
        "cusparseDestroyDnVec",
        "cusparseCreateConstDnMat",
        "cusparseCreateDnMat",
        "cusparseDestroyDnMat",
        "cusparseSpMV_bufferSize",
        "cusparseSpMV",
        "cusparseSpMM_bufferSize",
        "cusparseSpMM",
    ],
    types: &[],
    opaque: &[],
};

const CUDNN: Library = Library {
    room: "cuda-sys",
    file: "cudnn",
    name: "CudnnApi",
    source: "#include <cudnn_graph.h>\n#include <cudnn_adv.h>\n",
    functions: &[
        "cudnnGetErrorString",
        "cudnnGetVersion",
        "cudnnCreate",
        "cudnnDestroy",
        "cudnnSetStream",
        "cudnnCreateTensorDescriptor",
        "cudnnSetTensorNdDescriptor",
        "cudnnDestroyTensorDescriptor",
        "cudnnBackendCreateDescriptor",
        "cudnnBackendDestroyDescriptor",
        "cudnnBackendSetAttribute",
        "cudnnBackendGetAttribute",
        "cudnnBackendFinalize",
        "cudnnBackendExecute",
        "cudnnCreateDropoutDescriptor",
        "cudnnDestroyDropoutDescriptor",
        "cudnnSetDropoutDescriptor",
        "cudnnCreateRNNDescriptor",
        "cudnnDestroyRNNDescriptor",
        "cudnnSetRNNDescriptor_v8",
        "cudnnCreateRNNDataDescriptor",
        "cudnnDestroyRNNDataDescriptor",
        "cudnnSetRNNDataDescriptor",
        "cudnnGetRNNTempSpaceSizes",
        "cudnnGetRNNWeightSpaceSize",
        "cudnnGetRNNWeightParams",
        "cudnnRNNForward",
        "cudnnRNNBackwardData_v8",
        "cudnnRNNBackwardWeights_v8",
    ],
    types: &[
        "cudnnPointwiseMode_t",
        "cudnnConvolutionMode_t",
        "cudnnReduceTensorOp_t",
        "cudnnBackendHeurMode_t",
        "cudnnBackendNumericalNote_t",
        "cudnnBackendBehaviorNote_t",
    ],
    opaque: &[],
};

/// The members that are used of enums that grow with each CUDA release.
const KEPT_MEMBERS: [(&str, &[&str]); 19] = [
    (
        "hipDeviceAttribute",
        &[
            "ClockRate",
            "Integrated",
            "L2CacheSize",
            "MaxBlocksPerMultiProcessor",
            "MaxGridDimX",
            "MaxGridDimY",
            "MaxGridDimZ",
            "MaxRegistersPerBlock",
            "MaxSharedMemoryPerBlock",
            "MaxSharedMemoryPerMultiprocessor",
            "MaxThreadsPerBlock",
            "MaxThreadsPerMultiProcessor",
            "MemoryBusWidth",
            "MemoryClockRate",
            "MultiprocessorCount",
        ],
    ),
    ("hipError", &["NotSupported"]),
    ("hipMemcpy", &["DeviceToDevice"]),
    ("hipComputeMode", &[]),
    ("AMDSMI_STATUS_", &["SUCCESS"]),
    ("AMDSMI_TEMPERATURE_TYPE_", &["EDGE", "HOTSPOT"]),
    ("AMDSMI_TEMP_", &["CURRENT", "CRITICAL"]),
    ("AMDSMI_CLK_TYPE_", &["GFX", "MEM"]),
    ("AMDSMI_MEM_TYPE_", &["VRAM"]),
    (
        "CU_JIT_",
        &[
            "INPUT_CUBIN",
            "INPUT_PTX",
            "INPUT_FATBINARY",
            "INPUT_OBJECT",
            "INPUT_LIBRARY",
            "ERROR_LOG_BUFFER",
            "ERROR_LOG_BUFFER_SIZE_BYTES",
            "MAX_REGISTERS",
        ],
    ),
    (
        "CUDA_ERROR_",
        &[
            "OUT_OF_MEMORY",
            "NOT_READY",
            "ECC_UNCORRECTABLE",
            "NVLINK_UNCORRECTABLE",
            "ILLEGAL_ADDRESS",
            "ILLEGAL_INSTRUCTION",
            "MISALIGNED_ADDRESS",
            "INVALID_ADDRESS_SPACE",
            "INVALID_PC",
            "HARDWARE_STACK_ERROR",
            "LAUNCH_FAILED",
            "LAUNCH_TIMEOUT",
            "ASSERT",
        ],
    ),
    (
        "CU_DEVICE_ATTRIBUTE_",
        &[
            "MAX_THREADS_PER_BLOCK",
            "MAX_GRID_DIM_X",
            "MAX_GRID_DIM_Y",
            "MAX_GRID_DIM_Z",
            "MAX_SHARED_MEMORY_PER_BLOCK",
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
            "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
            "MAX_REGISTERS_PER_MULTIPROCESSOR",
            "MAX_THREADS_PER_MULTIPROCESSOR",
            "MAX_BLOCKS_PER_MULTIPROCESSOR",
            "CLOCK_RATE",
            "MEMORY_CLOCK_RATE",
            "GLOBAL_MEMORY_BUS_WIDTH",
            "MULTIPROCESSOR_COUNT",
            "L2_CACHE_SIZE",
            "INTEGRATED",
            "COMPUTE_CAPABILITY_MAJOR",
            "COMPUTE_CAPABILITY_MINOR",
        ],
    ),
    ("CUDNN_STATUS_", &["SUCCESS", "NOT_SUPPORTED"]),
    (
        "CUDNN_POINTWISE_",
        &["ADD", "MUL", "SUB", "DIV", "EXP", "LOG", "IDENTITY", "GEN_INDEX", "CMP_GE", "BINARY_SELECT"],
    ),
    (
        "CUDNN_ATTR_",
        &[
            "CONVOLUTION_COMP_TYPE",
            "CONVOLUTION_CONV_MODE",
            "CONVOLUTION_DILATIONS",
            "CONVOLUTION_FILTER_STRIDES",
            "CONVOLUTION_POST_PADDINGS",
            "CONVOLUTION_PRE_PADDINGS",
            "CONVOLUTION_SPATIAL_DIMS",
            "ENGINE_BEHAVIOR_NOTE",
            "ENGINE_NUMERICAL_NOTE",
            "ENGINECFG_ENGINE",
            "ENGINEHEUR_MODE",
            "ENGINEHEUR_OPERATION_GRAPH",
            "ENGINEHEUR_RESULTS",
            "EXECUTION_PLAN_ENGINE_CONFIG",
            "EXECUTION_PLAN_HANDLE",
            "EXECUTION_PLAN_WORKSPACE_SIZE",
            "MATMUL_COMP_TYPE",
            "OPERATION_CONVOLUTION_BWD_DATA_ALPHA",
            "OPERATION_CONVOLUTION_BWD_DATA_BETA",
            "OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC",
            "OPERATION_CONVOLUTION_BWD_DATA_DX",
            "OPERATION_CONVOLUTION_BWD_DATA_DY",
            "OPERATION_CONVOLUTION_BWD_DATA_W",
            "OPERATION_CONVOLUTION_BWD_FILTER_ALPHA",
            "OPERATION_CONVOLUTION_BWD_FILTER_BETA",
            "OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC",
            "OPERATION_CONVOLUTION_BWD_FILTER_DW",
            "OPERATION_CONVOLUTION_BWD_FILTER_DY",
            "OPERATION_CONVOLUTION_BWD_FILTER_X",
            "OPERATION_CONVOLUTION_FORWARD_ALPHA",
            "OPERATION_CONVOLUTION_FORWARD_BETA",
            "OPERATION_CONVOLUTION_FORWARD_CONV_DESC",
            "OPERATION_CONVOLUTION_FORWARD_W",
            "OPERATION_CONVOLUTION_FORWARD_X",
            "OPERATION_CONVOLUTION_FORWARD_Y",
            "OPERATION_MATMUL_ADESC",
            "OPERATION_MATMUL_BDESC",
            "OPERATION_MATMUL_CDESC",
            "OPERATION_MATMUL_DESC",
            "OPERATION_POINTWISE_BDESC",
            "OPERATION_POINTWISE_PW_DESCRIPTOR",
            "OPERATION_POINTWISE_TDESC",
            "OPERATION_POINTWISE_XDESC",
            "OPERATION_POINTWISE_YDESC",
            "OPERATION_REDUCTION_DESC",
            "OPERATION_REDUCTION_XDESC",
            "OPERATION_REDUCTION_YDESC",
            "OPERATION_RESHAPE_XDESC",
            "OPERATION_RESHAPE_YDESC",
            "OPERATIONGRAPH_HANDLE",
            "OPERATIONGRAPH_OPS",
            "POINTWISE_AXIS",
            "POINTWISE_MATH_PREC",
            "POINTWISE_MODE",
            "REDUCTION_COMP_TYPE",
            "REDUCTION_OPERATOR",
            "TENSOR_BYTE_ALIGNMENT",
            "TENSOR_DATA_TYPE",
            "TENSOR_DIMENSIONS",
            "TENSOR_IS_BY_VALUE",
            "TENSOR_IS_VIRTUAL",
            "TENSOR_STRIDES",
            "TENSOR_UNIQUE_ID",
            "VARIANT_PACK_DATA_POINTERS",
            "VARIANT_PACK_UNIQUE_IDS",
            "VARIANT_PACK_WORKSPACE",
        ],
    ),
    (
        "CUDNN_BACKEND_",
        &[
            "CONVOLUTION_DESCRIPTOR",
            "ENGINE_DESCRIPTOR",
            "ENGINECFG_DESCRIPTOR",
            "ENGINEHEUR_DESCRIPTOR",
            "EXECUTION_PLAN_DESCRIPTOR",
            "MATMUL_DESCRIPTOR",
            "OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
            "OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR",
            "OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR",
            "OPERATION_MATMUL_DESCRIPTOR",
            "OPERATION_POINTWISE_DESCRIPTOR",
            "OPERATION_REDUCTION_DESCRIPTOR",
            "OPERATION_RESHAPE_DESCRIPTOR",
            "OPERATIONGRAPH_DESCRIPTOR",
            "POINTWISE_DESCRIPTOR",
            "REDUCTION_DESCRIPTOR",
            "TENSOR_DESCRIPTOR",
            "VARIANT_PACK_DESCRIPTOR",
        ],
    ),
    (
        "CUDNN_TYPE_",
        &[
            "BACKEND_DESCRIPTOR",
            "BEHAVIOR_NOTE",
            "BOOLEAN",
            "CONVOLUTION_MODE",
            "DATA_TYPE",
            "FLOAT",
            "DOUBLE",
            "HANDLE",
            "HEUR_MODE",
            "INT64",
            "NUMERICAL_NOTE",
            "POINTWISE_MODE",
            "REDUCTION_OPERATOR_TYPE",
            "VOID_PTR",
        ],
    ),
    (
        "CUBLASLT_MATMUL_DESC_",
        &[
            "COMPUTE_TYPE",
            "SCALE_TYPE",
            "POINTER_MODE",
            "TRANSA",
            "TRANSB",
            "EPILOGUE",
            "BIAS_POINTER",
            "BIAS_BATCH_STRIDE",
            "BIAS_DATA_TYPE",
            "EPILOGUE_AUX_POINTER",
            "EPILOGUE_AUX_LD",
        ],
    ),
    (
        "CUBLASLT_MATMUL_PREF_",
        &[
            "MAX_WORKSPACE_BYTES",
            "MIN_ALIGNMENT_A_BYTES",
            "MIN_ALIGNMENT_B_BYTES",
            "MIN_ALIGNMENT_C_BYTES",
            "MIN_ALIGNMENT_D_BYTES",
        ],
    ),
];

#[derive(Debug)]
struct HideUnused;

impl ParseCallbacks for HideUnused {
    fn enum_variant_behavior(
        &self,
        _enum_name: Option<&str>,
        variant: &str,
        _value: EnumVariantValue,
    ) -> Option<EnumVariantCustomBehavior> {
        let (prefix, kept) = KEPT_MEMBERS.iter().find(|(prefix, _)| variant.starts_with(prefix))?;
        (!kept.contains(&&variant[prefix.len()..])).then_some(EnumVariantCustomBehavior::Hide)
    }
}

/// Writes one file for each library, or for one of them. `crates` is the folder of all crates.
pub(crate) fn generate(include: &[String], only: Option<&str>, crates: &Path) -> Result<()> {
    let all = [
        DRIVER, NVRTC, NVJITLINK, CUBLASLT, CUFFT, CUSOLVER, CUSPARSE, CUDNN, HIP, HIPBLASLT, ROCBLAS, HIPFFT,
        HIPSOLVER, HIPSPARSE, AMDSMI,
    ];
    // Headers of both makers are rarely on one machine, so those of AMD are read only by name.
    let wanted = |library: &Library| only.map_or(library.room == "cuda-sys", |name| library.file == name);
    for library in all.into_iter().filter(wanted) {
        let out = crates.join(library.room).join("src/generated");
        std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        let path = out.join(format!("{}.rs", library.file));
        let text = bind(&library, include)?;
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        let rustfmt = std::process::Command::new("rustfmt").args(["--edition", "2024"]).arg(&path).status();
        if !rustfmt.is_ok_and(|s| s.success()) {
            return Err(format!("rustfmt failed on {}", path.display()));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        std::fs::write(&path, without_panicking_methods(&text)).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    crate::check()
}

fn bind(library: &Library, include: &[String]) -> Result<String> {
    // C, because nvrtc.h and the half-precision headers include the standard library in C++. hipblaslt.h and hipfftXt.h are
    // no C.
    let cpp = [HIPBLASLT.file, HIPFFT.file].contains(&library.file);
    let language = if cpp { ["-x", "c++", "-std=c++17"] } else { ["-x", "c", "-std=c11"] };
    let mut builder = bindgen::Builder::default()
        .header_contents("input.h", library.source)
        .clang_args(include.iter().map(|dir| format!("-I{dir}")))
        .clang_args(language)
        .dynamic_library_name(library.name)
        .dynamic_link_require_all(false)
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: false })
        .allowlist_recursively(true)
        .generate_comments(false)
        .layout_tests(false)
        .merge_extern_blocks(true)
        .prepend_enum_name(false)
        .derive_default(false)
        .formatter(bindgen::Formatter::None)
        .parse_callbacks(Box::new(HideUnused))
        .disable_header_comment();
    for function in library.functions {
        builder = builder.allowlist_function(format!("^{function}$"));
    }
    for name in library.opaque {
        builder = builder.opaque_type(format!("^{name}$"));
    }
    for name in library.types {
        builder = builder.allowlist_type(format!("^{name}$"));
    }
    let raw = builder.generate().map_err(|e| format!("{}: {e}", library.file))?.to_string();
    for function in library.functions {
        if !raw.contains(&format!("pub {function} ")) && !raw.contains(&format!("pub {function}:")) {
            return Err(format!("{function} is not in the headers for {}", library.file));
        }
    }
    Ok(format!("{HEADER}\n\n{raw}\n"))
}

/// Removes bindgen's methods, which panic if a symbol is missing; callers use the `Result` fields. Relies on rustfmt's
/// layout: a method starts with `    pub unsafe fn NAME(` and ends with the next line `    }`.
fn without_panicking_methods(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut skipping = false;
    for line in text.lines() {
        let method = line.strip_prefix("    pub unsafe fn ");
        if method.is_some_and(|name| !name.starts_with("new<") && !name.starts_with("from_library<")) {
            skipping = true;
        }
        if !skipping {
            kept.push_str(line);
            kept.push('\n');
        } else if line == "    }" {
            skipping = false;
        }
    }
    kept
}
