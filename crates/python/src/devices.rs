//! The engines of this process, by device name and by number.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use cuprous_advisor::profile;
use cuprous_advisor::rates::{Copies, Rates};
use cuprous_core::{Array, Error, Result};
use cuprous_cuda::codegen::Vendor;
use cuprous_cuda::driver;
use cuprous_plan::auto::AutoDevice;
use cuprous_plan::{Device, Engine};

/// Engine 0 is the CPU's and engine 1 + k is that of GPU k. The last one is "auto", the one before it is for tests. An
/// engine is started when it is first requested.
static ENGINES: [OnceLock<Arc<Engine>>; 18] = [const { OnceLock::new() }; 18];
const STAND_IN: u8 = 16;
const AUTO: u8 = 17;
static STARTING: Mutex<()> = Mutex::new(());

const UNSET: u8 = u8::MAX;
static DEFAULT: AtomicU8 = AtomicU8::new(UNSET);

thread_local! {
    /// The engine of this thread's new arrays, if it differs from that of the process.
    static CURRENT: Cell<u8> = const { Cell::new(UNSET) };
}

/// Returns the engine of an array.
#[inline]
pub(crate) fn of(array: &Array) -> &'static Arc<Engine> {
    by_number(array.storage.device)
}

/// Returns the engine of that number, which must have been started.
#[inline]
pub(crate) fn by_number(number: u8) -> &'static Arc<Engine> {
    ENGINES[number as usize].get().expect("an array's engine has been started")
}

/// Returns the number of a device name: `cpu`, `cuda`, `cuda:k`, `gpu`, `hip`, `hip:k`, `auto`. Without a usable GPU,
/// "auto" is the CPU. "cuda" is a GPU of any maker, as in PyTorch; "hip" is one of AMD.
fn number(name: &str) -> Result<u8> {
    if name == "cpu" {
        return Ok(0);
    }
    if name == "auto" {
        return Ok(if ENGINES[AUTO as usize].get().is_some() || no_gpu_reason().is_none() { AUTO } else { 0 });
    }
    let index = match name.split_once(':') {
        None if ["cuda", "gpu", "hip"].contains(&name) => Some(0),
        Some(("cuda" | "gpu" | "hip", k)) => k.parse::<u8>().ok().filter(|&k| k < 16),
        _ => None,
    };
    let number = index.map(|k| k + 1).ok_or_else(|| {
        Error::value(format!("unknown device {name:?}: use \"cpu\", \"cuda\", \"cuda:0\" or \"auto\""))
    })?;
    if name.starts_with("hip") {
        driver::request(Vendor::Amd).map_err(|e| Error::runtime(e.to_string()))?;
    }
    Ok(number)
}

/// Returns the number of a GPU's engine, or `None` for others.
pub(crate) fn gpu(engine: &Engine) -> Option<usize> {
    (1..=16).contains(&engine.id).then(|| engine.id as usize - 1).filter(|_| !engine.device.is_host())
}

/// Returns the engine of a device name and starts it if necessary.
pub(crate) fn by_name(name: &str) -> Result<&'static Arc<Engine>> {
    start(number(name)?)
}

fn start(number: u8) -> Result<&'static Arc<Engine>> {
    let slot = &ENGINES[number as usize];
    if let Some(engine) = slot.get() {
        return Ok(engine);
    }
    if number == AUTO {
        let [host, gpu] = [start(0)?, start(1)?];
        let found = crate::machine::read_measured();
        if let Some(board) = crate::machine::gpu(&found) {
            let rates = [crate::machine::host(&found), board];
            return Ok(slot.get_or_init(|| auto_engine(&host.device, &gpu.device, name(gpu), rates)));
        }
    }
    let _one_at_a_time = STARTING.lock().unwrap_or_else(|e| e.into_inner());
    if slot.get().is_none() {
        let engine = match number {
            0 => Engine::new(0, crate::checked::cpu()),
            AUTO => unreachable!("started apart, because it starts others"),
            k => Engine::new(k, Arc::new(cuprous_cuda::CudaDevice::new(u32::from(k) - 1)?)),
        };
        if engine.device.graph_threshold().is_some() {
            let measured = crate::machine::read_measured().machine.and_then(|machine| machine.gpu);
            if let Some(rates) = measured.filter(|rates| rates.graph > 0) {
                engine.device.set_graph_threshold(rates.graph);
            }
        }
        if cuprous_core::profile::on() {
            engine.begin_profile()?;
        }
        let _ = slot.set(engine);
    }
    Ok(slot.get().expect("just set"))
}

