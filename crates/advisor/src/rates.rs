//! What a device does in a second, for each kind of work: from paper, or measured on this machine.

use std::collections::BTreeMap;

use cuprous_core::DType;
use serde::{Deserialize, Serialize};

use crate::profile::{ComputeUnit, Cpu, Gpu, Level};
use crate::weights::weight;

/// Dtypes that are computed at one rate.
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
    /// All, in order.
    pub const ALL: [Group; 5] = [Group::F16, Group::F32, Group::F64, Group::I32, Group::I64];

    /// The group of a dtype; complex numbers are in that of their parts.
    pub fn of(dtype: DType) -> Group {
        match dtype.component() {
            DType::F16 | DType::BF16 => Group::F16,
            DType::F32 => Group::F32,
            DType::F64 => Group::F64,
            DType::I64 | DType::U64 => Group::I64,
            _ => Group::I32,
        }
    }

    /// A dtype of the group.
    pub fn dtype(self) -> DType {
        [DType::F16, DType::F32, DType::F64, DType::I32, DType::I64][self as usize]
    }

    /// The group whose rate stands in where there is none.
    fn like(self) -> Group {
        match self {
            Group::F16 | Group::I32 => Group::F32,
            Group::I64 => Group::F64,
            Group::F32 => Group::F64,
            Group::F64 => Group::F32,
        }
    }
}

/// So much of one kind of work: see [`crate::weights`] for the kinds and their units.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    /// Which kind.
    pub what: &'static str,
    /// In which dtypes.
    pub group: Group,
    /// How many units.
    pub amount: f64,
}

impl Demand {
    /// In plain operations.
    pub fn flops(&self) -> f64 {
        self.amount * weight(self.what).0
    }
}

/// What one kernel or call takes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// Work.
    pub demands: Vec<Demand>,
    /// Bytes from memory.
    pub read: f64,
    /// Bytes to memory.
    pub written: f64,
    /// Elements at places that are data, in memory that no cache holds: each brings a whole line.
    pub scattered: f64,
    /// Bytes of all that it touches.
    pub footprint: f64,
    /// Kernels that a GPU starts.
    pub launches: f64,
    /// Loops that a CPU runs one after another for them.
    pub loops: f64,
    /// Too short for a CPU to cut it among its threads, however much work it is.
    pub whole: bool,
}

impl Load {
    /// Plain operations.
    pub fn flops(&self) -> f64 {
        self.demands.iter().map(Demand::flops).sum()
    }

    /// Bytes from memory, where lines are as long as most processors'.
    pub fn fetched(&self) -> f64 {
        self.read + self.scattered * LINE[0]
    }

    /// The same on `factor` times the data.
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

/// Memory that holds so many bytes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryLevel {
    /// Bytes that fit; 0 for the last, which holds all.
    pub bytes: f64,
    /// Bytes read plus written in a second.
    pub bandwidth: f64,
}

/// Copies between host and device; bytes a second, one way.
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
    /// Seconds that each takes however small it is.
    pub latency: f64,
}

/// What a device does in a second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rates {
    /// Its name.
    pub name: String,
    /// Units a second of each kind of work, by [`Group`]; 0 where nobody knows.
    pub work: BTreeMap<String, [f64; 5]>,
    /// Levels of the memory hierarchy, fastest first. The name in files is that of their first format.
    #[serde(rename = "rooms")]
    pub memory_levels: Vec<MemoryLevel>,
    /// Seconds that a kernel or call takes however small it is.
    pub launch: f64,
    /// Seconds that a program takes, whatever is in it, with the wait for its end.
    pub program: f64,
    /// Seconds that recording an operation takes.
    pub record: f64,
    /// Seconds until the threads that share larger work have begun and ended, on a CPU.
    #[serde(default)]
    pub share: f64,
    /// Threads that share larger work; 1 for GPUs, which are one.
    pub threads: f64,
    /// How many times as fast as one of them they are together, which is less than their number where two share a core;
    /// 0 where nobody knows.
    #[serde(default)]
    pub together: f64,
    /// Bytes of memory; 0 where it does not matter.
    pub memory: f64,
    /// Seconds until the device can be used.
    pub startup: f64,
    /// To and from the host; none for the host itself.
    pub copies: Option<Copies>,
}

/// Is that work a function of one element, or two?
fn known_function(what: &str) -> bool {
    cuprous_core::Fun::ALL.iter().any(|fun| fun.op().name == what && !what.starts_with("random"))
}

