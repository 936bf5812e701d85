//! Library routines: the parts of a program that libraries of the maker run, one file for each kind.
//!
//! A routine is chosen when a program is planned, and submitted in each run. It compares the arguments of two runs, so
//! that a graph captures its calls again only if these changed.

mod attend;
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

use crate::codegen::{Arch, Arg, Generated, Options, Vendor, generate_routine, is_always_generated, tf32};
use crate::driver::{DevPtr, Stream};
use crate::error::{CudaError, Result};
use crate::gpu::Gpu;

/// The arguments of one run of a program.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    /// The addresses of the program's buffers.
    pub(crate) buffers: &'a [u64],
    /// The values of its scalar parameters.
    pub(crate) scalars: &'a [Scalar],
    /// The scratch of this run.
    pub(crate) scratch: DevPtr,
    /// The routine's private memory, whose address never changes; null if it has none.
    pub(crate) private: DevPtr,
}

/// A copy between one of the program's buffers and a routine's private memory.
pub(crate) struct RoutineCopy {
    pub(crate) buffer: u32,
    /// Bytes from the start of the buffer.
    pub(crate) offset: u64,
    /// Bytes from the start of the private memory.
    pub(crate) private: usize,
    pub(crate) bytes: usize,
}

impl Run<'_> {
    /// Returns the address of a buffer or of a part of the scratch.
    pub(crate) fn address(&self, arg: Arg) -> DevPtr {
        match arg {
            Arg::Buffer(buffer) => DevPtr(self.buffers[buffer as usize]),
            Arg::Scratch(at) => self.scratch.offset(at as i64),
            _ => DevPtr::NULL,
        }
    }
}

/// Returns the operands of a call as (buffer, byte offset) if there are `count` and all are flat.
fn flat_operands(call: &RoutineCall, count: usize) -> Option<Vec<(u32, u64)>> {
    let flat = call.ins.iter().all(|(_, layout)| layout.is_c_contiguous() && layout.ndim() == 1);
    let at = |(buffer, l): &(u32, cuprous_core::LayoutRef)| (*buffer, l.offset as u64 * l.dtype.size() as u64);
    (call.ins.len() == count && flat).then(|| call.ins.iter().map(at).collect())
}

/// A library routine: one or more calls of a library. Its `Display` text appears in listings.
pub(crate) trait Routine: fmt::Display + Send + Sync {
    /// Returns the bytes of workspace that the library needs, beside the scratch of the step's kernels. Loads the
    /// library.
    ///
    /// # Errors
    /// The library is missing or refuses the problem.
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        let _ = gpu;
        Ok(0)
    }

    /// Returns the bytes of the routine's private memory, and the copies before and after its calls. A routine of many
    /// calls works in private memory, so that its addresses never change: capturing the calls again would cost more
    /// than the copies.
    ///
    /// # Errors
    /// The library is missing or refuses the problem.
    fn private_memory(&self, gpu: &Gpu) -> Result<(usize, [Vec<RoutineCopy>; 2])> {
        let _ = gpu;
        Ok((0, [Vec::new(), Vec::new()]))
    }

    /// Submits the calls. `workspace` is a multiple of 256 and has the size that `workspace()` returned.
    ///
    /// # Errors
    /// The library is missing or fails.
    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()>;

    /// Returns true if a captured graph of `one` is valid for `other`. Implementations that use workspace or scratch
    /// must compare its address.
    fn same_arguments(&self, one: Run, other: Run) -> bool;

    /// Returns true if the calls can be part of a graph. Calls that wait for the GPU or read its results cannot.
    fn can_capture(&self) -> bool {
        true
    }
}

/// The plan of one step before anything is compiled: kernels, and routines between them.
#[derive(Default)]
pub(crate) struct Planned {
    pub(crate) kernels: Generated,
    /// In order, each with the number of stages that come before it.
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

/// Plans a routine: by a library, or by generated code.
pub(crate) fn plan(call: &RoutineCall, arch: Arch, options: Options, gpu: Option<&Gpu>) -> Result<Planned> {
    let generated = || {
        generate_routine(call, arch, options).map(Planned::from).ok_or_else(|| {
            CudaError::Unsupported(format!("[{}] is not supported on CUDA for these dtypes", call.op.name()))
        })
    };
    if is_always_generated(call) {
        return generated();
    }
    if let Some(product) = tf32::product(call, arch, options) {
        return Ok(product.into());
    }
    // AMD's libraries of products may be missing, and know not every product on every GPU.
    if let Some(product) = dot::product(call)
        && (arch.vendor == Vendor::Nvidia || gpu.is_some_and(|gpu| product.is_supported(gpu)))
    {
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
    if let Some(attention) = attend::attention(call) {
        return Ok(Planned::routine(attention));
    }
    if let Some(layers) = recurrent::layers(call) {
        return Ok(Planned::routine(layers));
    }
    generated()
}
