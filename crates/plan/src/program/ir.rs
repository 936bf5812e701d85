//! The fused kernel: what a device generates code for.

use cuprous_core::{DType, Dims, Fun, ReduceOp, ScatterOp};
use smallvec::SmallVec;

/// A value of a kernel: index of the instruction that made it.
pub type Val = u16;

/// Where an instruction runs in the two-level iteration space of its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Once for every element: for each outer index and each inner index.
    Full,
    /// Once for every outer index. Only kernels with reductions have row-level instructions.
    Row,
}

/// An affine map from the iteration space to an element of a buffer: `offset + Σ strides[k]·index[k]`.
///
/// A full-level access has a stride for each outer and then each inner axis; a row-level one for each outer axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Element at index zero.
    pub offset: i64,
    /// Elements per step of each axis.
    pub strides: Dims,
}

/// What an instruction does. Operands are values of earlier instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Inst {
    /// The element of `buffers[buf]` (seen as an array of the instruction's dtype) at `access`.
    Load {
        /// Index into the kernel's buffers.
        buf: u16,
        /// Which element.
        access: Access,
    },
    /// Constant `slot` of the program's scalars, already in the instruction's dtype.
    Scalar {
        /// Index into the program's scalars.
        slot: u32,
    },
    /// The affine index itself, int64.
    Iota {
        /// The index.
        access: Access,
    },
    /// A scalar function of the operands. For [`Fun::Cast`] and [`Fun::Bitcast`] the instruction's dtype is the target.
    Map {
        /// The function.
        fun: Fun,
        /// Its operands.
        args: SmallVec<[Val; 3]>,
    },
    /// Element `index` (int64, counted in the instruction's dtype) of `buffers[buf]`. An index outside the buffer
    /// wraps (`rem_euclid` of the number of elements): memory is never touched out of bounds.
    Gather {
        /// Index into the kernel's buffers.
        buf: u16,
        /// Elements of the instruction's dtype in the buffer.
        len: i64,
        /// The element.
        index: Val,
    },
    /// Folds a full-level value over the inner axes; its result is a row-level value.
    Reduce {
        /// How.
        op: ReduceOp,
        /// What.
        arg: Val,
    },
    /// Writes a value, whose dtype is the element type of the access. All instructions that come before it and read
    /// the same buffer read the element that this instruction's thread writes, or the planner has put them elsewhere.
    Store {
        /// Index into the kernel's buffers.
        buf: u16,
        /// Which element.
        access: Access,
        /// The value.
        arg: Val,
    },
    /// Writes a value to element `index` of a buffer, combining; indices wrap as in [`Inst::Gather`].
    /// [`ScatterOp::Set`]: of equal indices the highest iteration (row-major) wins. A kernel that scatters holds
    /// exactly one scatter and no store, and nothing in it reads that buffer.
    Scatter {
        /// Index into the kernel's buffers.
        buf: u16,
        /// Elements of the value's dtype in the buffer.
        len: i64,
        /// The element.
        index: Val,
        /// The value.
        arg: Val,
        /// How it combines with what is there.
        op: ScatterOp,
    },
}

/// One instruction with its result type and level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Typed {
    /// What it does.
    pub inst: Inst,
    /// Type of its result (of the value written, for stores).
    pub dtype: DType,
    /// Where it runs.
    pub level: Level,
}

/// A fused region: a loop nest over `outer` × `inner` with a straight-line body in SSA form.
///
/// Invariants (checked by [`super::verify`]): operands precede their use; a full-level instruction may use row-level
/// values (they are broadcast along the inner axes), a row-level one uses only row-level values and reductions;
/// `inner` is empty exactly if there is no reduction, and then every instruction is full-level; axes of extent 1 are
/// dropped and axes that every access treats as one are merged, so a contiguous map has a single axis; extents are
/// ≥ 1: empty work is never planned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// Extents of the kept axes, outermost first.
    pub outer: Dims,
    /// Extents of the folded axes, outermost first.
    pub inner: Dims,
    /// The body.
    pub body: Vec<Typed>,
    /// Index in the program's buffers of each buffer that the kernel touches; no duplicates.
    pub buffers: Vec<u32>,
}

impl Kernel {
    /// Number of outer iterations.
    pub fn outer_size(&self) -> i64 {
        self.outer.iter().product()
    }

    /// Number of inner iterations; 1 without reductions.
    pub fn inner_size(&self) -> i64 {
        self.inner.iter().product()
    }

    /// Calls `f` with each of the program's buffers that the kernel touches, and whether it is written.
    pub fn touches(&self, mut f: impl FnMut(u32, bool)) {
        for (k, &buffer) in self.buffers.iter().enumerate() {
            let writes = |inst: &Inst| match inst {
                Inst::Store { buf, .. } | Inst::Scatter { buf, .. } => *buf as usize == k,
                _ => false,
            };
            f(buffer, self.body.iter().any(|t| writes(&t.inst)));
        }
    }

    /// True where something is folded.
    pub fn reduces(&self) -> bool {
        self.body.iter().any(|t| matches!(t.inst, Inst::Reduce { .. }))
    }
}

impl Inst {
    /// Calls `f` with each value that the instruction uses.
    pub fn operands(&self, mut f: impl FnMut(Val)) {
        match self {
            Inst::Load { .. } | Inst::Scalar { .. } | Inst::Iota { .. } => {}
            Inst::Map { args, .. } => args.iter().copied().for_each(f),
            Inst::Gather { index, .. } => f(*index),
            Inst::Reduce { arg, .. } | Inst::Store { arg, .. } => f(*arg),
            Inst::Scatter { index, arg, .. } => {
                f(*index);
                f(*arg);
            }
        }
    }

    /// Calls `f` with each value that the instruction uses, to be renamed.
    pub fn operands_mut(&mut self, mut f: impl FnMut(&mut Val)) {
        match self {
            Inst::Load { .. } | Inst::Scalar { .. } | Inst::Iota { .. } => {}
            Inst::Map { args, .. } => args.iter_mut().for_each(f),
            Inst::Gather { index, .. } => f(index),
            Inst::Reduce { arg, .. } | Inst::Store { arg, .. } => f(arg),
            Inst::Scatter { index, arg, .. } => {
                f(index);
                f(arg);
            }
        }
    }

    /// The buffer it touches.
    pub fn buffer_mut(&mut self) -> Option<&mut u16> {
        match self {
            Inst::Load { buf, .. } | Inst::Gather { buf, .. } | Inst::Store { buf, .. } | Inst::Scatter { buf, .. } => {
                Some(buf)
            }
            _ => None,
        }
    }

    /// Its affine index.
    pub fn access(&self) -> Option<&Access> {
        match self {
            Inst::Load { access, .. } | Inst::Iota { access } | Inst::Store { access, .. } => Some(access),
            _ => None,
        }
    }

    /// Its affine index, to be changed.
    pub fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Inst::Load { access, .. } | Inst::Iota { access } | Inst::Store { access, .. } => Some(access),
            _ => None,
        }
    }
}
