//! Groups of lanes: functions and conversions of numbers.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Value, types};
use cuprous_core::{DType, Fun, Kind as DTypeKind, Result};
use cuprous_kernel::ir::Expr;

use super::function::FunctionCompiler;
use super::values::Values;
use super::vector::{Chunks, LaneValue, WIDTH};
use crate::blocks;

fn float_compare(fun: Fun) -> Option<FloatCC> {
    Some(match fun {
        Fun::Equal => FloatCC::Equal,
        Fun::NotEqual => FloatCC::NotEqual,
        Fun::Less => FloatCC::LessThan,
        Fun::LessEqual => FloatCC::LessThanOrEqual,
        Fun::Greater => FloatCC::GreaterThan,
        Fun::GreaterEqual => FloatCC::GreaterThanOrEqual,
        _ => return None,
    })
}

pub(super) fn int_compare(fun: Fun, signed: bool) -> Option<IntCC> {
    let cc = match fun {
        Fun::Equal => IntCC::Equal,
        Fun::NotEqual => IntCC::NotEqual,
        Fun::Less => IntCC::SignedLessThan,
        Fun::LessEqual => IntCC::SignedLessThanOrEqual,
        Fun::Greater => IntCC::SignedGreaterThan,
        Fun::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    };
    Some(if signed { cc } else { cc.unsigned() })
}

