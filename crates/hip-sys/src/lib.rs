//! AMD's libraries under the interfaces of NVIDIA's: the tables of functions of `cuprous-cuda-sys`, filled from HIP, and
//! the loader that finds these libraries at run time.

mod hiprtc;
mod loader;

pub use hiprtc::hiprtc;
pub use loader::{hiprtc_files, set_roots};
