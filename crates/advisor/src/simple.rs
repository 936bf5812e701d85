//! The formula of common web calculators: compute, transfer and overhead, one after another.

use cuprous_core::{Error, Result};

/// Times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Simple {
    /// Total on the CPU.
    pub cpu: f64,
    /// Arithmetic on the GPU.
    pub compute: f64,
    /// Data to the GPU.
    pub transfer: f64,
    /// Other costs of the GPU.
    pub overhead: f64,
    /// Total on the GPU.
    pub gpu: f64,
    /// How many times faster the GPU is. Below 1 the CPU is faster.
    pub speedup: f64,
}

/// Compares `operations / gpu_rate + data / bandwidth + overhead` with `operations / cpu_rate`. Rates are in operations
/// per second, `data` in bytes, `overhead` in seconds. The bandwidth may be infinite.
///
/// # Errors
/// `ValueError` that names the quantity which is not a number, negative, or a divisor of zero.
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

/// Returns an error unless `fits`.
///
/// # Errors
/// `ValueError` that names the quantity and says what it must be.
pub fn check(name: &str, value: f64, fits: bool, wanted: &str) -> Result<()> {
    if fits { Ok(()) } else { Err(Error::value(format!("[estimate] {name} is {value}, and must be {wanted}"))) }
}
