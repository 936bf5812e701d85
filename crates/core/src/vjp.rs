//! **The derivative of every scalar function**: one row per function of the operation table.
//!
//! A row gives the gradient of each operand, from the gradient `g` of the result, the operands and the result `y`. For
//! example,
//!
//! ```text
//! Divide(a, b) => g / b.conj(), -(g * (y / b).conj());
//! ```
//!
//! is the gradient of `a`, then that of `b` (a vector-Jacobian product for each). Rows are generic over [`Value`]. With
//! recorded arrays a row computes the gradient. With [`Probe`] it reports which operands it reads, so that only those
//! are saved for the backward pass.
//!
//! Conventions are PyTorch's: gradients of holomorphic functions are conjugated, operands that tie in `maximum` share
//! the gradient, and the gradient of a step function is zero.
//!
//! Every function has a row in [`rules!`] or a reason in [`NONE`]; a test checks this.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

use crate::Fun;
use crate::scalar::Number;

/// A value with which rows compute.
pub trait Value: Clone {
    /// Applies a scalar function to terms, of which at least one is a value.
    fn map(fun: Fun, terms: &[Term<Self>]) -> Self;
    /// Returns true if the dtype is complex.
    fn is_complex(&self) -> bool;
    /// Returns a value whose use is an error, for a case without a rule.
    fn unsupported(what: &'static str) -> Self;
}

/// A term of a row: a value or a number.
#[derive(Clone, Debug)]
pub enum Term<V> {
    /// An array.
    Value(V),
    /// A Python scalar.
    Number(Number),
}

impl<V: Value> Term<V> {
    /// Applies a scalar function to terms. Arithmetic of two numbers gives a number (constant folding).
    fn map(fun: Fun, terms: &[Term<V>]) -> Term<V> {
        if let [Term::Number(a), Term::Number(b)] = terms
            && let Some(value) = fold_constants(fun, real(*a), real(*b))
        {
            return Term::Number(Number::Float(value));
        }
        Term::Value(V::map(fun, terms))
    }

    /// Applies a function of one operand.
    fn of(&self, fun: Fun) -> Term<V> {
        match self {
            Term::Number(n) if fun == Fun::Log => Term::Number(Number::Float(real(*n).ln())),
            _ => Term::map(fun, std::slice::from_ref(self)),
        }
    }

    /// Returns the complex conjugate. Real terms stay as they are.
    fn conj(&self) -> Term<V> {
        match self {
            Term::Value(v) if v.is_complex() => self.of(Fun::Conjugate),
            Term::Number(Number::Complex(re, im)) => Term::Number(Number::Complex(*re, -im)),
            _ => self.clone(),
        }
    }

    fn is_complex(&self) -> bool {
        matches!(self, Term::Value(v) if v.is_complex())
    }

    /// Returns `self` where the condition is true, and `otherwise` elsewhere.
    fn when(&self, condition: Term<V>, otherwise: impl Into<Term<V>>) -> Term<V> {
        Term::map(Fun::Where, &[condition, self.clone(), otherwise.into()])
    }

    fn compare(&self, fun: Fun, other: impl Into<Term<V>>) -> Term<V> {
        Term::map(fun, &[self.clone(), other.into()])
    }

