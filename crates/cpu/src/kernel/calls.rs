//! Calls inside kernels: of functions, of builtins that only devices have, and atomic operations.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_module::Module as _;
use cuprous_core::{DType, Error, Kind as DTypeKind, Result};
use cuprous_kernel::builtin::{Builtin, LAST_THREAD_X, TypeSpec};
use cuprous_kernel::ir::{AtomicOp, Expr, Kind, Space};
use cuprous_kernel::types::Ty;
use smallvec::smallvec;

use super::function::FunctionCompiler;
use super::module::by_memory;
use super::request::OPS;
use super::sanitizer::Access;
use super::values::{Values, parts, register};

impl FunctionCompiler<'_, '_, '_> {
    pub(super) fn call(&mut self, callee: usize, args: &[Expr]) -> Result<Values> {
        let mut arguments: Vec<Value> = vec![self.env];
        let thread_index = self.thread.map(|var| self.b.use_var(var));
        arguments.extend(thread_index);
        let ret = self.shared.ir.functions[callee].ret.clone();
        let memory = by_memory(&ret).then(|| {
            let bytes = 8 * parts(&ret).len() as u32;
            let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4));
            self.b.ins().stack_addr(types::I64, slot, 0)
        });
        arguments.extend(memory);
        for arg in args {
            arguments.extend(self.expr(arg)?);
        }
        let id = self.shared.functions[callee];
        let function = self.shared.jit.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(function, &arguments);
        if self.shared.may_exit[callee] {
            self.return_if_exited();
        }
        Ok(match memory {
            None => self.b.inst_results(call).into(),
            Some(from) => {
                let types = parts(&ret);
                let all = types.iter().enumerate();
                all.map(|(k, &t)| self.b.ins().load(t, Self::trusted(), from, 8 * k as i32)).collect()
            }
        })
    }

    pub(super) fn builtin(&mut self, row: &'static Builtin, args: &[Expr], ty: &Ty) -> Result<Values> {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.value_of(arg)?);
        }
        let launch_dim = |what: &str| {
            let (what, axis) = what.split_once('.')?;
            let axis = ["x", "y", "z"].iter().position(|&a| a == axis)?;
            Some((["@blockIdx", "@blockDim", "@gridDim", "@threadIdx"].iter().position(|&w| w == what)?, axis))
        };
        if let Some((what, axis)) = launch_dim(row.host) {
            return Ok(smallvec![match (what, axis, self.block_x) {
                (3, ..) => self.b.use_var(self.thread[axis]),
                (0, 0, Some(x)) => x,
                _ => self.launch_dims[what][axis],
            }]);
        }
        if row.host == LAST_THREAD_X.host {
            return Ok(smallvec![self.b.ins().iadd_imm_s(self.width, -1)]);
        }
        if let (true, Some(answer)) = (row.synchronizes, self.barrier_result) {
            return Ok(smallvec![answer]);
        }
        if OPS.contains(&row.host) {
            return self.wait(row, &values, args);
        }
        Ok(match row.host {
            cuprous_kernel::linked::HOST => {
                let name = row.name.split('.').nth(1).unwrap_or_default();
                let what = format!("[cuda.jit] {name} is CUDA C++, which only runs on a GPU");
                return Err(Error::not_implemented(what));
            }
            "@nothing" => Values::new(),
            "@fence" => {
                self.check_fence(row.name)?;
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
                // The lanes of the warp that have threads in this block.
                let thread_number_in_block = self.thread_number_in_block();
                let [x, y, z] = self.launch_dims[1];
                let all = self.b.ins().imul(x, y);
                let all = self.b.ins().imul(all, z);
                let first = self.b.ins().band_imm_s(thread_number_in_block, -32);
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
            name if name.starts_with("nv_") => match row.ret {
                TypeSpec::Several(types) => {
                    let memory = self.scratch();
                    let mut arguments = values;
                    arguments.extend(&memory[..types.len()]);
                    self.call_library(name, &arguments, None)?;
                    let read = types.iter().zip(memory);
                    read.map(|(&d, at)| self.b.ins().load(register(d), Self::trusted(), at, 0)).collect()
                }
                _ => self.call_library(name, &values, parts(ty).first().copied())?.into_iter().collect(),
            },
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

    /// Returns the thread's number in its block.
    pub(super) fn thread_number_in_block(&mut self) -> Value {
        let [x, y, z] = self.thread.map(|var| self.b.use_var(var));
        let row = self.b.ins().imul(z, self.launch_dims[1][1]);
        let row = self.b.ins().iadd(row, y);
        let start = self.b.ins().imul(row, self.width);
        self.b.ins().iadd(start, x)
    }

    fn lane(&mut self) -> Value {
        let thread_number_in_block = self.thread_number_in_block();
        self.b.ins().band_imm_s(thread_number_in_block, 31)
    }

    /// Waits for other threads. Operand and result are passed as 64 bits.
    fn wait(&mut self, row: &'static Builtin, values: &[Value], args: &[Expr]) -> Result<Values> {
        let zero = self.b.ins().iconst(types::I64, 0);
        let none = self.b.ins().iconst(types::I32, 0);
        let of_warp = row.params.first() == Some(&TypeSpec::Is(DType::U32));
        let (mask, at) = if of_warp { (values[0], 1) } else { (none, 0) };
        let (brought, d) = match (values.get(at), args.get(at).and_then(Expr::dtype)) {
            (Some(&value), Some(d)) => (self.as_bits(value), Some(d)),
            _ => (zero, None),
        };
        let lane = values.get(at + 1).copied().unwrap_or(none);
        self.check_barrier(row.name)?;
        let request = |body: &mut Self, name: &str| -> Result<Value> {
            let op = OPS.iter().position(|&o| o == name).unwrap_or(0);
            let op = body.b.ins().iconst(types::I32, op as i64);
            let answer = body.call_library("host_wait", &[body.env, op, mask, brought, lane], Some(types::I64))?;
            answer.ok_or_else(|| Error::runtime("[kernel] internal error: a wait without a result"))
        };
        if row.ret == TypeSpec::IntBool {
            let lanes = request(self, "@match_all_sync_mask")?;
            let same = request(self, row.host)?;
            return Ok(smallvec![self.resize(lanes, types::I32, false), self.resize(same, types::I8, false)]);
        }
        let answer = request(self, row.host)?;
        Ok(match row.ret {
            TypeSpec::Nothing => Values::new(),
            TypeSpec::T => smallvec![self.of_bits(answer, d.unwrap_or(DType::I64))],
            TypeSpec::Is(d) => smallvec![self.of_bits(answer, d)],
            TypeSpec::IntBool | TypeSpec::Several(_) => Values::new(),
        })
    }

    fn as_bits(&mut self, value: Value) -> Value {
        let t = self.b.func.dfg.value_type(value);
        let int = match t {
            types::F32 => self.b.ins().bitcast(types::I32, cranelift_codegen::ir::MemFlagsData::new(), value),
            types::F64 => self.b.ins().bitcast(types::I64, cranelift_codegen::ir::MemFlagsData::new(), value),
            _ => value,
        };
        self.resize(int, types::I64, false)
    }

    fn of_bits(&mut self, bits: Value, d: DType) -> Value {
        match d {
            DType::F64 => self.b.ins().bitcast(types::F64, cranelift_codegen::ir::MemFlagsData::new(), bits),
            DType::F32 => {
                let bits = self.b.ins().ireduce(types::I32, bits);
                self.b.ins().bitcast(types::F32, cranelift_codegen::ir::MemFlagsData::new(), bits)
            }
            d => self.resize(bits, register(d), false),
        }
    }

    pub(super) fn atomic(&mut self, op: AtomicOp, array: &Expr, indices: &[Expr], operands: &[Expr]) -> Result<Values> {
        let address = self.element(array, indices)?;
        let Ty::Array(ty) = &array.ty else { return Err(Error::runtime("[kernel] internal error: expected an array")) };
        let d = ty.dtype().unwrap_or(DType::I64);
        let mut values = Vec::new();
        for operand in operands {
            values.push(self.expr(operand)?);
        }
        self.check_access(Access::Atomic, array, indices, (address, 0), &[])?;
        if d.is_complex() {
            let (part, size) = (d.component(), d.component().size() as i64);
            let mut olds = Values::new();
            for k in 0..2 {
                let at = self.b.ins().iadd_imm_s(address, k * size);
                olds.push(self.call_atomic(op, part, at, values[0][k as usize])?);
            }
            return Ok(olds);
        }
        let value = values[0][0];
        if self.is_shared(array)
            && let Some(old) = self.non_atomic(op, d, address, value)
        {
            return Ok(smallvec![old]);
        }
        let int = d.is_int();
        let signed = d.kind() == DTypeKind::Int;
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
            _ => None,
        };
        if let (Some(rmw), true) = (rmw, int) {
            return Ok(smallvec![self.b.ins().atomic_rmw(t, flags, rmw, address, value)]);
        }
        if op == AtomicOp::Cas {
            let wide = match d.size() {
                2 => types::I16,
                4 => types::I32,
                _ => types::I64,
            };
            let cast = |body: &mut Self, v: Value, to| {
                let plain = cranelift_codegen::ir::MemFlagsData::new();
                if int || d.size() == 2 { v } else { body.b.ins().bitcast(to, plain, v) }
            };
            let (old, new) = (cast(self, value, wide), cast(self, values[1][0], wide));
            let seen = self.b.ins().atomic_cas(flags, address, old, new);
            return Ok(smallvec![cast(self, seen, t)]);
        }
        Ok(smallvec![self.call_atomic(op, d, address, value)?])
    }

    /// Compiles a load or store with a cache hint, which has no meaning on a CPU.
    pub(super) fn cached(&mut self, array: &Expr, indices: &[Expr], operands: &[Expr]) -> Result<Values> {
        let address = self.element(array, indices)?;
        let Ty::Array(ty) = &array.ty else {
            return Err(Error::runtime("[kernel] internal error: expected an array"));
        };
        let d = ty.dtype().unwrap_or(DType::I64);
        let [value] = operands else {
            self.check_access(Access::Read, array, indices, (address, 0), &[])?;
            return Ok(smallvec![self.b.ins().load(register(d), Self::trusted(), address, 0)]);
        };
        let value = self.expr(value)?;
        self.check_access(Access::Write, array, indices, (address, 0), &value)?;
        self.b.ins().store(Self::trusted(), value[0], address, 0);
        Ok(Values::new())
    }

    /// Returns true if an array belongs to the block, whose threads run on one core one after the other.
    fn is_shared(&self, array: &Expr) -> bool {
        match &array.kind {
            Kind::Declared(k) => matches!(self.function.arrays[*k].space, Space::Shared | Space::Dynamic),
            Kind::View(from, _) | Kind::Reshape(from, _) | Kind::Cast(from) | Kind::Field(from, _) => {
                self.is_shared(from)
            }
            _ => false,
        }
    }

    /// Performs an atomic operation without atomic instructions, on memory that no other core accesses.
    fn non_atomic(&mut self, op: AtomicOp, d: DType, address: Value, value: Value) -> Option<Value> {
        if matches!(d, DType::F16 | DType::BF16) {
            return None;
        }
        let float = d.is_float();
        let signed = d.kind() == DTypeKind::Int;
        let t = register(d);
        match op {
            AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exch => {}
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Max | AtomicOp::Min if !float => {}
            _ => return None,
        }
        let old = self.b.ins().load(t, Self::trusted(), address, 0);
        let i = self.b.ins();
        let new = match op {
            AtomicOp::Add if float => i.fadd(old, value),
            AtomicOp::Sub if float => i.fsub(old, value),
            AtomicOp::Add => i.iadd(old, value),
            AtomicOp::Sub => i.isub(old, value),
            AtomicOp::And => i.band(old, value),
            AtomicOp::Or => i.bor(old, value),
            AtomicOp::Xor => i.bxor(old, value),
            AtomicOp::Max if signed => i.smax(old, value),
            AtomicOp::Max => i.umax(old, value),
            AtomicOp::Min if signed => i.smin(old, value),
            AtomicOp::Min => i.umin(old, value),
            _ => value,
        };
        self.b.ins().store(Self::trusted(), new, address, 0);
        Some(old)
    }

    fn call_atomic(&mut self, op: AtomicOp, d: DType, address: Value, value: Value) -> Result<Value> {
        if matches!(d, DType::F16 | DType::BF16) {
            // As 32-bit words, because C calls leave the upper half of a narrower argument undefined.
            let letters = if d == DType::F16 { "f16" } else { "bf16" };
            let word = self.b.ins().uextend(types::I32, value);
            let name = format!("atomic_{}_{letters}", op.name());
            let old = self.call_library(&name, &[address, word], Some(types::I32))?;
            let old =
                old.ok_or_else(|| Error::runtime("[kernel] internal error: an atomic operation without a result"))?;
            return Ok(self.b.ins().ireduce(types::I16, old));
        }
        let letters = match d {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::U32 => "u32",
            _ => "u64",
        };
        let name = format!("atomic_{}_{letters}", op.name());
        let old = self.call_library(&name, &[address, value], Some(register(d)))?;
        old.ok_or_else(|| Error::runtime("[kernel] internal error: an atomic operation without a result"))
    }
}
