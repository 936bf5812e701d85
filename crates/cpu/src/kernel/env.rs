//! The environment of a block: what generated code finds in memory.

use std::sync::atomic::AtomicBool;

use cuprous_core::interrupt::{self, Token};
use cuprous_kernel::fault::{Record, WORDS};
use cuprous_plan::kernels::Launch;

use super::request::CurrentThread;

/// What the threads of a block share; generated code reads it by the offsets below.
#[repr(C)]
pub(super) struct Env {
    /// The block's place in the grid.
    pub(super) block: [i32; 3],
    pad: i32,
    /// Threads of a block.
    pub(super) dims: [i32; 3],
    pad2: i32,
    /// Blocks.
    pub(super) grid: [i32; 3],
    pad3: i32,
    /// Static shared memory.
    shared: *mut u8,
    /// Dynamic shared memory, and its size.
    dynamic: *mut u8,
    dynamic_bytes: i64,
    /// What threads keep from one region to the next.
    pub(super) context: *mut u8,
    /// The coroutines, where there are some.
    pub(super) current_thread: *const CurrentThread,
    /// Not zero once the launch is to stop: loops poll it.
    pub(super) stop: *const AtomicBool,
    /// The address below which the running thread calls no functions.
    pub(super) stack_limit: usize,
    /// Set by a thread that ends in a function that it called, until the kernel's own code sees it.
    exited: i32,
    /// The first fault of these blocks.
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

/// The flag of launches that nothing stops.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Env {
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
            fault: [0; WORDS],
        }
    }
}
