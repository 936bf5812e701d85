//! Scans (running reductions).

use cuprous_core::{DType, ScanOp};
use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source, vector};

const TEXT: &str = include_str!("scan.cuh");
const STREAM_TEXT: &str = include_str!("scan_stream.cuh");
/// Bulk copies, for kernels of sm_90 and later.
pub(super) const BULK: &str = include_str!("bulk.cuh");
/// Tiles of a group and groups of a span: `SCAN_GROUP` and `SCAN_SPAN` of the template.
const GROUP: i64 = 128;
const SPAN: i64 = 64;
/// Rows up to this length are scanned by a part of a warp each, if there are many.
const SHORT_ROW: i64 = 2048;
/// The least length of a chunk of a column.
const CHUNK: i64 = 32;

/// What all kernels of one scan share: operation, type of the operand, type of the result.
#[derive(Clone, Copy)]
struct ScanSpec {
    op: ScanOp,
    from: DType,
    to: DType,
}

impl ScanSpec {
    /// Returns the template arguments `In, Out, Op`.
    fn types(self) -> String {
        format!("{}, {}, reduce_{}<{}>", ctype(self.from), ctype(self.to), self.op.name(), ctype(self.to.accumulator()))
    }

    fn launch(self, what: &str) -> Launch {
        self.launch_of(what, &[TEXT])
    }

