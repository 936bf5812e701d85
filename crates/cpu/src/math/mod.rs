//! Scalar functions, written so that loops over them vectorize: branch-free polynomials, as methods of traits. The
//! methods have the names that the operation table uses in its `cpu` column.
//!
//! The traits are named after [`cuprous_core::ops::Class`], so that rows of the table expand to bounds on them.

#![allow(clippy::excessive_precision, clippy::approx_constant, reason = "coefficients are written as published")]
#![allow(clippy::manual_range_contains, reason = "`&` between comparisons vectorizes")]
#![allow(clippy::eq_op, reason = "`v != v` tests for NaN, `v - v` keeps it, and both vectorize")]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a negated comparison is true for NaN, which is intended")]
#![allow(clippy::manual_clamp, reason = "clamp treats NaN differently from the comparisons here")]

pub(crate) mod cast;
mod class;
pub(crate) mod complex;
mod complex_fn;
mod erf;
mod float32;
mod float64;
mod float_common;
pub(crate) mod half;
mod int;
pub(crate) mod normal;
pub(crate) mod philox;
pub(crate) mod reject;
pub(crate) mod special;

pub(crate) use class::*;
pub(crate) use complex::Cx;
pub(crate) use half::H;

use std::marker::PhantomData;

use crate::isa::Isa;

/// A float with the instruction set that it is compiled for.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct X<T, S>(pub T, pub PhantomData<S>);

/// float64.
pub(crate) type F64<S> = X<f64, S>;
/// float32.
pub(crate) type F32<S> = X<f32, S>;
/// float16.
pub(crate) type F16<S> = H<::half::f16, S>;
/// bfloat16.
pub(crate) type BF16<S> = H<::half::bf16, S>;

/// Wraps a float.
#[inline(always)]
pub(crate) fn x<T, S>(v: T) -> X<T, S> {
    X(v, PhantomData)
}

/// A truth value: a byte that is 0 or 1. Other bytes found in memory are harmless.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct B(pub u8);

impl From<bool> for B {
    #[inline(always)]
    fn from(b: bool) -> B {
        B(u8::from(b))
    }
}

/// Returns `a` if `c`, else `b`. Both are already computed, so that this compiles to a select and loops have no branch.
#[inline(always)]
pub(crate) fn pick<T>(c: bool, a: T, b: T) -> T {
    if c { a } else { b }
}

/// Computes `a·b + c`, fused if that is one instruction.
#[inline(always)]
pub(crate) fn fma<S: Isa>(a: f64, b: f64, c: f64) -> f64 {
    if S::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Computes `a·b + c` in float32, fused if that is one instruction.
#[inline(always)]
pub(crate) fn fmaf<S: Isa>(a: f32, b: f32, c: f32) -> f32 {
    if S::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Evaluates a polynomial by Horner's rule, highest coefficient first.
#[inline(always)]
pub(crate) fn poly<S: Isa, const N: usize>(t: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[0];
    let mut k = 1;
    while k < N {
        sum = fma::<S>(sum, t, coefficients[k]);
        k += 1;
    }
    sum
}

/// Evaluates a polynomial by Horner's rule in float32.
#[inline(always)]
pub(crate) fn polyf<S: Isa, const N: usize>(t: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    let mut k = 1;
    while k < N {
        sum = fmaf::<S>(sum, t, coefficients[k]);
        k += 1;
    }
    sum
}

#[cfg(test)]
mod tests;
