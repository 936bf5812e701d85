//! Programs: what a closed tape becomes.

use std::ops::Range;
use std::sync::Arc;

use cuprous_core::{DType, Scalar};

mod ir;
mod routine;
mod user_kernel;
pub mod verify;

pub use ir::{Access, Inst, Kernel, Level, Typed, Val};
pub use routine::{Addend, Epilogue, Factor, RoutineCall};
pub use user_kernel::{KernelRef, Launch, RawKernel, RawModule, UserKernel, UserLaunch};

/// The memory that a program's buffer is assigned to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// Memory that existed before the program: leaf `slot` of the tape.
    Leaf(u32),
    /// A new allocation that outlives the program: output `k`.
    Output(u32),
    /// Scratch inside the program's arena, at a byte offset aligned to 256.
    Arena(usize),
}

/// A range of memory that steps read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferInfo {
    /// Size in bytes.
    pub bytes: usize,
    /// Where it lies.
    pub assignment: Assignment,
}

/// A unit of execution. Steps run in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// A fused kernel.
    Kernel(Kernel),
    /// Small maps that may run at once, because none touches what another writes.
    Pack(Vec<Kernel>),
    /// A routine on whole arrays.
    Routine(RoutineCall),
    /// A launch of a user kernel.
    Launch(LaunchStep),
}

/// A launch of a user kernel as a step.
#[derive(Clone, Debug)]
pub struct LaunchStep {
    /// The kernel and the launch's configuration.
    pub launch: Arc<UserLaunch>,
    /// The constants that form the block of arguments, without the addresses in it.
    pub constants: Range<u32>,
    /// One entry for each array that is not empty: the offset of its address in the block, its buffer, and the byte
    /// offset of its first element from the buffer's start.
    pub arrays: Vec<(u32, u32, u64)>,
}

impl LaunchStep {
    /// Returns the bytes of the constants in `scalars`, sixteen each.
    pub fn block<'a>(&self, scalars: &'a [Scalar]) -> &'a [u8] {
        Scalar::bytes_of(&scalars[self.constants.start as usize..self.constants.end as usize])
    }

    /// Returns the offset in the block and the value of each address.
    pub fn addresses<'a>(&'a self, buffers: &'a [u64]) -> impl Iterator<Item = (usize, u64)> + 'a {
        self.arrays.iter().map(|&(at, buffer, offset)| (at as usize, buffers[buffer as usize] + offset))
    }
}

impl Step {
    /// Calls `f` with each of the program's buffers that the step touches, and whether it is written.
    pub fn touches(&self, mut f: impl FnMut(u32, bool)) {
        match self {
            Step::Kernel(kernel) => kernel.touches(f),
            Step::Pack(kernels) => kernels.iter().for_each(|kernel| kernel.touches(&mut f)),
            Step::Routine(call) => {
                call.reads().for_each(|&(b, _)| f(b, false));
                f(call.out.0, true);
            }
            Step::Launch(launched) => launched.arrays.iter().for_each(|&(_, buffer, _)| {
                f(buffer, false);
                f(buffer, true);
            }),
        }
    }

    /// Returns the kernels of the step.
    pub fn kernels(&self) -> &[Kernel] {
        match self {
            Step::Kernel(kernel) => std::slice::from_ref(kernel),
            Step::Pack(kernels) => kernels,
            Step::Routine(_) | Step::Launch(_) => &[],
        }
    }
}

/// The plan of one tape.
///
/// Invariants: running the steps in order is correct; `buffers` lists every buffer of a step; arena buffers whose
/// lifetimes overlap do not overlap in memory.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The steps in the order of execution.
    pub steps: Vec<Step>,
    /// The nodes that each step computes.
    pub nodes: Vec<Vec<u32>>,
    /// Every buffer that a step refers to.
    pub buffers: Vec<BufferInfo>,
    /// Bytes of scratch memory.
    pub arena_bytes: usize,
    /// The node whose value output `k` holds.
    pub outputs: Vec<u32>,
    /// The number of constants that the caller passes.
    pub scalars: usize,
    /// Constants (with their dtypes) that are not zero in any run of this program. With a zero there, the tape becomes
    /// another program.
    pub nonzero: Vec<(u32, DType)>,
    /// Small outputs that much work follows, such as a loss before the backward pass: the buffer, and the last step
    /// that writes it. A read of such an output does not wait for the rest of the program.
    pub early: Vec<(u32, u32)>,
    /// The leaves that steps write.
    pub written: Vec<u32>,
    /// True if every buffer starts at a multiple of 16 bytes, in this run and all other runs of the program.
    pub aligned: bool,
}

/// Largest output that may be read before the program has ended, in bytes.
const MAX_EARLY_BYTES: usize = 16;
/// Least number of bytes that later steps touch: 10 µs of an H200. Less is not worth an event.
const MIN_LATER_BYTES: usize = 32 << 20;
/// Largest number of early outputs of a program.
const MAX_EARLY: usize = 4;

impl Program {
    /// Fills in `written` and `early` from steps and buffers.
    pub(crate) fn find_written_and_early(&mut self) {
        let mut last: Vec<Option<u32>> = vec![None; self.buffers.len()];
        let mut touched: Vec<usize> = Vec::with_capacity(self.steps.len());
        for (k, step) in self.steps.iter().enumerate() {
            let mut bytes = 0;
            step.touches(|buffer, writes| {
                bytes = usize::saturating_add(bytes, self.buffers[buffer as usize].bytes);
                if writes {
                    last[buffer as usize] = Some(k as u32);
                }
            });
            touched.push(bytes);
        }
        for (buffer, (info, step)) in self.buffers.iter().zip(&last).enumerate() {
            match (info.assignment, step) {
                (Assignment::Leaf(slot), Some(_)) => self.written.push(slot),
                (Assignment::Output(_), Some(step))
                    if info.bytes <= MAX_EARLY_BYTES && self.early.len() < MAX_EARLY =>
                {
                    let rest: usize = touched[*step as usize + 1..].iter().sum();
                    if rest >= MIN_LATER_BYTES {
                        self.early.push((buffer as u32, *step));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if the program is valid for these constants.
    pub fn admits(&self, consts: &[Scalar]) -> bool {
        self.nonzero.iter().all(|&(slot, dtype)| !consts[slot as usize].is_zero(dtype))
    }
}
