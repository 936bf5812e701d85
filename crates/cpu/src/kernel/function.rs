//! Compiles one function: entry, variables, arguments, exits.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlot, StackSlotData, StackSlotKind, TrapCode,
    Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_module::{Linkage, Module as _};
use cuprous_core::{Error, Result};
use cuprous_kernel::integer_ranges::IntegerRanges;
use cuprous_kernel::ir::{self, Space};
use cuprous_kernel::types::Ty;
use smallvec::SmallVec;

use super::env::offset;
use super::module::{ModuleContext, by_memory};
use super::plan::BlockGrouping;
use super::values::{Values, array_bytes, parts};
use super::vector::WIDTH;

/// Returns true if the statements contain a loop.
fn has_loop(body: &[ir::Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        ir::StmtKind::While { .. } | ir::StmtKind::For { .. } => true,
        ir::StmtKind::If { then, orelse, .. } => has_loop(then) || has_loop(orelse),
        _ => false,
    })
}

/// The state of compiling one function.
pub(super) struct FunctionCompiler<'b, 's, 'm> {
    pub(super) b: FunctionBuilder<'b>,
    pub(super) shared: &'s mut ModuleContext<'m>,
    pub(super) function: &'m ir::Function,
    number: usize,
    pub(super) vars: Vec<SmallVec<[Variable; 4]>>,
    pub(super) sizes: IntegerRanges,
    /// Address of the environment.
    pub(super) env: Value,
    /// Index of the thread in its block.
    pub(super) thread: [Variable; 3],
    /// Address of the flag that loops poll.
    stop: Value,
    /// The basic block in which loops leave the launch.
    stop_block: Option<Block>,
    /// The product of the trip counts of the constant loops around the current statement that do not poll.
    pub(super) repeats: i64,
    /// Block index, block dimensions and grid dimensions, loaded once.
    pub(super) launch_dims: [[Value; 3]; 3],
    /// Registers of the arrays that the function declares.
    pub(super) arrays: Vec<Values>,
    /// For each enclosing loop, the targets of `continue` and `break`.
    pub(super) loops: Vec<(Block, Block)>,
    /// The target of `return` in a kernel.
    pub(super) next_thread: Option<Block>,
    /// Address of the results, if there are several.
    results: Option<Value>,
    /// Stack slots for results and operands of functions that work in memory.
    pub(super) scratch: Option<[StackSlot; 4]>,
    /// Whether the statements being compiled belong to the block and not to a thread.
    pub(super) at_block_level: bool,
    /// Address of the context.
    pub(super) context: Value,
    /// Lower bounds of variables that follow from the conditions around the current statement.
    pub(super) lower_bounds: Vec<(usize, i64)>,
    /// Number of threads in a row.
    pub(super) width: Value,
    /// The end of the range of blocks that run together.
    pub(super) last_block: Value,
    /// The x index of the running block, if several blocks run together.
    pub(super) block_x: Option<Value>,
    /// The result of the current barrier.
    pub(super) barrier_result: Option<Value>,
    /// Whether threads of the region run in groups of lanes.
    pub(super) in_lane_groups: bool,
    /// The vectors of each variable.
    pub(super) wide: Vec<SmallVec<[Variable; 8]>>,
    /// Stack slots for the lanes of each variable.
    pub(super) slots: Vec<Option<StackSlot>>,
    /// The line of the current statement.
    pub(super) line: u32,
}

impl<'b, 's, 'm> FunctionCompiler<'b, 's, 'm> {
    pub(super) fn new(mut b: FunctionBuilder<'b>, shared: &'s mut ModuleContext<'m>, number: usize) -> Self {
        let function = &shared.ir.functions[number];
        let vars = function.vars.iter().map(|v| parts(&v.ty).iter().map(|&t| b.declare_var(t)).collect()).collect();
        let thread = [(); 3].map(|()| b.declare_var(types::I32));
        let none = Value::from_u32(0);
        FunctionCompiler {
            b,
            shared,
            function,
            number,
            vars,
            sizes: IntegerRanges::of(function),
            env: none,
            stop: none,
            stop_block: None,
            repeats: 1,
            thread,
            launch_dims: [[none; 3]; 3],
            arrays: Vec::new(),
            loops: Vec::new(),
            next_thread: None,
            results: None,
            scratch: None,
            at_block_level: false,
            lower_bounds: Vec::new(),
            width: none,
            last_block: none,
            block_x: None,
            context: none,
            barrier_result: None,
            in_lane_groups: false,
            wide: vec![SmallVec::new(); function.vars.len()],
            slots: vec![None; function.vars.len()],
            line: function.first_line,
        }
    }

