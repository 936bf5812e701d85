//! Requests of threads that wait for others: the interface between generated code and coroutines.

use std::cell::Cell;

use corosensei::Yielder;

/// The operation that a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// An index of [`OPS`].
    pub(super) op: i32,
    /// Lanes of the warp that take part.
    pub(super) mask: u32,
    /// The thread's operand.
    pub(super) value: u64,
    /// Another lane or a distance between lanes.
    pub(super) lane: u32,
}

/// The operations, by their names in the table of builtins. Those before [`FIRST_WARP_OP`] concern the block.
pub(super) const OPS: [&str; 17] = [
    "@syncthreads",
    "@syncthreads_count",
    "@syncthreads_and",
    "@syncthreads_or",
    "@syncwarp",
    "@all_sync",
    "@any_sync",
    "@eq_sync",
    "@ballot_sync",
    "@shfl_sync",
    "@shfl_up_sync",
    "@shfl_down_sync",
    "@shfl_xor_sync",
    "@match_any_sync",
    "@match_all_sync",
    "@match_all_sync_mask",
    "@grid_sync",
];
/// The operation of the whole grid.
pub(super) const GRID_SYNC: i32 = 16;
/// Requests that are not operations: to stop the launch, and to report that the stack is too small for a call.
pub(super) const STOP: i32 = 17;
pub(super) const OVERFLOW: i32 = 18;
/// The first operation of a warp. Those before it concern the whole block.
pub(super) const FIRST_WARP_OP: i32 = 4;

/// The running thread of a block.
pub(super) struct CurrentThread {
    /// Its yielder.
    pub(super) yielder: Cell<*const Yielder<u64, Request>>,
}

/// Suspends the thread until its operation is complete, and returns the result.
pub(super) fn wait(block: *const CurrentThread, request: Request) -> u64 {
    // SAFETY: called by a thread of that block, whose yielder was set when it was resumed.
    unsafe { (*(*block).yielder.get()).suspend(request) }
}
