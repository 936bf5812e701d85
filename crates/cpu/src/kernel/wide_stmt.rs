//! Groups of lanes: statements. *Wide* code computes a value for a group of threads at once.
//!
//! The threads of a group differ only in `threadIdx.x`. They run in lockstep while control flow is uniform, which is
//! checked at every branch that might diverge. A divergent statement runs lane by lane instead. Masks are therefore not
//! needed, vector code need not be safe for inactive lanes, and operations without a vector form run lane by lane.

use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use cuprous_core::{DType, Fun, Kind as DTypeKind, Result};
use cuprous_kernel::flow::{has_return, region};
use cuprous_kernel::ir::{Expr, Kind, Stmt, StmtKind, any_expr, each_stmt};
use cuprous_kernel::types::Ty;
use cuprous_kernel::uniformity::Divergence;
use smallvec::SmallVec;

use super::function::FunctionCompiler;
use super::plan::{Plan, assigned_and_named};
use super::values::Values;
use super::vector::{Chunks, LaneValue, WIDTH, is_vector_type};

fn is_vector_ty(ty: &Ty) -> bool {
    ty.scalar().is_some_and(is_vector_type)
}

impl Plan {
    /// Returns true if an expression can be computed as vectors.
    pub(super) fn can_vectorize(&self, e: &Expr) -> bool {
        if self.lanes.divergence(e).is_uniform() {
            return true;
        }
        if !is_vector_ty(&e.ty) {
            return false;
        }
        match &e.kind {
            Kind::Var(_) => true,
            Kind::Cast(a) | Kind::Not(a) => is_vector_ty(&a.ty) && self.can_vectorize(a),
            Kind::Fun(_, d, args) => is_vector_type(*d) && args.iter().all(|a| self.can_vectorize(a)),
            Kind::And(a, b) | Kind::Or(a, b) => self.can_vectorize(a) && self.can_vectorize(b),
            Kind::Select(c, a, b) => self.can_vectorize(c) && self.can_vectorize(a) && self.can_vectorize(b),
            Kind::Item(of, k) => matches!(&of.kind, Kind::Tuple(items) if self.can_vectorize(&items[*k])),
            Kind::Load(array, indices) => {
                self.lanes.divergence(array).is_uniform()
                    && indices.iter().all(|i| is_vector_ty(&i.ty) && self.can_vectorize(i))
            }
            Kind::Builtin(row, _) => row.host == "@threadIdx.x",
            _ => false,
        }
    }

    fn can_vectorize_block(&self, body: &[Stmt]) -> bool {
        body.iter().all(|stmt| self.can_vectorize_stmt(stmt))
    }

    fn can_vectorize_stmt(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            // A tuple does not have lanes.
            StmtKind::Assign(v, e) => {
                self.can_vectorize(e) && (self.lanes.vars[*v].is_uniform() || is_vector_ty(&e.ty)) && !e.has_effect()
            }
            StmtKind::Store { array, indices, value } => {
                self.lanes.divergence(array).is_uniform()
                    && is_vector_ty(&value.ty)
                    && self.can_vectorize(value)
                    && indices.iter().all(|i| is_vector_ty(&i.ty) && self.can_vectorize(i))
            }
            StmtKind::If { test, then, orelse } => {
                self.can_vectorize(test)
                    && if self.lanes.divergence(test).is_uniform() {
                        self.can_vectorize_block(then) && self.can_vectorize_block(orelse)
                    } else {
                        self.can_vectorize_block(then) || self.can_vectorize_block(orelse)
                    }
            }
            StmtKind::For { start, stop, step, body, .. } => {
                self.lanes.divergence(step).is_uniform()
                    && [start, stop].into_iter().all(|e| !matches!(self.lanes.divergence(e), Divergence::Varying))
                    && self.stays_together(stmt, &[start, stop, step])
                    && self.can_vectorize_block(body)
            }
            StmtKind::While { test, body } => {
                self.can_vectorize(test) && self.stays_together(stmt, &[test]) && self.can_vectorize_block(body)
            }
            StmtKind::Break | StmtKind::Continue => true,
            _ => false,
        }
    }

    /// Returns true if a block has work for vectors.
    fn has_vector_work(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Assign(v, _) => self.lanes.vars[*v] == Divergence::Varying,
            StmtKind::Store { .. } => true,
            kind => {
                kind.blocks().into_iter().any(|block| self.can_vectorize_block(block) && self.has_vector_work(block))
            }
        })
    }

    /// Returns true if lanes can diverge only in the header of a loop.
    fn stays_together(&self, stmt: &Stmt, head: &[&Expr]) -> bool {
        let class = head.iter().all(|e| self.lanes.divergence(e).is_uniform());
        !class && !stmt.kind.blocks().iter().any(|b| cuprous_kernel::flow::exits_loop(b, true))
            || class && self.lanes.control(stmt).is_uniform()
    }
}

