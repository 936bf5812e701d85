//! All threads of a block by one function: a region without barriers is a loop over the threads, and what a thread knows
//! beyond the region's end is kept for it in memory, the *context*.
//!
//! Kernels without barriers are one region. Barriers divide the others where all threads of a block come to them, which is
//! so where the choices around them are the same for all; such choices and loops are made once for the block. Known as
//! deep fission (J. Stratton, S. Stone, W. Hwu, "MCUDA: An Efficient Implementation of CUDA Kernels for Multi-Core CPUs",
//! LCPC 2008) and as parallel region formation (P. Jääskeläinen et al., "pocl: A Performance-Portable OpenCL
//! Implementation", Int. J. Parallel Programming 43, 2015). All other kernels are [`super::fibers`].

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::Result;
use cuprous_kernel::ir::{Expr, Space, Stmt, StmtKind};
use cuprous_kernel::lanes::{Class, exposed, occurrences};
use cuprous_kernel::table::Row;

use super::env::offset;
use super::function::Body;
use super::plan::{Neighbours, Piece, Plan, names, pieces};
use super::values::{Values, array_bytes, parts};
use super::vector::WIDTH;

/// What is done for each thread of a region.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    Statements(&'a [Stmt]),
    /// Adds up answers of all threads.
    Vote(&'a Expr, &'static Row, Variable),
}

/// What threads of a region begin with and leave.
pub(super) struct Region {
    /// Variables that begin with what was there before the first thread.
    again: Vec<(usize, Values)>,
    /// Variables that the context has, and those of them that the region assigns.
    kept: Vec<usize>,
    left: Vec<usize>,
    /// What follows from a thread's place.
    known: Vec<Stmt>,
}

/// A loop that is being written: its counter, head and end.
pub(super) type Turn = (Variable, Block, Block);

