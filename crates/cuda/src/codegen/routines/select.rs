//! Selection: the first elements of each row in order, and elements of a rank.

use cuprous_core::DType;
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype};
use super::sort::{KEYS, launch, sort_dense};
use super::{Builder, DivUp, Launch, Source};

const TEXT: &str = include_str!("select.cuh");
/// `SELECT_BITS` of the template.
const BITS: usize = 11;
/// Most keys of a row that a block gathers in shared memory.
const MAX_GATHERED: i64 = 1024;
/// Elements of a thread in a block that gathers from long rows: `ITEMS` of the template, with 256 threads.
const ITEMS: i64 = 16;

/// Returns the unsigned type for keys of a dtype: at least 32 bits, as in the templates.
fn word(d: DType) -> DType {
    if d.size() == 8 { DType::U64 } else { DType::U32 }
}

/// Adds the passes that find the element of a rank in every row, and write it to `values` if given. Returns the memory
/// of the rows' selection states.
#[allow(clippy::too_many_arguments, reason = "the parts of one plan")]
fn passes(
    from: Source,
    d: DType,
    rows: i64,
    n: i64,
    rank: i64,
    largest: bool,
    values: Option<Arg>,
    builder: &mut Builder,
) -> Arg {
    let t = ctype(d);
    let state = builder.out.scratch(rows as usize * 16);
    let bins = builder.out.scratch((rows as usize) << (BITS + 2));
    let begin = launch("select_begin", d, &[KEYS, TEXT])
        .pointer("state", "selection", state)
        .pointer("bins", "uint32", bins)
        .int("rows", rows)
        .int("rank", rank);
    builder.out.stages.push(begin.stage("select_begin", (rows << BITS).div_up(256), 256, 0));
    let chunks = (8 * i64::from(builder.target.arch.sms)).div_up(rows).min(n.div_up(4096)).max(n.div_up(1 << 28));
    let count = (8 * d.size()).div_ceil(BITS) as i64;
    for pass in 0..count {
        let stage = launch(if largest { "select_count_largest" } else { "select_count" }, d, &[KEYS, TEXT])
            .source("x", t, from)
            .pointer("bins", "uint32", bins)
            .pointer("state", "selection", state)
            .int("n", n)
            .int("chunks", chunks)
            .int("length", n.div_up(chunks))
            .int("pass", pass)
            .stage(&format!("select_count<{t}, {largest}, 512, 4>"), rows * chunks, 512, 0);
        builder.out.stages.push(stage);
        let stage = launch("select_digit", d, &[KEYS, TEXT]).pointer("bins", "uint32", bins).pointer(
            "state",
            "selection",
            state,
        );
        // Without values the state is passed instead, unused.
        let (stage, template) = match values {
            Some(out) => (stage.pointer("values", t, out), format!("select_digit_of_rows<{t}, true>")),
            None => (stage.pointer("values", t, state), format!("select_digit_of_rows<{t}, false>")),
        };
        builder.out.stages.push(stage.int("pass", pass).stage(&template, rows, 256, 0));
    }
    state
}

/// Returns the rows and their length.
fn rows(call: &RoutineCall) -> (i64, i64) {
    let layout = &call.ins[0].1;
    let n = layout.shape.last().copied().unwrap_or(1);
    (layout.size / n, n)
}

/// Adds the launches that find the first `k` of each row.
pub(super) fn topk(call: &RoutineCall, largest: bool, builder: &mut Builder) {
    let d = call.ins[0].1.dtype;
    let ((rows, n), out) = (rows(call), Arg::Buffer(call.out.0));
    let k = call.out.1.shape.last().copied().unwrap_or(1);
    let from = builder.dense(&call.ins[0], d);
    let (t, w) = (ctype(d), word(d));
    let room = n as usize * w.size();
    // The dynamic memory must fit besides the block's static memory. With many rows two blocks should fit on a
    // multiprocessor.
    let most = if rows < 8 { 32 << 10 } else { builder.target.arch.max_shared.saturating_sub(28 << 10) };
    // Positions are counted in 16 bits.
    if k <= MAX_GATHERED && room <= most && n < 1 << 16 {
        let threads = if n > 2048 { 512 } else { 256 };
        let stage = launch(if largest { "largest_of_rows" } else { "least_of_rows" }, d, &[KEYS, TEXT])
            .shared(room)
            .source("x", t, from)
            .pointer("out", "int64", out)
            .int("n", n)
            .int("k", k)
            .stage(&format!("select_rows<{t}, {largest}, {threads}, {MAX_GATHERED}>"), rows, threads, 0);
        builder.out.stages.push(stage);
        return;
    }
    let tiles = n.div_up(256 * ITEMS);
    let state = passes(from, d, rows, n, k - 1, largest, None, builder);
    let keys = builder.out.scratch((rows * k) as usize * w.size());
    let positions = builder.out.scratch((rows * k) as usize * 4);
    let counts = builder.out.scratch((rows * tiles) as usize * 8);
    for gather in [false, true] {
        let name = match (gather, largest) {
            (false, true) => "count_largest",
            (false, false) => "count_least",
            (true, true) => "gather_largest",
            (true, false) => "gather_least",
        };
        let stage = launch(name, d, &[KEYS, TEXT])
            .source("x", t, from)
            .pointer("state", "selection", state)
            .pointer("keys", ctype(w), keys)
            .pointer("positions", "uint32", positions)
            .pointer("counts", "uint64", counts)
            .int("n", n)
            .int("k", k)
            .int("tiles", tiles)
            .stage(&format!("select_tile<{t}, {largest}, {ITEMS}, {gather}>"), rows * tiles, 256, 0);
        builder.out.stages.push(stage);
        if !gather {
            let before = launch("select_tiles", d, &[KEYS, TEXT]).pointer("counts", "uint64", counts);
            builder.out.stages.push(before.int("tiles", tiles).stage("select_tiles_before", rows, 1024, 0));
        }
    }
    sort_dense(Source { at: keys, offset: 0 }, w, rows, k, true, out, builder);
    let stage = Launch::new("places_of_chosen", &[], &[POSITIONS])
        .pointer("out", "int64", out)
        .pointer("positions", "uint32", positions)
        .int("k", k)
        .int("size", rows * k)
        .stage("select_positions", (rows * k).div_up(256), 256, 0);
    builder.out.stages.push(stage);
}

/// Turns positions among the selected elements into positions in the row.
const POSITIONS: &str = "DEV void select_positions(int64* out, const uint32* positions, int64 k, int64 size) {
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) out[i] = positions[i / k * k + out[i]];
}
";

/// Adds the launches that find the element of a rank in every row.
pub(super) fn select(call: &RoutineCall, rank: i64, builder: &mut Builder) {
    let d = call.ins[0].1.dtype;
    let (rows, n) = rows(call);
    let from = builder.dense(&call.ins[0], d);
    passes(from, d, rows, n, rank, false, Some(Arg::Buffer(call.out.0)), builder);
}
