//! Convolutions by cuDNN.

use std::fmt;

use cuprous_core::CallOp;
use cuprous_core::convolution::Part;
use cuprous_plan::Call;

use super::{Routine, Run};
use crate::cudnn::Convolution;
use crate::device::Gpu;
use crate::driver::{DevPtr, Stream};
use crate::error::Result;

/// One product; operands as (buffer, byte offset).
pub(super) struct Product {
    problem: Convolution,
    ins: [(u32, u64); 2],
    out: u32,
}

/// A product of a convolution.
pub(super) fn product(call: &Call) -> Option<Product> {
    let CallOp::Convolve(part, geometry) = &call.op else { return None };
    let [(_, a), (_, b)] = call.ins.as_slice() else { return None };
    let out = &call.out.1;
    if !(a.is_c_contiguous() && b.is_c_contiguous() && Convolution::known(geometry)) {
        return None;
    }
    let (images, inputs, outputs) = match part {
        Part::Output => (a.shape[0], a.shape[1], out.shape[1]),
        Part::Input => (a.shape[0], out.shape[1], a.shape[1]),
        Part::Weight => (a.shape[0], b.shape[1], a.shape[1]),
    };
    let problem = Convolution { part: *part, geometry: geometry.clone(), images, inputs, outputs };
    let at = |k: usize| {
        let (buffer, layout) = &call.ins[k];
        (*buffer, layout.offset as u64 * layout.dtype.size() as u64)
    };
    Some(Product { problem, ins: [at(0), at(1)], out: call.out.0 })
}

impl Product {
    fn operands(&self, run: Run) -> [DevPtr; 3] {
        let at = |(buffer, offset): (u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        [at(self.ins[0]), at(self.ins[1]), at((self.out, 0))]
    }
}

impl Routine for Product {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_dnn(|dnn| dnn.workspace(&self.problem))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let operands = self.operands(run);
        // SAFETY: the plan's buffers are live for the run and have the shapes of the problem.
        gpu.with_dnn(|dnn| unsafe { dnn.run(&self.problem, operands, workspace, stream) })
    }

    fn same(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Convolution { part, geometry, images, inputs, outputs } = &self.problem;
        write!(f, "cuDNN: {part:?}, {images} × {inputs} → {outputs} channels, kernel {:?}", geometry.kernel)
    }
}
