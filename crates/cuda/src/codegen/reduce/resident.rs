//! Rows held in registers: a group of threads reads its row once, folds it as often as there are phases, writes once.

use cuprous_plan::{Inst, Kernel, Level, Val};

use super::phases::Phases;
use super::{folds_of, row_level};
use crate::codegen::lanes;
use crate::codegen::lower::{Lower, Shape, Target, Unit, kernel_name, operands};
use crate::codegen::map::{Span, Spot, spot};
use crate::codegen::text::Code;
use crate::codegen::types::{Stage, ctype};

/// How a row lies in threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// Lanes of a vector.
    v: u32,
    /// Vectors of a thread.
    k: u32,
    /// Threads of a row: a power of two up to 32, or the whole block.
    group: u32,
    /// Threads of a block.
    threads: u32,
}

/// The shape for a kernel, if its row fits.
pub(super) fn held(kernel: &Kernel, target: Target) -> Option<Held> {
    let axis = kernel.outer.len() + kernel.inner.len() - 1;
    let last = *kernel.inner.last()?;
    let v = lanes::width(kernel, axis, last, false, target.options.aligned);
    let vectors = (kernel.inner_size() / i64::from(v)).max(1);
    let slot = slot_bytes(kernel) * v;
    let most = i64::from((target.options.tuning.resident_bytes / slot.max(1)).max(1));
    let round = |n: i64, k: i64| ((n + k - 1) / k) as u32;
    Some(if vectors <= 32 {
        Held { v, k: 1, group: (vectors as u32).next_power_of_two(), threads: 256 }
    } else if vectors <= 32 * most.min(4) {
        Held { v, k: round(vectors, 32), group: 32, threads: 256 }
    } else {
        let k = i64::from(round(vectors, 512)).max(2).min(most);
        let threads = round(vectors, k).next_multiple_of(32);
        if threads > 1024 {
            return None;
        }
        Held { v, k: k as u32, group: threads, threads }
    })
}

/// Bytes that one element keeps in registers at the fullest pass.
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

/// The last pass that uses a full-level value.
fn last_use(kernel: &Kernel, phases: &Phases, v: Val) -> u32 {
    let users = kernel.body.iter().enumerate().filter(|(_, t)| operands(&t.inst).contains(&v));
    users
        .map(|(i, t)| if matches!(t.inst, Inst::Reduce { .. }) { phases.of[i] - 1 } else { phases.of[i] })
        .max()
        .unwrap_or(0)
}

