//! Compiles a module to machine code.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{CodegenError, Context};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{DataDescription, Linkage, Module as _, ModuleError, ModuleReloc, default_libcall_names};
use cuprous_core::{Error, Result};
use cuprous_kernel::Module;
use cuprous_kernel::ir::{Kind, any_expr};
use cuprous_kernel::prepare::prepare;

use super::code_memory::{CodeMemory, MemoryBound};
use super::env::Env;
use super::function::FunctionCompiler;
use super::module::ModuleContext;
use super::plan::{BlocksPerCall, Plan};
use super::sanitizer::Site;
use super::{runtime, values};

/// The function of one thread: arguments, environment, index in the block.
type Entry = unsafe extern "C" fn(*const u8, *mut Env, i32, i32, i32);
/// The function of a block: arguments, environment, number of adjacent blocks to run.
type BlockEntry = unsafe extern "C" fn(*const u8, *mut Env, i32);

/// The machine code of a kernel.
pub(super) struct MachineCode {
    module: Option<JITModule>,
    start: *const u8,
    /// Its intermediate representation as text.
    pub(super) listing: String,
    /// Its size in bytes.
    pub(super) bytes: usize,
    /// For the code of a block: bytes of the context, and bytes per thread behind it. `None` for the code of a thread.
    pub(super) context_bytes: Option<(usize, usize)>,
    /// How many blocks one call runs.
    pub(super) blocks_per_call: BlocksPerCall,
    /// Whether the code may leave a launch before its end.
    pub(super) can_stop: bool,
    /// Names of the functions.
    pub(super) names: Vec<String>,
    /// The locations that a checked kernel reports to the sanitizer.
    pub(super) sites: Option<Arc<[Site]>>,
    /// Strings that the code prints.
    _texts: Vec<Box<str>>,
}

// SAFETY: the code is read-only once it has been finalized.
unsafe impl Send for MachineCode {}
// SAFETY: the code is read-only once it has been finalized.
unsafe impl Sync for MachineCode {}

impl MachineCode {
    /// Returns the function of one thread.
    pub(super) fn entry(&self) -> Entry {
        // SAFETY: code without a context was compiled with this signature.
        unsafe { std::mem::transmute(self.start) }
    }

    /// Runs `count` blocks that are adjacent along x.
    ///
    /// # Safety
    /// The code is that of a block, and the arguments have the types that it was compiled for.
    pub(super) unsafe fn block(&self, args: &[u8], env: &mut Env, count: usize) {
        // SAFETY: by this function's contract.
        unsafe {
            let run: BlockEntry = std::mem::transmute(self.start);
            run(args.as_ptr(), env, count as i32);
        }
    }
}

impl Drop for MachineCode {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the code is not running, because whoever runs it holds a reference to this value.
            unsafe { module.free_memory() };
        }
    }
}

fn compile_error(error: ModuleError) -> Error {
    let text = match error {
        ModuleError::Compilation(CodegenError::Verifier(errors)) => errors.to_string(),
        ModuleError::Allocation { err } => {
            return Error::memory(format!("cannot allocate memory for the code of a kernel: {err}"));
        }
        other => other.to_string(),
    };
    Error::runtime(format!("an internal error of the kernel compiler, please report it: {text}"))
}

