//! Connected components.

use cuprous_core::DType;
use cuprous_plan::kernel::Call;

use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made};

const TEXT: &str = include_str!("components.cuh");
const THREADS: u32 = 256;

/// Adds the launches that number components by their first elements.
pub(super) fn components(call: &Call, steps: &[i64], made: &mut Made) {
    let d = call.ins[0].1.dtype;
    let edges = made.dense(&call.ins[0], d);
    let n = call.out.1.size;
    let place = if n <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    let parent = made.out.scratch(n as usize * place.size());
    let (blocks, count, c, p) = (n.div_up(i64::from(THREADS)), steps.len(), ctype(d), ctype(place));
    let runs = steps.first() == Some(&1);
    // A step to the element itself is none.
    let right: Vec<i64> =
        steps.iter().map(|s| steps.iter().position(|r| s - r == 1).map_or(-1, |b| b as i64)).collect();
    let variant = format!("{}_{}{}", short(d), short(place), if runs { "_runs" } else { "" });
    let begin = Launch::new(format!("components_begin_{variant}"), &[d], &[TEXT])
        .source("edges", c, edges)
        .pointer("parent", p, parent)
        .int("n", n)
        .stage(&format!("components_begin<{c}, {p}, {runs}>"), blocks, THREADS, 0);
    made.out.stages.push(begin);
    if count > 0 {
        let unite = Launch::new(format!("components_unite_{variant}_{count}"), &[d], &[TEXT])
            .source("edges", c, edges)
            .pointer("parent", p, parent)
            .ints("steps", steps)
            .ints("right", &right)
            .int("n", n)
            .stage(&format!("components_unite<{c}, {p}, {count}, {runs}>"), blocks, THREADS, 0);
        made.out.stages.push(unite);
    }
    let end = Launch::new(format!("components_finish_{}", short(place)), &[], &[TEXT])
        .pointer("parent", p, parent)
        .pointer("out", "int64", Arg::Buffer(call.out.0))
        .int("n", n)
        .stage(&format!("components_end<{p}>"), blocks, THREADS, 0);
    made.out.stages.push(end);
}
