//! CPU, memory and processes, read from `/proc`. On other systems than Linux little is known.

use std::collections::HashMap;
use std::fs;

use crate::sample::Host;

/// Remembers the last reading, because `/proc` counts since the system started.
#[derive(Default)]
pub(crate) struct Reader {
    /// Busy ticks and all ticks of the machine.
    last: Option<[u64; 2]>,
    /// Ticks of each process that was read.
    processes: HashMap<u32, u64>,
    /// Ticks of one core between the last two readings.
    elapsed: f64,
}

/// A process as `/proc` describes it.
pub(crate) struct HostProcess {
    pub(crate) name: String,
    /// Percent of one core since the last reading.
    pub(crate) cpu: Option<f64>,
    pub(crate) memory: Option<u64>,
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

impl Reader {
    pub(crate) fn host(&mut self) -> Host {
        let stat = read("/proc/stat");
        let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
        let ticks: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or("")
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|n| n.parse().ok())
            .collect();
        let mut utilization = None;
        if let [_, _, _, idle, waiting, ..] = ticks[..] {
            let all: u64 = ticks.iter().sum();
            let now = [all - idle - waiting, all];
            if let Some([busy, all]) = self.last.replace(now) {
                let passed = now[1].saturating_sub(all) as f64;
                self.elapsed = passed / cores.max(1) as f64;
                utilization = (passed > 0.0).then(|| now[0].saturating_sub(busy) as f64 / passed * 100.0);
            }
        }
        let memory = read("/proc/meminfo");
        let bytes = |name: &str| -> Option<u64> {
            let line = memory.lines().find(|line| line.starts_with(name))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
        };
        let total = bytes("MemTotal:").unwrap_or(0);
        let load: Vec<f64> =
            read("/proc/loadavg").split_whitespace().take(3).filter_map(|text| text.parse().ok()).collect();
        Host {
            name: read("/proc/sys/kernel/hostname").trim().to_owned(),
            cpu: model(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            utilization,
            memory_used: total - bytes("MemAvailable:").unwrap_or(0).min(total),
            memory_total: total,
            load: load.try_into().ok(),
        }
    }

    /// Reads a process. `None` if it does not exist or may not be read.
    pub(crate) fn process(&mut self, pid: u32) -> Option<HostProcess> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may contain any character.
        let (before, after) = (stat.find('(')?, stat.rfind(')')?);
        let fields: Vec<&str> = stat[after + 1..].split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let ticks = number(11)? + number(12)?;
        let last = self.processes.insert(pid, ticks);
        let cpu =
            last.filter(|_| self.elapsed > 0.0).map(|last| ticks.saturating_sub(last) as f64 / self.elapsed * 100.0);
        let line = read(&format!("/proc/{pid}/cmdline"));
        let line = line.split('\0').collect::<Vec<_>>().join(" ").trim().to_owned();
        let name = if line.is_empty() { stat[before + 1..after].to_owned() } else { line };
        let pages: Option<u64> =
            read(&format!("/proc/{pid}/statm")).split_whitespace().nth(1).and_then(|n| n.parse().ok());
        Some(HostProcess { name, cpu, memory: pages.map(|pages| pages * page_bytes()) })
    }

    /// Forgets all processes but these.
    pub(crate) fn keep(&mut self, pids: &[u32]) {
        self.processes.retain(|pid, _| pids.contains(pid));
    }
}

fn page_bytes() -> u64 {
    // SAFETY: `sysconf` takes a number and returns one.
    #[cfg(unix)]
    let bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    #[cfg(not(unix))]
    let bytes = 4096;
    bytes
}

fn model() -> String {
    let text = read("/proc/cpuinfo");
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}