    fn launch_of(self, what: &str, texts: &[&'static str]) -> Launch {
        let name = format!("{what}_{}_{}", self.op.name(), short(self.to));
        let types = [self.from, self.to, self.to.accumulator()];
        let launch = Launch::new(name, &types, texts).part(Part::Reduce);
        if types.iter().any(|d| d.is_complex()) { launch.part(Part::ComplexMath) } else { launch }
    }
}

/// Adds the launches of a scan.
pub(super) fn scan(call: &RoutineCall, op: ScanOp, axis: usize, builder: &mut Builder) {
    let (buffer, layout) = &call.ins[0];
    let to = &call.out.1;
    let out = Arg::Buffer(call.out.0);
    let product = |dims: &[i64]| dims.iter().product::<i64>();
    let (outer, n, inner) = (product(&to.shape[..axis]), to.shape[axis], product(&to.shape[axis + 1..]));
    let mut from = Source { at: Arg::Buffer(*buffer), offset: layout.offset };
    let mut spec = ScanSpec { op, from: layout.dtype, to: to.dtype };
    if !layout.is_c_contiguous() {
        // Scans can run in place, so the copy is made in the output.
        builder.pack(from.at, layout, out, to.dtype);
        from = Source { at: out, offset: 0 };
        spec.from = to.dtype;
    }
    if inner > 1 {
        columns(spec, from, out, [outer, n, inner], builder);
    } else {
        rows(spec, from, out, outer, n, builder);
    }
}

/// Scans rows of contiguous memory.
fn rows(spec: ScanSpec, from: Source, out: Arg, rows: i64, n: i64, builder: &mut Builder) {
    let size = spec.from.size().max(spec.to.size());
    let row = if rows > 1 { n } else { 0 };
    let v = vector(size, builder.target.options.aligned, &[from.offset, row]);
    let (from_type, to_type) = (ctype(spec.from), ctype(spec.to));
    if n <= SHORT_ROW && rows >= 64 {
        let lanes = (n.div_up(i64::from(v)) as u32).next_power_of_two().min(32);
        let launch = spec.launch("scan_rows").source("x", from_type, from).pointer("y", to_type, out);
        let template = format!("scan_rows<{}, {lanes}, {v}>", spec.types());
        let blocks = (rows * i64::from(lanes)).div_up(256);
        builder.out.stages.push(launch.int("rows", rows).int("n", n).stage(&template, blocks, 256, 0));
        return;
    }
    if i64::from(v) * size as i64 == 16 && stream(spec, from, out, rows, n, builder) {
        return;
    }
    let threads = builder.tuning.scan_threads;
    // The same number of bytes per thread for any vector width, but at most 64 elements.
    let most = i64::from((builder.tuning.scan_vectors * 16 / (v * size as u32).max(4)).clamp(1, 16).min(64 / v));
    let line = i64::from(threads * v);
    // With many rows, each block scans a whole row in tiles of equal size.
    let chained = n > line * most && rows < 2 * i64::from(builder.target.arch.sms);
    let k = if chained { most } else { n.div_up(n.div_up(line * most)).div_up(line) };
    let tiles = n.div_up(line * k);
    let a = spec.to.accumulator();
    let [control, tags, values] = if chained { lookback_state(spec, rows, tiles, builder) } else { [out; 3] };
    // Wider accumulators, and many narrow elements, would spill.
    let light = a.size() <= 4 && i64::from(v) * k <= 32;
    let bound = if chained && light { builder.tuning.scan_blocks } else { 0 };
    let blocks = if chained { rows * tiles } else { rows };
    let stage = spec
        .launch("scan")
        .source("x", from_type, from)
        .pointer("y", to_type, out)
        .int("rows", rows)
        .int("n", n)
        .int("tiles", tiles)
        .pointer("control", "uint32", control)
        .pointer("tags", "uint64", tags)
        .pointer("values", ctype(a), values)
        .stage(&format!("scan_tiles<{}, {threads}, {v}, {k}, {chained}>", spec.types()), blocks, threads, bound);
    builder.out.stages.push(stage);
}

/// Reserves the state that tiles share: the ticket counter, tags and values.
fn lookback_state(spec: ScanSpec, rows: i64, tiles: i64, builder: &mut Builder) -> [Arg; 3] {
    let groups = tiles.div_up(GROUP);
    let words = (rows * (tiles + groups + groups.div_up(SPAN))) as usize;
    let a = spec.to.accumulator().size();
    let values = if a > 4 { words * a } else { 16 };
    [builder.out.state(16), builder.out.state(8 * words), builder.out.state(values)]
}

/// Scans few long rows through shared memory by bulk copies. Returns false if that is not possible or not faster.
fn stream(spec: ScanSpec, from: Source, out: Arg, rows: i64, n: i64, builder: &mut Builder) -> bool {
    let (arch, a, size) = (builder.target.arch, spec.to.accumulator(), spec.to.size());
    let (threads, vectors) = (builder.tuning.stream_threads, builder.tuning.stream_vectors);
    let bytes = (16 * threads * vectors) as usize;
    // A stage holds a tile, the prefixes of its lanes and warps, and a few words.
    let stage = bytes + (threads + threads / 32 + 2) as usize * a.size() + 64;
    let stages = (arch.max_shared / stage).min(builder.tuning.stream_stages as usize);
    let tiles = n.div_up((bytes / size) as i64);
    let sms = i64::from(arch.sms);
    // Single bytes would need too many registers; for wide accumulators no gain was measured.
    let fits = spec.from.size() == size && size > 1 && a.size() <= 4;
    if arch.major < 9 || !fits || stages < 4 || rows * tiles < 2 * sms || rows >= 2 * sms {
        return false;
    }
    let [control, tags, values] = lookback_state(spec, rows, tiles, builder);
    let stage = spec
        .launch_of("scan_stream", &[TEXT, BULK, STREAM_TEXT])
        .shared(stages * bytes)
        .source("x", ctype(spec.from), from)
        .pointer("y", ctype(spec.to), out)
        .int("rows", rows)
        .int("n", n)
        .int("tiles", tiles)
        .pointer("control", "uint32", control)
        .pointer("tags", "uint64", tags)
        .pointer("values", ctype(a), values)
        .stage(
            &format!("scan_stream<{}, {threads}, {vectors}, {stages}>", spec.types()),
            sms.min(rows * tiles),
            2 * threads + 64,
            1,
        );
    builder.out.stages.push(stage);
    true
}

/// Scans along an axis that is not the last: (outer, n, inner) with inner > 1.
fn columns(spec: ScanSpec, from: Source, out: Arg, [outer, n, inner]: [i64; 3], builder: &mut Builder) {
    let wanted = builder.full_device() / 2 / (outer * inner);
    let chunks = wanted.min(n / CHUNK).max(1);
    let length = n.div_up(chunks);
    let chunks = n.div_up(length);
    let a = spec.to.accumulator();
    let mut sums = out;
    let unrolled = (64 / spec.to.size().max(spec.from.size())).clamp(4, 8);
    let blocks = (outer * inner * chunks).div_up(128);
    let launch = |reduce: bool, sums: Arg| {
        let template = format!("scan_columns<{}, {reduce}, {unrolled}>", spec.types());
        spec.launch(if reduce { "reduce_chunks" } else { "scan_columns" })
            .source("x", ctype(spec.from), from)
            .pointer("y", ctype(spec.to), out)
            .pointer("sums", ctype(a), sums)
            .int("outer", outer)
            .int("n", n)
            .int("inner", inner)
            .int("chunks", chunks)
            .int("length", length)
            .stage(&template, blocks, 128, 0)
    };
    if chunks > 1 {
        sums = builder.out.scratch((outer * inner * chunks) as usize * a.size());
        builder.out.stages.push(launch(true, sums));
        let among = ScanSpec { from: a, to: a, ..spec };
        columns(among, Source { at: sums, offset: 0 }, sums, [outer, chunks, inner], builder);
    }
    builder.out.stages.push(launch(false, sums));
}
