//! Runs compiled programs: at first on the stream, then as one graph whose nodes are patched where an address or a
//! scalar differs from the run before.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use cuprous_core::Scalar;
use cuprous_core::profile::{self, Kind, Origin};
use cuprous_plan::device::{Mark, Progress};
use cuprous_plan::{Executable, LaunchStep, Program};

use crate::codegen::Arg;
use crate::driver::{ArgBlock, DevPtr, Event, Function, LaunchShape, Stream, memcpy_dtod_async, memset_async};
use crate::error::{CudaError, Result, translate};
use crate::gpu::{Counters, EventMark, Gpu};
use crate::graph::{GraphBuilder, GraphExec, NodeId};
use crate::kernel::CudaKernel;
use crate::routines::{Planned, Routine, RoutineCopy, Run};
use crate::timing::{Marks, ProfileSampling, SpanStart, Timing};

/// A program becomes a graph at this run, if it has at least `Gpu::graph_from` tasks.
const GRAPH_FROM_RUN: u32 = 3;
/// After this many recaptures of routines within `RECAPTURE_WINDOW` runs a program runs on the stream for good. Without
/// the window, alternating between a few models would move a program off its graph sooner or later.
const MAX_RECAPTURES: u32 = 8;
const RECAPTURE_WINDOW: u32 = 64;

/// Where a launch's arguments come from.
enum Args {
    /// A generated kernel: single arguments, and the address of the kernel's own state.
    Generated(Vec<Arg>, DevPtr),
    /// A user's kernel: one block of arguments.
    User(LaunchStep),
}

/// One kernel launch.
struct Launch {
    function: Function,
    shape: LaunchShape,
    args: Args,
    block: ArgBlock,
    /// All blocks must run at the same time.
    cooperative: bool,
}

/// One unit of a program, in order.
enum Task {
    Kernel(Launch),
    /// A library routine, with the offset of its workspace in the scratch and its private memory.
    Routine {
        routine: Arc<dyn Routine>,
        workspace: i64,
        private: DevPtr,
    },
    /// A copy between one of the program's buffers and a routine's private memory, `into` the latter or out of it.
    Copy {
        copy: RoutineCopy,
        private: DevPtr,
        into: bool,
    },
}

/// Returns the target and the source of a copy.
fn copy_endpoints(copy: &RoutineCopy, private: DevPtr, into: bool, run: Run) -> (DevPtr, DevPtr) {
    let buffer = DevPtr(run.buffers[copy.buffer as usize] + copy.offset);
    let private = private.offset(copy.private as i64);
    if into { (private, buffer) } else { (buffer, private) }
}

impl Launch {
    fn new(function: Function, shape: LaunchShape, args: &[Arg], state: DevPtr) -> Launch {
        let mut block = ArgBlock::new();
        for arg in args {
            block.push_bytes(&[0; 16][..arg.size()]);
        }
        Launch { function, shape, args: Args::Generated(args.to_vec(), state), block, cooperative: false }
    }

    /// Fills the argument block for this run.
    fn bind(&mut self, run: Run) {
        let Run { buffers, scalars, scratch, .. } = run;
        let (args, state) = match &self.args {
            Args::Generated(args, state) => (args, *state),
            Args::User(launched) => {
                self.block.fill(launched.block(scalars));
                launched.addresses(buffers).for_each(|(at, address)| self.block.put_address(at, address));
                return;
            }
        };
        for (k, arg) in args.iter().enumerate() {
            match *arg {
                Arg::Buffer(b) => self.block.set_bytes(k, &buffers[b as usize].to_ne_bytes()),
                Arg::Scalar { slot, dtype } => {
                    self.block.set_bytes(k, &scalars[slot as usize].0[..dtype.size()]);
                }
                Arg::I32(n) => self.block.set_bytes(k, &n.to_ne_bytes()),
                Arg::I64(n) => self.block.set_bytes(k, &n.to_ne_bytes()),
                Arg::Scratch(at) => self.block.set_bytes(k, &(scratch.0 + at as u64).to_ne_bytes()),
                Arg::State(at) => self.block.set_bytes(k, &(state.0 + at as u64).to_ne_bytes()),
            }
        }
    }
}

/// May add a node to a graph: before its first task (`None`), or after the given task and its node.
type InsertNodes<'a> = dyn FnMut(&mut GraphBuilder, Option<(usize, NodeId)>) -> Result<Option<NodeId>> + 'a;

/// A graph that records an event after each step, with those events.
type ProfiledGraph = (GraphExec, SpanStart, Marks);

