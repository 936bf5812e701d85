//! Reductions along an axis that is not the contiguous one. Threads lie along the contiguous axis in vectors. Rows of
//! threads share the reduced axis, and so do blocks if there are too few columns.

use cuprous_plan::{Inst, Kernel, Level, Val};

use super::columns_merge::{merge_parts, merge_thread_rows};
use super::phases::Phases;
use super::rows::{Vectors, iota_lane, outer_vars, row_position};
use super::{Reduction, reductions_of, row_level};
use crate::codegen::lower::{Lower, Shape, Target, Unit, kernel_name, state_bytes};
use crate::codegen::map::{Span, vector_access};
use crate::codegen::text::Code;
use crate::codegen::types::{Generated, Stage, ctype};
use crate::codegen::vectorize;

/// How the work is distributed over threads.
struct Layout {
    /// Lanes of a vector of columns, and rows in flight.
    span: Span,
    /// Threads along the columns.
    tx: u32,
    /// Threads along the reduced axis.
    ty: u32,
    /// Blocks along the columns' axis.
    tiles: i64,
    /// Blocks that share a column.
    splits: i64,
}

/// Most elements that a thread of the general template reduces.
const GENERAL_ROWS: u32 = 32;
/// Number of parts of a column above which there are fewer.
const MANY_PARTS: i64 = 64;

fn layout(kernel: &Kernel, target: Target) -> Layout {
    let tuning = target.options.tuning;
    let axis = kernel.outer.len() - 1;
    let width = kernel.outer[axis];
    let mut v = vectorize::width(kernel, axis, width, false, target.options.aligned);
    let states: Vec<u32> = kernel
        .body
        .iter()
        .filter_map(|t| match t.inst {
            Inst::Reduce { op, arg } => Some(state_bytes(op, kernel.body[arg as usize].dtype) as u32),
            _ => None,
        })
        .collect();
    let (reductions, state) = (states.len() as u32, states.iter().copied().max().unwrap_or(4));
    // What a thread loads of a row.
    let loaded =
        vectorize::accesses(kernel).filter(|(t, _)| matches!(t.inst, Inst::Load { .. }) && t.level == Level::Full);
    let (loads, bytes) = loaded.fold((0, 0), |(n, bytes), (t, _)| (n + 1, bytes + t.dtype.size() as u32));
    let loads = u32::max(loads, 1);
    let n = kernel.inner_size().max(1);
    // Little work takes the same text for all extents: a block of 32 columns, with all threads along the reduced axis.
    let ty = if state <= 16 { 32 } else { 8 };
    if n <= i64::from(GENERAL_ROWS * ty) && target.fits_one_wave(kernel.outer_size().saturating_mul(n)) {
        let u = (GENERAL_ROWS / 8 / loads.min(4)).max(1);
        return Layout { span: Span { v: 1, u }, tx: 32, ty, tiles: (width + 31) / 32, splits: 1 };
    }
    // The states of a block pass through shared memory, and those of a thread stay in registers.
    let threads = 32 * tuning.column_height;
    while v > 1 && (threads * v * state > 32 << 10 || v * state > 96) {
        v /= 2;
    }
    // Kernels of several arrays keep more in registers: with narrower vectors more threads run at once.
    if loads + reductions > 2 {
        v = v.min(4);
    }
    let tx = ((width + i64::from(v) - 1) / i64::from(v)).min(32) as u32;
    let tx = tx.next_power_of_two();
    let ty = (threads / tx).min((n as u64).next_power_of_two() as u32).max(1);
    let mut u = (16 * tuning.column_rows / (v * bytes).max(1)).clamp(1, tuning.column_rows);
    while u > 1 && i64::from(u * ty) > n {
        u /= 2;
    }
    let tiles = (width + i64::from(tx * v) - 1) / i64::from(tx * v);
    let blocks = tiles * kernel.outer_size() / width.max(1);
    let wanted = i64::from(target.arch.sms * tuning.column_blocks) / blocks.max(1);
    // One block merges the parts of a column, so of many parts each is larger.
    let wanted = if wanted > MANY_PARTS { (wanted / 2).max(MANY_PARTS) } else { wanted };
    let splits = wanted.clamp(1, (n / i64::from(2 * u * ty)).max(1));
    Layout { span: Span { v, u }, tx, ty, tiles, splits }
}

