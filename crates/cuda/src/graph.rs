//! CUDA graphs built node by node. A program is submitted by one launch; nodes whose arguments changed are patched.
//!
//! Invariant: a node's `ArgBlock` here always equals what the driver holds for it, so an equal block is not sent again.

use std::ffi::c_void;

use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUgraph, CUgraphExec, CUgraphNode, CUmemorytype, CUstreamCaptureMode,
    DriverApi,
};

use crate::driver::{ArgBlock, Context, DevPtr, Event, Function, LaunchShape, Stream};
use crate::driver::{api, call, enter, for_drop};
use crate::error::{CudaError, Result};

/// A node of one graph, numbered in the order in which nodes were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// Returns the node's number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node's work, as the driver holds it.
#[derive(Debug)]
enum NodeKind {
    Kernel { function: Function, shape: LaunchShape, args: ArgBlock },
    Copy { to: DevPtr, from: DevPtr, bytes: usize },
    Captured,
    Record,
}

#[derive(Debug)]
struct Node {
    raw: CUgraphNode,
    kind: NodeKind,
}

/// Arguments that the driver's functions for adding nodes have in common.
struct NewNode {
    /// The driver writes the new node's handle here.
    handle: *mut CUgraphNode,
    graph: CUgraph,
    deps: *const CUgraphNode,
    dep_count: usize,
}

/// A graph under construction.
#[derive(Debug)]
pub struct GraphBuilder {
    raw: CUgraph,
    nodes: Vec<Node>,
    context: &'static Context,
    /// Scratch, reused for each node: pointers to its arguments, and the nodes that it waits for.
    pointers: Vec<*mut c_void>,
    deps: Vec<CUgraphNode>,
    /// A stream for captures only, created on first use.
    capture: Option<Stream>,
}

// SAFETY: the driver requires only that two threads do not use a graph at once, which `&mut self` ensures. The pointers
// in the two scratch vectors are not used between calls.
unsafe impl Send for GraphBuilder {}

impl GraphBuilder {
    /// Creates a graph without nodes.
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

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if the graph has no nodes.
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
    /// Whenever the graph is launched, the arguments must match the kernel's signature, and the memory that they point
    /// to and the kernel's module must be alive.
    pub unsafe fn add_kernel(
        &mut self,
        function: Function,
        shape: LaunchShape,
        mut args: ArgBlock,
        deps: &[NodeId],
    ) -> Result<NodeId> {
        args.pointers(&mut self.pointers);
        let params = kernel_params(function, &shape, &mut self.pointers);
        self.add(deps, NodeKind::Kernel { function, shape, args }, |api, new| {
            // SAFETY: the driver copies the argument values before it returns; the caller vouches for them.
            unsafe {
                call!(api, cuGraphAddKernelNode_v2(new.handle, new.graph, new.deps, new.dep_count, &raw const params))
            }
        })
    }

    /// Adds a copy within the device after `deps`. The ranges must not overlap.
    ///
    /// # Errors
    /// The driver fails.
    ///
    /// # Safety
    /// Both ranges must be live allocations at each launch.
    pub unsafe fn add_copy(&mut self, to: DevPtr, from: DevPtr, bytes: usize, deps: &[NodeId]) -> Result<NodeId> {
        let (params, context) = (copy_params(to, from, bytes), self.context.raw());
        self.add(deps, NodeKind::Copy { to, from, bytes }, |api, new| {
            let params = &raw const params;
            // SAFETY: the caller vouches for the ranges; the driver copies the parameters.
            unsafe { call!(api, cuGraphAddMemcpyNode(new.handle, new.graph, new.deps, new.dep_count, params, context)) }
        })
    }

