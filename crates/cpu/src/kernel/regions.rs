//! Compiles all threads of a block to one function. A region without barriers is a loop over the threads. Variables
//! that a thread uses in several regions are kept in memory, the *context*.
//!
//! A kernel without barriers is one region. Barriers divide other kernels if all threads of a block reach them, that
//! is, if the conditions of enclosing branches and loops are the same for all threads. Such branches and loops run once
//! for the block. The method is known as deep fission (J. Stratton, S. Stone, W. Hwu, "MCUDA: An Efficient
//! Implementation of CUDA Kernels for Multi-Core CPUs", LCPC 2008) and as parallel region formation (P. Jääskeläinen et
//! al., "pocl: A Performance-Portable OpenCL Implementation", Int. J. Parallel Programming 43, 2015). All other kernels
//! use [`super::coroutines`].

use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::Result;
use cuprous_kernel::builtin::Builtin;
use cuprous_kernel::flow::{occurrences, upward_exposed};
use cuprous_kernel::ir::{Expr, Space, Stmt, StmtKind};
use cuprous_kernel::uniformity::Divergence;

use super::env::offset;
use super::function::FunctionCompiler;
use super::plan::{BlockGrouping, Part, Plan, assigned_and_named, split_at_barriers};
use super::values::{Values, array_bytes, parts};
use super::vector::WIDTH;

/// The work of each thread in a region.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    Statements(&'a [Stmt]),
    /// Combines the votes of all threads.
    Vote(&'a Expr, &'static Builtin, Variable),
}

/// The variables that threads of a region read at its start and write at its end.
pub(super) struct Region {
    /// Variables that each thread starts with the value from before the first thread.
    initial: Vec<(usize, Values)>,
    /// Variables in the context that the region uses, and those of them that it assigns.
    kept: Vec<usize>,
    written_back: Vec<usize>,
    /// Assignments of variables that are recomputed from the thread index.
    rematerialized: Vec<Stmt>,
}

/// A loop that is being compiled: its counter, header and end.
pub(super) type Loop = (Variable, Block, Block);

