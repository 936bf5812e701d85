//! Merges what the threads and the blocks of a column have reduced.

use super::Reduction;
use crate::codegen::lower::{Lower, state_bytes};
use crate::codegen::map::Span;
use crate::codegen::text::Code;
use crate::codegen::types::Generated;

/// Merges the states of all rows of threads into those of the first row.
pub(super) fn merge_thread_rows(code: &mut Code, f: &Reduction, v: u32, tx: u32, ty: u32) {
    code.block("", |c| {
        c.line(format!("typedef {}::state state;", f.name));
        c.line("state* all = (state*)pool;");
        c.line("__syncthreads();");
        c.line("#pragma unroll");
        c.line(format!("for (int l = 0; l < {v}; l++) all[(ty * {v} + l) * {tx} + tx] = s{}[l];", f.v));
        c.line("__syncthreads();");
        c.block(format!("for (int half = {}; half > 0; half /= 2)", ty / 2), |c| {
            c.block("if (ty < half)", |c| {
                c.line("#pragma unroll");
                c.block(format!("for (int l = 0; l < {v}; l++)"), |c| {
                    c.line(format!(
                        "s{0}[l] = {1}::merge(s{0}[l], all[((ty + half) * {v} + l) * {tx} + tx]);",
                        f.v, f.name
                    ));
                    c.line(format!("all[(ty * {v} + l) * {tx} + tx] = s{}[l];", f.v));
                });
            });
            c.line("__syncthreads();");
        });
    });
}

/// Ends all blocks but the last of a tile, which merges the states of all parts.
pub(super) fn merge_parts(
    lower: &mut Lower<'_>,
    code: &mut Code,
    reductions: &[Reduction],
    (span, tx, ty): (Span, u32, u32),
    (tiles, splits): (i64, i64),
    out: &mut Generated,
) {
    let kernel = &lower.unit.kernel;
    let v = span.v;
    let axis = kernel.outer.len() - 1;
    let others = kernel.outer_size() / kernel.outer[axis].max(1);
    let counters = out.state(4 * (tiles * others) as usize);
    lower.params.add("uint32*", "counters", counters);
    let int = lower.index();
    // One state per part and column; states of neighboring columns are adjacent.
    code.line(format!("const {int} columns = extent(tiles) * {}, column = tile * {} + tx;", tx * v, tx * v));
    for f in reductions {
        let bytes = state_bytes(f.op, f.from) as i64 * tiles * i64::from(tx * v) * splits * others;
        let scratch = out.scratch(bytes as usize);
        lower.params.add(&format!("{}::state*", f.name), &format!("parts{}", f.v), scratch);
        code.line("#pragma unroll");
        code.line(format!(
            "for (int l = 0; l < {v}; l++) if (ty == 0) parts{0}[above * columns + column + l * {tx}] = s{0}[l];",
            f.v
        ));
    }
    code.line("if (!is_last_block(counters + others * extent(tiles) + tile, (uint32)extent(parts))) return;");
    for f in reductions {
        code.line("#pragma unroll");
        code.line(format!("for (int l = 0; l < {v}; l++) s{}[l] = {}::identity();", f.v, f.name));
        // Unrolled, so that the latencies of several loads overlap.
        code.line(format!("#pragma unroll {}", (32 / v).max(1)));
        code.block(format!("for ({int} k = ty; k < extent(parts); k += {ty})"), |c| {
            c.line("#pragma unroll");
            c.line(format!(
                "for (int l = 0; l < {v}; l++) s{0}[l] = {1}::merge(s{0}[l], parts{0}[(others * extent(parts) + k) * columns + column + l * {tx}]);",
                f.v, f.name
            ));
        });
        if ty > 1 {
            merge_thread_rows(code, f, v, tx, ty);
        }
    }
}
