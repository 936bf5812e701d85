//! Graphs: nodes with what each waits for. A launch runs them in an order that the seed chooses among those that the
//! dependencies allow, so that a missing dependency gives wrong results.

use std::ffi::c_uint;
use std::sync::Arc;

use cuprous_cuda_sys::driver::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUevent, CUgraph, CUgraphExec,
    CUgraphNode, CUstream,
};

use super::module::Launch;
use super::work::{Plan, Work};
use super::{INVALID_HANDLE, INVALID_VALUE, Outcome, State, UPDATE_FAILED, functions, put};
use crate::settings::settings;

#[derive(Default)]
pub(crate) struct Graph {
    plan: Plan,
    /// Number of dependencies.
    edges: u64,
}

/// A launchable graph. A launch keeps the nodes as they were.
pub(crate) struct Exec {
    plan: Arc<Plan>,
}

impl Graph {
    /// Returns a graph whose nodes run one after the other, as a stream's work does.
    pub(crate) fn chain(nodes: Vec<Work>) -> Graph {
        let depend = |(k, work)| (work, if k == 0 { vec![] } else { vec![k - 1] });
        Graph { plan: Plan(nodes.into_iter().enumerate().map(depend).collect()), edges: 0 }
    }
}

/// Handles of nodes hold their position, so that those of a graph are valid for what is instantiated of it.
const NODE: usize = 0x1000;

fn position(node: CUgraphNode) -> Outcome<usize> {
    (node as usize).checked_sub(NODE).ok_or(INVALID_HANDLE)
}

/// Runs the nodes of a graph.
pub(crate) fn run(state: &mut State, plan: &Plan) -> Outcome {
    let nodes = &plan.0;
    let mut waits: Vec<usize> = nodes.iter().map(|(_, depend)| depend.len()).collect();
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|&k| waits[k] == 0).collect();
    while !ready.is_empty() {
        let pick = state.random(ready.len());
        let next = ready.swap_remove(pick);
        state.run(&nodes[next].0)?;
        for (k, (_, depend)) in nodes.iter().enumerate() {
            let count = depend.iter().filter(|&&d| d == next).count();
            if count > 0 {
                waits[k] -= count;
                if waits[k] == 0 {
                    ready.push(k);
                }
            }
        }
    }
    Ok(())
}

