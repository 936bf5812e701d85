//! Recorded operations.

use crate::Fun;
use crate::named::named;

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum NodeKind {
    /// `out[i] = fun(ins[i]…)`, all operands read through layouts of the output's shape.
    Map,
    /// Folds the axes of the operand's layout whose bits are set in `ins[1].src`; `fun` is a [`ReduceOp`]. The output
    /// has the other axes, in order.
    Reduce,
    /// `out[i] = storage of ins[0] at element ins[1][i]`; the index operand is int64 and counts elements of the dtype.
    Gather,
    /// Writes `ins[1]` through the layout of `ins[0]` into the storage of `ins[0]`: a new version of that storage.
    Update,
    /// Writes `ins[2][i]` to element `ins[1][i]` of the storage of `ins[0]`, combining by [`ScatterOp`] in `fun`.
    /// Where an index occurs twice, [`ScatterOp::Set`] keeps the value of the highest `i`, as NumPy does.
    Scatter,
    /// A [`crate::RoutineOp`] that must see real memory: see [`Node::routine_id`].
    Routine,
    /// An array that a launch of a user's kernel is given: a new version of its storage, as the kernel may write any part
    /// of it. A launch is one such node for each array, side by side, or one without an operand where there is none;
    /// `fun` is 1 for the first. `ins[1]` has the launch's number and which array this is, `ins[2]` the first of the
    /// constants that the block of arguments is made of and how many those are.
    Launch,
}

/// How a reduction folds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ReduceOp {
    /// Sum; float16 and bfloat16 are accumulated in float32.
    Sum,
    /// Product.
    Prod,
    /// Maximum; NaN wins, as in NumPy.
    Max,
    /// Minimum; NaN wins.
    Min,
    /// Index (int64) of the first maximum in row-major order of the folded axes; the first NaN wins.
    ArgMax,
    /// Index (int64) of the first minimum.
    ArgMin,
    /// Sum of |x - mean|², in one pass (Chan, Golub, LeVeque 1979); of a complex operand the result is real.
    M2,
}

/// How a scatter combines what is there with what comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ScatterOp {
    Set,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

named! {
    ReduceOp {
        Sum = "sum",
        Prod = "prod",
        Max = "max",
        Min = "min",
        ArgMax = "argmax",
        ArgMin = "argmin",
        M2 = "m2",
    }
}

named! {
    ScatterOp {
        Set = "set",
        Add = "add",
        Multiply = "multiply",
        Maximum = "maximum",
        Minimum = "minimum",
    }
}

/// Where an operand's value comes from: a kind in the top two bits, an index in the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Src(pub u32);

/// A [`Src`], taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SrcKind {
    /// The result of a node of this tape.
    Node(u32),
    /// Memory that existed before the tape: an index into its leaves.
    Leaf(u32),
    /// A scalar: an index into the tape's constants. Its value is not part of the program's key.
    Const(u32),
    /// No memory: the value at an index is the position (int64) that the operand's layout gives it.
    Iota,
}

impl Src {
    const INDEX: u32 = (1 << 30) - 1;
    /// The index operand.
    pub const IOTA: Src = Src(3 << 30);

    /// The result of node `index`.
    pub fn node(index: u32) -> Src {
        Src(index)
    }

    /// Leaf `slot`.
    pub fn leaf(slot: u32) -> Src {
        Src(1 << 30 | slot)
    }

    /// Constant `index`.
    pub fn constant(index: u32) -> Src {
        Src(2 << 30 | index)
    }

    /// Kind and index.
    pub fn kind(self) -> SrcKind {
        let index = self.0 & Src::INDEX;
        match self.0 >> 30 {
            0 => SrcKind::Node(index),
            1 => SrcKind::Leaf(index),
            2 => SrcKind::Const(index),
            _ => SrcKind::Iota,
        }
    }
}

/// An operand: a source, read through a layout (by id). An unused operand is all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct In {
    /// The value's source.
    pub src: Src,
    /// Id of the layout through which it is read.
    pub layout: u32,
}

/// One recorded operation: 32 bytes, compared and hashed as they are.
///
/// Invariants: operands are earlier nodes; all layout ids are kept alive by the tape; a value written by anything but
/// [`NodeKind::Update`] and [`NodeKind::Scatter`] is C-contiguous from offset 0 in a storage of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Node {
    /// What it does.
    pub kind: NodeKind,
    /// [`Fun`], [`ReduceOp`] or [`ScatterOp`], by kind.
    pub fun: u8,
    /// Number of operands.
    pub nin: u8,
    /// What its size leaves room for: see [`Node::formula`] and [`Node::routine_id`].
    pub(crate) spare: u8,
    /// Layout id of the output; for writes, of the written view.
    pub out: u32,
    /// The operands.
    pub ins: [In; 3],
}

const _: () = assert!(std::mem::size_of::<Node>() == 32);

impl Node {
    /// The scalar function of a map.
    pub fn map_fun(&self) -> Fun {
        debug_assert_eq!(self.kind, NodeKind::Map);
        Fun::from_index(self.fun)
    }

    /// The fold of a reduction.
    pub fn reduce_op(&self) -> ReduceOp {
        ReduceOp::ALL[self.fun as usize]
    }

    /// The combination of a scatter.
    pub fn scatter_op(&self) -> ScatterOp {
        ScatterOp::ALL[self.fun as usize]
    }

    /// The folded axes of a reduction, as bits.
    pub fn reduced_axes(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Reduce);
        self.ins[1].src.0
    }

    /// The interned number of a call's operation. It stands where the third operand would; where there are three, in
    /// `fun` and `spare`, which have room for [`Node::MAX_ROUTINES`].
    pub fn routine_id(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Routine);
        if self.nin == 3 { u32::from(u16::from_le_bytes([self.fun, self.spare])) } else { self.ins[2].src.0 }
    }

    /// Numbers of calls that have three operands.
    pub const MAX_ROUTINES: u32 = 1 << 16;

    /// Gives a call its number.
    pub fn set_routine_id(&mut self, number: u32) {
        debug_assert!(self.kind == NodeKind::Routine && (self.nin < 3 || number < Node::MAX_ROUTINES));
        if self.nin < 3 {
            self.ins[2].src = Src(number);
        } else {
            [self.fun, self.spare] = (number as u16).to_le_bytes();
        }
    }

    /// Which formula it is part of, as the engine's `formulas` record them: neighbours have different numbers, and 0 is
    /// none.
    pub fn formula(&self) -> u8 {
        if self.kind == NodeKind::Routine { 0 } else { self.spare }
    }

    /// Makes it part of a formula.
    pub fn set_formula(&mut self, formula: u8) {
        debug_assert_ne!(self.kind, NodeKind::Routine);
        self.spare = formula;
    }

    /// The operands in use.
    pub fn operands(&self) -> &[In] {
        &self.ins[..self.nin as usize]
    }

    /// Does it make a new version of an existing storage?
    pub fn is_write(&self) -> bool {
        match self.kind {
            NodeKind::Update | NodeKind::Scatter => true,
            NodeKind::Launch => self.nin > 0,
            _ => false,
        }
    }

    /// The number of the launch that it belongs to.
    pub fn launch_id(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Launch);
        self.ins[1].src.0
    }

    /// Of a launch's array: which it is.
    pub fn launch_array(&self) -> usize {
        self.ins[1].layout as usize
    }

    /// The constants that are a launch's block of arguments.
    pub fn launch_constants(&self) -> std::ops::Range<u32> {
        self.ins[2].src.0..self.ins[2].src.0 + self.ins[2].layout
    }
}
