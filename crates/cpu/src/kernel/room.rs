//! Memory for machine code: for each module one range of addresses, of the size that its code and constants need.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cranelift_jit::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider};
use cranelift_module::ModuleResult;

/// A multiple of every page size.
const PAGE: usize = 64 << 10;

/// The largest distance that an instruction reaches.
const REACH: usize = i32::MAX as usize;

/// The memory that a module needs, counted before the first byte of it is allocated.
#[derive(Clone, Default)]
pub(super) struct Need(Arc<AtomicUsize>);

impl Need {
    /// Counts a function or constant of so many bytes with so many relocations, each of which may take a veneer.
    pub(super) fn add(&self, bytes: usize, relocations: usize) {
        // A piece is aligned, and may begin a page.
        let most = bytes.saturating_add(relocations.saturating_mul(32)).saturating_add(2 * PAGE);
        self.0.store(self.0.load(Relaxed).saturating_add(most), Relaxed);
    }
}

/// One range of addresses for a module, because its functions reach one another and their constants by distances of 32 bits.
///
/// It is reserved at the first allocation, when all code has been generated and its size is known: a fixed range that is
/// large enough for any kernel would use up the addresses of a process that has thousands of them.
pub(super) struct Room {
    need: Need,
    arena: Option<ArenaMemoryProvider>,
}

impl Room {
    pub(super) fn new(need: Need) -> Box<Room> {
        Box::new(Room { need, arena: None })
    }
}

impl JITMemoryProvider for Room {
    fn allocate(&mut self, size: usize, align: u64, kind: JITMemoryKind) -> io::Result<*mut u8> {
        let arena = match &mut self.arena {
            Some(arena) => arena,
            None => {
                let need = self.need.0.load(Relaxed);
                if need > REACH {
                    return Err(io::Error::other(format!(
                        "code and constants take {need} bytes; at most {REACH} are allowed"
                    )));
                }
                self.arena.insert(ArenaMemoryProvider::new_with_size(need).map_err(io::Error::other)?)
            }
        };
        arena.allocate(size, align, kind)
    }

    unsafe fn free_memory(&mut self) {
        if let Some(arena) = &mut self.arena {
            // SAFETY: by the caller's contract.
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