fn same_kind(one: &Work, other: &Work) -> bool {
    match (one, other) {
        (Work::Kernel(a), Work::Kernel(b)) => a.same_kernel(b),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

fn kernel(state: &State, params: *const CUDA_KERNEL_NODE_PARAMS) -> Outcome<Work> {
    // SAFETY: the caller passes the address of the parameters.
    let p = unsafe { params.as_ref() }.ok_or(INVALID_VALUE)?;
    let shape = [[p.gridDimX, p.gridDimY, p.gridDimZ], [p.blockDimX, p.blockDimY, p.blockDimZ]];
    Launch::new(state, p.func, shape, p.sharedMemBytes, p.kernelParams, false).map(Work::Kernel)
}

fn copy(params: *const CUDA_MEMCPY3D) -> Outcome<Work> {
    // SAFETY: as above.
    let p = unsafe { params.as_ref() }.ok_or(INVALID_VALUE)?;
    if (p.Height, p.Depth) != (1, 1) {
        return Err(INVALID_VALUE);
    }
    let from = if p.srcDevice != 0 { p.srcDevice } else { p.srcHost as u64 };
    let to = if p.dstDevice != 0 { p.dstDevice } else { p.dstHost as u64 };
    Ok(Work::Copy { to, from, bytes: p.WidthInBytes })
}

fn fill(params: *const CUDA_MEMSET_NODE_PARAMS) -> Outcome<Work> {
    // SAFETY: as above.
    let p = unsafe { params.as_ref() }.ok_or(INVALID_VALUE)?;
    if p.height != 1 || !matches!(p.elementSize, 1 | 2 | 4) {
        return Err(INVALID_VALUE);
    }
    let pattern = p.value.to_ne_bytes()[..p.elementSize as usize].to_vec();
    Ok(Work::Fill { to: p.dst, pattern, count: p.width })
}

impl State {
    fn add(
        &mut self,
        to: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        work: Work,
    ) -> Outcome {
        let graph = self.graphs.get_mut(&(graph as usize)).ok_or(INVALID_HANDLE)?;
        let mut depend = Vec::with_capacity(count);
        for k in 0..count {
            // SAFETY: the caller passes as many handles.
            let node = position(unsafe { *after.add(k) })?;
            if node >= graph.plan.0.len() || depend.contains(&node) {
                return Err(INVALID_VALUE);
            }
            if settings().drop == Some(graph.edges) {
                eprintln!("sim: the graph loses that {} comes after {}", work.name(), graph.plan.0[node].0.name());
            } else {
                depend.push(node);
            }
            graph.edges += 1;
        }
        graph.plan.0.push((work, depend));
        put(to, (NODE + graph.plan.0.len() - 1) as CUgraphNode)
    }

    /// Replaces the work of a node by other work of the same kind.
    fn patch(
        &mut self,
        exec: CUgraphExec,
        node: CUgraphNode,
        work: Work,
        valid: impl Fn(&Work, &Work) -> bool,
    ) -> Outcome {
        let exec = self.execs.get_mut(&(exec as usize)).ok_or(INVALID_HANDLE)?;
        let slot = Arc::make_mut(&mut exec.plan).0.get_mut(position(node)?).ok_or(INVALID_HANDLE)?;
        if !valid(&slot.0, &work) {
            return Err(UPDATE_FAILED);
        }
        slot.0 = work;
        Ok(())
    }
}

functions! {
    cuGraphCreate(state, to: *mut CUgraph, _flags: c_uint) {
        let handle = state.handle();
        state.graphs.insert(handle, Graph::default());
        put(to, handle as CUgraph)
    }

    cuGraphDestroy(state, graph: CUgraph) {
        state.graphs.remove(&(graph as usize)).map(|_| ()).ok_or(INVALID_HANDLE)
    }

    cuGraphAddKernelNode_v2(
        state, to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize,
        params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        let work = kernel(state, params)?;
        state.add(to, graph, after, count, work)
    }

    cuGraphAddMemcpyNode(
        state, to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, params: *const CUDA_MEMCPY3D,
        _context: CUcontext,
    ) {
        let work = copy(params)?;
        state.add(to, graph, after, count, work)
    }

    cuGraphAddMemsetNode(
        state, to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize,
        params: *const CUDA_MEMSET_NODE_PARAMS, _context: CUcontext,
    ) {
        let work = fill(params)?;
        state.add(to, graph, after, count, work)
    }

    cuGraphAddChildGraphNode(
        state, to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, child: CUgraph,
    ) {
        let child = state.graphs.get(&(child as usize)).ok_or(INVALID_HANDLE)?.plan.clone();
        state.add(to, graph, after, count, Work::Graph(Arc::new(child)))
    }

    cuGraphAddEventRecordNode(
        state, to: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, event: CUevent,
    ) {
        state.add(to, graph, after, count, Work::RecordAtLaunch(event as usize))
    }

    cuGraphInstantiateWithFlags(state, to: *mut CUgraphExec, graph: CUgraph, _flags: u64) {
        let plan = Arc::new(state.graphs.get(&(graph as usize)).ok_or(INVALID_HANDLE)?.plan.clone());
        let handle = state.handle();
        state.execs.insert(handle, Exec { plan });
        put(to, handle as CUgraphExec)
    }

    cuGraphExecDestroy(state, exec: CUgraphExec) {
        state.execs.remove(&(exec as usize)).map(|_| ()).ok_or(INVALID_HANDLE)
    }

    cuGraphExecKernelNodeSetParams_v2(
        state, exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_KERNEL_NODE_PARAMS,
    ) {
        let work = kernel(state, params)?;
        state.patch(exec, node, work, |old, new| matches!((old, new), (Work::Kernel(_), Work::Kernel(_))))
    }

    cuGraphExecMemcpyNodeSetParams(
        state, exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_MEMCPY3D, _context: CUcontext,
    ) {
        state.patch(exec, node, copy(params)?, same_kind)
    }

    cuGraphExecMemsetNodeSetParams(
        state, exec: CUgraphExec, node: CUgraphNode, params: *const CUDA_MEMSET_NODE_PARAMS, _context: CUcontext,
    ) {
        state.patch(exec, node, fill(params)?, same_kind)
    }

    cuGraphExecChildGraphNodeSetParams(state, exec: CUgraphExec, node: CUgraphNode, child: CUgraph) {
        let child = state.graphs.get(&(child as usize)).ok_or(INVALID_HANDLE)?.plan.clone();
        // The graph must have the same form: as many nodes of the same kinds.
        let same_form = |old: &Work, new: &Work| match (old, new) {
            (Work::Graph(a), Work::Graph(b)) => {
                a.0.len() == b.0.len() && a.0.iter().zip(&b.0).all(|(x, y)| same_kind(&x.0, &y.0) && x.1 == y.1)
            }
            _ => false,
        };
        state.patch(exec, node, Work::Graph(Arc::new(child)), same_form)
    }

    cuGraphUpload(state, exec: CUgraphExec, _stream: CUstream) {
        state.execs.get(&(exec as usize)).map(|_| ()).ok_or(INVALID_HANDLE)
    }

    cuGraphLaunch(state, exec: CUgraphExec, stream: CUstream) {
        let stream = if stream as usize <= 2 { 0 } else { stream as usize };
        let mut plan = state.execs.get(&(exec as usize)).ok_or(INVALID_HANDLE)?.plan.clone();
        for k in 0..plan.0.len() {
            if let Work::RecordAtLaunch(event) = plan.0[k].0 {
                Arc::make_mut(&mut plan).0[k].0 = state.recording(event, stream)?;
            }
        }
        state.submit(stream, Work::Graph(plan))
    }
}
