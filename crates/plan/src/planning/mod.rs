//! From a closed tape to a program: which operations run together, as which steps, in which memory.
//!
//! In this order: `input` is the tape as the planner sees it, `epilogue` fuses operations into matmuls, `fusion` groups
//! the rest, `memory` decides which values are written, `emit` makes a step of each group, `pack` joins small steps, `arena` assigns scratch memory.

mod arena;
mod emit;
mod epilogue;
mod fusion;
mod input;
mod memory;
mod pack;

pub(crate) use emit::plan;
pub(crate) use input::{Input, Layouts};

/// Stands for no node, storage or group in tables of numbers.
pub(crate) const NONE: u32 = u32::MAX;

/// Nanoseconds that the stages of planning took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) fusion: u64,
    pub(crate) emission: u64,
}
