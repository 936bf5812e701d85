//! Running a compiled program: the first times on the stream, then as one graph whose nodes are patched where an
//! address or a scalar differs from last time.

use std::ffi::c_void;
use std::sync::Arc;

use cuprous_core::{DType, Scalar};
use cuprous_plan::{Executable, Factor};

use crate::codegen::Arg;
use crate::cublaslt::{Matmul, Operands};
use crate::device::{Counters, Gpu};
use crate::driver::{ArgBlock, DevPtr, Function, LaunchShape};
use crate::error::{Result, translate};
use crate::graph::{GraphBuilder, GraphExec, NodeId};

/// A program becomes a graph when it runs for the third time and has at least this many launches.
const GRAPH_AT: u32 = 3;
const GRAPH_LAUNCHES: usize = 2;
/// Runs in which a product's addresses or factors differed, after which its program goes back to the stream.
const MAX_RECAPTURES: u32 = 8;

/// One kernel launch.
pub(crate) struct Launch {
    function: Function,
    shape: LaunchShape,
    args: Vec<Arg>,
    /// Where the kernel's own state lies.
    state: DevPtr,
    block: ArgBlock,
}

/// A matrix product through cuBLASLt; operands as (buffer, byte offset). Its factors are known when it runs.
#[derive(Clone)]
pub(crate) struct Product {
    pub(crate) problem: Matmul,
    pub(crate) dtype: DType,
    pub(crate) a: (u32, u64),
    pub(crate) b: (u32, u64),
    pub(crate) c: u32,
    pub(crate) scale: Factor,
    pub(crate) addend: Option<((u32, u64), Factor)>,
    pub(crate) bias: Option<(u32, u64)>,
}

/// One unit of a program, in order.
pub(crate) enum Task {
    Kernel(Launch),
    Product(Product),
}

impl Launch {
    pub(crate) fn new(function: Function, shape: LaunchShape, args: &[Arg], state: DevPtr) -> Launch {
        let mut block = ArgBlock::new();
        for arg in args {
            block.push_bytes(&[0; 16][..arg.size()]);
        }
        Launch { function, shape, args: args.to_vec(), state, block }
    }

    /// Fills the argument block for this run.
    fn bind(&mut self, buffers: &[u64], scalars: &[Scalar], scratch: DevPtr) {
        for (k, arg) in self.args.iter().enumerate() {
            match *arg {
                Arg::Buffer(b) => self.block.set_bytes(k, &buffers[b as usize].to_ne_bytes()),
                Arg::Scalar { slot, dtype } => {
                    self.block.set_bytes(k, &scalars[slot as usize].0[..dtype.size()]);
                }
                Arg::I32(n) => self.block.set_bytes(k, &n.to_ne_bytes()),
                Arg::I64(n) => self.block.set_bytes(k, &n.to_ne_bytes()),
                Arg::Scratch(at) => self.block.set_bytes(k, &(scratch.0 + at as u64).to_ne_bytes()),
                Arg::State(at) => self.block.set_bytes(k, &(self.state.0 + at as u64).to_ne_bytes()),
            }
        }
    }
}

impl Product {
    fn operands(&self, buffers: &[u64]) -> Operands {
        let at = |(buffer, offset): (u32, u64)| DevPtr(buffers[buffer as usize] + offset);
        let c = at((self.c, 0));
        let addend = self.addend.map_or(c, |(array, _)| at(array));
        Operands { a: at(self.a), b: at(self.b), c, addend, bias: self.bias.map_or(DevPtr::NULL, at) }
    }

    /// The problem with the factors of this run.
    fn problem(&self, scalars: &[Scalar]) -> Matmul {
        let alpha = self.scale.value(scalars, self.dtype);
        let beta = self.addend.map_or([0.0; 2], |(_, factor)| factor.value(scalars, self.dtype));
        Matmul { alpha, beta, ..self.problem }
    }

    fn submit(&self, gpu: &Gpu, buffers: &[u64], scalars: &[Scalar], stream: &crate::driver::Stream) -> Result<()> {
        let (problem, operands) = (self.problem(scalars), self.operands(buffers));
        gpu.with_blas(|blas, workspace| {
            // SAFETY: the plan's buffers are live for the run and have the shapes of the problem.
            unsafe { blas.matmul(&problem, &operands, workspace, stream) }
        })
    }
}

/// A program as a graph, with what its nodes were last given.
struct Replayed {
    exec: GraphExec,
    nodes: Vec<NodeId>,
    buffers: Vec<u64>,
    scalars: Vec<Scalar>,
    scratch: DevPtr,
    recaptures: u32,
}

/// A compiled program.
pub(crate) struct Loaded {
    gpu: Arc<Gpu>,
    tasks: Vec<Task>,
    scratch_bytes: usize,
    state: Vec<DevPtr>,
    runs: u32,
    graph: Option<Replayed>,
    /// Graphing this program did not pay.
    on_stream: bool,
    pointers: Vec<*mut c_void>,
    weight: usize,
}

// SAFETY: `pointers` is scratch of one call of `run`, which has `&mut self`.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing is shared by reference.
unsafe impl Sync for Loaded {}

