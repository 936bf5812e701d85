//! CUDA code for routines: operations on whole arrays that are not fused.
//!
//! Each operation has a file of templates (`*.cuh`) and a Rust file that selects a template, its launch shape and its
//! arguments. Operands in a layout that a template cannot read are first copied by an ordinary map kernel.

pub(crate) mod attend;
mod compact;
mod components;
mod correlate;
mod dot;
pub(crate) mod fft;
pub(crate) mod linalg;
pub(crate) mod lu;
mod matvec;
mod normalize;
mod pad;
mod scan;
mod search;
mod select;
mod sort;
pub(crate) mod tf32;

use cuprous_core::routine::Edge;
use cuprous_core::{DType, Dims, Fun, Layout, RoutineOp};
use cuprous_plan::{Access, Inst, Kernel, Level, RoutineCall, Typed};

use super::lower::{Target, Unit, signature};
use super::prelude::{Part, Parts};
use super::types::{Arch, Arg, Generated, Options, Stage, ctype};

/// The work of a block in a radix pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadixTile {
    /// Threads of a block: a multiple of 32, at least 256.
    pub threads: u32,
    /// Four-byte elements of a thread. Wider elements are fewer.
    pub items: u32,
    /// Blocks per multiprocessor that the registers must allow.
    pub blocks: u32,
}

/// Launch shapes of routines, for experiments. The defaults were measured to be best on an H200.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutineTuning {
    /// Threads of a scan's block.
    pub scan_threads: u32,
    /// 16-byte vectors of a scan's thread.
    pub scan_vectors: u32,
    /// Blocks per multiprocessor that a chained scan's registers must allow; 0 for no bound.
    pub scan_blocks: u32,
    /// Threads that reduce a tile of a streamed scan; as many finish it.
    pub stream_threads: u32,
    /// 16-byte vectors of such a thread: an odd number.
    pub stream_vectors: u32,
    /// Most tiles that a block of a streamed scan holds; below 4 scans are not streamed.
    pub stream_stages: u32,
    /// The tile of a radix pass over elements only.
    pub radix: RadixTile,
    /// The tile of a radix pass over elements with their positions.
    pub radix_pairs: RadixTile,
    /// Tiles that a radix pass looks back over at a time.
    pub radix_lookback: u32,
    /// How a warp finds equal digits: 0 by ballots, 1 by the match instruction.
    pub radix_match: u32,
    /// Waves of blocks for which a radix pass prefetches elements into the L2 cache; 0 for none.
    pub radix_prefetch: u32,
    /// Threads of the histogram's block: a power of two.
    pub radix_histogram_threads: u32,
    /// Bytes of the histogram's counters.
    pub radix_histogram_bytes: usize,
    /// Outputs along a column that a thread of a column correlation computes.
    pub column_outputs: u32,
    /// Blocks per multiprocessor that the registers of a column correlation must allow; 0 for no bound.
    pub column_blocks: u32,
    /// Most rows of outputs that a warp of a row correlation computes.
    pub row_outputs: i64,
}

impl RoutineTuning {
    const MEASURED: RoutineTuning = RoutineTuning {
        scan_threads: 256,
        scan_vectors: 8,
        scan_blocks: 4,
        stream_threads: 256,
        stream_vectors: 7,
        stream_stages: 5,
        radix: RadixTile { threads: 256, items: 32, blocks: 4 },
        radix_pairs: RadixTile { threads: 384, items: 17, blocks: 3 },
        radix_lookback: 2,
        radix_match: 0,
        radix_prefetch: 0,
        radix_histogram_threads: 512,
        radix_histogram_bytes: 64 << 10,
        column_outputs: 32,
        column_blocks: 6,
        row_outputs: 4,
    };
}

impl Default for RoutineTuning {
    fn default() -> RoutineTuning {
        RoutineTuning::MEASURED
    }
}

/// Returns the launches of a routine; `None` if a library does it (as floating-point products) or no code exists for
/// it.
pub fn generate_routine(call: &RoutineCall, arch: Arch, options: Options) -> Option<Generated> {
    generate_routine_tuned(call, arch, options, RoutineTuning::default())
}

/// Returns true for routines that no library computes: [`generate_routine`] has their launches.
pub(crate) fn is_always_generated(call: &RoutineCall) -> bool {
    use RoutineOp::*;
    let op = &call.op;
    matches!(op, Scan { .. } | Sort | ArgSort | Partition { .. } | TopK { .. } | Select { .. } | PackMask | Compact)
        || matches!(op, Components { .. } | SearchSorted { .. } | Correlate { .. } | Pad { .. })
        || matches!(op, AttendRows(_) | Normalize(_))
        || matvec::is_product(call)
}

