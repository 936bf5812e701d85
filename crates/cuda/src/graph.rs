//! CUDA graphs built node by node: a program is submitted by one launch, and what changed is patched.
//!
//! Invariant: a node's `ArgBlock` here always equals what the driver holds for it, so an equal block is not sent again.

use std::ffi::c_void;

use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphNode, CUmemorytype,
    CUstreamCaptureMode,
};

use crate::driver::{ArgBlock, Context, DevPtr, Event, Function, LaunchShape, Stream};
use crate::driver::{api, call, enter, for_drop};
use crate::error::{CudaError, Result};

/// A node of one graph; the number counts nodes in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The node's number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
enum Work {
    Kernel { function: Function, shape: LaunchShape, args: ArgBlock },
    Memset { to: DevPtr, value: u32, words: usize },
    Copy { to: DevPtr, from: DevPtr, bytes: usize },
    Captured,
    Record,
}

#[derive(Debug)]
struct Node {
    raw: CUgraphNode,
    work: Work,
}

/// A graph under construction.
#[derive(Debug)]
pub struct GraphBuilder {
    raw: CUgraph,
    nodes: Vec<Node>,
    context: &'static Context,
    /// Reused for each node: pointers to its arguments, and the nodes it waits for.
    pointers: Vec<*mut c_void>,
    deps: Vec<CUgraphNode>,
    /// Only for capturing; made on first use.
    capture: Option<Stream>,
}

// SAFETY: the driver asks only that a graph is not used by two threads at once, which `&mut self` ensures; the
// pointers in the two scratch vectors are dead between calls.
unsafe impl Send for GraphBuilder {}

