//! Attention by cuDNN, forward and backward.

use std::fmt;
use std::sync::Arc;

use cuprous_core::RoutineOp;
use cuprous_core::attention::Attention;
use cuprous_plan::RoutineCall;

use super::{Routine, Run, flat_operands};
use crate::driver::{DevPtr, Stream};
use crate::error::Result;
use crate::gpu::Gpu;

/// The operands as (buffer, byte offset), and the output.
pub(super) struct AttentionRoutine {
    attention: Arc<Attention>,
    /// The backward pass, which has three operands.
    backward: bool,
    ins: Vec<(u32, u64)>,
    out: u32,
}

/// Plans attention or its backward pass. `None` if the call is neither, or its operands are not flat.
pub(super) fn attention(call: &RoutineCall) -> Option<AttentionRoutine> {
    let (attention, backward) = match &call.op {
        RoutineOp::Attend(attention) => (attention, false),
        RoutineOp::AttendBackward(attention) => (attention, true),
        _ => return None,
    };
    let ins = flat_operands(call, if backward { 3 } else { 1 })?;
    Some(AttentionRoutine { attention: attention.clone(), backward, ins, out: call.out.0 })
}

impl AttentionRoutine {
    fn operands(&self, run: Run) -> Vec<DevPtr> {
        let at = |&(buffer, offset): &(u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        self.ins.iter().chain(&[(self.out, 0)]).map(at).collect()
    }
}

impl Routine for AttentionRoutine {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_dnn(|dnn| dnn.attention_workspace(&self.attention, self.backward))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let of = &self.attention;
        gpu.with_dnn(|dnn| match self.operands(run)[..] {
            // SAFETY: the plan's buffers are live for the run and have the sizes of the attention.
            [operand, result] => unsafe { dnn.run_attention(of, operand, result, None, workspace, stream) },
            [operand, result, gradient, out] => {
                // SAFETY: the plan's buffers are live for the run and have the sizes of the attention.
                unsafe { dnn.run_attention(of, operand, result, Some([gradient, out]), workspace, stream) }
            }
            _ => unreachable!("the number of operands was checked"),
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        self.operands(one) == self.operands(other) && one.scratch == other.scratch
    }
}

impl fmt::Display for AttentionRoutine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuDNN: attention{}, {}", if self.backward { " backward" } else { "" }, self.attention)
    }
}