pub(super) fn emit(unit: &Unit, target: Target, out: &mut Generated) -> Stage {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let phases = Phases::new(kernel);
    debug_assert_eq!(phases.passes, 1);
    let Layout { span, tx, ty, tiles, splits } = layout(kernel, target);
    let (v, int) = (span.v, lower.index());
    let axis = kernel.outer.len() - 1;
    let reductions = reductions_of(kernel, &phases, 0);
    let mut code = Code::at(1);

    // The columns and the part of this block.
    let width = lower.int("width", kernel.outer[axis]);
    let d_tiles = lower.divisor("tiles", tiles);
    let block = if lower.wide { "(int64)blockIdx.x" } else { "(int32)blockIdx.x" };
    code.line("const int tx = threadIdx.x, ty = threadIdx.y;");
    code.line(format!(
        "const {int} block = {block}, above = quotient(block, {d_tiles}), tile = block - above * extent({d_tiles});"
    ));
    code.line(format!("const {int} i{axis} = (tile * {tx} + tx) * {v};"));
    code.line(format!("const bool inside = i{axis} < {width};"));
    let n = lower.int("n", kernel.inner_size());
    if splits > 1 {
        let d = lower.divisor("parts", splits);
        let share = lower.int("share", (kernel.inner_size() + splits - 1) / splits);
        code.line(format!("const {int} others = quotient(above, {d}), part = above - others * extent({d});"));
        code.line(format!("const {int} begin = part * {share};"));
        code.line(format!("const {int} stop = !inside ? begin : begin + {share} < {n} ? begin + {share} : {n};"));
    } else {
        code.line(format!("const {int} others = above, begin = 0, stop = inside ? {n} : 0;"));
    }
    let mut rest = "others".to_string();
    for k in (0..axis).rev() {
        if k == 0 {
            code.line(format!("const {int} i0 = {rest};"));
        } else {
            let d = lower.divisor(&format!("d{k}"), kernel.outer[k]);
            code.line(format!("const {int} q{k} = quotient({rest}, {d}), i{k} = {rest} - q{k} * extent({d});"));
            rest = format!("q{k}");
        }
    }

    // Row-level values that elements use.
    let prologue = row_level(kernel, &phases, 0);
    let used = super::phases::used_at_full(kernel);
    row_values(&mut lower, &mut code, span, axis, &prologue, "inside");
    keep_lanes(&mut lower, &mut code, span, &prologue, &used);

    for f in &reductions {
        code.line(format!("{}::state s{}[{v}];", f.name, f.v));
        code.line("#pragma unroll");
        code.line(format!("for (int l = 0; l < {v}; l++) s{}[l] = {}::identity();", f.v, f.name));
    }
    pass(&mut lower, &mut code, &reductions, span, axis, ty);

    // Merge the states of the rows of threads, then those of blocks.
    let bytes = reductions.iter().map(|f| state_bytes(f.op, f.from) as u32 * tx * ty * v).max().unwrap_or(0);
    if ty > 1 {
        code.line(format!("__shared__ vec<uint8, 16> pool[{}];", bytes.div_ceil(16)));
        reductions.iter().for_each(|f| merge_thread_rows(&mut code, f, v, tx, ty));
    }
    if splits > 1 {
        merge_parts(&mut lower, &mut code, &reductions, (span, tx, ty), (tiles, splits), out);
    }
    code.block("if (ty == 0 && inside)", |c| epilogue(&mut lower, c, &reductions, span, axis, &phases, &prologue));

    let others = kernel.outer_size() / kernel.outer[axis].max(1);
    let mut shape = Shape::linear(tiles * splits * others, tx * ty);
    shape.block = [tx, ty, 1];
    let name = kernel_name("columns", kernel);
    lower.finish(&name, tx * ty, 1, code, shape)
}

