//! From recording to running: engines, program recognition, fusion, schedule, memory, and the traits that a device
//! implements.
//!
//! Architecture invariant: nothing here knows a device's code or Python.

pub mod aside;
pub mod auto;
mod cache;
pub mod calibrate;
pub mod cost;
pub mod device;
mod emit;
pub mod engine;
mod epilogue;
mod explain;
mod fuse;
pub mod kernel;
pub mod kernels;
pub mod locking;
mod memory;
mod operations;
mod pack;
mod profiled;
pub mod program;
pub mod record;
mod routines;
pub mod script;
pub mod spec;
mod suspended;

pub use device::{Device, Executable, Listing};
pub use engine::{Engine, Replay, Stats};
pub use kernel::{Access, Addend, Epilogue, Factor, Inst, Kernel, Level, RoutineCall, Typed, Val};
pub use kernels::{KernelRef, Launch, RawKernel, RawModule, UserKernel, UserLaunch};
pub use program::{BufferInfo, Launched, Place, Program, Step};
pub use record::Operand;
pub use script::Script;