    /// Returns the flags of accesses to valid, aligned memory.
    pub(super) fn trusted() -> MemFlagsData {
        MemFlagsData::trusted()
    }

    /// Compiles the function.
    pub(super) fn write(&mut self) -> Result<()> {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        let params: Vec<Value> = self.b.block_params(entry).to_vec();
        match self.number {
            0 => self.write_kernel(&params)?,
            _ => self.write_function(&params)?,
        }
        self.write_stop_block()
    }

    fn write_kernel(&mut self, params: &[Value]) -> Result<()> {
        self.env = params[1];
        self.load_launch_dims();
        self.create_stop_block();
        if let Some(plan) = &self.shared.plan {
            self.last_block = self.b.ins().iadd(self.launch_dims[0][0], params[2]);
            if plan.grouping == BlockGrouping::Merged {
                self.width = self.b.ins().imul(self.width, params[2]);
            }
        }
        self.load_arguments(params[0]);
        self.declare_arrays()?;
        if self.shared.plan.is_none() {
            for (var, &value) in self.thread.into_iter().zip(&params[2..]) {
                self.b.def_var(var, value);
            }
            let end = self.b.create_block();
            self.next_thread = Some(end);
            self.clear_variables();
            self.block(&self.function.body)?;
            self.b.ins().jump(end, &[]);
            self.b.switch_to_block(end);
            self.b.ins().return_(&[]);
            return Ok(());
        }
        self.write_block()
    }

    fn write_function(&mut self, params: &[Value]) -> Result<()> {
        self.env = params[0];
        for (var, &value) in self.thread.into_iter().zip(&params[1..4]) {
            self.b.def_var(var, value);
        }
        let mut rest = params[4..].iter().copied();
        if by_memory(&self.function.ret) {
            self.results = rest.next();
        }
        for k in 0..self.function.params {
            for var in self.vars[k].clone() {
                if let Some(value) = rest.next() {
                    self.b.def_var(var, value);
                }
            }
        }
        self.load_launch_dims();
        self.check_stack()?;
        self.create_stop_block();
        self.declare_arrays()?;
        self.clear_variables();
        self.block(&self.function.body)?;
        // The path without a `return` statement, which in Python returns None.
        let zeros: Values = parts(&self.function.ret).iter().map(|&t| self.zero(t)).collect();
        self.return_values(&zeros);
        Ok(())
    }

    fn load_launch_dims(&mut self) {
        for (k, start) in [offset::BLOCK, offset::DIMS, offset::GRID].into_iter().enumerate() {
            for axis in 0..3 {
                // The block index is not constant where one call runs several blocks.
                let flags = if k == 0 { Self::trusted() } else { Self::trusted().with_readonly().with_can_move() };
                self.launch_dims[k][axis] = self.b.ins().load(types::I32, flags, self.env, start + 4 * axis as i32);
            }
        }
        self.width = self.launch_dims[1][0];
        let flags = Self::trusted().with_readonly().with_can_move();
        self.stop = self.b.ins().load(types::I64, flags, self.env, offset::STOP);
    }

    /// Creates the basic block in which loops leave the launch, if there are loops. The function's entry also branches
    /// to it, which keeps it outside all loops for the optimizer.
    fn create_stop_block(&mut self) {
        if has_loop(&self.function.body) {
            let stop_block = self.b.create_block();
            self.b.set_cold_block(stop_block);
            self.stop_block = Some(stop_block);
            self.shared.can_stop = true;
            self.poll();
        }
    }