/// Loads row-level operands as vectors of columns, and names their lanes.
fn row_values(lower: &mut Lower<'_>, code: &mut Code, span: Span, axis: usize, list: &[Val], guard: &str) {
    let v = span.v;
    for &i in list {
        let t = &lower.body()[i as usize];
        match &t.inst {
            Inst::Load { buf, access } => {
                let vars = outer_vars(lower);
                let at = lower.address(access, &vars, true);
                let s = vector_access(lower, access, axis, v, t.dtype, at);
                let same = s.lane == vectorize::LaneStep::Broadcast;
                let ty = if same { ctype(t.dtype).into() } else { one(span).vector(ctype(t.dtype)) };
                let p = lower.pointer(*buf, t.dtype);
                code.line(format!("const {ty} x{i} = {guard} ? {} : {ty}{{}};", s.load(&p, v, None)));
                lower.names.insert(i, if same { format!("x{i}") } else { one(span).lane(&format!("x{i}")) });
            }
            Inst::Iota { access } => {
                let vars = outer_vars(lower);
                let at = lower.address(access, &vars, true);
                let name = iota_lane(lower, access, axis, v, &at);
                lower.names.insert(i, name);
            }
            _ => {}
        }
    }
}

/// Returns the span of a single vector.
fn one(span: Span) -> Span {
    Span { u: 1, ..span }
}

/// Computes row-level values into vectors, for the elements that use them.
fn keep_lanes(lower: &mut Lower<'_>, code: &mut Code, span: Span, list: &[Val], used: &[bool]) {
    let body = lower.body();
    let is_computed = |i: Val| matches!(body[i as usize].inst, Inst::Map { .. } | Inst::Gather { .. });
    let live: Vec<Val> = list.iter().copied().filter(|&i| used[i as usize] && is_computed(i)).collect();
    if live.is_empty() {
        return;
    }
    for &i in &live {
        code.line(format!("{} w{i};", one(span).vector(ctype(lower.body()[i as usize].dtype))));
    }
    one(span).each_lane(code, |c| {
        for &i in list.iter().filter(|&&i| is_computed(i)) {
            lower.statement(c, i);
            if live.contains(&i) {
                c.line(format!("{} = v{i};", one(span).lane(&format!("w{i}"))));
            }
        }
    });
    for &i in &live {
        let name = one(span).lane(&format!("w{i}"));
        lower.names.insert(i, name);
    }
}

