//! A simulated GPU for tests: NVIDIA's driver, compiler and libraries by their C interfaces, on a machine without a GPU.
//!
//! Cuprous opens these libraries at run time, so a folder in which their names lead to this library is all that it
//! needs: it generates, compiles, launches, captures and replays as on a GPU. Device memory is memory of the process.
//! Kernels are compiled by the system's C++ compiler behind `device.h` and run by `executor`, thread by thread. Streams
//! run late and in an order that a seed decides, so that work which lacks a dependency reads or writes at a wrong time.
//!
//! `CUPROUS_SIM=key=value,…` chooses (settings.rs): `wave=64`, `order=backward`, `seed=7`, `memory=…`, `sms=…`,
//! `devices=…`, `peers=…`, `flag=…`, `cache=…`, `keep`, `drop=…`, `log=…`.
#![allow(
    clippy::missing_safety_doc,
    missing_docs,
    unreachable_pub,
    reason = "the functions are NVIDIA's, whose documentation says what they require"
)]

mod compiler;
mod driver;
mod executor;
mod images;
mod libraries;
mod nvrtc;
mod settings;
mod tsan;
