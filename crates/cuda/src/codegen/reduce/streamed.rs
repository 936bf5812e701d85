//! Long rows: a block passes over its row, or over its part of one, with several vectors in flight per thread.
//!
//! If rows are split, the last block of a row to finish merges the parts in order, so that the result does not depend
//! on timing. It resets its counter to zero.

use cuprous_core::ReduceOp;
use cuprous_plan::{Inst, Kernel, Level};

use super::phases::Phases;
use super::rows::{RowPosition, Vectors, accumulate_all, outer_indices, row_position, row_statement};
use super::{Reduction, reductions_of, row_level};
use crate::codegen::lower::{Lower, Shape, Target, Unit, is_sink, kernel_name, operands, state_bytes};
use crate::codegen::map::Span;
use crate::codegen::text::Code;
use crate::codegen::types::{Generated, Stage, ctype};
use crate::codegen::vectorize;

/// Returns the vectors per thread and iteration, and the threads of a block.
fn shape(kernel: &Kernel, target: Target) -> (Span, u32) {
    let axis = kernel.outer.len() + kernel.inner.len() - 1;
    let last = kernel.inner[kernel.inner.len() - 1];
    // The end of a single row on one axis may lie within a vector.
    let partial = kernel.inner.len() == 1 && kernel.outer_size() == 1;
    let v = vectorize::width(kernel, axis, last, partial, target.options.aligned);
    let numbered =
        kernel.body.iter().any(|t| matches!(t.inst, Inst::Reduce { op: ReduceOp::ArgMax | ReduceOp::ArgMin, .. }));
    let most = if numbered { 8 } else { 16 };
    let v = v.min(most);
    let loads = vectorize::accesses(kernel).filter(|(t, _)| matches!(t.inst, Inst::Load { .. })).count().max(1) as u32;
    let mut u = (most / v).min(target.options.tuning.row_vectors).min(8 / loads.min(8)).max(1);
    // A simple reduction has registers for twice as many vectors in flight.
    if !numbered && v == 4 && loads == 1 && kernel.body.len() <= 8 && Phases::new(kernel).passes == 1 {
        u *= 2;
    }
    let vectors = (kernel.inner_size() / i64::from(v)).max(1);
    let mut threads = target.options.tuning.row_threads;
    while threads > 64 && i64::from(threads * u) > 2 * vectors {
        threads /= 2;
    }
    (Span { v, u }, threads)
}

/// Returns the number of blocks that share a row.
pub(super) fn splits(kernel: &Kernel, target: Target) -> i64 {
    let (span, threads) = shape(kernel, target);
    let per_iteration = i64::from(threads * span.u * span.v);
    let wanted = i64::from(target.arch.sms * target.options.tuning.split_blocks) / kernel.outer_size().max(1);
    wanted.clamp(1, (kernel.inner_size() / per_iteration).max(1))
}

