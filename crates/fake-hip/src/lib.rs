//! For tests only: HIP, hiprtc and AMD's libraries on CUDA's driver, NVRTC and NVIDIA's libraries, so that the code for GPUs of AMD runs on a GPU of NVIDIA or
//! on the simulated one.
//!
//! Shows that functions are called as HIP declares them, and in which order. Does not show what AMD's compiler makes of
//! the code: NVRTC compiles it, and leaves out the header for AMD.
#![allow(
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    missing_docs,
    unreachable_pub,
    non_snake_case,
    reason = "the functions are HIP's, whose documentation says what they require"
)]

mod compiler;
mod context;
mod device;
mod forward;
mod graph;
mod libraries;
