//! Rows held in registers: a group of threads reads its row once, reduces it once per phase, and writes it once.

use cuprous_plan::{Inst, Kernel, Level, Val};

use super::phases::Phases;
use super::rows::{Vectors, accumulate_all, outer_indices, row_position, row_statement};
use super::{reductions_of, row_level};
use crate::codegen::lower::{Lower, Shape, Target, Unit, kernel_name, operands};
use crate::codegen::map::Span;
use crate::codegen::text::Code;
use crate::codegen::types::{Stage, ctype};
use crate::codegen::vectorize;

/// How a row is distributed over threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResidentLayout {
    /// Lanes of a vector.
    v: u32,
    /// Vectors of a thread.
    k: u32,
    /// Threads of a row: a power of two up to 32, or the whole block.
    group: u32,
    /// Threads of a block.
    threads: u32,
    /// Threads that the text is compiled for. If it differs from `threads`, or the layout is the general one, the text
    /// reads the number of threads, so that different lengths share it.
    bound: u32,
    /// Blocks per multiprocessor that the registers must allow.
    min_blocks: u32,
    general: bool,
}

/// Elements of a thread and most threads of a block in the general layouts, by length. A layout whose row does not fit
/// into registers has fewer elements a thread.
const GENERAL: [(u32, u32); 3] = [(4, 512), (16, 512), (40, 1024)];

/// Returns a general layout, whose text is the same for all lengths that it fits, if all rows run at the same time.
fn general(kernel: &Kernel, target: Target) -> Option<ResidentLayout> {
    let most = (target.options.tuning.resident_bytes / slot_bytes(kernel).max(1)).max(1);
    GENERAL.iter().find_map(|&(k, bound)| {
        let k = k.min(most);
        let threads = kernel.inner_size().checked_add(i64::from(k) - 1)? / i64::from(k);
        let threads = u32::try_from(threads).ok()?.checked_next_multiple_of(32)?;
        // A multiprocessor has 32 blocks at most, which are half of its threads if a row has a warp.
        let fits = threads <= bound && target.fits_one_wave(kernel.outer_size().checked_mul(2 * i64::from(threads))?);
        // Work of one wave needs no occupancy.
        let min_blocks = 1024 / bound;
        fits.then_some(ResidentLayout { v: 1, k, group: threads, threads, bound, min_blocks, general: true })
    })
}

/// Returns the layout for a kernel if its row fits into registers.
pub(super) fn layout(kernel: &Kernel, target: Target) -> Option<ResidentLayout> {
    if let Some(general) = general(kernel, target) {
        return Some(general);
    }
    let axis = kernel.outer.len() + kernel.inner.len() - 1;
    let last = *kernel.inner.last()?;
    let v = vectorize::width(kernel, axis, last, false, target.options.aligned);
    let vectors = (kernel.inner_size() / i64::from(v)).max(1);
    let slot = slot_bytes(kernel) * v;
    let most = i64::from((target.options.tuning.resident_bytes / slot.max(1)).max(1));
    let round = |n: i64, k: i64| ((n + k - 1) / k) as u32;
    let layout = |k: u32, group: u32, threads: u32| {
        let bound = threads.next_power_of_two();
        // As many blocks as registers allow: those that hold the row, and 20 more.
        let registers = 4 * (slot * k).div_ceil(16) + 20;
        let min_blocks = ((1 << 16) / (bound * registers)).clamp((1024 / bound).max(1), (2048 / bound).max(1));
        ResidentLayout { v, k, group, threads, bound, min_blocks, general: false }
    };
    Some(if vectors <= 32 {
        layout(1, (vectors as u32).next_power_of_two(), 256)
    } else if vectors <= 32 * most.min(4) {
        let k = round(vectors, 32).next_power_of_two().min(most as u32);
        layout(k, 32, 256)
    } else {
        let k = i64::from(round(vectors, 512)).max(2).min(most);
        let threads = round(vectors, k).next_multiple_of(32);
        if threads > 1024 {
            return None;
        }
        layout(k as u32, threads, threads)
    })
}

/// Returns the bytes of registers per element in the pass that needs the most.
fn slot_bytes(kernel: &Kernel) -> u32 {
    let phases = Phases::new(kernel);
    let at = |p: u32| -> usize {
        let live = kernel.body.iter().enumerate().filter(|(v, t)| {
            let loaded = matches!(t.inst, Inst::Load { .. }) && phases.of[*v] == p;
            t.level == Level::Full && (loaded || phases.of[*v] < p && last_use(kernel, &phases, *v as Val) >= p)
        });
        live.map(|(_, t)| t.dtype.size()).sum()
    };
    (0..phases.passes).map(at).max().unwrap_or(4) as u32
}

/// Returns the last pass that uses a full-level value.
fn last_use(kernel: &Kernel, phases: &Phases, v: Val) -> u32 {
    let users = kernel.body.iter().enumerate().filter(|(_, t)| operands(&t.inst).contains(&v));
    users
        .map(|(i, t)| if matches!(t.inst, Inst::Reduce { .. }) { phases.of[i] - 1 } else { phases.of[i] })
        .max()
        .unwrap_or(0)
}

