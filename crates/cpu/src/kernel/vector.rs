//! Values of a group of threads, one lane of vectors each.

use cranelift_codegen::ir::Value;
use cuprous_core::DType;
use smallvec::SmallVec;

use crate::blocks::GROUP;

/// Threads of a group.
pub(super) const WIDTH: i64 = GROUP as i64;

/// Vectors with a lane for each thread.
pub(super) type Chunks = SmallVec<[Value; 8]>;

/// A number in all lanes.
#[derive(Clone)]
pub(super) enum LaneValue {
    /// One for all.
    Uniform(Value),
    /// That of the first lane, and how much it grows.
    Affine(Value, i64),
    /// Vectors; truth values are all bits or none, of lanes of any size.
    Varying(Chunks),
}

/// What a test says: whether it is true in all lanes, and in none, where that is known.
pub(super) struct LaneTest {
    pub(super) all: Value,
    pub(super) none: Value,
}

/// Numbers of which vectors are made.
pub(super) fn is_vector_type(d: DType) -> bool {
    !d.is_complex() && !matches!(d, DType::F16 | DType::BF16)
}
