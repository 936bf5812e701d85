//! Memory for machine code: one range of addresses per module, of the size that its code and constants need.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cranelift_jit::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::ModuleResult;

/// A multiple of every page size.
const PAGE: usize = 64 << 10;

/// The largest distance that an instruction can address.
const REACH: usize = i32::MAX as usize;

/// An upper bound on the memory that a module needs, computed before the first allocation.
#[derive(Clone, Default)]
pub(super) struct MemoryBound(Arc<AtomicUsize>);

impl MemoryBound {
    /// Adds a function or constant. Each relocation may need a veneer.
    pub(super) fn add(&self, bytes: usize, relocations: usize) {
        // Each piece is aligned and may start a new page.
        let most = bytes.saturating_add(relocations.saturating_mul(32)).saturating_add(2 * PAGE);
        self.0.store(self.0.load(Relaxed).saturating_add(most), Relaxed);
    }
}

/// One range of addresses for a module. Its functions reach each other and their constants by 32-bit offsets.
///
/// The range is reserved at the first allocation, when all code has been generated and its size is known. A fixed range
/// that is large enough for any kernel would exhaust the address space of a process with thousands of kernels.
pub(super) struct CodeMemory {
    bound: MemoryBound,
    arena: Option<ArenaMemoryProvider>,
}

impl CodeMemory {
    pub(super) fn new(bound: MemoryBound) -> Box<CodeMemory> {
        Box::new(CodeMemory { bound, arena: None })
    }
}

impl JITMemoryProvider for CodeMemory {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let arena = match &mut self.arena {
            Some(arena) => arena,
            None => {
                let bound = self.bound.0.load(Relaxed);
                if bound > REACH {
                    return Err(io::Error::other(format!(
                        "code and constants may take {bound} bytes, which is more than {REACH}; pass large arrays as \
                         arguments instead of using them as constants"
                    )));
                }
                self.arena.insert(ArenaMemoryProvider::new_with_size(bound).map_err(io::Error::other)?)
            }
        };
        arena.allocate(size, align, kind)
    }

    unsafe fn free_memory(&mut self) {
        if let Some(arena) = &mut self.arena {
            // SAFETY: by this function's contract.
            unsafe { arena.free_memory() };
        }
    }

    fn finalize(&mut self, branch_protection: BranchProtection) -> ModuleResult<()> {
        match &mut self.arena {
            Some(arena) => JITMemoryProvider::finalize(arena, branch_protection),
            None => Ok(()),
        }
    }
}
