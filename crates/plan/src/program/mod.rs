//! A closed tape, planned.

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

/// Where a buffer of a program lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
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
    pub assignment: Assignment,
}

/// A unit of execution; steps run in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// A fused kernel.
    Kernel(Kernel),
    /// Small maps of which none touches what another writes: they may run at once.
    Pack(Vec<Kernel>),
    /// A routine on whole arrays.
    Routine(RoutineCall),
    /// A launch of a user's kernel.
    Launch(LaunchStep),
}

/// A launch of a user's kernel as a step.
#[derive(Clone, Debug)]
pub struct LaunchStep {
    /// What is launched, and how.
    pub launch: Arc<UserLaunch>,
    /// The constants that are the block of arguments, but for the addresses in it.
    pub constants: Range<u32>,
    /// Of each array that is not empty: where its address stands in the block, the buffer, and the bytes from the
    /// buffer's start to the array's first element.
    pub arrays: Vec<(u32, u32, u64)>,
}

impl LaunchStep {
    /// The bytes of the constants in `scalars`, sixteen each.
    pub fn block<'a>(&self, scalars: &'a [Scalar]) -> &'a [u8] {
        Scalar::bytes_of(&scalars[self.constants.start as usize..self.constants.end as usize])
    }

    /// The places of addresses in the block, and the addresses.
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

    /// The kernels of the step.
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
/// Invariants: running the steps in order is right; a step's buffers are listed in `buffers`; arena buffers whose
/// lifetimes overlap do not overlap in memory.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What to run.
    pub steps: Vec<Step>,
    /// The nodes that each step computes.
    pub nodes: Vec<Vec<u32>>,
    /// Every buffer that steps name.
    pub buffers: Vec<BufferInfo>,
    /// Bytes of scratch.
    pub arena_bytes: usize,
    /// The node whose value output `k` holds.
    pub outputs: Vec<u32>,
    /// Number of constants that the caller passes.
    pub scalars: usize,
    /// Constants (with their dtypes) that are not zero in any run of this program: with a zero there it is another.
    pub nonzero: Vec<(u32, DType)>,
    /// Small outputs that much work follows, such as a loss before the way back: the buffer, and the last step that writes
    /// it. Whoever asks for one need not wait for the rest.
    pub early: Vec<(u32, u32)>,
    /// The leaves that steps write.
    pub written: Vec<u32>,
    /// Every buffer starts at a multiple of 16 bytes, in this run and all others of the program.
    pub aligned: bool,
}

/// Bytes of an output that may be read before the program has ended.
const MAX_EARLY_BYTES: usize = 16;
/// Bytes that later steps touch at least: 10 µs of an H200. Less is not worth an event.
const MIN_LATER_BYTES: usize = 32 << 20;
/// Such outputs that a program has at most.
const MAX_EARLY: usize = 4;

impl Program {
    /// Fills in what follows from steps and buffers.
    pub(crate) fn find_early_outputs(&mut self) {
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

    /// Is the program right for these constants?
    pub fn admits(&self, consts: &[Scalar]) -> bool {
        self.nonzero.iter().all(|&(slot, dtype)| !consts[slot as usize].is_zero(dtype))
    }
}
