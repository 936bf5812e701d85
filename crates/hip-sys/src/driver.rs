//! HIP under the interface of CUDA's driver.
//!
//! Most functions differ in their names only: handles are pointers in both, device addresses have 64 bits, and a status
//! has the same number. The others are translated here. A function that HIP lacks is a missing symbol, as it is in a
//! driver that is too old.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuprous_cuda_sys::MissingLibrary;
use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUcontext, CUdevice, CUdevice_attribute as Cuda, CUdeviceptr, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUresult, CUstream, DriverApi,
};

use crate::hip::{HipApi, dim3, hipDeviceAttribute_t as Hip, hipError_t, hipKernelNodeParams, hipMemcpyKind};
use crate::loader::DRIVER;

static HIP: OnceLock<HipApi> = OnceLock::new();
const NOT_SUPPORTED: CUresult = CUresult(hipError_t::hipErrorNotSupported.0);

/// Returns the driver, without initializing it.
///
/// # Errors
/// HIP is not installed.
pub fn driver() -> Result<&'static DriverApi, MissingLibrary> {
    static LOADED: OnceLock<DriverApi> = OnceLock::new();
    if let Some(api) = LOADED.get() {
        return Ok(api);
    }
    let (hip, api) = DRIVER.open(load)?;
    HIP.get_or_init(|| hip);
    Ok(LOADED.get_or_init(|| api))
}

/// Returns HIP's file in `CUPROUS_ROCM_PATH`: a version of the user's, or a stand-in for tests.
pub fn driver_file() -> Option<PathBuf> {
    DRIVER.file_in(&crate::loader::named_folders())
}

/// Returns the target of a device's code, such as `gfx90a:sramecc+:xnack-`. `None` if HIP does not say it.
pub fn target(device: CUdevice) -> Option<String> {
    // The structs of HIP 5 and 6 differ in their layouts and have less than 2 KiB. Their only text after the device's
    // name that begins with "gfx" is the target.
    let mut properties = [0_u64; 1024];
    let to = properties.as_mut_ptr();
    let hip = HIP.get()?;
    // SAFETY: each function writes its struct, which is smaller than the array.
    let status = unsafe {
        match (&hip.hipGetDevicePropertiesR0600, &hip.hipGetDeviceProperties) {
            (Ok(get), _) => get(to.cast(), device),
            (Err(_), Ok(get)) => get(to.cast(), device),
            (Err(_), Err(_)) => return None,
        }
    };
    const NAME: usize = 256;
    let bytes: Vec<u8> = properties.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let start = (status.0 == 0).then(|| bytes[NAME..].windows(3).position(|text| text == b"gfx")).flatten()?;
    CStr::from_bytes_until_nul(&bytes[NAME + start..]).ok().map(|text| text.to_string_lossy().into_owned())
}