#[cold]
fn no_profile() -> CudaError {
    CudaError::Unsupported("no profile is being recorded".into())
}

/// A program as a graph, with the arguments that its nodes were last patched for.
struct CachedGraph {
    exec: GraphExec,
    nodes: Vec<NodeId>,
    buffers: Vec<u64>,
    scalars: Vec<Scalar>,
    scratch: DevPtr,
    recaptures: u32,
}

impl CachedGraph {
    /// The run that the nodes were last patched for.
    fn last(&self) -> Run<'_> {
        Run { buffers: &self.buffers, scalars: &self.scalars, scratch: self.scratch, private: DevPtr::NULL }
    }
}

/// A compiled program.
pub(crate) struct CudaProgram {
    gpu: Arc<Gpu>,
    tasks: Vec<Task>,
    /// The program's step of each task.
    task_steps: Vec<u32>,
    step_count: u32,
    sampling: ProfileSampling,
    scratch_bytes: usize,
    state: Vec<DevPtr>,
    runs: u32,
    graph: Option<CachedGraph>,
    /// The program is not run as a graph: it cannot be, or too many nodes had to be captured again.
    stream_only: bool,
    pointers: Vec<*mut c_void>,
    /// How many tasks the last run has submitted. A graph is submitted whole or not at all.
    submitted: usize,
    /// Marks of values that are complete before the program ends, each after its task: [`Program::early`].
    early: Vec<(usize, Arc<EventMark>)>,
}

// SAFETY: `pointers` is scratch memory of a call of `run`, which has `&mut self`.
unsafe impl Send for CudaProgram {}
// SAFETY: no method with `&self` uses `pointers`.
unsafe impl Sync for CudaProgram {}

impl CudaProgram {
    /// Creates a program without steps; `push` and `push_launch` add them.
    pub(crate) fn new(gpu: Arc<Gpu>) -> CudaProgram {
        CudaProgram {
            gpu,
            tasks: Vec::new(),
            task_steps: Vec::new(),
            step_count: 0,
            sampling: ProfileSampling::default(),
            scratch_bytes: 0,
            state: Vec::new(),
            runs: 0,
            graph: None,
            stream_only: false,
            pointers: Vec::new(),
            submitted: 0,
            early: Vec::new(),
        }
    }

    /// Adds a step with the functions of its kernels.
    ///
    /// # Errors
    /// There is no memory for the kernels' state, or a library is missing or refuses its problem.
    pub(crate) fn push(&mut self, step: Planned, functions: &[Function]) -> Result<()> {
        let Planned { kernels, routines } = step;
        let state = self.alloc_state(kernels.state_bytes)?;
        // Steps share the scratch. Within a step, each kernel and each routine has its own part of it.
        let mut scratch = kernels.scratch_bytes.next_multiple_of(256);
        let mut routines = routines.into_iter().peekable();
        for k in 0..=kernels.stages.len() {
            while let Some((_, routine)) = routines.next_if(|(before, _)| *before == k) {
                self.stream_only |= !routine.can_capture();
                let workspace = scratch as i64;
                scratch += routine.workspace(&self.gpu)?.next_multiple_of(256);
                let (bytes, copies) = routine.private_memory(&self.gpu)?;
                let private = self.alloc_state(bytes)?;
                let [before, after] = copies;
                self.tasks.extend(before.into_iter().map(|copy| Task::Copy { copy, private, into: true }));
                self.tasks.push(Task::Routine { routine, workspace, private });
                self.tasks.extend(after.into_iter().map(|copy| Task::Copy { copy, private, into: false }));
            }
            if let (Some(stage), Some(&function)) = (kernels.stages.get(k), functions.get(k)) {
                let shape = LaunchShape { grid: stage.grid, block: stage.block, shared: stage.shared };
                self.tasks.push(Task::Kernel(Launch::new(function, shape, &stage.args, state)));
            }
        }
        self.scratch_bytes = self.scratch_bytes.max(scratch);
        self.task_steps.resize(self.tasks.len(), self.step_count);
        self.step_count += 1;
        Ok(())
    }