/// Compiles a module.
pub(super) fn compile(ir: &Module) -> Result<MachineCode> {
    // `optimize` does the work of Cranelift's optimizer.
    let flags = [("opt_level", "none"), ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })];
    let mut builder = JITBuilder::with_flags(&flags, default_libcall_names()).map_err(compile_error)?;
    let memory_bound = MemoryBound::default();
    builder.memory_provider(CodeMemory::new(memory_bound.clone()));
    builder.symbols(runtime::symbols());
    builder.symbols(super::libdevice::symbols());
    let mut ir = ir.clone();
    let is_checked = ir.is_checked;
    if !is_checked {
        cuprous_kernel::inline::inline(&mut ir);
    }
    let may_exit = functions_that_may_exit(&ir);
    // Checked code is that of one thread, as it was written.
    let (ir, plan) = if is_checked { (ir, None) } else { plan_module(ir, &may_exit) };
    let (ir, plan) = (&ir, plan.map(Rc::new));
    let mut shared = ModuleContext {
        jit: JITModule::new(builder),
        ir,
        functions: Vec::new(),
        library: HashMap::new(),
        constants: Vec::new(),
        texts: Vec::new(),
        shared_starts: Vec::new(),
        can_stop: false,
        may_exit,
        plan,
        sites: is_checked.then(Vec::new),
    };
    for (k, array) in ir.constants.iter().enumerate() {
        let name = format!("constant_{k}");
        shared.constants.push(shared.jit.declare_data(&name, Linkage::Local, false, false).map_err(compile_error)?);
        memory_bound.add(array.bytes.len(), 0);
    }
    let mut start = 0;
    for (k, function) in ir.functions.iter().enumerate() {
        let signature = signature(ir, k, shared.plan.is_none());
        let name = format!("function_{k}");
        shared.functions.push(shared.jit.declare_function(&name, Linkage::Local, &signature).map_err(compile_error)?);
        shared.shared_starts.push(start);
        let own = function.arrays.iter().filter(|a| a.space == cuprous_kernel::ir::Space::Shared);
        start += own.map(values::array_bytes).sum::<usize>();
    }
    let (mut context, mut frontend) = (Context::new(), FunctionBuilderContext::new());
    let (mut listing, mut bytes) = (String::new(), 0);
    // All code is generated before any is placed in memory, so that the module can reserve the memory that it needs.
    let mut generated = Vec::new();
    for k in 0..ir.functions.len() {
        let id = shared.functions[k];
        context.func =
            Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature(ir, k, shared.plan.is_none()));
        let config = shared.jit.target_config();
        let mut body = FunctionCompiler::new(FunctionBuilder::new(&mut context.func, &mut frontend), &mut shared, k);
        body.write()?;
        body.b.seal_all_blocks();
        body.b.finalize(config);
        listing.push_str(&format!("; {}\n{}\n", ir.functions[k].name, context.func.display()));
        optimize(&shared.jit, &mut context).map_err(|e| compile_error(e.into()))?;
        let mut control = ControlPlane::default();
        context.compile(shared.jit.isa(), &mut control).map_err(|e| compile_error(e.inner.into()))?;
        let code = context.compiled_code().expect("it was just compiled");
        let (text, align) = (code.code_buffer().to_vec(), u64::from(code.buffer.alignment));
        let relocations: Vec<_> =
            code.buffer.relocs().iter().map(|r| ModuleReloc::from_mach_reloc(r, &context.func, id)).collect();
        bytes += text.len();
        memory_bound.add(text.len(), relocations.len());
        generated.push((id, align, text, relocations));
        shared.jit.clear_context(&mut context);
    }
    for (&id, array) in shared.constants.iter().zip(&ir.constants) {
        let mut data = DataDescription::new();
        data.define(array.bytes.clone().into_boxed_slice());
        data.set_align(16);
        shared.jit.define_data(id, &data).map_err(compile_error)?;
    }
    for (id, align, text, relocations) in generated {
        shared.jit.define_function_bytes(id, align, &text, &relocations).map_err(compile_error)?;
    }
    shared.jit.finalize_definitions().map_err(compile_error)?;
    let start = shared.jit.get_finalized_function(shared.functions[0]);
    let blocks_per_call = shared.plan.as_ref().map_or(BlocksPerCall::One, |plan| plan.blocks_per_call());
    let context_bytes = shared.plan.as_ref().map(|plan| (plan.bytes, plan.local));
    let names = ir.functions.iter().map(|f| f.name.clone()).collect();
    let can_stop = shared.can_stop;
    let sites = shared.sites.map(Arc::from);
    Ok(MachineCode {
        start,
        module: Some(shared.jit),
        listing,
        bytes,
        context_bytes,
        blocks_per_call,
        can_stop,
        names,
        sites,
        _texts: shared.texts,
    })
}

/// Returns the prepared module and its plan. Loops are strip-mined if one function can then run the threads of a block.
fn plan_module(mut ir: Module, may_exit: &[bool]) -> (Module, Option<Plan>) {
    let mut cut = ir.clone();
    if prepare(&mut cut.functions[0], true)
        && let Some(plan) = Plan::of(&cut, may_exit, true)
    {
        return (cut, Some(plan));
    }
    prepare(&mut ir.functions[0], false);
    let plan = Plan::of(&ir, may_exit, false);
    (ir, plan)
}

/// Optimizes a function, then moves vector instructions back to their operands.
fn optimize(jit: &JITModule, context: &mut Context) -> std::result::Result<(), CodegenError> {
    let mut control = ControlPlane::default();
    super::phis::remove_redundant_params(&mut context.func);
    context.optimize(jit.isa(), &mut control)?;
    context.egraph_pass(jit.isa(), &mut control)?;
    super::schedule::schedule(context);
    Ok(())
}

/// Returns for each function whether a thread may exit in it or in a function that it calls.
fn functions_that_may_exit(ir: &Module) -> Vec<bool> {
    let mut may_exit: Vec<bool> = ir.functions.iter().map(|f| f.raises(false)).collect();
    loop {
        let mut changed = false;
        for (k, function) in ir.functions.iter().enumerate() {
            let calls = !may_exit[k]
                && any_expr(&function.body, &mut |e| matches!(e.kind, Kind::Call(callee, _) if may_exit[callee]));
            may_exit[k] |= calls;
            changed |= calls;
        }
        if !changed {
            return may_exit;
        }
    }
}

/// Returns the signature of a function. For the kernel see [`Entry`] and [`BlockEntry`]. Other functions take the
/// environment, the index in the block, the address of the results if there are several, and the arguments.
fn signature(ir: &Module, k: usize, is_scalar_thread: bool) -> Signature {
    let mut s = Signature::new(CallConv::SystemV);
    let function = &ir.functions[k];
    if k == 0 {
        s.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I64)]);
        s.params.extend(vec![AbiParam::new(types::I32); if is_scalar_thread { 3 } else { 1 }]);
        return s;
    }
    s.params.push(AbiParam::new(types::I64));
    s.params.extend([AbiParam::new(types::I32); 3]);
    let results = values::parts(&function.ret);
    if results.len() > 1 {
        s.params.push(AbiParam::new(types::I64));
    } else {
        s.returns.extend(results.iter().map(|&t| AbiParam::new(t)));
    }
    for var in &function.vars[..function.params] {
        s.params.extend(values::parts(&var.ty).iter().map(|&t| AbiParam::new(t)));
    }
    s
}
