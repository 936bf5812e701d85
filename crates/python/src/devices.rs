//! The engines of this process, by device name and by number.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use cuprous_advisor::profile;
use cuprous_advisor::rates::{Copies, Rates};
use cuprous_core::{Array, Error, Result};
use cuprous_plan::auto::AutoDevice;
use cuprous_plan::{Device, Engine};

/// Engine 0 is the CPU's, engine 1 + k that of GPU k; the last one is of both, the one before it for tests. One is started
/// when it is first asked for.
static ENGINES: [OnceLock<Arc<Engine>>; 18] = [const { OnceLock::new() }; 18];
const STAND_IN: u8 = 16;
const AUTO: u8 = 17;
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

/// The number of a device name: `cpu`, `cuda`, `cuda:k`, `gpu`, `auto`. Without a usable GPU "auto" is the CPU.
fn number(name: &str) -> Result<u8> {
    if name == "cpu" {
        return Ok(0);
    }
    if name == "auto" {
        return Ok(if ENGINES[AUTO as usize].get().is_some() || why_no_gpu().is_none() { AUTO } else { 0 });
    }
    let index = match name.split_once(':') {
        None if name == "cuda" || name == "gpu" => Some(0),
        Some(("cuda" | "gpu", k)) => k.parse::<u8>().ok().filter(|&k| k < 16),
        _ => None,
    };
    index.map(|k| k + 1).ok_or_else(|| {
        Error::value(format!("unknown device {name:?}: it is \"cpu\", \"cuda\", \"cuda:0\" or \"auto\""))
    })
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
    if number == AUTO {
        let [host, gpu] = [started(0)?, started(1)?];
        let found = crate::machine::found();
        if let Some(board) = crate::machine::gpu(&found) {
            let rates = [crate::machine::host(&found), board];
            return Ok(place.get_or_init(|| both(&host.device, &gpu.device, name(gpu), rates)));
        }
    }
    let _one_at_a_time = STARTING.lock().unwrap_or_else(|e| e.into_inner());
    if place.get().is_none() {
        let engine = match number {
            0 => Engine::new(0, crate::checked::cpu()),
            AUTO => unreachable!("started apart, because it starts others"),
            k => Engine::new(k, Arc::new(cuprous_cuda::CudaDevice::new(u32::from(k) - 1)?)),
        };
        if cuprous_core::profile::on() {
            engine.begin_profile()?;
        }
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
    name(ENGINES[STAND_IN as usize].get_or_init(|| Engine::new(STAND_IN, crate::checked::cpu())))
}

/// Why no GPU can be used; none where one can. What "auto" then means, and what `explain()` says of it.
pub(crate) fn why_no_gpu() -> Option<String> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        if cuprous_cuda::device_count() == 0 {
            return Some("there is no GPU here".into());
        }
        started(1).err().map(|e| e.message)
    };
    WHY.get_or_init(ask).clone()
}

static SAID_AUTO: AtomicBool = AtomicBool::new(false);

/// What `explain()` adds where "auto" was asked for and is the CPU.
pub(crate) fn about_auto() -> String {
    if !SAID_AUTO.load(Relaxed) || ENGINES[AUTO as usize].get().is_some() {
        return String::new();
    }
    why_no_gpu().map_or(String::new(), |why| format!("auto: everything runs on the CPU: {why}\n"))
}

fn both(host: &Arc<dyn Device>, gpu: &Arc<dyn Device>, gpu_name: String, rates: [Rates; 2]) -> Arc<Engine> {
    Engine::new(AUTO, Arc::new(AutoDevice::new(host.clone(), gpu.clone(), ["cpu".into(), gpu_name], rates)))
}

/// Makes "auto" one of the CPU and of a second CPU that goes for a GPU: `faster` times as fast in all, with copies of so
/// many bytes a second and so many seconds a launch. For tests; once a process.
pub(crate) fn stand_in_auto(faster: f64, copies: f64, launch: f64) -> Result<()> {
    let host = started(0)?;
    // Two cores of the list, whatever this machine is: what is tested does not depend on it.
    let listed = profile::cpus();
    let like = listed.iter().find(|cpu| cpu.name.contains("7763")).unwrap_or(&listed[0]);
    let cpu = Rates::of_cores("cpu", like, 2.0);
    let mut gpu = cpu.clone();
    gpu.work.values_mut().flatten().for_each(|rate| *rate *= faster);
    gpu.memory_levels.iter_mut().for_each(|room| room.bandwidth *= faster);
    (gpu.launch, gpu.program, gpu.threads) = (launch, launch, 1.0);
    let [up, down, up_pinned, down_pinned] = [copies; 4];
    gpu.copies = Some(Copies { up, down, up_pinned, down_pinned, latency: launch });
    let second = crate::checked::cpu();
    ENGINES[AUTO as usize].get_or_init(|| both(&host.device, &second, "stand-in".into(), [cpu, gpu]));
    Ok(())
}

/// Sets the device of new arrays.
pub(crate) fn set_default(name: &str) -> Result<()> {
    if name == "auto" {
        SAID_AUTO.store(true, Relaxed);
    }
    let number = number(name)?;
    started(number)?;
    DEFAULT.store(number, Relaxed);
    Ok(())
}

/// The name of an engine: `cpu`, `cuda:0`.
pub(crate) fn name(engine: &Engine) -> String {
    match engine.id {
        0 => "cpu".into(),
        AUTO => "auto".into(),
        k => format!("cuda:{}", k - 1),
    }
}

/// Every engine that has been started.
pub(crate) fn all_started() -> impl Iterator<Item = &'static Arc<Engine>> {
    ENGINES.iter().filter_map(OnceLock::get)
}