impl FunctionCompiler<'_, '_, '_> {
    fn plan(&self) -> Option<Rc<Plan>> {
        self.shared.plan.clone()
    }

    /// Compiles the threads of a block.
    pub(super) fn write_block(&mut self) -> Result<()> {
        if let Some(plan) = self.plan()
            && plan.is_divided
        {
            self.context = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::CONTEXT);
            if plan.clears_context {
                let bytes = self.b.ins().iconst(types::I64, plan.bytes as i64);
                self.call_library("host_clear", &[self.context, bytes], None)?;
            }
        }
        self.at_block_level = true;
        self.block(&self.function.body)?;
        self.b.ins().return_(&[]);
        Ok(())
    }

    /// Compiles statements of the block, with regions between them.
    pub(super) fn block_level(&mut self, body: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        if !plan.is_divided {
            return self.run(Work::Statements(body), body);
        }
        for piece in split_at_barriers(body, &plan.lanes) {
            match piece {
                Part::Region(part) if part.iter().all(|stmt| plan.is_rematerialized(stmt)) => {}
                Part::Region(part) => self.run(Work::Statements(part), part)?,
                Part::BlockLevel(stmt) => self.stmt(&stmt.kind)?,
                Part::Barrier(stmt, row, operand) => {
                    if let Some(operand) = operand {
                        let sum = self.b.declare_var(types::I32);
                        let first = self.b.ins().iconst(types::I32, i64::from(row.host == "@syncthreads_and"));
                        self.b.def_var(sum, first);
                        self.run(Work::Vote(operand, row, sum), std::slice::from_ref(stmt))?;
                        self.barrier_result = Some(self.b.use_var(sum));
                    }
                    if matches!(stmt.kind, StmtKind::Assign(..)) {
                        self.stmt(&stmt.kind)?;
                    }
                    self.barrier_result = None;
                }
            }
        }
        Ok(())
    }

    /// Starts a loop whose counter begins at `first`.
    pub(super) fn begin_loop(&mut self, counter: Variable, first: Value) -> Loop {
        self.b.def_var(counter, first);
        let (head, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        (counter, head, end)
    }

    /// Continues the loop while the last of the next `lanes` threads is below `extent`.
    pub(super) fn loop_while(&mut self, (counter, _, end): Loop, lanes: i64, extent: Value) {
        let body = self.b.create_block();
        let at = self.b.use_var(counter);
        let last = if lanes == 1 { at } else { self.b.ins().iadd_imm_s(at, lanes - 1) };
        let more = self.b.ins().icmp(IntCC::SignedLessThan, last, extent);
        self.enter(more, body, end);
        self.b.switch_to_block(body);
    }

    /// Ends an iteration, which adds `lanes` to the counter.
    pub(super) fn next_iteration(&mut self, (counter, head, end): Loop, lanes: i64) {
        let at = self.b.use_var(counter);
        let at = self.b.ins().iadd_imm_s(at, lanes);
        self.b.def_var(counter, at);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
    }

    /// Returns the variables that threads of a region start with and write back. `part` has the statements of the
    /// region.
    fn region(&mut self, plan: &Plan, part: &[Stmt], assigns: bool) -> Region {
        let counts = occurrences(part, plan.occurrences.len());
        let open = upward_exposed(part);
        let (mut assigned, used) = assigned_and_named(part);
        if !assigns {
            assigned.clear();
        }
        let kept: Vec<usize> = used.iter().copied().filter(|&v| plan.context[v].is_some()).collect();
        let written_back = kept.iter().copied().filter(|v| assigned.contains(v)).collect();
        let initial = used
            .iter()
            .copied()
            .filter(|v| plan.context[*v].is_none() && (assigned.contains(v) || *v < self.function.params))
            .filter(|v| {
                (plan.lanes.vars[*v] == Divergence::BlockUniform && counts[*v] != plan.occurrences[*v])
                    || open.contains(v)
            })
            .map(|v| {
                let own = v >= self.function.params && plan.lanes.vars[v] != Divergence::BlockUniform;
                let first = if own { self.zeros(v) } else { self.get(v) };
                (v, first)
            })
            .collect();
        let mut rematerialized: Vec<usize> =
            open.into_iter().filter(|&v| plan.lanes.vars[v] != Divergence::BlockUniform).collect();
        rematerialized.sort_unstable();
        let rematerialized =
            rematerialized.into_iter().filter_map(|v| Some(StmtKind::Assign(v, plan.rematerialized.get(v)?.clone())));
        let rematerialized = rematerialized.map(|kind| Stmt { line: 0, kind }).collect();
        Region { initial, kept, written_back, rematerialized }
    }

    /// Compiles a region: a loop over the threads of the block. `part` has the statements of the region.
    fn run(&mut self, work: Work<'_>, part: &[Stmt]) -> Result<()> {
        let Some(plan) = self.plan() else { return Ok(()) };
        let plan = &*plan;
        let region = self.region(plan, part, matches!(work, Work::Statements(_)));
        let vectors = match work {
            Work::Statements(body) if self.is_worth_vectorizing(plan, body) => Some(body),
            _ => None,
        };
        self.in_lane_groups = vectors.is_some();
        let dims = self.launch_dims[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let layer = self.begin_loop(self.thread[2], zero);
        self.loop_while(layer, 1, dims[2]);
        self.at_block_level = false;
        if plan.by_columns {
            self.columns_of_layer(plan, &region, work, vectors)?;
        } else {
            let top = match vectors {
                Some(body) if plan.is_streaming(body) => self.bands(plan, &region, body)?,
                _ => zero,
            };
            let row = self.begin_loop(self.thread[1], top);
            self.loop_while(row, 1, dims[1]);
            let interleaved = (plan.grouping == BlockGrouping::Interleaved).then(|| self.blocks_of_row());
            let first = match vectors {
                Some(body) => self.groups_of_row(&mut |this| this.group(plan, &region, body))?,
                None => zero,
            };
            self.remaining_threads(plan, &region, work, first)?;
            if let Some(iteration) = interleaved {
                self.block_x = None;
                self.next_iteration(iteration, 1);
            }
            self.next_iteration(row, 1);
        }
        self.next_iteration(layer, 1);
        self.at_block_level = true;
        self.in_lane_groups = false;
        Ok(())
    }

    /// Compiles the groups of lanes of a row. Returns the first thread that is not in a group.
    pub(super) fn groups_of_row(&mut self, group: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<Value> {
        let zero = self.b.ins().iconst(types::I32, 0);
        let iteration = self.begin_loop(self.thread[0], zero);
        self.loop_while(iteration, WIDTH, self.width);
        group(self)?;
        self.next_iteration(iteration, WIDTH);
        Ok(self.b.use_var(self.thread[0]))
    }

    /// Compiles the threads of a row from `first` on, one by one.
    pub(super) fn remaining_threads(
        &mut self,
        plan: &Plan,
        region: &Region,
        work: Work<'_>,
        first: Value,
    ) -> Result<()> {
        let iteration = self.begin_loop(self.thread[0], first);
        self.loop_while(iteration, 1, self.width);
        self.scalar_thread(plan, region, work)?;
        self.next_iteration(iteration, 1);
        Ok(())
    }

    /// Compiles the rows of a layer for one group of columns after the other, so that values that depend on the column
    /// are computed once.
    fn columns_of_layer(
        &mut self,
        plan: &Plan,
        region: &Region,
        work: Work<'_>,
        vectors: Option<&[Stmt]>,
    ) -> Result<()> {
        let [width, height, _] = self.launch_dims[1];
        let zero = self.b.ins().iconst(types::I32, 0);
        let mut first = zero;
        if let Some(body) = vectors {
            let group = self.begin_loop(self.thread[0], zero);
            self.loop_while(group, WIDTH, width);
            let mut top = zero;
            if plan.can_pair_rows(self.function, body) {
                let pair = self.begin_loop(self.thread[1], zero);
                self.loop_while(pair, 2, height);
                self.row_pair(plan, region, body)?;
                self.next_iteration(pair, 2);
                top = self.b.use_var(self.thread[1]);
            }
            let row = self.begin_loop(self.thread[1], top);
            self.loop_while(row, 1, height);
            self.group(plan, region, body)?;
            self.next_iteration(row, 1);
            self.next_iteration(group, WIDTH);
            first = self.b.use_var(self.thread[0]);
        }
        let iteration = self.begin_loop(self.thread[0], first);
        self.loop_while(iteration, 1, width);
        let row = self.begin_loop(self.thread[1], zero);
        self.loop_while(row, 1, height);
        self.scalar_thread(plan, region, work)?;
        self.next_iteration(row, 1);
        self.next_iteration(iteration, 1);
        Ok(())
    }

    /// Starts a loop over blocks that run together, one row of each in turn.
    fn blocks_of_row(&mut self) -> Loop {
        let counter = self.b.declare_var(types::I32);
        let iteration = self.begin_loop(counter, self.launch_dims[0][0]);
        self.loop_while(iteration, 1, self.last_block);
        let at = self.b.use_var(counter);
        self.block_x = Some(at);
        if self.shared.ir.functions.len() > 1 {
            // Called functions read the index from there.
            self.b.ins().store(Self::trusted(), at, self.env, offset::BLOCK);
        }
        iteration
    }

    /// Compiles a group of lanes.
    pub(super) fn group(&mut self, plan: &Plan, region: &Region, body: &[Stmt]) -> Result<()> {
        self.enter_group(plan, region)?;
        self.wide_block(plan, body)?;
        self.leave_group(plan, region);
        Ok(())
    }

    /// Compiles the start of a group of lanes.
    pub(super) fn enter_group(&mut self, plan: &Plan, region: &Region) -> Result<()> {
        for (v, values) in &region.initial {
            self.start_wide(plan, *v, values);
        }
        let thread = self.thread_number(&region.kept);
        for &v in &region.kept {
            self.load_wide(plan, v, thread);
        }
        self.wide_block(plan, &region.rematerialized)
    }

    /// Compiles the end of a group of lanes.
    pub(super) fn leave_group(&mut self, plan: &Plan, region: &Region) {
        let thread = self.thread_number(&region.written_back);
        for &v in &region.written_back {
            self.store_wide(plan, v, thread);
        }
    }

    /// Compiles a single thread.
    fn scalar_thread(&mut self, plan: &Plan, region: &Region, work: Work<'_>) -> Result<()> {
        let after = self.b.create_block();
        for (v, values) in &region.initial {
            self.set(*v, values);
        }
        let thread = self.thread_number(&region.kept);
        self.place_local_arrays(plan);
        for &v in &region.kept {
            let values = self.context_addresses(plan, v, thread);
            let types = parts(&self.function.vars[v].ty);
            let values: Values =
                values.iter().zip(types).map(|(&at, t)| self.b.ins().load(t, Self::trusted(), at, 0)).collect();
            self.set(v, &values);
        }
        self.block(&region.rematerialized)?;
        self.next_thread = Some(after);
        match work {
            Work::Statements(body) => self.block(body)?,
            Work::Vote(operand, row, sum) => {
                let value = self.value_of(operand)?;
                let is_true = self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                let is_true = self.resize(is_true, types::I32, false);
                let old = self.b.use_var(sum);
                let new = match row.host {
                    "@syncthreads_count" => self.b.ins().iadd(old, is_true),
                    "@syncthreads_and" => self.b.ins().band(old, is_true),
                    _ => self.b.ins().bor(old, is_true),
                };
                self.b.def_var(sum, new);
            }
        }
        for &v in &region.written_back {
            let (addresses, values) = (self.context_addresses(plan, v, thread), self.get(v));
            for (&at, &value) in addresses.iter().zip(&values) {
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

    /// Returns the thread's number in its block if some variable is kept.
    fn thread_number(&mut self, kept: &[usize]) -> Value {
        if kept.is_empty() {
            return self.context;
        }
        let thread_number_in_block = self.thread_number_in_block();
        self.b.ins().uextend(types::I64, thread_number_in_block)
    }

    /// Returns the addresses of a variable's parts in the context.
    pub(super) fn context_addresses(&mut self, plan: &Plan, v: usize, thread: Value) -> Values {
        let types = parts(&self.function.vars[v].ty);
        let addresses = plan.context[v].as_deref().unwrap_or_default();
        let mut all = Values::new();
        for (t, &offset) in types.iter().zip(addresses) {
            let far = self.b.ins().imul_imm_s(thread, i64::from(t.bytes()));
            let at = self.b.ins().iadd(self.context, far);
            all.push(self.b.ins().iadd_imm_s(at, offset as i64));
        }
        all
    }

    /// Places a thread's local arrays, which all regions use, behind the context.
    fn place_local_arrays(&mut self, plan: &Plan) {
        if !plan.is_divided || plan.local == 0 {
            return;
        }
        let thread_number_in_block = self.thread_number_in_block();
        let thread = self.b.ins().uextend(types::I64, thread_number_in_block);
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
