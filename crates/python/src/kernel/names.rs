//! What translation needs besides: looking names up, numbering them, operators.

use cuprous_kernel::ast::{BinOp, CmpOp, Expr, ExprKind, Function, Name, Stmt, StmtKind};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::parse::{Node, kind};

/// What a name means to a function: in its closure, its module, or Python.
pub(super) fn lookup<'py>(function: &Node<'py>, name: &str) -> PyResult<Option<Node<'py>>> {
    let free: Vec<String> = function.getattr("__code__")?.getattr("co_freevars")?.extract()?;
    if let Some(k) = free.iter().position(|f| f == name) {
        let cell = function.getattr("__closure__")?.get_item(k)?;
        return Ok(cell.getattr("cell_contents").ok());
    }
    let globals = function.getattr("__globals__")?;
    if let Ok(found) = globals.get_item(name) {
        return Ok(Some(found));
    }
    Ok(function.py().import("builtins")?.getattr(name).ok())
}

/// Gives captured parameters the numbers after the function's own, before all other names.
pub(super) fn renumber(function: &mut Function, own: u32, names: u32) {
    let more = function.params.len() as u32 - own;
    for (k, param) in function.params.iter_mut().enumerate() {
        param.name.id = k as u32;
    }
    if more > 0 {
        each_name(&mut function.body, &mut |name| name.id += more);
    }
    function.names = names + more;
}

fn each_name(body: &mut [Stmt], f: &mut dyn FnMut(&mut Name)) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::Assign { targets, value } => {
                targets.iter_mut().for_each(|t| names_in(t, f));
                names_in(value, f);
            }
            StmtKind::AugAssign { target, value, .. } => {
                names_in(target, f);
                names_in(value, f);
            }
            StmtKind::If { test, body, orelse } | StmtKind::While { test, body, orelse } => {
                names_in(test, f);
                each_name(body, f);
                each_name(orelse, f);
            }
            StmtKind::For { target, iter, body, orelse } => {
                names_in(target, f);
                names_in(iter, f);
                each_name(body, f);
                each_name(orelse, f);
            }
            StmtKind::Return(Some(e)) | StmtKind::Expr(e) | StmtKind::Assert { test: e, .. } => names_in(e, f),
            _ => {}
        }
    }
}

fn names_in(e: &mut Expr, f: &mut dyn FnMut(&mut Name)) {
    match &mut e.kind {
        ExprKind::Name(name) => f(name),
        ExprKind::Value(_) | ExprKind::Unsupported { .. } => {}
        ExprKind::Bin { left, right, .. } => {
            names_in(left, f);
            names_in(right, f);
        }
        ExprKind::Unary { operand, .. } => names_in(operand, f),
        ExprKind::Bool { values, .. } | ExprKind::Tuple(values) => values.iter_mut().for_each(|v| names_in(v, f)),
        ExprKind::Compare { left, rest } => {
            names_in(left, f);
            rest.iter_mut().for_each(|(_, v)| names_in(v, f));
        }
        ExprKind::IfExp { test, body, orelse } => [test, body, orelse].into_iter().for_each(|v| names_in(v, f)),
        ExprKind::Call { func, args, keywords } => {
            names_in(func, f);
            args.iter_mut().for_each(|v| names_in(v, f));
            keywords.iter_mut().for_each(|(_, v)| names_in(v, f));
        }
        ExprKind::Attribute { value, .. } => names_in(value, f),
        ExprKind::Subscript { value, index } => {
            names_in(value, f);
            names_in(index, f);
        }
        ExprKind::Slice { start, stop, step } => {
            [start, stop, step].into_iter().flatten().for_each(|v| names_in(v, f));
        }
    }
}

pub(super) fn binary(op: &Node<'_>) -> PyResult<BinOp> {
    Ok(match kind(op)?.as_str() {
        "Add" => BinOp::Add,
        "Sub" => BinOp::Sub,
        "Mult" => BinOp::Mult,
        "Div" => BinOp::Div,
        "FloorDiv" => BinOp::FloorDiv,
        "Mod" => BinOp::Mod,
        "Pow" => BinOp::Pow,
        "LShift" => BinOp::LShift,
        "RShift" => BinOp::RShift,
        "BitOr" => BinOp::BitOr,
        "BitXor" => BinOp::BitXor,
        "BitAnd" => BinOp::BitAnd,
        _ => BinOp::MatMult,
    })
}

pub(super) fn comparison(op: &Node<'_>) -> PyResult<CmpOp> {
    Ok(match kind(op)?.as_str() {
        "Eq" => CmpOp::Eq,
        "NotEq" => CmpOp::NotEq,
        "Lt" => CmpOp::Lt,
        "LtE" => CmpOp::LtE,
        "Gt" => CmpOp::Gt,
        "GtE" => CmpOp::GtE,
        "Is" => CmpOp::Is,
        "IsNot" => CmpOp::IsNot,
        "In" => CmpOp::In,
        _ => CmpOp::NotIn,
    })
}

pub(super) fn text_of(node: &Node<'_>) -> PyResult<Option<String>> {
    let Ok(value) = node.getattr("value") else { return Ok(None) };
    Ok(value.cast::<PyString>().ok().map(|s| s.to_string()))
}

pub(super) fn unparse(node: &Node<'_>) -> PyResult<String> {
    node.py().import("ast")?.getattr("unparse")?.call1((node,))?.extract()
}
