//! Kernels with reductions: the choice of a template and its launch shape.

mod columns;
mod columns_merge;
mod phases;
mod resident;
mod rows;
mod staging;
mod streamed;

use cuprous_plan::{Inst, Kernel, Level};

use super::lower::{Target, Unit, reduction_name};
use super::types::Generated;
use super::vectorize;
use phases::Phases;

/// How rows are distributed over threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strategy {
    /// A group of threads holds its row in registers: one read, one write.
    Resident(resident::ResidentLayout),
    /// A block reads its row once per phase.
    Streamed,
    /// Few long rows: several blocks share each row, and phases are separate launches.
    Split,
    /// The reduced axis is not the contiguous one. Threads lie along the contiguous one, and phases are separate
    /// launches.
    Columns,
}

/// Adds the stages of a kernel with reductions.
pub(crate) fn reduce(unit: &Unit, target: Target, out: &mut Generated) {
    match strategy(&unit.kernel, target) {
        Strategy::Resident(layout) => out.stages.push(resident::emit(unit, target, layout)),
        Strategy::Streamed => {
            let stage = streamed::emit(unit, target, 1, out);
            out.stages.push(stage);
        }
        Strategy::Split => in_launches(unit, target, out, |unit, target, out| {
            let splits = streamed::splits(&unit.kernel, target);
            streamed::emit(unit, target, splits, out)
        }),
        Strategy::Columns => in_launches(unit, target, out, columns::emit),
    }
}

fn in_launches(
    unit: &Unit,
    target: Target,
    out: &mut Generated,
    emit: impl Fn(&Unit, Target, &mut Generated) -> super::types::Stage,
) {
    for unit in staging::stages(unit, out) {
        if unit.kernel.reduces() {
            let stage = emit(&unit, target, out);
            out.stages.push(stage);
        } else if unit.kernel.outer_size() > 0 {
            super::map::map(&unit, target, out);
        }
    }
}

fn strategy(kernel: &Kernel, target: Target) -> Strategy {
    if dense_along_outer(kernel) {
        return Strategy::Columns;
    }
    let rows = kernel.outer_size();
    let sms = i64::from(target.arch.sms);
    let row_bytes: i64 =
        vectorize::accesses(kernel).map(|(t, _)| t.dtype.size() as i64).max().unwrap_or(4) * kernel.inner_size();
    // A kernel that scatters needs a launch for the scatter, because the streamed template does not support it.
    let scatters = kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }));
    if let Some(layout) = resident::layout(kernel, target).filter(|_| !scatters)
        && (2 * rows >= sms || row_bytes <= 64 << 10)
    {
        return Strategy::Resident(layout);
    }
    if rows >= 2 * sms && !scatters { Strategy::Streamed } else { Strategy::Split }
}

/// Returns true if most bytes are contiguous along the last outer axis and not along the last inner one.
fn dense_along_outer(kernel: &Kernel) -> bool {
    let (Some(outer), inner) = (kernel.outer.len().checked_sub(1), kernel.outer.len() + kernel.inner.len() - 1) else {
        return false;
    };
    let (mut across, mut along) = (0, 0);
    for (t, access) in vectorize::accesses(kernel) {
        match (access.strides[inner], access.strides[outer]) {
            (1, _) => along += t.dtype.size(),
            (s, 1) if s != 0 => across += t.dtype.size(),
            _ => {}
        }
    }
    across > along
}

/// Returns the reductions of pass `p`.
fn reductions_of(kernel: &Kernel, phases: &Phases, p: u32) -> Vec<Reduction> {
    let numbered = kernel.body.iter().enumerate();
    numbered
        .filter_map(|(v, t)| match t.inst {
            Inst::Reduce { op, arg } if phases.pass_of(v as u16) == p => {
                let from = kernel.body[arg as usize].dtype;
                Some(Reduction { v: v as u16, arg, op, name: reduction_name(op, from), from, to: t.dtype })
            }
            _ => None,
        })
        .collect()
}

/// One reduction of a kernel.
struct Reduction {
    v: u16,
    arg: u16,
    op: cuprous_core::ReduceOp,
    /// The prelude's struct.
    name: String,
    from: cuprous_core::DType,
    to: cuprous_core::DType,
}

impl Reduction {
    /// Returns true if elements are accumulated with their index.
    fn wants_index(&self) -> bool {
        matches!(self.op, cuprous_core::ReduceOp::ArgMax | cuprous_core::ReduceOp::ArgMin)
    }

    /// Returns true if the reduction has an identity element.
    fn has_identity(&self) -> bool {
        use cuprous_core::ReduceOp::*;
        matches!(self.op, Sum | Prod | Max | Min)
    }

    /// Returns the C++ type of an accumulated element.
    fn element(&self) -> &'static str {
        super::types::ctype(self.from.accumulator())
    }

    /// Returns an operand converted to the type of accumulated elements.
    fn converted(&self, name: &str) -> String {
        if self.from == self.from.accumulator() { name.into() } else { format!("cast<{}>({name})", self.element()) }
    }

    /// Returns the statement that declares the result.
    fn result(&self, state: &str) -> String {
        let (to, result) = (super::types::ctype(self.to), format!("{}::result({state})", self.name));
        let plain = match self.op {
            cuprous_core::ReduceOp::ArgMax | cuprous_core::ReduceOp::ArgMin => self.to == cuprous_core::DType::I64,
            cuprous_core::ReduceOp::M2 => self.to == self.from.accumulator().component(),
            _ => self.to == self.from.accumulator(),
        };
        if plain {
            format!("const {to} v{} = {result};", self.v)
        } else {
            format!("const {to} v{} = cast<{to}>({result});", self.v)
        }
    }
}

/// Returns the row-level instructions of phase `p`, in order.
fn row_level(kernel: &Kernel, phases: &Phases, p: u32) -> Vec<u16> {
    let numbered = kernel.body.iter().enumerate();
    numbered
        .filter(|(v, t)| t.level == Level::Row && phases.of[*v] == p && !matches!(t.inst, Inst::Reduce { .. }))
        .map(|(v, _)| v as u16)
        .collect()
}
