//! Connected components.

use cuprous_core::DType;
use cuprous_plan::RoutineCall;

use super::super::types::{Arg, ctype, short};
use super::{Builder, DivUp, Launch};

const TEXT: &str = include_str!("components.cuh");
const THREADS: u32 = 256;
/// Columns and rows of the tile that one block joins in shared memory, and rows of a warp.
const TILE_WIDTH: i64 = 32;
const TILE_HEIGHT: i64 = 32;
const ROWS_PER_WARP: i64 = TILE_HEIGHT / (THREADS as i64 / TILE_WIDTH);

/// Returns the elements of a row. With the image's own width, neighbors are in the same tile; any other width is
/// correct too.
fn width(steps: &[i64]) -> i64 {
    let row_step = steps.iter().copied().filter(|&s| s > 1).min().unwrap_or(1024);
    let width = if steps.contains(&(row_step + 1)) { row_step + 1 } else { row_step };
    width * TILE_WIDTH.div_up(width)
}

/// Adds the launches that label components by their first elements.
pub(super) fn components(call: &RoutineCall, steps: &[i64], builder: &mut Builder) {
    let d = call.ins[0].1.dtype;
    let edges = builder.dense(&call.ins[0], d);
    let (n, result) = (call.out.1.size, call.out.1.dtype);
    let index = if n <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 };
    let parent = builder.out.scratch(n as usize * index.size());
    let (count, c, p) = (steps.len(), ctype(d), ctype(index));
    let runs = steps.first() == Some(&1);
    // The index of the step that is shorter by one, or -1.
    let right: Vec<i64> =
        steps.iter().map(|s| steps.iter().position(|r| s - r == 1).map_or(-1, |b| b as i64)).collect();
    let width = width(steps);
    let rows: Vec<i64> = steps.iter().map(|s| (s + width / 2) / width).collect();
    let columns: Vec<i64> = steps.iter().zip(&rows).map(|(s, r)| s - r * width).collect();
    let (across, down) = (width / TILE_WIDTH + i64::from(width % TILE_WIDTH != 0), n.div_up(width).div_up(TILE_HEIGHT));
    let variant = format!("{}_{}{}_{count}", short(d), short(index), if runs { "_runs" } else { "" });
    let template = format!("{c}, {p}, {count}, {runs}, {TILE_HEIGHT}");
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
        // Every element is a component of its own.
        builder.out.stages.push(
            Launch::new(format!("components_singletons_{}", short(result)), &[], &[TEXT])
                .pointer("out", ctype(result), Arg::Buffer(call.out.0))
                .int("n", n)
                .stage("components_singletons", n.div_up(i64::from(THREADS)), THREADS, 0),
        );
        return;
    }
    let tiles = launch("tiles").int("across", across).int("n", n).stage(
        &format!("components_tiles<{template}, {ROWS_PER_WARP}>"),
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
    let end = Launch::new(format!("components_finish_{}_{}", short(index), short(result)), &[], &[TEXT])
        .pointer("parent", p, parent)
        .pointer("out", ctype(result), Arg::Buffer(call.out.0))
        .int("n", n)
        .stage(&format!("components_finish<{p}>"), n.div_up(i64::from(THREADS)), THREADS, 0);
    builder.out.stages.extend([tiles, unite, end]);
}
