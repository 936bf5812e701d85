//! What NVIDIA's libraries do of a program, one file a kind of call.
//!
//! A routine is chosen when a program is planned and submitted with each run. It says what its calls depend on, so that
//! a graph captures them anew only where that changed.

mod attention;
mod convolve;
mod dot;
mod fft;
mod linalg;
mod lu;
mod recurrent;
mod sparse;

use std::fmt;
use std::sync::Arc;

use cuprous_core::Scalar;
use cuprous_plan::RoutineCall;

use crate::codegen::{Arch, Arg, Generated, Options, generate_call};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};
use crate::gpu::Gpu;

/// What a run of a program gives to its tasks.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    /// Where the program's buffers start.
    pub(crate) buffers: &'a [u64],
    /// Its constants.
    pub(crate) scalars: &'a [Scalar],
    /// Scratch of this run.
    pub(crate) scratch: DevPtr,
    /// The routine's own memory, which stays where it is; null where it has none.
    pub(crate) private: DevPtr,
}

/// A copy between one of the program's buffers and a routine's own memory.
pub(crate) struct RoutineCopy {
    pub(crate) buffer: u32,
    /// Bytes from the start of the buffer.
    pub(crate) offset: u64,
    /// Bytes from the start of the routine's memory.
    pub(crate) private: usize,
    pub(crate) bytes: usize,
}

impl Run<'_> {
    /// Where a buffer or a part of the scratch is.
    pub(crate) fn address(&self, arg: Arg) -> DevPtr {
        match arg {
            Arg::Buffer(buffer) => DevPtr(self.buffers[buffer as usize]),
            Arg::Scratch(at) => self.scratch.offset(at as i64),
            _ => DevPtr::NULL,
        }
    }
}

/// The operands of a call, as (buffer, byte offset), if there are so many and each is flat.
fn flat_operands(call: &RoutineCall, count: usize) -> Option<Vec<(u32, u64)>> {
    let flat = call.ins.iter().all(|(_, layout)| layout.is_c_contiguous() && layout.ndim() == 1);
    let at = |(buffer, l): &(u32, cuprous_core::LayoutRef)| (*buffer, l.offset as u64 * l.dtype.size() as u64);
    (call.ins.len() == count && flat).then(|| call.ins.iter().map(at).collect())
}

/// Calls of a library. `Display` is what listings show.
pub(crate) trait Routine: fmt::Display + Send + Sync {
    /// Bytes of scratch that the library wants beside that of the step's kernels. Loads the library.
    ///
    /// # Errors
    /// The library is missing or refuses the problem.
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        let _ = gpu;
        Ok(0)
    }

    /// Bytes of memory of its own, and the copies before and after its calls. Calls that are many, so that to capture them
    /// anew would cost more than copies, work there: whatever the program's addresses are, they stay the same.
    ///
    /// # Errors
    /// As for `workspace`.
    fn private_memory(&self, gpu: &Gpu) -> Result<(usize, [Vec<RoutineCopy>; 2])> {
        let _ = gpu;
        Ok((0, [Vec::new(), Vec::new()]))
    }

    /// Makes the calls. `workspace` is a multiple of 256 and has the bytes asked for.
    ///
    /// # Errors
    /// The library is missing or fails.
    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()>;

    /// Would the same calls with the same arguments be made in both runs? Who has a workspace or reads scratch compares
    /// its address too.
    fn same_arguments(&self, one: Run, other: Run) -> bool;

    /// Can the calls be part of a graph? Not if they wait for the GPU or look at its results.
    fn can_capture(&self) -> bool {
        true
    }
}

/// What one step becomes, before anything is compiled: kernels, and routines between them.
#[derive(Default)]
pub(crate) struct Planned {
    pub(crate) kernels: Generated,
    /// Each with the number of stages that come before it, in order.
    pub(crate) routines: Vec<(usize, Arc<dyn Routine>)>,
}

impl From<Generated> for Planned {
    fn from(kernels: Generated) -> Planned {
        Planned { kernels, routines: Vec::new() }
    }
}

impl Planned {
    fn routine(routine: impl Routine + 'static) -> Planned {
        Planned { kernels: Generated::default(), routines: vec![(0, Arc::new(routine))] }
    }
}

/// A call by a library, or by generated code.
pub(crate) fn plan(call: &RoutineCall, arch: Arch, options: Options) -> Result<Planned> {
    if let Some(product) = dot::product(call) {
        return Ok(Planned::routine(product));
    }
    if let Some(planned) = fft::transform(call, arch, options) {
        return Ok(planned);
    }
    if let Some(planned) = linalg::decomposition(call, arch, options) {
        return Ok(planned);
    }
    if let Some(product) = convolve::product(call) {
        return Ok(Planned::routine(product));
    }
    if let Some(product) = sparse::product(call) {
        return Ok(Planned::routine(product));
    }
    if let Some(attention) = attention::attention(call) {
        return Ok(Planned::routine(attention));
    }
    if let Some(layers) = recurrent::layers(call) {
        return Ok(Planned::routine(layers));
    }
    generate_call(call, arch, options)
        .map(Planned::from)
        .ok_or_else(|| CudaError::Unsupported(format!("[{}] has no CUDA code for these dtypes yet", call.op.name())))
}