    /// Adds a launch of a user's kernel.
    ///
    /// # Errors
    /// The kernel was compiled for another device, or the driver fails.
    pub(crate) fn push_launch(&mut self, launched: &LaunchStep) -> Result<()> {
        let any: &dyn Any = &*launched.launch.kernel;
        let kernel = any.downcast_ref::<CudaKernel>();
        let kernel =
            kernel.ok_or_else(|| CudaError::Unsupported("the kernel was compiled for another device".into()))?;
        if 16 * launched.constants.len() < kernel.bytes {
            return Err(CudaError::Unsupported("the launch has too few arguments".into()));
        }
        let launch = launched.launch.config;
        let function = kernel.function(launch.shared)?;
        let cooperative = kernel.cooperative || launch.cooperative;
        // A graph starts a node as soon as one block fits, but a cooperative launch needs room for all.
        self.stream_only |= cooperative;
        self.tasks.push(Task::Kernel(Launch {
            function,
            shape: LaunchShape { grid: launch.grid, block: launch.block, shared: launch.shared },
            block: ArgBlock::packed(&kernel.starts, 16 * launched.constants.len()),
            args: Args::User(launched.clone()),
            cooperative,
        }));
        self.task_steps.resize(self.tasks.len(), self.step_count);
        self.step_count += 1;
        Ok(())
    }

    /// Allocates zeroed memory that lives as long as the program.
    fn alloc_state(&mut self, bytes: usize) -> Result<DevPtr> {
        if bytes == 0 {
            return Ok(DevPtr::NULL);
        }
        let address = self.gpu.alloc(bytes)?;
        self.state.push(address);
        // SAFETY: the block was just allocated with that size.
        unsafe { memset_async(address, 0, bytes, &self.gpu.stream)? };
        Ok(address)
    }

