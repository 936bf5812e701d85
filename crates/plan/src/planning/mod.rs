//! From a closed tape to a program: which operations run together, as which steps, in which memory.
//!
//! In this order: `input` is the tape as the planner sees it, `epilogue` fuses operations into matmuls, `fusion` groups
//! the rest, `emit` makes a step of each group, `pack` joins small steps, `arena` assigns scratch memory.

use std::collections::HashMap;

mod arena;
mod emit;
mod epilogue;
mod fusion;
mod input;
mod pack;

pub(crate) use emit::plan;
pub(crate) use input::Input;

/// A map of the planner, which looks up several numbers for each node.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Nanoseconds that the stages of planning took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) fusion: u64,
    pub(crate) emission: u64,
}