impl FunctionCompiler<'_, '_, '_> {
    pub(super) fn wide_select(&mut self, c: LaneValue, a: LaneValue, b: LaneValue, d: DType) -> LaneValue {
        if let LaneValue::Uniform(test) = c {
            let (a, b) = (self.chunks(a, d), self.chunks(b, d));
            let (a, b) = if d == DType::Bool { (self.resize_mask(a, 1), self.resize_mask(b, 1)) } else { (a, b) };
            return LaneValue::Varying(a.iter().zip(&b).map(|(&x, &y)| self.b.ins().select(test, x, y)).collect());
        }
        let mask = self.chunks(c, DType::Bool);
        let size = if d == DType::Bool { 1 } else { d.size() as u32 };
        let mask = self.resize_mask(mask, size);
        let (a, b) = (self.chunks(a, d), self.chunks(b, d));
        let (a, b) = if d == DType::Bool { (self.resize_mask(a, 1), self.resize_mask(b, 1)) } else { (a, b) };
        let plain = MemFlagsData::new().with_endianness(Endianness::Little);
        let mut all = Chunks::new();
        for ((&m, &x), &y) in mask.iter().zip(&a).zip(&b) {
            let t = self.b.func.dfg.value_type(x);
            let m = if self.b.func.dfg.value_type(m) == t { m } else { self.b.ins().bitcast(t, plain, m) };
            all.push(self.b.ins().bitselect(m, x, y));
        }
        LaneValue::Varying(all)
    }

    pub(super) fn wide_cast(&mut self, value: LaneValue, mut from: DType, to: DType, small: bool) -> Result<LaneValue> {
        if from == to {
            return Ok(value);
        }
        if let LaneValue::Varying(chunks) = &value
            && from == DType::I64
            && self.is_narrowed(chunks)
        {
            from = DType::I32;
            if from == to {
                return Ok(value);
            }
        }
        // The result is held in 32 bits.
        let small = small && from.is_int() && from.size() <= 4;
        let to = if small { DType::I32 } else { to };
        if small && from.size() == 4 {
            return Ok(LaneValue::Varying(self.chunks(value, from)));
        }
        let mut chunks = self.chunks(value.clone(), from);
        let whole = |d: DType| d.is_int();
        if to == DType::Bool && from != DType::Bool {
            let t = Self::vector(from);
            let zero = self.zero(t.lane_type());
            let zero = self.b.ins().splat(t, zero);
            let float = from.is_float();
            let mask = chunks.into_iter().map(|c| {
                if float {
                    self.b.ins().fcmp(FloatCC::NotEqual, c, zero)
                } else {
                    self.b.ins().icmp(IntCC::NotEqual, c, zero)
                }
            });
            return Ok(LaneValue::Varying(mask.collect()));
        }
        if from == DType::Bool && whole(to) {
            let mask = self.resize_mask(chunks, to.size() as u32);
            return Ok(LaneValue::Varying(mask.into_iter().map(|c| self.b.ins().ineg(c)).collect()));
        }
        if whole(from) && whole(to) {
            let signed = from.kind() == DTypeKind::Int;
            let size = |body: &Self, chunks: &Chunks| body.b.func.dfg.value_type(chunks[0]).lane_type().bytes();
            while size(self, &chunks) < to.size() as u32 {
                let mut wider = Chunks::new();
                for &c in &chunks {
                    wider.push(if signed { self.b.ins().swiden_low(c) } else { self.b.ins().uwiden_low(c) });
                    wider.push(if signed { self.b.ins().swiden_high(c) } else { self.b.ins().uwiden_high(c) });
                }
                chunks = wider;
            }
            while size(self, &chunks) > to.size() as u32 {
                chunks = self.narrowed(&chunks);
            }
            return Ok(LaneValue::Varying(chunks));
        }
        match (from, to) {
            (DType::I32, DType::F32) => {
                let t = Self::vector(to);
                return Ok(LaneValue::Varying(chunks.into_iter().map(|c| self.b.ins().fcvt_from_sint(t, c)).collect()));
            }
            (DType::I64 | DType::U64, DType::F64) => {
                let signed = from == DType::I64;
                return Ok(LaneValue::Varying(chunks.into_iter().map(|c| self.ints_to_f64(c, signed)).collect()));
            }
            (DType::F32, DType::F64) => {
                let parts = chunks.into_iter().flat_map(|c| {
                    let high = self.swapped_halves(c);
                    [self.b.ins().fvpromote_low(c), self.b.ins().fvpromote_low(high)]
                });
                return Ok(LaneValue::Varying(parts.collect()));
            }
            (DType::F64, DType::F32) => {
                let parts: Chunks = chunks.into_iter().map(|c| self.b.ins().fvdemote(c)).collect();
                return Ok(LaneValue::Varying(self.low_lanes(&parts)));
            }
            _ => {}
        }
        self.lane_by_lane(from, to, &[value], |body, v| Ok(body.convert(v, from, to)?[0]))
    }

    /// Converts 64-bit integers to float64 with one rounding. Each half becomes the mantissa of a float64 that
    /// represents it exactly: the upper half with a bias of 2^84 (and 2^63, which makes it nonnegative), the lower half
    /// with 2^52.
    fn ints_to_f64(&mut self, value: Value, signed: bool) -> Value {
        let splat = |body: &mut Self, n: u64| {
            let n = body.b.ins().iconst(types::I64, n as i64);
            body.b.ins().splat(types::I64X2, n)
        };
        let low_mask = splat(self, 0xffff_ffff);
        let low = self.b.ins().band(value, low_mask);
        let below = splat(self, 0x4330_0000_0000_0000);
        let low = self.b.ins().bor(low, below);
        let high = self.b.ins().ushr_imm_s(value, 32);
        let above = splat(self, 0x4530_0000_0000_0000 | if signed { 1 << 31 } else { 0 });
        let high = self.b.ins().bxor(high, above);
        let both = 2f64.powi(84) + 2f64.powi(52) + if signed { 2f64.powi(63) } else { 0.0 };
        let both = self.b.ins().f64const(both);
        let both = self.b.ins().splat(types::F64X2, both);
        let plain = MemFlagsData::new().with_endianness(Endianness::Little);
        let [low, high] = [low, high].map(|c| self.b.ins().bitcast(types::F64X2, plain, c));
        let high = self.b.ins().fsub(high, both);
        self.b.ins().fadd(high, low)
    }

    /// Applies an operation for which there is no vector instruction.
    fn lane_by_lane(
        &mut self,
        from: DType,
        to: DType,
        values: &[LaneValue],
        mut f: impl FnMut(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<LaneValue> {
        let mut results = Vec::new();
        for lane in 0..WIDTH {
            let operands: Vec<Value> = values.iter().map(|v| self.lane_of(v, from, lane)).collect();
            results.push(f(self, &operands)?);
        }
        Ok(LaneValue::Varying(self.insert_lanes(&results, to)))
    }

    pub(super) fn wide_fun(&mut self, fun: Fun, d: DType, values: &[LaneValue], args: &[Expr]) -> Result<LaneValue> {
        if let Some(chunks) = self.vector_fun(fun, d, values, args) {
            return Ok(LaneValue::Varying(chunks));
        }
        if let Some(function) = blocks::group_map(fun, d) {
            let memory = self.scratch();
            for (value, &at) in values.iter().zip(&memory[1..]) {
                let chunks = self.chunks(value.clone(), d);
                self.store_chunks(d, &chunks, at, 0);
            }
            self.call_map(function, WIDTH, memory)?;
            return Ok(LaneValue::Varying(self.load_chunks(d, memory[0], 0)));
        }
        let to = fun.result(d);
        let known = args.get(1).and_then(Expr::as_int);
        self.lane_by_lane(d, to, values, |body, v| {
            let operands: Vec<Values> = v.iter().map(|&v| Values::from_slice(&[v])).collect();
            Ok(body.fun_of(fun, d, &operands, known)?[0])
        })
    }

    /// Compiles functions for which there are vector instructions.
    pub(super) fn vector_fun(&mut self, fun: Fun, d: DType, values: &[LaneValue], args: &[Expr]) -> Option<Chunks> {
        let each = |body: &mut Self, k: usize| body.chunks(values[k].clone(), d);
        let two = |body: &mut Self, f: &mut dyn FnMut(&mut Self, Value, Value) -> Value| {
            let (a, b) = (each(body, 0), each(body, 1));
            Some(a.iter().zip(&b).map(|(&a, &b)| f(body, a, b)).collect())
        };
        let one = |body: &mut Self, f: &mut dyn FnMut(&mut Self, Value) -> Value| {
            let a = each(body, 0);
            Some(a.iter().map(|&a| f(body, a)).collect())
        };
        if d == DType::Bool {
            let a = each(self, 0);
            if matches!(fun, Fun::Invert | Fun::LogicalNot) {
                return Some(a.iter().map(|&a| self.b.ins().bnot(a)).collect());
            }
            if !matches!(
                fun,
                Fun::BitwiseAnd | Fun::LogicalAnd | Fun::BitwiseOr | Fun::LogicalOr | Fun::BitwiseXor | Fun::LogicalXor
            ) {
                return None;
            }
            let b = each(self, 1);
            let size = |c: &Chunks| self.b.func.dfg.value_type(c[0]).lane_type().bytes();
            let size = size(&a).max(size(&b));
            let (a, b) = (self.resize_mask(a, size), self.resize_mask(b, size));
            let can_pair_rows = a.iter().zip(&b);
            return Some(
                can_pair_rows
                    .map(|(&a, &b)| match fun {
                        Fun::BitwiseAnd | Fun::LogicalAnd => self.b.ins().band(a, b),
                        Fun::BitwiseOr | Fun::LogicalOr => self.b.ins().bor(a, b),
                        _ => self.b.ins().bxor(a, b),
                    })
                    .collect(),
            );
        }
        if d.is_float() {
            if let Some(cc) = float_compare(fun) {
                return two(self, &mut |s, a, b| s.b.ins().fcmp(cc, a, b));
            }
            return match fun {
                Fun::Add => two(self, &mut |s, a, b| s.b.ins().fadd(a, b)),
                Fun::Subtract => two(self, &mut |s, a, b| s.b.ins().fsub(a, b)),
                Fun::Multiply => two(self, &mut |s, a, b| s.b.ins().fmul(a, b)),
                Fun::Divide => two(self, &mut |s, a, b| s.b.ins().fdiv(a, b)),
                Fun::Square => one(self, &mut |s, a| s.b.ins().fmul(a, a)),
                Fun::Sqrt => one(self, &mut |s, a| s.b.ins().sqrt(a)),
                Fun::Negative => one(self, &mut |s, a| s.b.ins().fneg(a)),
                Fun::Absolute | Fun::Fabs => one(self, &mut |s, a| s.b.ins().fabs(a)),
                Fun::Floor => one(self, &mut |s, a| s.b.ins().floor(a)),
                Fun::Ceil => one(self, &mut |s, a| s.b.ins().ceil(a)),
                Fun::Trunc => one(self, &mut |s, a| s.b.ins().trunc(a)),
                Fun::Positive => one(self, &mut |_, a| a),
                _ => None,
            };
        }
        if d.size() < 4 {
            return None;
        }
        let signed = d.kind() == DTypeKind::Int;
        if let Some(cc) = int_compare(fun, signed) {
            return two(self, &mut |s, a, b| s.b.ins().icmp(cc, a, b));
        }
        let known = args.get(1).and_then(Expr::as_int);
        match fun {
            Fun::Add => two(self, &mut |s, a, b| s.b.ins().iadd(a, b)),
            Fun::Subtract => two(self, &mut |s, a, b| s.b.ins().isub(a, b)),
            Fun::Multiply => two(self, &mut |s, a, b| s.b.ins().imul(a, b)),
            Fun::Square => one(self, &mut |s, a| s.b.ins().imul(a, a)),
            Fun::Negative => one(self, &mut |s, a| s.b.ins().ineg(a)),
            Fun::Positive => one(self, &mut |_, a| a),
            Fun::BitwiseAnd => two(self, &mut |s, a, b| s.b.ins().band(a, b)),
            Fun::BitwiseOr => two(self, &mut |s, a, b| s.b.ins().bor(a, b)),
            Fun::BitwiseXor => two(self, &mut |s, a, b| s.b.ins().bxor(a, b)),
            Fun::Invert => one(self, &mut |s, a| s.b.ins().bnot(a)),
            Fun::Maximum | Fun::Minimum => {
                let cc = match (fun, signed) {
                    (Fun::Maximum, true) => IntCC::SignedGreaterThan,
                    (Fun::Maximum, false) => IntCC::UnsignedGreaterThan,
                    (_, true) => IntCC::SignedLessThan,
                    (_, false) => IntCC::UnsignedLessThan,
                };
                two(self, &mut |s, a, b| {
                    let first = s.b.ins().icmp(cc, a, b);
                    s.b.ins().bitselect(first, a, b)
                })
            }
            Fun::LeftShift | Fun::RightShift => {
                let by = known.filter(|n| (0..8 * d.size() as i64).contains(n))?;
                one(self, &mut |s, a| match (fun, signed) {
                    (Fun::LeftShift, _) => s.b.ins().ishl_imm_s(a, by),
                    (_, true) => s.b.ins().sshr_imm_s(a, by),
                    _ => s.b.ins().ushr_imm_s(a, by),
                })
            }
            Fun::FloorDivide | Fun::Remainder => {
                let by = known.filter(|n| *n > 0 && (*n as u64).is_power_of_two())?;
                let t = Self::vector(d);
                one(self, &mut |s, a| match fun {
                    Fun::Remainder => {
                        let low_mask = s.b.ins().iconst(t.lane_type(), by - 1);
                        let low_mask = s.b.ins().splat(t, low_mask);
                        s.b.ins().band(a, low_mask)
                    }
                    _ if signed => s.b.ins().sshr_imm_s(a, i64::from(by.trailing_zeros())),
                    _ => s.b.ins().ushr_imm_s(a, i64::from(by.trailing_zeros())),
                })
            }
            _ => None,
        }
    }
}