    fn submit(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> Result<()> {
        self.gpu.context.make_current()?;
        self.runs = self.runs.saturating_add(1);
        self.submitted = 0;
        let scratch = self.gpu.alloc(self.scratch_bytes)?;
        let run = Run { buffers, scalars, scratch, private: DevPtr::NULL };
        let graphed = replay
            && !self.stream_only
            && self.runs >= GRAPH_FROM_RUN
            && self.tasks.len() >= self.gpu.graph_from.load(Relaxed);
        let result = match (profile::current(), graphed) {
            (None, true) => self.replay(run),
            (None, false) => self.stream_marked(run),
            (Some(origin), true) => self.replay_timed(run, origin).and_then(|()| self.mark_all()),
            (Some(origin), false) => self.stream_timed(run, origin).and_then(|()| self.mark_all()),
        };
        // Only later work of the same stream reuses the scratch.
        self.gpu.free(scratch);
        result
    }

    /// Submits the tasks to the stream one by one. `done` is called after each with its index.
    fn stream(&mut self, run: Run, done: &mut dyn FnMut(usize)) -> Result<()> {
        let gpu = &self.gpu;
        Counters::add(&gpu.counters.launches, self.tasks.len() as u64);
        for (k, task) in self.tasks.iter_mut().enumerate() {
            match task {
                Task::Routine { routine, workspace, private } => {
                    let run = Run { private: *private, ..run };
                    routine.submit(gpu, run, run.scratch.offset(*workspace), &gpu.stream)?;
                }
                Task::Copy { copy, private, into } => {
                    let (to, from) = copy_endpoints(copy, *private, *into, run);
                    // SAFETY: buffer and private memory are live and have that size.
                    unsafe { memcpy_dtod_async(to, from, copy.bytes, &gpu.stream)? };
                }
                Task::Kernel(launch) => {
                    launch.bind(run);
                    launch.block.pointers(&mut self.pointers);
                    let Launch { function, shape, cooperative, .. } = launch;
                    // SAFETY: the code was generated together with this argument list, and the buffers are live. How a
                    // user's kernel uses its arguments is the user's responsibility.
                    unsafe {
                        match cooperative {
                            true => function.launch_cooperative(shape, &gpu.stream, &mut self.pointers)?,
                            false => function.launch(shape, &gpu.stream, &mut self.pointers)?,
                        }
                    }
                }
            }
            self.submitted = k + 1;
            done(k);
        }
        Ok(())
    }

    /// Returns true if the task is the last of its step.
    fn is_last_of_step(&self, task: usize) -> bool {
        self.task_steps.get(task + 1) != self.task_steps.get(task)
    }

    /// [`CudaProgram::stream`] while a profile is recorded.
    #[cold]
    fn stream_timed(&mut self, run: Run, origin: Origin) -> Result<()> {
        let gpu = self.gpu.clone();
        let generation = gpu.timing().as_ref().map_or(0, |timing| timing.generation);
        if !self.sampling.samples_stream_run(generation) {
            return gpu.timed((Kind::Program, 0), &gpu.stream, || self.stream(run, &mut |_| {}));
        }
        let start = gpu.begin_timing(&gpu.stream);
        let ended: Vec<Option<u32>> =
            (0..self.task_steps.len()).map(|k| self.is_last_of_step(k).then(|| self.task_steps[k])).collect();
        let mut marks = Marks::new();
        let result = self.stream(run, &mut |task| {
            if let (Some(step), Some(timing)) = (ended[task], gpu.timing().as_mut()) {
                marks.extend(timing.mark(&gpu.stream).ok().map(|mark| (Kind::Step, step.into(), mark)));
            }
        });
        if let (Some(start), Some(timing)) = (start, gpu.timing().as_mut()) {
            timing.record(start, origin, marks, true, None);
        }
        result
    }

    /// [`CudaProgram::replay`] while a profile is recorded.
    #[cold]
    fn replay_timed(&mut self, run: Run, origin: Origin) -> Result<()> {
        let gpu = self.gpu.clone();
        let generation = gpu.timing().as_ref().map_or(0, |timing| timing.generation);
        if self.sampling.samples_graph_run(generation)
            && let Ok((exec, start, marks)) = self.profiled_graph(run)
        {
            exec.launch(&gpu.stream)?;
            Counters::add(&gpu.counters.graph_launches, 1);
            if let Some(timing) = gpu.timing().as_mut() {
                timing.record(start, origin, marks, true, Some(exec));
            }
            return Ok(());
        }
        gpu.timed((Kind::Program, 0), &gpu.stream, || self.replay(run))
    }

    /// Builds the program as a graph for this run only, with events between its steps.
    fn profiled_graph(&mut self, run: Run) -> Result<ProfiledGraph> {
        let gpu = self.gpu.clone();
        let mut events = Vec::new();
        {
            let mut timing = gpu.timing();
            let Some(timing) = timing.as_mut() else { return Err(no_profile()) };
            for k in 0..=self.tasks.len() {
                if k == self.tasks.len() || self.is_last_of_step(k) {
                    events.push(timing.event()?);
                }
            }
        }
        let mut events = events.into_iter();
        let first = events.next().ok_or_else(no_profile)?;
        let mut marks = Marks::new();
        let ends: Vec<bool> = (0..self.tasks.len()).map(|k| self.is_last_of_step(k)).collect();
        let steps = self.task_steps.clone();
        let (exec, _) = self.graph(run, &mut |builder, at| match at {
            None => builder.add_record(&first, &[]).map(Some),
            Some((task, node)) => match ends[task].then(|| events.next()).flatten() {
                Some(event) => {
                    let node = builder.add_record(&event, &[node])?;
                    marks.push((Kind::Step, steps[task].into(), event));
                    Ok(Some(node))
                }
                None => Ok(None),
            },
        })?;
        Ok((exec, Timing::inside_graph(first), marks))
    }

    fn replay(&mut self, run: Run) -> Result<()> {
        match &mut self.graph {
            None => self.build(run)?,
            Some(graph) => {
                let moved = graph.buffers != run.buffers || graph.scratch != run.scratch;
                if moved || graph.scalars != run.scalars {
                    let mut patched = 0;
                    for (task, &node) in self.tasks.iter_mut().zip(&graph.nodes) {
                        match task {
                            Task::Kernel(launch) => {
                                launch.bind(run);
                                // SAFETY: the code was generated together with these arguments; the buffers are live.
                                patched += u64::from(unsafe { graph.exec.set_kernel_args(node, &launch.block)? });
                            }
                            Task::Copy { copy, private, into } => {
                                let (to, from) = copy_endpoints(copy, *private, *into, run);
                                // SAFETY: buffer and private memory are live and have that size.
                                patched += u64::from(unsafe { graph.exec.set_copy(node, to, from, copy.bytes)? });
                            }
                            Task::Routine { routine, workspace, private } => {
                                let run = Run { private: *private, ..run };
                                if !routine.same_arguments(run, Run { private: *private, ..graph.last() }) {
                                    graph.recaptures += 1;
                                    patched += 1;
                                    let workspace = run.scratch.offset(*workspace);
                                    let submit = |s: &Stream| routine.submit(&self.gpu, run, workspace, s);
                                    // SAFETY: the buffers and the workspace are live for the run.
                                    unsafe { graph.exec.set_captured(node, submit)? };
                                }
                            }
                        }
                    }
                    Counters::add(&self.gpu.counters.graph_patches, patched);
                    graph.buffers.clear();
                    graph.buffers.extend_from_slice(run.buffers);
                    graph.scalars.clear();
                    graph.scalars.extend_from_slice(run.scalars);
                    graph.scratch = run.scratch;
                }
            }
        }
        let graph = self.graph.as_mut().expect("set above");
        graph.exec.launch(&self.gpu.stream)?;
        Counters::add(&self.gpu.counters.graph_launches, 1);
        if graph.recaptures > MAX_RECAPTURES {
            self.graph = None;
            self.stream_only = true;
        } else if self.runs.is_multiple_of(RECAPTURE_WINDOW) {
            graph.recaptures = 0;
        }
        Ok(())
    }

    /// Creates the marks of values that are complete before the program ends.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn create_early_marks(&mut self, program: &Program) -> Result<()> {
        for &(_, step) in &program.early {
            // The last task of that step, or, if it has none, of an earlier step.
            let at = self.task_steps.iter().rposition(|&task_step| task_step <= step).unwrap_or(0);
            self.early.push((at, Arc::new(EventMark(Event::new(self.gpu.context)?))));
        }
        Ok(())
    }

