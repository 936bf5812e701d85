//! The state of compiling a module.

use std::collections::HashMap;
use std::rc::Rc;

use cranelift_jit::JITModule;
use cranelift_module::{DataId, FuncId};
use cuprous_kernel::Module;
use cuprous_kernel::types::Ty;

use super::plan::Plan;
use super::sanitizer::Site;
use super::values;

/// The state that the functions of a module share.
pub(super) struct ModuleContext<'m> {
    pub(super) jit: JITModule,
    pub(super) ir: &'m Module,
    /// All functions. The first is the kernel.
    pub(super) functions: Vec<FuncId>,
    /// Functions of the run-time library that have been used so far.
    pub(super) library: HashMap<String, FuncId>,
    pub(super) constants: Vec<DataId>,
    pub(super) texts: Vec<Box<str>>,
    /// Offset of the static shared arrays of each function.
    pub(super) shared_starts: Vec<usize>,
    /// Whether generated code may leave a launch before its end.
    pub(super) can_stop: bool,
    /// Whether a thread may exit in each function.
    pub(super) may_exit: Vec<bool>,
    /// How one function runs the threads of a block. `None` if the kernel is the function of one thread.
    pub(super) plan: Option<Rc<Plan>>,
    /// The locations that are reported to the sanitizer; `None` if the kernel is not checked.
    pub(super) sites: Option<Vec<Site>>,
}

/// Returns true if a function returns its results through memory.
pub(super) fn by_memory(ret: &Ty) -> bool {
    values::parts(ret).len() > 1
}
