//! The kernel language: Python functions compiled to typed programs for a device.
//!
//! A function is compiled in three steps: [`ast`] is its syntax tree with resolved names, [`live_ranges`] splits its
//! names into variables of one type each, and [`lower`] infers the types and writes the typed program, [`ir`].
//! [`verify`] checks it. Devices without an optimizing compiler then run [`mod@inline`] and [`prepare`] on it and use
//! the analyses [`uniformity`], [`rematerialize`] and [`integer_ranges`]. Devices turn [`ir::Module`] into code.
//!
//! Architecture invariant: this crate depends on neither Python nor a device. [`ast::Value`] describes objects from
//! outside a function. Rows of [`table`] and of `lower::builtins` define the builtins.

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
