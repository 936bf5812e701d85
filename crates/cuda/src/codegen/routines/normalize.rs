//! Layer normalization without a gradient.

use cuprous_plan::RoutineCall;

use super::super::prelude::Part;
use super::super::types::{Arg, ctype, short};
use super::{Builder, Launch, WIDE, vector};

const TEXT: &str = include_str!("normalize.cuh");

/// Adds the launch of a normalization over the axes from `first` on.
pub(super) fn normalize(call: &RoutineCall, first: usize, eps: u64, builder: &mut Builder) {
    let out = &call.out.1;
    let d = out.dtype;
    let n: i64 = out.shape[first..].iter().product();
    let [x, weight, bias] = [0, 1, 2].map(|k| builder.dense(&call.ins[k], d));
    let v = vector(d.size(), builder.target.options.aligned, &[n, x.offset, weight.offset, bias.offset]);
    let stage = Launch::new(format!("normalize_{}", short(d)), &[d], &[WIDE, TEXT])
        .part(Part::Block)
        .source("x", ctype(d), x)
        .source("weight", ctype(d), weight)
        .source("bias", ctype(d), bias)
        .pointer("y", ctype(d), Arg::Buffer(call.out.0))
        .int("n", n)
        .int("eps", eps as i64)
        .stage(&format!("normalize<{}, {v}>", ctype(d)), out.size / n, 256, 0);
    builder.out.stages.push(stage);
}
