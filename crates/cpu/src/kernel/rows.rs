//! Some rows of a block's threads at a time. Threads between two barriers are in no order.
//!
//! *Pairs*: what both rows read is read once, and where a row has one chain of sums, of which each waits for the one
//! before, there are two. Known as unroll-and-jam (D. Callahan, S. Carr, K. Kennedy, "Improving Register Allocation for
//! Subscripted Variables", PLDI 1990). *Bands* of rows have more of memory on its way: a machine fetches ahead what
//! follows in a page, each row from a page of its own.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::Result;
use cuprous_kernel::ir::{Expr, Function, Kind, Stmt, StmtKind, each_expr, each_stmt};
use cuprous_kernel::lanes::Class;
use smallvec::SmallVec;

use super::function::Body;
use super::plan::{Neighbours, Plan};
use super::regions::{Region, Work};
use super::values::parts;

/// Bytes a lane of what a loop may carry from turn to turn: four vectors, and eight of two rows, of sixteen registers.
const CARRIED: usize = 4;
/// Vectors' loads of a statement.
const LOADS: usize = 2;

/// Rows of a band. More of them would meet in the cache, where their lengths are multiples of a page.
const BAND: i64 = 4;
/// What vectors of a band may read and write, and what it may have of expressions.
const STREAMS: std::ops::RangeInclusive<usize> = 2..=12;
const PARTS: usize = 200;

/// The variables of a row of threads.
pub(super) struct Row {
    vars: Vec<SmallVec<[Variable; 4]>>,
    wide: Vec<SmallVec<[Variable; 8]>>,
    y: Variable,
}

impl Plan {
    /// Whether two rows at a time make a region faster: it has loops that all threads go through alike and that carry one
    /// chain of sums, and nothing else makes threads differ in what they do.
    pub(super) fn pairs(&self, function: &Function, body: &[Stmt]) -> bool {
        let mut carried = 0;
        let loops = body.iter().any(|stmt| matches!(stmt.kind, StmtKind::For { .. }));
        loops && self.stays(function, body, false, &mut carried) && (1..=CARRIED).contains(&carried)
    }

    fn stays(&self, function: &Function, body: &[Stmt], inner: bool, carried: &mut usize) -> bool {
        let mut seen = Vec::new();
        body.iter().all(|stmt| match &stmt.kind {
            StmtKind::Assign(v, e) => {
                let each = self.lanes.vars[*v] == Class::Each;
                if inner && each && !seen.contains(v) {
                    seen.push(*v);
                    *carried += function.vars[*v].ty.item_size();
                }
                !self.lanes.is_guess(*v, e) && self.is_plain(&[e])
            }
            StmtKind::Store { indices, value, .. } => self.is_plain(&indices.iter().chain([value]).collect::<Vec<_>>()),
            StmtKind::For { var, start, stop, step, body } => {
                let same = [start, stop, step].into_iter().all(|e| self.lanes.class(e) == Class::Block);
                same && self.lanes.vars[*var] == Class::Block && self.stays(function, body, true, carried)
            }
            _ => false,
        })
    }

    /// Whether vectors' registers suffice for what a statement reads.
    fn is_plain(&self, all: &[&Expr]) -> bool {
        fn loads(plan: &Plan, e: &Expr) -> usize {
            let mut count = usize::from(matches!(e.kind, Kind::Load(..)) && plan.lanes.class(e) == Class::Each);
            e.parts(&mut |part| count += loads(plan, part));
            count
        }
        all.iter().map(|e| loads(self, e)).sum::<usize>() <= LOADS
    }

    /// Whether bands of rows make a kernel faster: its rows are those of the grid, and it does little but read and write.
    pub(super) fn has_streams(&self, body: &[Stmt]) -> bool {
        let (mut streams, mut parts, mut rows, mut loops) = (0, 0, false, false);
        let steps = |i: &Expr| matches!(self.lanes.class(i), Class::Step(_));
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
        self.neighbours == Neighbours::AsOne && rows && !loops && STREAMS.contains(&streams) && parts <= PARTS
    }
}

impl Body<'_, '_, '_> {
    /// A kernel's rows in bands: the first row that is in none.
    pub(super) fn bands(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<Value> {
        let top = self.b.declare_var(types::I32);
        let zero = self.b.ins().iconst(types::I32, 0);
        let band = self.begin(top, zero);
        self.inside(band, BAND, self.places[1][1]);
        let first = self.row_of_groups(&mut |this| {
            for row in 0..BAND {
                let y = this.b.use_var(top);
                let y = this.b.ins().iadd_imm_s(y, row);
                this.b.def_var(this.thread[1], y);
                this.group(plan, region, body)?;
            }
            Ok(())
        })?;
        let y = self.b.use_var(top);
        let row = self.begin(self.thread[1], y);
        let end = self.b.ins().iadd_imm_s(y, BAND);
        self.inside(row, 1, end);
        self.rest_of_row(plan, region, Work::Statements(body), first)?;
        self.next(row, 1);
        self.next(band, BAND);
        Ok(self.b.use_var(top))
    }

    /// The region for a group of lanes in the row that comes and the one after it.
    pub(super) fn pair(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<()> {
        let mut other = self.other_row(plan);
        let next = self.b.use_var(self.thread[1]);
        let next = self.b.ins().iadd_imm_s(next, 1);
        self.b.def_var(other.y, next);
        for _ in 0..2 {
            self.begin_group(plan, region)?;
            self.change_row(&mut other);
        }
        self.both(plan, body, &mut other)?;
        for _ in 0..2 {
            self.end_group(plan, region);
            self.change_row(&mut other);
        }
        Ok(())
    }

    /// Statements, each for both rows before the next one; what is the same for the block, once.
    fn both(&mut self, plan: &Plan, body: &[Stmt], other: &mut Row) -> Result<()> {
        for stmt in body {
            match &stmt.kind {
                StmtKind::For { var, start, stop, step, body } => {
                    self.count(*var, [start, stop, step], &mut |this| this.both(plan, body, other))?;
                }
                StmtKind::Assign(v, _) if plan.lanes.vars[*v] == Class::Block => {
                    self.wide_block(plan, std::slice::from_ref(stmt))?;
                }
                _ => {
                    for _ in 0..2 {
                        self.wide_block(plan, std::slice::from_ref(stmt))?;
                        self.change_row(other);
                    }
                }
            }
        }
        Ok(())
    }

    /// Variables for a second row: those of the block are the same.
    fn other_row(&mut self, plan: &Plan) -> Row {
        let mut vars = self.vars.clone();
        let mut wide = self.wide.clone();
        for v in (0..vars.len()).filter(|&v| plan.lanes.vars[v] != Class::Block) {
            vars[v] = parts(&self.function.vars[v].ty).iter().map(|&t| self.b.declare_var(t)).collect();
            wide[v].clear();
        }
        Row { vars, wide, y: self.b.declare_var(types::I32) }
    }

    fn change_row(&mut self, other: &mut Row) {
        std::mem::swap(&mut self.vars, &mut other.vars);
        std::mem::swap(&mut self.wide, &mut other.wide);
        std::mem::swap(&mut self.thread[1], &mut other.y);
    }
}
