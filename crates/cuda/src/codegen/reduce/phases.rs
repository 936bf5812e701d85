//! What of a reduction can run when: a fold of the whole row must end before anything uses its result.

use cuprous_plan::{Inst, Kernel, Level, Val};

use crate::codegen::lower::{is_sink, operands};

/// The phases of a kernel. Phase `p` passes over the row; its folds give row values of phase `p + 1`.
pub(crate) struct Phases {
    /// For each instruction the phase in which it is computed; for row-level ones 0 means before the first pass and
    /// `p` after pass `p - 1`. A reduction's is that of its result.
    pub(crate) of: Vec<u32>,
    /// Passes that fold.
    pub(crate) folds: u32,
    /// Passes in all: one more than `folds` if something full-level needs the last fold.
    pub(crate) passes: u32,
}

impl Phases {
    /// The phases of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Phases {
        let body = &kernel.body;
        let mut of = vec![0u32; body.len()];
        let (mut folds, mut passes) = (0, 0);
        for (v, t) in body.iter().enumerate() {
            let from = operands(&t.inst).into_iter().map(|a| of[a as usize]).max().unwrap_or(0);
            of[v] = from;
            if matches!(t.inst, Inst::Reduce { .. }) {
                of[v] = from + 1;
                folds = folds.max(from + 1);
            } else if is_sink(&t.inst) && t.level == Level::Full {
                passes = passes.max(from + 1);
            }
        }
        passes = passes.max(folds);
        // A scatter always gets a pass without folds.
        if body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }) && t.level == Level::Full) {
            passes = folds + 1;
        }
        // A load waits for its first use, but not past a store to the same memory.
        for (v, t) in body.iter().enumerate() {
            let Inst::Load { buf, .. } = t.inst else { continue };
            if t.level == Level::Row {
                continue;
            }
            let uses = body.iter().enumerate().filter(|(_, u)| operands(&u.inst).contains(&(v as Val)));
            let first = uses.map(|(i, u)| if matches!(u.inst, Inst::Reduce { .. }) { of[i] - 1 } else { of[i] }).min();
            let stores =
                body.iter().enumerate().filter(|(_, u)| matches!(u.inst, Inst::Store { buf: b, .. } if b == buf));
            of[v] = first.into_iter().chain(stores.map(|(i, _)| of[i])).min().unwrap_or(0);
        }
        Phases { of, folds, passes }
    }

    /// The pass of a reduction's fold.
    pub(crate) fn fold_of(&self, v: Val) -> u32 {
        self.of[v as usize] - 1
    }
}

/// For each instruction, whether a full-level one uses it.
pub(crate) fn used_at_full(kernel: &Kernel) -> Vec<bool> {
    let mut used = vec![false; kernel.body.len()];
    for t in &kernel.body {
        if t.level == Level::Full || matches!(t.inst, Inst::Reduce { .. }) {
            operands(&t.inst).into_iter().for_each(|a| used[a as usize] = true);
        }
    }
    used
}