/// [`generate_routine`] with given launch shapes.
pub fn generate_routine_tuned(
    call: &RoutineCall,
    arch: Arch,
    options: Options,
    tuning: RoutineTuning,
) -> Option<Generated> {
    let mut builder = Builder { tuning, ..Builder::new(arch, options) };
    if call.out.1.size == 0 {
        return Some(builder.out);
    }
    match &call.op {
        RoutineOp::Dot if matvec::is_product(call) => matvec::matvec(call, &mut builder)?,
        RoutineOp::Dot => dot::dot(call, &mut builder)?,
        RoutineOp::Scan { op, axis } => scan::scan(call, *op, usize::from(*axis), &mut builder),
        RoutineOp::Sort => sort::sort(call, false, &mut builder),
        RoutineOp::ArgSort => sort::sort(call, true, &mut builder),
        // A sorted array is partitioned.
        RoutineOp::Partition { indices, .. } => sort::sort(call, *indices, &mut builder),
        RoutineOp::TopK { largest } => select::topk(call, *largest, &mut builder),
        RoutineOp::Select { rank } => select::select(call, *rank, &mut builder),
        RoutineOp::PackMask => compact::pack(call, &mut builder),
        RoutineOp::Compact => compact::compact(call, &mut builder),
        RoutineOp::Components { steps } => components::components(call, steps, &mut builder),
        RoutineOp::SearchSorted { right } => search::search(call, *right, &mut builder),
        RoutineOp::Correlate { edge, constant, origin } => {
            correlate::correlate(call, (*edge, *constant), origin, &mut builder)?;
        }
        RoutineOp::Pad { edge, constant, before } => pad::pad(call, (*edge, *constant), before, &mut builder),
        // By libraries.
        RoutineOp::Fft { .. } | RoutineOp::Linalg(_) | RoutineOp::Convolve(..) => return None,
        // By a library.
        RoutineOp::SparseDot { .. } | RoutineOp::Recur(_) | RoutineOp::RecurBackward(_) => return None,
        RoutineOp::Attend(_) | RoutineOp::AttendBackward(_) => return None,
        RoutineOp::AttendRows(of) => attend::attend(call, of, &mut builder),
        RoutineOp::Normalize(of) => normalize::normalize(call, usize::from(of.first), of.eps, &mut builder),
        RoutineOp::Steps(_) | RoutineOp::StepsBackward(_) => return None,
        // The CPU's own.
        RoutineOp::NormalizeBackward(_) => return None,
        RoutineOp::ChannelStatistics(_) | RoutineOp::ChannelBackward(_) => return None,
        RoutineOp::GroupIds { .. } | RoutineOp::GroupAggregate { .. } => return None,
        RoutineOp::JoinMatch { .. } | RoutineOp::JoinPairs { .. } => return None,
    }
    Some(builder.out)
}

/// Collects the launches of a routine.
pub(crate) struct Builder {
    pub(crate) out: Generated,
    pub(crate) target: Target,
    pub(crate) tuning: RoutineTuning,
}

/// An operand as a template reads it.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// The start of its buffer.
    pub(crate) at: Arg,
    /// Index of its first element.
    pub(crate) offset: i64,
}

impl Builder {
    /// Starts without launches.
    pub(crate) fn new(arch: Arch, options: Options) -> Builder {
        Builder { out: Generated::default(), target: Target { arch, options }, tuning: RoutineTuning::default() }
    }

    /// Adds a copy of an operand into row-major order at `to`, as `dtype`.
    pub(crate) fn pack(&mut self, from: Arg, layout: &Layout, to: Arg, dtype: DType) {
        let (extents, strides) = merged(&layout.shape, &layout.strides);
        let typed = |inst, dtype| Typed { inst, dtype, level: Level::Full };
        let mut body =
            vec![typed(Inst::Load { buf: 0, access: Access { offset: layout.offset, strides } }, layout.dtype)];
        if layout.dtype != dtype {
            body.push(typed(Inst::Map { fun: Fun::Cast, args: [0][..].into() }, dtype));
        }
        let arg = body.len() as u16 - 1;
        let access = Access { offset: 0, strides: cuprous_core::layout::contiguous_strides(&extents) };
        body.push(typed(Inst::Store { buf: 1, access, arg }, dtype));
        let kernel = Kernel { outer: extents, inner: Dims::new(), body, buffers: vec![0, 1] };
        super::map::map(&Unit { kernel, buffers: vec![from, to] }, self.target, &mut self.out);
    }

