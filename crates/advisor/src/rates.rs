//! The rates of a device for each kind of work: from data sheets, or measured on this machine.

use std::collections::BTreeMap;

use cuprous_core::DType;
use serde::{Deserialize, Serialize};

use crate::profile::{ComputeUnit, Cpu, Gpu, Level};
use crate::weights::weight;

/// Dtypes that are computed at the same rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are those of the dtypes")]
pub enum Group {
    F16,
    F32,
    F64,
    I32,
    I64,
}

impl Group {
    /// All groups, in order.
    pub const ALL: [Group; 5] = [Group::F16, Group::F32, Group::F64, Group::I32, Group::I64];

    /// Returns the group of a dtype. Complex dtypes are in the group of their component.
    pub fn of(dtype: DType) -> Group {
        match dtype.component() {
            DType::F16 | DType::BF16 => Group::F16,
            DType::F32 => Group::F32,
            DType::F64 => Group::F64,
            DType::I64 | DType::U64 => Group::I64,
            _ => Group::I32,
        }
    }

    /// Returns a dtype of the group.
    pub fn dtype(self) -> DType {
        [DType::F16, DType::F32, DType::F64, DType::I32, DType::I64][self as usize]
    }

    /// Returns the group whose rate is used if this group has none.
    fn like(self) -> Group {
        match self {
            Group::F16 | Group::I32 => Group::F32,
            Group::I64 => Group::F64,
            Group::F32 => Group::F64,
            Group::F64 => Group::F32,
        }
    }
}

/// An amount of one kind of work: see [`crate::weights`] for the kinds and their units.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    /// The kind.
    pub what: &'static str,
    /// The group of its dtype.
    pub group: Group,
    /// The number of units.
    pub amount: f64,
}

impl Demand {
    /// Returns the number of plain operations.
    pub fn flops(&self) -> f64 {
        self.amount * weight(self.what).0
    }
}

/// The work of one kernel or routine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// Arithmetic.
    pub demands: Vec<Demand>,
    /// Bytes read.
    pub read: f64,
    /// Bytes written.
    pub written: f64,
    /// Number of elements at computed indices in memory that does not fit into a cache. Each fetches a whole cache
    /// line.
    pub scattered: f64,
    /// Bytes of all arrays that it touches.
    pub footprint: f64,
    /// Number of kernels on a GPU.
    pub launches: f64,
    /// Number of loops on a CPU.
    pub loops: f64,
    /// True if a CPU cannot divide the work among its threads, whatever its amount.
    pub whole: bool,
}

impl Load {
    /// Returns the number of plain operations.
    pub fn flops(&self) -> f64 {
        self.demands.iter().map(Demand::flops).sum()
    }

    /// Returns the bytes fetched from memory, with cache lines of a CPU's size.
    pub fn fetched(&self) -> f64 {
        self.read + self.scattered * LINE[0]
    }

    /// Returns the same work on `factor` times the data.
    pub fn scaled(&self, factor: f64) -> Load {
        let grown = |d: &Demand| Demand { amount: d.amount * factor, ..d.clone() };
        Load {
            demands: self.demands.iter().map(grown).collect(),
            read: self.read * factor,
            written: self.written * factor,
            scattered: self.scattered * factor,
            footprint: self.footprint * factor,
            launches: self.launches,
            loops: self.loops,
            whole: self.whole && factor <= 1.0,
        }
    }
}

/// A level of the memory hierarchy.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryLevel {
    /// Its size in bytes. It is 0 for the last level, which has no limit.
    pub bytes: f64,
    /// Bytes read plus written per second.
    pub bandwidth: f64,
}

/// Rates of copies between host and device, in bytes per second one way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Copies {
    /// From pageable memory.
    pub up: f64,
    /// To pageable memory.
    pub down: f64,
    /// From pinned memory.
    pub up_pinned: f64,
    /// To pinned memory.
    pub down_pinned: f64,
    /// The fixed cost of a copy in seconds.
    pub latency: f64,
}

