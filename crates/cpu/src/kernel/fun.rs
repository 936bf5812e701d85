//! Rows of the operation table. A row is compiled to instructions if there are any, else to a call of the C library,
//! which is faster for a single number, else to a call of the block function that arrays use. Where other threads of
//! the region run in groups of lanes, scalar threads also call the block function, so that all threads get the same
//! results.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cuprous_core::{DType, Error, Fun, Kind as DTypeKind, Result};
use cuprous_kernel::ir::Expr;
use smallvec::smallvec;

use super::function::FunctionCompiler;
use super::runtime;
use super::values::{Values, parts, register};
use crate::blocks::{self, MapFn};

impl FunctionCompiler<'_, '_, '_> {
    pub(super) fn fun(&mut self, fun: Fun, d: DType, args: &[Expr]) -> Result<Values> {
        let mut operands: Vec<Values> = Vec::new();
        for arg in args {
            operands.push(self.expr(arg)?);
        }
        self.fun_of(fun, d, &operands, args.get(1).and_then(Expr::as_int))
    }

    /// Applies a function to values. `known` is the second operand if it is constant.
    pub(super) fn fun_of(&mut self, fun: Fun, d: DType, operands: &[Values], known: Option<i64>) -> Result<Values> {
        if let Some(values) = self.complex(fun, d, operands) {
            return Ok(values);
        }
        let few = blocks::group_map(fun, d);
        if let (true, Some(function)) = (self.in_lane_groups, few) {
            return self.map_one(function, &vec![d; operands.len()], operands, d);
        }
        if !d.is_complex() && !matches!(d, DType::F16 | DType::BF16) {
            let flat: Vec<Value> = operands.iter().map(|v| v[0]).collect();
            let found = match d {
                DType::F32 | DType::F64 => self.float(fun, d, &flat)?,
                d => self.integer(fun, d, &flat, known),
            };
            if let Some(value) = found {
                return Ok(smallvec![value]);
            }
        }
        if let Some(function) = few {
            return self.map_one(function, &vec![d; operands.len()], operands, d);
        }
        self.block_function(fun, &vec![d; operands.len()], operands)
    }

    /// Compiles operations on complex numbers and their parts that need no call.
    fn complex(&mut self, fun: Fun, d: DType, args: &[Values]) -> Option<Values> {
        if fun == Fun::MakeComplex && matches!(d, DType::F32 | DType::F64) {
            return Some(smallvec![args[0][0], args[1][0]]);
        }
        if !d.is_complex() {
            return None;
        }
        let a = &args[0];
        let b = args.get(1);
        let ins = &mut self.b;
        Some(match (fun, b) {
            (Fun::Add, Some(b)) => smallvec![ins.ins().fadd(a[0], b[0]), ins.ins().fadd(a[1], b[1])],
            (Fun::Subtract, Some(b)) => smallvec![ins.ins().fsub(a[0], b[0]), ins.ins().fsub(a[1], b[1])],
            (Fun::Multiply, Some(b)) => {
                let (rr, ii) = (ins.ins().fmul(a[0], b[0]), ins.ins().fmul(a[1], b[1]));
                let (ri, ir) = (ins.ins().fmul(a[0], b[1]), ins.ins().fmul(a[1], b[0]));
                smallvec![ins.ins().fsub(rr, ii), ins.ins().fadd(ri, ir)]
            }
            (Fun::Negative, _) => smallvec![ins.ins().fneg(a[0]), ins.ins().fneg(a[1])],
            (Fun::Conjugate, _) => smallvec![a[0], ins.ins().fneg(a[1])],
            (Fun::Real, _) => smallvec![a[0]],
            (Fun::Imag, _) => smallvec![a[1]],
            (Fun::Equal | Fun::NotEqual, Some(b)) => {
                let (re, im) = (ins.ins().fcmp(FloatCC::Equal, a[0], b[0]), ins.ins().fcmp(FloatCC::Equal, a[1], b[1]));
                let same = ins.ins().band(re, im);
                smallvec![if fun == Fun::Equal { same } else { ins.ins().icmp_imm_s(IntCC::Equal, same, 0) }]
            }
            _ => return None,
        })
    }

    fn float(&mut self, fun: Fun, d: DType, v: &[Value]) -> Result<Option<Value>> {
        let t = register(d);
        let a = v[0];
        let b = v.get(1).copied().unwrap_or(a);
        let compare = match fun {
            Fun::Equal => Some(FloatCC::Equal),
            Fun::NotEqual => Some(FloatCC::NotEqual),
            Fun::Less => Some(FloatCC::LessThan),
            Fun::LessEqual => Some(FloatCC::LessThanOrEqual),
            Fun::Greater => Some(FloatCC::GreaterThan),
            Fun::GreaterEqual => Some(FloatCC::GreaterThanOrEqual),
            _ => None,
        };
        if let Some(cc) = compare {
            return Ok(Some(self.b.ins().fcmp(cc, a, b)));
        }
        let i = self.b.ins();
        Ok(Some(match fun {
            Fun::Add => i.fadd(a, b),
            Fun::Subtract => i.fsub(a, b),
            Fun::Multiply => i.fmul(a, b),
            Fun::Divide => i.fdiv(a, b),
            Fun::Square => i.fmul(a, a),
            Fun::Negative => i.fneg(a),
            Fun::Absolute | Fun::Fabs => i.fabs(a),
            Fun::Sqrt => i.sqrt(a),
            Fun::Floor => i.floor(a),
            Fun::Ceil => i.ceil(a),
            Fun::Trunc => i.trunc(a),
            Fun::Rint => i.nearest(a),
            Fun::Copysign => i.fcopysign(a, b),
            Fun::Positive | Fun::Conjugate => a,
            Fun::Isnan => i.fcmp(FloatCC::Unordered, a, a),
            Fun::Isinf | Fun::Isfinite => {
                let size = self.b.ins().fabs(a);
                let most = if t == types::F32 {
                    self.b.ins().f32const(f32::INFINITY)
                } else {
                    self.b.ins().f64const(f64::INFINITY)
                };
                self.b.ins().fcmp(if fun == Fun::Isinf { FloatCC::Equal } else { FloatCC::LessThan }, size, most)
            }
            Fun::Rsqrt | Fun::Reciprocal => {
                let one = if t == types::F32 { self.b.ins().f32const(1.0) } else { self.b.ins().f64const(1.0) };
                let root = if fun == Fun::Rsqrt { self.b.ins().sqrt(a) } else { a };
                self.b.ins().fdiv(one, root)
            }
            fun => {
                let name = format!("{}_{}", fun.op().name, if t == types::F32 { "f32" } else { "f64" });
                if !runtime::symbols().iter().any(|(known, _)| *known == name) {
                    return Ok(None);
                }
                return self.call_library(&name, v, Some(t));
            }
        }))
    }

    fn integer(&mut self, fun: Fun, d: DType, v: &[Value], known: Option<i64>) -> Option<Value> {
        let signed = d.kind() == DTypeKind::Int;
        let a = v[0];
        let b = v.get(1).copied().unwrap_or(a);
        let compare = match (fun, signed) {
            (Fun::Equal, _) => Some(IntCC::Equal),
            (Fun::NotEqual, _) => Some(IntCC::NotEqual),
            (Fun::Less, true) => Some(IntCC::SignedLessThan),
            (Fun::Less, false) => Some(IntCC::UnsignedLessThan),
            (Fun::LessEqual, true) => Some(IntCC::SignedLessThanOrEqual),
            (Fun::LessEqual, false) => Some(IntCC::UnsignedLessThanOrEqual),
            (Fun::Greater, true) => Some(IntCC::SignedGreaterThan),
            (Fun::Greater, false) => Some(IntCC::UnsignedGreaterThan),
            (Fun::GreaterEqual, true) => Some(IntCC::SignedGreaterThanOrEqual),
            (Fun::GreaterEqual, false) => Some(IntCC::UnsignedGreaterThanOrEqual),
            _ => None,
        };
        if let Some(cc) = compare {
            return Some(self.b.ins().icmp(cc, a, b));
        }
        if d == DType::Bool {
            return Some(match fun {
                Fun::BitwiseAnd | Fun::LogicalAnd => self.b.ins().band(a, b),
                Fun::BitwiseOr | Fun::LogicalOr => self.b.ins().bor(a, b),
                Fun::BitwiseXor | Fun::LogicalXor => self.b.ins().bxor(a, b),
                Fun::Invert | Fun::LogicalNot => self.b.ins().icmp_imm_s(IntCC::Equal, a, 0),
                _ => return None,
            });
        }
        let i = self.b.ins();
        Some(match fun {
            Fun::Add => i.iadd(a, b),
            Fun::Subtract => i.isub(a, b),
            Fun::Multiply => i.imul(a, b),
            Fun::Square => i.imul(a, a),
            Fun::Negative => i.ineg(a),
            Fun::Positive | Fun::Conjugate | Fun::Floor | Fun::Ceil | Fun::Trunc => a,
            Fun::Absolute if signed => i.iabs(a),
            Fun::Absolute => a,
            Fun::Maximum if signed => i.smax(a, b),
            Fun::Maximum => i.umax(a, b),
            Fun::Minimum if signed => i.smin(a, b),
            Fun::Minimum => i.umin(a, b),
            Fun::BitwiseAnd => i.band(a, b),
            Fun::BitwiseOr => i.bor(a, b),
            Fun::BitwiseXor => i.bxor(a, b),
            Fun::Invert => i.bnot(a),
            Fun::LeftShift | Fun::RightShift => self.shift(fun, d, a, b),
            Fun::FloorDivide | Fun::Remainder => self.divide(fun, d, a, b, known),
            _ => return None,
        })
    }

    /// Shifts. A shift by the width or more, or by a negative number, moves every bit out.
    fn shift(&mut self, fun: Fun, d: DType, a: Value, b: Value) -> Value {
        let width = 8 * d.size() as i64;
        let t = register(d);
        let inside = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, b, width);
        let zero = self.b.ins().iconst(t, 0);
        let (moved, out) = match (fun, d.kind()) {
            (Fun::LeftShift, _) => (self.b.ins().ishl(a, b), zero),
            (_, DTypeKind::Int) => {
                let sign = self.b.ins().sshr_imm_s(a, width - 1);
                (self.b.ins().sshr(a, b), sign)
            }
            _ => (self.b.ins().ushr(a, b), zero),
        };
        self.b.ins().select(inside, moved, out)
    }

    /// Divides integers with Python's rounding. Quotient and remainder of a division by zero are zero.
    fn divide(&mut self, fun: Fun, d: DType, a: Value, b: Value, known: Option<i64>) -> Value {
        let t = register(d);
        let signed = d.kind() == DTypeKind::Int;
        // The divisor is replaced where the instruction would trap: for zero and for MIN / -1.
        let safe = match known {
            Some(n) if n > 0 => b,
            _ => {
                let one = self.b.ins().iconst(t, 1);
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
                let bad = if signed {
                    let minus = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
                    self.b.ins().bor(zero, minus)
                } else {
                    zero
                };
                self.b.ins().select(bad, one, b)
            }
        };
        if !signed {
            let result = if fun == Fun::Remainder { self.b.ins().urem(a, safe) } else { self.b.ins().udiv(a, safe) };
            return self.unless_zero(t, b, known, result);
        }
        if known.is_some_and(|n| n > 0 && (n as u64).is_power_of_two()) {
            let n = known.unwrap_or(1);
            return match fun {
                Fun::Remainder => self.b.ins().band_imm_s(a, n - 1),
                _ => self.b.ins().sshr_imm_s(a, i64::from(n.trailing_zeros())),
            };
        }
        let rest = self.b.ins().srem(a, safe);
        let not_whole = self.b.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
        let signs = self.b.ins().bxor(rest, b);
        let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let mend = self.b.ins().band(not_whole, differ);
        let result = if fun == Fun::Remainder {
            let moved = self.b.ins().iadd(rest, b);
            self.b.ins().select(mend, moved, rest)
        } else {
            let quotient = self.b.ins().sdiv(a, safe);
            let below = self.b.ins().iadd_imm_s(quotient, -1);
            let floor = self.b.ins().select(mend, below, quotient);
            // a / -1 is -a, which wraps for MIN.
            let negated = self.b.ins().ineg(a);
            let minus = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
            self.b.ins().select(minus, negated, floor)
        };
        self.unless_zero(t, b, known, result)
    }

    fn unless_zero(&mut self, t: Type, b: Value, known: Option<i64>, result: Value) -> Value {
        if known.is_some_and(|n| n > 0) {
            return result;
        }
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let none = self.b.ins().iconst(t, 0);
        self.b.ins().select(zero, none, result)
    }

    /// Calls the block function that arrays use, for one element.
    fn block_function(&mut self, fun: Fun, types: &[DType], operands: &[Values]) -> Result<Values> {
        let first = types[0];
        let out = match fun {
            Fun::MakeComplex if first == DType::F64 => DType::C128,
            Fun::MakeComplex => DType::C64,
            fun => fun.result(first),
        };
        self.block_function_to(fun, types, operands, out)
    }

    fn block_function_to(&mut self, fun: Fun, types: &[DType], operands: &[Values], out: DType) -> Result<Values> {
        let Some(function) = blocks::map(fun, types, out) else {
            let name = fun.op().name;
            return Err(Error::not_implemented(format!("[kernel] {name} is not supported on the CPU yet")));
        };
        self.map_one(function, types, operands, out)
    }

    /// Calls a block function for one element.
    fn map_one(&mut self, function: MapFn, types: &[DType], operands: &[Values], out: DType) -> Result<Values> {
        let memory = self.scratch();
        for ((values, &d), &at) in operands.iter().zip(types).zip(&memory[1..]) {
            for (k, &value) in values.iter().enumerate() {
                let offset = (k * d.component().size()) as i32;
                self.b.ins().store(Self::trusted(), value, at, offset);
            }
        }
        self.call_map(function, 1, memory)?;
        let size = out.component().size() as i32;
        let types = parts(&cuprous_kernel::Ty::Scalar(out));
        Ok(types
            .iter()
            .enumerate()
            .map(|(k, &t)| self.b.ins().load(t, Self::trusted(), memory[0], k as i32 * size))
            .collect())
    }

    /// Calls a block function for `n` elements at the addresses of the result and the operands.
    pub(super) fn call_map(&mut self, function: MapFn, n: i64, [out, a, b, c]: [Value; 4]) -> Result<()> {
        let function = self.b.ins().iconst(types::I64, function as usize as i64);
        let n = self.b.ins().iconst(types::I64, n);
        self.call_library("host_map", &[function, n, out, a, b, c], None)?;
        Ok(())
    }

    // --- conversions of numbers

    /// Converts an integer to a register of another size.
    pub(super) fn resize(&mut self, value: Value, to: Type, signed: bool) -> Value {
        let from = self.b.func.dfg.value_type(value);
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.b.ins().ireduce(to, value),
            std::cmp::Ordering::Less if signed => self.b.ins().sextend(to, value),
            std::cmp::Ordering::Less => self.b.ins().uextend(to, value),
        }
    }

    /// Converts a number to another type.
    pub(super) fn convert(&mut self, values: &[Value], from: DType, to: DType) -> Result<Values> {
        if from == to {
            return Ok(values.into());
        }
        let low = |d: DType| matches!(d, DType::F16 | DType::BF16);
        if low(from) || low(to) {
            // float16 and bfloat16 convert to complex numbers through their real part.
            if to.is_complex() {
                let re = self.convert(values, from, to.component())?[0];
                let zero = self.zero(register(to));
                return Ok(smallvec![re, zero]);
            }
            return self.block_function_to(Fun::Cast, &[from], &[values.into()], to);
        }
        if to.is_complex() {
            let part = to.component();
            let re = self.number(values[0], from.component(), part);
            let im = match values.get(1) {
                Some(&im) => self.number(im, from.component(), part),
                None => self.zero(register(part)),
            };
            return Ok(smallvec![re, im]);
        }
        if from.is_complex() && to == DType::Bool {
            let parts = [values[0], values[1]].map(|v| self.number(v, from.component(), to));
            return Ok(smallvec![self.b.ins().bor(parts[0], parts[1])]);
        }
        Ok(smallvec![self.number(values[0], from.component(), to)])
    }

    /// Converts between types that are neither complex nor half precision.
    fn number(&mut self, value: Value, from: DType, to: DType) -> Value {
        let (floats, t) = ((from.is_float(), to.is_float()), register(to));
        let signed = from.kind() == DTypeKind::Int;
        match floats {
            _ if from == to => value,
            (false, false) if to == DType::Bool => self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0),
            (false, false) => self.resize(value, t, signed),
            (true, true) if t == types::F64 => self.b.ins().fpromote(t, value),
            (true, true) => self.b.ins().fdemote(t, value),
            (true, false) if to == DType::Bool => {
                let zero = self.zero(register(from));
                self.b.ins().fcmp(FloatCC::NotEqual, value, zero)
            }
            (true, false) => {
                let wide = if to == DType::U64 {
                    self.b.ins().fcvt_to_uint_sat(types::I64, value)
                } else {
                    self.b.ins().fcvt_to_sint_sat(types::I64, value)
                };
                self.resize(wide, t, false)
            }
            (false, true) => {
                let wide = self.resize(value, types::I64, signed);
                if signed || from != DType::U64 {
                    self.b.ins().fcvt_from_sint(t, wide)
                } else {
                    self.b.ins().fcvt_from_uint(t, wide)
                }
            }
        }
    }
}
