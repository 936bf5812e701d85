//! The IR of fused array kernels, from which a device generates code.

use cuprous_core::{DType, Dims, Fun, ReduceOp, ScatterOp};
use smallvec::SmallVec;

/// A value of a kernel: the index of the instruction that computes it.
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
    /// Elements per step along each axis.
    pub strides: Dims,
}

/// What an instruction does. Operands are values of earlier instructions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Inst {
    /// The element of `buffers[buf]` (seen as an array of the instruction's dtype) at `access`.
    Load {
        /// Index into the kernel's `buffers`.
        buf: u16,
        /// The element's position.
        access: Access,
    },
    /// Constant `slot` of the program's scalars, already in the instruction's dtype.
    Scalar {
        /// Index into the program's scalars.
        slot: u32,
    },
    /// The value of an affine index, int64.
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
    /// Element `index` (int64, counted in the instruction's dtype) of `buffers[buf]`. An index outside the buffer wraps
    /// (`rem_euclid` of the number of elements), so memory is never touched out of bounds.
    Gather {
        /// Index into the kernel's `buffers`.
        buf: u16,
        /// Elements of the instruction's dtype in the buffer.
        len: i64,
        /// The element's index.
        index: Val,
    },
    /// Reduces a full-level value over the inner axes. The result is a row-level value.
    Reduce {
        /// The reduction.
        op: ReduceOp,
        /// The value that is reduced.
        arg: Val,
    },
    /// Writes a value, whose dtype is the element type of the access. Earlier instructions that read the same buffer
    /// read the element that this instruction's thread writes; the planner puts all others into other kernels.
    Store {
        /// Index into the kernel's `buffers`.
        buf: u16,
        /// The element's position.
        access: Access,
        /// The value.
        arg: Val,
    },
    /// Writes a value to element `index` of a buffer, combining it with what is there. Indices wrap as in
    /// [`Inst::Gather`]. With [`ScatterOp::Set`], of equal indices the last iteration (row-major) wins. A kernel with a
    /// scatter has exactly one, has no store, and reads nothing from that buffer.
    Scatter {
        /// Index into the kernel's `buffers`.
        buf: u16,
        /// Elements of the value's dtype in the buffer.
        len: i64,
        /// The element's index.
        index: Val,
        /// The value.
        arg: Val,
        /// How the value is combined with what is there.
        op: ScatterOp,
    },
}

/// One instruction with its result type and level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Typed {
    /// The operation.
    pub inst: Inst,
    /// The type of its result; for stores, of the value written.
    pub dtype: DType,
    /// The level at which it runs.
    pub level: Level,
}

/// A fused region: a loop nest over `outer` × `inner` with a straight-line body in SSA form.
///
/// Invariants (checked by [`super::verify`]):
/// - Operands precede their use.
/// - A full-level instruction may use row-level values, which are broadcast along the inner axes. A row-level
///   instruction uses only row-level values and reductions.
/// - `inner` is empty exactly if there is no reduction; then every instruction is full-level.
/// - Axes of extent 1 are dropped, and axes that every access treats as one are merged, so a contiguous map has a
///   single axis.
/// - Extents are ≥ 1: empty work is never planned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// Extents of the kept axes, outermost first.
    pub outer: Dims,
    /// Extents of the reduced axes, outermost first.
    pub inner: Dims,
    /// The instructions.
    pub body: Vec<Typed>,
    /// For each buffer that the kernel touches, its index in the program's buffers. No duplicates.
    pub buffers: Vec<u32>,
}

impl Kernel {
    /// Returns the number of outer iterations.
    pub fn outer_size(&self) -> i64 {
        self.outer.iter().product()
    }

    /// Returns the number of inner iterations; 1 without reductions.
    pub fn inner_size(&self) -> i64 {
        self.inner.iter().product()
    }

    /// Calls `f` with each of the program's buffers that the kernel touches, and whether it is written.
    pub fn touches(&self, mut f: impl FnMut(u32, bool)) {
        let mut written: SmallVec<[bool; 32]> = SmallVec::from_elem(false, self.buffers.len());
        for t in &self.body {
            if let Inst::Store { buf, .. } | Inst::Scatter { buf, .. } = t.inst {
                written[buf as usize] = true;
            }
        }
        self.buffers.iter().zip(written).for_each(|(&buffer, writes)| f(buffer, writes));
    }

    /// Returns true if the kernel has a reduction.
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

    /// Calls `f` with each value that the instruction uses, so that it can be renumbered.
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

    /// Returns the buffer that the instruction touches.
    pub fn buffer_mut(&mut self) -> Option<&mut u16> {
        match self {
            Inst::Load { buf, .. } | Inst::Gather { buf, .. } | Inst::Store { buf, .. } | Inst::Scatter { buf, .. } => {
                Some(buf)
            }
            _ => None,
        }
    }

    /// Returns the affine index of the instruction.
    pub fn access(&self) -> Option<&Access> {
        match self {
            Inst::Load { access, .. } | Inst::Iota { access } | Inst::Store { access, .. } => Some(access),
            _ => None,
        }
    }

    /// Returns the affine index of the instruction, so that it can be changed.
    pub fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Inst::Load { access, .. } | Inst::Iota { access } | Inst::Store { access, .. } => Some(access),
            _ => None,
        }
    }
}
