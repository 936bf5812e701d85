//! Constant folding of integer literals by Python's rules: integers are unbounded, but the result must fit.

use cuprous_kernel::ast::BinOp;
use pyo3::types::PyInt;

use super::values::fits;
use super::*;

/// The value does not fit.
#[derive(Clone, Copy)]
pub(super) struct TooLarge;

/// Returns the value of an expression of integer literals if int64 or uint64 holds it; `None` for other expressions.
pub(super) fn integer(node: &Node<'_>) -> PyResult<Option<Result<i128, TooLarge>>> {
    let value = evaluated(node)?;
    Ok(value.map(|n| n.and_then(|n| if fits(n) { Ok(n) } else { Err(TooLarge) })))
}

/// Evaluates with 128 bits, for parts of an expression.
fn evaluated(node: &Node<'_>) -> PyResult<Option<Result<i128, TooLarge>>> {
    match kind(node)?.as_str() {
        "Constant" => {
            let value = node.getattr("value")?;
            Ok(value.is_exact_instance_of::<PyInt>().then(|| value.extract().map_err(|_| TooLarge)))
        }
        "UnaryOp" => {
            let Some(value) = evaluated(&node.getattr("operand")?)? else { return Ok(None) };
            let op = kind(&node.getattr("op")?)?;
            Ok(match op.as_str() {
                "USub" => Some(value.and_then(|n| n.checked_neg().ok_or(TooLarge))),
                "UAdd" => Some(value),
                "Invert" => Some(value.map(|n| !n)),
                _ => None,
            })
        }
        "BinOp" => {
            let Some(left) = evaluated(&node.getattr("left")?)? else { return Ok(None) };
            let Some(right) = evaluated(&node.getattr("right")?)? else { return Ok(None) };
            let (Ok(a), Ok(b)) = (left, right) else { return Ok(Some(Err(TooLarge))) };
            Ok(applied(binary(&node.getattr("op")?)?, a, b))
        }
        _ => Ok(None),
    }
}

/// Returns the value of `a op b`; `None` if the result is not an integer in Python.
fn applied(op: BinOp, a: i128, b: i128) -> Option<Result<i128, TooLarge>> {
    let value = match op {
        BinOp::Add => a.checked_add(b),
        BinOp::Sub => a.checked_sub(b),
        BinOp::Mult => a.checked_mul(b),
        BinOp::FloorDiv if b != 0 => a.checked_div_euclid(b).map(|q| if b < 0 && a % b != 0 { q - 1 } else { q }),
        BinOp::Mod if b != 0 => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        BinOp::Pow if b >= 0 => match a {
            0 | 1 => Some(if b == 0 { 1 } else { a }),
            -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        },
        BinOp::LShift if b >= 0 => match u32::try_from(b) {
            _ if a == 0 => Some(0),
            Ok(b) if b < 127 => a.checked_mul(1 << b),
            _ => None,
        },
        BinOp::RShift if b >= 0 => Some(a >> b.min(127)),
        BinOp::BitOr => Some(a | b),
        BinOp::BitXor => Some(a ^ b),
        BinOp::BitAnd => Some(a & b),
        _ => return None,
    };
    Some(value.ok_or(TooLarge))
}
