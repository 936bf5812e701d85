//! How a kernel is compiled: what `cuda.jit` was told.

use crate::exception::Checks;
use crate::linked::Object;

/// The options that change code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Approximate functions and divisions.
    pub fastmath: bool,
    /// A multiplication and an addition may become one instruction.
    pub fma: bool,
    /// Registers that a thread may have.
    pub max_registers: Option<u32>,
    /// Threads that a block may have, blocks that a multiprocessor must hold, and blocks of a cluster; 0 for any.
    pub launch_bounds: Option<[u32; 3]>,
    /// Line numbers in the code, for profilers.
    pub lineinfo: bool,
    /// What is looked for while it runs.
    pub checks: Checks,
    /// CUDA C++ that it calls functions of.
    pub linked: String,
    /// Further options of the CUDA compiler, such as where the headers are that this includes.
    pub extra: Vec<String>,
    /// Device code that it is linked with.
    pub objects: Vec<Object>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            fastmath: false,
            fma: true,
            max_registers: None,
            launch_bounds: None,
            lineinfo: false,
            checks: Checks { report: true, ..Checks::default() },
            linked: String::new(),
            extra: Vec::new(),
            objects: Vec::new(),
        }
    }
}
