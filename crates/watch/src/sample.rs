//! Samples of the machine. A figure that a device does not report is `None`, not zero.

use serde::Serialize;

/// The state of the machine at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since 1970.
    pub time: f64,
    /// CPU and memory.
    pub host: Host,
    /// The version of the GPUs' driver, such as NVIDIA's `580.95.05`.
    pub driver: Option<String>,
    /// The GPUs, in the order of the PCI bus.
    pub gpus: Vec<Gpu>,
    /// Why there are no GPUs, as a sentence.
    pub no_gpu: Option<String>,
    /// Processes on GPUs, and those that use Cuprous.
    pub processes: Vec<Process>,
}

/// CPU and memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The CPU's name.
    pub cpu: String,
    /// Logical cores.
    pub cores: usize,
    /// Percent of all cores since the last sample.
    pub utilization: Option<f64>,
    /// Bytes in use.
    pub memory_used: u64,
    /// Bytes of memory.
    pub memory_total: u64,
    /// Runnable tasks on average over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
}

/// One GPU. Units are bytes, percent, watts, degrees Celsius, MHz and bytes per second.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Gpu {
    pub index: u32,
    pub name: String,
    pub uuid: String,
    /// Share of the time in which a kernel ran.
    pub utilization: Option<u32>,
    /// Share of the time in which its memory was read or written.
    pub memory_busy: Option<u32>,
    pub memory_used: Option<u64>,
    pub memory_total: Option<u64>,
    pub temperature: Option<u32>,
    /// The temperature from which on the GPU slows down.
    pub temperature_limit: Option<u32>,
    pub power: Option<f64>,
    pub power_limit: Option<f64>,
    pub fan: Option<u32>,
    pub clock: Option<u32>,
    pub clock_limit: Option<u32>,
    pub memory_clock: Option<u32>,
    pub memory_clock_limit: Option<u32>,
    /// Why the clock is below its limit.
    pub throttled_by: Vec<&'static str>,
    pub pcie: Pcie,
    pub nvlink: Vec<Link>,
    /// Bytes per second over all links, sent and received.
    pub nvlink_rates: Option<[f64; 2]>,
    /// Joules since the driver was loaded.
    pub energy: Option<f64>,
}

/// The PCI Express slot.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Pcie {
    pub generation: Option<u32>,
    pub generation_limit: Option<u32>,
    pub width: Option<u32>,
    pub width_limit: Option<u32>,
    /// Bytes per second from the GPU.
    pub sent: Option<f64>,
    /// Bytes per second to the GPU.
    pub received: Option<f64>,
}

/// One NVLink.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Link {
    pub active: bool,
    pub version: Option<u32>,
}

/// A process that uses a GPU or Cuprous. A process on two GPUs is listed twice.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Process {
    /// Its id. If only the process itself reports it, this is the id in its container.
    pub pid: u32,
    /// The GPU, or `None` for the CPU.
    pub gpu: Option<u32>,
    /// Its command line.
    pub name: String,
    /// Its rank and the number of ranks, if Cuprous knows it as one of several processes of a job.
    pub rank: Option<[u32; 2]>,
    /// Bytes on the GPU, as counted by the driver.
    pub memory: Option<u64>,
    /// Percent of the GPU.
    pub utilization: Option<u32>,
    /// Percent of one CPU core.
    pub cpu: Option<f64>,
    /// Bytes of the host's memory.
    pub host_memory: Option<u64>,
    /// Memory as Cuprous counts it, if the process uses Cuprous.
    pub own: Option<Own>,
}

/// Memory as Cuprous counts it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Own {
    /// In arrays.
    pub allocated: u64,
    /// Allocated from the device.
    pub reserved: u64,
    /// The largest number of bytes in arrays so far.
    pub peak: u64,
}
