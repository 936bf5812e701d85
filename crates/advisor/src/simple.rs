//! The formula that the web's calculators use: compute, transfer and overhead, one after another.

use cuprous_core::{Error, Result};

/// Times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Simple {
    /// All of it on the CPU.
    pub cpu: f64,
    /// Arithmetic on the GPU.
    pub compute: f64,
    /// Data to the GPU.
    pub transfer: f64,
    /// What else the GPU costs.
    pub overhead: f64,
    /// All of it on the GPU.
    pub gpu: f64,
    /// How many times faster the GPU is; below 1 the CPU is.
    pub speedup: f64,
}

/// `operations / throughput + data / bandwidth + overhead` beside `operations / CPU's throughput`.
///
/// Operations, operations a second on each, bytes, bytes a second, seconds. A bandwidth may be infinite.
///
/// # Errors
/// `ValueError` that names the quantity which is no number, negative, or zero where something is divided by it.
pub fn simple(
    operations: f64,
    cpu_rate: f64,
    gpu_rate: f64,
    data: f64,
    bandwidth: f64,
    overhead: f64,
) -> Result<Simple> {
    for (name, value) in [("operations", operations), ("data", data), ("overhead", overhead)] {
        check(name, value, value.is_finite() && value >= 0.0, "a number that is not negative")?;
    }
    for (name, value) in [("CPU throughput", cpu_rate), ("GPU throughput", gpu_rate), ("bandwidth", bandwidth)] {
        check(name, value, value > 0.0, "a number above zero")?;
    }
    let cpu = operations / cpu_rate;
    let (compute, transfer) = (operations / gpu_rate, data / bandwidth);
    let gpu = compute + transfer + overhead;
    let speedup = if gpu > 0.0 { cpu / gpu } else { 1.0 };
    Ok(Simple { cpu, compute, transfer, overhead, gpu, speedup })
}

/// Refuses a quantity that does not fit.
///
/// # Errors
/// `ValueError` that names it.
pub fn check(name: &str, value: f64, fits: bool, wanted: &str) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::value(format!("[estimate] {name} is {value}, and must be {wanted}"))) }
}
