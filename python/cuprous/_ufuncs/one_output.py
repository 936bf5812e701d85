"""The ufuncs with one output: an object of the native type per row of the operation table; and NumPy's aliases."""

from __future__ import annotations

import copyreg

from cuprous._core import ufunc

copyreg.pickle(ufunc, lambda ufunc: ufunc.__name__)  # pickled by name


def _make(name: str, nin: int, doc: str) -> ufunc:
    result = ufunc(name, nin, doc)
    result.__doc__ = doc  # otherwise the docstring of the type would be shown
    return result


# --- arithmetic
add = _make("add", 2, "Sum of two arrays.")
subtract = _make("subtract", 2, "Difference of two arrays.")
multiply = _make("multiply", 2, "Product of two arrays.")
divide = _make("divide", 2, "Quotient of two arrays; integers divide to float64.")
floor_divide = _make("floor_divide", 2, "Quotient rounded towards minus infinity.")
remainder = _make("remainder", 2, "Remainder with the sign of the divisor.")
fmod = _make("fmod", 2, "Remainder with the sign of the dividend.")
power = _make("power", 2, "First operand raised to the second.")
float_power = _make("float_power", 2, "First operand raised to the second, in double precision.")
maximum = _make("maximum", 2, "The greater of two elements; NaN if either is.")
minimum = _make("minimum", 2, "The lesser of two elements; NaN if either is.")
fmax = _make("fmax", 2, "The greater of two elements; NaN only if both are.")
fmin = _make("fmin", 2, "The lesser of two elements; NaN only if both are.")
negative = _make("negative", 1, "The negated elements.")
positive = _make("positive", 1, "The elements unchanged (a copy).")
absolute = _make("absolute", 1, "Magnitude of the elements.")
fabs = _make("fabs", 1, "Magnitude of real elements, as floats.")
sign = _make("sign", 1, "-1, 0 or 1 by the sign; z / |z| for complex numbers.")
square = _make("square", 1, "The elements squared.")
reciprocal = _make("reciprocal", 1, "One over the elements.")
sqrt = _make("sqrt", 1, "Square root.")
rsqrt = _make("rsqrt", 1, "One over the square root (as CuPy; not in NumPy).")
cbrt = _make("cbrt", 1, "Cube root.")
hypot = _make("hypot", 2, "Hypotenuse of a right triangle with these legs.")
copysign = _make("copysign", 2, "Magnitude of the first with the sign of the second.")
nextafter = _make("nextafter", 2, "The next float after the first, towards the second.")
spacing = _make("spacing", 1, "Distance to the next float away from zero.")
heaviside = _make("heaviside", 2, "0 below zero, 1 above, the second operand at zero.")
ldexp = _make("ldexp", 2, "The first times two to the power of the second.")
gcd = _make("gcd", 2, "Greatest common divisor.")
lcm = _make("lcm", 2, "Least common multiple.")

# --- rounding
rint = _make("rint", 1, "Nearest integer, halves to even.")
floor = _make("floor", 1, "Greatest integer not above.")
ceil = _make("ceil", 1, "Least integer not below.")
trunc = _make("trunc", 1, "Integer part, towards zero.")

# --- exponentials and logarithms
exp = _make("exp", 1, "e to the power of the elements.")
exp2 = _make("exp2", 1, "Two to the power of the elements.")
expm1 = _make("expm1", 1, "exp(x) - 1, precise near zero.")
log = _make("log", 1, "Natural logarithm.")
log2 = _make("log2", 1, "Logarithm to base two.")
log10 = _make("log10", 1, "Logarithm to base ten.")
log1p = _make("log1p", 1, "log(1 + x), precise near zero.")
logaddexp = _make("logaddexp", 2, "log(exp(a) + exp(b)) without overflow.")
logaddexp2 = _make("logaddexp2", 2, "log2(2**a + 2**b) without overflow.")

# --- trigonometry
sin = _make("sin", 1, "Sine.")
cos = _make("cos", 1, "Cosine.")
tan = _make("tan", 1, "Tangent.")
arcsin = _make("arcsin", 1, "Inverse sine.")
arccos = _make("arccos", 1, "Inverse cosine.")
arctan = _make("arctan", 1, "Inverse tangent.")
arctan2 = _make("arctan2", 2, "Angle of the point (second, first).")
sinh = _make("sinh", 1, "Hyperbolic sine.")
cosh = _make("cosh", 1, "Hyperbolic cosine.")
tanh = _make("tanh", 1, "Hyperbolic tangent.")
arcsinh = _make("arcsinh", 1, "Inverse hyperbolic sine.")
arccosh = _make("arccosh", 1, "Inverse hyperbolic cosine.")
arctanh = _make("arctanh", 1, "Inverse hyperbolic tangent.")
degrees = _make("degrees", 1, "Radians to degrees.")
radians = _make("radians", 1, "Degrees to radians.")

# --- comparison and logic
equal = _make("equal", 2, "a == b.")
not_equal = _make("not_equal", 2, "a != b.")
less = _make("less", 2, "a < b.")
less_equal = _make("less_equal", 2, "a <= b.")
greater = _make("greater", 2, "a > b.")
greater_equal = _make("greater_equal", 2, "a >= b.")
logical_and = _make("logical_and", 2, "Truth of both.")
logical_or = _make("logical_or", 2, "Truth of either.")
logical_xor = _make("logical_xor", 2, "Truth of exactly one.")
logical_not = _make("logical_not", 1, "Falsehood.")
isnan = _make("isnan", 1, "Where elements are NaN.")
isinf = _make("isinf", 1, "Where elements are infinite.")
isfinite = _make("isfinite", 1, "Where elements are neither infinite nor NaN.")
signbit = _make("signbit", 1, "Where the sign bit is set.")

# --- bits
bitwise_and = _make("bitwise_and", 2, "Bits set in both.")
bitwise_or = _make("bitwise_or", 2, "Bits set in either.")
bitwise_xor = _make("bitwise_xor", 2, "Bits set in exactly one.")
invert = _make("invert", 1, "All bits flipped; `not` for bool.")
left_shift = _make("left_shift", 2, "Bits shifted to the left.")
right_shift = _make("right_shift", 2, "Bits shifted to the right.")
bitwise_count = _make("bitwise_count", 1, "Number of bits set in the magnitude.")

# --- complex numbers
conjugate = _make("conjugate", 1, "Complex conjugate.")

# --- aliases
abs = absolute
acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_not = invert
bitwise_right_shift = right_shift
conj = conjugate
deg2rad = radians
mod = remainder
pow = power
rad2deg = degrees
true_divide = divide

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_count", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil",
    "conj", "conjugate", "copysign", "cos", "cosh", "deg2rad", "degrees", "divide", "equal", "exp", "exp2",
    "expm1", "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater",
    "greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf", "isnan", "lcm", "ldexp", "left_shift",
    "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "power", "rad2deg", "radians", "reciprocal", "remainder",
    "right_shift", "rint", "rsqrt", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square", "subtract",
    "tan", "tanh", "true_divide", "trunc",
]  # fmt: skip