    /// Leaves the launch if it has to stop.
    pub(super) fn poll(&mut self) {
        let Some(stop_block) = self.stop_block else { return };
        // Atomic, so that the load is not moved out of the loop.
        let stop = self.b.ins().atomic_load(types::I8, Self::trusted(), self.stop);
        let on = self.b.create_block();
        self.b.ins().brif(stop, stop_block, &[], on, &[]);
        self.b.switch_to_block(on);
    }

    /// Compiles the basic block in which loops leave the launch.
    fn write_stop_block(&mut self) -> Result<()> {
        if let Some(stop_block) = self.stop_block {
            self.b.switch_to_block(stop_block);
            self.call_library("host_stop", &[self.env], None)?;
            self.b.ins().trap(TrapCode::unwrap_user(1));
        }
        Ok(())
    }

    /// Leaves the launch if the stack has no space for the called function.
    fn check_stack(&mut self) -> Result<()> {
        let here = self.b.ins().get_stack_pointer(types::I64);
        let end = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::STACK_LIMIT);
        let full = self.b.ins().icmp(IntCC::UnsignedLessThan, here, end);
        let (stop_block, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(stop_block);
        self.b.ins().brif(full, stop_block, &[], on, &[]);
        self.b.switch_to_block(stop_block);
        let number = self.b.ins().iconst(types::I32, self.number as i64);
        self.call_library("host_overflow", &[self.env, number], None)?;
        self.b.ins().trap(TrapCode::unwrap_user(1));
        self.b.switch_to_block(on);
        self.shared.can_stop = true;
        Ok(())
    }

    /// Loads the arguments, laid out as in [`cuprous_kernel::abi`].
    fn load_arguments(&mut self, from: Value) {
        let tys: Vec<Ty> = self.function.vars[..self.function.params].iter().map(|v| v.ty.clone()).collect();
        let (starts, _) = cuprous_kernel::abi::offsets(&tys);
        for (k, (ty, start)) in tys.iter().zip(starts).enumerate() {
            let values = self.load_value(ty, from, start as i32);
            self.set(k, &values);
        }
    }

    /// Loads a value of any type.
    pub(super) fn load_value(&mut self, ty: &Ty, from: Value, start: i32) -> Values {
        let mut values = Values::new();
        match ty {
            Ty::Tuple(items, _) => {
                let mut at = 0;
                for item in items {
                    let (size, align) = cuprous_kernel::abi::size_align(item);
                    at = usize::next_multiple_of(at, align);
                    values.extend(self.load_value(item, from, start + at as i32));
                    at += size;
                }
            }
            ty => {
                for (k, t) in parts(ty).into_iter().enumerate() {
                    let at = start + k as i32 * t.bytes() as i32;
                    values.push(self.b.ins().load(t, Self::trusted(), from, at));
                }
            }
        }
        values
    }

