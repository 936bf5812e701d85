//! Groups of lanes: statements and expressions that run lane by lane, because they have no vector form.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::Variable;
use cuprous_core::{DType, Result};
use cuprous_kernel::ir::{Expr, Stmt, StmtKind};
use cuprous_kernel::uniformity::Divergence;

use super::function::FunctionCompiler;
use super::plan::{Plan, assigned_and_named};
use super::values::register;
use super::vector::{Chunks, LaneValue, WIDTH, is_vector_type};

impl FunctionCompiler<'_, '_, '_> {
    /// Returns the stack slot for a variable's lanes.
    fn slot(&mut self, v: usize) -> StackSlot {
        if let Some(slot) = self.slots[v] {
            return slot;
        }
        let size = self.function.vars[v].ty.item_size() as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size * WIDTH as u32, 4);
        let slot = self.b.create_sized_stack_slot(slot);
        self.slots[v] = Some(slot);
        slot
    }

    /// Runs `each` for one lane after the other, with the variables that `part` names.
    pub(super) fn scalarize(
        &mut self,
        plan: &Plan,
        part: &[Stmt],
        mut each: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (assigned, named) = assigned_and_named(part);
        let counter = self.b.declare_var(types::I32);
        self.for_each_lane(plan, &assigned, &named, counter, &mut each)
    }

    /// Computes an expression lane by lane.
    pub(super) fn scalarize_expr(&mut self, plan: &Plan, e: &Expr) -> Result<Chunks> {
        let stmt = Stmt { line: 0, kind: StmtKind::Eval(e.clone()) };
        let (_, named) = assigned_and_named(std::slice::from_ref(&stmt));
        let d = e.dtype().unwrap_or(DType::I64);
        let size = d.size() as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, size * WIDTH as u32, 4);
        let slot = self.b.create_sized_stack_slot(slot);
        let counter = self.b.declare_var(types::I32);
        self.for_each_lane(plan, &[], &named, counter, &mut |body| {
            let value = body.value_of(e)?;
            let at = body.lane_address(slot, counter, size);
            body.b.ins().store(Self::trusted(), value, at, 0);
            Ok(())
        })?;
        let base = self.b.ins().stack_addr(types::I64, slot, 0);
        Ok(self.load_chunks(d, base, 0))
    }

    fn lane_address(&mut self, slot: StackSlot, counter: Variable, size: u32) -> Value {
        let base = self.b.ins().stack_addr(types::I64, slot, 0);
        let lane = self.b.use_var(counter);
        let lane = self.b.ins().uextend(types::I64, lane);
        let far = self.b.ins().imul_imm_s(lane, i64::from(size));
        self.b.ins().iadd(base, far)
    }

    fn for_each_lane(
        &mut self,
        plan: &Plan,
        assigned: &[usize],
        named: &[usize],
        counter: Variable,
        each: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let class = |v: usize| plan.lanes.vars[v];
        let scalar = |body: &Self, v: usize| body.function.vars[v].ty.scalar();
        // The lanes' values, stored where the scalar code reads them.
        let mut own = Vec::new();
        let mut steps = Vec::new();
        for &v in named {
            match (class(v), scalar(self, v)) {
                (Divergence::Varying, Some(d)) if is_vector_type(d) => {
                    let slot = self.slot(v);
                    let chunks = self.get_wide(v);
                    let chunks = self.chunks(LaneValue::Varying(chunks), d);
                    let base = self.b.ins().stack_addr(types::I64, slot, 0);
                    self.store_chunks(d, &chunks, base, 0);
                    own.push((v, d, slot));
                }
                (Divergence::Linear(k), Some(_)) => {
                    let first = self.get(v)[0];
                    steps.push((v, first, k));
                }
                _ => {}
            }
        }
        let thread = self.b.use_var(self.thread[0]);
        let zero = self.b.ins().iconst(types::I32, 0);
        self.b.def_var(counter, zero);
        let (head, inside, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let lane = self.b.use_var(counter);
        let more = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, lane, WIDTH);
        self.enter(more, inside, end);
        self.b.switch_to_block(inside);
        for &(v, d, slot) in &own {
            let at = self.lane_address(slot, counter, d.size() as u32);
            let value = self.b.ins().load(register(d), Self::trusted(), at, 0);
            self.set(v, &[value]);
        }
        for &(v, first, k) in &steps {
            let t = self.b.func.dfg.value_type(first);
            let lane = self.resize(lane, t, true);
            let far = self.b.ins().imul_imm_s(lane, k);
            let value = self.b.ins().iadd(first, far);
            self.set(v, &[value]);
        }
        let place = self.b.ins().iadd(thread, lane);
        self.b.def_var(self.thread[0], place);
        each(self)?;
        for &(v, d, slot) in own.iter().filter(|(v, ..)| assigned.contains(v)) {
            let value = self.get(v)[0];
            let at = self.lane_address(slot, counter, d.size() as u32);
            self.b.ins().store(Self::trusted(), value, at, 0);
        }
        let lane = self.b.use_var(counter);
        let lane = self.b.ins().iadd_imm_s(lane, 1);
        self.b.def_var(counter, lane);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
        self.b.def_var(self.thread[0], thread);
        for &(v, first, _) in &steps {
            self.set(v, &[first]);
        }
        for &(v, d, slot) in own.iter().filter(|(v, ..)| assigned.contains(v)) {
            let base = self.b.ins().stack_addr(types::I64, slot, 0);
            let chunks = self.load_chunks(d, base, 0);
            self.set_wide(v, &chunks);
        }
        Ok(())
    }
}
