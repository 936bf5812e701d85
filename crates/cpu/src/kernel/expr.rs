//! Expressions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_module::Module as _;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Error, Fun, Result, Scalar};
use cuprous_kernel::ir::{Expr, Kind};
use cuprous_kernel::types::Ty;
use smallvec::smallvec;

use super::function::FunctionCompiler;
use super::sanitizer::Access;
use super::values::{Values, item_start, parts, register};

/// Maximum number of parts of an expression that is computed even where its value may not be needed.
const MAX_CHEAP_PARTS: usize = 12;

/// Returns the number of parts of an expression that takes few instructions and does not read memory.
fn cheap_parts(e: &Expr) -> Option<usize> {
    let plain = |d: DType| !d.is_complex() && !matches!(d, DType::F16 | DType::BF16);
    let quick = match &e.kind {
        Kind::Const(_) | Kind::Var(_) | Kind::Extent(..) | Kind::And(..) | Kind::Or(..) | Kind::Not(_) => true,
        Kind::Cast(_) => e.dtype().is_some_and(plain),
        Kind::Fun(fun, d, _) => {
            use Fun::{Add, Greater, GreaterEqual, Less, LessEqual, Subtract};
            plain(*d) && matches!(fun, Add | Subtract | Less | LessEqual | Greater | GreaterEqual)
        }
        _ => false,
    };
    let mut all = quick.then_some(1);
    e.each_operand(&mut |part| all = all.zip(cheap_parts(part)).map(|(a, b)| a + b));
    all
}