pub(super) fn emit(unit: &Unit, target: Target, splits: i64, out: &mut Generated) -> Stage {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let phases = Phases::new(kernel);
    debug_assert!(splits == 1 || phases.passes == 1);
    let axis = kernel.outer.len() + kernel.inner.len() - 1;
    let (span, threads) = shape(kernel, target);
    let (v, int) = (span.v, lower.index());
    let rows = kernel.outer_size();
    let mut code = Code::at(1);

    let n = lower.int("n", kernel.inner_size());
    let block = if lower.wide { "(int64)blockIdx.x" } else { "(int32)blockIdx.x" };
    let leader = "threadIdx.x == 0";
    if splits == 1 {
        code.line(format!("const {int} row = {block}, begin = 0, stop = {n};"));
    } else {
        // Blocks interleave along the row: at any time all of them read one stretch of memory.
        let parts = lower.divisor("parts", splits);
        let per_iteration = threads * span.u * v;
        code.line(format!("const {int} row = quotient({block}, {parts}), part = {block} - row * extent({parts});"));
        code.line(format!("const {int} begin = part * {per_iteration}, stop = {n};"));
    }
    outer_indices(&mut lower, &mut code, "row");
    let position = row_position(&mut lower, &mut code, "row", "j");
    for v in row_level(kernel, &phases, 0) {
        // With split rows, stores that need no reduction are left to the last block as well.
        if splits == 1 || !is_sink(&kernel.body[v as usize].inst) {
            row_statement(&mut lower, &mut code, v, leader);
        }
    }
    for p in 0..phases.passes {
        let reductions = reductions_of(kernel, &phases, p);
        code.line(format!("// pass {p}"));
        for f in &reductions {
            code.line(format!("{0}::state s{1} = {0}::identity();", f.name, f.v));
        }
        pass(
            &mut lower,
            &mut code,
            &position,
            &reductions,
            Pass { span, threads, axis, split: splits > 1, last: p + 1 == phases.passes },
        );
        for f in &reductions {
            code.line(format!("__shared__ {}::state shared{}[{}];", f.name, f.v, threads / 32));
            code.line(format!("s{0} = block_reduce<{1}, {2}>(s{0}, shared{0});", f.v, f.name, threads));
        }
        if splits > 1 {
            merge_parts(&mut lower, &mut code, &reductions, Parts { rows, splits, threads }, out);
        }
        for f in &reductions {
            code.line(f.result(&format!("s{}", f.v)));
        }
        if splits > 1 {
            for v in row_level(kernel, &phases, 0) {
                if is_sink(&kernel.body[v as usize].inst) {
                    row_statement(&mut lower, &mut code, v, leader);
                }
            }
        }
        for v in row_level(kernel, &phases, p + 1) {
            row_statement(&mut lower, &mut code, v, leader);
        }
    }
    let name = kernel_name(if splits > 1 { "split_row" } else { "long_row" }, kernel);
    lower.finish(&name, threads, (1024 / threads).max(1), code, Shape::linear(rows * splits, threads))
}

/// How rows are split.
struct Parts {
    rows: i64,
    splits: i64,
    threads: u32,
}

/// Ends all blocks but the last of a row, which merges the states of all parts.
fn merge_parts(lower: &mut Lower<'_>, code: &mut Code, reductions: &[Reduction], parts: Parts, out: &mut Generated) {
    let counters = out.state(4 * parts.rows as usize);
    lower.params.add("uint32*", "counters", counters);
    for f in reductions {
        let bytes = state_bytes(f.op, f.from) * (parts.rows * parts.splits) as usize;
        let scratch = out.scratch(bytes);
        lower.params.add(&format!("{}::state*", f.name), &format!("parts{}", f.v), scratch);
        code.line(format!("if (threadIdx.x == 0) parts{0}[blockIdx.x] = s{0};", f.v));
    }
    code.line("if (!is_last_block(counters + row, (uint32)extent(parts))) return;");
    for f in reductions {
        code.line(format!("s{0} = {1}::identity();", f.v, f.name));
        let (int, t) = (lower.index(), parts.threads);
        code.block(format!("for ({int} k = threadIdx.x; k < extent(parts); k += {t})"), |c| {
            c.line(format!("s{0} = {1}::merge(s{0}, parts{0}[row * extent(parts) + k]);", f.v, f.name));
        });
        code.line(format!("s{0} = block_reduce<{1}, {t}>(s{0}, shared{0});", f.v, f.name));
    }
}

/// One pass over the row.
#[derive(Clone, Copy)]
struct Pass {
    span: Span,
    threads: u32,
    axis: usize,
    /// True if the row is split among blocks.
    split: bool,
    last: bool,
}

/// Returns what a pass computes: its reductions and, in the last pass, all stores.
fn needed(kernel: &Kernel, reductions: &[Reduction], last: bool) -> Vec<bool> {
    let mut live = vec![false; kernel.body.len()];
    reductions.iter().for_each(|f| live[f.arg as usize] = true);
    for (i, t) in kernel.body.iter().enumerate().rev() {
        if t.level == Level::Full {
            live[i] |= last && is_sink(&t.inst);
            if live[i] {
                operands(&t.inst).into_iter().for_each(|a| live[a as usize] = true);
            }
        }
    }
    live
}

