//! Binary search.

use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source};

const TEXT: &str = include_str!("search.cuh");
/// Elements of a long table that blocks keep in shared memory, and the bytes of them if there are many values to find.
/// Steps in global memory take the longest, since each reads an element of its own.
const PIVOTS: i64 = 1024;
const PIVOT_BYTES: i64 = 32 << 10;
const THREADS: i64 = 512;

/// Adds the launches of a search.
pub(super) fn search(call: &RoutineCall, right: bool, builder: &mut Builder) {
    let (buffer, sorted) = &call.ins[0];
    let d = sorted.dtype;
    let values = builder.dense(&call.ins[1], d);
    let (length, count) = (sorted.size, call.out.1.size);
    let most = PIVOT_BYTES / d.size() as i64;
    let pivots = if length >= 8 * most && count >= 64 * most {
        most
    } else if length >= 4 * PIVOTS && count >= PIVOTS {
        PIVOTS
    } else {
        1
    };
    let stage = Launch::new(format!("search_sorted_{}", short(d)), &[d], &[TEXT])
        .source("sorted", ctype(d), Source { at: Arg::Buffer(*buffer), offset: sorted.offset })
        .source("values", ctype(d), values)
        .pointer("indices", "int64", Arg::Buffer(call.out.0))
        .int("length", length)
        .int("stride", sorted.strides.first().copied().unwrap_or(1))
        .int("count", count)
        .int("step", length.div_up(pivots))
        .stage(
            &format!("search_sorted<{}, {right}, {pivots}>", ctype(d)),
            count.div_up(THREADS).min(4 * i64::from(builder.target.arch.sms)),
            THREADS as u32,
            0,
        );
    builder.out.stages.push(stage);
}
