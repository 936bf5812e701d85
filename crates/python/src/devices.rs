//! The engines of this process, by device name and by number.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use cuprous_core::{Array, Error, Result};
use cuprous_plan::Engine;

/// Engine 0 is the CPU's, engine 1 + k that of GPU k. One is started when it is first asked for.
static ENGINES: [OnceLock<Arc<Engine>>; 17] = [const { OnceLock::new() }; 17];
static STARTING: Mutex<()> = Mutex::new(());

const UNSET: u8 = u8::MAX;
static DEFAULT: AtomicU8 = AtomicU8::new(UNSET);

/// The engine with that number; it has been started.
#[inline]
pub(crate) fn of(array: &Array) -> &'static Arc<Engine> {
    numbered(array.storage.device)
}

/// The engine of that number; it has been started.
#[inline]
pub(crate) fn numbered(number: u8) -> &'static Arc<Engine> {
    ENGINES[number as usize].get().expect("an array's engine has been started")
}

/// The number of a device name: `cpu`, `cuda`, `cuda:k`, `gpu`.
fn number(name: &str) -> Result<u8> {
    if name == "cpu" {
        return Ok(0);
    }
    let index = match name.split_once(':') {
        None if name == "cuda" || name == "gpu" => Some(0),
        Some(("cuda" | "gpu", k)) => k.parse::<u8>().ok().filter(|&k| k < 16),
        _ => None,
    };
    index
        .map(|k| k + 1)
        .ok_or_else(|| Error::value(format!("unknown device {name:?}: it is \"cpu\", \"cuda\" or \"cuda:0\"")))
}

/// The engine of a device name, started if need be.
pub(crate) fn named(name: &str) -> Result<&'static Arc<Engine>> {
    started(number(name)?)
}

fn started(number: u8) -> Result<&'static Arc<Engine>> {
    let place = &ENGINES[number as usize];
    if let Some(engine) = place.get() {
        return Ok(engine);
    }
    let _one_at_a_time = STARTING.lock().unwrap_or_else(|e| e.into_inner());
    if place.get().is_none() {
        let engine = match number {
            0 => Engine::new(0, crate::checked::cpu()),
            k => Engine::new(k, Arc::new(cuprous_cuda::CudaDevice::new(u32::from(k) - 1)?)),
        };
        let _ = place.set(engine);
    }
    Ok(place.get().expect("just set"))
}

/// The engine of new arrays: as set, else the first usable GPU's, else the CPU's.
pub(crate) fn default_engine() -> Result<&'static Arc<Engine>> {
    let number = DEFAULT.load(Relaxed);
    if number != UNSET {
        return started(number);
    }
    let number = u8::from(cuprous_cuda::device_count() > 0);
    match started(number) {
        Ok(engine) => {
            DEFAULT.store(number, Relaxed);
            Ok(engine)
        }
        Err(error) => {
            // A GPU is there but does not work: say so once, with the cure, and go on without it.
            DEFAULT.store(0, Relaxed);
            *UNUSABLE.lock().unwrap_or_else(|e| e.into_inner()) = Some(error.message);
            started(0)
        }
    }
}

/// Why the visible GPU was passed over, until somebody has said so.
static UNUSABLE: Mutex<Option<String>> = Mutex::new(None);

/// Takes the warning that is still to be given, if any.
pub(crate) fn take_warning() -> Option<String> {
    UNUSABLE.lock().unwrap_or_else(|e| e.into_inner()).take()
}

/// Starts the last engine's place with a CPU that goes for a GPU, and gives its name: what mixes devices can be tested
/// on machines without a GPU.
pub(crate) fn stand_in() -> String {
    let number = ENGINES.len() - 1;
    name(ENGINES[number].get_or_init(|| Engine::new(number as u8, crate::checked::cpu())))
}

/// Sets the device of new arrays.
pub(crate) fn set_default(name: &str) -> Result<()> {
    let number = number(name)?;
    started(number)?;
    DEFAULT.store(number, Relaxed);
    Ok(())
}

/// The name of an engine: `cpu`, `cuda:0`.
pub(crate) fn name(engine: &Engine) -> String {
    match engine.id {
        0 => "cpu".into(),
        k => format!("cuda:{}", k - 1),
    }
}

/// Every engine that has been started.
pub(crate) fn all_started() -> impl Iterator<Item = &'static Arc<Engine>> {
    ENGINES.iter().filter_map(OnceLock::get)
}
