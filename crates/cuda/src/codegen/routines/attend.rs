//! Attention without a gradient, for few queries or few scores. cuDNN does the rest, or products and a softmax.

use cuprous_core::attention::RowAttention;
use cuprous_core::{DType, Layout};
use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch, Source, WIDE, vector, wide};

const TEXT: &str = include_str!("attend.cuh");
const THREADS: i64 = 128;
/// Queries of a block, if there is more than one.
const ROWS: i64 = 4;
/// Features of a key that a lane holds, as far as 32 lanes hold all.
const LANE_FEATURES: i64 = 8;
/// Features up to which the lanes of a warp keep a row in registers.
const MAX_FEATURES: i64 = 512;
/// Scores up to which this is faster than two products and a softmax between them.
const MAX_SCORES: i64 = 1 << 18;

/// Returns true if attention of this kind has its own kernel.
pub(crate) fn is_supported(of: &RowAttention) -> bool {
    let scores = of.heads.saturating_mul(of.queries).saturating_mul(of.keys);
    match of.dtype {
        _ if of.features > MAX_FEATURES => false,
        DType::F16 | DType::BF16 => of.queries <= ROWS,
        DType::F32 | DType::F64 => of.queries <= ROWS || scores <= MAX_SCORES,
        _ => false,
    }
}

/// Adds the launches of attention.
pub(super) fn attend(call: &RoutineCall, of: &RowAttention, builder: &mut Builder) {
    let [q, k, v] = [0, 1, 2].map(|i| &call.ins[i].1);
    let (d, sums) = (call.out.1.dtype, wide(call.out.1.dtype));
    let [batch, heads, queries, width] = [0, 1, 2, 3].map(|axis| q.shape[axis]);
    let (keys, depth) = (k.shape[2], v.shape[3]);
    let lanes = (width.max(depth).div_up(LANE_FEATURES) as u64).next_power_of_two().clamp(1, 32) as i64;
    let rows = if queries == 1 { 1 } else { ROWS };
    let read_at_once = if d == DType::F64 { 2 } else { 4 };
    let groups = THREADS / lanes;
    // Every block reads at least twice what it reads at once, and all of them together fill the device.
    let blocks = batch * heads * queries.div_up(rows);
    let most = keys.div_up(2 * groups * read_at_once);
    let splits = (4 * i64::from(builder.target.arch.sms) / blocks).clamp(1, most.max(1));
    let each = keys.div_up(splits).div_up(groups) * groups;
    let splits = keys.div_up(each);
    let out = Arg::Buffer(call.out.0);
    let parts = match splits {
        1 => Arg::I64(0),
        _ => builder.out.scratch((batch * heads * queries * splits * (depth + 2)) as usize * sums.size()),
    };
    let aligned = builder.target.options.aligned;
    let (k_steps, k_vector) = steps(k, aligned);
    let (v_steps, v_vector) = steps(v, aligned);
    let source = |i: usize| Source { at: Arg::Buffer(call.ins[i].0), offset: call.ins[i].1.offset };
    let template = format!(
        "attend<{}, {width}, {depth}, {lanes}, {k_vector}, {v_vector}, {rows}, {read_at_once}, {THREADS}>",
        ctype(d)
    );
    let stage = Launch::new(format!("attend_{}", short(d)), &[d], &[WIDE, TEXT])
        .part(Part::Block)
        .source("q", ctype(d), source(0))
        .source("k", ctype(d), source(1))
        .source("v", ctype(d), source(2))
        .pointer("y", ctype(d), out)
        .pointer("parts", ctype(sums), parts)
        .int("heads", heads)
        .int("queries", queries)
        .int("keys", keys)
        .int("splits", splits)
        .int("each", each)
        .int("causal", of.causal.into())
        .int("scale", of.scale as i64)
        .ints("q_steps", &steps(q, aligned).0)
        .ints("k_steps", &k_steps)
        .ints("v_steps", &v_steps)
        .stage(&template, blocks * splits, THREADS as u32, 0);
    builder.out.stages.push(stage);
    if splits > 1 {
        let stage = Launch::new(format!("attend_join_{}", short(d)), &[d], &[WIDE, TEXT])
            .part(Part::Block)
            .pointer("parts", ctype(sums), parts)
            .pointer("y", ctype(d), out)
            .int("splits", splits)
            .int("depth", depth)
            .stage(&format!("attend_join<{}, {}>", ctype(d), ctype(sums)), batch * heads * queries, 128, 0);
        builder.out.stages.push(stage);
    }
}

/// Returns the strides of an operand, 0 where nothing is beside the first element, and the widest vector of its features.
fn steps(operand: &Layout, aligned: bool) -> ([i64; 4], u32) {
    let step = |axis: usize| if operand.shape[axis] == 1 { 0 } else { operand.strides[axis] };
    let all = [0, 1, 2, 3].map(step);
    let contiguous = operand.strides[3] == 1;
    let at = [operand.offset, operand.shape[3], all[0], all[1], all[2]];
    (all, if contiguous { vector(operand.dtype.size(), aligned, &at) } else { 1 })
}
