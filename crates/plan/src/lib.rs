//! The engine: records operations, turns tapes into programs, plans and runs them. It also defines the traits that a
//! device implements.
//!
//! The modules, each of which uses only those above it:
//! - [`program`]: what a tape becomes, as data: steps, buffers, the IR of fused kernels, and the rules that programs
//!   keep.
//! - [`device`]: the traits that a device implements.
//! - [`cost`]: what a program costs.
//! - `planning`: from a tape to a program: fusion, emission, packing, the arena.
//! - [`engine`]: records operations, recognizes and runs programs.
//! - [`auto`]: the device "auto", made of two.
//! - [`calibrate`]: measures a device.
//!
//! Architecture invariant: this crate contains no code of a particular device and none for Python.

pub mod auto;
pub mod calibrate;
pub mod cost;
pub mod device;
pub mod engine;
mod planning;
pub mod program;

pub use device::{Device, Executable, Listing};
pub use engine::{Engine, Formula, Operand, Replay, Stats, elementwise};
pub use program::{
    Access, Addend, Assignment, BufferInfo, Epilogue, Factor, Inst, Kernel, KernelRef, Launch, LaunchStep, Level,
    Program, RawKernel, RawModule, RoutineCall, Step, Typed, UserKernel, UserLaunch, Val,
};

/// Prepares for the end of the process: tapes of ending threads are no longer run, and nothing is compiled in the
/// background.
pub fn end() {
    engine::end();
    auto::background::end();
}
