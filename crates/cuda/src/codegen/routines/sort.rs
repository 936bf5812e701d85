//! Sorting along the last axis.

use cuprous_core::DType;
use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, RadixTile, Source};

pub(super) const KEYS: &str = include_str!("keys.cuh");
const DIGITS: &str = include_str!("digits.cuh");
const RADIX: &str = include_str!("radix.cuh");
const LANES: &str = include_str!("rows_lanes.cuh");
const NETWORK: &str = include_str!("rows_sort.cuh");
const ROWS: &str = include_str!("rows_radix.cuh");
/// Number of values of a digit.
const BINS: i64 = 256;
/// Rows of at most this many elements are sorted by a network.
const SHORT_ROW: i64 = 256;
/// Rows of at most this many elements are sorted in shared memory.
const BLOCK_ROW: i64 = 8192;

pub(super) fn launch(what: &str, d: DType, files: &[&'static str]) -> Launch {
    // The key templates test every type for half precision.
    let launch = Launch::new(format!("{what}_{}", short(d)), &[d], files).part(Part::Half);
    if d.is_complex() { launch.part(Part::Complex) } else { launch }
}

/// Adds the launches of a sort. With `indices` the result is positions.
pub(super) fn sort(call: &RoutineCall, indices: bool, builder: &mut Builder) {
    let operand = &call.ins[0];
    let (d, n) = (operand.1.dtype, operand.1.shape.last().copied().unwrap_or(1));
    let from = builder.dense(operand, d);
    sort_dense(from, d, operand.1.size / n, n, indices, Arg::Buffer(call.out.0), builder);
}

/// [`sort`] of contiguous rows.
pub(super) fn sort_dense(from: Source, d: DType, rows: i64, n: i64, indices: bool, out: Arg, builder: &mut Builder) {
    // Elements of 16 bytes need twice the registers.
    let most = if d == DType::C128 { BLOCK_ROW / 2 } else { BLOCK_ROW };
    if n > most {
        return long_rows(from, d, rows, n, indices, out, builder);
    }
    let what = if indices { "argsort_rows" } else { "sort_rows" };
    let t = ctype(d);
    let (template, file, blocks, threads, shared) = if n > SHORT_ROW {
        let (threads, items) = match n {
            ..=1024 => (256, 4),
            1025..=2048 => (256, 8),
            2049..=4096 => (256, 16),
            _ => (512, 16),
        };
        let bytes = (threads * items) as usize * (d.size() + if indices { 2 } else { 0 });
        (format!("rows_radix<{t}, {indices}, {threads}, {items}>"), ROWS, rows, threads, bytes)
    } else {
        let length = (n as u32).next_power_of_two().max(2);
        if d.is_complex() {
            let together = 1024 / length;
            let threads = (length * together / 2).clamp(32, 512);
            let template = format!("rows_sort<{t}, {indices}, {length}, {together}, {threads}>");
            (template, NETWORK, rows.div_up(i64::from(together)), threads, 0)
        } else {
            let lanes = length.min(32);
            let template = format!("rows_lanes<{t}, {indices}, {lanes}, {}, 256>", length / lanes);
            (template, LANES, (rows * i64::from(lanes)).div_up(256), 256, 0)
        }
    };
    let launch = launch(what, d, &[KEYS, DIGITS, file])
        .shared(shared)
        .source("x", t, from)
        .pointer("values_out", t, out)
        .pointer("indices_out", "int64", out);
    let launch = if file == ROWS { launch } else { launch.int("rows", rows) };
    builder.out.stages.push(launch.int("n", n).stage(&template, blocks, threads, 0));
}

/// Returns the number of digits of a type: its bytes, and for complex numbers one more for the NaN class.
fn digits(d: DType) -> usize {
    d.size() + usize::from(d.is_complex())
}

fn long_rows(from: Source, d: DType, rows: i64, n: i64, indices: bool, out: Arg, builder: &mut Builder) {
    let (passes, tuning) = (digits(d), builder.tuning);
    let bytes = (rows * n) as usize * d.size();
    // The last pass of a sort writes to the output; that of an argsort writes no elements.
    let odd = if passes > 1 { builder.out.scratch(bytes) } else { out };
    let even = if indices && passes > 2 { builder.out.scratch(bytes) } else { out };
    let RadixTile { threads, items, blocks } = if indices { tuning.radix_pairs } else { tuning.radix };
    // Positions of 30 bits leave two bits for flags.
    let (offset, offset_bytes) = if n < 1 << 30 { ("uint32", 4) } else { ("uint64", 8) };
    let (position, position_bytes) = match (indices, n < 1 << 32) {
        (false, _) => ("no_positions", 1),
        (true, true) => ("uint32", 4),
        (true, false) => ("int64", 8),
    };
    let widest = d.size().max(position_bytes).max(4) as u32;
    // Static shared memory, counters included, ends at 48 KiB.
    let room = 47_000 - threads / 32 * 1024 - BINS as u32 * offset_bytes as u32;
    let items = (items * 4 / widest).max(2).min(room / (threads * widest)).max(1);
    let tiles = n.div_up(i64::from(threads * items));

    // One range of zeros: histograms, tickets, the set of active passes, and the first pass's status. Each pass clears
    // the next one's status.
    let bins_bytes = (rows * passes as i64 * BINS) as usize * offset_bytes;
    let status_bytes = (rows * tiles * BINS) as usize * offset_bytes;
    let zeros = builder.out.scratch(bins_bytes + 256 + status_bytes);
    let odd_status = builder.out.scratch(status_bytes);
    let at = |more: usize| if let Arg::Scratch(base) = zeros { Arg::Scratch(base + more) } else { zeros };
    let (bins, tickets, active, even_status) = (zeros, at(bins_bytes), at(bins_bytes + 128), at(bins_bytes + 256));

    let words = ((bins_bytes + 256 + status_bytes) / 4) as i64;
    let plain = |name: &str| Launch::new(name, &[], &[KEYS, DIGITS, RADIX]).part(Part::Half);
    let clear = plain("clear_words").pointer("words", "uint32", zeros).int("n", words);
    builder.out.stages.push(clear.stage("radix_clear", words.div_up(512), 512, 0));

    // Several copies of the counters reduce conflicts among the lanes of a warp.
    let counters = tuning.radix_histogram_threads;
    let copies = (tuning.radix_histogram_bytes / (passes * 1024)).clamp(1, 32);
    let copies = if copies.is_power_of_two() { copies } else { copies.next_power_of_two() / 2 };
    // Each block counts in 32 bits.
    let fill = i64::from(4096 / counters * builder.target.arch.sms);
    let chunks = fill.div_up(rows).min(n.div_up(4096)).max(n.div_up(1 << 28));
    let histogram = launch("radix_histogram", d, &[KEYS, DIGITS, RADIX])
        .source("x", ctype(d), from)
        .pointer("bins", offset, bins)
        .int("n", n)
        .int("chunks", chunks)
        .int("length", n.div_up(chunks))
        .shared(passes * 1024 * copies);
    let template = format!("radix_histogram<{}, {indices}, {offset}, {counters}, {copies}>", ctype(d));
    builder.out.stages.push(histogram.stage(&template, rows * chunks, counters, 0));
    let starts = plain("digit_starts")
        .pointer("bins", offset, bins)
        .pointer("active", "uint32", active)
        .int("n", n)
        .int("passes", passes as i64);
    builder.out.stages.push(starts.stage(&format!("radix_starts<{offset}>"), rows * passes as i64, 256, 0));

    // Positions alternate between the scratch and the output, which has 8 bytes for each.
    let odd_positions =
        if indices && passes > 1 { builder.out.scratch((rows * n) as usize * position_bytes) } else { out };
    let template = format!(
        "radix_pass<{}, {position}, {offset}, {threads}, {items}, {}, {}>",
        ctype(d),
        tuning.radix_lookback,
        tuning.radix_match
    );
    let ahead = i64::from(tuning.radix_prefetch * blocks * builder.target.arch.sms);
    for pass in 0..passes {
        let stage = launch(if indices { "radix_argsort" } else { "radix_sort" }, d, &[KEYS, DIGITS, RADIX])
            .source("x", ctype(d), from)
            .pointer("even", ctype(d), even)
            .pointer("odd", ctype(d), odd)
            .pointer("even_positions", position, out)
            .pointer("odd_positions", position, odd_positions)
            .pointer("indices_out", "int64", out)
            .pointer("starts", offset, bins)
            .pointer("active", "uint32", active)
            .pointer("even_status", offset, even_status)
            .pointer("odd_status", offset, odd_status)
            .pointer("tickets", "uint32", tickets)
            .int("n", n)
            .int("tiles", tiles)
            .int("pass", pass as i64)
            .int("ahead", ahead)
            .stage(&template, rows * tiles, threads, blocks);
        builder.out.stages.push(stage);
    }
}
