//! **The operation table**: one row per scalar function.
//!
//! A row is, for example,
//!
//! ```text
//! (Hypot, "hypot", 2, Float => Same, "Returns the hypotenuse of a right triangle with these legs.",
//!     cost 20, vector Never, prelude Math, cpu |a, b| a.hypot(b), cuda "hypot_({0}, {1})")
//! ```
//!
//! Its columns are:
//!
//! 1. The variant of [`Fun`].
//! 2. NumPy's name, which kernels, listings and error messages use too.
//! 3. The number of operands, 1 to 3.
//! 4. A [`Class`]: the dtype in which the function computes, given the promoted dtype of its operands.
//! 5. A [`Returns`]: the dtype of the result, given the dtype in which it computes.
//! 6. A sentence that says what it returns: the docstring.
//! 7. `cost`: the time of one element, in additions of the same dtype. Estimates and the division of work use it.
//! 8. `vector`: a [`Vectorizes`], for which dtypes the CPU's loop vectorizes.
//! 9. `prelude`: a [`Prelude`], the CUDA header that defines the function.
//! 10. `cpu`: Rust code, generic over the element type, that uses the traits of the CPU device's `math` module.
//! 11. `cuda`: a CUDA C++ expression that uses the overloads of the CUDA device's prelude. `{0}`, `{1}` and `{2}` stand
//!     for the operands.
//!
//! Functions whose operands or result have different dtypes say `special` in place of both codes; the devices implement
//! them by hand. Devices expand the rows with [`for_each_fun!`]. The derivative of each function is a row of
//! [`crate::vjp`].

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::DType::{self, *};
use crate::Kind;

/// The dtypes in which a function computes. Operands of other dtypes are cast first, to [`Class::compute`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Class {
    /// All dtypes.
    All,
    /// Integers, floats and complex.
    Num,
    /// Integers and floats.
    Real,
    /// Bool, integers and floats.
    RealBool,
    Int,
    IntBool,
    Bool,
    Float,
    /// Floats and complex.
    Inexact,
    /// As `Inexact`, but every integer becomes float64 (true division).
    Divide,
    /// Float64 and complex128 only (`float_power`).
    Double,
    Complex,
}

impl Class {
    /// Returns the dtype in which the function computes for operands promoted to `d`. `None` if NumPy has no loop for
    /// `d`.
    pub const fn compute(self, d: DType) -> Option<DType> {
        let kind = d.kind();
        Some(match self {
            Class::All => d,
            Class::Num => {
                if matches!(kind, Kind::Bool) {
                    I8
                } else {
                    d
                }
            }
            Class::Real | Class::RealBool => match kind {
                Kind::Complex => return None,
                Kind::Bool if matches!(self, Class::Real) => I8,
                _ => d,
            },
            Class::Int => match kind {
                Kind::Bool => I8,
                Kind::Int | Kind::UInt => d,
                _ => return None,
            },
            Class::IntBool => match kind {
                Kind::Bool | Kind::Int | Kind::UInt => d,
                _ => return None,
            },
            Class::Bool => Bool,
            Class::Float => match kind {
                Kind::Complex => return None,
                _ => d.to_inexact(),
            },
            Class::Inexact => d.to_inexact(),
            Class::Divide => match kind {
                Kind::Bool | Kind::Int | Kind::UInt => F64,
                _ => d,
            },
            Class::Double => match kind {
                Kind::Complex => C128,
                _ => F64,
            },
            Class::Complex => match d {
                C64 | C128 => d,
                F64 | I32 | I64 | U32 | U64 => C128,
                _ => C64,
            },
        })
    }
}

/// The dtype of a function's result, given the dtype in which it computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Returns {
    Same,
    Bool,
    /// The dtype of the real part.
    Component,
    /// Given by [`Fun::result`], or chosen when the operation is recorded.
    Special,
}

/// For which dtypes the CPU's loop over a function vectorizes. Complex numbers vectorize with `All` only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vectorizes {
    /// For every dtype.
    All,
    /// For every real dtype.
    Real,
    /// For every real dtype. A slow path for rare operands makes it wasteful to compute beyond the last element.
    Branching,
    /// As `Branching`, for floats only: integers are divided one by one.
    Float,
    /// For no dtype.
    Never,
}