    /// Computes the addresses of the function's own arrays.
    fn declare_arrays(&mut self) -> Result<()> {
        let mut shared = self.shared.shared_starts[self.number];
        for array in &self.function.arrays {
            let mut values = Values::new();
            match array.space {
                Space::Shared => {
                    let base = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::SHARED);
                    values.push(self.b.ins().iadd_imm_s(base, shared as i64));
                    shared += array_bytes(array);
                }
                Space::Dynamic => {
                    values.push(self.b.ins().load(types::I64, Self::trusted(), self.env, offset::DYNAMIC));
                    let bytes = self.b.ins().load(types::I64, Self::trusted(), self.env, offset::DYNAMIC_BYTES);
                    values.push(self.b.ins().udiv_imm_u(bytes, array.elem.item_size().max(1) as i64));
                }
                Space::Local => {
                    let bytes = u32::try_from(array_bytes(array))
                        .map_err(|_| Error::memory("[kernel] a local array is too large"))?;
                    let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4);
                    let slot = self.b.create_sized_stack_slot(slot);
                    let address = self.b.ins().stack_addr(types::I64, slot, 0);
                    self.check_local_array(address, bytes)?;
                    values.push(address);
                }
            }
            for &n in &array.shape {
                values.push(self.b.ins().iconst(types::I64, n));
            }
            self.arrays.push(values);
        }
        Ok(())
    }

    /// Returns true if this is a function that a kernel calls.
    pub(super) fn is_function(&self) -> bool {
        self.number > 0
    }

    pub(super) fn zero(&mut self, t: Type) -> Value {
        match t {
            types::F32 => self.b.ins().f32const(0.0),
            types::F64 => self.b.ins().f64const(0.0),
            t => self.b.ins().iconst(t, 0),
        }
    }

    /// Sets variables to zero at the start of each thread.
    fn clear_variables(&mut self) {
        for k in self.function.params..self.vars.len() {
            let types = parts(&self.function.vars[k].ty);
            for (var, t) in self.vars[k].clone().into_iter().zip(types) {
                let zero = self.zero(t);
                self.b.def_var(var, zero);
            }
        }
    }

    /// Assigns a variable.
    pub(super) fn set(&mut self, k: usize, values: &[Value]) {
        for (var, &value) in self.vars[k].clone().into_iter().zip(values) {
            self.b.def_var(var, value);
        }
    }

    /// Returns a variable's value.
    pub(super) fn get(&mut self, k: usize) -> Values {
        self.vars[k].clone().into_iter().map(|var| self.b.use_var(var)).collect()
    }

    /// Returns from the function, or continues with the next thread. Code that follows goes to an unreachable basic
    /// block.
    pub(super) fn return_values(&mut self, values: &[Value]) {
        match (self.next_thread, self.results) {
            (Some(next), _) => {
                self.b.ins().jump(next, &[]);
            }
            (None, Some(to)) => {
                let mut at = 0;
                for &value in values {
                    self.b.ins().store(Self::trusted(), value, to, at);
                    at += 8;
                }
                self.b.ins().return_(&[]);
            }
            (None, None) => {
                self.b.ins().return_(values);
            }
        }
        self.unreached();
    }

    /// Starts an unreachable basic block.
    pub(super) fn unreached(&mut self) {
        let block = self.b.create_block();
        self.b.switch_to_block(block);
    }

    /// Declares a function of the run-time library.
    pub(super) fn library(&mut self, name: &str, params: &[Type], ret: Option<Type>) -> Result<FuncRef> {
        let id = match self.shared.library.get(name) {
            Some(&id) => id,
            None => {
                let mut s = Signature::new(CallConv::SystemV);
                // Narrow integers are unsigned there, and the callee may read the complete register.
                let narrow = |t: Type| t.is_int() && t.bits() < 32;
                let param = |&t: &Type| if narrow(t) { AbiParam::new(t).uext() } else { AbiParam::new(t) };
                s.params.extend(params.iter().map(param));
                s.returns.extend(ret.map(AbiParam::new));
                let id = self
                    .shared
                    .jit
                    .declare_function(name, Linkage::Import, &s)
                    .map_err(|e| Error::runtime(format!("[kernel] {name}: {e}")))?;
                self.shared.library.insert(name.into(), id);
                id
            }
        };
        Ok(self.shared.jit.declare_func_in_func(id, self.b.func))
    }

    /// Calls a function of the run-time library.
    pub(super) fn call_library(&mut self, name: &str, args: &[Value], ret: Option<Type>) -> Result<Option<Value>> {
        let types: Vec<Type> = args.iter().map(|&v| self.b.func.dfg.value_type(v)).collect();
        let function = self.library(name, &types, ret)?;
        let call = self.b.ins().call(function, args);
        Ok(self.b.inst_results(call).first().copied())
    }

    /// Returns the addresses of a result and three operands in memory, each with space for a group of lanes.
    pub(super) fn scratch(&mut self) -> [Value; 4] {
        let slots = match self.scratch {
            Some(slots) => slots,
            None => {
                let slots = [(); 4].map(|()| {
                    self.b.create_sized_stack_slot(StackSlotData::new(
                        StackSlotKind::ExplicitSlot,
                        16 * WIDTH as u32,
                        4,
                    ))
                });
                self.scratch = Some(slots);
                slots
            }
        };
        slots.map(|slot| self.b.ins().stack_addr(types::I64, slot, 0))
    }
}
