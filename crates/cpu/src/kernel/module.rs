//! The module that is being compiled.

use std::collections::HashMap;
use std::rc::Rc;

use cranelift_jit::JITModule;
use cranelift_module::{DataId, FuncId};
use cuprous_kernel::Module;
use cuprous_kernel::types::Ty;

use super::plan::Plan;
use super::values;

/// What code generation of one function shares with the others.
pub(super) struct ModuleContext<'m> {
    pub(super) jit: JITModule,
    pub(super) ir: &'m Module,
    /// The functions after the kernel.
    pub(super) functions: Vec<FuncId>,
    /// Functions of the run-time library, as they come to be used.
    pub(super) library: HashMap<String, FuncId>,
    pub(super) constants: Vec<DataId>,
    pub(super) texts: Vec<Box<str>>,
    /// Where the static shared arrays of each function begin.
    pub(super) shared_starts: Vec<usize>,
    /// Whether generated code may leave a launch before its end.
    pub(super) can_stop: bool,
    /// Whether a thread may end in each function.
    pub(super) may_exit: Vec<bool>,
    /// How one function runs the threads of a block; else it is that of one thread.
    pub(super) plan: Option<Rc<Plan>>,
}

/// Whether a function gives its results through memory.
pub(super) fn by_memory(ret: &Ty) -> bool {
    values::parts(ret).len() > 1
}
