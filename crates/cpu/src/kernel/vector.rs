//! Values of a group of threads. Each thread is a lane of vectors.

use cranelift_codegen::ir::Value;
use cuprous_core::DType;
use smallvec::SmallVec;

use crate::blocks::GROUP;

/// Number of threads in a group.
pub(super) const WIDTH: i64 = GROUP as i64;

/// Vectors that together have a lane for each thread.
pub(super) type Chunks = SmallVec<[Value; 8]>;

/// A number in all lanes.
#[derive(Clone)]
pub(super) enum LaneValue {
    /// The same in all lanes.
    Uniform(Value),
    /// The number of the first lane, and the difference between lanes.
    Linear(Value, i64),
    /// A number per lane. Truth values are all ones or all zeros, in lanes of any size.
    Varying(Chunks),
}

/// The result of a condition: whether it is known to be true in all lanes, and in none.
pub(super) struct LaneTest {
    pub(super) all: Value,
    pub(super) none: Value,
}

/// Returns true for types that have vectors.
pub(super) fn is_vector_type(d: DType) -> bool {
    !d.is_complex() && !matches!(d, DType::F16 | DType::BF16)
}
