//! Connected components.

use cuprous_plan::kernel::Call;

use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made};

const TEXT: &str = include_str!("components.cuh");
const THREADS: u32 = 256;

/// Adds the launches that number components by their first elements.
pub(super) fn components(call: &Call, steps: &[i64], made: &mut Made) {
    let d = call.ins[0].1.dtype;
    let edges = made.dense(&call.ins[0], d);
    let (out, n) = (Arg::Buffer(call.out.0), call.out.1.size);
    let (blocks, count, c) = (n.div_up(i64::from(THREADS)), steps.len(), ctype(d));
    let runs = steps.first() == Some(&1);
    let variant = format!("{}{}", short(d), if runs { "_runs" } else { "" });
    let begin = Launch::new(format!("components_begin_{variant}"), &[d], &[TEXT])
        .source("edges", c, edges)
        .pointer("parent", "int64", out)
        .int("n", n)
        .stage(&format!("components_begin<{c}, {runs}>"), blocks, THREADS, 0);
    made.out.stages.push(begin);
    if count > 0 {
        let unite = Launch::new(format!("components_unite_{variant}_{count}"), &[d], &[TEXT])
            .source("edges", c, edges)
            .pointer("parent", "int64", out)
            .ints("steps", steps)
            .int("n", n)
            .stage(&format!("components_unite<{c}, {count}, {runs}>"), blocks, THREADS, 0);
        let end = Launch::new("components_finish", &[], &[TEXT]).pointer("parent", "int64", out).int("n", n).stage(
            "components_end",
            blocks,
            THREADS,
            0,
        );
        made.out.stages.extend([unite, end]);
    }
}
