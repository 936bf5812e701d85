//! Statements.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cuprous_core::{DType, Result};
use cuprous_kernel::ir::{Expr, Printed, Stmt, StmtKind};
use cuprous_kernel::types::Ty;

use super::env::offset;
use super::function::FunctionCompiler;
use super::sanitizer::Access;
use super::values::register;

/// Nested constant loops with at most this number of iterations in all do not poll the flag that stops a launch.
const MAX_UNPOLLED: i64 = 1 << 16;
/// A longer counting loop polls after 2^POLL_SHIFT iterations.
const POLL_SHIFT: i64 = 8;

/// Returns the number of iterations of a counting loop, if it is constant.
fn trips(start: &Expr, stop: &Expr, step: &Expr) -> Option<i64> {
    let (start, stop, step) = (start.as_int()?, stop.as_int()?, step.as_int()?);
    stop.checked_sub(start)?.checked_div(step)?.checked_add(1)
}

impl FunctionCompiler<'_, '_, '_> {
    pub(super) fn block(&mut self, block: &[Stmt]) -> Result<()> {
        if self.at_block_level {
            return self.block_level(block);
        }
        block.iter().try_for_each(|stmt| {
            self.line = stmt.line;
            self.stmt(&stmt.kind)
        })
    }

    pub(super) fn stmt(&mut self, stmt: &StmtKind) -> Result<()> {
        match stmt {
            StmtKind::Assign(var, value) => {
                let values = self.expr(value)?;
                self.set(*var, &values);
            }
            StmtKind::Store { array, indices, value } => {
                let address = self.element_address(array, indices)?;
                let values = self.expr(value)?;
                let Ty::Array(ty) = &array.ty else { return Ok(()) };
                self.check_access(Access::Write, array, indices, address, &values)?;
                self.store_parts(&ty.elem, address, &values);
            }
            StmtKind::Copy { to, from } => {
                let (address, source) = (self.expr(to)?[0], self.expr(from)?[0]);
                let Ty::Array(ty) = &to.ty else { return Ok(()) };
                self.check_copy(to, from, [address, source])?;
                let bytes = self.b.ins().iconst(types::I64, ty.item_size() as i64);
                self.call_library("host_copy", &[address, source, bytes], None)?;
            }
            StmtKind::Eval(value) => {
                self.expr(value)?;
            }
            StmtKind::If { test, then, orelse } => {
                let condition = test;
                let test = self.value_of(test)?;
                let (yes, no, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.ins().brif(test, yes, &[], no, &[]);
                self.b.switch_to_block(yes);
                let lower_bounds = self.assume(condition, then);
                self.block(then)?;
                self.lower_bounds.truncate(lower_bounds);
                self.b.ins().jump(end, &[]);
                self.b.switch_to_block(no);
                self.block(orelse)?;
                self.b.ins().jump(end, &[]);
                self.b.switch_to_block(end);
            }
            StmtKind::While { test, body } => {
                let (head, inside, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(head);
                let test = self.value_of(test)?;
                self.enter(test, inside, end);
                self.iteration([inside, head, end], None, &mut |this| this.block(body))?;
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(end);
            }
            StmtKind::For { var, start, stop, step, body } => {
                self.count(*var, [start, stop, step], &mut |this| this.block(body))?;
            }
            StmtKind::Break | StmtKind::Continue => {
                if let Some(&(next, end)) = self.loops.last() {
                    let to = if matches!(stmt, StmtKind::Break) { end } else { next };
                    self.b.ins().jump(to, &[]);
                    self.unreached();
                }
            }
            StmtKind::Return(value) => {
                let values = match value {
                    Some(value) => self.expr(value)?,
                    None => Default::default(),
                };
                self.return_values(&values);
            }
            StmtKind::Print(parts) => self.print(parts)?,
            StmtKind::Raise(fault, values) => {
                if let Some(fault) = fault {
                    self.report(*fault, values)?;
                }
                self.exit_thread();
            }
        }
        Ok(())
    }

    /// Compiles a counting loop. `body` compiles its statements.
    pub(super) fn count(
        &mut self,
        var: usize,
        [start, stop, step]: [&Expr; 3],
        body: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let unsigned = start.dtype().is_some_and(|d| d.kind() == cuprous_core::Kind::UInt);
        let trips = trips(start, stop, step);
        let start = self.value_of(start)?;
        let stop = self.value_of(stop)?;
        // A step that is never negative counts up.
        let known_step = step.as_int().or_else(|| self.sizes.is_non_negative(step).then_some(1));
        let step = self.value_of(step)?;
        self.set(var, &[start]);
        let (head, inside) = (self.b.create_block(), self.b.create_block());
        let (next, end) = (self.b.create_block(), self.b.create_block());
        let (less, more) = if unsigned {
            (IntCC::UnsignedLessThan, IntCC::UnsignedGreaterThan)
        } else {
            (IntCC::SignedLessThan, IntCC::SignedGreaterThan)
        };
        if trips.is_none_or(|n| n > MAX_UNPOLLED) && known_step.is_some_and(|n| n > 0) {
            // Strip mining: an inner loop of at most 2^POLL_SHIFT iterations, and a poll before each.
            let (outer, part) = (self.b.create_block(), self.b.create_block());
            self.b.ins().jump(outer, &[]);
            self.b.switch_to_block(outer);
            let at = self.get(var)[0];
            let goes_on = self.b.ins().icmp(less, at, stop);
            self.enter(goes_on, part, end);
            self.b.switch_to_block(part);
            self.poll();
            let left = self.b.ins().isub(stop, at);
            let parts = self.b.ins().ushr_imm_u(left, POLL_SHIFT);
            let last = self.b.ins().icmp(IntCC::UnsignedLessThan, parts, step);
            let far = self.b.ins().ishl_imm_u(step, POLL_SHIFT);
            let far = self.b.ins().iadd(at, far);
            let limit = self.b.ins().select(last, stop, far);
            self.b.ins().jump(head, &[]);
            self.b.switch_to_block(head);
            let at = self.get(var)[0];
            let goes_on = self.b.ins().icmp(less, at, limit);
            self.enter(goes_on, inside, outer);
            self.iteration([inside, next, end], Some(1 << POLL_SHIFT), body)?;
            self.end_counting_loop(var, step, [head, next, end]);
            return Ok(());
        }
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(head);
        let at = self.get(var)[0];
        let goes_on = match known_step {
            Some(n) => self.b.ins().icmp(if n > 0 { less } else { more }, at, stop),
            None => {
                let up = self.b.ins().icmp(less, at, stop);
                let down = self.b.ins().icmp(more, at, stop);
                let rises = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, step, 0);
                let falls = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, step, 0);
                let down = self.b.ins().band(down, falls);
                self.b.ins().select(rises, up, down)
            }
        };
        self.enter(goes_on, inside, end);
        self.iteration([inside, next, end], trips, body)?;
        self.end_counting_loop(var, step, [head, next, end]);
        Ok(())
    }

    /// Branches into a loop or to its end. The end is named first because the optimizer visits the last-named block
    /// first, and does not hoist from a loop after it has left the loop.
    pub(super) fn enter(&mut self, goes_on: Value, inside: Block, end: Block) {
        let over = self.b.ins().icmp_imm_s(IntCC::Equal, goes_on, 0);
        self.b.ins().brif(over, end, &[], inside, &[]);
    }

    /// Compiles an iteration of a loop: `body` compiles its statements, and the blocks are its start and the targets of
    /// `continue` and `break`. `trips` is the number of iterations, if it is constant.
    pub(super) fn iteration(
        &mut self,
        [inside, next, end]: [Block; 3],
        trips: Option<i64>,
        body: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.b.switch_to_block(inside);
        let around = self.repeats;
        match trips.map(|n| around.saturating_mul(n.max(1))).filter(|&n| n <= MAX_UNPOLLED) {
            Some(all) => self.repeats = all,
            None => {
                self.poll();
                self.repeats = 1;
            }
        }
        self.loops.push((next, end));
        body(self)?;
        self.loops.pop();
        self.repeats = around;
        Ok(())
    }

    /// Ends an iteration of a counting loop.
    pub(super) fn end_counting_loop(&mut self, var: usize, step: Value, [head, next, end]: [Block; 3]) {
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        let at = self.get(var)[0];
        let at = self.b.ins().iadd(at, step);
        self.set(var, &[at]);
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(end);
    }

    /// Compiles the report of a fault.
    fn report(&mut self, fault: usize, values: &[Expr]) -> Result<()> {
        let bytes = 8 * values.len().max(1) as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        let memory = self.b.ins().stack_addr(types::I64, slot, 0);
        for (k, value) in values.iter().enumerate() {
            let value = self.value_of(value)?;
            self.b.ins().store(Self::trusted(), value, memory, 8 * k as i32);
        }
        let [x, y, z] = self.thread.map(|var| self.b.use_var(var));
        let fault = self.b.ins().iconst(types::I64, fault as i64);
        let count = self.b.ins().iconst(types::I64, values.len() as i64);
        self.call_library("host_raise", &[self.env, fault, x, y, z, count, memory], None)?;
        Ok(())
    }

    /// Ends the thread. A called function returns at once, and its callers check the flag that it sets.
    fn exit_thread(&mut self) {
        if self.is_function() {
            let one = self.b.ins().iconst(types::I32, 1);
            self.b.ins().store(Self::trusted(), one, self.env, offset::ENDED);
        }
        let ret = super::values::parts(&self.function.ret);
        let zeros: Vec<Value> = ret.iter().map(|&t| self.zero(t)).collect();
        self.return_values(&zeros);
    }

    /// Returns if the thread exited in a function that was just called.
    pub(super) fn return_if_exited(&mut self) {
        let exited = self.b.ins().load(types::I32, Self::trusted(), self.env, offset::ENDED);
        let (stop, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(exited, stop, &[], on, &[]);
        self.b.switch_to_block(stop);
        if !self.is_function() {
            let zero = self.b.ins().iconst(types::I32, 0);
            self.b.ins().store(Self::trusted(), zero, self.env, offset::ENDED);
        }
        let ret = super::values::parts(&self.function.ret);
        let zeros: Vec<Value> = ret.iter().map(|&t| self.zero(t)).collect();
        self.return_values(&zeros);
        self.b.switch_to_block(on);
    }

    fn print(&mut self, parts: &[Printed]) -> Result<()> {
        let mut all = Vec::new();
        for part in parts {
            all.push(match part {
                Printed::Text(_) => None,
                Printed::Value(value) => Some((self.expr(value)?, value.dtype().unwrap_or(DType::I64))),
            });
        }
        for (part, value) in parts.iter().zip(all) {
            match (part, value) {
                (Printed::Text(text), _) => self.print_text(text)?,
                (_, Some((values, d))) if d.is_complex() => {
                    self.print_text("(")?;
                    self.print_number(values[0], d.component())?;
                    self.print_text("+")?;
                    self.print_number(values[1], d.component())?;
                    self.print_text("j)")?;
                }
                (_, Some((values, d))) => self.print_number(values[0], d)?,
                _ => {}
            }
        }
        self.call_library("print_line", &[], None)?;
        Ok(())
    }

    fn print_text(&mut self, text: &str) -> Result<()> {
        let kept: Box<str> = text.into();
        let start = self.b.ins().iconst(types::I64, kept.as_ptr() as i64);
        let bytes = self.b.ins().iconst(types::I64, kept.len() as i64);
        self.shared.texts.push(kept);
        self.call_library("print_text", &[start, bytes], None)?;
        Ok(())
    }

    fn print_number(&mut self, value: Value, d: DType) -> Result<()> {
        let (name, to) = match d {
            DType::Bool => ("print_bool", DType::Bool),
            d if d.is_float() => ("print_float", DType::F64),
            d if d.kind() == cuprous_core::Kind::UInt => ("print_uint", DType::U64),
            _ => ("print_int", DType::I64),
        };
        debug_assert!(register(d) == self.b.func.dfg.value_type(value));
        let value = self.convert(&[value], d, to)?[0];
        self.call_library(name, &[value], None)?;
        Ok(())
    }
}
