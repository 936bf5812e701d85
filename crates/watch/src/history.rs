//! The most recent readings.

use std::collections::{HashMap, VecDeque};

use crate::sample::Sample;

/// The number of readings that are kept: ten minutes at one per second.
pub const CAPACITY: usize = 600;

/// Percentages over time, oldest first.
pub type Series = VecDeque<f32>;

/// Histories of the host and of each GPU.
#[derive(Default)]
pub struct History {
    /// CPU and memory.
    pub host: [Series; 2],
    /// By GPU: utilization, memory and power in percent, and temperature in degrees.
    pub gpus: HashMap<u32, [Series; 4]>,
}

fn push(series: &mut Series, value: f64) {
    if series.len() == CAPACITY {
        series.pop_front();
    }
    series.push_back(value as f32);
}

/// Returns `part` of `whole` in percent, or 0 if either is unknown.
pub fn percent(part: Option<f64>, whole: Option<f64>) -> f64 {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0.0 => (part / whole * 100.0).clamp(0.0, 100.0),
        _ => 0.0,
    }
}

impl History {
    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        let host = &sample.host;
        push(&mut self.host[0], host.utilization.unwrap_or(0.0));
        push(&mut self.host[1], percent(Some(host.memory_used as f64), Some(host.memory_total as f64)));
        // Drops the history of GPUs that disappeared from the bus.
        self.gpus.retain(|index, _| sample.gpus.iter().any(|gpu| gpu.index == *index));
        for gpu in &sample.gpus {
            let series = self.gpus.entry(gpu.index).or_default();
            push(&mut series[0], gpu.utilization.map_or(0.0, f64::from));
            push(&mut series[1], percent(gpu.memory_used.map(|b| b as f64), gpu.memory_total.map(|b| b as f64)));
            push(&mut series[2], percent(gpu.power, gpu.power_limit));
            push(&mut series[3], gpu.temperature.map_or(0.0, f64::from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_day_take_no_more_memory_than_ten_minutes() {
        let gpu = crate::sample::Gpu { utilization: Some(50), ..Default::default() };
        let sample = Sample { gpus: vec![gpu], ..Sample::default() };
        let mut history = History::default();
        for _ in 0..CAPACITY {
            history.add(&sample);
        }
        let capacity = history.gpus[&0][0].capacity();
        for _ in 0..86_400 {
            history.add(&sample);
        }
        assert_eq!((history.gpus[&0][0].len(), history.gpus[&0][0].capacity()), (CAPACITY, capacity));
        history.add(&Sample::default());
        assert!(history.gpus.is_empty());
    }
}
