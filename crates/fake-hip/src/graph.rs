//! Nodes of graphs.

use std::ffi::c_void;

use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUcontext, CUdeviceptr, CUfunction, CUgraph, CUgraphExec, CUgraphNode,
    CUmemorytype, CUresult, CUstream,
};
use cuprous_hip_sys::hip::{hipKernelNodeParams, hipMemcpyKind};

use crate::context::{NOT_SUPPORTED, cuda};
use crate::forward::request_shared;

unsafe fn kernel_node(params: *const hipKernelNodeParams) -> CUDA_KERNEL_NODE_PARAMS {
    // SAFETY: the caller passes a node's parameters.
    let params = unsafe { &*params };
    let func: CUfunction = params.func.cast();
    // SAFETY: the function is a kernel.
    unsafe { request_shared(func, params.sharedMemBytes as usize) };
    CUDA_KERNEL_NODE_PARAMS {
        func,
        gridDimX: params.gridDim.x,
        gridDimY: params.gridDim.y,
        gridDimZ: params.gridDim.z,
        blockDimX: params.blockDim.x,
        blockDimY: params.blockDim.y,
        blockDimZ: params.blockDim.z,
        sharedMemBytes: params.sharedMemBytes,
        kernelParams: params.kernelParams,
        extra: params.extra,
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddKernelNode(
    node: *mut CUgraphNode,
    graph: CUgraph,
    deps: *const CUgraphNode,
    count: usize,
    params: *const hipKernelNodeParams,
) -> CUresult {
    // SAFETY: the caller passes what HIP requires.
    unsafe {
        let params = kernel_node(params);
        cuda!(cuGraphAddKernelNode_v2(node, graph, deps, count, &raw const params))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphExecKernelNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    params: *const hipKernelNodeParams,
) -> CUresult {
    // SAFETY: as above.
    unsafe {
        let params = kernel_node(params);
        cuda!(cuGraphExecKernelNodeSetParams_v2(exec, node, &raw const params))
    }
}

/// Returns a copy of one row within the device, and the context that it runs in.
unsafe fn row(to: *mut c_void, from: *const c_void, bytes: usize) -> (CUDA_MEMCPY3D, CUcontext) {
    let mut context: CUcontext = std::ptr::null_mut();
    // SAFETY: the call writes one handle. All fields of the struct may be zero.
    let mut params: CUDA_MEMCPY3D = unsafe {
        cuda!(cuCtxGetCurrent(&raw mut context));
        std::mem::zeroed()
    };
    (params.srcMemoryType, params.srcDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, from as CUdeviceptr);
    (params.dstMemoryType, params.dstDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, to as CUdeviceptr);
    (params.WidthInBytes, params.Height, params.Depth) = (bytes, 1, 1);
    (params, context)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphAddMemcpyNode1D(
    node: *mut CUgraphNode,
    graph: CUgraph,
    deps: *const CUgraphNode,
    count: usize,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> CUresult {
    if kind != hipMemcpyKind::hipMemcpyDeviceToDevice {
        return NOT_SUPPORTED;
    }
    // SAFETY: as above.
    unsafe {
        let (params, context) = row(to, from, bytes);
        cuda!(cuGraphAddMemcpyNode(node, graph, deps, count, &raw const params, context))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphExecMemcpyNodeSetParams1D(
    exec: CUgraphExec,
    node: CUgraphNode,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: hipMemcpyKind,
) -> CUresult {
    if kind != hipMemcpyKind::hipMemcpyDeviceToDevice {
        return NOT_SUPPORTED;
    }
    // SAFETY: as above.
    unsafe {
        let (params, context) = row(to, from, bytes);
        cuda!(cuGraphExecMemcpyNodeSetParams(exec, node, &raw const params, context))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGraphUpload(exec: CUgraphExec, stream: CUstream) -> CUresult {
    // SAFETY: as above.
    unsafe { cuda!(cuGraphUpload(exec, stream)) }
}