pub(super) fn emit(unit: &Unit, target: Target, held: Held) -> Stage {
    let mut lower = Lower::new(unit, target);
    let kernel = &unit.kernel;
    let phases = Phases::new(kernel);
    let (outer, inner) = (kernel.outer.len(), kernel.inner.len());
    let axis = outer + inner - 1;
    let span = Span { v: held.v, u: held.k };
    let (v, sub, int) = (span.v, span.sub(), lower.index());
    let whole = held.group == held.threads;
    let mut code = Code::at(1);

    // Which row, and where in it.
    let n = lower.int("n", kernel.inner_size());
    let rows = kernel.outer_size();
    if whole {
        code.line(format!("const {int} row = blockIdx.x;"));
        code.line("const int lane = threadIdx.x;");
    } else {
        let count = lower.int("rows", rows);
        let per = held.threads / held.group;
        code.line(format!("const int lane = threadIdx.x % {};", held.group));
        code.line(format!("const {int} own = ({int})blockIdx.x * {per} + threadIdx.x / {};", held.group));
        code.line(format!("const bool alive = own < {count};"));
        code.line(format!("const {int} row = alive ? own : {count} - 1;"));
    }
    outer_indices(&mut lower, &mut code, "row");
    let place = inner_place(&mut lower, &mut code, axis);

    for v in row_level(kernel, &phases, 0) {
        row_statement(&mut lower, &mut code, v, if whole { "lane == 0" } else { "alive && lane == 0" });
    }
    for p in 0..phases.passes {
        let folds = folds_of(kernel, &phases, p);
        code.line(format!("// pass {p}"));
        // Loads, all before the first use.
        let mut loads: Vec<(Val, String, Spot)> = Vec::new();
        for (i, t) in kernel.body.iter().enumerate() {
            let Inst::Load { buf, access } = &t.inst else { continue };
            if t.level == Level::Full && phases.of[i] == p {
                let at = place.at(&mut lower, access);
                let s = spot(&mut lower, access, axis, v, t.dtype, at);
                let same = s.lane == lanes::Lane::Same;
                let ty = if same { ctype(t.dtype).into() } else { span.vector(ctype(t.dtype)) };
                code.line(span.array(&ty, &format!("x{i}")));
                lower.names.insert(i as Val, if same { format!("x{i}{sub}") } else { span.lane(&format!("x{i}")) });
                loads.push((i as Val, lower.pointer(*buf, t.dtype), s));
            }
        }
        if !loads.is_empty() {
            span.scoped(&mut code, |c| {
                place.lines(c, &lane_vector(span, held.group));
                for (i, ptr, s) in &loads {
                    let t = kernel.body[*i as usize].dtype;
                    let zero = if s.lane == lanes::Lane::Same { ctype(t).into() } else { span.vector(ctype(t)) };
                    c.line(format!("x{i}{sub} = j < {n} ? {} : {zero}{{}};", s.load(ptr, v, None)));
                }
            });
        }
        let kept: Vec<Val> = (0..kernel.body.len() as Val)
            .filter(|&i| {
                let t = &kernel.body[i as usize];
                let made = matches!(t.inst, Inst::Map { .. } | Inst::Gather { .. });
                t.level == Level::Full && made && phases.of[i as usize] == p && last_use(kernel, &phases, i) > p
            })
            .collect();
        for &i in &kept {
            code.line(span.array(&span.vector(ctype(kernel.body[i as usize].dtype)), &format!("x{i}")));
        }
        for f in &folds {
            code.line(format!("{0}::state s{1} = {0}::empty();", f.name, f.v));
        }
        span.scoped(&mut code, |c| {
            place.lines(c, &lane_vector(span, held.group));
            let stores: Vec<usize> = (0..kernel.body.len())
                .filter(|&i| {
                    kernel.body[i].level == Level::Full
                        && matches!(kernel.body[i].inst, Inst::Store { .. })
                        && phases.of[i] == p
                })
                .collect();
            for f in &folds {
                c.line(format!("{} r{}[{v}];", f.element(), f.v));
            }
            for &i in &stores {
                c.line(format!("{} y{i};", span.vector(ctype(kernel.body[i].dtype))));
            }
            let lane = |name: &str| if v == 1 { name.to_string() } else { format!("{name}.v[l]") };
            span.each_lane(c, |c| {
                for (i, t) in kernel.body.iter().enumerate() {
                    let i16 = i as Val;
                    match &t.inst {
                        _ if t.level != Level::Full => {}
                        Inst::Iota { access } => {
                            let at = place.at(&mut lower, access);
                            let s = spot(&mut lower, access, axis, v.max(2), t.dtype, at.clone());
                            let step = if v == 1 || s.step == "0" {
                                String::new()
                            } else {
                                format!(" + l * (int64){}", s.step)
                            };
                            lower.names.insert(i16, format!("((int64)({at}){step})"));
                        }
                        Inst::Map { .. } | Inst::Gather { .. } if phases.of[i] == p => {
                            lower.statement(c, i16);
                            if kept.contains(&i16) {
                                c.line(format!("{} = v{i};", span.lane(&format!("x{i}"))));
                            }
                        }
                        Inst::Store { arg, .. } if phases.of[i] == p => {
                            c.line(format!("{} = {};", lane(&format!("y{i}")), lower.name(*arg)));
                        }
                        _ => {}
                    }
                }
                for f in &folds {
                    let l = if v == 1 { "0" } else { "l" };
                    c.line(format!("r{}[{l}] = {};", f.v, f.taken(&lower.name(f.arg))));
                }
            });
            for &i in &kept {
                lower.names.insert(i, span.lane(&format!("x{i}")));
            }
            if folds.is_empty() && stores.is_empty() {
                return;
            }
            c.block(format!("if (j < {n})"), |c| {
                for f in &folds {
                    take_all(c, f, v, "", "j");
                }
                for &i in &stores {
                    let Inst::Store { buf, access, .. } = &kernel.body[i].inst else { continue };
                    let d = kernel.body[i].dtype;
                    let at = place.at(&mut lower, access);
                    let s = spot(&mut lower, access, axis, v, d, at);
                    let line = s.store(&lower.pointer(*buf, d), v, &format!("y{i}"), None);
                    c.line(if whole { line } else { format!("if (alive) {line}") });
                }
            });
        });
        for f in &folds {
            if whole {
                code.line(format!("__shared__ {}::state shared{}[{}];", f.name, f.v, (held.threads / 32).max(1)));
                code.line(format!("s{0} = block_fold<{1}, {2}>(s{0}, shared{0});", f.v, f.name, held.threads));
            } else if held.group > 1 {
                code.line(format!("s{0} = group_fold<{1}, {2}>(s{0});", f.v, f.name, held.group));
            }
            code.line(f.result(&format!("s{}", f.v)));
        }
        for v in row_level(kernel, &phases, p + 1) {
            row_statement(&mut lower, &mut code, v, if whole { "lane == 0" } else { "alive && lane == 0" });
        }
    }
    let per = i64::from(held.threads / held.group);
    let shape = Shape::linear((rows + per - 1) / per, held.threads);
    let name = kernel_name(if whole { "row" } else { "rows" }, kernel);
    // As many blocks as registers allow: what a row keeps, and twenty more.
    let registers = 4 * (slot_bytes(kernel) * v * held.k).div_ceil(16) + 20;
    let blocks = ((1 << 16) / (held.threads * registers)).clamp((1024 / held.threads).max(1), 2048 / held.threads);
    lower.finish(&name, held.threads, blocks, code, shape)
}

