//! From a closed tape to a program: which operations run together, as which steps, in which memory.
//!
//! In this order: `input` is the tape as the planner sees it, `epilogue` fuses operations into matmuls, `fusion` groups
//! the rest, `emit` makes a step of each group, `pack` joins small steps, `arena` assigns scratch memory.

mod arena;
mod emit;
mod epilogue;
mod fusion;
mod input;
mod pack;

pub(crate) use emit::plan;
pub(crate) use input::Input;
