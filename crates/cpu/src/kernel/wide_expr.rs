//! Groups of lanes: expressions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cuprous_core::{DType, Error, Fun, Kind as DTypeKind, Result};
use cuprous_kernel::ir::{Expr, Kind};
use cuprous_kernel::uniformity::Divergence;

use super::function::FunctionCompiler;
use super::plan::Plan;
use super::values::register;
use super::vector::{LaneTest, LaneValue, WIDTH};
use super::wide_fun::int_compare;
use super::wide_memory::LaneAddresses;

/// Returns true if an expression may be computed where its value is not needed: it does not read memory.
fn is_safe(e: &Expr) -> bool {
    let mut safe = !matches!(e.kind, Kind::Load(..)) && !e.has_effect();
    e.each_operand(&mut |part| safe &= is_safe(part));
    safe
}

impl FunctionCompiler<'_, '_, '_> {
    /// Computes an expression in all lanes.
    pub(super) fn wide_expr(&mut self, plan: &Plan, e: &Expr) -> Result<LaneValue> {
        let d = e.dtype().unwrap_or(DType::I64);
        match plan.lanes.divergence(e) {
            Divergence::BlockUniform | Divergence::LaneUniform => return Ok(LaneValue::Uniform(self.value_of(e)?)),
            Divergence::Linear(k) => return Ok(LaneValue::Linear(self.value_of(e)?, k)),
            Divergence::Varying => {}
        }
        Ok(match &e.kind {
            Kind::Var(v) => LaneValue::Varying(self.get_wide(*v)),
            Kind::Cast(from) => {
                let value = self.wide_expr(plan, from)?;
                self.wide_cast(value, from.dtype().unwrap_or(DType::I64), d, self.fits_in_32_bits(e))?
            }
            Kind::Fun(fun, d, args) => {
                let mut values = Vec::new();
                for arg in args {
                    values.push(self.wide_expr(plan, arg)?);
                }
                let compares = int_compare(*fun, true).is_some();
                if *d == DType::I64
                    && args.iter().all(|a| self.fits_in_32_bits(a))
                    && (compares || self.fits_in_32_bits(e))
                {
                    let small: Vec<LaneValue> =
                        values.iter().map(|v| LaneValue::Varying(self.narrow_chunks(v.clone()))).collect();
                    if let Some(chunks) = self.vector_fun(*fun, DType::I32, &small, args) {
                        return Ok(LaneValue::Varying(chunks));
                    }
                }
                self.wide_fun(*fun, *d, &values, args)?
            }
            Kind::Not(a) => {
                let a = self.wide_expr(plan, a)?;
                let a = self.chunks(a, DType::Bool);
                LaneValue::Varying(a.into_iter().map(|c| self.b.ins().bnot(c)).collect())
            }
            Kind::And(a, b) | Kind::Or(a, b) if is_safe(b) => {
                let fun = if matches!(e.kind, Kind::And(..)) { Fun::LogicalAnd } else { Fun::LogicalOr };
                let values = [self.wide_expr(plan, a)?, self.wide_expr(plan, b)?];
                self.wide_fun(fun, DType::Bool, &values, &[])?
            }
            Kind::Select(c, a, b) if is_safe(a) && is_safe(b) => {
                let c = self.wide_expr(plan, c)?;
                let small = self.fits_in_32_bits(a) && self.fits_in_32_bits(b);
                let (a, b) = (self.wide_expr(plan, a)?, self.wide_expr(plan, b)?);
                if small {
                    let (a, b) = (LaneValue::Varying(self.narrow_chunks(a)), LaneValue::Varying(self.narrow_chunks(b)));
                    return Ok(self.wide_select(c, a, b, DType::I32));
                }
                self.wide_select(c, a, b, d)
            }
            Kind::And(..) | Kind::Or(..) | Kind::Select(..) => self.wide_choice(plan, e)?,
            Kind::Item(of, k) => match &of.kind {
                Kind::Tuple(items) => self.wide_expr(plan, &items[*k])?,
                _ => return Err(Error::runtime("[kernel] internal error: lanes of a tuple")),
            },
            Kind::Load(array, indices) => match self.wide_address(plan, array, indices)? {
                Some((LaneAddresses::Uniform(at, far), _)) => {
                    LaneValue::Uniform(self.b.ins().load(register(d), Self::trusted(), at, far))
                }
                Some((LaneAddresses::Strided(at, far, step, known), mixed)) => {
                    let Some(mixed) = mixed else {
                        return Ok(LaneValue::Varying(self.load_step(d, (at, far), step, known)));
                    };
                    // Only some of the indices are negative.
                    let (fast, slow, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                    let t = Self::vector(d);
                    for _ in 0..WIDTH / i64::from(t.lane_count()) {
                        self.b.append_block_param(end, t);
                    }
                    self.b.ins().brif(mixed, slow, &[], fast, &[]);
                    self.b.set_cold_block(slow);
                    self.b.switch_to_block(slow);
                    let chunks = self.scalarize_expr(plan, e)?;
                    let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
                    self.b.ins().jump(end, &args);
                    self.b.switch_to_block(fast);
                    let chunks = self.load_step(d, (at, far), step, known);
                    let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
                    self.b.ins().jump(end, &args);
                    self.b.switch_to_block(end);
                    LaneValue::Varying(self.b.block_params(end).into())
                }
                Some((LaneAddresses::Varying(addresses), _)) => {
                    let t = register(d);
                    LaneValue::Varying(self.gather_lanes(d, |body, lane| {
                        body.b.ins().load(t, Self::trusted(), addresses[lane as usize], 0)
                    }))
                }
                None => LaneValue::Varying(self.scalarize_expr(plan, e)?),
            },
            _ => LaneValue::Varying(self.scalarize_expr(plan, e)?),
        })
    }

    /// Compiles `a and b`, `a or b` or `x if c else y` where operands may only be computed if they are needed.
    fn wide_choice(&mut self, plan: &Plan, e: &Expr) -> Result<LaneValue> {
        let d = e.dtype().unwrap_or(DType::I64);
        let (test, yes, no) = match &e.kind {
            Kind::Select(c, a, b) => (c, Some(a), Some(b)),
            Kind::And(a, b) => (a, Some(b), None),
            Kind::Or(a, b) => (a, None, Some(b)),
            _ => return Err(Error::runtime("[kernel] internal error: expected a conditional expression")),
        };
        let end = self.b.create_block();
        let t = Self::vector(d);
        for _ in 0..WIDTH / i64::from(t.lane_count()) {
            self.b.append_block_param(end, t);
        }
        let blocks = [(); 4].map(|()| self.b.create_block());
        let outcome = self.test(plan, test)?;
        let same = plan.lanes.divergence(test).is_uniform();
        if same {
            self.b.ins().brif(outcome.all, blocks[0], &[], blocks[1], &[]);
        } else {
            self.b.ins().brif(outcome.all, blocks[0], &[], blocks[3], &[]);
            self.b.switch_to_block(blocks[3]);
            self.b.ins().brif(outcome.none, blocks[1], &[], blocks[2], &[]);
        }
        for (k, arm) in [yes, no].into_iter().enumerate() {
            self.b.switch_to_block(blocks[k]);
            let value = match arm {
                Some(arm) => self.wide_expr(plan, arm)?,
                // The value of the operand that decided.
                None => LaneValue::Uniform(self.b.ins().iconst(types::I8, i64::from(k == 0))),
            };
            let mut chunks = self.chunks(value, d);
            if d == DType::Bool {
                chunks = self.resize_mask(chunks, 1);
            }
            let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
            self.b.ins().jump(end, &args);
        }
        if !same {
            self.b.switch_to_block(blocks[2]);
            let chunks = self.scalarize_expr(plan, e)?;
            let args: Vec<_> = chunks.iter().map(|&c| c.into()).collect();
            self.b.ins().jump(end, &args);
        }
        self.b.switch_to_block(end);
        Ok(LaneValue::Varying(self.b.block_params(end).into()))
    }

    /// Computes whether a condition is true in all lanes, and in none.
    pub(super) fn test(&mut self, plan: &Plan, e: &Expr) -> Result<LaneTest> {
        if plan.lanes.divergence(e).is_uniform() {
            let all = self.value_of(e)?;
            let none = self.b.ins().icmp_imm_s(IntCC::Equal, all, 0);
            return Ok(LaneTest { all, none });
        }
        match &e.kind {
            Kind::Not(a) => {
                let LaneTest { all, none } = self.test(plan, a)?;
                return Ok(LaneTest { all: none, none: all });
            }
            Kind::And(a, b) | Kind::Or(a, b) => {
                let and = matches!(e.kind, Kind::And(..));
                let first = self.test(plan, a)?;
                if is_safe(b) {
                    let second = self.test(plan, b)?;
                    let both = self.b.ins().band(first.all, second.all);
                    let neither = self.b.ins().band(first.none, second.none);
                    let one = self.b.ins().bor(first.all, second.all);
                    let not_one = self.b.ins().bor(first.none, second.none);
                    return Ok(match and {
                        true => LaneTest { all: both, none: not_one },
                        false => LaneTest { all: one, none: neither },
                    });
                }
                // The second operand is computed if all lanes need it. If only some lanes need it, the result is
                // unknown.
                let (more, less, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.append_block_param(end, types::I8);
                self.b.append_block_param(end, types::I8);
                let goes_on = if and { first.all } else { first.none };
                self.b.ins().brif(goes_on, more, &[], less, &[]);
                self.b.switch_to_block(less);
                let no = self.b.ins().iconst(types::I8, 0);
                let (all, none) = if and { (no, first.none) } else { (first.all, no) };
                self.b.ins().jump(end, &[all.into(), none.into()]);
                self.b.switch_to_block(more);
                let second = self.test(plan, b)?;
                self.b.ins().jump(end, &[second.all.into(), second.none.into()]);
                self.b.switch_to_block(end);
                let params = self.b.block_params(end);
                return Ok(LaneTest { all: params[0], none: params[1] });
            }
            Kind::Fun(fun, d, args) if args.len() == 2 && d.kind() == DTypeKind::Int => {
                let classes = [plan.lanes.divergence(&args[0]), plan.lanes.divergence(&args[1])];
                if int_compare(*fun, true).is_some() && !classes.contains(&Divergence::Varying) {
                    let (a, b) = (self.wide_expr(plan, &args[0])?, self.wide_expr(plan, &args[1])?);
                    let wraps = args.iter().any(|e| self.sizes.bits(e) >= 8 * d.size() as u32 - 1);
                    if let Some(outcome) = self.compare_ends(*fun, *d, [&a, &b], wraps) {
                        return Ok(outcome);
                    }
                }
            }
            _ => {}
        }
        let mask = self.wide_expr(plan, e)?;
        let chunks = self.chunks(mask, DType::Bool);
        let (mut every, mut any) = (chunks[0], chunks[0]);
        for &chunk in &chunks[1..] {
            every = self.b.ins().band(every, chunk);
            any = self.b.ins().bor(any, chunk);
        }
        let all = self.b.ins().vall_true(every);
        let any = self.b.ins().vany_true(any);
        let none = self.b.ins().icmp_imm_s(IntCC::Equal, any, 0);
        Ok(LaneTest { all, none })
    }

    /// Compares affine numbers by their first and last lanes. Unless a number wraps around within the group (`wraps`),
    /// one of the two comparisons is sufficient.
    pub(super) fn compare_ends(
        &mut self,
        fun: Fun,
        d: DType,
        [a, b]: [&LaneValue; 2],
        wraps: bool,
    ) -> Option<LaneTest> {
        let (LaneValue::Uniform(x) | LaneValue::Linear(x, _), LaneValue::Uniform(y) | LaneValue::Linear(y, _)) = (a, b)
        else {
            return None;
        };
        let step = |w: &LaneValue| if let LaneValue::Linear(_, k) = w { *k } else { 0 };
        let cc = int_compare(fun, d.kind() == DTypeKind::Int)?;
        if matches!(fun, Fun::Equal | Fun::NotEqual) {
            let k = step(a).wrapping_sub(step(b));
            if k == 0 {
                return None;
            }
            // Equal in at most one lane, and in none if the distance exceeds that between the lanes.
            let far = if k > 0 { self.b.ins().isub(*y, *x) } else { self.b.ins().isub(*x, *y) };
            let most = k.unsigned_abs().checked_mul(WIDTH as u64 - 1).and_then(|n| i64::try_from(n).ok())?;
            let most = self.b.ins().iconst(register(d), most);
            let never = self.b.ins().icmp(IntCC::UnsignedGreaterThan, far, most);
            let no = self.b.ins().iconst(types::I8, 0);
            return Some(if fun == Fun::Equal {
                LaneTest { all: no, none: never }
            } else {
                LaneTest { all: never, none: no }
            });
        }
        let ends = |body: &mut Self, w: &LaneValue, value: Value| match step(w) {
            0 => value,
            k => body.b.ins().iadd_imm_s(value, k.wrapping_mul(WIDTH - 1)),
        };
        let first = self.b.ins().icmp(cc, *x, *y);
        let (x, y) = (ends(self, a, *x), ends(self, b, *y));
        let last = self.b.ins().icmp(cc, x, y);
        let grows = step(a).wrapping_sub(step(b)) > 0;
        let one = (step(a) == 0) != (step(b) == 0);
        let (all, some) = match (wraps || !one, grows == matches!(fun, Fun::Less | Fun::LessEqual)) {
            (false, true) => (last, first),
            (false, false) => (first, last),
            _ => (self.b.ins().band(first, last), self.b.ins().bor(first, last)),
        };
        let none = self.b.ins().icmp_imm_s(IntCC::Equal, some, 0);
        Some(LaneTest { all, none })
    }
}