    /// Captures what `submit` submits to the stream that it is given, and adds it as one node: calls of NVIDIA's
    /// libraries.
    ///
    /// # Errors
    /// `submit` fails or submits work that cannot be captured, or the driver fails.
    ///
    /// # Safety
    /// The submitted work must be valid at each launch.
    pub unsafe fn add_captured(
        &mut self,
        deps: &[NodeId],
        submit: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<NodeId> {
        let child = self.capture(submit)?;
        self.add(deps, NodeKind::Captured, |api, new| {
            // SAFETY: the driver copies the captured graph; the caller vouches for its work.
            unsafe { call!(api, cuGraphAddChildGraphNode(new.handle, new.graph, new.deps, new.dep_count, child.raw)) }
        })
    }

    /// Adds the recording of an event after `deps`. The event must live as long as the graph.
    ///
    /// # Errors
    /// The driver fails, or is too old.
    pub fn add_record(&mut self, event: &Event, deps: &[NodeId]) -> Result<NodeId> {
        self.add(deps, NodeKind::Record, |api, new| {
            // SAFETY: the event's handle is valid while it lives, and whoever adds it keeps it as long as the graph.
            unsafe {
                call!(api, cuGraphAddEventRecordNode(new.handle, new.graph, new.deps, new.dep_count, event.raw()))
            }
        })
    }

    /// Adds a node that runs after `deps`. `create` calls the driver's function for nodes of that kind, which writes
    /// `NewNode::handle`.
    fn add(
        &mut self,
        deps: &[NodeId],
        kind: NodeKind,
        create: impl FnOnce(&DriverApi, NewNode) -> Result<()>,
    ) -> Result<NodeId> {
        let api = enter(self.context)?;
        self.deps.clear();
        for dep in deps {
            let node = self.nodes.get(dep.index());
            let node = node.ok_or_else(|| CudaError::Unsupported(format!("graph node {} does not exist", dep.0)))?;
            self.deps.push(node.raw);
        }
        let mut raw: CUgraphNode = std::ptr::null_mut();
        let (deps, dep_count) = (self.deps.as_ptr(), self.deps.len());
        create(api, NewNode { handle: &raw mut raw, graph: self.raw, deps, dep_count })?;
        self.nodes.push(Node { raw, kind });
        Ok(NodeId(self.nodes.len() as u32 - 1))
    }

    /// Captures what `submit` submits as a graph of its own.
    fn capture(&mut self, submit: impl FnOnce(&Stream) -> Result<()>) -> Result<CapturedGraph> {
        let api = enter(self.context)?;
        let stream = match &self.capture {
            Some(stream) => stream,
            None => self.capture.insert(Stream::new(self.context)?),
        };
        // Relaxed: a library may load a kernel on its first use, which the stricter modes forbid.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream is owned by the builder and idle.
        unsafe { call!(api, cuStreamBeginCapture_v2(stream.raw(), mode)) }?;
        let submitted = submit(stream);
        let mut raw: CUgraph = std::ptr::null_mut();
        // SAFETY: the capture was begun above. It must be ended even if `submit` failed.
        let ended = unsafe { call!(api, cuStreamEndCapture(stream.raw(), &raw mut raw)) };
        let captured = CapturedGraph { raw, context: self.context };
        submitted?;
        ended?;
        Ok(captured)
    }

    /// Makes the graph launchable. Costs about 4 µs per node.
    ///
    /// # Errors
    /// The driver fails.
    pub fn instantiate(mut self) -> Result<GraphExec> {
        let api = enter(self.context)?;
        let mut raw: CUgraphExec = std::ptr::null_mut();
        // SAFETY: the call writes one handle; the graph is owned by the builder.
        unsafe { call!(api, cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0)) }?;
        let pointers = std::mem::take(&mut self.pointers);
        Ok(GraphExec { raw, pointers, graph: self })
    }
}

/// The result of a capture, kept until it was copied into a graph.
struct CapturedGraph {
    raw: CUgraph,
    context: &'static Context,
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        if let (false, Some(api)) = (self.raw.is_null(), for_drop(self.context)) {
            // SAFETY: the handle is owned by this value.
            let _at_worst_leaked = unsafe { call!(api, cuGraphDestroy(self.raw)) };
        }
    }
}

impl Drop for GraphBuilder {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.context) {
            // SAFETY: the handle is owned by this value.
            let _at_worst_leaked = unsafe { call!(api, cuGraphDestroy(self.raw)) };
        }
    }
}