impl Loaded {
    pub(crate) fn new(
        gpu: Arc<Gpu>,
        tasks: Vec<Task>,
        scratch_bytes: usize,
        state: Vec<DevPtr>,
        steps: usize,
    ) -> Loaded {
        Loaded {
            gpu,
            tasks,
            scratch_bytes,
            state,
            runs: 0,
            graph: None,
            on_stream: false,
            pointers: Vec::new(),
            weight: 4096 + steps * 10_000,
        }
    }

    fn submit(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()> {
        self.gpu.context.make_current()?;
        self.runs = self.runs.saturating_add(1);
        let scratch = self.gpu.alloc(self.scratch_bytes)?;
        let graphed = replay && !self.on_stream && self.runs >= GRAPH_AT && self.tasks.len() >= GRAPH_LAUNCHES;
        let result =
            if graphed { self.replay(buffers, scalars, scratch) } else { self.stream(buffers, scalars, scratch) };
        // Later work of the same stream may reuse the scratch at once.
        self.gpu.free(scratch);
        result
    }

    fn stream(&mut self, buffers: &[u64], scalars: &[Scalar], scratch: DevPtr) -> Result<()> {
        let gpu = &self.gpu;
        Counters::add(&gpu.counters.launches, self.tasks.len() as u64);
        for task in &mut self.tasks {
            match task {
                Task::Product(product) => product.submit(gpu, buffers, scalars, &gpu.stream)?,
                Task::Kernel(launch) => {
                    launch.bind(buffers, scalars, scratch);
                    launch.block.pointers(&mut self.pointers);
                    // SAFETY: the code was generated together with this argument list; the buffers are live.
                    unsafe { launch.function.launch(&launch.shape, &gpu.stream, &mut self.pointers)? };
                }
            }
        }
        Ok(())
    }

    fn replay(&mut self, buffers: &[u64], scalars: &[Scalar], scratch: DevPtr) -> Result<()> {
        match &mut self.graph {
            None => self.build(buffers, scalars, scratch)?,
            Some(graph) => {
                let moved = graph.buffers != buffers || graph.scratch != scratch;
                if moved || graph.scalars != scalars {
                    let mut patched = 0;
                    for (task, &node) in self.tasks.iter_mut().zip(&graph.nodes) {
                        match task {
                            Task::Kernel(launch) => {
                                launch.bind(buffers, scalars, scratch);
                                // SAFETY: as in `stream`.
                                patched += u64::from(unsafe { graph.exec.set_kernel_args(node, &launch.block)? });
                            }
                            Task::Product(product) => {
                                let same = product.operands(buffers) == product.operands(&graph.buffers)
                                    && product.problem(scalars) == product.problem(&graph.scalars);
                                if !same {
                                    graph.recaptures += 1;
                                    patched += 1;
                                    let gpu = &self.gpu;
                                    // SAFETY: as in `stream`.
                                    unsafe {
                                        graph.exec.set_captured(node, |s| product.submit(gpu, buffers, scalars, s))?;
                                    }
                                }
                            }
                        }
                    }
                    Counters::add(&self.gpu.counters.graph_patches, patched);
                    graph.buffers.clear();
                    graph.buffers.extend_from_slice(buffers);
                    graph.scalars.clear();
                    graph.scalars.extend_from_slice(scalars);
                    graph.scratch = scratch;
                }
            }
        }
        let graph = self.graph.as_ref().expect("built or found");
        graph.exec.launch(&self.gpu.stream)?;
        Counters::add(&self.gpu.counters.graph_launches, 1);
        if graph.recaptures > MAX_RECAPTURES {
            self.graph = None;
            self.on_stream = true;
        }
        Ok(())
    }

    fn build(&mut self, buffers: &[u64], scalars: &[Scalar], scratch: DevPtr) -> Result<()> {
        let gpu = self.gpu.clone();
        let mut builder = GraphBuilder::new(gpu.context)?;
        let mut nodes: Vec<NodeId> = Vec::with_capacity(self.tasks.len());
        for task in &mut self.tasks {
            let after: Vec<NodeId> = nodes.last().copied().into_iter().collect();
            // SAFETY: as in `stream`; the graph is patched before each launch, so its addresses are live.
            let node = unsafe {
                match task {
                    Task::Kernel(launch) => {
                        launch.bind(buffers, scalars, scratch);
                        builder.add_kernel(launch.function, launch.shape, launch.block.clone(), &after)?
                    }
                    Task::Product(product) => {
                        builder.add_captured(&after, |s| product.submit(&gpu, buffers, scalars, s))?
                    }
                }
            };
            nodes.push(node);
        }
        let exec = builder.instantiate()?;
        Counters::add(&gpu.counters.graphs_built, 1);
        self.graph = Some(Replayed {
            exec,
            nodes,
            buffers: buffers.to_vec(),
            scalars: scalars.to_vec(),
            scratch,
            recaptures: 0,
        });
        Ok(())
    }
}

impl Executable for Loaded {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> cuprous_core::Result<()> {
        self.submit(buffers, scalars, replay).map_err(translate)
    }

    fn weight(&self) -> usize {
        self.weight
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        for &address in &self.state {
            self.gpu.free(address);
        }
    }
}
