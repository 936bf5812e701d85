//! From a closed tape to a program: which operations run together, as which steps, in which memory.

mod arena;
mod emit;
mod epilogue;
mod fusion;
mod input;
mod pack;

pub(crate) use emit::plan;
pub(crate) use input::Input;
