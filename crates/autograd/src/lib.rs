//! Tensors that record how they were computed, and gradients by reverse-mode differentiation.
//!
//! A [`Tensor`] is an array and its position in the graph. `ops` records an operation with the engine and, if an
//! operand requires a gradient, adds a [`Node`] with the gradient rule. `backward` runs the backward pass with the same
//! operations: with recording on, it can be differentiated again, and forward pass, backward pass and optimizer step
//! become one program.
//!
//! Modules from the bottom up, each using only those before it:
//! - `graph`: the types. `node` and `tensor` have their methods, `foreign` and `visit` the Python objects that they
//!   hold.
//! - `record` and `ops`: differentiable operations. `mixed` and `promote`: operands of two devices or dtypes.
//! - `formula`, `add_at`, `accumulate`: what gradient rules are written with.
//! - `conv`, `softmax`, …: operations that have a gradient rule of their own.
//! - `rules`: the gradient rules of all operations.
//! - `backward`: the backward pass.
//!
//! Architecture invariant: gradient rules are data (`cuprous_core::vjp` for scalar functions, [`graph::Rule`] for the
//! rest). The engine knows nothing of gradients, except that contents may have to be saved (`cuprous_core::Saved`).
//! Nothing here knows Python.

mod accumulate;
pub mod activation;
mod add_at;
pub mod arg;
pub mod attention;
pub mod backward;
pub mod batch_norm;
pub mod conv;
pub mod engine;
pub mod foreign;
mod formula;
pub mod graph;
pub mod layer_norm;
pub mod loss;
mod mixed;
pub mod mode;
pub mod node;
pub mod ops;
pub mod optim;
pub mod pool;
pub mod promote;
mod record;
pub mod recurrent;
mod rules;
pub mod saved;
pub mod softmax;
pub mod tensor;
mod visit;

pub use arg::Arg;
pub use foreign::Foreign;
pub use graph::{Custom, Hook, Node, NodeOutput, Recompute, Rule, Tensor};
pub use saved::SavedTensor;