/// The position of the current vector's first element in its row.
fn lane_vector(span: Span, group: u32) -> String {
    let vector = if span.u == 1 { "lane".into() } else { format!("lane + u * {group}") };
    match (span.u, span.v) {
        (_, 1) => vector,
        (1, v) => format!("lane * {v}"),
        (_, v) => format!("({vector}) * {v}"),
    }
}

/// Statements that take the elements `r[from ..][..v]` of a fold in, all valid; `index` is that of the first.
pub(super) fn take_all(c: &mut Code, f: &super::Folding, v: u32, from: &str, index: &str) {
    if f.wants_index() {
        let at = if from.is_empty() { "l".to_string() } else { format!("{from} + l") };
        c.unrolled("l", v, |c| c.line(format!("{0}::one(s{1}, r{1}[{at}], {index} + l);", f.name, f.v)));
    } else {
        let at = if from.is_empty() { String::new() } else { format!(" + {from}") };
        c.line(format!("{0}::many<{v}>(s{1}, r{1}{at});", f.name, f.v));
    }
}

/// Declares `i0`… for the outer axes from a row's number.
pub(super) fn outer_indices(lower: &mut Lower<'_>, code: &mut Code, row: &str) {
    let (int, outer) = (lower.index(), lower.unit.kernel.outer.clone());
    let mut rest = row.to_string();
    for k in (1..outer.len()).rev() {
        let d = lower.divisor(&format!("d{k}"), outer[k]);
        code.line(format!("const {int} q{k} = quotient({rest}, {d}), i{k} = {rest} - q{k} * extent({d});"));
        rest = format!("q{k}");
    }
    if !outer.is_empty() {
        code.line(format!("const {int} i0 = {rest};"));
    }
}