fn pass(lower: &mut Lower<'_>, code: &mut Code, position: &RowPosition, reductions: &[Reduction], pass: Pass) {
    let kernel = &lower.unit.kernel;
    let live = needed(kernel, reductions, pass.last);
    let Pass { span, threads, axis, .. } = pass;
    let (v, sub, int) = (span.v, span.sub(), lower.index());
    let per_iteration = threads * span.u * v;
    let instructions: Vec<usize> =
        (0..kernel.body.len()).filter(|&i| live[i] && kernel.body[i].level == Level::Full).collect();
    let vectors = Vectors { position, span, axis };
    let step = if pass.split { format!("{per_iteration} * extent(parts)") } else { per_iteration.to_string() };
    code.block(format!("for ({int} at = begin; at < stop; at += {step})"), |c| {
        c.line(format!("const bool full = at + {per_iteration} <= stop;"));
        let vector = if span.u == 1 {
            format!("at + (int32)threadIdx.x{}", scale(v))
        } else {
            format!("at + ((int32)threadIdx.x + u * {threads}){}", scale(v))
        };
        let loads = vectors.declare_loads(lower, c, instructions.iter().copied());
        if !loads.is_empty() {
            for (guard, head) in [(None, "if (full)"), (Some("stop - j"), "else")] {
                c.block(head, |c| {
                    span.scoped(c, |c| {
                        position.lines(c, &vector);
                        for load in &loads {
                            c.line(format!("x{}{sub} = {};", load.val, load.access.load(&load.pointer, v, guard)));
                        }
                    });
                });
            }
        }
        for f in reductions {
            c.line(format!("{} r{}[{}];", f.element(), f.v, span.u * v));
        }
        let index = match (span.u, v) {
            (1, 1) => "[0]".to_string(),
            (1, _) => "[l]".into(),
            (_, 1) => "[u]".into(),
            _ => format!("[u * {v} + l]"),
        };
        let stores: Vec<usize> =
            instructions.iter().copied().filter(|&i| matches!(kernel.body[i].inst, Inst::Store { .. })).collect();
        span.scoped(c, |c| {
            position.lines(c, &vector);
            for &i in &stores {
                c.line(format!("{} y{i};", span.vector(ctype(kernel.body[i].dtype))));
            }
            vectors.compute_lanes(lower, c, &instructions, &[], reductions, &index);
            vectors.store(lower, c, &stores, |s, pointer, y| s.store(pointer, v, y, Some("stop - j")));
        });
        if reductions.is_empty() {
            return;
        }
        let each = |c: &mut Code, f: &Reduction| {
            span.scoped(c, |c| {
                position.lines(c, &vector);
                c.unrolled("l", v, |c| {
                    let at = if span.u == 1 { "l".to_string() } else { format!("u * {v} + l") };
                    c.line(format!("if (j + l < stop) {0}::accumulate(s{1}, r{1}[{at}], j + l);", f.name, f.v));
                });
            });
        };
        // Elements past the end are set to the identity, if the reduction has one.
        let (with_identity, other): (Vec<&Reduction>, Vec<&Reduction>) =
            reductions.iter().partition(|f| f.has_identity());
        if !with_identity.is_empty() {
            c.block("if (!full)", |c| {
                span.scoped(c, |c| {
                    position.lines(c, &vector);
                    c.unrolled("l", v, |c| {
                        let at = if span.u == 1 { "l".to_string() } else { format!("u * {v} + l") };
                        for f in &with_identity {
                            c.line(format!("if (j + l >= stop) r{0}[{at}] = {1}::identity();", f.v, f.name));
                        }
                    });
                });
            });
        }
        with_identity.iter().for_each(|f| accumulate_all(c, f, span.u * v, "", ""));
        for f in other {
            if f.wants_index() {
                each(c, f);
            } else {
                c.block("if (full)", |c| accumulate_all(c, f, span.u * v, "", ""));
                c.block("else", |c| each(c, f));
            }
        }
    });
}

fn scale(v: u32) -> String {
    if v == 1 { String::new() } else { format!(" * {v}") }
}
