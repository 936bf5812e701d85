//! The driver as a program uses it: compile, launch, capture, patch. What lacks a dependency gives wrong results.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUmodule, CUresult,
    CUstream, CUstreamCaptureMode,
};

use super::device::{cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit};
use super::graph::*;
use super::memory::*;
use super::module::*;
use super::stream::*;
use super::{LAUNCH_FAILED, SUCCESS, lock};
use crate::nvrtc::*;

/// One test at a time: they share the driver's state, and one of them breaks it for a while.
pub(crate) static ONE: Mutex<()> = Mutex::new(());

const SOURCE: &str = r#"
extern "C" __global__ void add(int* p, int n, int x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] += x; }
extern "C" __global__ void twice(int* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] *= 2; }
extern "C" __global__ void total(int* p, int* out) {
    __shared__ int parts[2];
    int x = p[threadIdx.x];
    for (int by = 16; by; by /= 2) x += __shfl_down_sync(0xffffffffu, x, by);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0) *out = parts[0] + parts[1];
}
extern "C" __global__ void stuck(int* p) { if (threadIdx.x == 0) __syncwarp(); else __syncthreads(); }
"#;

fn ok(status: CUresult) {
    assert_eq!(status, SUCCESS);
}

struct Gpu {
    module: CUmodule,
    stream: CUstream,
    memory: u64,
    _one: MutexGuard<'static, ()>,
}

impl Gpu {
    /// Compiles the kernels, and allocates 64 numbers, which are zero.
    fn new() -> Gpu {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut context, mut module, mut stream, mut memory): (CUcontext, CUmodule, CUstream, u64) =
            (null_mut(), null_mut(), null_mut(), 0);
        let (source, name) = (CString::new(SOURCE).expect("no zero"), c"kernels");
        // SAFETY: all arguments are addresses of variables, as the functions require.
        unsafe {
            ok(cuInit(0));
            ok(cuDevicePrimaryCtxRetain(&raw mut context, 0));
            ok(cuCtxSetCurrent(context));
            let mut program = null_mut();
            nvrtcCreateProgram(&raw mut program, source.as_ptr(), name.as_ptr(), 0, null(), null());
            assert_eq!(nvrtcCompileProgram(program, 0, null()).0, 0);
            let mut size = 0;
            nvrtcGetCUBINSize(program, &raw mut size);
            let mut image = vec![0u8; size];
            nvrtcGetCUBIN(program, image.as_mut_ptr().cast());
            nvrtcDestroyProgram(&raw mut program);
            ok(cuModuleLoadData(&raw mut module, image.as_ptr().cast()));
            ok(cuStreamCreateWithPriority(&raw mut stream, 1, 0));
            ok(cuMemAlloc_v2(&raw mut memory, 256));
            ok(cuMemsetD8Async(memory, 0, 256, stream));
        }
        Gpu { module, stream, memory, _one: one }
    }

    fn function(&self, name: &str) -> CUfunction {
        let mut function = null_mut();
        let name = CString::new(name).expect("no zero");
        // SAFETY: as in `new`.
        ok(unsafe { cuModuleGetFunction(&raw mut function, self.module, name.as_ptr()) });
        function
    }

    fn try_launch(&self, name: &str, threads: u32, arguments: &mut [*mut c_void]) -> CUresult {
        let function = self.function(name);
        let to = arguments.as_mut_ptr();
        // SAFETY: the arguments have the types of the kernel's parameters.
        unsafe { cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, self.stream, to, null_mut()) }
    }

    fn launch(&self, name: &str, threads: u32, arguments: &mut [*mut c_void]) {
        ok(self.try_launch(name, threads, arguments));
    }

    fn read(&self) -> Vec<i32> {
        let mut host = vec![0; 64];
        // SAFETY: as in `new`; memory that is not page-locked has been written when the call returns.
        ok(unsafe { cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), self.memory, 256, self.stream) });
        host
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: the handles are this value's own.
        unsafe {
            cuMemFree_v2(self.memory);
            cuModuleUnload(self.module);
            cuStreamDestroy_v2(self.stream);
        }
    }
}

/// Returns the addresses of values, as the driver takes arguments.
macro_rules! arguments {
    ($($value:expr),*) => { [$((&raw mut $value).cast::<c_void>()),*] };
}

#[test]
fn kernels_run_in_the_order_of_their_stream() {
    let gpu = Gpu::new();
    let (mut p, mut n, mut x) = (gpu.memory, 50, 3);
    gpu.launch("add", 64, &mut arguments![p, n, x]);
    x = 100; // arguments are copied by the call
    gpu.launch("twice", 64, &mut arguments![p, n]);
    let got = gpu.read();
    assert_eq!((x, got[0], got[49], got[50]), (100, 6, 6, 0));
    let mut out = gpu.memory + 4 * 63;
    gpu.launch("total", 64, &mut arguments![p, out]);
    assert_eq!(gpu.read()[63], 300);
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_an_error() {
    let gpu = Gpu::new();
    let mut p = gpu.memory;
    let _launch_may_run_at_once = gpu.try_launch("stuck", 32, &mut arguments![p]);
    // SAFETY: the stream is alive.
    assert_eq!(unsafe { cuStreamSynchronize(gpu.stream) }, LAUNCH_FAILED);
    // The error stays, as on a GPU.
    // SAFETY: as above.
    assert_eq!(unsafe { cuStreamSynchronize(gpu.stream) }, LAUNCH_FAILED);
    lock().failed = None;
}

#[test]
fn a_stream_that_does_not_wait_reads_too_early() {
    let gpu = Gpu::new();
    let (mut other, mut event): (CUstream, CUevent) = (null_mut(), null_mut());
    // SAFETY: as in `Gpu::new`.
    unsafe {
        ok(cuStreamCreateWithPriority(&raw mut other, 1, 0));
        ok(cuEventCreate(&raw mut event, 2));
    }
    let (mut p, mut n, mut x) = (gpu.memory, 64, 1);
    let mut early = 0;
    for round in 1..=40 {
        gpu.launch("add", 64, &mut arguments![p, n, x]);
        let mut host = [0; 64];
        // SAFETY: as above.
        unsafe {
            if round > 20 {
                ok(cuEventRecord(event, gpu.stream));
                ok(cuStreamWaitEvent(other, event, 0));
            }
            ok(cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), gpu.memory, 256, other));
        }
        if host[0] != round {
            assert!(round <= 20, "round {round}: a wait is kept");
            early += 1;
        }
        // SAFETY: the stream is alive.
        ok(unsafe { cuStreamSynchronize(gpu.stream) });
    }
    assert!(early > 0, "some of twenty reads without a wait come too early");
    // SAFETY: the handles are this test's own. A wait outlives its event.
    unsafe {
        ok(cuEventDestroy_v2(event));
        ok(cuStreamDestroy_v2(other));
    }
}

