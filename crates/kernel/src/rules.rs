//! In which type an operation computes: Numba's rules. Python's integers are 64-bit numbers, unsigned only among
//! themselves; what has a float in it goes as `numpy.promote_types` says.

use cuprous_core::promote::promote;
use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun, Kind};

use DType::*;

/// How a row of the operation table is typed when it is called by some name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `+ - * // %` and unary minus: integers become 64-bit ones.
    Arith,
    /// `/`: integers become float64.
    Divide,
    /// `**`: a float keeps its size with an integer as exponent.
    Power,
    /// `<< >>`.
    Shift,
    /// `& | ^ ~`: bool stays bool.
    Bits,
    /// `== < …` of numbers that have a common type.
    Compare,
    /// Functions of `math`: integers become float64, floats stay, complex numbers are refused.
    Math,
    /// Functions of `cmath`: everything becomes complex.
    Complex,
    /// NumPy's universal functions.
    Ufunc,
    /// `min`, `max` and `abs` of Python.
    Plain,
}

/// The type of a Python number.
pub fn python_type(n: Number) -> DType {
    match n {
        Number::Bool(_) => Bool,
        Number::Int(i) if i > i128::from(i64::MAX) => U64,
        Number::Int(_) => I64,
        Number::Float(_) => F64,
        Number::Complex(..) => C128,
    }
}

/// int64, or uint64 where all are unsigned.
pub fn integer(args: &[DType]) -> DType {
    if args.iter().all(|d| d.kind() == Kind::UInt) { U64 } else { I64 }
}

/// The type in which `fun`, called under a rule, computes for operands of these types; `None` where it has none.
pub fn compute(rule: Rule, fun: Fun, args: &[DType]) -> Option<DType> {
    let common = args.iter().copied().reduce(promote)?;
    let integers = matches!(common.kind(), Kind::Bool) || args.iter().all(|d| d.is_int() || *d == Bool);
    Some(match rule {
        Rule::Arith if integers => integer(args),
        // Complex numbers have neither floor nor rest.
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
    fn complex_numbers_have_no_rest() {
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
