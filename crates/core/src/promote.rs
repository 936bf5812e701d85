//! Type promotion by the rules of NumPy 2 (NEP 50).

use crate::DType::{self, *};
use crate::Kind;

/// Returns the dtype that can represent both `a` and `b`, as `numpy.promote_types`. `bfloat16` follows ml_dtypes.
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

/// Returns the position in promotion order: by kind, then by size.
const fn rank(d: DType) -> u8 {
    d as u8
}

/// Returns the signed type that can represent both a signed and an unsigned type, or `float64` if no integer type can.
const fn signed_over(signed: DType, unsigned: DType) -> DType {
    let wider = match unsigned {
        U8 => I16,
        U16 => I32,
        U32 => I64,
        _ => return F64,
    };
    if signed as u8 >= wider as u8 { signed } else { wider }
}

/// Returns the dtype of an operation on an array of dtype `d` and a Python scalar of kind `scalar`. A scalar of the
/// array's kind or a lower one takes the array's dtype. A scalar of a higher kind changes the kind.
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

/// Returns the default dtype of a Python scalar.
pub const fn default_dtype(kind: Kind) -> DType {
    match kind {
        Kind::Bool => Bool,
        Kind::Int | Kind::UInt => I64,
        Kind::Float => F64,
        Kind::Complex => C128,
    }
}

/// Returns `numpy.can_cast(from, to, "safe")`.
pub const fn can_cast_safely(from: DType, to: DType) -> bool {
    promote(from, to) as u8 == to as u8
}

/// Returns `numpy.can_cast(from, to, "same_kind")`, which in-place operators and `out=` require.
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