/// Returns a graph of `add` 3 and `twice`, and the first node.
fn graph(gpu: &Gpu, ordered: bool) -> (CUgraphExec, CUgraphNode) {
    let (mut graph, mut exec, mut nodes): (CUgraph, CUgraphExec, [CUgraphNode; 2]) =
        (null_mut(), null_mut(), [null_mut(); 2]);
    let (mut p, mut n, mut x) = (gpu.memory, 64, 3);
    let (mut first, mut second) = (arguments![p, n, x], arguments![p, n]);
    let params = [params(gpu, "add", &mut first), params(gpu, "twice", &mut second)];
    let (to, wait) = (nodes.as_mut_ptr(), usize::from(ordered));
    // SAFETY: as in `Gpu::new`.
    unsafe {
        ok(cuGraphCreate(&raw mut graph, 0));
        ok(cuGraphAddKernelNode_v2(to, graph, null(), 0, &raw const params[0]));
        ok(cuGraphAddKernelNode_v2(to.add(1), graph, to, wait, &raw const params[1]));
        ok(cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        ok(cuGraphDestroy(graph));
    }
    (exec, nodes[0])
}

fn params(gpu: &Gpu, name: &str, arguments: &mut [*mut c_void]) -> CUDA_KERNEL_NODE_PARAMS {
    // SAFETY: a plain C struct of integers and pointers, for which zero is a value.
    let mut params: CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
    params.func = gpu.function(name);
    (params.gridDimX, params.gridDimY, params.gridDimZ) = (1, 1, 1);
    (params.blockDimX, params.blockDimY, params.blockDimZ) = (64, 1, 1);
    params.kernelParams = arguments.as_mut_ptr();
    params
}

#[test]
fn a_graph_without_an_edge_gives_wrong_results() {
    let gpu = Gpu::new();
    for ordered in [true, false] {
        let (exec, _) = graph(&gpu, ordered);
        let mut wrong = 0;
        for _ in 0..20 {
            // SAFETY: the handles are alive.
            unsafe {
                ok(cuMemsetD8Async(gpu.memory, 0, 256, gpu.stream));
                ok(cuGraphLaunch(exec, gpu.stream));
            }
            wrong += u32::from(gpu.read()[5] != 6);
        }
        assert_eq!(wrong == 0, ordered, "{wrong} of 20 launches");
        // SAFETY: destroyed once.
        ok(unsafe { cuGraphExecDestroy(exec) });
    }
}

#[test]
fn a_patch_applies_to_later_launches_only() {
    let gpu = Gpu::new();
    let (exec, add) = graph(&gpu, true);
    let (mut p, mut n, mut x) = (gpu.memory, 64, 5);
    let mut arguments = arguments![p, n, x];
    let patched = params(&gpu, "add", &mut arguments);
    // SAFETY: the handles are alive.
    unsafe {
        ok(cuGraphLaunch(exec, gpu.stream));
        ok(cuGraphExecKernelNodeSetParams_v2(exec, add, &raw const patched));
        ok(cuGraphLaunch(exec, gpu.stream));
    }
    assert_eq!(gpu.read()[0], (3 * 2 + 5) * 2);
    // SAFETY: destroyed once.
    ok(unsafe { cuGraphExecDestroy(exec) });
}

#[test]
fn captured_work_runs_when_its_graph_does() {
    let gpu = Gpu::new();
    let (mut graph, mut exec): (CUgraph, CUgraphExec) = (null_mut(), null_mut());
    let (mut p, mut n, mut x) = (gpu.memory, 64, 7);
    // SAFETY: as in `Gpu::new`.
    unsafe {
        ok(cuStreamSynchronize(gpu.stream));
        ok(cuStreamBeginCapture_v2(gpu.stream, CUstreamCaptureMode(2)));
        gpu.launch("add", 64, &mut arguments![p, n, x]);
        assert_ne!(cuStreamSynchronize(gpu.stream), SUCCESS, "a stream cannot be waited for during a capture");
        ok(cuStreamEndCapture(gpu.stream, &raw mut graph));
        assert_eq!(gpu.read()[0], 0);
        ok(cuGraphInstantiateWithFlags(&raw mut exec, graph, 0));
        ok(cuGraphDestroy(graph));
        ok(cuGraphLaunch(exec, gpu.stream));
        ok(cuGraphLaunch(exec, gpu.stream));
        assert_eq!(gpu.read()[0], 14);
        ok(cuGraphExecDestroy(exec));
    }
}
