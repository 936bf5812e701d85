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
pub mod diagnostic;
pub mod fault;
pub mod inline;
pub mod ir;
pub mod lanes;
pub mod libdevice;
pub mod linked;
pub mod lower;
pub mod options;
pub mod place;
pub mod prepare;
pub mod rules;
pub mod size;
pub mod strides;
pub mod table;
pub mod types;
pub mod verify;
pub mod webs;

pub use diagnostic::{Diagnostic, Result};
pub use ir::Module;
pub use lower::compile;
pub use options::Options;
pub use types::{ArrayTy, Order, Ty};
