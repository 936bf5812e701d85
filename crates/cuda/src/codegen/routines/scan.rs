//! Running folds.

use cuprous_core::{DType, ScanOp};
use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made, Source, vector};

const TEXT: &str = include_str!("scan.cuh");
const STREAM: &str = include_str!("scan_stream.cuh");
/// Bulk copies, for kernels of sm_90 and later.
const BULK: &str = include_str!("bulk.cuh");
/// Tiles whose aggregates are added at once, and groups whose sums are: `SCAN_GROUP` and `SCAN_SPAN` of the template.
const GROUP: i64 = 128;
const SPAN: i64 = 64;
/// Rows up to this long are taken by a part of a warp each, where there are many.
const SHORT_ROW: i64 = 2048;
/// Chunks of a column are no shorter.
const CHUNK: i64 = 32;

fn op_name(op: ScanOp) -> &'static str {
    match op {
        ScanOp::Sum => "sum",
        ScanOp::Prod => "prod",
        ScanOp::Max => "max",
        ScanOp::Min => "min",
    }
}

/// What all kernels of one scan share.
#[derive(Clone, Copy)]
struct Fold {
    op: ScanOp,
    from: DType,
    to: DType,
}

impl Fold {
    /// `In, Out, Op`.
    fn types(self) -> String {
        format!("{}, {}, fold_{}<{}>", ctype(self.from), ctype(self.to), op_name(self.op), ctype(self.to.accumulator()))
    }

    fn launch(self, what: &str) -> Launch {
        self.launch_of(what, &[TEXT])
    }

