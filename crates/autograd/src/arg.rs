//! Operands of operations.

use cuprous_core::scalar::Number;

use crate::graph::Tensor;

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Number(Number),
}
