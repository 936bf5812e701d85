//! Estimates as sentences.

use crate::estimate::{Bound, Estimate};
use crate::units::{seconds, times};

/// Returns one or two sentences: which device is faster, by how much, what limits it, and what would change the answer.
pub fn sentence(e: &Estimate) -> String {
    let by = times;
    let mut text = if e.speedup >= 1.0 {
        format!("The GPU is about {} faster ({} instead of {}). ", by(e.speedup), seconds(e.gpu.total), seconds(e.cpu))
    } else {
        let [cpu, gpu] = [e.cpu, e.gpu.total].map(seconds);
        format!("The CPU is faster for this task, by about {}: {cpu} there, {gpu} on the GPU. ", by(1.0 / e.speedup))
    };
    text += match e.bound {
        Bound::Compute => "Arithmetic bounds it: a narrower dtype helps most.",
        Bound::Memory => "The GPU's memory bounds it: fewer passes over the data help most.",
        Bound::Copies => "Copies between host and GPU bound it: keep the data there, or use pinned memory.",
        Bound::Startup => "Starting the GPU costs most of it: do more in one process.",
        Bound::Launches => "Launches bound it: larger arrays or fewer, fused operations help most.",
        Bound::Exchange => "Exchange between the GPUs bounds it: use fewer of them.",
        Bound::Serial => "What stays on the CPU bounds it: no GPU makes that faster.",
    };
    if e.pieces > 1.0 {
        text += &format!(" The data does not fit into the GPU's memory and goes through it in {} pieces.", e.pieces);
    }
    if e.speedup < 1.0 {
        text += &match (e.break_even_repeats, e.break_even_size) {
            (Some(n), _) if n > 1.0 && n < 1e9 => {
                format!(" From {n:.0} repeats on the same data on, the GPU is faster.")
            }
            (_, Some(size)) if size < 1e6 => format!(" From {} the size on, the GPU is faster.", by(size)),
            _ => " No size and no number of repeats changes that.".to_owned(),
        };
    }
    text
}
