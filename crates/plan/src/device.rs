//! What a device must do. Each device is a crate with the same file names that implements [`Device`].

use std::sync::Arc;

use cuprous_core::{Buffer, Result, Scalar};

use crate::program::Program;

/// A place where programs run. All work given to a device by one engine runs in the order given.
pub trait Device: Send + Sync {
    /// `"cpu"` or `"cuda"`.
    fn name(&self) -> &'static str;

    /// Uninitialised memory of that size; aligned to at least 256 bytes.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;

    /// Copies host bytes into device memory at `to`. Returns when `from` may be reused.
    fn upload(&self, from: &[u8], to: u64) -> Result<()>;

    /// Copies device memory at `from` to the host, after all work given so far.
    fn download(&self, from: u64, to: &mut [u8]) -> Result<()>;

    /// Waits for all work given so far.
    fn synchronize(&self) -> Result<()>;

    /// Generates and compiles all that a program needs.
    fn compile(&self, program: &Arc<Program>) -> Result<Box<dyn Executable>>;

    /// The code that was or would be generated for a program, readable.
    fn source(&self, program: &Program) -> Result<String>;

    /// Lets go of cached free memory and compiled leftovers.
    fn trim(&self) {}

    /// True where work runs while the host goes on, so that submitting early pays.
    fn is_asynchronous(&self) -> bool {
        false
    }
}

/// A compiled program.
pub trait Executable: Send + Sync {
    /// Submits the program. `buffers` are the addresses of the program's buffers, in order; arena buffers point into
    /// scratch that stays untouched by others until the next submission. `scalars` are the constants.
    fn run(&mut self, buffers: &[u64], scalars: &[Scalar]) -> Result<()>;

    /// Bytes that the cache should count for it.
    fn weight(&self) -> usize {
        1 << 12
    }
}