impl GraphBuilder {
    /// A graph without nodes.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(context: &'static Context) -> Result<GraphBuilder> {
        let api = enter(context)?;
        let mut raw: CUgraph = std::ptr::null_mut();
        // SAFETY: the call writes one handle; flags must be zero.
        unsafe { call!(api, cuGraphCreate(&raw mut raw, 0)) }?;
        Ok(GraphBuilder { raw, nodes: Vec::new(), context, pointers: Vec::new(), deps: Vec::new(), capture: None })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True without nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a kernel that runs after `deps`.
    ///
    /// # Errors
    /// The shape is beyond the device's limits, or the driver fails.
    ///
    /// # Safety
    /// The arguments must be what the kernel's signature says, for as long as the graph is launched; so must the
    /// memory that they lead to and the kernel's module be alive.
    pub unsafe fn add_kernel(
        &mut self,
        function: Function,
        shape: LaunchShape,
        mut args: ArgBlock,
        deps: &[NodeId],
    ) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.resolve(deps)?;
        args.pointers(&mut self.pointers);
        let params = kernel_params(function, &shape, &mut self.pointers);
        let mut raw: CUgraphNode = std::ptr::null_mut();
        // SAFETY: the driver copies the argument values before it returns; the caller vouches for them.
        unsafe {
            call!(
                api,
                cuGraphAddKernelNode_v2(&raw mut raw, self.raw, self.deps.as_ptr(), self.deps.len(), &raw const params)
            )
        }?;
        Ok(self.push(raw, Work::Kernel { function, shape, args }))
    }

    /// Adds the filling of `words` 32-bit words at `to`, a multiple of 4, after `deps`.
    ///
    /// # Errors
    /// The driver fails.
    ///
    /// # Safety
    /// The range must be a live allocation at each launch.
    pub unsafe fn add_memset(&mut self, to: DevPtr, value: u32, words: usize, deps: &[NodeId]) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.resolve(deps)?;
        let params = memset_params(to, value, words);
        let mut raw: CUgraphNode = std::ptr::null_mut();
        // SAFETY: the caller vouches for the range; the driver copies the parameters.
        unsafe {
            call!(
                api,
                cuGraphAddMemsetNode(
                    &raw mut raw,
                    self.raw,
                    self.deps.as_ptr(),
                    self.deps.len(),
                    &raw const params,
                    self.context.raw(),
                )
            )
        }?;
        Ok(self.push(raw, Work::Memset { to, value, words }))
    }

    /// Adds a copy within the device after `deps`. The ranges must not overlap.
    ///
    /// # Errors
    /// The driver fails.
    ///
    /// # Safety
    /// Both ranges must be live allocations at each launch.
    pub unsafe fn add_copy(&mut self, to: DevPtr, from: DevPtr, bytes: usize, deps: &[NodeId]) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.resolve(deps)?;
        let params = copy_params(to, from, bytes);
        let mut raw: CUgraphNode = std::ptr::null_mut();
        // SAFETY: the caller vouches for the ranges; the driver copies the parameters.
        unsafe {
            call!(
                api,
                cuGraphAddMemcpyNode(
                    &raw mut raw,
                    self.raw,
                    self.deps.as_ptr(),
                    self.deps.len(),
                    &raw const params,
                    self.context.raw(),
                )
            )
        }?;
        Ok(self.push(raw, Work::Copy { to, from, bytes }))
    }

    /// Adds as one node what `submit` submits to the stream that it is given: calls of NVIDIA's libraries.
    ///
    /// # Errors
    /// `submit` fails or does what cannot be captured, or the driver fails.
    ///
    /// # Safety
    /// What is submitted must be valid at each launch.
    pub unsafe fn add_captured(
        &mut self,
        deps: &[NodeId],
        submit: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.resolve(deps)?;
        let child = self.capture(submit)?;
        let mut raw: CUgraphNode = std::ptr::null_mut();
        // SAFETY: the driver copies the captured graph; the caller vouches for what it does.
        unsafe {
            call!(api, cuGraphAddChildGraphNode(&raw mut raw, self.raw, self.deps.as_ptr(), self.deps.len(), child.raw))
        }?;
        Ok(self.push(raw, Work::Captured))
    }

    /// Adds the recording of an event after `deps`: when it takes place is when they are done.
    ///
    /// # Errors
    /// The driver fails, or is too old.
    pub fn add_record(&mut self, event: &Event, deps: &[NodeId]) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.resolve(deps)?;
        let mut raw: CUgraphNode = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the event's is valid while it lives, and whoever adds it keeps it as long as
        // the graph.
        unsafe {
            call!(
                api,
                cuGraphAddEventRecordNode(&raw mut raw, self.raw, self.deps.as_ptr(), self.deps.len(), event.raw(),)
            )
        }?;
        Ok(self.push(raw, Work::Record))
    }

    /// What `submit` submits, as a graph of its own.
    fn capture(&mut self, submit: impl FnOnce(&Stream) -> Result<()>) -> Result<CapturedGraph> {
        let api = enter(self.context)?;
        let stream = match &self.capture {
            Some(stream) => stream,
            None => self.capture.insert(Stream::new(self.context)?),
        };
        // Relaxed: a library may load a kernel on its first use, which the stricter modes forbid.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is ours and idle.
        unsafe { call!(api, cuStreamBeginCapture_v2(stream.raw(), mode)) }?;
        let submitted = submit(stream);
        let mut raw: CUgraph = std::ptr::null_mut();
        // SAFETY: the capture was begun above; it must be ended also where `submit` failed.
        let ended = unsafe { call!(api, cuStreamEndCapture(stream.raw(), &raw mut raw)) };
        let captured = CapturedGraph { raw, context: self.context };
        submitted?;
        ended?;
        Ok(captured)
    }

    /// Makes the graph launchable. Costs about 4 µs a node.
    ///
    /// # Errors
    /// The driver fails.
    pub fn instantiate(mut self) -> Result<GraphExec> {
        let api = enter(self.context)?;
        let mut raw: CUgraphExec = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the graph is ours.
        unsafe { call!(api, cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0)) }?;
        let pointers = std::mem::take(&mut self.pointers);
        Ok(GraphExec { raw, pointers, graph: self })
    }

    fn resolve(&mut self, deps: &[NodeId]) -> Result<()> {
        self.deps.clear();
        for dep in deps {
            let node = self.nodes.get(dep.index());
            let node = node.ok_or_else(|| CudaError::Unsupported(format!("graph node {} does not exist", dep.0)))?;
            self.deps.push(node.raw);
        }
        Ok(())
    }

    fn push(&mut self, raw: CUgraphNode, work: Work) -> NodeId {
        self.nodes.push(Node { raw, work });
        NodeId(self.nodes.len() as u32 - 1)
    }
}