impl FunctionCompiler<'_, '_, '_> {
    /// Returns true if vectors make a region faster: all of it can be vectorized, and some of it gains.
    pub(super) fn is_worth_vectorizing(&self, plan: &Plan, body: &[Stmt]) -> bool {
        // An exit of one lane would take the other lanes along.
        let mut ends = has_return(body);
        each_stmt(body, &mut |stmt| ends |= matches!(stmt.kind, StmtKind::Raise(..)));
        ends |= any_expr(body, &mut |e| matches!(e.kind, Kind::Call(callee, _) if self.shared.may_exit[callee]));
        // Variables without vectors must not be used beyond the run of one lane.
        let (_, named) = assigned_and_named(body);
        let odd = |&v: &usize| plan.lanes.vars[v] == Divergence::Varying && !is_vector_ty(&self.function.vars[v].ty);
        !ends && !named.iter().any(odd) && plan.can_vectorize_block(body) && plan.has_vector_work(body)
    }

    /// Returns the vectors of a variable.
    pub(super) fn wide_vars(&mut self, v: usize) -> SmallVec<[Variable; 8]> {
        if self.wide[v].is_empty() {
            let d = self.function.vars[v].ty.scalar().unwrap_or(DType::I64);
            let t = Self::vector(if self.var_fits_in_32_bits(v) { DType::I32 } else { d });
            let count = WIDTH as usize / t.lane_count() as usize;
            self.wide[v] = (0..count).map(|_| self.b.declare_var(t)).collect();
        }
        self.wide[v].clone()
    }

    /// Returns true if a variable's vectors have 32-bit lanes although its type has 64 bits.
    fn var_fits_in_32_bits(&self, v: usize) -> bool {
        self.fits_in_32_bits(&Expr::new(self.function.vars[v].ty.clone(), Kind::Var(v)))
    }

    pub(super) fn set_wide(&mut self, v: usize, chunks: &[Value]) {
        let chunks: Chunks = if self.var_fits_in_32_bits(v) {
            self.narrow_chunks(LaneValue::Varying(chunks.into()))
        } else {
            chunks.into()
        };
        for (var, chunk) in self.wide_vars(v).into_iter().zip(chunks) {
            self.b.def_var(var, chunk);
        }
    }

    pub(super) fn get_wide(&mut self, v: usize) -> Chunks {
        self.wide_vars(v).into_iter().map(|var| self.b.use_var(var)).collect()
    }

    /// Sets a variable at the start of a group.
    pub(super) fn start_wide(&mut self, plan: &Plan, v: usize, values: &Values) {
        match (plan.lanes.vars[v], self.function.vars[v].ty.scalar()) {
            (Divergence::Varying, Some(d)) if is_vector_type(d) => {
                let chunks = self.splat(values[0], d);
                self.set_wide(v, &chunks);
            }
            _ => self.set(v, values),
        }
    }

    /// Loads a variable from the context.
    pub(super) fn load_wide(&mut self, plan: &Plan, v: usize, thread: Value) {
        let addresses = self.context_addresses(plan, v, thread);
        match (plan.lanes.vars[v], self.function.vars[v].ty.scalar()) {
            (Divergence::Varying, Some(d)) if is_vector_type(d) => {
                let chunks = self.load_chunks(d, addresses[0], 0);
                self.set_wide(v, &chunks);
            }
            _ => {
                let tys = super::values::parts(&self.function.vars[v].ty);
                let values: Values =
                    addresses.iter().zip(tys).map(|(&at, t)| self.b.ins().load(t, Self::trusted(), at, 0)).collect();
                self.set(v, &values);
            }
        }
    }

    /// Stores a variable to the context.
    pub(super) fn store_wide(&mut self, plan: &Plan, v: usize, thread: Value) {
        let addresses = self.context_addresses(plan, v, thread);
        let d = self.function.vars[v].ty.scalar();
        match (plan.lanes.vars[v], d) {
            (Divergence::Varying, Some(d)) if is_vector_type(d) => {
                let chunks = self.get_wide(v);
                let chunks = self.chunks(LaneValue::Varying(chunks), d);
                self.store_chunks(d, &chunks, addresses[0], 0);
            }
            (Divergence::Linear(k), Some(d)) => {
                let first = self.get(v)[0];
                let chunks = self.chunks(LaneValue::Linear(first, k), d);
                self.store_chunks(d, &chunks, addresses[0], 0);
            }
            _ => {
                for (&value, &at) in self.get(v).iter().zip(&addresses) {
                    let size = self.b.func.dfg.value_type(value).bytes() as i32;
                    for lane in 0..WIDTH as i32 {
                        self.b.ins().store(Self::trusted(), value, at, lane * size);
                    }
                }
            }
        }
    }

    pub(super) fn wide_block(&mut self, plan: &Plan, body: &[Stmt]) -> Result<()> {
        for (k, stmt) in body.iter().enumerate() {
            if let StmtKind::Assign(v, e) = &stmt.kind
                && plan.lanes.is_guess(*v, e)
            {
                let rest = region(&body[k..]);
                self.wide_speculation(plan, *v, e, rest)?;
                return self.wide_block(plan, &body[k + rest.len()..]);
            }
            self.wide_stmt(plan, stmt)?;
        }
        Ok(())
    }

    /// Assumes that `max(i - 1, 0)` is `i - 1` and that `i < n` is true in all lanes, which holds except at an edge.
    /// There, each lane runs the rest separately.
    fn wide_speculation(&mut self, plan: &Plan, v: usize, e: &Expr, rest: &[Stmt]) -> Result<()> {
        let (all, part, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let taken = match &e.kind {
            Kind::Select(c, a, b) if e.dtype() != Some(DType::Bool) => {
                let outcome = self.test(plan, c)?;
                let (together, taken) = match plan.lanes.divergence(a) {
                    Divergence::Linear(_) => (outcome.all, a),
                    _ => (outcome.none, b),
                };
                self.b.ins().brif(together, all, &[], part, &[]);
                Some(taken)
            }
            _ => {
                // Usually true in all lanes, so it is tested for being true in none only otherwise.
                let outcome = self.test(plan, e)?;
                let some = self.b.create_block();
                self.set(v, &[outcome.all]);
                self.b.ins().brif(outcome.all, all, &[], some, &[]);
                self.b.switch_to_block(some);
                self.b.ins().brif(outcome.none, all, &[], part, &[]);
                None
            }
        };
        self.b.switch_to_block(part);
        self.scalarize(plan, rest, |body| body.block(rest))?;
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(all);
        if let Some(taken) = taken {
            let value = self.value_of(taken)?;
            self.set(v, &[value]);
        }
        self.wide_block(plan, &rest[1..])?;
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    fn wide_stmt(&mut self, plan: &Plan, stmt: &Stmt) -> Result<()> {
        match &stmt.kind {
            StmtKind::Assign(v, e) => {
                if !matches!(plan.lanes.vars[*v], Divergence::Varying) {
                    // The value of the first lane.
                    let values = self.expr(e)?;
                    self.set(*v, &values);
                } else {
                    let d = e.dtype().unwrap_or(DType::I64);
                    let value = self.wide_expr(plan, e)?;
                    let mut chunks = match value {
                        LaneValue::Varying(chunks) => chunks,
                        value => self.chunks(value, d),
                    };
                    if d == DType::Bool {
                        chunks = self.resize_mask(chunks, 1);
                    } else if !self.var_fits_in_32_bits(*v) {
                        chunks = self.chunks(LaneValue::Varying(chunks), d);
                    }
                    self.set_wide(*v, &chunks);
                }
            }
            StmtKind::Store { array, indices, value } => self.wide_store(plan, stmt, array, indices, value)?,
            StmtKind::If { test, then, orelse } => self.wide_if(plan, stmt, test, then, orelse)?,
            StmtKind::For { var, start, stop, step, body } => {
                self.wide_for(plan, stmt, *var, [start, stop, step], body)?;
            }
            StmtKind::While { test, body } => {
                let (head, inside, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(head);
                if plan.lanes.divergence(test).is_uniform() {
                    let test = self.value_of(test)?;
                    self.enter(test, inside, end);
                } else {
                    let outcome = self.test(plan, test)?;
                    let (some, part) = (self.b.create_block(), self.b.create_block());
                    self.enter(outcome.all, inside, some);
                    self.b.switch_to_block(some);
                    self.b.ins().brif(outcome.none, end, &[], part, &[]);
                    self.b.switch_to_block(part);
                    self.scalarize(plan, std::slice::from_ref(stmt), |body| body.stmt(&stmt.kind))?;
                    self.b.ins().jump(end, &[]);
                }
                self.iteration([inside, head, end], None, &mut |this| this.wide_block(plan, body))?;
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(end);
            }
            kind => self.stmt(kind)?,
        }
        Ok(())
    }

    fn wide_if(&mut self, plan: &Plan, stmt: &Stmt, test: &Expr, then: &[Stmt], orelse: &[Stmt]) -> Result<()> {
        let (yes, no, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        if plan.lanes.divergence(test).is_uniform() {
            let truth = self.value_of(test)?;
            self.b.ins().brif(truth, yes, &[], no, &[]);
            for (block, part) in [(yes, then), (no, orelse)] {
                self.b.switch_to_block(block);
                let lower_bounds = if block == yes { self.assume(test, then) } else { self.lower_bounds.len() };
                self.wide_block(plan, part)?;
                self.lower_bounds.truncate(lower_bounds);
                self.b.ins().jump(end, &[]);
            }
            self.b.switch_to_block(end);
            return Ok(());
        }
        let (some, part) = (self.b.create_block(), self.b.create_block());
        let outcome = self.test(plan, test)?;
        self.b.ins().brif(outcome.all, yes, &[], some, &[]);
        self.b.switch_to_block(some);
        self.b.ins().brif(outcome.none, no, &[], part, &[]);
        for (block, body) in [(yes, then), (no, orelse)] {
            self.b.switch_to_block(block);
            if plan.can_vectorize_block(body) {
                let lower_bounds = if block == yes { self.assume(test, then) } else { self.lower_bounds.len() };
                self.wide_block(plan, body)?;
                self.lower_bounds.truncate(lower_bounds);
                self.b.ins().jump(end, &[]);
            } else {
                self.b.ins().jump(part, &[]);
            }
        }
        self.b.switch_to_block(part);
        self.scalarize(plan, std::slice::from_ref(stmt), |body| body.stmt(&stmt.kind))?;
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        Ok(())
    }

    fn wide_for(
        &mut self,
        plan: &Plan,
        stmt: &Stmt,
        var: usize,
        [start, stop, step]: [&Expr; 3],
        body: &[Stmt],
    ) -> Result<()> {
        let d = start.dtype().unwrap_or(DType::I64);
        let same = [start, stop].into_iter().all(|e| plan.lanes.divergence(e).is_uniform());
        // Unsigned numbers may wrap around at zero between lanes.
        let grows = d.kind() == DTypeKind::Int && (step.as_int().is_some() || self.sizes.is_non_negative(step));
        if plan.lanes.vars[var] == Divergence::Varying || !same && !grows {
            return self.scalarize(plan, std::slice::from_ref(stmt), |body| body.stmt(&stmt.kind));
        }
        if same {
            return self.count(var, [start, stop, step], &mut |this| this.wide_block(plan, body));
        }
        let rises = step.as_int().is_none_or(|n| n > 0);
        let (first, last) = (self.wide_expr(plan, start)?, self.wide_expr(plan, stop)?);
        let step = self.value_of(step)?;
        let (LaneValue::Uniform(at) | LaneValue::Linear(at, _)) = first else { return Ok(()) };
        self.set(var, &[at]);
        let (head, inside) = (self.b.create_block(), self.b.create_block());
        let (some, part) = (self.b.create_block(), self.b.create_block());
        let (next, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let at = self.get(var)[0];
        let now = match first {
            LaneValue::Linear(_, k) => LaneValue::Linear(at, k),
            _ => LaneValue::Uniform(at),
        };
        let fun = if rises { Fun::Less } else { Fun::Greater };
        let outcome = self.compare_ends(fun, d, [&now, &last], true);
        let Some(outcome) = outcome else {
            return Err(cuprous_core::Error::runtime("[kernel] internal error: a loop whose lanes cannot be compared"));
        };
        self.enter(outcome.all, inside, some);
        self.b.switch_to_block(some);
        self.b.ins().brif(outcome.none, end, &[], part, &[]);
        // The last iterations, which only some lanes run.
        self.b.switch_to_block(part);
        self.scalarize(plan, std::slice::from_ref(stmt), |this| {
            let StmtKind::For { stop, step, body, .. } = &stmt.kind else { return Ok(()) };
            let at = Expr::new(start.ty.clone(), Kind::Var(var));
            this.count(var, [&at, stop, step], &mut |this| this.block(body))
        })?;
        self.b.ins().jump(end, &[]);
        self.iteration([inside, next, end], None, &mut |this| this.wide_block(plan, body))?;
        self.end_counting_loop(var, step, [head, next, end]);
        Ok(())
    }
}
