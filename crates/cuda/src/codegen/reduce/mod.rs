//! Kernels with reductions: which template, and with which shape.

mod columns;
mod phases;
mod resident;
mod staging;
mod streamed;

use cuprous_plan::{Inst, Kernel, Level};

use super::lanes;
use super::lower::{Target, Unit, fold};
use super::types::Generated;
use phases::Phases;

/// How rows are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// A group of threads holds its row in registers: one read, one write.
    Resident(resident::Held),
    /// A block reads its row once per phase.
    Streamed,
    /// Few long rows: many blocks share each; phases are launches.
    Split,
    /// The folded axis is not the dense one: threads go along the dense one; phases are launches.
    Columns,
}

/// Adds the stages of a kernel with reductions.
pub(crate) fn reduce(unit: &Unit, target: Target, out: &mut Generated) {
    match way(&unit.kernel, target) {
        Way::Resident(held) => out.stages.push(resident::emit(unit, target, held)),
        Way::Streamed => {
            let stage = streamed::emit(unit, target, 1, out);
            out.stages.push(stage);
        }
        Way::Split => in_launches(unit, target, out, |unit, target, out| {
            let splits = streamed::splits(&unit.kernel, target);
            streamed::emit(unit, target, splits, out)
        }),
        Way::Columns => in_launches(unit, target, out, columns::emit),
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

fn way(kernel: &Kernel, target: Target) -> Way {
    if dense_along_outer(kernel) {
        return Way::Columns;
    }
    let rows = kernel.outer_size();
    let sms = i64::from(target.arch.sms);
    let row_bytes: i64 =
        lanes::accesses(kernel).map(|(t, _)| t.dtype.size() as i64).max().unwrap_or(4) * kernel.inner_size();
    // Scatters of whole kernels have a launch of their own: streamed bodies do not know them.
    let scatters = kernel.body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }));
    if let Some(held) = resident::held(kernel, target).filter(|_| !scatters)
        && (2 * rows >= sms || row_bytes <= 64 << 10)
    {
        return Way::Resident(held);
    }
    if rows >= 2 * sms && !scatters { Way::Streamed } else { Way::Split }
}

/// True where most bytes are dense along the last outer axis and not along the last inner one.
fn dense_along_outer(kernel: &Kernel) -> bool {
    let (Some(outer), inner) = (kernel.outer.len().checked_sub(1), kernel.outer.len() + kernel.inner.len() - 1) else {
        return false;
    };
    let (mut across, mut along) = (0, 0);
    for (t, access) in lanes::accesses(kernel) {
        match (access.strides[inner], access.strides[outer]) {
            (1, _) => along += t.dtype.size(),
            (s, 1) if s != 0 => across += t.dtype.size(),
            _ => {}
        }
    }
    across > along
}

/// The folds of pass `p`: instruction, operand, prelude's name.
fn folds_of(kernel: &Kernel, phases: &Phases, p: u32) -> Vec<Folding> {
    let numbered = kernel.body.iter().enumerate();
    numbered
        .filter_map(|(v, t)| match t.inst {
            Inst::Reduce { op, arg } if phases.fold_of(v as u16) == p => {
                let from = kernel.body[arg as usize].dtype;
                Some(Folding { v: v as u16, arg, op, name: fold(op, from), from, to: t.dtype })
            }
            _ => None,
        })
        .collect()
}

/// One fold.
struct Folding {
    v: u16,
    arg: u16,
    op: cuprous_core::ReduceOp,
    /// The prelude's struct.
    name: String,
    from: cuprous_core::DType,
    to: cuprous_core::DType,
}

impl Folding {
    /// True where elements go in with their position.
    fn wants_index(&self) -> bool {
        matches!(self.op, cuprous_core::ReduceOp::ArgMax | cuprous_core::ReduceOp::ArgMin)
    }

    /// True where some element changes no result.
    fn has_neutral(&self) -> bool {
        use cuprous_core::ReduceOp::*;
        matches!(self.op, Sum | Prod | Max | Min)
    }

    /// C++ type of an element that goes in.
    fn element(&self) -> &'static str {
        super::types::ctype(self.from.accumulator())
    }

    /// An operand, converted to what goes in.
    fn taken(&self, name: &str) -> String {
        if self.from == self.from.accumulator() { name.into() } else { format!("cast<{}>({name})", self.element()) }
    }

    /// The statement that declares the result.
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

/// Row-level instructions of phase `p`, in order.
fn row_level(kernel: &Kernel, phases: &Phases, p: u32) -> Vec<u16> {
    let numbered = kernel.body.iter().enumerate();
    numbered
        .filter(|(v, t)| t.level == Level::Row && phases.of[*v] == p && !matches!(t.inst, Inst::Reduce { .. }))
        .map(|(v, _)| v as u16)
        .collect()
}
