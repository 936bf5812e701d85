//! Type promotion by NumPy 2's rules (NEP 50): arrays by table, Python scalars weakly.

use crate::DType::{self, *};
use crate::Kind;

/// The dtype that holds both `a` and `b`: `numpy.promote_types`, with `bfloat16` as ml_dtypes has it.
pub const fn promote(a: DType, b: DType) -> DType {
    if a as u8 == b as u8 {
        return a;
    }
    let (lo, hi) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    match (lo.kind(), hi.kind()) {
        (Kind::Bool, _) => hi,
        (Kind::Int, Kind::UInt) => signed_over(lo, hi),
        (Kind::Int | Kind::UInt, Kind::Float) => match (lo, hi) {
            (I8 | U8, _) => hi,
            (I16 | U16, F16 | BF16) => F32,
            (I16 | U16, _) => hi,
            // bfloat16 with wide integers follows ml_dtypes, which goes through float32 only for 16 bits.
            _ => F64,
        },
        (Kind::Int | Kind::UInt, Kind::Complex) => match (lo, hi) {
            (I8 | U8 | I16 | U16, _) => hi,
            _ => C128,
        },
        (Kind::Float, Kind::Float) => match (lo, hi) {
            (F16, BF16) => F32,
            _ => hi,
        },
        (Kind::Float, Kind::Complex) => match (lo, hi) {
            (F64, _) => C128,
            _ => hi,
        },
        _ => hi,
    }
}

/// Kinds in promotion order, sizes within a kind.
const fn rank(d: DType) -> u8 {
    d as u8
}

/// A signed type that holds a signed and an unsigned one; `float64` where none does.
const fn signed_over(signed: DType, unsigned: DType) -> DType {
    let wanted = match unsigned {
        U8 => I16,
        U16 => I32,
        U32 => I64,
        _ => return F64,
    };
    if signed as u8 >= wanted as u8 { signed } else { wanted }
}

/// The dtype of an operation between an array of type `d` and a Python scalar of kind `scalar`: the scalar adapts
/// to the array within its kind, and lifts the kind (to the default size) where it must.
pub const fn promote_weak(d: DType, scalar: Kind) -> DType {
    match (d.kind(), scalar) {
        (_, Kind::Bool) => d,
        (Kind::Bool, Kind::Int | Kind::UInt) => I64,
        (_, Kind::Int | Kind::UInt) => d,
        (Kind::Bool | Kind::Int | Kind::UInt, Kind::Float) => F64,
        (Kind::Bool | Kind::Int | Kind::UInt, Kind::Complex) => C128,
        (Kind::Float, Kind::Complex) => match d {
            F64 => C128,
            _ => C64,
        },
        _ => d,
    }
}

/// The default dtype of a Python scalar on its own.
pub const fn default_dtype(kind: Kind) -> DType {
    match kind {
        Kind::Bool => Bool,
        Kind::Int | Kind::UInt => I64,
        Kind::Float => F64,
        Kind::Complex => C128,
    }
}

/// `numpy.can_cast(from, to, "safe")`.
pub const fn can_cast_safely(from: DType, to: DType) -> bool {
    promote(from, to) as u8 == to as u8
}

/// `numpy.can_cast(from, to, "same_kind")`, which in-place operators and `out=` ask for.
pub const fn can_cast_same_kind(from: DType, to: DType) -> bool {
    const fn order(k: Kind) -> u8 {
        match k {
            Kind::Bool => 0,
            Kind::UInt => 1,
            Kind::Int => 2,
            Kind::Float => 3,
            Kind::Complex => 4,
        }
    }
    order(from.kind()) <= order(to.kind()) || can_cast_safely(from, to)
}

/// The dtype in which NumPy sums this type by default: small integers widen to 64 bits.
pub const fn sum_dtype(d: DType) -> DType {
    match d.kind() {
        Kind::Bool | Kind::Int => I64,
        Kind::UInt => U64,
        _ => d,
    }
}
