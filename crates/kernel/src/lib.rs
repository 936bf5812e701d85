//! The kernel language: Python functions as typed programs for a device.
//!
//! The way of a function: [`ast`] (Python's own syntax tree, names resolved) → [`webs`] (which assignments reach which
//! uses) → [`lower`] (types and structured code in one walk, repeated until the types stand) → [`ir`], whose rules
//! [`verify`] checks. Devices turn [`ir::Module`] into code.
//!
//! Architecture invariant: this crate knows no Python and no device. What a name means outside the function is said by
//! [`ast::Value`]; what a builtin does is said by rows of [`table`].

pub mod abi;
pub mod ast;
pub mod builtin;
pub mod diagnostic;
pub mod exception;
pub mod flow;
pub mod inline;
pub mod integer_ranges;
pub mod ir;
pub mod libdevice;
pub mod linked;
pub mod live_ranges;
pub mod lower;
pub mod options;
pub mod prepare;
pub mod rematerialize;
pub mod rewrite;
pub mod rules;
pub mod strip_mine;
pub mod table;
pub mod types;
pub mod uniformity;
pub mod verify;

pub use diagnostic::{Diagnostic, Result};
pub use ir::Module;
pub use lower::compile;
pub use options::Options;
pub use types::{ArrayTy, Order, Ty};