impl FunctionCompiler<'_, '_, '_> {
    /// Returns the value of an expression that has one register.
    pub(super) fn value_of(&mut self, e: &Expr) -> Result<Value> {
        let values = self.expr(e)?;
        values.first().copied().ok_or_else(|| Error::runtime("[kernel] internal error: a value without registers"))
    }

    /// Returns the registers of an expression.
    pub(super) fn expr(&mut self, e: &Expr) -> Result<Values> {
        Ok(match &e.kind {
            Kind::Const(n) => self.constant(*n, e.dtype().unwrap_or(DType::I64)),
            Kind::Nothing => Values::new(),
            Kind::Var(v) => self.get(*v),
            Kind::Declared(k) => self.arrays[*k].clone(),
            Kind::Constant(k) => {
                let id = self.shared.constants[*k];
                let data = self.shared.jit.declare_data_in_func(id, self.b.func);
                let mut values: Values = smallvec![self.b.ins().symbol_value(types::I64, data)];
                let shape = self.shared.ir.constants[*k].shape.clone();
                for n in shape.iter().chain(shape.is_empty().then_some(&1)) {
                    values.push(self.b.ins().iconst(types::I64, *n));
                }
                values
            }
            Kind::Cast(from) => {
                let values = self.expr(from)?;
                self.cast(&values, &from.ty, &e.ty)?
            }
            Kind::Fun(fun, d, args) => self.fun(*fun, *d, args)?,
            Kind::Builtin(row, args) => self.builtin(row, args, &e.ty)?,
            Kind::And(a, b) => smallvec![self.short_circuit(a, b, true)?],
            Kind::Or(a, b) => smallvec![self.short_circuit(a, b, false)?],
            Kind::Not(a) => {
                let a = self.value_of(a)?;
                smallvec![self.b.ins().icmp_imm_s(IntCC::Equal, a, 0)]
            }
            Kind::Select(c, a, b) => self.select(c, a, b)?,
            Kind::Tuple(items) => {
                let mut values = Values::new();
                for item in items {
                    values.extend(self.expr(item)?);
                }
                values
            }
            // Only the selected item is computed; the others may belong to other threads.
            Kind::Item(of, k) if matches!(of.kind, Kind::Tuple(_)) => match &of.kind {
                Kind::Tuple(items) => self.expr(&items[*k])?,
                _ => Values::new(),
            },
            Kind::Item(of, k) => {
                let values = self.expr(of)?;
                let Ty::Tuple(items, _) = &of.ty else { return Ok(values) };
                let start = item_start(items, *k);
                values[start..start + parts(&items[*k]).len()].into()
            }
            Kind::Load(array, indices) => {
                let (address, far) = self.element_address(array, indices)?;
                self.check_access(Access::Read, array, indices, (address, far), &[])?;
                self.load_parts(&e.ty, address, far)
            }
            Kind::View(array, indices) => self.view(array, indices, &e.ty)?,
            Kind::Field(array, k) => self.field(array, *k)?,
            Kind::Transpose(array) => self.transpose(array, &e.ty)?,
            Kind::Reshape(array, extents) => {
                let mut values: Values = smallvec![self.expr(array)?[0]];
                for n in extents {
                    values.push(self.value_of(n)?);
                }
                values
            }
            Kind::Extent(array, axis) => {
                let values = self.expr(array)?;
                smallvec![values[1 + axis]]
            }
            Kind::Stride(array, axis) => {
                let values = self.expr(array)?;
                let Ty::Array(ty) = &array.ty else { return Ok(values) };
                smallvec![self.strides(ty, &values)[*axis]]
            }
            Kind::Call(callee, args) => self.call(*callee, args)?,
            Kind::Atomic { op, array, indices, operands } => self.atomic(*op, array, indices, operands)?,
            Kind::Cached { array, indices, operands, .. } => self.cached(array, indices, operands)?,
        })
    }

    pub(super) fn constant(&mut self, n: Number, d: DType) -> Values {
        let scalar = Scalar::new(n, d);
        let bits = |at: usize, size: usize| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&scalar.0[at..at + size]);
            i64::from_le_bytes(word)
        };
        let part = d.component();
        let one = |body: &mut Self, at: usize| match part {
            DType::F32 => body.b.ins().f32const(f32::from_bits(bits(at, 4) as u32)),
            DType::F64 => body.b.ins().f64const(f64::from_bits(bits(at, 8) as u64)),
            part => {
                // The constant of a narrow type must not have bits beyond its width.
                let raw = bits(at, part.size());
                body.b.ins().iconst(register(part), raw)
            }
        };
        let mut values: Values = smallvec![one(self, 0)];
        if d.is_complex() {
            values.push(one(self, part.size()));
        }
        values
    }

    // --- memory

    /// Adds the extent to a negative index, which counts from the end.
    pub(super) fn wrap_negative(&mut self, index: Value, extent: Value) -> Value {
        let back = self.b.ins().iadd(index, extent);
        let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, index, 0);
        self.b.ins().select(negative, back, index)
    }

    pub(super) fn load_parts(&mut self, ty: &Ty, address: Value, far: i32) -> Values {
        let types = parts(ty);
        let all = types.iter().enumerate();
        all.map(|(k, &t)| self.b.ins().load(t, Self::trusted(), address, far + k as i32 * t.bytes() as i32)).collect()
    }

    pub(super) fn store_parts(&mut self, ty: &Ty, (address, far): (Value, i32), values: &[Value]) {
        for (k, (&value, t)) in values.iter().zip(parts(ty)).enumerate() {
            self.b.ins().store(Self::trusted(), value, address, far + k as i32 * t.bytes() as i32);
        }
    }

    // --- choices

    /// Compiles `a and b` or `a or b`. `b` is computed only if it decides the result, unless it is cheap.
    fn short_circuit(&mut self, a: &Expr, b: &Expr, and: bool) -> Result<Value> {
        let first = self.value_of(a)?;
        if cheap_parts(b).is_some_and(|n| n <= MAX_CHEAP_PARTS) {
            let second = self.value_of(b)?;
            return Ok(if and { self.b.ins().band(first, second) } else { self.b.ins().bor(first, second) });
        }
        let (other, end) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(end, types::I8);
        if and {
            self.b.ins().brif(first, other, &[], end, &[first.into()]);
        } else {
            self.b.ins().brif(first, end, &[first.into()], other, &[]);
        }
        self.b.switch_to_block(other);
        let second = self.value_of(b)?;
        self.b.ins().jump(end, &[second.into()]);
        self.b.switch_to_block(end);
        Ok(self.b.block_params(end)[0])
    }

    fn select(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Result<Values> {
        let test = self.value_of(c)?;
        if a.is_simple() && b.is_simple() {
            let (a, b) = (self.expr(a)?, self.expr(b)?);
            return Ok(a.iter().zip(&b).map(|(&x, &y)| self.b.ins().select(test, x, y)).collect());
        }
        let (yes, no, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        for t in parts(&a.ty) {
            self.b.append_block_param(end, t);
        }
        self.b.ins().brif(test, yes, &[], no, &[]);
        for (block, e) in [(yes, a), (no, b)] {
            self.b.switch_to_block(block);
            let values: Vec<_> = self.expr(e)?.iter().map(|&v| v.into()).collect();
            self.b.ins().jump(end, &values);
        }
        self.b.switch_to_block(end);
        Ok(self.b.block_params(end).into())
    }

    // --- conversions

    fn cast(&mut self, values: &[Value], from: &Ty, to: &Ty) -> Result<Values> {
        match (from, to) {
            (Ty::Scalar(a), Ty::Scalar(b)) => self.convert(values, *a, *b),
            (Ty::Array(a), Ty::Array(b)) if a.order != b.order => {
                let mut all: Values = values[..1 + (a.ndim as usize).max(1)].into();
                all.extend(self.strides(a, values));
                Ok(all)
            }
            (Ty::Tuple(types, _), Ty::Tuple(wanted, _)) => {
                let mut all = Values::new();
                for (k, (a, b)) in types.iter().zip(wanted).enumerate() {
                    let start = item_start(types, k);
                    all.extend(self.cast(&values[start..start + parts(a).len()], a, b)?);
                }
                Ok(all)
            }
            _ => Ok(values.into()),
        }
    }
}