/// The rates and fixed costs of a device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rates {
    /// Its name.
    pub name: String,
    /// Units per second for each kind of work, by [`Group`]. It is 0 if unknown.
    pub work: BTreeMap<String, [f64; 5]>,
    /// Levels of the memory hierarchy, fastest first. The name in files is that of their first format.
    #[serde(rename = "rooms")]
    pub memory_levels: Vec<MemoryLevel>,
    /// The fixed cost of a kernel or routine in seconds.
    pub launch: f64,
    /// The fixed cost of a program in seconds, including the wait for its end.
    pub program: f64,
    /// Seconds to record an operation.
    pub record: f64,
    /// The number of kernels from which a program is faster as a graph, on a GPU where that was measured; else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub graph: usize,
    /// On a CPU, seconds to start and join the threads that share larger work.
    #[serde(default)]
    pub share: f64,
    /// The number of threads that share larger work. It is 1 for a GPU.
    pub threads: f64,
    /// How many times as fast all threads together are as one. It is less than their number if two share a core, and 0
    /// if unknown.
    #[serde(default)]
    pub together: f64,
    /// Bytes of memory, or 0 if it does not limit the work.
    pub memory: f64,
    /// Seconds until the device can be used.
    pub startup: f64,
    /// Copies to and from the host. `None` for the host itself.
    pub copies: Option<Copies>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Returns true if the kind of work is an elementwise function other than a random number generator.
fn known_function(what: &str) -> bool {
    cuprous_core::Fun::ALL.iter().any(|fun| fun.op().name == what && !what.starts_with("random"))
}

/// The number of operations below which a CPU does not divide work among threads.
const SHARED: f64 = 65536.0;

/// The smallest memory transfer in bytes: a CPU's cache line, a GPU's sector.
const LINE: [f64; 2] = [64.0, 32.0];

/// Seconds that a kernel or routine takes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Span {
    /// Arithmetic alone.
    pub compute: f64,
    /// Memory traffic alone.
    pub memory: f64,
    /// Launches.
    pub launches: f64,
}

impl Span {
    /// Returns the total.
    pub fn total(self) -> f64 {
        self.compute.max(self.memory) + self.launches
    }
}

impl Rates {
    /// Returns the units of a kind of work per second.
    pub fn rate(&self, what: &str, group: Group) -> f64 {
        let measured = |what: &str| {
            let row = self.work.get(what)?;
            [group, group.like(), Group::F32, Group::F64].into_iter().map(|g| row[g as usize]).find(|&rate| rate > 0.0)
        };
        measured(what).unwrap_or_else(|| {
            let (weight, unit) = weight(what);
            measured(if unit == ComputeUnit::Matrix { "dot" } else { "add" }).unwrap_or(1e9) / weight
        })
    }

    /// Returns the bandwidth of the fastest level that holds `footprint` bytes.
    pub fn bandwidth(&self, footprint: f64) -> f64 {
        let holds = |level: &&MemoryLevel| level.bytes == 0.0 || footprint <= level.bytes;
        self.memory_levels.iter().find(holds).or(self.memory_levels.last()).map_or(1e10, |level| level.bandwidth)
    }

    /// Returns the time of a kernel or routine.
    pub fn span(&self, load: &Load) -> Span {
        let gpu = self.copies.is_some();
        let small = load.whole || load.flops() < SHARED;
        let together = if self.together > 0.0 { self.together } else { self.threads };
        let alone = if self.threads > 1.0 && small { together } else { 1.0 };
        let share = if gpu || small || self.threads <= 1.0 { 0.0 } else { self.share };
        Span {
            compute: load.demands.iter().map(|d| d.amount * alone / self.rate(d.what, d.group)).sum(),
            memory: (load.read + load.written + load.scattered * LINE[usize::from(gpu)])
                / self.bandwidth(load.footprint),
            launches: if gpu { self.launch * load.launches } else { (self.launch + share) * load.loops },
        }
    }

    /// Returns the seconds of a copy from the host, which are 0 on the host itself.
    pub fn upload(&self, bytes: f64, pinned: bool) -> f64 {
        let rate = |c: &Copies| if pinned { c.up_pinned } else { c.up };
        self.copies.as_ref().map_or(0.0, |c| if bytes > 0.0 { c.latency + bytes / rate(c) } else { 0.0 })
    }

    /// Returns the seconds of a copy to the host.
    pub fn download(&self, bytes: f64, pinned: bool) -> f64 {
        let rate = |c: &Copies| if pinned { c.down_pinned } else { c.down };
        self.copies.as_ref().map_or(0.0, |c| if bytes > 0.0 { c.latency + bytes / rate(c) } else { 0.0 })
    }

