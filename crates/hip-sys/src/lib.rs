//! AMD's libraries under the interfaces of NVIDIA's: the tables of functions of `cuprous-cuda-sys`, filled from HIP, and
//! the loader that finds these libraries at run time.

mod driver;
mod hiprtc;
mod loader;

#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    missing_docs,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    dead_code,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated from C headers"
)]
pub mod hip {
    //! HIP (`hip_runtime_api.h`).
    include!("generated/hip.rs");
}

pub use driver::{driver, driver_file, target};
pub use hiprtc::{hiprtc, hiprtc_files};
pub use loader::set_sites;

/// The oldest version of HIP whose interface is used, as (major, minor).
pub const OLDEST_VERSION: (u32, u32) = (5, 2);
