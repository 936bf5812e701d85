//! Recurrent layers by cuDNN, forward and backward.

use std::fmt;
use std::sync::Arc;

use cuprous_core::RoutineOp;
use cuprous_core::recurrent::Recurrence;
use cuprous_plan::RoutineCall;

use super::{Routine, RoutineCopy, Run, flat_operands};
use crate::driver::{DevPtr, Stream};
use crate::error::Result;
use crate::gpu::Gpu;

/// The operands as (buffer, byte offset), and the output.
pub(super) struct RecurrentLayers {
    recurrence: Arc<Recurrence>,
    /// The backward pass, which has three operands.
    backward: bool,
    ins: Vec<(u32, u64)>,
    out: u32,
}

/// Plans recurrent layers or their backward pass. `None` if the call is neither, or its operands are not flat.
pub(super) fn layers(call: &RoutineCall) -> Option<RecurrentLayers> {
    let (recurrence, backward) = match &call.op {
        RoutineOp::Recur(recurrence) => (recurrence, false),
        RoutineOp::RecurBackward(recurrence) => (recurrence, true),
        _ => return None,
    };
    let ins = flat_operands(call, if backward { 3 } else { 1 })?;
    Some(RecurrentLayers { recurrence: recurrence.clone(), backward, ins, out: call.out.0 })
}

/// The largest private memory in bytes. Layers that need more work directly on the program's buffers.
const MAX_PRIVATE_BYTES: usize = 1 << 28;

impl RecurrentLayers {
    /// Returns the padded sizes of the operands and the output in bytes.
    fn sizes(&self) -> Vec<usize> {
        let r = &self.recurrence;
        let elements =
            if self.backward { vec![r.operand, r.result, r.gradient(), r.operand] } else { vec![r.operand, r.result] };
        elements.into_iter().map(|n| (n as usize * r.of.dtype.size()).next_multiple_of(256)).collect()
    }

    /// Returns the size of the library's workspace.
    fn workspace_bytes(&self, gpu: &Gpu) -> Result<usize> {
        gpu.with_dnn(|dnn| dnn.recurrence_workspace(&self.recurrence.of, self.backward))
    }

    fn uses_private_memory(&self, gpu: &Gpu) -> Result<bool> {
        Ok(self.sizes().iter().sum::<usize>() + self.workspace_bytes(gpu)? <= MAX_PRIVATE_BYTES)
    }

    /// Returns the addresses of operands and output, and that of the workspace.
    fn operand_addresses(&self, run: Run, workspace: DevPtr) -> (Vec<DevPtr>, DevPtr) {
        if run.private.is_null() {
            return (self.operands(run), workspace);
        }
        let mut at = run.private;
        let mut operand_addresses = Vec::new();
        for bytes in self.sizes() {
            operand_addresses.push(at);
            at = at.offset(bytes as i64);
        }
        (operand_addresses, at)
    }

    fn operands(&self, run: Run) -> Vec<DevPtr> {
        let at = |&(buffer, offset): &(u32, u64)| DevPtr(run.buffers[buffer as usize] + offset);
        self.ins.iter().chain(&[(self.out, 0)]).map(at).collect()
    }
}

impl Routine for RecurrentLayers {
    fn workspace(&self, gpu: &Gpu) -> Result<usize> {
        if self.uses_private_memory(gpu)? { Ok(0) } else { self.workspace_bytes(gpu) }
    }

    fn private_memory(&self, gpu: &Gpu) -> Result<(usize, [Vec<RoutineCopy>; 2])> {
        if !self.uses_private_memory(gpu)? {
            return Ok((0, [Vec::new(), Vec::new()]));
        }
        let size = self.recurrence.of.dtype.size();
        let r = &self.recurrence;
        let exact = [r.operand, r.result, r.gradient()].map(|n| n as usize * size);
        let (mut before, mut private) = (Vec::new(), 0);
        for ((&(buffer, offset), bytes), padded) in self.ins.iter().zip(exact).zip(self.sizes()) {
            before.push(RoutineCopy { buffer, offset, private, bytes });
            private += padded;
        }
        let bytes = if self.backward { exact[0] } else { exact[1] };
        let after = vec![RoutineCopy { buffer: self.out, offset: 0, private, bytes }];
        Ok((self.sizes().iter().sum::<usize>() + self.workspace_bytes(gpu)?, [before, after]))
    }

    fn submit(&self, gpu: &Gpu, run: Run, workspace: DevPtr, stream: &Stream) -> Result<()> {
        let of = &self.recurrence.of;
        let (operands, workspace) = self.operand_addresses(run, workspace);
        gpu.with_dnn(|dnn| match operands[..] {
            // SAFETY: the plan's buffers are live for the run and have the sizes of the recurrence.
            [a, out] => unsafe { dnn.rnn_forward(of, [a, out], workspace, stream) },
            // SAFETY: the plan's buffers are live for the run and have the sizes of the recurrence.
            [a, b, c, out] => unsafe { dnn.rnn_backward(of, [a, b, c, out], workspace, stream) },
            _ => unreachable!("the number of operands was checked"),
        })
    }

    fn same_arguments(&self, one: Run, other: Run) -> bool {
        !one.private.is_null() || (self.operands(one) == self.operands(other) && one.scratch == other.scratch)
    }
}

impl fmt::Display for RecurrentLayers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.recurrence.of;
        let backward = if self.backward { ", backward" } else { "" };
        write!(
            f,
            "cuDNN: {} × {:?} {} → {}, {} × {} steps{backward}",
            of.layers, of.cell, of.input, of.hidden, of.batch, of.steps
        )
    }
}