    fn stream_marked(&mut self, run: Run) -> Result<()> {
        let (gpu, early) = (self.gpu.clone(), self.early.clone());
        let mut failed = Ok(());
        self.stream(run, &mut |task| {
            for (_, mark) in early.iter().filter(|(at, _)| *at == task) {
                failed = mark.0.record(&gpu.stream);
            }
        })?;
        failed
    }

    /// Records all early marks at the end of the program.
    fn mark_all(&self) -> Result<()> {
        self.early.iter().try_for_each(|(_, mark)| mark.0.record(&self.gpu.stream))
    }

    fn build(&mut self, run: Run) -> Result<()> {
        let early = self.early.clone();
        // No node of the graph waits for a mark.
        let (exec, nodes) = self.graph(run, &mut |builder, at| {
            for (_, mark) in early.iter().filter(|(after, _)| at.is_some_and(|(task, _)| task == *after)) {
                builder.add_record(&mark.0, at.map(|(_, node)| node).as_slice())?;
            }
            Ok(None)
        })?;
        Counters::add(&self.gpu.counters.graphs_built, 1);
        self.graph = Some(CachedGraph {
            exec,
            nodes,
            buffers: run.buffers.to_vec(),
            scalars: run.scalars.to_vec(),
            scratch: run.scratch,
            recaptures: 0,
        });
        Ok(())
    }

    /// Builds a graph of the tasks, one after the other, and returns it with their nodes. `insert` may add a node
    /// before the first task (`None`) and after each.
    fn graph(&mut self, run: Run, insert: &mut InsertNodes<'_>) -> Result<(GraphExec, Vec<NodeId>)> {
        let gpu = self.gpu.clone();
        let mut builder = GraphBuilder::new(gpu.context)?;
        let mut nodes: Vec<NodeId> = Vec::with_capacity(self.tasks.len());
        let mut last = insert(&mut builder, None)?;
        for (k, task) in self.tasks.iter_mut().enumerate() {
            let after: Vec<NodeId> = last.into_iter().collect();
            // SAFETY: arguments and ranges are those of `stream`. The graph is patched before each launch, so its
            // addresses are live.
            let node = unsafe {
                match task {
                    Task::Kernel(launch) => {
                        launch.bind(run);
                        builder.add_kernel(launch.function, launch.shape, launch.block.clone(), &after)?
                    }
                    Task::Copy { copy, private, into } => {
                        let (to, from) = copy_endpoints(copy, *private, *into, run);
                        builder.add_copy(to, from, copy.bytes, &after)?
                    }
                    Task::Routine { routine, workspace, private } => {
                        let run = Run { private: *private, ..run };
                        let workspace = run.scratch.offset(*workspace);
                        builder.add_captured(&after, |s| routine.submit(&gpu, run, workspace, s))?
                    }
                }
            };
            nodes.push(node);
            last = insert(&mut builder, Some((k, node)))?.or(Some(node));
        }
        Ok((builder.instantiate()?, nodes))
    }
}

impl Executable for CudaProgram {
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar], replay: bool) -> cuprous_core::Result<()> {
        self.submit(buffers, scalars, replay).map_err(translate)
    }

    fn progress(&self) -> Progress {
        let step = |task: usize| self.task_steps.get(task).map(|&step| step as usize);
        let last = self.submitted.checked_sub(1).and_then(step);
        Progress::between(last, step(self.submitted), self.step_count as usize)
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn early(&self, index: usize) -> Option<Arc<dyn Mark>> {
        self.early.get(index).map(|(_, mark)| mark.clone() as Arc<dyn Mark>)
    }
}

impl Drop for CudaProgram {
    fn drop(&mut self) {
        for &address in &self.state {
            self.gpu.free(address);
        }
    }
}
