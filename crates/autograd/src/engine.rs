//! The engine that runs a tensor's operations.

use std::sync::{Arc, OnceLock};

use cuprous_core::Array;
use cuprous_plan::Engine;

/// Returns the engine of a device number. Set once by the crate that starts the engines.
pub static ENGINES: OnceLock<fn(u8) -> &'static Arc<Engine>> = OnceLock::new();

/// Returns the engine of device `id`.
pub fn engine(id: u8) -> &'static Arc<Engine> {
    ENGINES.get().expect("engines are registered before tensors exist")(id)
}

/// Returns the engine of the device on which `a` is stored.
#[inline]
pub fn engine_of(a: &Array) -> &'static Arc<Engine> {
    engine(a.storage.device)
}
