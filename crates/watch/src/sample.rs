//! One look at the machine. What a device does not tell is `None`, never zero.

use serde::Serialize;

/// All that is seen at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since 1970.
    pub time: f64,
    /// The machine around the GPUs.
    pub host: Host,
    /// NVIDIA's driver, such as `580.95.05`.
    pub driver: Option<String>,
    /// The GPUs, in the order of the PCI bus.
    pub gpus: Vec<Gpu>,
    /// Why there are none, in a sentence.
    pub no_gpu: Option<String>,
    /// Processes on GPUs, and those that use Cuprous.
    pub processes: Vec<Process>,
}

/// CPU and memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The CPU's.
    pub cpu: String,
    /// Logical cores.
    pub cores: usize,
    /// Percent of all cores since the last sample.
    pub utilization: Option<f64>,
    /// Bytes in use.
    pub memory_used: u64,
    /// Bytes there are.
    pub memory_total: u64,
    /// Runnable tasks on average over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
}

/// One GPU. Bytes, percent, watts, degrees Celsius, MHz, bytes a second.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Gpu {
    pub index: u32,
    pub name: String,
    pub uuid: String,
    /// Part of the time in which a kernel ran.
    pub utilization: Option<u32>,
    /// Part of the time in which its memory was read or written.
    pub memory_busy: Option<u32>,
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    pub temperature: Option<u32>,
    /// From there on it slows down.
    pub temperature_limit: Option<u32>,
    pub power: Option<f64>,
    pub power_limit: Option<f64>,
    pub fan: Option<u32>,
    pub clock: Option<u32>,
    pub clock_limit: Option<u32>,
    pub memory_clock: Option<u32>,
    pub memory_clock_limit: Option<u32>,
    /// Why its clock is not at the limit.
    pub throttled_by: Vec<&'static str>,
    pub pcie: Pcie,
    pub nvlink: Vec<Link>,
    /// Bytes a second over all links, out and in.
    pub nvlink_rates: Option<[f64; 2]>,
    /// Joules since the driver was loaded.
    pub energy: Option<f64>,
}

/// The slot.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Pcie {
    pub generation: Option<u32>,
    pub generation_limit: Option<u32>,
    pub width: Option<u32>,
    pub width_limit: Option<u32>,
    /// Bytes a second from the GPU.
    pub sent: Option<f64>,
    /// Bytes a second to the GPU.
    pub received: Option<f64>,
}

/// One NVLink.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Link {
    pub active: bool,
    pub version: Option<u32>,
}

/// A process on a GPU or with Cuprous in it; on two GPUs it is there twice.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Its number; that inside its container where only it itself tells of it.
    pub pid: u32,
    /// Which GPU; none for the CPU.
    pub gpu: Option<u32>,
    /// Its command line.
    pub name: String,
    /// Bytes on the GPU, as the driver counts.
    pub memory: Option<u64>,
    /// Percent of the GPU.
    pub utilization: Option<u32>,
    /// Percent of one CPU core.
    pub cpu: Option<f64>,
    /// Bytes of the host's memory.
    pub host_memory: Option<u64>,
    /// What it says of itself, if it uses Cuprous.
    pub own: Option<Own>,
}

/// Memory as Cuprous counts it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Own {
    /// In arrays.
    pub allocated: u64,
    /// Taken of the device.
    pub reserved: u64,
    /// The most that was allocated.
    pub peak: u64,
}
