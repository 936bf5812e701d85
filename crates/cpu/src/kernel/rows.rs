//! Runs several rows of a block's threads at once. The order of threads between two barriers is free.
//!
//! *Pairs*: values that both rows use are read once, and two independent chains of sums hide the latency of additions.
//! This is unroll-and-jam (D. Callahan, S. Carr, K. Kennedy, "Improving Register Allocation for Subscripted Variables",
//! PLDI 1990). *Bands* of rows keep more memory accesses in flight: hardware prefetches within a page, and each row has
//! its own page.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::Result;
use cuprous_kernel::ir::{Expr, Function, Kind, Stmt, StmtKind, each_expr, each_stmt};
use cuprous_kernel::uniformity::Divergence;
use smallvec::SmallVec;

use super::function::FunctionCompiler;
use super::plan::{BlockGrouping, Plan};
use super::regions::{Region, Work};
use super::values::parts;

/// Bytes per lane that a loop may carry between iterations: four vectors, eight for two rows, of sixteen registers.
const MAX_CARRIED_BYTES: usize = 4;
/// Maximum number of vector loads in a statement.
const MAX_LOADS: usize = 2;

/// Number of rows in a band. More rows would conflict in the cache if their length is a multiple of a page.
const BAND_ROWS: i64 = 4;
/// Limits of a band: the number of vector loads and stores, and the number of expression parts.
const BAND_STREAMS: std::ops::RangeInclusive<usize> = 2..=12;
const MAX_BAND_PARTS: usize = 200;

/// The variables of a row of threads.
pub(super) struct Row {
    vars: Vec<SmallVec<[Variable; 4]>>,
    wide: Vec<SmallVec<[Variable; 8]>>,
    y: Variable,
}

impl Plan {
    /// Returns true if running two rows at once makes a region faster: it has loops that are the same for all threads
    /// and carry one chain of sums, and threads do not otherwise diverge.
    pub(super) fn can_pair_rows(&self, function: &Function, body: &[Stmt]) -> bool {
        let mut carried = 0;
        let loops = body.iter().any(|stmt| matches!(stmt.kind, StmtKind::For { .. }));
        loops && self.can_interleave(function, body, false, &mut carried) && (1..=MAX_CARRIED_BYTES).contains(&carried)
    }

    fn can_interleave(&self, function: &Function, body: &[Stmt], inner: bool, carried: &mut usize) -> bool {
        let mut seen = Vec::new();
        body.iter().all(|stmt| match &stmt.kind {
            StmtKind::Assign(v, e) => {
                let each = self.lanes.vars[*v] == Divergence::Varying;
                if inner && each && !seen.contains(v) {
                    seen.push(*v);
                    *carried += function.vars[*v].ty.item_size();
                }
                !self.lanes.is_guess(*v, e) && self.is_plain(&[e])
            }
            StmtKind::Store { indices, value, .. } => self.is_plain(&indices.iter().chain([value]).collect::<Vec<_>>()),
            StmtKind::For { var, start, stop, step, body } => {
                let same =
                    [start, stop, step].into_iter().all(|e| self.lanes.divergence(e) == Divergence::BlockUniform);
                same && self.lanes.vars[*var] == Divergence::BlockUniform
                    && self.can_interleave(function, body, true, carried)
            }
            _ => false,
        })
    }

    /// Returns true if there are enough vector registers for the loads of a statement.
    fn is_plain(&self, all: &[&Expr]) -> bool {
        fn loads(plan: &Plan, e: &Expr) -> usize {
            let mut count =
                usize::from(matches!(e.kind, Kind::Load(..)) && plan.lanes.divergence(e) == Divergence::Varying);
            e.each_operand(&mut |part| count += loads(plan, part));
            count
        }
        all.iter().map(|e| loads(self, e)).sum::<usize>() <= MAX_LOADS
    }

