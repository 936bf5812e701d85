//! The compilation options of `cuda.jit`.

use crate::exception::Checks;
use crate::linked::Object;

/// The options that change the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether approximate functions and divisions are allowed.
    pub fastmath: bool,
    /// Whether multiplications and additions may be contracted to FMA.
    pub fma: bool,
    /// The register limit per thread.
    pub max_registers: Option<u32>,
    /// Maximum threads per block, minimum blocks per multiprocessor, maximum blocks per cluster; 0 if not given.
    pub launch_bounds: Option<[u32; 3]>,
    /// Whether the code has line numbers for profilers.
    pub lineinfo: bool,
    /// The run-time checks.
    pub checks: Checks,
    /// CUDA C++ source with functions that the kernel calls.
    pub linked: String,
    /// Further options of the CUDA compiler, such as include paths for that source.
    pub extra: Vec<String>,
    /// Device code that the kernel is linked with.
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
