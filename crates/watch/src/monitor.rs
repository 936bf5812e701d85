//! Combines what the driver, the system and processes that use Cuprous report.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use cuprous_core::presence::{self, Device};

use crate::nvml::GpuProcess;
use crate::sample::{Own, Process, Sample};
use crate::{amdsmi, host, nvml};

/// The device node of AMD's driver.
const AMD_NODE: &str = "/dev/kfd";

/// Takes samples. Rates are those since the last sample.
pub struct Monitor {
    host: host::Reader,
    nvml: Result<nvml::Reader, String>,
    amd: Result<amdsmi::Reader, String>,
    /// Why CUDA does not work, if the caller knows.
    reason: Option<String>,
}

impl Monitor {
    /// Creates a monitor. `reason` says why CUDA does not work, if it is known.
    pub fn new(reason: Option<String>) -> Monitor {
        let mut host = host::Reader::default();
        host.host();
        Monitor { host, nvml: nvml::Reader::open(), amd: amdsmi::Reader::open(), reason }
    }

    /// Takes a sample.
    pub fn sample(&mut self) -> Sample {
        let mut sample = Sample {
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64()),
            host: self.host.host(),
            ..Sample::default()
        };
        let mut running = Vec::new();
        let problem = match &mut self.nvml {
            Ok(reader) => {
                sample.driver = reader.driver();
                match reader.read() {
                    Ok((gpus, processes)) => {
                        (sample.gpus, running) = (gpus, processes);
                        None
                    }
                    Err(problem) => Some(problem),
                }
            }
            Err(problem) => Some(problem.clone()),
        };
        let problem = match &self.amd {
            Ok(reader) => {
                let (gpus, processes) = reader.read(sample.gpus.len() as u32);
                sample.driver = sample.driver.or_else(|| reader.driver());
                sample.gpus.extend(gpus);
                running.extend(processes);
                problem
            }
            // On a machine with a GPU of AMD, its library is the one that is missed.
            Err(missing) if Path::new(AMD_NODE).exists() => Some(missing.clone()),
            Err(_) => problem,
        };
        if sample.gpus.is_empty() {
            let reason = self.reason.clone().or(problem).unwrap_or_else(|| "the driver lists none".to_owned());
            sample.no_gpu = Some(format!("No GPU is shown: {reason}. `cuprous doctor` says what to do."));
        }
        sample.processes = self.processes(running, &sample);
        sample
    }

    fn processes(&mut self, running: Vec<nvml::GpuProcess>, sample: &Sample) -> Vec<Process> {
        // The bool is true if the row's id is valid in this namespace. The driver's ids are; those that processes
        // publish are only in the same container.
        let mut rows: Vec<(Process, bool)> = running
            .into_iter()
            .map(|process| {
                let GpuProcess { pid, gpu, memory, utilization, name } = process;
                let name = name.unwrap_or_default();
                (Process { pid, gpu: Some(gpu), memory, utilization, name, ..Process::default() }, true)
            })
            .collect();
        for process in presence::processes() {
            for &(device, [allocated, reserved, peak]) in &process.devices {
                let own = Some(Own { allocated, reserved, peak });
                let gpu = match device {
                    Device::Cpu => None,
                    Device::Cuda(ordinal, uuid) => {
                        let uuid = uuid_text(&uuid);
                        Some(sample.gpus.iter().find(|gpu| gpu.uuid == uuid).map_or(ordinal, |gpu| gpu.index))
                    }
                };
                let same = |(row, _): &&mut (Process, bool)| gpu.is_some() && (row.pid, row.gpu) == (process.pid, gpu);
                match rows.iter_mut().find(|row| process.here && same(row)) {
                    Some((row, _)) => (row.own, row.rank) = (own, process.rank),
                    None => {
                        let name = process.name.clone();
                        let row =
                            Process { pid: process.pid, gpu, name, rank: process.rank, own, ..Process::default() };
                        rows.push((row, process.here));
                    }
                }
            }
        }
        let mut found: Vec<Process> = Vec::with_capacity(rows.len());
        for (mut row, known) in rows {
            if let Some(before) =
                found.iter().find(|other| known && other.pid == row.pid && other.host_memory.is_some())
            {
                (row.name, row.cpu, row.host_memory) = (before.name.clone(), before.cpu, before.host_memory);
            } else if let Some(about) = known.then(|| self.host.process(row.pid)).flatten() {
                (row.name, row.cpu, row.host_memory) = (about.name, about.cpu, about.memory);
            }
            if row.name.is_empty() {
                row.name = "outside of this container".into();
            }
            found.push(row);
        }
        let pids: Vec<u32> = found.iter().map(|row| row.pid).collect();
        self.host.keep(&pids);
        found
    }
}

/// Formats a UUID as NVML does, or as amdsmi does if it is one of HIP, which is a text of 16 digits.
fn uuid_text(uuid: &[u8; 16]) -> String {
    if uuid.iter().all(u8::is_ascii_hexdigit) {
        return format!("GPU-{}", String::from_utf8_lossy(uuid));
    }
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_those_of_the_makers_libraries() {
        assert_eq!(uuid_text(&[1; 16]), "GPU-01010101-0101-0101-0101-010101010101");
        assert_eq!(uuid_text(b"9a2c5ad0c1b4ef10"), "GPU-9a2c5ad0c1b4ef10");
    }

    #[test]
    fn a_machine_without_a_gpu_is_sampled() {
        let mut monitor = Monitor::new(Some("it was taken out".into()));
        let sample = monitor.sample();
        assert!(sample.host.memory_total > sample.host.memory_used && sample.host.cores > 0, "{:?}", sample.host);
        if sample.gpus.is_empty() {
            let text = sample.no_gpu.expect("a sentence");
            assert!(text.starts_with("No GPU is shown: it was taken out."), "{text}");
        }
    }
}