/// A launchable graph. A patch applies to later launches, never to those submitted before it.
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
    pointers: Vec<*mut c_void>,
    /// Kept because patches refer to the nodes of the graph.
    graph: GraphBuilder,
}

// SAFETY: the driver requires only that two threads do not use a graph at once, which `&mut self` ensures.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// Returns true if the graph has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.graph.is_empty()
    }

    /// Gives a kernel new arguments. Returns true if they differed, which costs about 0.3 µs.
    ///
    /// # Errors
    /// The node is not a kernel, or the driver fails.
    ///
    /// # Safety
    /// The requirements of `GraphBuilder::add_kernel`.
    pub unsafe fn set_kernel_args(&mut self, node: NodeId, args: &ArgBlock) -> Result<bool> {
        let Some(Node { kind: NodeKind::Kernel { args: current, .. }, .. }) = self.graph.nodes.get_mut(node.index())
        else {
            return Err(wrong_kind(node, "kernel"));
        };
        if current == args {
            return Ok(false);
        }
        current.clone_from(args);
        self.send_kernel(node)?;
        Ok(true)
    }

    /// Gives a copy new parameters. Returns true if they differed.
    ///
    /// # Errors
    /// The node is not a copy, or the driver fails.
    ///
    /// # Safety
    /// The requirements of `GraphBuilder::add_copy`.
    pub unsafe fn set_copy(&mut self, node: NodeId, to: DevPtr, from: DevPtr, bytes: usize) -> Result<bool> {
        let context = self.graph.context;
        let Some(Node { raw, kind: NodeKind::Copy { to: t, from: f, bytes: b } }) =
            self.graph.nodes.get_mut(node.index())
        else {
            return Err(wrong_kind(node, "copy"));
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

    /// Captures a node's work again, for other addresses. It must consist of the same calls. Costs about 10 µs.
    ///
    /// # Errors
    /// The node was not added by `add_captured`, the work has another form, or the errors of `add_captured`.
    ///
    /// # Safety
    /// The requirements of `GraphBuilder::add_captured`.
    pub unsafe fn set_captured(&mut self, node: NodeId, submit: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
        let Some(&Node { raw, kind: NodeKind::Captured }) = self.graph.nodes.get(node.index()) else {
            return Err(wrong_kind(node, "captured"));
        };
        let api = enter(self.graph.context)?;
        let child = self.graph.capture(submit)?;
        // SAFETY: the driver copies the captured graph; the caller vouches for its work.
        unsafe { call!(api, cuGraphExecChildGraphNodeSetParams(self.raw, raw, child.raw)) }
    }

    /// Moves the graph to the device before its first launch.
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
        // SAFETY: both handles are valid while their owners live; the callers that added or patched nodes vouch for
        // them.
        unsafe { call!(api, cuGraphLaunch(self.raw, stream.raw())) }
    }

    /// Sends the node's shape and arguments to the driver.
    fn send_kernel(&mut self, node: NodeId) -> Result<()> {
        let api = enter(self.graph.context)?;
        let Node { raw, kind } = &mut self.graph.nodes[node.index()];
        let NodeKind::Kernel { function, shape, args } = kind else { return Err(wrong_kind(node, "kernel")) };
        args.pointers(&mut self.pointers);
        let params = kernel_params(*function, shape, &mut self.pointers);
        // SAFETY: the driver copies the argument values before it returns; the callers vouch for them.
        let sent = unsafe { call!(api, cuGraphExecKernelNodeSetParams_v2(self.raw, *raw, &raw const params)) };
        if sent.is_err() {
            // Restores the invariant: no later arguments may compare equal to those that the driver refused.
            args.clear();
            *shape = LaunchShape::linear(0, 0);
        }
        sent
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        if let Some(api) = for_drop(self.graph.context) {
            // SAFETY: the handle is owned by this value; the driver keeps what a running launch needs.
            let _at_worst_leaked = unsafe { call!(api, cuGraphExecDestroy(self.raw)) };
        }
    }
}

fn wrong_kind(node: NodeId, kind: &str) -> CudaError {
    CudaError::Unsupported(format!("graph node {} is not a {kind} node", node.0))
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
