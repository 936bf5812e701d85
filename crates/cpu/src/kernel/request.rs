//! What a thread asks of the others before it waits: the interface between generated code and its coroutines.

use std::cell::Cell;

use corosensei::Yielder;

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// An index of [`OPS`].
    pub(super) op: i32,
    /// Lanes of the warp that take part.
    pub(super) mask: u32,
    /// What the thread brings.
    pub(super) value: u64,
    /// Another lane, or a distance.
    pub(super) lane: u32,
}

/// The operations, by the names that rows of the table of builtins give; the first four are the block's.
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
/// The grid's.
pub(super) const GRID_SYNC: i32 = 16;
/// Not operations: a request to stop the launch, and a call for which there is no stack left.
pub(super) const STOP: i32 = 17;
pub(super) const OVERFLOW: i32 = 18;
/// Operations of the whole block.
pub(super) const FIRST_WARP_OP: i32 = 4;

/// The running block.
pub(super) struct CurrentThread {
    /// The thread that runs.
    pub(super) yielder: Cell<*const Yielder<u64, Request>>,
}

/// Waits, and gives the answer.
pub(super) fn wait(block: *const CurrentThread, request: Request) -> u64 {
    // SAFETY: called by a thread of that block, whose yielder was set when it was resumed.
    unsafe { (*(*block).yielder.get()).suspend(request) }
}