    /// Returns an operand in row-major order and of type `dtype`: itself, or a copy in the scratch.
    pub(crate) fn dense(&mut self, operand: &(u32, std::sync::Arc<Layout>), dtype: DType) -> Source {
        let (buffer, layout) = operand;
        let at = Arg::Buffer(*buffer);
        if layout.is_c_contiguous() && layout.dtype == dtype {
            return Source { at, offset: layout.offset };
        }
        let copy = self.out.scratch(layout.size as usize * dtype.size());
        self.pack(at, layout, copy, dtype);
        Source { at: copy, offset: 0 }
    }

    /// Returns the number of threads that fill the device.
    pub(crate) fn full_device(&self) -> i64 {
        i64::from(self.target.arch.sms) * 2048
    }
}

/// Drops axes of extent 1 and merges neighboring axes that step as one; at least one axis remains.
pub(crate) fn merged(shape: &[i64], strides: &[i64]) -> (Dims, Dims) {
    let (mut extents, mut steps) = (Dims::new(), Dims::new());
    for (&n, &s) in shape.iter().zip(strides).filter(|(n, _)| **n != 1) {
        match (extents.last_mut(), steps.last_mut()) {
            (Some(m), Some(step)) if *step == s * n => (*m, *step) = (*m * n, s),
            _ => {
                extents.push(n);
                steps.push(s);
            }
        }
    }
    if extents.is_empty() {
        extents.push(1);
        steps.push(0);
    }
    (extents, steps)
}

/// Returns the widest vector, up to 16 bytes, of `size`-byte elements for which all numbers in `at` are multiples of
/// its length.
pub(crate) fn vector(size: usize, aligned: bool, at: &[i64]) -> u32 {
    let mut v = if aligned { 16 / size as i64 } else { 1 };
    while v > 1 && at.iter().any(|n| n % v != 0) {
        v /= 2;
    }
    v.max(1) as u32
}

/// Returns the templates' name of an edge mode.
pub(crate) fn edge_name(edge: Edge) -> String {
    format!("edge_{}", edge.name())
}

/// Indices beyond an edge, shared by several routines.
pub(crate) const EDGES: &str = include_str!("edges.cuh");

/// The types in which sums of floats are computed, shared by several routines: see [`wide`].
pub(crate) const WIDE: &str = include_str!("wide.cuh");

/// Returns the dtype in which sums of floats are computed.
pub(crate) fn wide(d: DType) -> DType {
    if matches!(d, DType::F16 | DType::BF16) { DType::F32 } else { d }
}

/// A kernel that passes its parameters to a template, in order.
pub(crate) struct Launch {
    name: String,
    parts: Parts,
    own: Vec<&'static str>,
    params: Vec<String>,
    args: Vec<Arg>,
    lines: Vec<String>,
    passed: Vec<String>,
    shared: u32,
    own_instructions: bool,
    /// Blocks of a cluster, which can access each other's shared memory.
    cluster: i64,
}