/// Defines how both tables are filled from the library at a path.
macro_rules! table {
    (same { $($field:ident: $symbol:literal,)* } translated { $($own:ident: $function:ident,)* }) => {
        fn load(path: &Path) -> Result<(HipApi, DriverApi), libloading::Error> {
            // SAFETY: the file is HIP by its name. Each function has the parameters of the field's type.
            unsafe {
                let library = libloading::Library::new(path)?;
                // None of CUDA's names is in the library, so all fields are errors until they are filled.
                let mut api = DriverApi::new(path)?;
                $(api.$field = library.get($symbol).map(|symbol| *symbol);)*
                $(api.$own = Ok($function);)*
                Ok((HipApi::new(path)?, api))
            }
        }
    };
}
table! {
    same {
        cuInit: b"hipInit\0",
        cuDeviceGet: b"hipDeviceGet\0",
        cuDeviceGetCount: b"hipGetDeviceCount\0",
        cuDeviceGetName: b"hipDeviceGetName\0",
        cuDeviceGetUuid_v2: b"hipDeviceGetUuid\0",
        cuDeviceGetPCIBusId: b"hipDeviceGetPCIBusId\0",
        cuDeviceTotalMem_v2: b"hipDeviceTotalMem\0",
        cuDeviceCanAccessPeer: b"hipDeviceCanAccessPeer\0",
        cuCtxSynchronize: b"hipDeviceSynchronize\0",
        cuModuleLoadData: b"hipModuleLoadData\0",
        cuModuleUnload: b"hipModuleUnload\0",
        cuModuleGetFunction: b"hipModuleGetFunction\0",
        cuModuleGetGlobal_v2: b"hipModuleGetGlobal\0",
        cuMemGetInfo_v2: b"hipMemGetInfo\0",
        cuMemAlloc_v2: b"hipMalloc\0",
        cuMemFree_v2: b"hipFree\0",
        cuMemHostAlloc: b"hipHostMalloc\0",
        cuMemFreeHost: b"hipHostFree\0",
        cuMemcpyHtoDAsync_v2: b"hipMemcpyHtoDAsync\0",
        cuMemcpyDtoHAsync_v2: b"hipMemcpyDtoHAsync\0",
        cuMemcpyDtoDAsync_v2: b"hipMemcpyDtoDAsync\0",
        cuMemsetD8Async: b"hipMemsetD8Async\0",
        cuMemsetD32Async: b"hipMemsetD32Async\0",
        cuStreamCreateWithPriority: b"hipStreamCreateWithPriority\0",
        cuStreamDestroy_v2: b"hipStreamDestroy\0",
        cuStreamSynchronize: b"hipStreamSynchronize\0",
        cuStreamQuery: b"hipStreamQuery\0",
        cuStreamWaitEvent: b"hipStreamWaitEvent\0",
        cuStreamBeginCapture_v2: b"hipStreamBeginCapture\0",
        cuStreamEndCapture: b"hipStreamEndCapture\0",
        cuEventCreate: b"hipEventCreateWithFlags\0",
        cuEventDestroy_v2: b"hipEventDestroy\0",
        cuEventRecord: b"hipEventRecord\0",
        cuEventSynchronize: b"hipEventSynchronize\0",
        cuEventQuery: b"hipEventQuery\0",
        cuEventElapsedTime: b"hipEventElapsedTime\0",
        cuFuncGetAttribute: b"hipFuncGetAttribute\0",
        cuOccupancyMaxActiveBlocksPerMultiprocessor: b"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor\0",
        cuLaunchKernel: b"hipModuleLaunchKernel\0",
        cuLaunchCooperativeKernel: b"hipModuleLaunchCooperativeKernel\0",
        cuGraphCreate: b"hipGraphCreate\0",
        cuGraphDestroy: b"hipGraphDestroy\0",
        cuGraphAddChildGraphNode: b"hipGraphAddChildGraphNode\0",
        cuGraphAddEventRecordNode: b"hipGraphAddEventRecordNode\0",
        cuGraphInstantiateWithFlags: b"hipGraphInstantiateWithFlags\0",
        cuGraphExecChildGraphNodeSetParams: b"hipGraphExecChildGraphNodeSetParams\0",
        cuGraphExecDestroy: b"hipGraphExecDestroy\0",
        cuGraphLaunch: b"hipGraphLaunch\0",
    }
    translated {
        cuGetErrorName: error_name,
        cuGetErrorString: error_string,
        cuDriverGetVersion: driver_version,
        cuDeviceGetAttribute: device_attribute,
        cuDevicePrimaryCtxRetain: context_of,
        cuCtxSetCurrent: set_current,
        cuCtxGetCurrent: get_current,
        cuCtxEnablePeerAccess: enable_peer,
        cuMemcpyPeerAsync: copy_peer,
        cuFuncSetAttribute: set_function_attribute,
        cuGraphAddKernelNode_v2: add_kernel,
        cuGraphExecKernelNodeSetParams_v2: set_kernel,
        cuGraphAddMemcpyNode: add_copy,
        cuGraphExecMemcpyNodeSetParams: set_copy,
        cuGraphUpload: upload,
    }
}

/// Calls a function of HIP. One that this version lacks is not supported.
macro_rules! call {
    ($name:ident($($arg:expr),* $(,)?)) => {
        match HIP.get().map(|hip| &hip.$name) {
            Some(Ok(function)) => CUresult(function($($arg),*).0),
            _ => NOT_SUPPORTED,
        }
    };
}

// Every function below: the caller meets the requirements of CUDA's function, which imply those of HIP's.