/// Names of the outer indices.
pub(super) fn outer_vars(lower: &Lower<'_>) -> Vec<(usize, String)> {
    (0..lower.unit.kernel.outer.len()).map(|k| (k, format!("i{k}"))).collect()
}

/// How elements of a row are found: the row's start per access, and the inner indices.
pub(super) struct Place {
    int: &'static str,
    inner: Vec<(usize, String)>,
    lines: Vec<String>,
}

impl Place {
    /// Declares the linear position `j` of the current vector's first element, and the inner indices.
    pub(super) fn lines(&self, code: &mut Code, element: &str) {
        code.line(format!("const {} j = {element};", self.int));
        self.lines.iter().for_each(|line| code.line(line));
    }

    /// The element of lane 0.
    pub(super) fn at(&self, lower: &mut Lower<'_>, access: &cuprous_plan::Access) -> String {
        let tag = lower.tag(access);
        let within = lower.address(access, &self.inner, false);
        if within == "0" { format!("row{tag}") } else { format!("row{tag} + {within}") }
    }
}

/// Declares the start of the row for every full-level access.
pub(super) fn inner_place(lower: &mut Lower<'_>, code: &mut Code, axis: usize) -> Place {
    let kernel = &lower.unit.kernel;
    let (int, first) = (lower.index(), kernel.outer.len());
    let outer = outer_vars(lower);
    let mut seen = Vec::new();
    for t in kernel.body.iter().filter(|t| t.level == Level::Full) {
        if let Inst::Load { access, .. } | Inst::Store { access, .. } | Inst::Iota { access } = &t.inst {
            let tag = lower.tag(access);
            if !seen.contains(&tag) {
                seen.push(tag);
                let at = lower.address(access, &outer, true);
                code.line(format!("const {int} row{tag} = {at};"));
            }
        }
    }
    let mut lines = Vec::new();
    let mut inner = vec![(axis, "j".to_string())];
    if kernel.inner.len() > 1 {
        let d = lower.divisor(&format!("d{axis}"), kernel.inner[kernel.inner.len() - 1]);
        lines.push(format!("const {int} g{axis} = quotient(j, {d}), e{axis} = j - g{axis} * extent({d});"));
        inner = vec![(axis, format!("e{axis}"))];
        let mut rest = format!("g{axis}");
        for k in (first + 1..axis).rev() {
            let d = lower.divisor(&format!("d{k}"), kernel.inner[k - first]);
            lines.push(format!("const {int} g{k} = quotient({rest}, {d}), e{k} = {rest} - g{k} * extent({d});"));
            inner.push((k, format!("e{k}")));
            rest = format!("g{k}");
        }
        lines.push(format!("const {int} e{first} = {rest};"));
        inner.push((first, format!("e{first}")));
    }
    Place { int, inner, lines }
}

/// A row-level instruction, once per row; `leader` says which thread writes.
pub(super) fn row_statement(lower: &mut Lower<'_>, code: &mut Code, v: Val, leader: &str) {
    let t = &lower.body()[v as usize];
    let outer = outer_vars(lower);
    match &t.inst {
        Inst::Load { buf, access } => {
            let at = lower.address(access, &outer, true);
            let p = lower.pointer(*buf, t.dtype);
            code.line(format!("const {} v{v} = {p}[{at}];", ctype(t.dtype)));
        }
        Inst::Iota { access } => {
            let at = lower.address(access, &outer, true);
            code.line(format!("const int64 v{v} = {at};"));
        }
        Inst::Store { buf, access, arg } => {
            let at = lower.address(access, &outer, true);
            let (p, x) = (lower.pointer(*buf, t.dtype), lower.name(*arg));
            code.line(format!("if ({leader}) {p}[{at}] = {x};"));
        }
        _ => lower.statement(code, v),
    }
}
