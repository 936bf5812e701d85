//! A closed tape, planned.

use crate::kernel::{Call, Kernel};

/// Where a buffer of a program lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Memory that existed before: leaf `slot` of the tape.
    Leaf(u32),
    /// A new allocation that outlives the program: output `k`.
    Output(u32),
    /// Scratch inside the program's arena, at a byte offset aligned to 256.
    Arena(usize),
}

/// A piece of memory that steps read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferInfo {
    /// Size.
    pub bytes: usize,
    /// Where.
    pub place: Place,
}

/// A unit of execution; steps run in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// A fused kernel.
    Kernel(Kernel),
    /// A routine on whole arrays.
    Call(Call),
}

/// The plan of one tape.
///
/// Invariants: running the steps in order is right; a step's buffers are listed in `buffers`; arena buffers whose
/// lifetimes overlap do not overlap in memory.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What to run.
    pub steps: Vec<Step>,
    /// Every buffer that steps name.
    pub buffers: Vec<BufferInfo>,
    /// Bytes of scratch.
    pub arena_bytes: usize,
    /// The node whose value output `k` holds.
    pub outputs: Vec<u32>,
    /// Number of constants that the caller passes.
    pub scalars: usize,
    /// Every buffer starts at a multiple of 16 bytes, in this run and all others of the program.
    pub aligned: bool,
}