/// Returns the engine of new arrays: the one that the thread or the process has set, else the first usable GPU's, else the
/// CPU's.
pub(crate) fn default_engine() -> Result<&'static Arc<Engine>> {
    let number = match CURRENT.get() {
        UNSET => DEFAULT.load(Relaxed),
        number => number,
    };
    if number != UNSET {
        return start(number);
    }
    let number = u8::from(cuprous_cuda::device_count() > 0);
    match start(number) {
        Ok(engine) => {
            DEFAULT.store(number, Relaxed);
            Ok(engine)
        }
        Err(error) => {
            // The GPU is visible but does not work. The cause is reported once, and the process continues without the
            // GPU.
            DEFAULT.store(0, Relaxed);
            *UNUSABLE_GPU.lock().unwrap_or_else(|e| e.into_inner()) = Some(error.message);
            start(0)
        }
    }
}

/// Why the visible GPU is not used. Taken when the warning is given.
static UNUSABLE_GPU: Mutex<Option<String>> = Mutex::new(None);

/// Takes the pending warning, if any.
pub(crate) fn take_warning() -> Option<String> {
    UNUSABLE_GPU.lock().unwrap_or_else(|e| e.into_inner()).take()
}

/// Starts a second CPU engine that stands in for a GPU and returns its name, so that code for several devices can be
/// tested on machines without a GPU.
pub(crate) fn stand_in() -> String {
    name(ENGINES[STAND_IN as usize].get_or_init(|| Engine::new(STAND_IN, crate::checked::cpu())))
}

/// Returns why no GPU can be used, or `None` if one can. "auto" is the CPU in that case, and `explain()` shows the
/// reason.
pub(crate) fn no_gpu_reason() -> Option<String> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let find_reason = || {
        if cuprous_cuda::device_count() == 0 {
            return Some("no GPU was found".into());
        }
        start(1).err().map(|e| e.message)
    };
    REASON.get_or_init(find_reason).clone()
}

static AUTO_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Returns the line that `explain()` adds where "auto" was requested and is the CPU.
pub(crate) fn auto_note() -> String {
    if !AUTO_REQUESTED.load(Relaxed) || ENGINES[AUTO as usize].get().is_some() {
        return String::new();
    }
    no_gpu_reason().map_or(String::new(), |why| format!("auto: everything runs on the CPU: {why}\n"))
}

fn auto_engine(host: &Arc<dyn Device>, gpu: &Arc<dyn Device>, gpu_name: String, rates: [Rates; 2]) -> Arc<Engine> {
    Engine::new(AUTO, Arc::new(AutoDevice::new(host.clone(), gpu.clone(), ["cpu".into(), gpu_name], rates)))
}

/// Makes "auto" a device of the CPU and a second CPU that stands in for a GPU. It counts as `faster` times as fast,
/// with `copies` bytes per second and `launch` seconds per launch. For tests; once per process.
pub(crate) fn stand_in_auto(faster: f64, copies: f64, launch: f64) -> Result<()> {
    let host = start(0)?;
    // Two cores of a listed CPU, whatever this machine is, so that the tests do not depend on it.
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
    ENGINES[AUTO as usize].get_or_init(|| auto_engine(&host.device, &second, "stand-in".into(), [cpu, gpu]));
    Ok(())
}

/// Sets the device of new arrays, of this thread and of those that have set none.
pub(crate) fn set_default(name: &str) -> Result<()> {
    let number = usable_number(name)?;
    DEFAULT.store(number, Relaxed);
    if CURRENT.get() != UNSET {
        CURRENT.set(number);
    }
    Ok(())
}

/// Returns the number of a device name, after its engine was started.
pub(crate) fn usable_number(name: &str) -> Result<u8> {
    if name == "auto" {
        AUTO_REQUESTED.store(true, Relaxed);
    }
    let number = number(name)?;
    start(number)?;
    Ok(number)
}

/// Makes an engine that has been started the one of this thread's new arrays. Returns what [`leave`] restores.
pub(crate) fn enter(number: u8) -> u8 {
    CURRENT.replace(number)
}

/// Does the same, but returns `None` if it is that engine already.
pub(crate) fn enter_other(number: u8) -> Option<u8> {
    let current = CURRENT.get();
    let unchanged = number == if current == UNSET { DEFAULT.load(Relaxed) } else { current };
    (!unchanged).then(|| enter(number))
}

/// Ends what [`enter`] has begun.
pub(crate) fn leave(before: u8) {
    CURRENT.set(before);
}

/// Returns true for the name of a GPU: `cuda`, `cuda:k`, `gpu`, `hip`, `hip:k`.
pub(crate) fn is_gpu_name(name: &str) -> bool {
    matches!(name.split(':').next(), Some("cuda" | "gpu" | "hip"))
}

/// Returns the device name of an engine: `cpu`, `cuda:0`, `hip:0` on a GPU of AMD, `auto`.
pub(crate) fn name(engine: &Engine) -> String {
    match engine.id {
        0 => "cpu".into(),
        AUTO => "auto".into(),
        k if driver::vendor() == Vendor::Amd => format!("hip:{}", k - 1),
        k => format!("cuda:{}", k - 1),
    }
}

/// Returns every engine that has been started.
pub(crate) fn all_started() -> impl Iterator<Item = &'static Arc<Engine>> {
    ENGINES.iter().filter_map(OnceLock::get)
}
