//! Matrix products of integers and booleans. cuBLASLt does the others.

use cuprous_core::{DType, Kind};
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, Launch, Source};

const TEXT: &str = include_str!("dot.cuh");

/// Adds the launch of a product; `None` for floating types.
pub(super) fn dot(call: &RoutineCall, builder: &mut Builder) -> Option<()> {
    let out = &call.out.1;
    // Integer products wrap, so signed types share the code of the unsigned ones.
    let d = match (out.dtype.kind(), out.dtype.size()) {
        (Kind::Float | Kind::Complex, _) => return None,
        (Kind::Bool, _) => DType::Bool,
        (_, 1) => DType::U8,
        (_, 2) => DType::U16,
        (_, 4) => DType::U32,
        _ => DType::U64,
    };
    let (a, b) = (&call.ins[0].1, &call.ins[1].1);
    let last = out.ndim() - 2;
    let (m, n, depth) = (out.shape[last], out.shape[last + 1], a.shape[last + 1]);
    let (tiles_m, tiles_n) = ((m + 63) / 64, (n + 63) / 64);
    // A product without batch axes gets one of extent 1.
    let first_of = |dims: &[i64], none: i64| if last == 0 { vec![none] } else { dims[..last].to_vec() };
    let batch = first_of(&out.shape, 1);
    let blocks = tiles_m * tiles_n * batch.iter().product::<i64>();
    let source = |k: usize| Source { at: Arg::Buffer(call.ins[k].0), offset: call.ins[k].1.offset };
    let stage = Launch::new(format!("dot_{}", short(d)), &[d], &[TEXT])
        .source("a", ctype(d), source(0))
        .source("b", ctype(d), source(1))
        .pointer("c", ctype(d), Arg::Buffer(call.out.0))
        .int("m", m)
        .int("n", n)
        .int("depth", depth)
        .int("tiles_m", tiles_m)
        .int("tiles_n", tiles_n)
        .ints("a_steps", &a.strides[last..])
        .ints("b_steps", &b.strides[last..])
        .ints("batch", &batch)
        .ints("a_batch", &first_of(&a.strides, 0))
        .ints("b_batch", &first_of(&b.strides, 0))
        .stage(&format!("dot<{}>", ctype(d)), blocks, 256, 0);
    builder.out.stages.push(stage);
    Some(())
}
