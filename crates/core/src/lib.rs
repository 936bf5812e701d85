//! The types that every other crate of Cuprous uses: dtypes and promotion, shapes and views, the operation table and
//! its derivatives, storages, and the tape on which operations are recorded.
//!
//! Architecture invariant: this crate knows nothing of devices, plans and Python.

pub mod array;
pub mod attention;
pub mod convolution;
pub mod dtype;
pub mod error;
pub mod interrupt;
pub mod layout;
mod named;
pub mod node;
pub mod nvtx;
pub mod ops;
pub mod presence;
pub mod profile;
pub mod promote;
pub mod recurrent;
pub mod routine;
pub mod scalar;
pub mod storage;
pub mod tape;
pub mod vjp;

pub use array::Array;
pub use dtype::{DType, Kind};
pub use error::{Error, Result};
pub use layout::{Dims, Layout, LayoutRef};
pub use node::{In, Node, NodeKind, ReduceOp, ScatterOp, Src};
pub use ops::{Fun, OPS};
pub use routine::{GroupFunction, LinalgOp, QrMode, RoutineOp, RoutineRef, ScanOp, Vectors};
pub use scalar::Scalar;
pub use storage::{Buffer, Epoch, ExternalWork, Memory, Saved, SharedGuard, Storage, Version};
pub use tape::Tape;
