//! What the templates of reductions share: the address of a row's elements, and row-level instructions.

use cuprous_plan::{Access, Inst, Level, Val};

use super::Reduction;
use crate::codegen::lower::Lower;
use crate::codegen::map::vector_access;
use crate::codegen::text::Code;
use crate::codegen::types::ctype;

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
    inner: Vec<(usize, String)>,
    lines: Vec<String>,
}

impl RowPosition {
    /// Declares the linear position `j` of the current vector's first element, and the inner indices.
    pub(super) fn lines(&self, code: &mut Code, element: &str) {
        code.line(format!("const {} j = {element};", self.int));
        self.lines.iter().for_each(|line| code.line(line));
    }

    /// Returns the index of lane 0's element.
    pub(super) fn at(&self, lower: &mut Lower<'_>, access: &Access) -> String {
        let tag = lower.tag(access);
        let within = lower.address(access, &self.inner, false);
        if within == "0" { format!("row{tag}") } else { format!("row{tag} + {within}") }
    }
}

/// Declares the start of the row for every full-level access.
pub(super) fn row_position(lower: &mut Lower<'_>, code: &mut Code, axis: usize) -> RowPosition {
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
    RowPosition { int, inner, lines }
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
