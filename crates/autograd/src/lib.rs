//! Tensors that know how they were computed, and gradients by walking back.
//!
//! A [`Tensor`] is an array and its place in the graph of what was computed. `ops` records an operation with the engine
//! and, where a gradient may be asked for, a [`Node`] that says how to go back; `walk` goes back, by the same operations,
//! so that a second derivative is the same walk with recording on, and forward, backward and update are one program.
//!
//! Architecture invariant: rules are data (`cuprous_core::vjp` for scalar functions, [`node::Rule`] for the rest); the
//! engine knows nothing of gradients but that contents may have to be kept (`cuprous_core::Saved`). Nothing here knows
//! Python.

pub mod activation;
mod add_at;
pub mod attention;
pub mod conv;
pub mod foreign;
mod formula;
pub mod layer_norm;
pub mod loss;
mod mixed;
pub mod mode;
pub mod node;
pub mod ops;
pub mod optim;
pub mod pool;
pub mod promote;
pub mod recurrent;
mod rules;
pub mod saved;
pub mod softmax;
mod spread;
pub mod tensor;
pub mod walk;

pub use foreign::{Again, Custom, Foreign, Hook};
pub use node::{Head, Node, Rule};
pub use ops::Arg;
pub use saved::SavedTensor;
pub use tensor::Tensor;
