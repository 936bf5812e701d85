//! Functions of HIP that differ from CUDA's in their names only.
//!
//! Where a kernel needs more shared memory than CUDA gives without a request, the request is made here.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use cuprous_cuda_sys::driver::{
    CUdevice, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUmodule,
    CUresult, CUstream, CUstreamCaptureMode, CUuuid,
};

use crate::context::cuda;

/// Defines functions: the name, CUDA's name, the parameters.
macro_rules! forward {
    ($($hip:ident = $cuda:ident($($arg:ident: $type:ty),* $(,)?);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($($arg: $type),*) -> CUresult {
            // SAFETY: the caller meets the requirements of HIP's function, which are those of CUDA's.
            unsafe { cuda!($cuda($($arg),*)) }
        }
    )*};
}

forward! {
    hipInit = cuInit(flags: c_uint);
    hipDeviceGet = cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    hipGetDeviceCount = cuDeviceGetCount(count: *mut c_int);
    hipDeviceGetName = cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
    hipDeviceGetUuid = cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice);
    hipDeviceGetPCIBusId = cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, dev: CUdevice);
    hipDeviceTotalMem = cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
    hipDeviceCanAccessPeer = cuDeviceCanAccessPeer(can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice);
    hipDeviceSynchronize = cuCtxSynchronize();
    hipModuleLoadData = cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    hipModuleUnload = cuModuleUnload(hmod: CUmodule);
    hipModuleGetFunction = cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
    hipModuleGetGlobal = cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char);
    hipMemGetInfo = cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    hipMalloc = cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
    hipFree = cuMemFree_v2(dptr: CUdeviceptr);
    hipHostMalloc = cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: c_uint);
    hipHostFree = cuMemFreeHost(p: *mut c_void);
    hipMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream);
    hipMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream);
    hipMemcpyDtoDAsync = cuMemcpyDtoDAsync_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream);
    hipMemsetD8Async = cuMemsetD8Async(dst_device: CUdeviceptr, uc: c_uchar, n: usize, h_stream: CUstream);
    hipMemsetD32Async = cuMemsetD32Async(dst_device: CUdeviceptr, ui: c_uint, n: usize, h_stream: CUstream);
    hipStreamCreateWithPriority = cuStreamCreateWithPriority(ph_stream: *mut CUstream, flags: c_uint, priority: c_int);
    hipStreamDestroy = cuStreamDestroy_v2(h_stream: CUstream);
    hipStreamSynchronize = cuStreamSynchronize(h_stream: CUstream);
    hipStreamQuery = cuStreamQuery(h_stream: CUstream);
    hipStreamWaitEvent = cuStreamWaitEvent(h_stream: CUstream, h_event: CUevent, flags: c_uint);
    hipStreamBeginCapture = cuStreamBeginCapture_v2(h_stream: CUstream, mode: CUstreamCaptureMode);
    hipStreamEndCapture = cuStreamEndCapture(h_stream: CUstream, ph_graph: *mut CUgraph);
    hipEventCreateWithFlags = cuEventCreate(ph_event: *mut CUevent, flags: c_uint);
    hipEventDestroy = cuEventDestroy_v2(h_event: CUevent);
    hipEventRecord = cuEventRecord(h_event: CUevent, h_stream: CUstream);
    hipEventSynchronize = cuEventSynchronize(h_event: CUevent);
    hipEventQuery = cuEventQuery(h_event: CUevent);
    hipEventElapsedTime = cuEventElapsedTime(ms: *mut f32, start: CUevent, end: CUevent);
    hipFuncGetAttribute = cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
    hipGraphCreate = cuGraphCreate(ph_graph: *mut CUgraph, flags: c_uint);
    hipGraphDestroy = cuGraphDestroy(h_graph: CUgraph);
    hipGraphAddChildGraphNode = cuGraphAddChildGraphNode(ph_graph_node: *mut CUgraphNode, h_graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, child_graph: CUgraph);
    hipGraphAddEventRecordNode = cuGraphAddEventRecordNode(ph_graph_node: *mut CUgraphNode, h_graph: CUgraph, dependencies: *const CUgraphNode, num_dependencies: usize, event: CUevent);
    hipGraphInstantiateWithFlags = cuGraphInstantiateWithFlags(ph_graph_exec: *mut CUgraphExec, h_graph: CUgraph, flags: c_ulonglong);
    hipGraphExecChildGraphNodeSetParams = cuGraphExecChildGraphNodeSetParams(h_graph_exec: CUgraphExec, h_node: CUgraphNode, child_graph: CUgraph);
    hipGraphExecDestroy = cuGraphExecDestroy(h_graph_exec: CUgraphExec);
    hipGraphLaunch = cuGraphLaunch(h_graph_exec: CUgraphExec, h_stream: CUstream);
}

/// More shared memory than this has to be requested: less than the 48 KiB that need no request, which also hold what a
/// kernel declares.
const WITHOUT_REQUEST: usize = 16 << 10;

pub(crate) unsafe fn request_shared(function: CUfunction, bytes: usize) {
    if bytes > WITHOUT_REQUEST {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the caller passes a kernel. If too much is requested, the launch fails.
        let _the_launch_fails_then = unsafe { cuda!(cuFuncSetAttribute(function, attribute, bytes as c_int)) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    num_blocks: *mut c_int,
    func: CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
) -> CUresult {
    // SAFETY: as above.
    unsafe {
        request_shared(func, dynamic_smem_size);
        cuda!(cuOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks, func, block_size, dynamic_smem_size))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchKernel(
    f: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    h_stream: CUstream,
    kernel_params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    // SAFETY: as above.
    unsafe {
        request_shared(f, shared_mem_bytes as usize);
        cuda!(cuLaunchKernel(
            f,
            grid_dim_x,
            grid_dim_y,
            grid_dim_z,
            block_dim_x,
            block_dim_y,
            block_dim_z,
            shared_mem_bytes,
            h_stream,
            kernel_params,
            extra
        ))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchCooperativeKernel(
    f: CUfunction,
    grid_dim_x: c_uint,
    grid_dim_y: c_uint,
    grid_dim_z: c_uint,
    block_dim_x: c_uint,
    block_dim_y: c_uint,
    block_dim_z: c_uint,
    shared_mem_bytes: c_uint,
    h_stream: CUstream,
    kernel_params: *mut *mut c_void,
) -> CUresult {
    // SAFETY: as above.
    unsafe {
        request_shared(f, shared_mem_bytes as usize);
        cuda!(cuLaunchCooperativeKernel(
            f,
            grid_dim_x,
            grid_dim_y,
            grid_dim_z,
            block_dim_x,
            block_dim_y,
            block_dim_z,
            shared_mem_bytes,
            h_stream,
            kernel_params
        ))
    }
}