unsafe extern "C" fn error_name(status: CUresult, to: *mut *const c_char) -> CUresult {
    let Some(Ok(name)) = HIP.get().map(|hip| &hip.hipGetErrorName) else { return NOT_SUPPORTED };
    // SAFETY: as for CUDA's function.
    unsafe { *to = name(hipError_t(status.0)) };
    CUresult::CUDA_SUCCESS
}

unsafe extern "C" fn error_string(status: CUresult, to: *mut *const c_char) -> CUresult {
    let Some(Ok(text)) = HIP.get().map(|hip| &hip.hipGetErrorString) else { return NOT_SUPPORTED };
    // SAFETY: as for CUDA's function.
    unsafe { *to = text(hipError_t(status.0)) };
    CUresult::CUDA_SUCCESS
}

/// HIP 6.4.1 says 60_400_001 or so; CUDA 13.2 says 13_020.
unsafe extern "C" fn driver_version(to: *mut c_int) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe {
        let status = call!(hipDriverGetVersion(to));
        *to = *to / 10_000_000 * 1000 + *to / 100_000 % 100 * 10;
        status
    }
}

/// What answers a question about a device.
enum Answer {
    /// An attribute of HIP.
    From(Hip),
    /// The same number on all GPUs of AMD.
    Is(c_int),
}

/// The attributes of devices that Cuprous reads. The compute capability is the lowest one that is supported, which stands
/// for what all GPUs can do; code is generated and compiled for the target's own name.
const ATTRIBUTES: [(Cuda, Answer); 18] = [
    (Cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, Answer::Is(8)),
    (Cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, Answer::Is(0)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, Answer::From(Hip::hipDeviceAttributeMultiprocessorCount)),
    (Cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, Answer::From(Hip::hipDeviceAttributeL2CacheSize)),
    (
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        Answer::From(Hip::hipDeviceAttributeMaxSharedMemoryPerBlock),
    ),
    // There is no other limit to request.
    (
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        Answer::From(Hip::hipDeviceAttributeMaxSharedMemoryPerBlock),
    ),
    (
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        Answer::From(Hip::hipDeviceAttributeMaxSharedMemoryPerMultiprocessor),
    ),
    (
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        Answer::From(Hip::hipDeviceAttributeMaxRegistersPerBlock),
    ),
    (
        Cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        Answer::From(Hip::hipDeviceAttributeMaxThreadsPerMultiProcessor),
    ),
    (Cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, Answer::From(Hip::hipDeviceAttributeMaxThreadsPerBlock)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, Answer::Is(16)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, Answer::From(Hip::hipDeviceAttributeMaxGridDimX)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, Answer::From(Hip::hipDeviceAttributeMaxGridDimY)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, Answer::From(Hip::hipDeviceAttributeMaxGridDimZ)),
    (Cuda::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, Answer::From(Hip::hipDeviceAttributeClockRate)),
    (Cuda::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, Answer::From(Hip::hipDeviceAttributeMemoryClockRate)),
    (Cuda::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, Answer::From(Hip::hipDeviceAttributeMemoryBusWidth)),
    (Cuda::CU_DEVICE_ATTRIBUTE_INTEGRATED, Answer::From(Hip::hipDeviceAttributeIntegrated)),
];

unsafe extern "C" fn device_attribute(to: *mut c_int, attribute: Cuda, device: CUdevice) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe {
        match ATTRIBUTES.iter().find(|row| row.0 == attribute) {
            Some((_, Answer::From(own))) => call!(hipDeviceGetAttribute(to, *own, device)),
            Some((_, Answer::Is(value))) => {
                *to = *value;
                CUresult::CUDA_SUCCESS
            }
            None => NOT_SUPPORTED,
        }
    }
}

// HIP has a current device for each thread. A context stands for a device: its number plus one.

fn device_of(context: CUcontext) -> c_int {
    context as usize as c_int - 1
}

unsafe extern "C" fn context_of(to: *mut CUcontext, device: CUdevice) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe { *to = (device as usize + 1) as CUcontext };
    CUresult::CUDA_SUCCESS
}

unsafe extern "C" fn set_current(context: CUcontext) -> CUresult {
    // A null context gives up the current one, which HIP does not do.
    // SAFETY: as for CUDA's function.
    if context.is_null() { CUresult::CUDA_SUCCESS } else { unsafe { call!(hipSetDevice(device_of(context))) } }
}