    fn launch_of(self, what: &str, texts: &[&'static str]) -> Launch {
        let name = format!("{what}_{}_{}", op_name(self.op), short(self.to));
        let types = [self.from, self.to, self.to.accumulator()];
        let launch = Launch::new(name, &types, texts).part(Part::Folds);
        if types.iter().any(|d| d.is_complex()) { launch.part(Part::ComplexMath) } else { launch }
    }
}

/// Adds the launches of a scan.
pub(super) fn scan(call: &RoutineCall, op: ScanOp, axis: usize, made: &mut Made) {
    let (buffer, layout) = &call.ins[0];
    let to = &call.out.1;
    let out = Arg::Buffer(call.out.0);
    let product = |dims: &[i64]| dims.iter().product::<i64>();
    let (outer, n, inner) = (product(&to.shape[..axis]), to.shape[axis], product(&to.shape[axis + 1..]));
    let mut from = Source { at: Arg::Buffer(*buffer), offset: layout.offset };
    let mut fold = Fold { op, from: layout.dtype, to: to.dtype };
    if !layout.is_c_contiguous() {
        // Scans work in place.
        made.pack(from.at, layout, out, to.dtype);
        from = Source { at: out, offset: 0 };
        fold.from = to.dtype;
    }
    if inner > 1 {
        columns(fold, from, out, [outer, n, inner], made);
    } else {
        rows(fold, from, out, outer, n, made);
    }
}

/// Along contiguous memory.
fn rows(fold: Fold, from: Source, out: Arg, rows: i64, n: i64, made: &mut Made) {
    let size = fold.from.size().max(fold.to.size());
    let row = if rows > 1 { n } else { 0 };
    let v = vector(size, made.target.options.aligned, &[from.offset, row]);
    let (from_type, to_type) = (ctype(fold.from), ctype(fold.to));
    if n <= SHORT_ROW && rows >= 64 {
        let lanes = (n.div_up(i64::from(v)) as u32).next_power_of_two().min(32);
        let launch = fold.launch("scan_rows").source("x", from_type, from).pointer("y", to_type, out);
        let template = format!("scan_rows<{}, {lanes}, {v}>", fold.types());
        let blocks = (rows * i64::from(lanes)).div_up(256);
        made.out.stages.push(launch.int("rows", rows).int("n", n).stage(&template, blocks, 256, 0));
        return;
    }
    if i64::from(v) * size as i64 == 16 && stream(fold, from, out, rows, n, made) {
        return;
    }
    let threads = made.tuning.scan_threads;
    // As many bytes a thread whatever the vector, but no more than 64 elements.
    let most = i64::from((made.tuning.scan_vectors * 16 / (v * size as u32).max(4)).clamp(1, 16).min(64 / v));
    let line = i64::from(threads * v);
    // Where rows are many, a block goes through each; its tiles then share the row evenly.
    let chained = n > line * most && rows < 2 * i64::from(made.target.arch.sms);
    let k = if chained { most } else { n.div_up(n.div_up(line * most)).div_up(line) };
    let tiles = n.div_up(line * k);
    let a = fold.to.accumulator();
    let [head, tags, values] = if chained { told(fold, rows, tiles, made) } else { [out; 3] };
    // Wider accumulators, and many narrow elements, would spill.
    let light = a.size() <= 4 && i64::from(v) * k <= 32;
    let bound = if chained && light { made.tuning.scan_blocks } else { 0 };
    let blocks = if chained { rows * tiles } else { rows };
    let stage = fold
        .launch("scan")
        .source("x", from_type, from)
        .pointer("y", to_type, out)
        .int("rows", rows)
        .int("n", n)
        .int("tiles", tiles)
        .pointer("head", "uint32", head)
        .pointer("tags", "uint64", tags)
        .pointer("values", ctype(a), values)
        .stage(&format!("scan_tiles<{}, {threads}, {v}, {k}, {chained}>", fold.types()), blocks, threads, bound);
    made.out.stages.push(stage);
}

/// What tiles tell each other: tickets, tags and values.
fn told(fold: Fold, rows: i64, tiles: i64, made: &mut Made) -> [Arg; 3] {
    let groups = tiles.div_up(GROUP);
    let words = (rows * (tiles + groups + groups.div_up(SPAN))) as usize;
    let a = fold.to.accumulator().size();
    let values = if a > 4 { words * a } else { 16 };
    [made.out.state(16), made.out.state(8 * words), made.out.state(values)]
}

/// Few long rows through shared memory by bulk copies; false where that is not possible or does not pay.
fn stream(fold: Fold, from: Source, out: Arg, rows: i64, n: i64, made: &mut Made) -> bool {
    let (arch, a, size) = (made.target.arch, fold.to.accumulator(), fold.to.size());
    let (threads, vectors) = (made.tuning.stream_threads, made.tuning.stream_vectors);
    let bytes = (16 * threads * vectors) as usize;
    // A stage holds a tile, what lies before its lanes and warps, and a few words.
    let stage = bytes + (threads + threads / 32 + 2) as usize * a.size() + 64;
    let stages = (arch.max_shared / stage).min(made.tuning.stream_stages as usize);
    let tiles = n.div_up((bytes / size) as i64);
    let sms = i64::from(arch.sms);
    // Single bytes would need too many registers, and for wide accumulators it was measured to be no faster.
    let fits = fold.from.size() == size && size > 1 && a.size() <= 4;
    if arch.major < 9 || !fits || stages < 4 || rows * tiles < 2 * sms || rows >= 2 * sms {
        return false;
    }
    let [head, tags, values] = told(fold, rows, tiles, made);
    let stage = fold
        .launch_of("scan_stream", &[TEXT, BULK, STREAM])
        .shared(stages * bytes)
        .source("x", ctype(fold.from), from)
        .pointer("y", ctype(fold.to), out)
        .int("rows", rows)
        .int("n", n)
        .int("tiles", tiles)
        .pointer("head", "uint32", head)
        .pointer("tags", "uint64", tags)
        .pointer("values", ctype(a), values)
        .stage(
            &format!("scan_stream<{}, {threads}, {vectors}, {stages}>", fold.types()),
            sms.min(rows * tiles),
            2 * threads + 64,
            1,
        );
    made.out.stages.push(stage);
    true
}

/// Along another axis than the last: (outer, n, inner) with inner > 1.
fn columns(fold: Fold, from: Source, out: Arg, [outer, n, inner]: [i64; 3], made: &mut Made) {
    let wanted = made.full_device() / 2 / (outer * inner);
    let chunks = wanted.min(n / CHUNK).max(1);
    let length = n.div_up(chunks);
    let chunks = n.div_up(length);
    let a = fold.to.accumulator();
    let mut sums = out;
    let unrolled = (64 / fold.to.size().max(fold.from.size())).clamp(4, 8);
    let blocks = (outer * inner * chunks).div_up(128);
    let launch = |folds: bool, sums: Arg| {
        let template = format!("scan_columns<{}, {folds}, {unrolled}>", fold.types());
        fold.launch(if folds { "fold_chunks" } else { "scan_columns" })
            .source("x", ctype(fold.from), from)
            .pointer("y", ctype(fold.to), out)
            .pointer("sums", ctype(a), sums)
            .int("outer", outer)
            .int("n", n)
            .int("inner", inner)
            .int("chunks", chunks)
            .int("length", length)
            .stage(&template, blocks, 128, 0)
    };
    if chunks > 1 {
        sums = made.out.scratch((outer * inner * chunks) as usize * a.size());
        made.out.stages.push(launch(true, sums));
        let among = Fold { from: a, to: a, ..fold };
        columns(among, Source { at: sums, offset: 0 }, sums, [outer, chunks, inner], made);
    }
    made.out.stages.push(launch(false, sums));
}
