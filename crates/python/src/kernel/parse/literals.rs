//! Expressions of integer literals: Python computes them when it compiles, with integers of any size.

use cuprous_kernel::ast::BinOp;
use pyo3::types::PyInt;

use super::super::entity::fits;
use super::*;

/// The value does not fit 64 bits.
pub(super) struct TooLarge;

/// The integer that an expression of literals is; `None` for other expressions.
pub(super) fn integer(node: &Node<'_>) -> PyResult<Option<Result<i128, TooLarge>>> {
    Ok(evaluated(node)?.map(|n| n.filter(|n| fits(*n)).ok_or(TooLarge)))
}

/// The same for parts of an expression; inside `None` for more than 128 bits.
#[allow(clippy::option_option, reason = "whether it is one, and whether it fits")]
fn evaluated(node: &Node<'_>) -> PyResult<Option<Option<i128>>> {
    match kind(node)?.as_str() {
        "Constant" => {
            let value = node.getattr("value")?;
            Ok(value.is_exact_instance_of::<PyInt>().then(|| value.extract().ok()))
        }
        "UnaryOp" => {
            let Some(value) = evaluated(&node.getattr("operand")?)? else { return Ok(None) };
            let op = kind(&node.getattr("op")?)?;
            Ok(match op.as_str() {
                "USub" => Some(value.and_then(i128::checked_neg)),
                "UAdd" => Some(value),
                "Invert" => Some(value.map(|n| !n)),
                _ => None,
            })
        }
        "BinOp" => {
            let Some(left) = evaluated(&node.getattr("left")?)? else { return Ok(None) };
            let Some(right) = evaluated(&node.getattr("right")?)? else { return Ok(None) };
            let (Some(a), Some(b)) = (left, right) else { return Ok(Some(None)) };
            Ok(applied(binary(&node.getattr("op")?)?, a, b))
        }
        _ => Ok(None),
    }
}

/// As [`evaluated`], of two numbers; `None` where Python gives no integer.
#[allow(clippy::option_option, reason = "whether it is one, and whether it fits")]
fn applied(op: BinOp, a: i128, b: i128) -> Option<Option<i128>> {
    Some(match op {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_round_down() {
        for (a, b, quotient, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)] {
            assert_eq!(applied(BinOp::FloorDiv, a, b), Some(Some(quotient)), "{a} // {b}");
            assert_eq!(applied(BinOp::Mod, a, b), Some(Some(rest)), "{a} % {b}");
        }
    }

    #[test]
    fn what_is_too_large_or_no_integer_is_told_apart() {
        assert_eq!(applied(BinOp::Pow, 2, 200), Some(None));
        assert_eq!(applied(BinOp::Pow, 10, 19), Some(Some(10_000_000_000_000_000_000)));
        assert_eq!(applied(BinOp::Pow, 2, -1), None);
        assert_eq!(applied(BinOp::Div, 4, 2), None);
        assert_eq!(applied(BinOp::FloorDiv, 4, 0), None);
        assert_eq!(applied(BinOp::LShift, 1, 64), Some(Some(1 << 64)));
        assert_eq!(applied(BinOp::LShift, 1, 5000), Some(None));
    }
}