/// The result of a capture, until it was copied into a graph.
struct CapturedGraph {
    raw: CUgraph,
    context: &'static Context,
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        if let (false, Some(api)) = (self.raw.is_null(), for_drop(self.context)) {
            // SAFETY: the handle is ours.
            let _at_worst_leaked = unsafe { call!(api, cuGraphDestroy(self.raw)) };
        }
    }
}

impl Drop for GraphBuilder {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.context) {
            // SAFETY: the handle is ours.
            let _at_worst_leaked = unsafe { call!(api, cuGraphDestroy(self.raw)) };
        }
    }
}

/// A launchable graph. Patches hold for the launches after them, never for those submitted before.
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
    pointers: Vec<*mut c_void>,
    /// Kept because patches name the nodes of the graph.
    graph: GraphBuilder,
}

// SAFETY: as for the builder.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// True without nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.graph.is_empty()
    }

    /// Gives a kernel new arguments; returns whether they differed. About 0.3 µs where they do.
    ///
    /// # Errors
    /// The node is no kernel, or the driver fails.
    ///
    /// # Safety
    /// As for `GraphBuilder::add_kernel`.
    pub unsafe fn set_kernel_args(&mut self, node: NodeId, args: &ArgBlock) -> Result<bool> {
        let Some(Node { work: Work::Kernel { args: held, .. }, .. }) = self.graph.nodes.get_mut(node.index()) else {
            return Err(not_of_kind(node, "kernel"));
        };
        if held == args {
            return Ok(false);
        }
        held.clone_from(args);
        self.send_kernel(node)?;
        Ok(true)
    }

    /// Gives a kernel new arguments and a new shape; returns whether anything differed.
    ///
    /// # Errors
    /// The node is no kernel, the shape is beyond the device's limits, or the driver fails.
    ///
    /// # Safety
    /// As for `GraphBuilder::add_kernel`.
    pub unsafe fn set_kernel(&mut self, node: NodeId, new_shape: LaunchShape, new_args: &ArgBlock) -> Result<bool> {
        let Some(Node { work: Work::Kernel { shape, args, .. }, .. }) = self.graph.nodes.get_mut(node.index()) else {
            return Err(not_of_kind(node, "kernel"));
        };
        if *shape == new_shape && args == new_args {
            return Ok(false);
        }
        *shape = new_shape;
        args.clone_from(new_args);
        self.send_kernel(node)?;
        Ok(true)
    }

    /// Gives a memset new parameters; returns whether they differed.
    ///
    /// # Errors
    /// The node is no memset, or the driver fails.
    ///
    /// # Safety
    /// As for `GraphBuilder::add_memset`.
    pub unsafe fn set_memset(&mut self, node: NodeId, to: DevPtr, value: u32, words: usize) -> Result<bool> {
        let context = self.graph.context;
        let Some(Node { raw, work: Work::Memset { to: t, value: v, words: w } }) =
            self.graph.nodes.get_mut(node.index())
        else {
            return Err(not_of_kind(node, "memset"));
        };
        if (*t, *v, *w) == (to, value, words) {
            return Ok(false);
        }
        let api = enter(context)?;
        let params = memset_params(to, value, words);
        // SAFETY: the caller vouches for the range; the driver copies the parameters.
        unsafe { call!(api, cuGraphExecMemsetNodeSetParams(self.raw, *raw, &raw const params, context.raw())) }?;
        (*t, *v, *w) = (to, value, words);
        Ok(true)
    }

    /// Gives a copy new parameters; returns whether they differed.
    ///
    /// # Errors
    /// The node is no copy, or the driver fails.
    ///
    /// # Safety
    /// As for `GraphBuilder::add_copy`.
    pub unsafe fn set_copy(&mut self, node: NodeId, to: DevPtr, from: DevPtr, bytes: usize) -> Result<bool> {
        let context = self.graph.context;
        let Some(Node { raw, work: Work::Copy { to: t, from: f, bytes: b } }) = self.graph.nodes.get_mut(node.index())
        else {
            return Err(not_of_kind(node, "copy"));
        };
        if (*t, *f, *b) == (to, from, bytes) {
            return Ok(false);
        }
        let api = enter(context)?;
        let params = copy_params(to, from, bytes);
        // SAFETY: the caller vouches for the ranges; the driver copies the parameters.
        unsafe { call!(api, cuGraphExecMemcpyNodeSetParams(self.raw, *raw, &raw const params, context.raw())) }?;
        (*t, *f, *b) = (to, from, bytes);
        Ok(true)
    }

    /// Captures a node's work anew, for other addresses; it must consist of the same calls. About 10 µs.
    ///
    /// # Errors
    /// The node is none of `add_captured`, the work has another form, or as for `add_captured`.
    ///
    /// # Safety
    /// As for `GraphBuilder::add_captured`.
    pub unsafe fn set_captured(&mut self, node: NodeId, submit: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
        let Some(&Node { raw, work: Work::Captured }) = self.graph.nodes.get(node.index()) else {
            return Err(not_of_kind(node, "captured work"));
        };
        let api = enter(self.graph.context)?;
        let child = self.graph.capture(submit)?;
        // SAFETY: the driver copies the captured graph; the caller vouches for what it does.
        unsafe { call!(api, cuGraphExecChildGraphNodeSetParams(self.raw, raw, child.raw)) }
    }

    /// Moves the graph to the device ahead of its first launch.
    ///
    /// # Errors
    /// The driver fails.
    pub fn upload(&self, stream: &Stream) -> Result<()> {
        let api = enter(self.graph.context)?;
        // SAFETY: both handles are valid while their owners live.
        unsafe { call!(api, cuGraphUpload(self.raw, stream.raw())) }
    }

    /// Submits the graph. The stream's context must be current.
    ///
    /// # Errors
    /// The driver fails, or earlier work did.
    #[inline]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        let api = api()?;
        // SAFETY: both handles are valid while their owners live; the nodes were vouched for when added or patched.
        unsafe { call!(api, cuGraphLaunch(self.raw, stream.raw())) }
    }

    /// Sends the node's shape and arguments as they stand here.
    fn send_kernel(&mut self, node: NodeId) -> Result<()> {
        let api = enter(self.graph.context)?;
        let Node { raw, work } = &mut self.graph.nodes[node.index()];
        let Work::Kernel { function, shape, args } = work else { return Err(not_of_kind(node, "kernel")) };
        args.pointers(&mut self.pointers);
        let params = kernel_params(*function, shape, &mut self.pointers);
        // SAFETY: the driver copies the argument values before it returns; the callers vouch for them.
        let sent = unsafe { call!(api, cuGraphExecKernelNodeSetParams_v2(self.raw, *raw, &raw const params)) };
        if sent.is_err() {
            // Restores the invariant: nothing later may look equal to what the driver refused.
            args.clear();
            *shape = LaunchShape::linear(0, 0);
        }
        sent
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.graph.context) {
            // SAFETY: the handle is ours; the driver keeps what a launch under way needs.
            let _at_worst_leaked = unsafe { call!(api, cuGraphExecDestroy(self.raw)) };
        }
    }
}

fn not_of_kind(node: NodeId, kind: &str) -> CudaError {
    CudaError::Unsupported(format!("graph node {} is no {kind}", node.0))
}

fn kernel_params(function: Function, shape: &LaunchShape, args: &mut [*mut c_void]) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function.raw(),
        gridDimX: shape.grid[0],
        gridDimY: shape.grid[1],
        gridDimZ: shape.grid[2],
        blockDimX: shape.block[0],
        blockDimY: shape.block[1],
        blockDimZ: shape.block[2],
        sharedMemBytes: shape.shared,
        kernelParams: args.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}

fn memset_params(to: DevPtr, value: u32, words: usize) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS { dst: to.0, pitch: 0, value, elementSize: 4, width: words, height: 1 }
}

fn copy_params(to: DevPtr, from: DevPtr, bytes: usize) -> CUDA_MEMCPY3D {
    // SAFETY: a plain C struct of integers and pointers, for which zero is a value.
    let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    params.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    params.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    params.srcDevice = from.0;
    params.dstDevice = to.0;
    params.WidthInBytes = bytes;
    params.Height = 1;
    params.Depth = 1;
    params
}
