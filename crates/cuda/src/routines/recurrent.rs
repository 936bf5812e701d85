//! Layers of a recurrence by cuDNN, and their way back.

use std::fmt;
use std::sync::Arc;

use cuprous_core::CallOp;
use cuprous_core::recurrent::Recurrence;
use cuprous_plan::Call;

use super::{Routine, Run};
use crate::device::Gpu;
use crate::driver::{DevPtr, Stream};
use crate::error::Result;

/// Operands as (buffer, byte offset), then the output.
pub(super) struct Layers {
    recurrence: Arc<Recurrence>,
    ins: Vec<(u32, u64)>,
    out: u32,
}

/// Layers, or their way back.
pub(super) fn layers(call: &Call) -> Option<Layers> {
    let (recurrence, operands) = match &call.op {
        CallOp::Recur(recurrence) => (recurrence, 1),
        CallOp::RecurBack(recurrence) => (recurrence, 3),
        _ => return None,
    };
    let flat = call.ins.iter().all(|(_, layout)| layout.is_c_contiguous() && layout.ndim() == 1);
    if call.ins.len() != operands || !flat {
        return None;
    }
    let ins = call.ins.iter().map(|(buffer, l)| (*buffer, l.offset as u64 * l.dtype.size() as u64)).collect();
    Some(Layers { recurrence: recurrence.clone(), ins, out: call.out.0 })
}

impl Layers {
    fn operands(&self, run: Run) -> Vec<DevPtr> {
        let at = |&(buffer, offset): &(u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        self.ins.iter().chain(&[(self.out, 0)]).map(at).collect()
    }
}

impl Routine for Layers {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_dnn(|dnn| dnn.recurrence_workspace(&self.recurrence.of, self.ins.len() == 3))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let (of, operands) = (&self.recurrence.of, self.operands(run));
        gpu.with_dnn(|dnn| match operands[..] {
            // SAFETY: the plan's buffers are live for the run and have the sizes of the recurrence.
            [a, out] => unsafe { dnn.recur(of, [a, out], workspace, stream) },
            // SAFETY: as above.
            [a, b, c, out] => unsafe { dnn.recur_back(of, [a, b, c, out], workspace, stream) },
            _ => unreachable!("operands were counted"),
        })
    }

    fn same(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.recurrence.of;
        let back = if self.ins.len() == 3 { ", backward" } else { "" };
        write!(f, "cuDNN: {} × {:?} {} → {}, {} × {} steps{back}", of.layers, of.cell, of.input, of.hidden, of.batch, of.steps)
    }
}