/// Operations below which a CPU does not share work among threads.
const SHARED: f64 = 65536.0;

/// Bytes that come together from memory: a CPU's line, a GPU's sector.
const LINE: [f64; 2] = [64.0, 32.0];

/// Seconds that a kernel or call takes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Span {
    /// Arithmetic, were there nothing else.
    pub compute: f64,
    /// Memory traffic, were there nothing else.
    pub memory: f64,
    /// Launches.
    pub launches: f64,
}

impl Span {
    /// All of it.
    pub fn total(self) -> f64 {
        self.compute.max(self.memory) + self.launches
    }
}

impl Rates {
    /// Units of that work in a second.
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

    /// Bytes a second between the memory that holds so many bytes and the chip.
    pub fn bandwidth(&self, footprint: f64) -> f64 {
        let holds = |level: &&MemoryLevel| level.bytes == 0.0 || footprint <= level.bytes;
        self.memory_levels.iter().find(holds).or(self.memory_levels.last()).map_or(1e10, |level| level.bandwidth)
    }

    /// How long a kernel or call takes.
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

    /// Seconds that a copy from the host takes; none on the host itself.
    pub fn upload(&self, bytes: f64, pinned: bool) -> f64 {
        let rate = |c: &Copies| if pinned { c.up_pinned } else { c.up };
        self.copies.as_ref().map_or(0.0, |c| if bytes > 0.0 { c.latency + bytes / rate(c) } else { 0.0 })
    }

    /// Seconds that a copy to the host takes.
    pub fn download(&self, bytes: f64, pinned: bool) -> f64 {
        let rate = |c: &Copies| if pinned { c.down_pinned } else { c.down };
        self.copies.as_ref().map_or(0.0, |c| if bytes > 0.0 { c.latency + bytes / rate(c) } else { 0.0 })
    }

    fn on_paper(name: &str, rates: impl Fn(DType, ComputeUnit) -> f64) -> Rates {
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
            share: 0.0,
            threads: 1.0,
            together: 0.0,
            memory: 0.0,
            startup: 0.0,
            copies: None,
        }
    }

    /// What a GPU of the list would do. The cost of launches is that of a replayed program on an H200.
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
            ..Rates::on_paper(gpu.name, |dtype, unit| rates(dtype, unit, false).flops)
        }
    }

    /// What the table of weights says, but for what GPUs do in ways of their own.
    fn gpu_work(flops: impl Fn(DType, ComputeUnit) -> f64) -> BTreeMap<String, [f64; 5]> {
        let mut work = Rates::on_paper("", flops).work;
        for (what, row) in &mut work {
            let (weight, unit) = weight(what);
            // Units of their own do much of exponentials, logarithms and the like, in float32.
            if unit == ComputeUnit::Vector && (20.0..=80.0).contains(&weight) && known_function(what) {
                row[Group::F16 as usize] *= 2.0;
                row[Group::F32 as usize] *= 2.0;
            }
        }
        // Waiting does not depend on how wide a GPU is: as on an H200.
        work.insert("crowded scatter".into(), [4e9; 5]);
        work.insert("column".into(), [6e5; 5]);
        work
    }

    /// What a CPU of the list would do.
    pub fn of_cpu(cpu: &Cpu, level: Level) -> Rates {
        let memory = cpu.rates(DType::F32, ComputeUnit::Vector, level).bandwidth;
        // Each core has at least 512 KiB of its own, from which it reads some ten times as fast.
        let near = MemoryLevel { bytes: cpu.cores.value * 524_288.0, bandwidth: 10.0 * memory };
        Rates {
            memory_levels: vec![near, MemoryLevel { bytes: 0.0, bandwidth: memory }],
            launch: 1e-6,
            program: 1e-6,
            // Waking the others: 15 µs of 16 threads, measured.
            share: 1e-5,
            threads: cpu.cores.value,
            ..Rates::on_paper(cpu.name, |dtype, unit| cpu.rates(dtype, unit, level).flops)
        }
    }

    /// What some cores of a CPU like that would do.
    pub fn of_cores(name: &str, cpu: &Cpu, cores: f64) -> Rates {
        let whole = Rates::of_cpu(cpu, Level::Typical);
        let share = cores / cpu.cores.value;
        // A few cores get more than their share of the memory's bandwidth.
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
            share: whole.share,
            memory: whole.memory,
            startup: whole.startup,
            copies: whole.copies,
        }
    }
}