impl Launch {
    /// Starts a kernel on those types, from those files besides the prelude.
    pub(crate) fn new(name: impl Into<String>, dtypes: &[DType], own: &[&'static str]) -> Launch {
        let mut parts = Parts::new();
        dtypes.iter().for_each(|&d| parts.dtype(d));
        Launch {
            name: name.into(),
            parts,
            own: own.to_vec(),
            params: vec![],
            args: vec![],
            lines: vec![],
            passed: vec![],
            shared: 0,
            own_instructions: false,
            cluster: 1,
        }
    }

    /// Adds a part of the prelude.
    pub(crate) fn part(mut self, part: Part) -> Launch {
        self.parts.add(part);
        self
    }

    /// Sets the dynamic shared memory.
    pub(crate) fn shared(mut self, bytes: usize) -> Launch {
        self.shared = bytes as u32;
        self
    }

    /// Marks instructions that only one architecture has.
    pub(crate) fn own_instructions(mut self) -> Launch {
        self.own_instructions = true;
        self
    }

    /// Sets the number of blocks in a cluster (compute capability 9 and later).
    pub(crate) fn cluster(mut self, blocks: i64) -> Launch {
        self.cluster = blocks;
        self
    }

    fn declare(&mut self, ctype: &str, name: &str, arg: Arg) {
        self.params.push(format!("{ctype} {name}"));
        self.args.push(arg);
    }

    /// Adds a pointer; `ctype` without the star.
    pub(crate) fn pointer(mut self, name: &str, ctype: &str, arg: Arg) -> Launch {
        self.declare(&format!("{ctype}*"), name, arg);
        self.passed.push(name.into());
        self
    }

    /// Adds a pointer to an operand's first element.
    pub(crate) fn source(mut self, name: &str, ctype: &str, source: Source) -> Launch {
        self.declare(&format!("const {ctype}*"), name, source.at);
        self.declare("int64", &format!("{name}_offset"), Arg::I64(source.offset));
        self.passed.push(format!("{name} + {name}_offset"));
        self
    }

    /// Adds a pointer to an element that is written.
    pub(crate) fn target(mut self, name: &str, ctype: &str, at: Source) -> Launch {
        self.declare(&format!("{ctype}*"), name, at.at);
        self.declare("int64", &format!("{name}_offset"), Arg::I64(at.offset));
        self.passed.push(format!("{name} + {name}_offset"));
        self
    }

    /// Adds an int64.
    pub(crate) fn int(mut self, name: &str, value: i64) -> Launch {
        self.declare("int64", name, Arg::I64(value));
        self.passed.push(name.into());
        self
    }

    /// Adds a float32 number.
    pub(crate) fn float(mut self, name: &str, value: f32) -> Launch {
        self.declare("float", name, Arg::I32(value.to_bits() as i32));
        self.passed.push(name.into());
        self
    }

    /// Adds a float32 scalar of the program.
    pub(crate) fn scalar(mut self, name: &str, slot: u32) -> Launch {
        self.declare("float", name, Arg::Scalar { slot, dtype: DType::F32 });
        self.passed.push(name.into());
        self
    }

    /// Adds a scalar of the program that no template gets as it is.
    pub(crate) fn value(mut self, name: &str, slot: u32, dtype: DType) -> Launch {
        self.declare(ctype(dtype), name, Arg::Scalar { slot, dtype });
        self
    }

    /// Adds a pointer to an operand's first element that no template gets as it is; null if there is none.
    pub(crate) fn operand(mut self, name: &str, ctype: &str, source: Option<Source>) -> Launch {
        if let Some(source) = source {
            self.declare(&format!("const {ctype}*"), &format!("{name}_start"), source.at);
            self.declare("int64", &format!("{name}_offset"), Arg::I64(source.offset));
            return self.line(format!("const {ctype}* {name} = {name}_start + {name}_offset;"));
        }
        self.line(format!("const {ctype}* {name} = nullptr;"))
    }

    /// Adds a line before the template's call.
    pub(crate) fn line(mut self, line: String) -> Launch {
        self.lines.push(line);
        self
    }

    /// Passes an expression to the template.
    pub(crate) fn passing(mut self, expression: String) -> Launch {
        self.passed.push(expression);
        self
    }

    /// Adds a pointer to an operand's first element; null if there is none.
    pub(crate) fn optional(self, name: &str, ctype: &str, source: Option<Source>) -> Launch {
        self.source(name, ctype, source.unwrap_or(Source { at: Arg::I64(0), offset: 0 }))
    }

    /// Adds an array of int64.
    pub(crate) fn ints(mut self, name: &str, values: &[i64]) -> Launch {
        let names: Vec<String> = (0..values.len()).map(|k| format!("{name}{k}")).collect();
        for (n, &v) in names.iter().zip(values) {
            self.declare("int64", n, Arg::I64(v));
        }
        self.lines.push(format!("const int64 {name}[] = {{{}}};", names.join(", ")));
        self.passed.push(name.into());
        self
    }

    /// Returns the launch of `template`. `blocks_per_sm` bounds the registers unless it is 0.
    pub(crate) fn stage(self, template: &str, blocks: i64, threads: u32, blocks_per_sm: u32) -> Stage {
        let bounds = if blocks_per_sm == 0 { String::new() } else { format!(", {blocks_per_sm}") };
        let cluster = if self.cluster == 1 { String::new() } else { format!("__cluster_dims__({}) ", self.cluster) };
        let head = format!("extern \"C\" __global__ void {cluster}__launch_bounds__({threads}{bounds}) {}", self.name);
        let mut code = signature(&head, &self.params);
        for line in &self.lines {
            code += &format!("    {line}\n");
        }
        code += &format!("    {template}({});\n}}\n", self.passed.join(", "));
        let mut prelude = self.parts.texts();
        prelude.extend(self.own);
        Stage {
            name: self.name.into(),
            prelude: prelude.into(),
            code: code.into(),
            args: self.args,
            grid: [blocks.max(1) as u32, 1, 1],
            block: [threads, 1, 1],
            shared: self.shared,
            own_instructions: self.own_instructions,
        }
    }
}

/// Division that rounds up.
pub(crate) trait DivUp {
    /// Returns `self / by`, rounded up, for a number ≥ 0.
    fn div_up(self, by: i64) -> i64;
}

impl DivUp for i64 {
    fn div_up(self, by: i64) -> i64 {
        (self + by - 1) / by
    }
}
