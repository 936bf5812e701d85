//! Sorting along the last axis.

use cuprous_core::DType;
use cuprous_plan::kernel::Call;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made, Source};

const KEYS: &str = include_str!("keys.cuh");
const RADIX: &str = include_str!("radix.cuh");
const ROWS: &str = include_str!("rows_sort.cuh");
/// Digits of a pass have so many values.
const BINS: i64 = 256;
/// Rows of at most so many elements are sorted in shared memory.
const SHORT_ROW: i64 = 4096;

fn launch(what: &str, d: DType, file: &'static str) -> Launch {
    // Keys ask of every type whether it is a half.
    let launch = Launch::new(format!("{what}_{}", short(d)), &[d], &[KEYS, file]).part(Part::Half);
    if d.is_complex() { launch.part(Part::Complex) } else { launch }
}

/// Adds the launches of a sort; `indices`: its result are positions.
pub(super) fn sort(call: &Call, indices: bool, made: &mut Made) {
    let operand = &call.ins[0];
    let (layout, out) = (&operand.1, Arg::Buffer(call.out.0));
    let d = layout.dtype;
    let n = layout.shape.last().copied().unwrap_or(1);
    let rows = layout.size / n;
    // Keys of 16 bytes fill the shared memory sooner.
    if n <= if d == DType::C128 { SHORT_ROW / 2 } else { SHORT_ROW } {
        let from = made.dense(operand, d);
        return short_rows(from, d, rows, n, indices, out, made);
    }
    let passes = digits(d);
    let bytes = (rows * n) as usize * d.size();
    // Elements move between two places; the last pass of a sort writes to the output, that of an argsort no elements.
    let places = match (indices, passes) {
        (true, 1) => [out, out],
        (true, 2) => [out, made.out.scratch(bytes)],
        (true, _) => [made.out.scratch(bytes), made.out.scratch(bytes)],
        (false, 1) => [out, out],
        (false, _) => [out, made.out.scratch(bytes)],
    };
    let place = |pass: usize| places[(passes - 1 - pass) % 2];
    let from = if layout.is_c_contiguous() {
        Source { at: Arg::Buffer(operand.0), offset: layout.offset }
    } else {
        // Not where the first pass writes.
        let copy = if indices || passes == 1 { made.out.scratch(bytes) } else { places[passes % 2] };
        made.pack(Arg::Buffer(operand.0), layout, copy, d);
        Source { at: copy, offset: 0 }
    };
    long_rows(from, d, rows, n, indices, out, &place, made);
}

/// Digits of a type: bytes, and for complex numbers one more for where they are NaN.
fn digits(d: DType) -> usize {
    d.size() + usize::from(d.is_complex())
}

fn short_rows(from: Source, d: DType, rows: i64, n: i64, indices: bool, out: Arg, made: &mut Made) {
    let length = (n as u32).next_power_of_two().max(2);
    let together = (1024 / length).max(1);
    let threads = (length * together / 2).clamp(32, 512);
    let template = format!("rows_sort<{}, {indices}, {length}, {together}, {threads}>", ctype(d));
    let blocks = rows.div_up(i64::from(together));
    let stage = launch(if indices { "argsort_rows" } else { "sort_rows" }, d, ROWS)
        .source("x", ctype(d), from)
        .pointer("values_out", ctype(d), out)
        .pointer("indices_out", "int64", out)
        .int("rows", rows)
        .int("n", n)
        .stage(&template, blocks, threads, 0);
    made.out.stages.push(stage);
}