    /// Returns true if bands of rows make a kernel faster: its rows are those of the grid, and it mostly reads and
    /// writes memory.
    pub(super) fn is_streaming(&self, body: &[Stmt]) -> bool {
        let (mut streams, mut parts, mut rows, mut loops) = (0, 0, false, false);
        let steps = |i: &Expr| matches!(self.lanes.divergence(i), Divergence::Linear(_));
        each_stmt(body, &mut |stmt| match &stmt.kind {
            StmtKind::For { .. } | StmtKind::While { .. } => loops = true,
            StmtKind::Store { indices, .. } => streams += usize::from(indices.last().is_some_and(steps)),
            _ => {}
        });
        each_expr(body, &mut |e| {
            parts += 1;
            match &e.kind {
                Kind::Load(_, indices) => streams += usize::from(indices.last().is_some_and(steps)),
                Kind::Builtin(row, _) => rows |= row.host == "@threadIdx.y",
                _ => {}
            }
        });
        self.grouping == BlockGrouping::Merged
            && rows
            && !loops
            && BAND_STREAMS.contains(&streams)
            && parts <= MAX_BAND_PARTS
    }
}

impl FunctionCompiler<'_, '_, '_> {
    /// Compiles rows in bands. Returns the first row that is not in a band.
    pub(super) fn bands(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<Value> {
        let top = self.b.declare_var(types::I32);
        let zero = self.b.ins().iconst(types::I32, 0);
        let band = self.begin_loop(top, zero);
        self.loop_while(band, BAND_ROWS, self.launch_dims[1][1]);
        let first = self.groups_of_row(&mut |this| {
            for row in 0..BAND_ROWS {
                let y = this.b.use_var(top);
                let y = this.b.ins().iadd_imm_s(y, row);
                this.b.def_var(this.thread[1], y);
                this.group(plan, region, body)?;
            }
            Ok(())
        })?;
        let y = self.b.use_var(top);
        let row = self.begin_loop(self.thread[1], y);
        let end = self.b.ins().iadd_imm_s(y, BAND_ROWS);
        self.loop_while(row, 1, end);
        self.remaining_threads(plan, region, Work::Statements(body), first)?;
        self.next_iteration(row, 1);
        self.next_iteration(band, BAND_ROWS);
        Ok(self.b.use_var(top))
    }

    /// Compiles a group of lanes for the current row and the next one.
    pub(super) fn row_pair(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<()> {
        let mut other = self.second_row(plan);
        let next = self.b.use_var(self.thread[1]);
        let next = self.b.ins().iadd_imm_s(next, 1);
        self.b.def_var(other.y, next);
        for _ in 0..2 {
            self.enter_group(plan, region)?;
            self.swap_rows(&mut other);
        }
        self.interleave_rows(plan, body, &mut other)?;
        for _ in 0..2 {
            self.leave_group(plan, region);
            self.swap_rows(&mut other);
        }
        Ok(())
    }

    /// Compiles each statement for both rows before the next statement. Statements that are the same for the block are
    /// compiled once.
    fn interleave_rows(&mut self, plan: &Plan, body: &[Stmt], other: &mut Row) -> Result<()> {
        for stmt in body {
            match &stmt.kind {
                StmtKind::For { var, start, stop, step, body } => {
                    self.count(*var, [start, stop, step], &mut |this| this.interleave_rows(plan, body, other))?;
                }
                StmtKind::Assign(v, _) if plan.lanes.vars[*v] == Divergence::BlockUniform => {
                    self.wide_block(plan, std::slice::from_ref(stmt))?;
                }
                _ => {
                    for _ in 0..2 {
                        self.wide_block(plan, std::slice::from_ref(stmt))?;
                        self.swap_rows(other);
                    }
                }
            }
        }
        Ok(())
    }

    /// Creates the variables of a second row. Variables of the block are shared.
    fn second_row(&mut self, plan: &Plan) -> Row {
        let mut vars = self.vars.clone();
        let mut wide = self.wide.clone();
        for v in (0..vars.len()).filter(|&v| plan.lanes.vars[v] != Divergence::BlockUniform) {
            vars[v] = parts(&self.function.vars[v].ty).iter().map(|&t| self.b.declare_var(t)).collect();
            wide[v].clear();
        }
        Row { vars, wide, y: self.b.declare_var(types::I32) }
    }

    fn swap_rows(&mut self, other: &mut Row) {
        std::mem::swap(&mut self.vars, &mut other.vars);
        std::mem::swap(&mut self.wide, &mut other.wide);
        std::mem::swap(&mut self.thread[1], &mut other.y);
    }
}