/// The part of the CUDA headers that defines a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prelude {
    /// None: the code generator writes it inline.
    Inline,
    /// Arithmetic; for complex numbers, their basic header.
    Basic,
    /// Arithmetic.
    Arithmetic,
    /// Mathematical functions of CUDA.
    Math,
    /// Special functions.
    Special,
    /// Random bits and uniform numbers.
    RandomBits,
    /// Normal numbers.
    RandomNormal,
    /// Distributions that are drawn by rejection.
    RandomRejection,
}

/// A row of the table.
#[derive(Debug)]
pub struct Op {
    /// NumPy's name.
    pub name: &'static str,
    /// Number of operands.
    pub arity: u8,
    /// The dtypes in which it computes.
    pub class: Class,
    /// The dtype of its result.
    pub returns: Returns,
    /// What it returns, in a sentence.
    pub doc: &'static str,
    /// The time of one element, in additions of the same dtype.
    pub cost: f64,
    /// For which dtypes the CPU's loop vectorizes.
    pub vectorizes: Vectorizes,
    /// The CUDA header that defines it.
    pub prelude: Prelude,
    /// CUDA expression. Empty for special rows.
    pub cuda: &'static str,
}

/// Calls `$callback! { rows }` with all rows of the table. A row is `(Variant, "name", arity, Class => Returns,
/// "What it returns.", cost additions, vector Vectorizes, prelude Prelude, cpu |a, b| expression, cuda "expression")`,
/// with `special` in place of both expressions if operands differ in dtype.
#[macro_export]
macro_rules! for_each_fun {
    ($callback:path) => {
        $callback! {
            // --- arithmetic
            (Add, "add", 2, Num => Same, "Returns the sum of two arrays.",
                cost 1, vector All, prelude Basic, cpu |a, b| a.add(b), cuda "add({0}, {1})")
            (Subtract, "subtract", 2, Num => Same, "Returns the difference of two arrays.",
                cost 1, vector All, prelude Basic, cpu |a, b| a.sub(b), cuda "sub({0}, {1})")
            (Multiply, "multiply", 2, Num => Same, "Returns the product of two arrays.",
                cost 1, vector All, prelude Basic, cpu |a, b| a.mul(b), cuda "mul({0}, {1})")
            (Divide, "divide", 2, Divide => Same, "Returns the quotient of two arrays. Integers divide to float64.",
                cost 8, vector Real, prelude Basic, cpu |a, b| a.div(b), cuda "div({0}, {1})")
            (FloorDivide, "floor_divide", 2, Real => Same, "Returns the quotient, rounded towards minus infinity.",
                cost 12, vector Float, prelude Arithmetic, cpu |a, b| a.floor_divide(b), cuda "floor_divide({0}, {1})")
            (Remainder, "remainder", 2, Real => Same, "Returns the remainder with the sign of the divisor.",
                cost 12, vector Float, prelude Arithmetic, cpu |a, b| a.remainder(b), cuda "remainder_({0}, {1})")
            (Fmod, "fmod", 2, Real => Same, "Returns the remainder with the sign of the dividend.",
                cost 12, vector Float, prelude Arithmetic, cpu |a, b| a.fmod(b), cuda "fmod_({0}, {1})")
            (Power, "power", 2, Num => Same, "Returns the first operand raised to the second.",
                cost 80, vector Float, prelude Arithmetic, cpu |a, b| a.power(b), cuda "power({0}, {1})")
            (FloatPower, "float_power", 2, Double => Same, "Returns the power of two operands, in double precision.",
                cost 80, vector Branching, prelude Arithmetic, cpu |a, b| a.power(b), cuda "power({0}, {1})")
            (Maximum, "maximum", 2, All => Same, "Returns the greater of two elements, NaN if either is.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.maximum(b), cuda "maximum({0}, {1})")
            (Minimum, "minimum", 2, All => Same, "Returns the lesser of two elements, NaN if either is.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.minimum(b), cuda "minimum({0}, {1})")
            (Fmax, "fmax", 2, All => Same, "Returns the greater of two elements, NaN only if both are.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.fmax(b), cuda "fmax_({0}, {1})")
            (Fmin, "fmin", 2, All => Same, "Returns the lesser of two elements, NaN only if both are.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.fmin(b), cuda "fmin_({0}, {1})")
            (Negative, "negative", 1, Num => Same, "Returns the negated elements.",
                cost 1, vector All, prelude Basic, cpu |a| a.neg(), cuda "neg({0})")
            (Positive, "positive", 1, All => Same, "Returns a copy of the elements.",
                cost 1, vector All, prelude Inline, cpu |a| a, cuda "{0}")
            (Absolute, "absolute", 1, All => Component, "Returns the magnitude of the elements.",
                cost 1, vector Real, prelude Basic, cpu |a| a.absolute(), cuda "absolute({0})")
            (Fabs, "fabs", 1, Float => Same, "Returns the magnitude of real elements, as floats.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.absolute(), cuda "absolute({0})")
            (Sign, "sign", 1, Num => Same, "Returns -1, 0 or 1 by the sign, and z / |z| for complex numbers.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.sign(), cuda "sign({0})")
            (Square, "square", 1, Num => Same, "Returns the elements squared.",
                cost 1, vector All, prelude Basic, cpu |a| a.mul(a), cuda "mul({0}, {0})")
            (Reciprocal, "reciprocal", 1, Num => Same, "Returns one over the elements.",
                cost 8, vector Real, prelude Arithmetic, cpu |a| a.reciprocal(), cuda "reciprocal({0})")
            (Sqrt, "sqrt", 1, Inexact => Same, "Returns the square root.",
                cost 8, vector Real, prelude Math, cpu |a| a.sqrt(), cuda "sqrt_({0})")
            (Rsqrt, "rsqrt", 1, Float => Same, "Returns one over the square root (as CuPy; not in NumPy).",
                cost 8, vector Real, prelude Math, cpu |a| a.rsqrt(), cuda "rsqrt_({0})")
            (Cbrt, "cbrt", 1, Float => Same, "Returns the cube root.",
                cost 20, vector Never, prelude Math, cpu |a| a.cbrt(), cuda "cbrt_({0})")
            (Hypot, "hypot", 2, Float => Same, "Returns the hypotenuse of a right triangle with these legs.",
                cost 20, vector Never, prelude Math, cpu |a, b| a.hypot(b), cuda "hypot_({0}, {1})")
            (Copysign, "copysign", 2, Float => Same, "Returns the first operand's magnitude with the second's sign.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.copysign(b), cuda "copysign_({0}, {1})")
            (Nextafter, "nextafter", 2, Float => Same, "Returns the float next to the first one, towards the second.",
                cost 20, vector Never, prelude Math, cpu |a, b| a.nextafter(b), cuda "nextafter_({0}, {1})")
            (Spacing, "spacing", 1, Float => Same, "Returns the distance to the next float away from zero.",
                cost 20, vector Never, prelude Math, cpu |a| a.spacing(), cuda "spacing({0})")
            (Heaviside, "heaviside", 2, Float => Same, "Returns 0 below zero, 1 above, and the second operand at zero.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.heaviside(b), cuda "heaviside({0}, {1})")
            (Ldexp, "ldexp", 2, Float => Special, "Returns the first operand times two to the power of the second.",
                cost 12, vector Branching, prelude Math, special)
            (FrexpMantissa, "frexp_mantissa", 1, Float => Same, "Returns the mantissa of `frexp`, in [0.5, 1).",
                cost 12, vector Never, prelude Math, cpu |a| a.frexp_mantissa(), cuda "frexp_mantissa({0})")
            (FrexpExponent, "frexp_exponent", 1, Float => Special, "Returns the exponent of `frexp`.",
                cost 12, vector Branching, prelude Math, special)
            (ModfFraction, "modf_fraction", 1, Float => Same, "Returns the fractional part, with the operand's sign.",
                cost 12, vector Real, prelude Math, cpu |a| a.modf_fraction(), cuda "modf_fraction({0})")
            (Gcd, "gcd", 2, Int => Same, "Returns the greatest common divisor.",
                cost 120, vector Never, prelude Arithmetic, cpu |a, b| a.gcd(b), cuda "gcd({0}, {1})")
            (Lcm, "lcm", 2, Int => Same, "Returns the least common multiple.",
                cost 120, vector Never, prelude Arithmetic, cpu |a, b| a.lcm(b), cuda "lcm({0}, {1})")
            // --- rounding
            (Rint, "rint", 1, Inexact => Same, "Returns the nearest integer, with ties to even.",
                cost 1, vector All, prelude Arithmetic, cpu |a| a.rint(), cuda "rint_({0})")
            (Floor, "floor", 1, RealBool => Same, "Returns the greatest integer that is not above.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.floor(), cuda "floor_({0})")
            (Ceil, "ceil", 1, RealBool => Same, "Returns the least integer that is not below.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.ceil(), cuda "ceil_({0})")
            (Trunc, "trunc", 1, RealBool => Same, "Returns the integer part: rounds towards zero.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.trunc(), cuda "trunc_({0})")
            // --- exponentials and logarithms
            (Exp, "exp", 1, Inexact => Same, "Returns e to the power of the elements.",
                cost 20, vector Real, prelude Math, cpu |a| a.exp(), cuda "exp_({0})")
            (Exp2, "exp2", 1, Inexact => Same, "Returns two to the power of the elements.",
                cost 20, vector Real, prelude Math, cpu |a| a.exp2(), cuda "exp2_({0})")
            (Expm1, "expm1", 1, Inexact => Same, "Returns exp(x) - 1, precise near zero.",
                cost 30, vector Real, prelude Math, cpu |a| a.expm1(), cuda "expm1_({0})")
            // In double precision, because exp(x) overflows in float32 where the quotient does not.
            (Exprel, "exprel", 1, Float => Same, "Returns (exp(x) - 1) / x, and 1 at 0.",
                cost 60, vector Never, prelude Math,
                cpu |a| {
                    let x = a.to_f64();
                    Float::from_f64(if x == 0.0 || x.is_infinite() { x.exp() } else { x.exp_m1() / x })
                },
                cuda "cast<decltype(neg({0}))>(cast<double>({0}) == 0 || isinf_({0}) ? exp(cast<double>({0})) \
                      : expm1(cast<double>({0})) / cast<double>({0}))")
            // In double precision, because float32's logarithm is too coarse for exponents that are large.
            (Powm1, "powm1", 2, Float => Same, "Returns x**y - 1, precise where x**y is near 1.",
                cost 150, vector Never, prelude Math,
                cpu |a, b| {
                    let (x, y) = (a.to_f64(), b.to_f64());
                    // As in SciPy, and unlike `power`, NaN also for -inf ** 0.5 and -2 ** inf.
                    let power = if x < 0.0 && y.fract() != 0.0 { f64::NAN } else { x.powf(y) };
                    let exponent = y * x.abs().ln();
                    Float::from_f64(if power > 0.0 && exponent.abs() < 0.5 { exponent.exp_m1() } else { power - 1.0 })
                },
                cuda "powm1({0}, {1})")
            (Log, "log", 1, Inexact => Same, "Returns the natural logarithm.",
                cost 20, vector Real, prelude Math, cpu |a| a.ln(), cuda "log_({0})")
            (Log2, "log2", 1, Inexact => Same, "Returns the logarithm to base two.",
                cost 20, vector Real, prelude Math, cpu |a| a.log2(), cuda "log2_({0})")
            (Log10, "log10", 1, Inexact => Same, "Returns the logarithm to base ten.",
                cost 20, vector Real, prelude Math, cpu |a| a.log10(), cuda "log10_({0})")
            (Log1p, "log1p", 1, Inexact => Same, "Returns log(1 + x), precise near zero.",
                cost 30, vector Real, prelude Math, cpu |a| a.ln_1p(), cuda "log1p_({0})")
            (Logaddexp, "logaddexp", 2, Float => Same, "Returns log(exp(a) + exp(b)) without overflow.",
                cost 40, vector Real, prelude Math, cpu |a, b| a.logaddexp(b), cuda "logaddexp({0}, {1})")
            (Logaddexp2, "logaddexp2", 2, Float => Same, "Returns log2(2**a + 2**b) without overflow.",
                cost 40, vector Real, prelude Math, cpu |a, b| a.logaddexp2(b), cuda "logaddexp2({0}, {1})")
            // --- trigonometry
            (Sin, "sin", 1, Inexact => Same, "Returns the sine of angles in radians.",
                cost 20, vector Branching, prelude Math, cpu |a| a.sin(), cuda "sin_({0})")
            (Cos, "cos", 1, Inexact => Same, "Returns the cosine of angles in radians.",
                cost 20, vector Branching, prelude Math, cpu |a| a.cos(), cuda "cos_({0})")
            (Tan, "tan", 1, Inexact => Same, "Returns the tangent of angles in radians.",
                cost 30, vector Branching, prelude Math, cpu |a| a.tan(), cuda "tan_({0})")
            (Arcsin, "arcsin", 1, Inexact => Same, "Returns the inverse sine, in radians.",
                cost 40, vector Real, prelude Math, cpu |a| a.asin(), cuda "asin_({0})")
            (Arccos, "arccos", 1, Inexact => Same, "Returns the inverse cosine, in radians.",
                cost 40, vector Real, prelude Math, cpu |a| a.acos(), cuda "acos_({0})")
            (Arctan, "arctan", 1, Inexact => Same, "Returns the inverse tangent, in radians.",
                cost 30, vector Real, prelude Math, cpu |a| a.atan(), cuda "atan_({0})")
            (Arctan2, "arctan2", 2, Float => Same, "Returns the angle of the point (second, first), in radians.",
                cost 40, vector Branching, prelude Math, cpu |a, b| a.atan2(b), cuda "atan2_({0}, {1})")
            (Sinh, "sinh", 1, Inexact => Same, "Returns the hyperbolic sine.",
                cost 30, vector Branching, prelude Math, cpu |a| a.sinh(), cuda "sinh_({0})")
            (Cosh, "cosh", 1, Inexact => Same, "Returns the hyperbolic cosine.",
                cost 30, vector Branching, prelude Math, cpu |a| a.cosh(), cuda "cosh_({0})")
            (Tanh, "tanh", 1, Inexact => Same, "Returns the hyperbolic tangent.",
                cost 30, vector Real, prelude Math, cpu |a| a.tanh(), cuda "tanh_({0})")
            (Arcsinh, "arcsinh", 1, Inexact => Same, "Returns the inverse hyperbolic sine.",
                cost 40, vector Real, prelude Math, cpu |a| a.asinh(), cuda "asinh_({0})")
            (Arccosh, "arccosh", 1, Inexact => Same, "Returns the inverse hyperbolic cosine.",
                cost 40, vector Real, prelude Math, cpu |a| a.acosh(), cuda "acosh_({0})")
            (Arctanh, "arctanh", 1, Inexact => Same, "Returns the inverse hyperbolic tangent.",
                cost 40, vector Real, prelude Math, cpu |a| a.atanh(), cuda "atanh_({0})")
            (Degrees, "degrees", 1, Float => Same, "Converts radians to degrees.",
                cost 1, vector Real, prelude Math, cpu |a| a.degrees(), cuda "degrees({0})")
            (Radians, "radians", 1, Float => Same, "Converts degrees to radians.",
                cost 1, vector Real, prelude Math, cpu |a| a.radians(), cuda "radians({0})")
            // --- comparison and logic
            (Equal, "equal", 2, All => Bool, "Returns true where a == b.",
                cost 1, vector All, prelude Basic, cpu |a, b| a.eq(b), cuda "equal({0}, {1})")
            (NotEqual, "not_equal", 2, All => Bool, "Returns true where a != b.",
                cost 1, vector All, prelude Basic, cpu |a, b| a.ne(b), cuda "not_equal({0}, {1})")
            (Less, "less", 2, All => Bool, "Returns true where a < b.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.lt(b), cuda "less({0}, {1})")
            (LessEqual, "less_equal", 2, All => Bool, "Returns true where a <= b.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.le(b), cuda "less_equal({0}, {1})")
            (Greater, "greater", 2, All => Bool, "Returns true where a > b.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| b.lt(a), cuda "less({1}, {0})")
            (GreaterEqual, "greater_equal", 2, All => Bool, "Returns true where a >= b.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| b.le(a), cuda "less_equal({1}, {0})")
            // (int64, uint64) in either order -> int8: -1, 0 or 1, as the first value is less, equal or greater
            (CompareIntegers, "compare_integers", 2, Int => Special, "Returns the sign of the exact difference of an int64 and a uint64.",
                cost 1, vector Real, prelude Arithmetic, special)
            (LogicalAnd, "logical_and", 2, Bool => Same, "Returns true where both are nonzero.",
                cost 1, vector Real, prelude Inline, cpu |a, b| a & b, cuda "({0} && {1})")
            (LogicalOr, "logical_or", 2, Bool => Same, "Returns true where either is nonzero.",
                cost 1, vector Real, prelude Inline, cpu |a, b| a | b, cuda "({0} || {1})")
            (LogicalXor, "logical_xor", 2, Bool => Same, "Returns true where exactly one is nonzero.",
                cost 1, vector Real, prelude Inline, cpu |a, b| a ^ b, cuda "({0} != {1})")
            (LogicalNot, "logical_not", 1, Bool => Same, "Returns true where elements are zero.",
                cost 1, vector Real, prelude Inline, cpu |a| !a, cuda "(!{0})")
            (Isnan, "isnan", 1, Inexact => Bool, "Returns true where elements are NaN.",
                cost 1, vector All, prelude Arithmetic, cpu |a| a.is_nan(), cuda "isnan_({0})")
            (Isinf, "isinf", 1, Inexact => Bool, "Returns true where elements are infinite.",
                cost 1, vector All, prelude Arithmetic, cpu |a| a.is_inf(), cuda "isinf_({0})")
            (Isfinite, "isfinite", 1, Inexact => Bool, "Returns true where elements are neither infinite nor NaN.",
                cost 1, vector All, prelude Arithmetic, cpu |a| a.is_finite(), cuda "isfinite_({0})")
            (Signbit, "signbit", 1, Float => Bool, "Returns true where the sign bit is set.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| a.signbit(), cuda "signbit_({0})")
            // --- bits
            (BitwiseAnd, "bitwise_and", 2, IntBool => Same, "Returns the bits that are set in both.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a & b, cuda "bit_and({0}, {1})")
            (BitwiseOr, "bitwise_or", 2, IntBool => Same, "Returns the bits that are set in either.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a | b, cuda "bit_or({0}, {1})")
            (BitwiseXor, "bitwise_xor", 2, IntBool => Same, "Returns the bits that are set in exactly one.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a ^ b, cuda "bit_xor({0}, {1})")
            (Invert, "invert", 1, IntBool => Same, "Returns all bits flipped, which is `not` for bool.",
                cost 1, vector Real, prelude Arithmetic, cpu |a| !a, cuda "bit_not({0})")
            (LeftShift, "left_shift", 2, Int => Same, "Returns the first operand's bits shifted to the left.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.left_shift(b), cuda "left_shift({0}, {1})")
            (RightShift, "right_shift", 2, Int => Same, "Returns the first operand's bits shifted to the right.",
                cost 1, vector Real, prelude Arithmetic, cpu |a, b| a.right_shift(b), cuda "right_shift({0}, {1})")
            (BitwiseCount, "bitwise_count", 1, Int => Special, "Returns the number of bits set in the magnitude.",
                cost 1, vector Real, prelude Arithmetic, special)
            // --- complex numbers
            (Conjugate, "conjugate", 1, Num => Same, "Returns the complex conjugate.",
                cost 1, vector All, prelude Basic, cpu |a| a.conj(), cuda "conj_({0})")
            (Real, "real", 1, Complex => Component, "Returns the real part.",
                cost 1, vector All, prelude Inline, cpu |a| a.re, cuda "{0}.re")
            (Imag, "imag", 1, Complex => Component, "Returns the imaginary part.",
                cost 1, vector All, prelude Inline, cpu |a| a.im, cuda "{0}.im")
            (Angle, "angle", 1, Complex => Component, "Returns the argument of a complex number.",
                cost 40, vector Real, prelude Math, cpu |a| a.im.atan2(a.re), cuda "atan2_({0}.im, {0}.re)")
            (MakeComplex, "make_complex", 2, Float => Special, "Returns the complex number of two parts.",
                cost 1, vector Real, prelude Inline, special)
            // --- special functions
            (Erf, "erf", 1, Float => Same, "Returns the error function.",
                cost 50, vector Real, prelude Special, cpu |a| a.erf(), cuda "erf_({0})")
            (Erfc, "erfc", 1, Float => Same, "Returns the complementary error function, 1 - erf(x).",
                cost 50, vector Real, prelude Special, cpu |a| a.erfc(), cuda "erfc_({0})")
            (Erfinv, "erfinv", 1, Float => Same, "Returns the inverse of the error function.",
                cost 80, vector Never, prelude Special, cpu |a| a.erfinv(), cuda "erfinv_({0})")
            (Gamma, "gamma", 1, Float => Same, "Returns the gamma function.",
                cost 120, vector Never, prelude Special, cpu |a| a.gamma(), cuda "gamma_({0})")
            (Gammaln, "gammaln", 1, Float => Same, "Returns the logarithm of the magnitude of the gamma function.",
                cost 80, vector Never, prelude Special, cpu |a| a.gammaln(), cuda "gammaln_({0})")
            (Digamma, "digamma", 1, Float => Same, "Returns the derivative of the logarithm of the gamma function.",
                cost 80, vector Never, prelude Special, cpu |a| a.digamma(), cuda "digamma_({0})")
            (Expit, "expit", 1, Float => Same, "Returns the logistic function, 1 / (1 + exp(-x)).",
                cost 30, vector Real, prelude Special, cpu |a| a.expit(), cuda "expit({0})")
            (Ndtr, "ndtr", 1, Float => Same, "Returns the distribution function of the standard normal distribution.",
                cost 50, vector Real, prelude Special, cpu |a| a.ndtr(), cuda "ndtr({0})")
            (I0, "i0", 1, Float => Same, "Returns the modified Bessel function of the first kind, order 0.",
                cost 50, vector Never, prelude Special, cpu |a| a.i0(), cuda "bessel_i0({0})")
            (Sinc, "sinc", 1, Float => Same, "Returns sin(pi x) / (pi x), and 1 at 0.",
                cost 30, vector Real, prelude Special, cpu |a| a.sinc(), cuda "sinc({0})")
            // --- selection and conversion: where is (bool, T, T) -> T, cast is S -> T by value, bitcast is S -> T by
            // bits (S and T have the same size)
            (Where, "where", 3, All => Special, "Returns the second operand where the first is true, else the third.",
                cost 1, vector Real, prelude Inline, special)
            (Cast, "cast", 1, All => Special, "Returns the value in another dtype.",
                cost 1, vector Real, prelude Inline, special)
            (Bitcast, "bitcast", 1, All => Special, "Returns the bits as another dtype of the same size.",
                cost 1, vector Real, prelude Inline, special)
            // --- random numbers: (index: int64, seed: uint64, offset: uint64); the devices' `philox` generates them
            (RandomBits32, "random_bits32", 3, Int => Special, "Returns 32 random bits.",
                cost 25, vector Branching, prelude RandomBits, special)
            (RandomBits64, "random_bits64", 3, Int => Special, "Returns 64 random bits.",
                cost 50, vector Branching, prelude RandomBits, special)
            (RandomUnit32, "random_unit32", 3, Int => Special, "Returns a uniform number in [0, 1), float32.",
                cost 25, vector Branching, prelude RandomBits, special)
            (RandomUnit64, "random_unit64", 3, Int => Special, "Returns a uniform number in [0, 1), float64.",
                cost 50, vector Branching, prelude RandomBits, special)
            (RandomNormal32, "random_normal32", 3, Int => Special, "Returns a standard normal number, float32.",
                cost 50, vector Branching, prelude RandomNormal, special)
            (RandomNormal64, "random_normal64", 3, Int => Special, "Returns a standard normal number, float64.",
                cost 100, vector Branching, prelude RandomNormal, special)
            // --- random numbers by rejection: (index: int64, seed: uint64, parameter) -> float64 or int64
            (RandomGamma, "random_gamma", 3, Int => Special, "Returns a number of the gamma distribution of a shape.",
                cost 400, vector Branching, prelude RandomRejection, special)
            (RandomPoisson, "random_poisson", 3, Int => Special, "Returns a number of the Poisson distribution.",
                cost 400, vector Branching, prelude RandomRejection, special)
            // The parameter of a binomial distribution is complex128(n, p).
            (RandomBinomial, "random_binomial", 3, Int => Special, "Returns a number of the binomial distribution.",
                cost 400, vector Branching, prelude RandomRejection, special)
        }
    };
}

macro_rules! define {
    (@cuda special) => { "" };
    (@cuda cpu |$($x:ident),*| $cpu:expr, cuda $cuda:literal) => { $cuda };
    ($(($variant:ident, $name:literal, $arity:literal, $class:ident => $returns:ident, $doc:literal,
        cost $cost:literal, vector $vector:ident, prelude $prelude:ident, $($code:tt)*))*) => {
        /// A scalar function: an index into [`OPS`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the rows of the table say it")]
        pub enum Fun { $($variant),* }

        impl Fun {
            /// Every function, in table order.
            pub const ALL: &'static [Fun] = &[$(Fun::$variant),*];
        }

        /// The rows, indexed by [`Fun`].
        pub static OPS: &[Op] = &[$(Op {
            name: $name,
            arity: $arity,
            class: Class::$class,
            returns: Returns::$returns,
            doc: $doc,
            cost: $cost as f64,
            vectorizes: Vectorizes::$vector,
            prelude: Prelude::$prelude,
            cuda: define!(@cuda $($code)*),
        }),*];
    };
}
for_each_fun!(define);

impl Fun {
    /// Returns the function's row.
    pub const fn op(self) -> &'static Op {
        &OPS[self as usize]
    }

    /// Returns the function of a name.
    pub fn from_name(name: &str) -> Option<Fun> {
        static BY_NAME: LazyLock<HashMap<&str, Fun>> =
            LazyLock::new(|| Fun::ALL.iter().map(|&f| (f.op().name, f)).collect());
        BY_NAME.get(name).copied()
    }

    /// Returns true if the CPU's loop over operands of a dtype vectorizes.
    pub const fn vectorizes(self, dtype: DType) -> bool {
        match self.op().vectorizes {
            Vectorizes::All => true,
            Vectorizes::Real | Vectorizes::Branching => !dtype.is_complex(),
            Vectorizes::Float => !dtype.is_complex() && !dtype.is_int(),
            Vectorizes::Never => false,
        }
    }

    /// Returns true if a vectorized loop may compute beyond the last element, up to a whole vector, at no cost.
    pub const fn may_pad(self, dtype: DType) -> bool {
        matches!(self.op().vectorizes, Vectorizes::All | Vectorizes::Real) && self.vectorizes(dtype)
    }

    /// Returns the function of an index into the table.
    pub fn from_index(index: u8) -> Fun {
        Fun::ALL[index as usize]
    }

    /// Returns the dtype of the result if the function computes in `compute`. For special rows other than those named
    /// here, the dtype is chosen when the operation is recorded.
    pub fn result(self, compute: DType) -> DType {
        match self.op().returns {
            Returns::Same => compute,
            Returns::Bool => Bool,
            Returns::Component => compute.component(),
            Returns::Special => match self {
                Fun::BitwiseCount => U8,
                Fun::CompareIntegers => I8,
                Fun::FrexpExponent => I32,
                Fun::MakeComplex => {
                    if matches!(compute, F64) {
                        C128
                    } else {
                        C64
                    }
                }
                _ => compute,
            },
        }
    }

    /// Returns, for a function that draws random numbers, the dtypes of its result and of its parameter, if it has one.
    pub fn random_dtypes(self) -> Option<(DType, Option<DType>)> {
        Some(match self {
            Fun::RandomBits32 => (U32, None),
            Fun::RandomBits64 => (U64, None),
            Fun::RandomUnit32 | Fun::RandomNormal32 => (F32, None),
            Fun::RandomUnit64 | Fun::RandomNormal64 => (F64, None),
            Fun::RandomGamma => (F64, Some(F64)),
            Fun::RandomPoisson => (I64, Some(F64)),
            Fun::RandomBinomial => (I64, Some(C128)),
            _ => return None,
        })
    }

    /// Returns the function that NumPy computes instead if all operands are bool (`+` is `or`, `*` is `and`), or `None`
    /// if it computes the same.
    pub fn for_bool(self) -> Option<Fun> {
        Some(match self {
            Fun::Add | Fun::Maximum | Fun::Fmax => Fun::LogicalOr,
            Fun::Multiply | Fun::Minimum | Fun::Fmin => Fun::LogicalAnd,
            Fun::Absolute | Fun::Floor | Fun::Ceil | Fun::Trunc => Fun::Positive,
            Fun::Invert => Fun::LogicalNot,
            _ => return None,
        })
    }
}
