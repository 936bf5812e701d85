//! Attention by cuDNN, and its way back.

use std::fmt;
use std::sync::Arc;

use cuprous_core::RoutineOp;
use cuprous_core::attention::Attention;
use cuprous_plan::RoutineCall;

use super::{Routine, Run, flat_operands};
use crate::driver::{DevPtr, Stream};
use crate::error::Result;
use crate::gpu::Gpu;

/// Operands as (buffer, byte offset), then the output.
pub(super) struct Attend {
    attention: Arc<Attention>,
    /// The way back, of three operands.
    back: bool,
    ins: Vec<(u32, u64)>,
    out: u32,
}

/// Attention, or its way back.
pub(super) fn attention(call: &RoutineCall) -> Option<Attend> {
    let (attention, back) = match &call.op {
        RoutineOp::Attend(attention) => (attention, false),
        RoutineOp::AttendBack(attention) => (attention, true),
        _ => return None,
    };
    let ins = flat_operands(call, if back { 3 } else { 1 })?;
    Some(Attend { attention: attention.clone(), back, ins, out: call.out.0 })
}

impl Attend {
    fn operands(&self, run: Run) -> Vec<DevPtr> {
        let at = |&(buffer, offset): &(u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        self.ins.iter().chain(&[(self.out, 0)]).map(at).collect()
    }
}

impl Routine for Attend {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_dnn(|dnn| dnn.attention_workspace(&self.attention, self.back))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let of = &self.attention;
        gpu.with_dnn(|dnn| match self.operands(run)[..] {
            // SAFETY: the plan's buffers are live for the run and have the sizes of the attention.
            [operand, result] => unsafe { dnn.attend(of, operand, result, None, workspace, stream) },
            [operand, result, gradient, out] => {
                // SAFETY: as above.
                unsafe { dnn.attend(of, operand, result, Some([gradient, out]), workspace, stream) }
            }
            _ => unreachable!("operands were counted"),
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for Attend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuDNN: attention{}, {}", if self.back { " backward" } else { "" }, self.attention)
    }
}
