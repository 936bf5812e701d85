//! The nodes of a tape: recorded operations.

use crate::Fun;
use crate::named::named;

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum NodeKind {
    /// `out[i] = fun(ins[0][i], …)`. All operands are read through layouts of the output's shape.
    Map,
    /// Reduces the axes of the operand's layout whose bits are set in `ins[1].src`. `fun` is a [`ReduceOp`]. The output
    /// has the other axes, in order.
    Reduce,
    /// `out[i]` is element `ins[1][i]` of the storage of `ins[0]`. The index operand is int64 and counts elements of
    /// the dtype.
    Gather,
    /// Writes `ins[1]` through the layout of `ins[0]` to the storage of `ins[0]`, which creates a new version of it.
    Update,
    /// Writes `ins[2][i]` to element `ins[1][i]` of the storage of `ins[0]`, combined by the [`ScatterOp`] in `fun`. If
    /// an index occurs twice, [`ScatterOp::Set`] keeps the value of the highest `i`, as NumPy does.
    Scatter,
    /// A [`crate::RoutineOp`], which reads operands from memory: see [`Node::routine_id`].
    Routine,
    /// An array argument of a launch of a user's kernel. It creates a new version of the array's storage, because the
    /// kernel may write any part of it. A launch is one such node for each array argument, next to each other, or one
    /// node without an operand if there are none. `fun` is 1 for the first. `ins[1]` holds the launch's number and the
    /// index of the array, `ins[2]` the first of the constants that form the block of arguments, and their number.
    Launch,
}

/// A reduction.
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
    /// Index (int64) of the first maximum in row-major order of the reduced axes; the first NaN wins.
    ArgMax,
    /// Index (int64) of the first minimum.
    ArgMin,
    /// Sum of |x - mean|², in one pass (Chan, Golub, LeVeque 1979). The result of a complex operand is real.
    M2,
}

/// How a scatter combines the element before with the value written.
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

/// A decoded [`Src`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SrcKind {
    /// The result of a node of this tape.
    Node(u32),
    /// Memory from before the tape: an index into its leaves.
    Leaf(u32),
    /// A scalar: an index into the tape's constants. Its value is a parameter and not part of the program's key.
    Const(u32),
    /// No memory: the value at an index is its position (int64) in the operand's layout.
    Iota,
}

impl Src {
    const INDEX: u32 = (1 << 30) - 1;
    /// The index operand: see [`SrcKind::Iota`].
    pub const IOTA: Src = Src(3 << 30);

    /// Returns the source for the result of node `index`.
    pub fn node(index: u32) -> Src {
        Src(index)
    }

    /// Returns the source for leaf `slot`.
    pub fn leaf(slot: u32) -> Src {
        Src(1 << 30 | slot)
    }

    /// Returns the source for constant `index`.
    pub fn constant(index: u32) -> Src {
        Src(2 << 30 | index)
    }

    /// Decodes kind and index.
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

/// An operand: a source that is read through a layout. An unused operand is all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(C)]
pub struct In {
    /// The value's source.
    pub src: Src,
    /// Id of the layout through which it is read.
    pub layout: u32,
}

/// One recorded operation: 32 bytes that are compared and hashed as they are.
///
/// Invariants:
/// - Operands that are nodes are earlier nodes.
/// - The tape keeps all layouts alive whose ids are used.
/// - The value of a node that is not a write is C-contiguous from offset 0 in a storage of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Node {
    /// What it does.
    pub kind: NodeKind,
    /// [`Fun`], [`ReduceOp`] or [`ScatterOp`], by kind.
    pub fun: u8,
    /// Number of operands.
    pub nin: u8,
    /// Holds [`Node::formula`], or a part of [`Node::routine_id`].
    pub(crate) spare: u8,
    /// Layout id of the output, or of the written view.
    pub out: u32,
    /// The operands.
    pub ins: [In; 3],
}

const _: () = assert!(std::mem::size_of::<Node>() == 32);

impl Node {
    /// Returns the scalar function of a map.
    pub fn map_fun(&self) -> Fun {
        debug_assert_eq!(self.kind, NodeKind::Map);
        Fun::from_index(self.fun)
    }

    /// Returns the operation of a reduction.
    pub fn reduce_op(&self) -> ReduceOp {
        ReduceOp::ALL[self.fun as usize]
    }

    /// Returns the operation of a scatter.
    pub fn scatter_op(&self) -> ScatterOp {
        ScatterOp::ALL[self.fun as usize]
    }

    /// Returns the reduced axes, as bits.
    pub fn reduced_axes(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Reduce);
        self.ins[1].src.0
    }

    /// Returns the interned number of a routine. It is stored in place of the third operand. If there are three
    /// operands, it is stored in `fun` and `spare`, which have room for [`Node::MAX_ROUTINES`] numbers.
    pub fn routine_id(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Routine);
        if self.nin == 3 { u32::from(u16::from_le_bytes([self.fun, self.spare])) } else { self.ins[2].src.0 }
    }

    /// The number of different routines with three operands.
    pub const MAX_ROUTINES: u32 = 1 << 16;

    /// Sets the interned number of a routine.
    pub fn set_routine_id(&mut self, number: u32) {
        debug_assert!(self.kind == NodeKind::Routine && (self.nin < 3 || number < Node::MAX_ROUTINES));
        if self.nin < 3 {
            self.ins[2].src = Src(number);
        } else {
            [self.fun, self.spare] = (number as u16).to_le_bytes();
        }
    }

    /// Returns the formula to which the node belongs, or 0. `Engine::formulas` numbers them so that neighbors differ.
    pub fn formula(&self) -> u8 {
        if self.kind == NodeKind::Routine { 0 } else { self.spare }
    }

    /// Sets the formula to which the node belongs.
    pub fn set_formula(&mut self, formula: u8) {
        debug_assert_ne!(self.kind, NodeKind::Routine);
        self.spare = formula;
    }

    /// Returns the operands in use.
    pub fn operands(&self) -> &[In] {
        &self.ins[..self.nin as usize]
    }

    /// Returns true if the node creates a new version of an existing storage.
    pub fn is_write(&self) -> bool {
        match self.kind {
            NodeKind::Update | NodeKind::Scatter => true,
            NodeKind::Launch => self.nin > 0,
            _ => false,
        }
    }

    /// Returns the number of the launch to which the node belongs.
    pub fn launch_id(&self) -> u32 {
        debug_assert_eq!(self.kind, NodeKind::Launch);
        self.ins[1].src.0
    }

    /// Returns the index of this array among the launch's arrays.
    pub fn launch_array(&self) -> usize {
        self.ins[1].layout as usize
    }

    /// Returns the range of constants that form the launch's block of arguments.
    pub fn launch_constants(&self) -> std::ops::Range<u32> {
        self.ins[2].src.0..self.ins[2].src.0 + self.ins[2].layout
    }
}
