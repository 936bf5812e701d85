//! Formats figures, and samples as plain text.

use std::io::{self, Write};

use crate::sample::{Gpu, Host, Process, Sample};

/// Formats bytes with three digits: `1.50 GiB`.
pub fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$} {}", units[unit])
}

/// Formats a figure with its unit, or a dash if it is unknown.
pub fn or_dash(value: Option<impl std::fmt::Display>, unit: &str) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value}{unit}"))
}

/// Formats `used / total`.
pub fn part(used: Option<u64>, total: Option<u64>) -> String {
    format!("{} / {}", or_dash(used.map(bytes), ""), or_dash(total.map(bytes), ""))
}

fn rates(label: &str, out_in: [Option<f64>; 2]) -> String {
    let rate = |value: Option<f64>| or_dash(value.map(|r| bytes(r as u64)), "/s");
    format!("{label} out {} in {}", rate(out_in[0]), rate(out_in[1]))
}

/// Formats the host in one line.
pub fn host(host: &Host) -> String {
    let cpu = or_dash(host.utilization.map(|u| format!("{u:.0}")), "%");
    let memory = part(Some(host.memory_used), Some(host.memory_total));
    let load =
        host.load.map_or(String::new(), |[one, five, fifteen]| format!(", load {one:.2} {five:.2} {fifteen:.2}"));
    format!("{}: {} cores, {cpu} busy, memory {memory}{load}", host.cpu, host.cores)
}

/// Formats temperature, power and clocks of a GPU in one line.
pub fn state(gpu: &Gpu) -> String {
    let held =
        if gpu.throttled_by.is_empty() { String::new() } else { format!(", held by: {}", gpu.throttled_by.join(", ")) };
    let fan = gpu.fan.map_or(String::new(), |fan| format!(", fan {fan}%"));
    format!(
        "{} of {}, {} W of {} W{fan}, clock {} of {} MHz, memory {} MHz{held}",
        or_dash(gpu.temperature, "°C"),
        or_dash(gpu.temperature_limit, "°C"),
        or_dash(gpu.power.map(|w| w.round()), ""),
        or_dash(gpu.power_limit.map(|w| w.round()), ""),
        or_dash(gpu.clock, ""),
        or_dash(gpu.clock_limit, ""),
        or_dash(gpu.memory_clock, ""),
    )
}

/// Formats the connections of a GPU in one line.
pub fn links(gpu: &Gpu) -> String {
    let pcie = &gpu.pcie;
    let mut text = format!(
        "PCIe {} x{} of {} x{}, {}",
        or_dash(pcie.generation, ".0"),
        or_dash(pcie.width, ""),
        or_dash(pcie.generation_limit, ".0"),
        or_dash(pcie.width_limit, ""),
        rates("", [pcie.sent, pcie.received]).trim_start()
    );
    if !gpu.nvlink.is_empty() {
        let active = gpu.nvlink.iter().filter(|link| link.active).count();
        let version = gpu.nvlink.iter().find_map(|link| link.version);
        let [sent, received] = gpu.nvlink_rates.map_or([None; 2], |[sent, received]| [Some(sent), Some(received)]);
        let version = or_dash(version, "");
        text += &format!(
            "; NVLink {version}: {active} of {} up, {}",
            gpu.nvlink.len(),
            rates("", [sent, received]).trim_start()
        );
    }
    text
}

/// The columns of the process table.
pub const COLUMNS: [&str; 9] = ["pid", "gpu", "memory", "allocated", "reserved", "gpu %", "cpu %", "host", "command"];

/// Returns the cells of a process, in the order of [`COLUMNS`].
pub fn cells(process: &Process) -> [String; 9] {
    [
        process.pid.to_string(),
        process.gpu.map_or_else(|| "cpu".to_owned(), |gpu| gpu.to_string()),
        or_dash(process.memory.map(bytes), ""),
        or_dash(process.own.map(|own| bytes(own.allocated)), ""),
        or_dash(process.own.map(|own| bytes(own.reserved)), ""),
        or_dash(process.utilization, ""),
        or_dash(process.cpu.map(|percent| format!("{percent:.0}")), ""),
        or_dash(process.host_memory.map(bytes), ""),
        match process.rank {
            Some([rank, world]) => format!("rank {rank} of {world}: {}", process.name),
            None => process.name.clone(),
        },
    ]
}

/// Writes a sample as lines of text.
///
/// # Errors
/// The error of the writer.
pub fn write(out: &mut dyn Write, sample: &Sample) -> io::Result<()> {
    writeln!(out, "{}", host(&sample.host))?;
    if let Some(why) = &sample.no_gpu {
        writeln!(out, "{why}")?;
    }
    for gpu in &sample.gpus {
        let used = part(gpu.memory_used, gpu.memory_total);
        let busy = or_dash(gpu.utilization, "%");
        writeln!(out, "\nGPU {}: {}\n  {busy} busy, memory {used}", gpu.index, gpu.name)?;
        writeln!(out, "  {}\n  {}", state(gpu), links(gpu))?;
    }
    if sample.processes.is_empty() {
        return Ok(());
    }
    let rows: Vec<[String; 9]> = sample.processes.iter().map(cells).collect();
    let header = COLUMNS.map(str::to_owned);
    let all = || std::iter::once(&header).chain(&rows);
    let widths: Vec<usize> = (0..8).map(|at| all().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    writeln!(out)?;
    for row in all() {
        for (cell, width) in row.iter().zip(&widths) {
            write!(out, "{cell:>width$}  ")?;
        }
        writeln!(out, "{}", row[8])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits() {
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (1536, "1.50 KiB"),
            (80 << 30, "80.0 GiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
