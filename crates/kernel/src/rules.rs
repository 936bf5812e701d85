//! Numba's typing rules: the dtype in which an operation computes. Integers become 64-bit, unsigned only if all
//! operands are. Operands with a float among them follow `numpy.promote_types`.

use cuprous_core::promote::promote;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Kind};

use DType::*;

/// The typing rule of a function of the operation table when it is called by a certain name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `+ - * // %` and unary minus: integers become 64-bit.
    Arith,
    /// `/`: integers become float64.
    Divide,
    /// `**`: a float keeps its size if the exponent is an integer.
    Power,
    /// `<< >>`.
    Shift,
    /// `& | ^ ~`: bool stays bool.
    Bits,
    /// `== < …` of numbers that have a common type.
    Compare,
    /// Functions of `math`: integers become float64, floats keep their type, complex numbers are rejected.
    Math,
    /// Functions of `cmath`: everything becomes complex.
    Complex,
    /// NumPy's universal functions.
    Ufunc,
    /// `min`, `max` and `abs` of Python.
    Plain,
}

/// Returns the type of a Python number.
pub fn python_type(n: Number) -> DType {
    match n {
        Number::Bool(_) => Bool,
        Number::Int(i) if i > i128::from(i64::MAX) => U64,
        Number::Int(_) => I64,
        Number::Float(_) => F64,
        Number::Complex(..) => C128,
    }
}

/// Returns int64, or uint64 if all types are unsigned.
pub fn integer(args: &[DType]) -> DType {
    if args.iter().all(|d| d.kind() == Kind::UInt) { U64 } else { I64 }
}

/// Returns the dtype in which `fun` computes under a rule; `None` if it is not defined for these types.
pub fn compute(rule: Rule, fun: Fun, args: &[DType]) -> Option<DType> {
    let common = args.iter().copied().reduce(promote)?;
    let integers = matches!(common.kind(), Kind::Bool) || args.iter().all(|d| d.is_int() || *d == Bool);
    Some(match rule {
        Rule::Arith if integers => integer(args),
        // Floor division and remainder are not defined for complex numbers.
        Rule::Arith if common.is_complex() && matches!(fun, Fun::FloorDivide | Fun::Remainder) => return None,
        Rule::Arith => common,
        Rule::Divide if integers => F64,
        Rule::Divide => common,
        Rule::Power if integers => integer(args),
        Rule::Power => match args {
            [base, exponent] if base.is_float() && !exponent.is_float() && !exponent.is_complex() => *base,
            _ => common,
        },
        Rule::Shift if integers => integer(&args[..1]),
        Rule::Bits if common == Bool => Bool,
        Rule::Bits if integers => integer(args),
        Rule::Shift | Rule::Bits => return None,
        Rule::Compare if common == Bool => Bool,
        Rule::Compare if integers => integer(args),
        Rule::Compare if common.is_complex() && !matches!(fun, Fun::Equal | Fun::NotEqual) => return None,
        Rule::Compare => common,
        Rule::Math if integers => F64,
        Rule::Math if common.is_complex() => return None,
        Rule::Math => common,
        Rule::Complex => match common {
            C64 | F32 | F16 | BF16 => C64,
            _ => C128,
        },
        Rule::Ufunc => fun.op().class.compute(common)?,
        Rule::Plain if common == Bool => I64,
        Rule::Plain if integers && args.len() > 1 => integer(args),
        Rule::Plain => common,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_have_no_remainder() {
        for fun in [Fun::FloorDivide, Fun::Remainder] {
            assert_eq!(compute(Rule::Arith, fun, &[C64, I32]), None);
        }
        assert_eq!(compute(Rule::Arith, Fun::Multiply, &[C64, I32]), Some(C128));
    }

    #[test]
    fn operators_are_typed_as_numba_types_them() {
        let add = |a, b| compute(Rule::Arith, Fun::Add, &[a, b]);
        assert_eq!(add(I32, I32), Some(I64));
        assert_eq!(add(U8, U32), Some(U64));
        assert_eq!(add(U64, I64), Some(I64));
        assert_eq!(add(I64, F32), Some(F64));
        assert_eq!(add(F32, F32), Some(F32));
        assert_eq!(add(F32, C64), Some(C64));
        assert_eq!(add(Bool, Bool), Some(I64));
        assert_eq!(compute(Rule::Divide, Fun::Divide, &[I32, I32]), Some(F64));
        assert_eq!(compute(Rule::Power, Fun::Power, &[F32, I64]), Some(F32));
        assert_eq!(compute(Rule::Bits, Fun::BitwiseAnd, &[F32, I64]), None);
        assert_eq!(compute(Rule::Math, Fun::Sin, &[I32]), Some(F64));
        assert_eq!(compute(Rule::Math, Fun::Sin, &[C64]), None);
        assert_eq!(compute(Rule::Compare, Fun::Less, &[C64, C64]), None);
    }
}
