//! What the templates of reductions share: the address of a row's elements, and row-level instructions.

use cuprous_plan::{Access, Inst, Level, Val};

use super::Reduction;
use crate::codegen::lower::Lower;
use crate::codegen::map::{Span, VectorAccess, vector_access};
use crate::codegen::text::Code;
use crate::codegen::types::ctype;
use crate::codegen::vectorize::LaneStep;

/// Returns the expression of the current lane of an index; `at` is that of lane 0.
pub(super) fn iota_lane(lower: &mut Lower<'_>, access: &Access, axis: usize, v: u32, at: &str) -> String {
    let s = vector_access(lower, access, axis, v.max(2), cuprous_core::DType::I64, at.to_string());
    let step = if v == 1 || s.step == "0" { String::new() } else { format!(" + l * (int64){}", s.step) };
    format!("((int64)({at}){step})")
}

/// Writes the statements that accumulate the elements `r[from ..][..v]`, all of which are valid; `index` is that of the
/// first.
pub(super) fn accumulate_all(c: &mut Code, f: &Reduction, v: u32, from: &str, index: &str) {
    if f.wants_index() {
        let at = if from.is_empty() { "l".to_string() } else { format!("{from} + l") };
        c.unrolled("l", v, |c| c.line(format!("{0}::accumulate(s{1}, r{1}[{at}], {index} + l);", f.name, f.v)));
    } else {
        let at = if from.is_empty() { String::new() } else { format!(" + {from}") };
        c.line(format!("{0}::accumulate_many<{v}>(s{1}, r{1}{at});", f.name, f.v));
    }
}

/// Declares `i0`… for the outer axes from the number of a row.
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

/// Returns the names of the outer indices.
pub(super) fn outer_vars(lower: &Lower<'_>) -> Vec<(usize, String)> {
    (0..lower.unit.kernel.outer.len()).map(|k| (k, format!("i{k}"))).collect()
}

/// How elements of a row are addressed: the start of the row for each access, and the inner indices.
pub(super) struct RowPosition {
    int: &'static str,
    /// What the variables of rows' starts are named after.
    prefix: &'static str,
    /// The variable of an element's number in its row.
    number: &'static str,
    inner: Vec<(usize, String)>,
    lines: Vec<String>,
}

impl RowPosition {
    /// Declares the number of the current vector's first element, and the inner indices.
    pub(super) fn lines(&self, code: &mut Code, element: &str) {
        code.line(format!("const {} {} = {element};", self.int, self.number));
        self.lines.iter().for_each(|line| code.line(line));
    }

    /// Returns the index of lane 0's element.
    pub(super) fn at(&self, lower: &mut Lower<'_>, access: &Access) -> String {
        let start = format!("{}{}", self.prefix, lower.tag(access));
        let within = lower.address(access, &self.inner, false);
        if within == "0" { start } else { format!("{start} + {within}") }
    }
}

/// Declares the start of the row for every full-level access. `number` is the variable of an element's number.
pub(super) fn row_position(
    lower: &mut Lower<'_>,
    code: &mut Code,
    prefix: &'static str,
    number: &'static str,
) -> RowPosition {
    let kernel = &lower.unit.kernel;
    let (int, first) = (lower.index(), kernel.outer.len());
    let outer = outer_vars(lower);
    let mut declared = Vec::new();
    for t in kernel.body.iter().filter(|t| t.level == Level::Full) {
        if let Inst::Load { access, .. } | Inst::Store { access, .. } | Inst::Iota { access } = &t.inst {
            let tag = lower.tag(access);
            if !declared.contains(&tag) {
                declared.push(tag);
                let at = lower.address(access, &outer, true);
                code.line(format!("const {int} {prefix}{tag} = {at};"));
            }
        }
    }
    let mut lines = Vec::new();
    let mut inner = Vec::new();
    let mut rest = number.to_string();
    for k in (first + 1..first + kernel.inner.len()).rev() {
        let d = lower.divisor(&format!("d{k}"), kernel.inner[k - first]);
        lines.push(format!("const {int} g{k} = quotient({rest}, {d}), e{k} = {rest} - g{k} * extent({d});"));
        inner.push((k, format!("e{k}")));
        rest = format!("g{k}");
    }
    if inner.is_empty() {
        inner.push((first, rest));
    } else {
        lines.push(format!("const {int} e{first} = {rest};"));
        inner.push((first, format!("e{first}")));
    }
    RowPosition { int, prefix, number, inner, lines }
}