impl Body<'_, '_, '_> {
    fn plan(&self) -> Option<Rc<Plan>> {
        self.shared.plan.clone()
    }

    /// The threads of a block.
    pub(super) fn write_block(&mut self) -> Result<()> {
        if let Some(plan) = self.plan()
            && plan.divided
        {
            self.context = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::CONTEXT);
            if plan.clear {
                let bytes = self.b.ins().iconst(types::I64, plan.bytes as i64);
                self.call_library("host_clear", &[self.context, bytes], None)?;
            }
        }
        self.level = true;
        self.block(&self.function.body)?;
        self.b.ins().return_(&[]);
        Ok(())
    }

    /// Statements of the block itself, with regions between them.
    pub(super) fn level(&mut self, body: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        if !plan.divided {
            return self.run(Work::Statements(body), body);
        }
        for piece in pieces(body, &plan.lanes) {
            match piece {
                Piece::Run(part) if part.iter().all(|stmt| plan.is_known(stmt)) => {}
                Piece::Run(part) => self.run(Work::Statements(part), part)?,
                Piece::Level(stmt) => self.stmt(&stmt.kind)?,
                Piece::Barrier(stmt, row, asked) => {
                    if let Some(asked) = asked {
                        let sum = self.b.declare_var(types::I32);
                        let first = self.b.ins().iconst(types::I32, i64::from(row.host == "@syncthreads_and"));
                        self.b.def_var(sum, first);
                        self.run(Work::Vote(asked, row, sum), std::slice::from_ref(stmt))?;
                        self.answer = Some(self.b.use_var(sum));
                    }
                    if matches!(stmt.kind, StmtKind::Assign(..)) {
                        self.stmt(&stmt.kind)?;
                    }
                    self.answer = None;
                }
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, counter: Variable, first: Value) -> Turn {
        self.b.def_var(counter, first);
        let (head, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        (counter, head, end)
    }

    /// Goes on while the last of the next `lanes` threads is one of the block's.
    pub(super) fn inside(&mut self, (counter, _, end): Turn, lanes: i64, extent: Value) {
        let body = self.b.create_block();
        let at = self.b.use_var(counter);
        let last = if lanes == 1 { at } else { self.b.ins().iadd_imm_s(at, lanes - 1) };
        let more = self.b.ins().icmp(IntCC::SignedLessThan, last, extent);
        self.enter(more, body, end);
        self.b.switch_to_block(body);
    }

    pub(super) fn next(&mut self, (counter, head, end): Turn, lanes: i64) {
        let at = self.b.use_var(counter);
        let at = self.b.ins().iadd_imm_s(at, lanes);
        self.b.def_var(counter, at);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
    }

    /// What threads of a region begin with and leave; `part` is what it reads and assigns.
    fn region(&mut self, plan: &Plan, part: &[Stmt], assigns: bool) -> Region {
        let counts = occurrences(part, plan.total.len());
        let open = exposed(part);
        let (mut assigned, used) = names(part);
        if !assigns {
            assigned.clear();
        }
        let kept: Vec<usize> = used.iter().copied().filter(|&v| plan.context[v].is_some()).collect();
        let left = kept.iter().copied().filter(|v| assigned.contains(v)).collect();
        let again = used
            .iter()
            .copied()
            .filter(|v| plan.context[*v].is_none() && (assigned.contains(v) || *v < self.function.params))
            .filter(|v| (plan.lanes.vars[*v] == Class::Block && counts[*v] != plan.total[*v]) || open.contains(v))
            .map(|v| {
                let own = v >= self.function.params && plan.lanes.vars[v] != Class::Block;
                let first = if own { self.zeros(v) } else { self.get(v) };
                (v, first)
            })
            .collect();
        let mut known: Vec<usize> = open.into_iter().filter(|&v| plan.lanes.vars[v] != Class::Block).collect();
        known.sort_unstable();
        let known = known.into_iter().filter_map(|v| Some(StmtKind::Assign(v, plan.places.get(v)?.clone())));
        let known = known.map(|kind| Stmt { line: 0, kind }).collect();
        Region { again, kept, left, known }
    }

    /// A region: its work for each thread of the block. `part` is what it reads and assigns.
    fn run(&mut self, work: Work<'_>, part: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        let region = self.region(plan, part, matches!(work, Work::Statements(_)));
        let vectors = match work {
            Work::Statements(body) if self.is_worth(plan, body) => Some(body),
            _ => None,
        };
        self.groups = vectors.is_some();
        let dims = self.places[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let layer = self.begin(self.thread[2], zero);
        self.inside(layer, 1, dims[2]);
        self.level = false;
        if plan.columns {
            self.by_columns(plan, &region, work, vectors)?;
        } else {
            let top = match vectors {
                Some(body) if plan.has_streams(body) => self.bands(plan, &region, body)?,
                _ => zero,
            };
            let row = self.begin(self.thread[1], top);
            self.inside(row, 1, dims[1]);
            let strip = (plan.neighbours == Neighbours::InTurn).then(|| self.next_block());
            let first = match vectors {
                Some(body) => self.row_of_groups(&mut |this| this.group(plan, &region, body))?,
                None => zero,
            };
            self.rest_of_row(plan, &region, work, first)?;
            if let Some(turn) = strip {
                self.block_x = None;
                self.next(turn, 1);
            }
            self.next(row, 1);
        }
        self.next(layer, 1);
        self.level = true;
        self.groups = false;
        Ok(())
    }

    /// Groups of lanes side by side: the first thread that is in none.
    pub(super) fn row_of_groups(&mut self, group: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<Value> {
        let zero = self.b.ins().iconst(types::I32, 0);
        let turn = self.begin(self.thread[0], zero);
        self.inside(turn, WIDTH, self.width);
        group(self)?;
        self.next(turn, WIDTH);
        Ok(self.b.use_var(self.thread[0]))
    }

    /// The threads of a row from one on, each by itself.
    pub(super) fn rest_of_row(&mut self, plan: &Plan, region: &Region, work: Work<'_>, first: Value) -> Result<()> {
        let turn = self.begin(self.thread[0], first);
        self.inside(turn, 1, self.width);
        self.one_thread(plan, region, work)?;
        self.next(turn, 1);
        Ok(())
    }

    /// The rows of a layer one below the other, for lanes after lanes: what follows from a thread's column is found once.
    fn by_columns(&mut self, plan: &Plan, region: &Region, work: Work<'_>, vectors: Option<&[Stmt]>) -> Result<()> {
        let [width, height, _] = self.places[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let mut first = zero;
        if let Some(body) = vectors {
            let group = self.begin(self.thread[0], zero);
            self.inside(group, WIDTH, width);
            let mut top = zero;
            if plan.pairs(self.function, body) {
                let pair = self.begin(self.thread[1], zero);
                self.inside(pair, 2, height);
                self.pair(plan, region, body)?;
                self.next(pair, 2);
                top = self.b.use_var(self.thread[1]);
            }
            let row = self.begin(self.thread[1], top);
            self.inside(row, 1, height);
            self.group(plan, region, body)?;
            self.next(row, 1);
            self.next(group, WIDTH);
            first = self.b.use_var(self.thread[0]);
        }
        let turn = self.begin(self.thread[0], first);
        self.inside(turn, 1, width);
        let row = self.begin(self.thread[1], zero);
        self.inside(row, 1, height);
        self.one_thread(plan, region, work)?;
        self.next(row, 1);
        self.next(turn, 1);
        Ok(())
    }

    /// A loop over blocks that are run together, a row of each in turn.
    fn next_block(&mut self) -> Turn {
        let counter = self.b.declare_var(types::I32);
        let turn = self.begin(counter, self.places[0][0]);
        self.inside(turn, 1, self.last_block);
        let at = self.b.use_var(counter);
        self.block_x = Some(at);
        if self.shared.ir.functions.len() > 1 {
            // Functions that are called look there.
            self.b.ins().store(Self::trusted(), at, self.env, offset::BLOCK);
        }
        turn
    }

    /// A group of lanes.
    pub(super) fn group(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<()> {
        self.begin_group(plan, region)?;
        self.wide_block(plan, body)?;
        self.end_group(plan, region);
        Ok(())
    }

    /// What a group of lanes begins with.
    pub(super) fn begin_group(&mut self, plan: &Plan, region: &Region) -> Result<()> {
        for (v, values) in &region.again {
            self.start_wide(plan, *v, values);
        }
        let thread = self.number_of_thread(&region.kept);
        for &v in &region.kept {
            self.load_wide(plan, v, thread);
        }
        self.wide_block(plan, &region.known)
    }

    /// What a group of lanes leaves.
    pub(super) fn end_group(&mut self, plan: &Plan, region: &Region) {
        let thread = self.number_of_thread(&region.left);
        for &v in &region.left {
            self.store_wide(plan, v, thread);
        }
    }

    /// A thread's work.
    fn one_thread(&mut self, plan: &Plan, region: &Region, work: Work<'_>) -> Result<()> {
        let after = self.b.create_block();
        for (v, values) in &region.again {
            self.set(*v, values);
        }
        let thread = self.number_of_thread(&region.kept);
        self.place_local_arrays(plan);
        for &v in &region.kept {
            let values = self.kept_at(plan, v, thread);
            let types = parts(&self.function.vars[v].ty);
            let values: Values =
                values.iter().zip(types).map(|(&at, t)| self.b.ins().load(t, Self::trusted(), at, 0)).collect();
            self.set(v, &values);
        }
        self.block(&region.known)?;
        self.next_thread = Some(after);
        match work {
            Work::Statements(body) => self.block(body)?,
            Work::Vote(asked, row, sum) => {
                let value = self.one(asked)?;
                let said = self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                let said = self.resize(said, types::I32, false);
                let old = self.b.use_var(sum);
                let new = match row.host {
                    "@syncthreads_count" => self.b.ins().iadd(old, said),
                    "@syncthreads_and" => self.b.ins().band(old, said),
                    _ => self.b.ins().bor(old, said),
                };
                self.b.def_var(sum, new);
            }
        }
        for &v in &region.left {
            let (places, values) = (self.kept_at(plan, v, thread), self.get(v));
            for (&at, &value) in places.iter().zip(&values) {
                self.b.ins().store(Self::trusted(), value, at, 0);
            }
        }
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        self.next_thread = None;
        Ok(())
    }

    pub(super) fn zeros(&mut self, v: usize) -> Values {
        parts(&self.function.vars[v].ty).iter().map(|&t| self.zero(t)).collect()
    }

    /// The thread's number in its block, where somebody asks for it.
    fn number_of_thread(&mut self, kept: &[usize]) -> Value {
        if kept.is_empty() {
            return self.context;
        }
        let linear = self.linear();
        self.b.ins().uextend(types::I64, linear)
    }

    /// Where the context has the parts of a variable.
    pub(super) fn kept_at(&mut self, plan: &Plan, v: usize, thread: Value) -> Values {
        let types = parts(&self.function.vars[v].ty);
        let places = plan.context[v].as_deref().unwrap_or_default();
        let mut all = Values::new();
        for (t, &place) in types.iter().zip(places) {
            let far = self.b.ins().imul_imm_s(thread, i64::from(t.bytes()));
            let at = self.b.ins().iadd(self.context, far);
            all.push(self.b.ins().iadd_imm_s(at, place as i64));
        }
        all
    }

    /// Arrays that a thread has of its own in each of the regions lie behind the context.
    fn place_local_arrays(&mut self, plan: &Plan) {
        if !plan.divided || plan.local == 0 {
            return;
        }
        let linear = self.linear();
        let thread = self.b.ins().uextend(types::I64, linear);
        let far = self.b.ins().imul_imm_s(thread, plan.local as i64);
        let base = self.b.ins().iadd(self.context, far);
        let mut start = plan.bytes.next_multiple_of(128);
        for (k, array) in self.function.arrays.iter().enumerate() {
            if array.space == Space::Local {
                self.arrays[k][0] = self.b.ins().iadd_imm_s(base, start as i64);
                start += array_bytes(array);
            }
        }
    }
}