/// Writes the pass over the reduced axis.
fn pass(lower: &mut Lower<'_>, code: &mut Code, reductions: &[Reduction], span: Span, axis: usize, ty: u32) {
    let kernel = &lower.unit.kernel;
    let (v, u, sub, int) = (span.v, span.u, span.sub(), lower.index());
    let position = row_position(lower, code, "column", "e");
    let vectors = Vectors { position: &position, span, axis };
    let instructions: Vec<usize> = (0..kernel.body.len()).filter(|&i| kernel.body[i].level == Level::Full).collect();
    let element = if u == 1 { "at".to_string() } else { format!("at + u * {ty}") };

    code.block(format!("for ({int} at = begin + ty; at < stop; at += {})", ty * u), |c| {
        if u > 1 {
            c.line(format!("const bool full = at + {} < stop;", (u - 1) * ty));
        }
        let loads = vectors.declare_loads(lower, c, instructions.iter().copied());
        let fill = |c: &mut Code, guarded: bool| {
            span.scoped(c, |c| {
                position.lines(c, &element);
                for load in &loads {
                    let (i, value) = (load.val, load.access.load(&load.pointer, v, None));
                    c.line(if guarded {
                        format!("x{i}{sub} = e < stop ? {value} : {}{{}};", load.ty)
                    } else {
                        format!("x{i}{sub} = {value};")
                    });
                }
            });
        };
        if u == 1 && !loads.is_empty() {
            fill(c, false);
        } else if !loads.is_empty() {
            c.block("if (full)", |c| fill(c, false));
            c.block("else", |c| fill(c, true));
        }
        for f in reductions {
            c.line(format!("{} r{}[{v}][{u}];", f.element(), f.v));
        }
        let index = format!("[{}][{}]", if v == 1 { "0" } else { "l" }, if u == 1 { "0" } else { "u" });
        span.scoped(c, |c| {
            position.lines(c, &element);
            let stores: Vec<usize> =
                instructions.iter().copied().filter(|&i| matches!(kernel.body[i].inst, Inst::Store { .. })).collect();
            for &i in &stores {
                c.line(format!("{} y{i};", span.vector(ctype(kernel.body[i].dtype))));
            }
            vectors.compute_lanes(lower, c, &instructions, &[], reductions, &index);
            vectors.store(lower, c, &stores, |s, pointer, y| {
                let line = s.store(pointer, v, y, None);
                if u == 1 { line } else { format!("if (e < stop) {line}") }
            });
        });
        let each = |c: &mut Code, guard: bool| {
            for f in reductions {
                c.line("#pragma unroll");
                c.block(format!("for (int l = 0; l < {v}; l++)"), |c| {
                    c.line("#pragma unroll");
                    let test = if guard { format!("if (at + u * {ty} < stop) ") } else { String::new() };
                    c.line(format!(
                        "for (int u = 0; u < {u}; u++) {test}{0}::accumulate(s{1}[l], r{1}[l][u], at + u * {ty});",
                        f.name, f.v
                    ));
                });
            }
        };
        if reductions.iter().any(Reduction::wants_index) || u == 1 {
            each(c, u > 1);
        } else {
            c.block("if (full)", |c| {
                for f in reductions {
                    c.line("#pragma unroll");
                    c.line(format!(
                        "for (int l = 0; l < {v}; l++) {0}::accumulate_many<{u}>(s{1}[l], r{1}[l]);",
                        f.name, f.v
                    ));
                }
            });
            c.block("else", |c| each(c, true));
        }
    });
}

/// Writes what the first row of threads does with the results of each column.
fn epilogue(
    lower: &mut Lower<'_>,
    code: &mut Code,
    reductions: &[Reduction],
    span: Span,
    axis: usize,
    phases: &Phases,
    prologue: &[Val],
) {
    let kernel = &lower.unit.kernel;
    let v = span.v;
    let after = row_level(kernel, phases, 1);
    let stores: Vec<Val> = prologue
        .iter()
        .chain(&after)
        .copied()
        .filter(|&i| matches!(kernel.body[i as usize].inst, Inst::Store { .. }))
        .collect();
    for &i in &stores {
        code.line(format!("{} y{i};", one(span).vector(ctype(kernel.body[i as usize].dtype))));
    }
    one(span).each_lane(code, |c| {
        for f in reductions {
            c.line(f.result(&format!("s{}[{}]", f.v, if v == 1 { "0" } else { "l" })));
        }
        for &i in prologue.iter().chain(&after) {
            match &kernel.body[i as usize].inst {
                Inst::Store { arg, .. } => {
                    c.line(format!("{} = {};", one(span).lane(&format!("y{i}")), lower.name(*arg)));
                }
                Inst::Map { .. } | Inst::Gather { .. } => lower.statement(c, i),
                _ => {}
            }
        }
    });
    for &i in &stores {
        let t = &kernel.body[i as usize];
        let Inst::Store { buf, access, .. } = &t.inst else { continue };
        let vars = outer_vars(lower);
        let at = lower.address(access, &vars, true);
        let s = vector_access(lower, access, axis, v, t.dtype, at);
        code.line(s.store(&lower.pointer(*buf, t.dtype), v, &format!("y{i}"), None));
    }
}
