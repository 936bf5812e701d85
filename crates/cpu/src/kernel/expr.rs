//! Expressions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_module::Module as _;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Error, Fun, Kind as Sort, Result, Scalar};
use cuprous_kernel::ir::{AtomicOp, Expr, Kind};
use cuprous_kernel::table::{Row, Slot};
use cuprous_kernel::types::Ty;
use smallvec::smallvec;

use super::code::Body;
use super::fibers::OPS;
use super::jit::by_memory;
use super::values::{Values, array_parts, item_start, parts, register};

impl Body<'_, '_, '_> {
    /// The value of an expression that has one register.
    pub(super) fn one(&mut self, e: &Expr) -> Result<Value> {
        let values = self.expr(e)?;
        values.first().copied().ok_or_else(|| Error::runtime("[kernel] a value without registers"))
    }

    /// The registers of an expression.
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
            Kind::And(a, b) => smallvec![self.short(a, b, true)?],
            Kind::Or(a, b) => smallvec![self.short(a, b, false)?],
            Kind::Not(a) => {
                let a = self.one(a)?;
                smallvec![self.b.ins().icmp_imm_s(IntCC::Equal, a, 0)]
            }
            Kind::Select(c, a, b) => self.choice(c, a, b)?,
            Kind::Tuple(items) => {
                let mut values = Values::new();
                for item in items {
                    values.extend(self.expr(item)?);
                }
                values
            }
            Kind::Item(of, k) => {
                let values = self.expr(of)?;
                let Ty::Tuple(items, _) = &of.ty else { return Ok(values) };
                let start = item_start(items, *k);
                values[start..start + parts(&items[*k]).len()].into()
            }
            Kind::Load(array, indices) => {
                let place = self.element(array, indices)?;
                self.load_parts(&e.ty, place)
            }
            Kind::View(array, indices) => self.view(array, indices, &e.ty)?,
            Kind::Transpose(array) => self.transpose(array, &e.ty)?,
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
                // The constant of a narrow type must not have bits beyond it.
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

    /// The address of an element.
    pub(super) fn element(&mut self, array: &Expr, indices: &[Expr]) -> Result<Value> {
        let values = self.expr(array)?;
        let Ty::Array(ty) = &array.ty else { return Err(Error::runtime("[kernel] something else than an array")) };
        let mut at = Vec::new();
        for (axis, index) in indices.iter().enumerate() {
            let value = self.one(index)?;
            at.push(if self.sizes.natural(index) { value } else { self.wrapped(value, values[1 + axis]) });
        }
        let a = array_parts(ty, &values);
        let size = ty.dtype().map_or(1, DType::size) as i64;
        if !a.strides.is_empty() {
            let mut place = a.data;
            for (index, &stride) in at.iter().zip(a.strides) {
                let far = self.b.ins().imul(*index, stride);
                place = self.b.ins().iadd(place, far);
            }
            return Ok(place);
        }
        let mut place: Option<Value> = None;
        for (axis, &index) in at.iter().enumerate() {
            place = Some(match place {
                None => index,
                Some(before) => {
                    let row = self.b.ins().imul(before, a.shape[axis]);
                    self.b.ins().iadd(row, index)
                }
            });
        }
        let Some(place) = place else { return Ok(a.data) };
        let far = self.b.ins().ishl_imm_s(place, i64::from(size.trailing_zeros()));
        Ok(self.b.ins().iadd(a.data, far))
    }

    /// A negative index counts from the end.
    pub(super) fn wrapped(&mut self, index: Value, extent: Value) -> Value {
        let back = self.b.ins().iadd(index, extent);
        let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, index, 0);
        self.b.ins().select(negative, back, index)
    }

    pub(super) fn load_parts(&mut self, ty: &Ty, place: Value) -> Values {
        let types = parts(ty);
        let all = types.iter().enumerate();
        // Elements of views may lie anywhere: no alignment is promised.
        let flags = Self::trusted();
        all.map(|(k, &t)| self.b.ins().load(t, flags, place, k as i32 * t.bytes() as i32)).collect()
    }

    pub(super) fn store_parts(&mut self, ty: &Ty, place: Value, values: &[Value]) {
        for (k, (&value, t)) in values.iter().zip(parts(ty)).enumerate() {
            self.b.ins().store(Self::trusted(), value, place, k as i32 * t.bytes() as i32);
        }
    }

    // --- choices

    /// `a and b`, `a or b`: `b` is looked at only where it matters.
    fn short(&mut self, a: &Expr, b: &Expr, and: bool) -> Result<Value> {
        let first = self.one(a)?;
        let (other, end) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(end, types::I8);
        if and {
            self.b.ins().brif(first, other, &[], end, &[first.into()]);
        } else {
            self.b.ins().brif(first, end, &[first.into()], other, &[]);
        }
        self.b.switch_to_block(other);
        let second = self.one(b)?;
        self.b.ins().jump(end, &[second.into()]);
        self.b.switch_to_block(end);
        Ok(self.b.block_params(end)[0])
    }

    fn choice(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Result<Values> {
        let test = self.one(c)?;
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

    // --- calls

    fn call(&mut self, callee: usize, args: &[Expr]) -> Result<Values> {
        let mut given: Vec<Value> = vec![self.env];
        let place = self.thread.map(|var| self.b.use_var(var));
        given.extend(place);
        let ret = self.shared.ir.functions[callee].ret.clone();
        let memory = by_memory(&ret).then(|| {
            let bytes = 8 * parts(&ret).len() as u32;
            let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4));
            self.b.ins().stack_addr(types::I64, slot, 0)
        });
        given.extend(memory);
        for arg in args {
            given.extend(self.expr(arg)?);
        }
        let id = self.shared.functions[callee];
        let function = self.shared.jit.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(function, &given);
        Ok(match memory {
            None => self.b.inst_results(call).into(),
            Some(from) => {
                let types = parts(&ret);
                let all = types.iter().enumerate();
                all.map(|(k, &t)| self.b.ins().load(t, Self::trusted(), from, 8 * k as i32)).collect()
            }
        })
    }

    fn builtin(&mut self, row: &'static Row, args: &[Expr], ty: &Ty) -> Result<Values> {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.one(arg)?);
        }
        let place = |what: &str| {
            let (what, axis) = what.split_once('.')?;
            let axis = ["x", "y", "z"].iter().position(|&a| a == axis)?;
            Some((["@blockIdx", "@blockDim", "@gridDim", "@threadIdx"].iter().position(|&w| w == what)?, axis))
        };
        if let Some((what, axis)) = place(row.host) {
            return Ok(smallvec![if what == 3 { self.b.use_var(self.thread[axis]) } else { self.places[what][axis] }]);
        }
        if OPS.contains(&row.host) {
            return self.wait(row, &values, args);
        }
        Ok(match row.host {
            "@nothing" => Values::new(),
            "@fence" => {
                self.b.ins().fence();
                Values::new()
            }
            "@laneid" => smallvec![self.lane()],
            "@lanemask_lt" => {
                let lane = self.lane();
                let one = self.b.ins().iconst(types::I32, 1);
                let bit = self.b.ins().ishl(one, lane);
                smallvec![self.b.ins().iadd_imm_s(bit, -1)]
            }
            "@activemask" => {
                // The lanes that the block has threads for.
                let linear = self.linear();
                let [x, y, z] = self.places[1];
                let all = self.b.ins().imul(x, y);
                let all = self.b.ins().imul(all, z);
                let first = self.b.ins().band_imm_s(linear, -32);
                let left = self.b.ins().isub(all, first);
                let full = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, left, 32);
                let one = self.b.ins().iconst(types::I32, 1);
                let bit = self.b.ins().ishl(one, left);
                let some = self.b.ins().iadd_imm_s(bit, -1);
                let every = self.b.ins().iconst(types::I32, 0xffff_ffff);
                smallvec![self.b.ins().select(full, every, some)]
            }
            "popc" => smallvec![self.b.ins().popcnt(values[0])],
            "brev" => smallvec![self.b.ins().bitrev(values[0])],
            "clz" => smallvec![self.b.ins().clz(values[0])],
            "ffs" => {
                let t = self.b.func.dfg.value_type(values[0]);
                let at = self.b.ins().ctz(values[0]);
                let at = self.b.ins().iadd_imm_s(at, 1);
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, values[0], 0);
                let none = self.b.ins().iconst(t, 0);
                let at = self.b.ins().select(zero, none, at);
                smallvec![self.resize(at, types::I32, false)]
            }
            name => {
                let d = args.first().and_then(Expr::dtype).unwrap_or(DType::F64);
                let letters = match d {
                    DType::F32 => "f32",
                    _ => "f64",
                };
                let ret = parts(ty).first().copied();
                self.call_library(&format!("{name}_{letters}"), &values, ret)?.into_iter().collect()
            }
        })
    }

    /// The thread's number in its block.
    fn linear(&mut self) -> Value {
        let [x, y, z] = self.thread.map(|var| self.b.use_var(var));
        let [width, height, _] = self.places[1];
        let row = self.b.ins().imul(z, height);
        let row = self.b.ins().iadd(row, y);
        let start = self.b.ins().imul(row, width);
        self.b.ins().iadd(start, x)
    }

    fn lane(&mut self) -> Value {
        let linear = self.linear();
        self.b.ins().band_imm_s(linear, 31)
    }

    /// Waits for other threads: what is brought, and what comes back, travel as 64 bits.
    fn wait(&mut self, row: &'static Row, values: &[Value], args: &[Expr]) -> Result<Values> {
        let zero = self.b.ins().iconst(types::I64, 0);
        let none = self.b.ins().iconst(types::I32, 0);
        let of_warp = row.params.first() == Some(&Slot::Is(DType::U32));
        let (mask, at) = if of_warp { (values[0], 1) } else { (none, 0) };
        let (brought, d) = match (values.get(at), args.get(at).and_then(Expr::dtype)) {
            (Some(&value), Some(d)) => (self.to_bits(value), Some(d)),
            _ => (zero, None),
        };
        let lane = values.get(at + 1).copied().unwrap_or(none);
        let ask = |body: &mut Self, name: &str| -> Result<Value> {
            let op = OPS.iter().position(|&o| o == name).unwrap_or(0);
            let op = body.b.ins().iconst(types::I32, op as i64);
            let answer = body.call_library("host_wait", &[body.env, op, mask, brought, lane], Some(types::I64))?;
            answer.ok_or_else(|| Error::runtime("[kernel] no answer"))
        };
        if row.ret == Slot::IntBool {
            let lanes = ask(self, "@match_all_sync_mask")?;
            let same = ask(self, row.host)?;
            return Ok(smallvec![self.resize(lanes, types::I32, false), self.resize(same, types::I8, false)]);
        }
        let answer = ask(self, row.host)?;
        Ok(match row.ret {
            Slot::Nothing => Values::new(),
            Slot::T => smallvec![self.from_bits(answer, d.unwrap_or(DType::I64))],
            Slot::Is(d) => smallvec![self.from_bits(answer, d)],
            Slot::IntBool => Values::new(),
        })
    }

    fn to_bits(&mut self, value: Value) -> Value {
        let t = self.b.func.dfg.value_type(value);
        let int = match t {
            types::F32 => self.b.ins().bitcast(types::I32, cranelift_codegen::ir::MemFlagsData::new(), value),
            types::F64 => self.b.ins().bitcast(types::I64, cranelift_codegen::ir::MemFlagsData::new(), value),
            _ => value,
        };
        self.resize(int, types::I64, false)
    }

    fn from_bits(&mut self, bits: Value, d: DType) -> Value {
        match d {
            DType::F64 => self.b.ins().bitcast(types::F64, cranelift_codegen::ir::MemFlagsData::new(), bits),
            DType::F32 => {
                let bits = self.b.ins().ireduce(types::I32, bits);
                self.b.ins().bitcast(types::F32, cranelift_codegen::ir::MemFlagsData::new(), bits)
            }
            d => self.resize(bits, register(d), false),
        }
    }

    fn atomic(&mut self, op: AtomicOp, array: &Expr, indices: &[Expr], operands: &[Expr]) -> Result<Values> {
        let place = self.element(array, indices)?;
        let d = operands.first().and_then(Expr::dtype).unwrap_or(DType::I64);
        let mut values = Vec::new();
        for operand in operands {
            values.push(self.expr(operand)?);
        }
        if d.is_complex() {
            let (part, size) = (d.component(), d.component().size() as i64);
            let mut olds = Values::new();
            for k in 0..2 {
                let at = self.b.ins().iadd_imm_s(place, k * size);
                olds.push(self.atomic_call(op, part, at, values[0][k as usize])?);
            }
            return Ok(olds);
        }
        let value = values[0][0];
        let int = d.is_int();
        let signed = d.kind() == Sort::Int;
        let flags = Self::trusted();
        let t = register(d);
        let rmw = match op {
            AtomicOp::Add => Some(AtomicRmwOp::Add),
            AtomicOp::Sub => Some(AtomicRmwOp::Sub),
            AtomicOp::And => Some(AtomicRmwOp::And),
            AtomicOp::Or => Some(AtomicRmwOp::Or),
            AtomicOp::Xor => Some(AtomicRmwOp::Xor),
            AtomicOp::Exch => Some(AtomicRmwOp::Xchg),
            AtomicOp::Max | AtomicOp::Nanmax => Some(if signed { AtomicRmwOp::Smax } else { AtomicRmwOp::Umax }),
            AtomicOp::Min | AtomicOp::Nanmin => Some(if signed { AtomicRmwOp::Smin } else { AtomicRmwOp::Umin }),
            AtomicOp::Inc | AtomicOp::Dec | AtomicOp::Cas => None,
        };
        if let (Some(rmw), true) = (rmw, int) {
            return Ok(smallvec![self.b.ins().atomic_rmw(t, flags, rmw, place, value)]);
        }
        if op == AtomicOp::Cas {
            let wide = if d.size() == 4 { types::I32 } else { types::I64 };
            let cast = |body: &mut Self, v: Value, to| {
                let plain = cranelift_codegen::ir::MemFlagsData::new();
                if int { v } else { body.b.ins().bitcast(to, plain, v) }
            };
            let (old, new) = (cast(self, value, wide), cast(self, values[1][0], wide));
            let seen = self.b.ins().atomic_cas(flags, place, old, new);
            return Ok(smallvec![cast(self, seen, t)]);
        }
        Ok(smallvec![self.atomic_call(op, d, place, value)?])
    }

    fn atomic_call(&mut self, op: AtomicOp, d: DType, place: Value, value: Value) -> Result<Value> {
        let letters = match d {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::U32 => "u32",
            _ => "u64",
        };
        let name = format!("atomic_{}_{letters}", op.name());
        let old = self.call_library(&name, &[place, value], Some(register(d)))?;
        old.ok_or_else(|| Error::runtime("[kernel] no old value"))
    }

    /// An operation that this back end writes as several.
    pub(super) fn several(&mut self, fun: Fun) -> Error {
        Error::not_implemented(format!("[kernel] {} is not supported on the CPU yet", fun.op().name))
    }
}