#[allow(clippy::too_many_arguments, reason = "the parts of one plan")]
fn long_rows(
    from: Source,
    d: DType,
    rows: i64,
    n: i64,
    indices: bool,
    out: Arg,
    place: &dyn Fn(usize) -> Arg,
    made: &mut Made,
) {
    let passes = digits(d);
    let threads = made.tuning.radix_threads;
    // Positions of 30 bits leave two for flags.
    let (offset, offset_bytes) = if n < 1 << 30 { ("uint32", 4) } else { ("uint64", 8) };
    let (position, position_bytes) = match (indices, n < 1 << 32) {
        (false, _) => ("nothing", 1),
        (true, true) => ("uint32", 4),
        (true, false) => ("int64", 8),
    };
    let widest = d.size().max(position_bytes).max(4) as u32;
    // Static shared memory ends at 48 KiB, counters included.
    let four_bytes = made.tuning.radix_items - if indices { 1 } else { 0 };
    let items = (four_bytes * 4 / widest).max(2).min(30_000 / (threads * widest)).max(1);
    let tiles = n.div_up(i64::from(threads * items));

    // One stretch of zeros: histograms, tickets, the first pass's status. Each pass clears the next one's.
    let bins_bytes = (rows * passes as i64 * BINS) as usize * offset_bytes;
    let status_bytes = (rows * tiles * BINS) as usize * offset_bytes;
    let zeros = made.out.scratch(bins_bytes + 256 + status_bytes);
    let other_status = made.out.scratch(status_bytes);
    let at = |more: usize| if let Arg::Scratch(base) = zeros { Arg::Scratch(base + more) } else { zeros };
    let (bins, tickets, first_status) = (zeros, at(bins_bytes), at(bins_bytes + 256));

    let words = ((bins_bytes + 256 + status_bytes) / 4) as i64;
    let plain = |name: &str| Launch::new(name, &[], &[KEYS, RADIX]).part(Part::Half);
    let clear = plain("clear_words").pointer("words", "uint32", zeros).int("n", words);
    made.out.stages.push(clear.stage("radix_clear", words.div_up(512), 512, 0));

    // Copies of the counters keep a warp's increments apart.
    let (room, counters) = (32 << 10, 256);
    let copies = (room / (passes * 1024)).max(1);
    let copies = if copies.is_power_of_two() { copies } else { copies.next_power_of_two() / 2 };
    // Each block counts in 32 bits.
    let chunks = (16 * i64::from(made.target.arch.sms)).div_up(rows).min(n.div_up(4096)).max(n.div_up(1 << 28));
    let histogram = launch("radix_histogram", d, RADIX)
        .source("x", ctype(d), from)
        .pointer("bins", offset, bins)
        .int("n", n)
        .int("chunks", chunks)
        .int("length", n.div_up(chunks))
        .shared(passes * 1024 * copies)
        .stage(&format!("radix_histogram<{}, {offset}, {counters}, {copies}>", ctype(d)), rows * chunks, counters, 0);
    made.out.stages.push(histogram);
    let starts = plain("digit_starts").pointer("bins", offset, bins).stage(
        &format!("radix_starts<{offset}>"),
        rows * passes as i64,
        256,
        0,
    );
    made.out.stages.push(starts);

    // Positions alternate between the scratch and the output's memory, which has 8 bytes for each.
    let positions = if indices && passes > 1 { made.out.scratch((rows * n) as usize * position_bytes) } else { out };
    let positions_at = |pass: usize| if (passes - 1 - pass).is_multiple_of(2) { out } else { positions };
    let template =
        format!("radix_pass<{}, {position}, {offset}, {threads}, {items}, {}>", ctype(d), made.tuning.radix_back);
    for pass in 0..passes {
        let source = if pass == 0 { from } else { Source { at: place(pass - 1), offset: 0 } };
        let (status, next) = if pass % 2 == 0 { (first_status, other_status) } else { (other_status, first_status) };
        let stage = launch(if indices { "radix_argsort" } else { "radix_sort" }, d, RADIX)
            .source("from", ctype(d), source)
            .pointer("to", ctype(d), place(pass))
            .pointer("with_from", position, positions_at(pass.max(1) - 1))
            .pointer("with_to", position, positions_at(pass))
            .pointer("indices_out", "int64", out)
            .pointer("starts", offset, bins)
            .pointer("status", offset, status)
            .pointer("next_status", offset, next)
            .pointer("tickets", "uint32", tickets)
            .int("n", n)
            .int("tiles", tiles)
            .int("pass", pass as i64)
            .stage(&template, rows * tiles, threads, made.tuning.radix_blocks);
        made.out.stages.push(stage);
    }
}