    /// Returns rates by data sheet and the table of weights, without memory and copies.
    fn from_data_sheet(name: &str, rates: impl Fn(DType, ComputeUnit) -> f64) -> Rates {
        let row = |what: &'static str| {
            let (weight, unit) = weight(what);
            (what.to_owned(), Group::ALL.map(|group| rates(group.dtype(), unit) / weight))
        };
        Rates {
            name: name.to_owned(),
            work: crate::weights::all().filter(|what| weight(what).0 > 0.0).map(row).collect(),
            memory_levels: Vec::new(),
            launch: 0.0,
            program: 0.0,
            record: 3e-7,
            graph: 0,
            share: 0.0,
            threads: 1.0,
            together: 0.0,
            memory: 0.0,
            startup: 0.0,
            copies: None,
        }
    }

    /// Returns the rates of a listed GPU. The cost of a launch is that in a replayed program on an H200.
    pub fn of_gpu(gpu: &Gpu, tf32: bool, level: Level) -> Rates {
        let rates = |dtype, unit, pinned| gpu.rates(dtype, unit, tf32, pinned, level);
        let memory = rates(DType::F32, ComputeUnit::Vector, true).bandwidth;
        let [pageable, pinned] = [false, true].map(|pinned| rates(DType::F32, ComputeUnit::Vector, pinned).copies);
        Rates {
            memory_levels: vec![MemoryLevel { bytes: 0.0, bandwidth: memory }],
            launch: 2.5e-6,
            program: 1e-5,
            memory: gpu.memory.value,
            startup: 0.4,
            copies: Some(Copies {
                up: pageable,
                down: pageable,
                up_pinned: pinned,
                down_pinned: pinned,
                latency: 8e-6,
            }),
            work: Rates::gpu_work(|dtype, unit| rates(dtype, unit, false).flops),
            ..Rates::from_data_sheet(gpu.name, |dtype, unit| rates(dtype, unit, false).flops)
        }
    }

    /// Returns the rates by the table of weights, with exceptions for what GPUs do differently.
    fn gpu_work(flops: impl Fn(DType, ComputeUnit) -> f64) -> BTreeMap<String, [f64; 5]> {
        let mut work = Rates::from_data_sheet("", flops).work;
        for (what, row) in &mut work {
            let (weight, unit) = weight(what);
            // Special function units compute most of exponentials, logarithms and similar functions in float32.
            if unit == ComputeUnit::Vector && (20.0..=80.0).contains(&weight) && known_function(what) {
                row[Group::F16 as usize] *= 2.0;
                row[Group::F32 as usize] *= 2.0;
            }
        }
        // Waiting does not depend on the width of a GPU. Figures of an H200.
        work.insert("crowded scatter".into(), [4e9; 5]);
        work.insert("column".into(), [6e5; 5]);
        work
    }

    /// Returns the rates of a listed CPU.
    pub fn of_cpu(cpu: &Cpu, level: Level) -> Rates {
        let memory = cpu.rates(DType::F32, ComputeUnit::Vector, level).bandwidth;
        // Each core has at least 512 KiB of cache, which is about ten times as fast as memory.
        let cache = MemoryLevel { bytes: cpu.cores.value * 524_288.0, bandwidth: 10.0 * memory };
        Rates {
            memory_levels: vec![cache, MemoryLevel { bytes: 0.0, bandwidth: memory }],
            launch: 1e-6,
            program: 1e-6,
            // Waking the other threads: 15 µs for 16 threads, measured.
            share: 1e-5,
            threads: cpu.cores.value,
            ..Rates::from_data_sheet(cpu.name, |dtype, unit| cpu.rates(dtype, unit, level).flops)
        }
    }

    /// Returns the rates of some cores of a listed CPU.
    pub fn of_cores(name: &str, cpu: &Cpu, cores: f64) -> Rates {
        let whole = Rates::of_cpu(cpu, Level::Typical);
        let share = cores / cpu.cores.value;
        // A few cores can use more than their share of the memory bandwidth.
        let memory = (2.0 * share).min(1.0).max(share);
        Rates {
            name: name.to_owned(),
            work: whole.work.into_iter().map(|(what, row)| (what, row.map(|rate| rate * share))).collect(),
            memory_levels: whole
                .memory_levels
                .into_iter()
                .map(|level| MemoryLevel { bytes: level.bytes * share, bandwidth: level.bandwidth * memory })
                .collect(),
            threads: cores,
            together: whole.together,
            launch: whole.launch,
            program: whole.program,
            record: whole.record,
            graph: whole.graph,
            share: whole.share,
            memory: whole.memory,
            startup: whole.startup,
            copies: whole.copies,
        }
    }
}
