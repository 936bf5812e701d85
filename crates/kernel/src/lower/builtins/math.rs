//! Functions of numbers that are built from several operations.

use cuprous_core::scalar::Number;
use cuprous_core::{DType, Fun};

use super::Call;
use crate::ast::BinOp;
use crate::diagnostic::Result;
use crate::ir::{Expr, Kind};
use crate::lower::context::{LoweringContext, Operand, convert, tuple};
use crate::rules::Rule;
use crate::table;
use crate::types::{BOOL, Ty};

/// `np.where(test, a, b)` and `cuda.selp(test, a, b)` of numbers.
pub(super) fn select(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let test = call.value(cx, 0)?;
    let test = cx.truth_value(test)?;
    let (a, b) = (call.value(cx, 1)?, call.value(cx, 2)?);
    if a.ty == Ty::Unknown || b.ty == Ty::Unknown {
        return Ok(Operand::Expr(Expr::unknown()));
    }
    let Some(ty) = a.ty.unify(&b.ty).filter(|ty| ty.scalar().is_some()) else {
        return Err(cx.typing(format!("{} of incompatible types {} and {}", call.name, a.ty, b.ty)));
    };
    let (a, b) = (cx.cast(a, &ty)?, cx.cast(b, &ty)?);
    Ok(Operand::Expr(Expr::new(ty, Kind::Select(Box::new(test), Box::new(a), Box::new(b)))))
}

pub(super) fn frexp(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.value(cx, 0)?;
    let x = cx.stabilize("x", x);
    let rows = ["math.frexp_mantissa", "math.frexp_exponent"].map(table::row);
    let parts = rows.into_iter().flatten().map(|row| cx.device_builtin(row, vec![x.clone()])).collect::<Result<_>>()?;
    Ok(Operand::Expr(tuple(parts, None)))
}

pub(super) fn modf(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.value(cx, 0)?;
    let x = cx.stabilize("x", x);
    let fraction = cx.function(call.name, Fun::ModfFraction, Rule::Math, vec![x.clone()])?;
    let integer = cx.function(call.name, Fun::Trunc, Rule::Math, vec![x])?;
    Ok(Operand::Expr(tuple(vec![fraction, integer], None)))
}

/// `cuda.fp16.hfma`: float32 holds the product of two float16 exactly, so the result is rounded once.
pub(super) fn half_fma(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let mut values = Vec::new();
    for arg in call.args {
        let value = cx.value(arg.clone())?;
        let half = cx.cast_dtype(value, DType::F16)?;
        values.push(cx.cast_dtype(half, DType::F32)?);
    }
    let Some(row) = table::row("cuda.fma") else { return Err(cx.unsupported("fma is not supported")) };
    let sum = cx.device_builtin(row, values)?;
    Ok(Operand::Expr(cx.cast_dtype(sum, DType::F16)?))
}

pub(super) fn half_exp10(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = call.value(cx, 0)?;
    let x = cx.cast_dtype(x, DType::F32)?;
    let ten = Expr::number(Number::Float(10.0), DType::F32);
    let power = cx.function(call.name, Fun::Power, Rule::Power, vec![ten, x])?;
    Ok(Operand::Expr(cx.cast_dtype(power, DType::F16)?))
}

pub(super) fn polar(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let z = call.value(cx, 0)?;
    let z = cx.stabilize("z", z);
    let r = cx.function(call.name, Fun::Absolute, Rule::Complex, vec![z.clone()])?;
    let phi = cx.function(call.name, Fun::Angle, Rule::Complex, vec![z])?;
    Ok(Operand::Expr(tuple(vec![r, phi], None)))
}

pub(super) fn rect(cx: &mut LoweringContext<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (r, phi) = (call.value(cx, 0)?, call.value(cx, 1)?);
    let (r, phi) = (cx.stabilize("r", r), cx.stabilize("phi", phi));
    let phi = rect_angle(cx, &r, phi)?;
    let mut parts = Vec::new();
    for fun in [Fun::Cos, Fun::Sin] {
        let factor = cx.function(call.name, fun, Rule::Math, vec![phi.clone()])?;
        let part = cx.binary(BinOp::Mult, r.clone(), factor)?;
        parts.push(if fun == Fun::Sin { rect_imaginary(cx, &r, &phi, part)? } else { part });
    }
    let common = |a| Some(cuprous_core::promote::promote(a, parts[1].dtype()?));
    let Some(d) = parts[0].dtype().and_then(common) else { return Ok(Operand::Expr(Expr::unknown())) };
    let parts = parts.into_iter().map(|e| cx.cast_dtype(e, d)).collect::<Result<Vec<_>>>()?;
    let complex = if d == DType::F64 { DType::C128 } else { DType::C64 };
    Ok(Operand::Expr(Expr::new(Ty::Scalar(complex), Kind::Fun(Fun::MakeComplex, d, parts))))
}

fn zero(d: DType) -> Expr {
    Expr::number(convert(Number::Int(0), DType::I64, d), d)
}

/// Returns the angle of `rect(r, phi)`. As in Python, an angle that is not finite counts as zero if the radius is zero.
fn rect_angle(cx: &mut LoweringContext<'_, '_>, r: &Expr, phi: Expr) -> Result<Expr> {
    let (Some(d), Some(of)) = (phi.dtype(), r.dtype()) else { return Ok(phi) };
    if !d.is_float() || of.is_complex() {
        return Ok(phi);
    }
    let no_radius = Expr::new(BOOL, Kind::Fun(Fun::Equal, of, vec![r.clone(), zero(of)]));
    let finite = cx.function("isfinite", Fun::Isfinite, Rule::Math, vec![phi.clone()])?;
    let not_finite = Expr::new(BOOL, Kind::Not(Box::new(finite)));
    let test = Expr::new(BOOL, Kind::And(Box::new(no_radius), Box::new(not_finite)));
    let ty = phi.ty.clone();
    let kind = Kind::Select(Box::new(test), Box::new(zero(d)), Box::new(phi));
    Ok(cx.stabilize("phi", Expr::new(ty, kind)))
}

/// Returns the imaginary part of `rect(r, phi)`. It is zero if the angle is, even if the radius is infinite.
fn rect_imaginary(cx: &mut LoweringContext<'_, '_>, r: &Expr, phi: &Expr, part: Expr) -> Result<Expr> {
    let (Some(d), Some(of)) = (phi.dtype(), part.dtype()) else { return Ok(part) };
    if !d.is_float() || !of.is_float() {
        return Ok(part);
    }
    let test = Expr::new(BOOL, Kind::Fun(Fun::Equal, d, vec![phi.clone(), zero(d)]));
    let one = Expr::number(Number::Float(1.0), of);
    let radius = cx.cast_dtype(r.clone(), of)?;
    let sign = cx.function("copysign", Fun::Copysign, Rule::Math, vec![one, radius])?;
    let signed_zero = cx.binary(BinOp::Mult, phi.clone(), sign)?;
    let signed_zero = cx.cast_dtype(signed_zero, of)?;
    let ty = part.ty.clone();
    Ok(Expr::new(ty, Kind::Select(Box::new(test), Box::new(signed_zero), Box::new(part))))
}