/// A load of vectors.
pub(super) struct VectorLoad {
    pub(super) val: Val,
    /// The type of its variable.
    pub(super) ty: String,
    pub(super) pointer: String,
    pub(super) access: VectorAccess,
}

/// The vectors of a thread, which lie along an axis.
#[derive(Clone, Copy)]
pub(super) struct Vectors<'a> {
    pub(super) position: &'a RowPosition,
    pub(super) span: Span,
    pub(super) axis: usize,
}

impl Vectors<'_> {
    /// Declares the variables `x…` of those of the instructions that are loads.
    pub(super) fn declare_loads(
        self,
        lower: &mut Lower<'_>,
        code: &mut Code,
        instructions: impl IntoIterator<Item = usize>,
    ) -> Vec<VectorLoad> {
        let (span, body) = (self.span, &lower.unit.kernel.body);
        let mut loads = Vec::new();
        for i in instructions {
            let Inst::Load { buf, access } = &body[i].inst else { continue };
            let (d, name) = (body[i].dtype, format!("x{i}"));
            let at = self.position.at(lower, access);
            let s = vector_access(lower, access, self.axis, span.v, d, at);
            let same = s.lane == LaneStep::Broadcast;
            let ty = if same { ctype(d).into() } else { span.vector(ctype(d)) };
            code.line(span.array(&ty, &name));
            lower.names.insert(i as Val, if same { format!("{name}{}", span.sub()) } else { span.lane(&name) });
            loads.push(VectorLoad { val: i as Val, ty, pointer: lower.pointer(*buf, d), access: s });
        }
        loads
    }

    /// Writes the instructions other than loads for each lane. Operands of stores are left in the variables `y…`, those
    /// of reductions in the elements `index` of `r…`, and the values `kept` in `x…`.
    pub(super) fn compute_lanes(
        self,
        lower: &mut Lower<'_>,
        code: &mut Code,
        instructions: &[usize],
        kept: &[Val],
        reductions: &[Reduction],
        index: &str,
    ) {
        let (v, body) = (self.span.v, &lower.unit.kernel.body);
        self.span.each_lane(code, |c| {
            for &i in instructions {
                match &body[i].inst {
                    Inst::Iota { access } => {
                        let at = self.position.at(lower, access);
                        let name = iota_lane(lower, access, self.axis, v, &at);
                        lower.names.insert(i as Val, name);
                    }
                    Inst::Map { .. } | Inst::Gather { .. } => {
                        lower.statement(c, i as Val);
                        if kept.contains(&(i as Val)) {
                            c.line(format!("{} = v{i};", self.span.lane(&format!("x{i}"))));
                        }
                    }
                    Inst::Store { arg, .. } => {
                        let y = if v == 1 { format!("y{i}") } else { format!("y{i}.v[l]") };
                        c.line(format!("{y} = {};", lower.name(*arg)));
                    }
                    _ => {}
                }
            }
            for f in reductions {
                c.line(format!("r{}{index} = {};", f.v, f.converted(&lower.name(f.arg))));
            }
        });
    }

    /// Writes the stores from the variables `y…`. `line` writes one to a pointer.
    pub(super) fn store(
        self,
        lower: &mut Lower<'_>,
        code: &mut Code,
        stores: &[usize],
        line: impl Fn(&VectorAccess, &str, &str) -> String,
    ) {
        let body = &lower.unit.kernel.body;
        for &i in stores {
            let Inst::Store { buf, access, .. } = &body[i].inst else { continue };
            let at = self.position.at(lower, access);
            let s = vector_access(lower, access, self.axis, self.span.v, body[i].dtype, at);
            code.line(line(&s, &lower.pointer(*buf, body[i].dtype), &format!("y{i}")));
        }
    }
}

/// Writes a row-level instruction, executed once per row; `leader` is the condition for the thread that writes.
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