pub(super) fn emit(unit: &Unit, target: Target, layout: ResidentLayout) -> Stage {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let phases = Phases::new(kernel);
    let (outer, inner) = (kernel.outer.len(), kernel.inner.len());
    let axis = outer + inner - 1;
    let span = Span { v: layout.v, u: layout.k };
    let (v, sub, int) = (span.v, span.sub(), lower.index());
    let block_per_row = layout.group == layout.threads;
    let reads_threads = layout.general || layout.threads != layout.bound;
    let stride = if reads_threads { "(int32)blockDim.x".into() } else { layout.group.to_string() };
    let mut code = Code::at(1);

    // The row of this thread, and its position in it.
    let n = lower.int("n", kernel.inner_size());
    let rows = kernel.outer_size();
    if block_per_row {
        code.line(format!("const {int} row = blockIdx.x;"));
        code.line("const int lane = threadIdx.x;");
    } else {
        let count = lower.int("rows", rows);
        let per = layout.threads / layout.group;
        code.line(format!("const int lane = threadIdx.x % {};", layout.group));
        code.line(format!("const {int} own = ({int})blockIdx.x * {per} + threadIdx.x / {};", layout.group));
        code.line(format!("const bool alive = own < {count};"));
        code.line(format!("const {int} row = alive ? own : {count} - 1;"));
    }
    outer_indices(&mut lower, &mut code, "row");
    let position = row_position(&mut lower, &mut code, "row", "j");
    let vectors = Vectors { position: &position, span, axis };

    for v in row_level(kernel, &phases, 0) {
        row_statement(&mut lower, &mut code, v, if block_per_row { "lane == 0" } else { "alive && lane == 0" });
    }
    for p in 0..phases.passes {
        let reductions = reductions_of(kernel, &phases, p);
        code.line(format!("// pass {p}"));
        // All loads come before the first use.
        // Indices cost nothing to compute again, so later passes may use those of earlier ones.
        let instructions: Vec<usize> = (0..kernel.body.len())
            .filter(|&i| kernel.body[i].level == Level::Full)
            .filter(|&i| phases.of[i] == p || matches!(kernel.body[i].inst, Inst::Iota { .. }))
            .collect();
        let loads = vectors.declare_loads(&mut lower, &mut code, instructions.iter().copied());
        if !loads.is_empty() {
            span.scoped(&mut code, |c| {
                position.lines(c, &lane_vector(span, &stride));
                for load in &loads {
                    let (i, value) = (load.val, load.access.load(&load.pointer, v, None));
                    c.line(format!("x{i}{sub} = j < {n} ? {value} : {}{{}};", load.ty));
                }
            });
        }
        let is_computed = |&i: &usize| matches!(kernel.body[i].inst, Inst::Map { .. } | Inst::Gather { .. });
        let computed = instructions.iter().filter(|i| is_computed(i)).map(|&i| i as Val);
        let live: Vec<Val> = computed.filter(|&i| last_use(kernel, &phases, i) > p).collect();
        for &i in &live {
            code.line(span.array(&span.vector(ctype(kernel.body[i as usize].dtype)), &format!("x{i}")));
        }
        for f in &reductions {
            code.line(format!("{0}::state s{1} = {0}::identity();", f.name, f.v));
        }
        span.scoped(&mut code, |c| {
            position.lines(c, &lane_vector(span, &stride));
            let stores: Vec<usize> =
                instructions.iter().copied().filter(|&i| matches!(kernel.body[i].inst, Inst::Store { .. })).collect();
            for f in &reductions {
                c.line(format!("{} r{}[{v}];", f.element(), f.v));
            }
            for &i in &stores {
                c.line(format!("{} y{i};", span.vector(ctype(kernel.body[i].dtype))));
            }
            let index = if v == 1 { "[0]" } else { "[l]" };
            vectors.compute_lanes(&mut lower, c, &instructions, &live, &reductions, index);
            for &i in &live {
                lower.names.insert(i, span.lane(&format!("x{i}")));
            }
            if reductions.is_empty() && stores.is_empty() {
                return;
            }
            c.block(format!("if (j < {n})"), |c| {
                for f in &reductions {
                    accumulate_all(c, f, v, "", "j");
                }
                vectors.store(&mut lower, c, &stores, |s, pointer, y| {
                    let line = s.store(pointer, v, y, None);
                    if block_per_row { line } else { format!("if (alive) {line}") }
                });
            });
        });
        for f in &reductions {
            if block_per_row {
                code.line(format!("__shared__ {}::state shared{}[{}];", f.name, f.v, (layout.bound / 32).max(1)));
                code.line(if reads_threads {
                    format!("s{0} = any_block_reduce<{1}>(s{0}, shared{0});", f.v, f.name)
                } else {
                    format!("s{0} = block_reduce<{1}, {2}>(s{0}, shared{0});", f.v, f.name, layout.threads)
                });
            } else if layout.group > 1 {
                code.line(format!("s{0} = group_reduce<{1}, {2}>(s{0});", f.v, f.name, layout.group));
            }
            code.line(f.result(&format!("s{}", f.v)));
        }
        for v in row_level(kernel, &phases, p + 1) {
            row_statement(&mut lower, &mut code, v, if block_per_row { "lane == 0" } else { "alive && lane == 0" });
        }
    }
    let per = i64::from(layout.threads / layout.group);
    let shape = Shape::linear((rows + per - 1) / per, layout.threads);
    let name = kernel_name(if block_per_row { "row" } else { "rows" }, kernel);
    lower.finish(&name, layout.bound, layout.min_blocks, code, shape)
}

/// Returns the position of the current vector's first element in its row.
fn lane_vector(span: Span, group: &str) -> String {
    let vector = if span.u == 1 { "lane".into() } else { format!("lane + u * {group}") };
    match (span.u, span.v) {
        (_, 1) => vector,
        (1, v) => format!("lane * {v}"),
        (_, v) => format!("({vector}) * {v}"),
    }
}