unsafe extern "C" fn get_current(to: *mut CUcontext) -> CUresult {
    let mut device = 0;
    // SAFETY: as for CUDA's function.
    unsafe {
        let status = call!(hipGetDevice(&raw mut device));
        context_of(to, device);
        status
    }
}

unsafe extern "C" fn enable_peer(context: CUcontext, flags: c_uint) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipDeviceEnablePeerAccess(device_of(context), flags)) }
}

unsafe extern "C" fn copy_peer(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let (to, from) = (to as *mut c_void, from as *const c_void);
    // SAFETY: as for CUDA's function.
    unsafe { call!(hipMemcpyPeerAsync(to, device_of(to_context), from, device_of(from_context), bytes, stream.cast())) }
}

/// A kernel may use all of the memory that a block shares without a request.
unsafe extern "C" fn set_function_attribute(_: CUfunction, attribute: CUfunction_attribute, _: c_int) -> CUresult {
    if attribute == CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
        CUresult::CUDA_SUCCESS
    } else {
        NOT_SUPPORTED
    }
}

unsafe fn kernel_node(params: *const CUDA_KERNEL_NODE_PARAMS) -> hipKernelNodeParams {
    // SAFETY: the caller passes a node's parameters.
    let params = unsafe { &*params };
    hipKernelNodeParams {
        blockDim: dim3 { x: params.blockDimX, y: params.blockDimY, z: params.blockDimZ },
        extra: params.extra,
        func: params.func.cast(),
        gridDim: dim3 { x: params.gridDimX, y: params.gridDimY, z: params.gridDimZ },
        kernelParams: params.kernelParams,
        sharedMemBytes: params.sharedMemBytes,
    }
}

unsafe extern "C" fn add_kernel(
    node: *mut CUgraphNode,
    graph: CUgraph,
    deps: *const CUgraphNode,
    count: usize,
    params: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe {
        let params = kernel_node(params);
        call!(hipGraphAddKernelNode(node.cast(), graph.cast(), deps.cast(), count, &raw const params))
    }
}

unsafe extern "C" fn set_kernel(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *const CUDA_KERNEL_NODE_PARAMS,
) -> CUresult {
    // SAFETY: as for CUDA's function.
    unsafe {
        let params = kernel_node(params);
        call!(hipGraphExecKernelNodeSetParams(exec.cast(), node.cast(), &raw const params))
    }
}

/// Returns the ends and the bytes of a copy within the device of one row, which are all that Cuprous puts into graphs.
unsafe fn row(params: *const CUDA_MEMCPY3D) -> (*mut c_void, *const c_void, usize) {
    // SAFETY: the caller passes a node's parameters.
    let params = unsafe { &*params };
    debug_assert!(params.Height <= 1 && params.Depth <= 1, "a copy of several rows");
    (params.dstDevice as *mut c_void, params.srcDevice as *const c_void, params.WidthInBytes)
}

unsafe extern "C" fn add_copy(
    node: *mut CUgraphNode,
    graph: CUgraph,
    deps: *const CUgraphNode,
    count: usize,
    params: *const CUDA_MEMCPY3D,
    _: CUcontext,
) -> CUresult {
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    // SAFETY: as for CUDA's function.
    unsafe {
        let (to, from, bytes) = row(params);
        call!(hipGraphAddMemcpyNode1D(node.cast(), graph.cast(), deps.cast(), count, to, from, bytes, kind))
    }
}

unsafe extern "C" fn set_copy(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *const CUDA_MEMCPY3D,
    _: CUcontext,
) -> CUresult {
    let kind = hipMemcpyKind::hipMemcpyDeviceToDevice;
    // SAFETY: as for CUDA's function.
    unsafe {
        let (to, from, bytes) = row(params);
        call!(hipGraphExecMemcpyNodeSetParams1D(exec.cast(), node.cast(), to, from, bytes, kind))
    }
}

/// Before HIP 5.3 the first launch uploads a graph.
unsafe extern "C" fn upload(exec: CUgraphExec, stream: CUstream) -> CUresult {
    match HIP.get().map(|hip| &hip.hipGraphUpload) {
        // SAFETY: as for CUDA's function.
        Some(Ok(upload)) => CUresult(unsafe { upload(exec.cast(), stream.cast()) }.0),
        _ => CUresult::CUDA_SUCCESS,
    }
}