    /// Returns the power. The exponents 0, 1 and 2 need no `Fun::Power`.
    fn power(&self, exponent: &Term<V>) -> Term<V> {
        match exponent {
            Term::Number(n) if real(*n) == 0.0 => Term::from(1.0),
            Term::Number(n) if real(*n) == 1.0 => self.clone(),
            Term::Number(n) if real(*n) == 2.0 => self.of(Fun::Square),
            _ => Term::map(Fun::Power, &[self.clone(), exponent.clone()]),
        }
    }
}

impl<V> From<f64> for Term<V> {
    fn from(x: f64) -> Term<V> {
        Term::Number(Number::Float(x))
    }
}

/// Returns the real part of a number.
fn real(n: Number) -> f64 {
    match n {
        Number::Bool(b) => f64::from(u8::from(b)),
        Number::Int(i) => i as f64,
        Number::Float(x) | Number::Complex(x, _) => x,
    }
}

/// Returns the result of arithmetic on two numbers, or `None` if `fun` is another function.
fn fold_constants(fun: Fun, a: f64, b: f64) -> Option<f64> {
    Some(match fun {
        Fun::Add => a + b,
        Fun::Subtract => a - b,
        Fun::Multiply => a * b,
        Fun::Divide => a / b,
        _ => return None,
    })
}

macro_rules! operators {
    ($($trait:ident $method:ident $fun:ident),*) => {$(
        impl<V: Value> $trait<&Term<V>> for &Term<V> {
            type Output = Term<V>;
            fn $method(self, o: &Term<V>) -> Term<V> {
                Term::map(Fun::$fun, &[self.clone(), o.clone()])
            }
        }
        impl<V: Value> $trait<Term<V>> for &Term<V> {
            type Output = Term<V>;
            fn $method(self, o: Term<V>) -> Term<V> {
                Term::map(Fun::$fun, &[self.clone(), o])
            }
        }
        impl<V: Value> $trait<&Term<V>> for Term<V> {
            type Output = Term<V>;
            fn $method(self, o: &Term<V>) -> Term<V> {
                Term::map(Fun::$fun, &[self, o.clone()])
            }
        }
        impl<V: Value> $trait<Term<V>> for Term<V> {
            type Output = Term<V>;
            fn $method(self, o: Term<V>) -> Term<V> {
                Term::map(Fun::$fun, &[self, o])
            }
        }
        impl<V: Value> $trait<f64> for &Term<V> {
            type Output = Term<V>;
            fn $method(self, o: f64) -> Term<V> {
                Term::map(Fun::$fun, &[self.clone(), o.into()])
            }
        }
        impl<V: Value> $trait<f64> for Term<V> {
            type Output = Term<V>;
            fn $method(self, o: f64) -> Term<V> {
                Term::map(Fun::$fun, &[self, o.into()])
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide);

impl<V: Value> Neg for Term<V> {
    type Output = Term<V>;
    fn neg(self) -> Term<V> {
        self.of(Fun::Negative)
    }
}

impl<V: Value> Neg for &Term<V> {
    type Output = Term<V>;
    fn neg(self) -> Term<V> {
        self.of(Fun::Negative)
    }
}

// --- formulas shared by several rows

/// Returns zeros of the shape and dtype of `g`, even where `g` is NaN.
fn zero<V: Value>(g: &Term<V>) -> Term<V> {
    g.when(Term::Number(Number::Bool(false)), 0.0)
}

fn square<V: Value>(x: &Term<V>) -> Term<V> {
    x.of(Fun::Square)
}

fn sqrt<V: Value>(x: &Term<V>) -> Term<V> {
    x.of(Fun::Sqrt)
}

/// Returns the gradient of `a` in `max(a, b)` (`loses` is `Less`) or `min(a, b)` (`Greater`): `g` where `a` wins, half
/// of it at a tie, and zero where it loses.
fn extremum<V: Value>(g: &Term<V>, a: &Term<V>, b: &Term<V>, loses: Fun) -> Term<V> {
    let shared = (g * 0.5).when(a.compare(Fun::Equal, b.clone()), g.clone());
    zero(g).when(a.compare(loses, b.clone()), shared)
}

/// Returns true where `fmax(a, b)` (`wins` is `GreaterEqual`) or `fmin(a, b)` (`LessEqual`) is `a`. Both functions
/// ignore NaN, so `a` also wins where `b` is NaN.
fn first_wins<V: Value>(a: &Term<V>, b: &Term<V>, wins: Fun) -> Term<V> {
    Term::map(Fun::LogicalOr, &[a.compare(wins, b.clone()), b.of(Fun::Isnan)])
}

/// Returns the gradient of `a` in `a ** b`: `g` times `b a^(b-1)`, and zero for b = 0 even where a is 0.
fn base_of_power<V: Value>(g: &Term<V>, a: &Term<V>, b: &Term<V>) -> Term<V> {
    match b {
        Term::Number(n) if real(*n) == 0.0 && !matches!(n, Number::Complex(..)) => zero(g),
        Term::Number(Number::Complex(..)) => g * (b * Term::map(Fun::Power, &[a.clone(), b - 1.0])).conj(),
        Term::Number(_) => g * (a.power(&(b - 1.0)) * b).conj(),
        Term::Value(_) => {
            let slope = g * (b * a.power(&(b - 1.0))).conj();
            zero(g).when(b.compare(Fun::Equal, 0.0), slope)
        }
    }
}

/// Returns the gradient of `b` in `a ** b`: `g` times `y ln a`, and zero where a is 0 and b is not negative.
fn exponent_of_power<V: Value>(g: &Term<V>, a: &Term<V>, b: &Term<V>, y: &Term<V>) -> Term<V> {
    let slope = g * (y * a.of(Fun::Log)).conj();
    if a.is_complex() || b.is_complex() {
        return zero(g).when(a.compare(Fun::Equal, 0.0), slope);
    }
    match a {
        Term::Number(n) if real(*n) != 0.0 => slope,
        Term::Number(_) => zero(g),
        Term::Value(_) => {
            let ignore = Term::map(Fun::LogicalAnd, &[a.compare(Fun::Equal, 0.0), b.compare(Fun::GreaterEqual, 0.0)]);
            zero(g).when(ignore, slope)
        }
    }
}

/// Returns the gradient of a step function: zero for real operands. Complex operands have no rule.
fn step<V: Value>(g: &Term<V>, what: &'static str) -> Term<V> {
    if g.is_complex() { Term::Value(V::unsupported(what)) } else { zero(g) }
}

/// Returns the gradient of `sin(πx) / (πx)`, or near zero, where that cancels, the first terms of its Taylor series, the
/// sum of (-1)ᵏ 2k π (πx)²ᵏ⁻¹ / (2k + 1)!.
fn sinc_gradient<V: Value>(g: &Term<V>, x: &Term<V>) -> Term<V> {
    const SERIES: [f64; 6] = [1.0 / 518918400.0, -1.0 / 3991680.0, 1.0 / 45360.0, -1.0 / 840.0, 1.0 / 30.0, -1.0 / 3.0];
    let near = || x.of(Fun::Absolute).compare(Fun::Less, 0.1);
    let angle = x * PI;
    let series = SERIES[1..].iter().fold(x * 0.0 + SERIES[0], |sum, term| sum * square(&angle) + *term) * &angle * PI;
    // Not zero, so that the derivative of the unused branch is finite.
    let far = Term::from(1.0).when(near(), x.clone());
    let angle = &far * PI;
    let slope = (angle.of(Fun::Cos) * &angle - angle.of(Fun::Sin)) / (square(&far) * PI);
    g * series.when(near(), slope)
}

/// Returns the gradient of exprel: (exp(x) - y) / x, or near zero, where that cancels, the first terms of its Taylor
/// series, the sum of k xᵏ⁻¹ / (k + 1)!.
fn exprel_gradient<V: Value>(g: &Term<V>, x: &Term<V>, y: &Term<V>) -> Term<V> {
    const SERIES: [f64; 7] = [1.0 / 5760.0, 1.0 / 840.0, 1.0 / 144.0, 1.0 / 30.0, 1.0 / 8.0, 1.0 / 3.0, 1.0 / 2.0];
    let series = SERIES[1..].iter().fold(x * 0.0 + SERIES[0], |sum, term| &sum * x + *term);
    let near = || x.of(Fun::Absolute).compare(Fun::Less, 0.03);
    // Not zero, so that the derivative of the unused branch is finite.
    let far = Term::from(1.0).when(near(), x.clone());
    let slope = (x.of(Fun::Exp) - y.clone()) / far;
    g * series.when(near(), slope)
}

/// Returns the derivative of digamma, the sum of 1/(x + k)² over all k ≥ 0: its first eight terms, and an asymptotic
/// series for the rest (Abramowitz and Stegun 6.4.12). Below 1/2 the reflection formula is used (6.4.7).
fn trigamma<V: Value>(x: &Term<V>) -> Term<V> {
    const SERIES: [f64; 6] = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0];
    let left = || x.compare(Fun::Less, 0.5);
    let z = (&Term::from(1.0) - x).when(left(), x.clone());
    let mut sum = square(&z).of(Fun::Reciprocal);
    for k in 1..8 {
        sum = sum + square(&(&z + f64::from(k))).of(Fun::Reciprocal);
    }
    let inverse = (&z + 8.0).of(Fun::Reciprocal);
    let squared = square(&inverse);
    let mut rest = &squared * SERIES[5] + SERIES[4];
    for factor in SERIES[..4].iter().rev() {
        rest = &rest * &squared + *factor;
    }
    let value = sum + (&inverse + &squared * 0.5 + &(&rest * &squared) * &inverse);
    let sine = (x * PI).of(Fun::Sin);
    let mirrored = &square(&sine).of(Fun::Reciprocal) * (PI * PI) - &value;
    mirrored.when(left(), value)
}

/// Returns the gradient of `sign`. For complex numbers it is the part of `g` orthogonal to the number, divided by the
/// magnitude. For real numbers `sign` is a step function.
fn sign_gradient<V: Value>(g: &Term<V>, x: &Term<V>, y: &Term<V>) -> Term<V> {
    if !g.is_complex() {
        return zero(g);
    }
    let magnitude = x.of(Fun::Absolute);
    let at_zero = magnitude.compare(Fun::Equal, 0.0);
    let parallel = (g.conj() * y).of(Fun::Real);
    Term::from(0.0).when(at_zero.clone(), (g - y * parallel) / Term::from(1.0).when(at_zero, magnitude))
}

/// The gradient of the angle; 0 at 0, where there is none.
fn angle_gradient<V: Value>(g: &Term<V>, x: &Term<V>) -> Term<V> {
    let magnitude = x.of(Fun::Absolute);
    let at_zero = magnitude.compare(Fun::Equal, 0.0);
    g * (x * Term::Number(Number::Complex(0.0, 1.0)) / Term::from(1.0).when(at_zero, square(&magnitude)))
}

macro_rules! rules {
    ($g:ident, $y:ident; $($fun:ident($($x:ident),*) => $($rule:expr),+;)*) => {
        /// Returns the gradient of operand `which`, in the shape of the result: `g` is the gradient of the result, `x`
        /// the operands, `y` the result. `None` if the function or the operand has no rule.
        #[allow(unused_variables, reason = "a rule need not use all operands")]
        pub fn vjp<V: Value>(
            fun: Fun,
            which: usize,
            $g: &Term<V>,
            x: &[Term<V>; 3],
            $y: &Term<V>,
        ) -> Option<Term<V>> {
            match fun {
                $(Fun::$fun => {
                    let [$($x,)* ..] = x;
                    let rules: &[&dyn Fn() -> Term<V>] = &[$(&|| $rule),+];
                    rules.get(which).map(|rule| rule())
                })*
                _ => None,
            }
        }
    };
}

rules! {
    g, y;
    // --- arithmetic
    Add(a, b) => g.clone(), g.clone();
    Subtract(a, b) => g.clone(), -g;
    Multiply(a, b) => g * b.conj(), g * a.conj();
    Divide(a, b) => g / b.conj(), -(g * (y / b).conj());
    FloorDivide(a, b) => zero(g), zero(g);
    Remainder(a, b) => g.clone(), -(g * Term::map(Fun::FloorDivide, &[a.clone(), b.clone()]));
    Fmod(a, b) => g.clone(), -(g * (a / b).of(Fun::Trunc));
    Power(a, b) => base_of_power(g, a, b), exponent_of_power(g, a, b, y);
    FloatPower(a, b) => base_of_power(g, a, b), exponent_of_power(g, a, b, y);
    Maximum(a, b) => extremum(g, a, b, Fun::Less), extremum(g, b, a, Fun::Less);
    Minimum(a, b) => extremum(g, a, b, Fun::Greater), extremum(g, b, a, Fun::Greater);
    Fmax(a, b) => g.when(first_wins(a, b, Fun::GreaterEqual), 0.0),
        zero(g).when(first_wins(a, b, Fun::GreaterEqual), g.clone());
    Fmin(a, b) => g.when(first_wins(a, b, Fun::LessEqual), 0.0),
        zero(g).when(first_wins(a, b, Fun::LessEqual), g.clone());
    Negative(x) => -g;
    Positive(x) => g.clone();
    Absolute(x) => g * x.of(Fun::Sign);
    Fabs(x) => g * x.of(Fun::Sign);
    Sign(x) => sign_gradient(g, x, y);
    Square(x) => g * (x * 2.0).conj();
    Reciprocal(x) => -(g * square(y).conj());
    Sqrt(x) => g / (y * 2.0).conj();
    Rsqrt(x) => g * (square(y) * y) * -0.5;
    Cbrt(x) => g / (square(y) * 3.0);
    Hypot(a, b) => g * (a / y), g * (b / y);
    Copysign(a, b) => g * zero(y).when(a.compare(Fun::Equal, 0.0), y / a), zero(g);
    Ldexp(a, b) => Term::map(Fun::Ldexp, &[g.clone(), b.clone()]);
    FrexpMantissa(x) => Term::map(Fun::Ldexp, &[g.clone(), -x.of(Fun::FrexpExponent)]);
    ModfFraction(x) => g.clone();
    // --- rounding
    Rint(x) => step(g, "rounding of complex numbers");
    Floor(x) => zero(g);
    Ceil(x) => zero(g);
    Trunc(x) => zero(g);
    // --- exponentials and logarithms
    Exp(x) => g * y.conj();
    Exp2(x) => g * (y * LN_2).conj();
    Expm1(x) => g * (y + 1.0).conj();
    Exprel(x) => exprel_gradient(g, x, y);
    Powm1(a, b) => base_of_power(g, a, b), exponent_of_power(g, a, b, &(y + 1.0));
    Log(x) => g / x.conj();
    Log2(x) => g / (x * LN_2).conj();
    Log10(x) => g / (x * LN_10).conj();
    Log1p(x) => g / (x + 1.0).conj();
    Logaddexp(a, b) => g * (a - y).of(Fun::Exp), g * (b - y).of(Fun::Exp);
    Logaddexp2(a, b) => g * (a - y).of(Fun::Exp2), g * (b - y).of(Fun::Exp2);
    // --- trigonometry
    Sin(x) => g * x.of(Fun::Cos).conj();
    Cos(x) => -(g * x.of(Fun::Sin).conj());
    Tan(x) => g * (square(y) + 1.0).conj();
    Arcsin(x) => g / sqrt(&(-square(x) + 1.0)).conj();
    Arccos(x) => -(g / sqrt(&(-square(x) + 1.0)).conj());
    Arctan(x) => g / (square(x) + 1.0).conj();
    Arctan2(a, b) => g * (b / (square(a) + square(b))), -(g * (a / (square(a) + square(b))));
    Sinh(x) => g * x.of(Fun::Cosh).conj();
    Cosh(x) => g * x.of(Fun::Sinh).conj();
    Tanh(x) => g * (-square(y) + 1.0).conj();
    Arcsinh(x) => g / sqrt(&(square(x) + 1.0)).conj();
    Arccosh(x) => g / (sqrt(&(x - 1.0)) * sqrt(&(x + 1.0))).conj();
    Arctanh(x) => g / (-square(x) + 1.0).conj();
    Degrees(x) => g * (180.0 / PI);
    Radians(x) => g * (PI / 180.0);
    // --- complex numbers; a real gradient of a complex operand is cast to complex later, with imaginary part 0
    Conjugate(x) => g.conj();
    Real(x) => g.clone();
    Imag(x) => g * Term::Number(Number::Complex(0.0, 1.0));
    Angle(x) => angle_gradient(g, x);
    MakeComplex(a, b) => g.of(Fun::Real), g.of(Fun::Imag);
    // --- special functions
    Erf(x) => g * ((-square(x)).of(Fun::Exp) * FRAC_2_SQRT_PI);
    Erfc(x) => g * ((-square(x)).of(Fun::Exp) * -FRAC_2_SQRT_PI);
    Erfinv(x) => g * (square(y).of(Fun::Exp) / FRAC_2_SQRT_PI);
    Gamma(x) => g * (y * x.of(Fun::Digamma));
    Gammaln(x) => g * x.of(Fun::Digamma);
    Digamma(x) => g * trigamma(x);
    Expit(x) => g * (y * (-y + 1.0));
    Ndtr(x) => g * ((square(x) * -0.5).of(Fun::Exp) / (2.0 * PI).sqrt());
    Sinc(x) => sinc_gradient(g, x);
    // --- selection and conversion
    Where(c, a, b) => zero(g), g.when(c.clone(), 0.0), zero(g).when(c.clone(), g.clone());
    Cast(x) => g.clone();
}

/// Why a function has no row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Its result is boolean or an integer, so it has no gradient.
    Discrete,
    /// It draws random numbers.
    Random,
    /// The derivative needs a function that the table does not have, or is undefined. Applying the function to an
    /// operand that requires a gradient is an error.
    Missing,
}

/// The functions without a row.
#[rustfmt::skip]
pub const NONE: &[(Reason, &[Fun])] = &[
    (Reason::Discrete, &[
        Fun::Equal, Fun::NotEqual, Fun::Less, Fun::LessEqual, Fun::Greater, Fun::GreaterEqual, Fun::LogicalAnd,
        Fun::LogicalOr, Fun::LogicalXor, Fun::LogicalNot, Fun::Isnan, Fun::Isinf, Fun::Isfinite, Fun::Signbit,
        Fun::BitwiseAnd, Fun::BitwiseOr, Fun::BitwiseXor, Fun::Invert, Fun::LeftShift, Fun::RightShift,
        Fun::BitwiseCount, Fun::CompareIntegers, Fun::Gcd, Fun::Lcm, Fun::FrexpExponent,
    ]),
    (Reason::Random, &[
        Fun::RandomBits32, Fun::RandomBits64, Fun::RandomUnit32, Fun::RandomUnit64, Fun::RandomNormal32,
        Fun::RandomNormal64, Fun::RandomGamma, Fun::RandomPoisson, Fun::RandomBinomial,
    ]),
    (Reason::Missing, &[
        Fun::I0, Fun::Nextafter, Fun::Spacing, Fun::Heaviside, Fun::Bitcast,
    ]),
];

/// Returns why a function has no row, or `None` if it has one.
pub fn reason(fun: Fun) -> Option<Reason> {
    NONE.iter().find(|(_, funs)| funs.contains(&fun)).map(|(reason, _)| *reason)
}

/// The bit of the result in the set that [`needs`] returns. Operand `k` is bit `k`.
pub const RESULT: u8 = 8;

/// A stand-in for an array that records from which operands it was computed, and whether it is complex.
#[derive(Clone, Copy, Debug)]
struct Probe {
    reads: u8,
    complex: bool,
}

impl Value for Probe {
    fn map(fun: Fun, terms: &[Term<Probe>]) -> Probe {
        let real = matches!(fun, Fun::Real | Fun::Imag | Fun::Absolute | Fun::Angle | Fun::Equal);
        let add = |all: Probe, t: &Term<Probe>| match t {
            Term::Value(v) => Probe { reads: all.reads | v.reads, complex: all.complex || (v.complex && !real) },
            Term::Number(_) => all,
        };
        terms.iter().fold(Probe { reads: 0, complex: false }, add)
    }

    fn is_complex(&self) -> bool {
        self.complex
    }

    fn unsupported(_: &'static str) -> Probe {
        Probe { reads: 0, complex: false }
    }
}

/// Runs the rule of an operand with probes.
fn probe(fun: Fun, which: usize, complex: bool) -> Option<Term<Probe>> {
    let value = |reads| Term::Value(Probe { reads, complex });
    vjp(fun, which, &value(0), &[value(1), value(2), value(4)], &value(RESULT))
}

/// What the rule of each operand of each function reads, for real and complex operands together.
static NEEDS: LazyLock<Vec<[u8; 3]>> = LazyLock::new(|| {
    let bits = |fun, which, complex| match probe(fun, which, complex) {
        Some(Term::Value(probe)) => probe.reads,
        _ => 0,
    };
    let needs = |fun, which| bits(fun, which, false) | bits(fun, which, true);
    Fun::ALL.iter().map(|&fun| std::array::from_fn(|which| needs(fun, which))).collect()
});

/// Returns what must be saved for the rule of operand `which`: bits 0 to 2 for the operands, [`RESULT`] for the result.
pub fn needs(fun: Fun, which: usize) -> u8 {
    NEEDS[fun as usize][which]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_row_or_a_reason() {
        for &fun in Fun::ALL {
            let row = probe(fun, 0, false).is_some();
            assert!(row != reason(fun).is_some(), "{fun:?} needs either a row or a reason");
        }
    }

    #[test]
    fn a_rule_tells_what_it_needs() {
        assert_eq!((needs(Fun::Add, 0), needs(Fun::Multiply, 0), needs(Fun::Multiply, 1)), (0, 2, 1));
        assert_eq!((needs(Fun::Exp, 0), needs(Fun::Sin, 0), needs(Fun::Divide, 1)), (RESULT, 1, RESULT | 2));
        assert_eq!((needs(Fun::Where, 1), needs(Fun::Where, 2)), (1, 1));
    }
}
