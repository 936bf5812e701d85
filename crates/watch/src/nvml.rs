//! Reads each GPU's state from NVIDIA's management library (NVML).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::time::Instant;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor, TemperatureThreshold};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Device, Nvml};

use crate::sample::{Gpu, Link, Pcie};

/// The reasons for a reduced clock, as text. Idleness is not listed.
const REASONS: [(ThrottleReasons, &str); 8] = [
    (ThrottleReasons::SW_POWER_CAP, "power limit"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "too hot (hardware)"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "too hot (driver)"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
    (ThrottleReasons::SYNC_BOOST, "another GPU of its group"),
    (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "clock set by a user"),
    (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display"),
];

/// Fields with the data over all links since the driver was loaded, in KiB: sent, received
/// (`NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_*`).
const LINK_COUNTERS: [FieldId; 2] = [FieldId(138), FieldId(139)];
/// The number of links to query, more than any GPU has.
const MAX_LINKS: u32 = 24;

/// A process on a GPU, as NVML lists it.
pub(crate) struct GpuProcess {
    pub(crate) gpu: u32,
    pub(crate) pid: u32,
    pub(crate) memory: Option<u64>,
    pub(crate) utilization: Option<u32>,
    pub(crate) name: Option<String>,
}

/// The loaded library.
pub(crate) struct Reader {
    nvml: Nvml,
    driver: Option<String>,
    /// Link counters by GPU, and when they were read.
    links: HashMap<u32, ([u64; 2], Instant)>,
}

impl Reader {
    /// Opens NVML.
    ///
    /// # Errors
    /// Why NVML cannot be used, as a sentence.
    pub(crate) fn open() -> Result<Reader, String> {
        // The crate's default, `libnvidia-ml.so`, exists only where development packages are installed.
        let nvml = Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init().map_err(|error| match error {
            NvmlError::LibloadingError(_) => {
                "NVIDIA's management library (libnvidia-ml.so.1) is not installed".to_owned()
            }
            other => format!("NVIDIA's management library says: {other}"),
        })?;
        let driver = nvml.sys_driver_version().ok();
        Ok(Reader { nvml, driver, links: HashMap::new() })
    }

    pub(crate) fn driver(&self) -> Option<String> {
        self.driver.clone()
    }

    /// Reads all GPUs and the processes on them. Measuring PCI Express traffic takes 40 ms for each GPU, so all are
    /// read in parallel.
    ///
    /// # Errors
    /// Why NVML fails now, as a sentence.
    pub(crate) fn read(&mut self) -> Result<(Vec<Gpu>, Vec<GpuProcess>), String> {
        let count = self.nvml.device_count().map_err(|e| format!("NVIDIA's management library says: {e}"))?;
        let nvml = &self.nvml;
        let mut readings: Vec<_> = std::thread::scope(|scope| {
            let read = |index| move || nvml.device_by_index(index).ok().map(|device| read_device(&device, index));
            let threads: Vec<_> = (1..count).map(|index| scope.spawn(read(index))).collect();
            let first = (count > 0).then(read(0));
            let others = threads.into_iter().map(|thread| thread.join().ok().flatten());
            std::iter::once(first.flatten()).chain(others).flatten().collect()
        });
        for (gpu, counters, _) in &mut readings {
            let Some(now) = counters.take() else { continue };
            let at = Instant::now();
            let Some((then, before)) = self.links.insert(gpu.index, (now, at)) else { continue };
            let passed = (at - before).as_secs_f64().max(1e-3);
            gpu.nvlink_rates = Some([0, 1].map(|way| now[way].saturating_sub(then[way]) as f64 * 1024.0 / passed));
        }
        let (mut gpus, mut processes) = (Vec::new(), Vec::new());
        for (gpu, _, mut running) in readings {
            for process in &mut running {
                process.name = self.nvml.sys_process_name(process.pid, 256).ok();
            }
            gpus.push(gpu);
            processes.extend(running);
        }
        Ok((gpus, processes))
    }
}

/// Returns the value unless it is `NVML_VALUE_NOT_AVAILABLE`.
fn known(value: u64) -> Option<u64> {
    (value != u64::MAX && value != u64::from(u32::MAX)).then_some(value)
}

fn read_device(device: &Device<'_>, index: u32) -> (Gpu, Option<[u64; 2]>, Vec<GpuProcess>) {
    let memory = device.memory_info().ok();
    let utilization = device.utilization_rates().ok();
    let watts = |milliwatts: Result<u32, NvmlError>| milliwatts.ok().map(|mw| f64::from(mw) / 1000.0);
    let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
    let rate = |counter| device.pcie_throughput(counter).ok().map(|kib| f64::from(kib) * 1024.0);
    let gpu = Gpu {
        index,
        name: device.name().unwrap_or_default(),
        uuid: device.uuid().unwrap_or_default(),
        utilization: utilization.as_ref().map(|u| u.gpu),
        memory_busy: utilization.map(|u| u.memory),
        memory_used: memory.as_ref().map(|m| m.used),
        memory_total: memory.map(|m| m.total),
        temperature: device.temperature(TemperatureSensor::Gpu).ok(),
        temperature_limit: device.temperature_threshold(TemperatureThreshold::Slowdown).ok(),
        power: watts(device.power_usage()),
        power_limit: watts(device.enforced_power_limit()),
        fan: device.fan_speed(0).ok(),
        clock: device.clock_info(Clock::SM).ok(),
        clock_limit: device.max_clock_info(Clock::SM).ok(),
        memory_clock: device.clock_info(Clock::Memory).ok(),
        memory_clock_limit: device.max_clock_info(Clock::Memory).ok(),
        throttled_by: REASONS.iter().filter(|(bit, _)| reasons.contains(*bit)).map(|(_, text)| *text).collect(),
        pcie: Pcie {
            generation: device.current_pcie_link_gen().ok(),
            generation_limit: device.max_pcie_link_gen().ok(),
            width: device.current_pcie_link_width().ok(),
            width_limit: device.max_pcie_link_width().ok(),
            sent: rate(PcieUtilCounter::Send),
            received: rate(PcieUtilCounter::Receive),
        },
        nvlink: (0..MAX_LINKS)
            .map_while(|link| {
                let link = device.link_wrapper_for(link);
                let active = link.is_active().ok()?;
                Some(Link { active, version: link.version().ok() })
            })
            .collect(),
        nvlink_rates: None,
        energy: device.total_energy_consumption().ok().map(|mj| mj as f64 / 1000.0),
    };
    let counters = if gpu.nvlink.is_empty() { None } else { link_counters(device) };
    (gpu, counters, running(device, index))
}

fn link_counters(device: &Device<'_>) -> Option<[u64; 2]> {
    let mut values =
        device.field_values_for(&LINK_COUNTERS).ok()?.into_iter().map(|field| match field.ok()?.value.ok()? {
            SampleValue::U64(kib) => Some(kib),
            SampleValue::U32(kib) => Some(kib.into()),
            _ => None,
        });
    Some([values.next()??, values.next()??])
}

fn running(device: &Device<'_>, gpu: u32) -> Vec<GpuProcess> {
    let busy: HashMap<u32, u32> = device
        .process_utilization_stats(None)
        .unwrap_or_default()
        .into_iter()
        .map(|sample| (sample.pid, sample.sm_util))
        .collect();
    let mut all = device.running_compute_processes().unwrap_or_default();
    all.extend(device.running_graphics_processes().unwrap_or_default());
    let mut found: Vec<GpuProcess> = Vec::new();
    for process in all {
        if found.iter().any(|other| other.pid == process.pid) {
            continue;
        }
        let memory = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => known(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        // On idle GPUs, NVML was seen to return percentages above 100.
        let utilization = busy.get(&process.pid).copied().filter(|&percent| percent <= 100);
        found.push(GpuProcess { gpu, pid: process.pid, memory, utilization, name: None });
    }
    found
}
