//! Samples in the text format of Prometheus.

use std::fmt::Write;

use crate::sample::{Gpu, Process, Sample};

/// The content type of the format.
pub const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric of each GPU: name, type, help, value.
type GpuMetric = (&'static str, &'static str, &'static str, fn(&Gpu) -> Option<f64>);

const GPU: [GpuMetric; 18] = [
    ("gpu_utilization_ratio", "gauge", "Part of the time in which a kernel ran", |g| {
        g.utilization.map(|p| f64::from(p) / 100.0)
    }),
    ("gpu_memory_busy_ratio", "gauge", "Part of the time in which memory was read or written", |g| {
        g.memory_busy.map(|p| f64::from(p) / 100.0)
    }),
    ("gpu_memory_used_bytes", "gauge", "Device memory in use", |g| g.memory_used.map(|n| n as f64)),
    ("gpu_memory_total_bytes", "gauge", "Device memory", |g| g.memory_total.map(|n| n as f64)),
    ("gpu_temperature_celsius", "gauge", "Temperature of the chip", |g| g.temperature.map(f64::from)),
    ("gpu_power_watts", "gauge", "Power drawn", |g| g.power),
    ("gpu_power_limit_watts", "gauge", "Power limit in force", |g| g.power_limit),
    ("gpu_energy_joules_total", "counter", "Energy since the driver was loaded", |g| g.energy),
    ("gpu_fan_ratio", "gauge", "Speed of the fan", |g| g.fan.map(|p| f64::from(p) / 100.0)),
    ("gpu_clock_hertz", "gauge", "Clock of the multiprocessors", |g| g.clock.map(|mhz| f64::from(mhz) * 1e6)),
    ("gpu_clock_limit_hertz", "gauge", "Highest clock of the multiprocessors", |g| {
        g.clock_limit.map(|mhz| f64::from(mhz) * 1e6)
    }),
    ("gpu_memory_clock_hertz", "gauge", "Clock of the memory", |g| g.memory_clock.map(|mhz| f64::from(mhz) * 1e6)),
    ("gpu_pcie_generation", "gauge", "PCIe generation now", |g| g.pcie.generation.map(f64::from)),
    ("gpu_pcie_width", "gauge", "PCIe lanes now", |g| g.pcie.width.map(f64::from)),
    ("gpu_pcie_sent_bytes_per_second", "gauge", "From the GPU over PCIe", |g| g.pcie.sent),
    ("gpu_pcie_received_bytes_per_second", "gauge", "To the GPU over PCIe", |g| g.pcie.received),
    ("gpu_nvlink_active", "gauge", "NVLinks that are up", |g| {
        Some(g.nvlink.iter().filter(|link| link.active).count() as f64)
    }),
    ("gpu_throttled", "gauge", "1 where something holds the clock down", |g| {
        Some(f64::from(u8::from(!g.throttled_by.is_empty())))
    }),
];

/// A metric of each process: name, help, value.
type ProcessMetric = (&'static str, &'static str, fn(&Process) -> Option<f64>);

const PROCESS: [ProcessMetric; 5] = [
    ("process_gpu_memory_bytes", "Device memory of a process, as the driver counts", |p| p.memory.map(|n| n as f64)),
    ("process_gpu_utilization_ratio", "Part of the GPU that a process uses", |p| {
        p.utilization.map(|u| f64::from(u) / 100.0)
    }),
    ("process_allocated_bytes", "Memory in a process's arrays, as Cuprous counts", |p| {
        p.own.map(|own| own.allocated as f64)
    }),
    ("process_reserved_bytes", "Memory that a process took of the device, as Cuprous counts", |p| {
        p.own.map(|own| own.reserved as f64)
    }),
    ("process_allocated_peak_bytes", "The most that was allocated", |p| p.own.map(|own| own.peak as f64)),
];

/// Returns a label's value with the three characters escaped that the format requires.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns a sample as a page of metrics.
pub fn page(sample: &Sample) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: Vec<(String, f64)>| {
        if lines.is_empty() {
            return;
        }
        let _ = write!(out, "# HELP cuprous_{name} {help}\n# TYPE cuprous_{name} {kind}\n");
        for (labels, value) in lines {
            let _ = writeln!(out, "cuprous_{name}{labels} {value}");
        }
    };
    let host = &sample.host;
    family("gpus", "gauge", "GPUs in sight", vec![(String::new(), sample.gpus.len() as f64)]);
    family("host_cores", "gauge", "Logical cores", vec![(String::new(), host.cores as f64)]);
    let busy = host.utilization.map(|percent| (String::new(), percent / 100.0));
    family("host_cpu_utilization_ratio", "gauge", "Part of all cores that is busy", busy.into_iter().collect());
    family("host_memory_used_bytes", "gauge", "Memory in use", vec![(String::new(), host.memory_used as f64)]);
    family("host_memory_total_bytes", "gauge", "Memory", vec![(String::new(), host.memory_total as f64)]);
    for (name, kind, help, value) in GPU {
        let line = |gpu: &Gpu| {
            let labels =
                format!("{{gpu=\"{}\",uuid=\"{}\",name=\"{}\"}}", gpu.index, label(&gpu.uuid), label(&gpu.name));
            Some((labels, value(gpu)?))
        };
        family(name, kind, help, sample.gpus.iter().filter_map(line).collect());
    }
    for (name, help, value) in PROCESS {
        let line = |process: &Process| {
            let gpu = process.gpu.map_or_else(|| "cpu".to_owned(), |gpu| gpu.to_string());
            Some((format!("{{pid=\"{}\",gpu=\"{gpu}\"}}", process.pid), value(process)?))
        };
        let mut lines: Vec<(String, f64)> = sample.processes.iter().filter_map(line).collect();
        // Processes in two containers may have the same id, but a series may appear only once.
        let mut seen = std::collections::HashSet::new();
        lines.retain(|(labels, _)| seen.insert(labels.clone()));
        family(name, "gauge", help, lines);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_type_once() {
        let gpu = Gpu { name: "A \"GPU\"".into(), power: Some(71.5), ..Gpu::default() };
        let process = Process { pid: 7, gpu: Some(0), memory: Some(5), ..Process::default() };
        let sample = Sample {
            gpus: vec![gpu.clone(), Gpu { index: 1, ..gpu }],
            processes: vec![process.clone(), process],
            ..Sample::default()
        };
        let text = page(&sample);
        assert!(text.contains("cuprous_gpu_power_watts{gpu=\"1\",uuid=\"\",name=\"A \\\"GPU\\\"\"} 71.5\n"), "{text}");
        assert_eq!(text.matches("# TYPE cuprous_gpu_power_watts gauge").count(), 1);
        assert_eq!(text.matches("cuprous_process_gpu_memory_bytes{").count(), 1);
        assert!(!text.contains("gpu_fan"), "what is unknown is not zero");
    }
}
