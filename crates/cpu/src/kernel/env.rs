//! The environment of a block, which generated code reads from memory.

use std::sync::atomic::AtomicBool;

use cuprous_core::interrupt::{self, Token};
use cuprous_kernel::exception::{Record, WORDS};
use cuprous_plan::Launch;

use super::request::CurrentThread;
use super::sanitizer::Sanitizer;

/// The values that the threads of a block share. Generated code reads them at the offsets below.
#[repr(C)]
pub(super) struct Env {
    /// Index of the block in the grid.
    pub(super) block: [i32; 3],
    pad: i32,
    /// Number of threads in a block along each axis.
    pub(super) dims: [i32; 3],
    pad2: i32,
    /// Number of blocks along each axis.
    pub(super) grid: [i32; 3],
    pad3: i32,
    /// Static shared memory.
    shared: *mut u8,
    /// Dynamic shared memory and its size.
    dynamic: *mut u8,
    dynamic_bytes: i64,
    /// Variables that threads keep from one region to the next.
    pub(super) context: *mut u8,
    /// The running coroutine, if threads are coroutines.
    pub(super) current_thread: *const CurrentThread,
    /// Flag that loops poll. It is nonzero once the launch has to stop.
    pub(super) stop: *const AtomicBool,
    /// The address below which the running thread must not call functions.
    pub(super) stack_limit: usize,
    /// Set by a thread that exits in a called function, until the kernel itself has noticed it.
    exited: i32,
    /// The state of a launch that is checked.
    pub(super) sanitizer: *mut Sanitizer,
    /// The first fault of a thread in the blocks of this task.
    pub(super) fault: Record,
}

/// Offsets in [`Env`].
pub(super) mod offset {
    use super::Env;
    pub(crate) const BLOCK: i32 = std::mem::offset_of!(Env, block) as i32;
    pub(crate) const DIMS: i32 = std::mem::offset_of!(Env, dims) as i32;
    pub(crate) const GRID: i32 = std::mem::offset_of!(Env, grid) as i32;
    pub(crate) const SHARED: i32 = std::mem::offset_of!(Env, shared) as i32;
    pub(crate) const DYNAMIC: i32 = std::mem::offset_of!(Env, dynamic) as i32;
    pub(crate) const DYNAMIC_BYTES: i32 = std::mem::offset_of!(Env, dynamic_bytes) as i32;
    pub(crate) const CONTEXT: i32 = std::mem::offset_of!(Env, context) as i32;
    pub(crate) const STOP: i32 = std::mem::offset_of!(Env, stop) as i32;
    pub(crate) const STACK_LIMIT: i32 = std::mem::offset_of!(Env, stack_limit) as i32;
    pub(crate) const ENDED: i32 = std::mem::offset_of!(Env, exited) as i32;
}

/// The flag of launches that cannot be stopped.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Env {
    /// Returns the number of the block in the grid.
    pub(super) fn number(&self) -> usize {
        let ([x, y, z], [columns, rows, _]) = (self.block.map(|n| n as usize), self.grid.map(|n| n as usize));
        (z * rows + y) * columns + x
    }

    pub(super) fn new(launch: &Launch, shared: *mut u8, dynamic: *mut u8, bytes: usize) -> Env {
        Env {
            block: [0; 3],
            pad: 0,
            dims: launch.block.map(|n| n as i32),
            pad2: 0,
            grid: launch.grid.map(|n| n as i32),
            pad3: 0,
            shared,
            dynamic,
            dynamic_bytes: bytes as i64,
            context: std::ptr::null_mut(),
            current_thread: std::ptr::null(),
            stop: if Token::current().listens() { interrupt::flag() } else { &NEVER },
            stack_limit: 0,
            exited: 0,
            sanitizer: std::ptr::null_mut(),
            fault: [0; WORDS],
        }
    }
}
