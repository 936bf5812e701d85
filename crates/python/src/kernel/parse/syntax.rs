//! Access to Python's syntax tree.

use cuprous_kernel::ast::{BinOp, CmpOp};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// A node of Python's syntax tree, or any object.
pub(super) type Node<'py> = Bound<'py, PyAny>;

/// Returns the class name of a node.
pub(super) fn kind(node: &Node<'_>) -> PyResult<String> {
    node.get_type().name()?.extract()
}

pub(super) fn list<'py>(node: &Node<'py>, field: &str) -> PyResult<Vec<Node<'py>>> {
    Ok(node.getattr(field)?.cast::<PyList>()?.iter().collect())
}

pub(super) fn optional<'py>(node: &Node<'py>, field: &str) -> PyResult<Option<Node<'py>>> {
    let value = node.getattr(field)?;
    Ok((!value.is_none()).then_some(value))
}

/// Looks up a name for a function: in its closure, its module, or Python's builtins.
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
