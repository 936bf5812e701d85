//! The order in which parts of a reduction can run: a reduction of the whole row must end before its result is used.

use cuprous_plan::{Inst, Kernel, Level, Val};

use crate::codegen::lower::{is_sink, operands};

/// The phases of a kernel. Phase `p` is a pass over the row; its reductions give row values of phase `p + 1`.
pub(crate) struct Phases {
    /// The phase in which each instruction is computed. For row-level ones 0 is before the first pass and `p` is after
    /// pass `p - 1`. A reduction's phase is that of its result.
    pub(crate) of: Vec<u32>,
    /// Number of passes with reductions.
    pub(crate) reducing_passes: u32,
    /// Number of all passes: one more than `reducing_passes` if something full-level needs the last reduction.
    pub(crate) passes: u32,
}

impl Phases {
    /// Returns the phases of a kernel.
    pub(crate) fn new(kernel: &Kernel) -> Phases {
        let body = &kernel.body;
        let mut of = vec![0u32; body.len()];
        let (mut reducing_passes, mut passes) = (0, 0);
        for (v, t) in body.iter().enumerate() {
            let from = operands(&t.inst).into_iter().map(|a| of[a as usize]).max().unwrap_or(0);
            of[v] = from;
            if matches!(t.inst, Inst::Reduce { .. }) {
                of[v] = from + 1;
                reducing_passes = reducing_passes.max(from + 1);
            } else if is_sink(&t.inst) && t.level == Level::Full {
                passes = passes.max(from + 1);
            }
        }
        passes = passes.max(reducing_passes);
        // A scatter always gets a pass without reductions.
        if body.iter().any(|t| matches!(t.inst, Inst::Scatter { .. }) && t.level == Level::Full) {
            passes = reducing_passes + 1;
        }
        // A load is postponed to its first use, but not past a store to the same memory.
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
        Phases { of, reducing_passes, passes }
    }

    /// Returns the pass in which a reduction accumulates.
    pub(crate) fn pass_of(&self, v: Val) -> u32 {
        self.of[v as usize] - 1
    }
}

/// Returns for each instruction whether a full-level one uses it.
pub(crate) fn used_at_full(kernel: &Kernel) -> Vec<bool> {
    let mut used = vec![false; kernel.body.len()];
    for t in &kernel.body {
        if t.level == Level::Full || matches!(t.inst, Inst::Reduce { .. }) {
            operands(&t.inst).into_iter().for_each(|a| used[a as usize] = true);
        }
    }
    used
}
