//! Connected components.

use cuprous_core::DType;
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{DivUp, Launch, Made};

const TEXT: &str = include_str!("components.cuh");
const THREADS: u32 = 256;
/// Columns and rows of what one block joins in shared memory, and rows of a warp.
const WIDE: i64 = 32;
const HIGH: i64 = 32;
const EACH: i64 = HIGH / (THREADS as i64 / WIDE);

/// Elements of a row: with the image's own width, neighbours are in the same tile. Any other is right too.
fn width(steps: &[i64]) -> i64 {
    let least = steps.iter().copied().filter(|&s| s > 1).min().unwrap_or(1024);
    let width = if steps.contains(&(least + 1)) { least + 1 } else { least };
    width * WIDE.div_up(width)
}

/// Adds the launches that number components by their first elements.
pub(super) fn components(call: &RoutineCall, steps: &[i64], made: &mut Made) {
    let d = call.ins[0].1.dtype;
    let edges = made.dense(&call.ins[0], d);
    let (n, result) = (call.out.1.size, call.out.1.dtype);
    let place = if n <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    let parent = made.out.scratch(n as usize * place.size());
    let (count, c, p) = (steps.len(), ctype(d), ctype(place));
    let runs = steps.first() == Some(&1);
    // A step to the element itself is none.
    let right: Vec<i64> =
        steps.iter().map(|s| steps.iter().position(|r| s - r == 1).map_or(-1, |b| b as i64)).collect();
    let width = width(steps);
    let rows: Vec<i64> = steps.iter().map(|s| (s + width / 2) / width).collect();
    let columns: Vec<i64> = steps.iter().zip(&rows).map(|(s, r)| s - r * width).collect();
    let (across, down) = (width / WIDE + i64::from(width % WIDE != 0), n.div_up(width).div_up(HIGH));
    let variant = format!("{}_{}{}_{count}", short(d), short(place), if runs { "_runs" } else { "" });
    let template = format!("{c}, {p}, {count}, {runs}, {HIGH}");
    let launch = |name: &str| {
        Launch::new(format!("components_{name}_{variant}"), &[d], &[TEXT])
            .source("edges", c, edges)
            .pointer("parent", p, parent)
            .ints("steps", steps)
            .ints("right", &right)
            .ints("rows", &rows)
            .ints("columns", &columns)
            .int("width", width)
    };
    if count == 0 {
        // Everything is its own component.
        made.out.stages.push(
            Launch::new(format!("components_alone_{}", short(result)), &[], &[TEXT])
                .pointer("out", ctype(result), Arg::Buffer(call.out.0))
                .int("n", n)
                .stage("components_alone", n.div_up(i64::from(THREADS)), THREADS, 0),
        );
        return;
    }
    let tiles = launch("tiles").int("across", across).int("n", n).stage(
        &format!("components_tiles<{template}, {EACH}>"),
        across * down,
        THREADS,
        0,
    );
    let unite = launch("unite").int("n", n).stage(
        &format!("components_unite<{template}>"),
        n.div_up(i64::from(THREADS)),
        THREADS,
        0,
    );
    let end = Launch::new(format!("components_finish_{}_{}", short(place), short(result)), &[], &[TEXT])
        .pointer("parent", p, parent)
        .pointer("out", ctype(result), Arg::Buffer(call.out.0))
        .int("n", n)
        .stage(&format!("components_end<{p}>"), n.div_up(i64::from(THREADS)), THREADS, 0);
    made.out.stages.extend([tiles, unite, end]);
}
