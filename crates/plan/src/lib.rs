//! From a tape to a program: fusion, schedule, memory, and the traits that a device implements.

pub mod device;
pub mod kernel;
pub mod program;

pub use device::{Device, Executable};
pub use kernel::{Access, Call, Inst, Kernel, Level, Typed, Val};
pub use program::{BufferInfo, Place, Program, Step};
