"""Every ufunc of one output: an object of the native type per row of the operation table; and NumPy's aliases."""

from __future__ import annotations

from cuprous._core import ufunc

# --- arithmetic
add = ufunc("add", 2, "Sum of two arrays.")
subtract = ufunc("subtract", 2, "Difference of two arrays.")
multiply = ufunc("multiply", 2, "Product of two arrays.")
divide = ufunc("divide", 2, "Quotient of two arrays; integers divide to float64.")
floor_divide = ufunc("floor_divide", 2, "Quotient rounded towards minus infinity.")
remainder = ufunc("remainder", 2, "Remainder with the sign of the divisor.")
fmod = ufunc("fmod", 2, "Remainder with the sign of the dividend.")
power = ufunc("power", 2, "First operand raised to the second.")
float_power = ufunc("float_power", 2, "First operand raised to the second, in double precision.")
maximum = ufunc("maximum", 2, "The greater of two elements; NaN if either is.")
minimum = ufunc("minimum", 2, "The lesser of two elements; NaN if either is.")
fmax = ufunc("fmax", 2, "The greater of two elements; NaN only if both are.")
fmin = ufunc("fmin", 2, "The lesser of two elements; NaN only if both are.")
negative = ufunc("negative", 1, "The negated elements.")
positive = ufunc("positive", 1, "The elements unchanged (a copy).")
absolute = ufunc("absolute", 1, "Magnitude of the elements.")
fabs = ufunc("fabs", 1, "Magnitude of real elements, as floats.")
sign = ufunc("sign", 1, "-1, 0 or 1 by the sign; z / |z| for complex numbers.")
square = ufunc("square", 1, "The elements squared.")
reciprocal = ufunc("reciprocal", 1, "One over the elements.")
sqrt = ufunc("sqrt", 1, "Square root.")
rsqrt = ufunc("rsqrt", 1, "One over the square root (as CuPy; not in NumPy).")
cbrt = ufunc("cbrt", 1, "Cube root.")
hypot = ufunc("hypot", 2, "Hypotenuse of a right triangle with these legs.")
copysign = ufunc("copysign", 2, "Magnitude of the first with the sign of the second.")
nextafter = ufunc("nextafter", 2, "The next float after the first, towards the second.")
spacing = ufunc("spacing", 1, "Distance to the next float away from zero.")
heaviside = ufunc("heaviside", 2, "0 below zero, 1 above, the second operand at zero.")
ldexp = ufunc("ldexp", 2, "The first times two to the power of the second.")
gcd = ufunc("gcd", 2, "Greatest common divisor.")
lcm = ufunc("lcm", 2, "Least common multiple.")

# --- rounding
rint = ufunc("rint", 1, "Nearest integer, halves to even.")
floor = ufunc("floor", 1, "Greatest integer not above.")
ceil = ufunc("ceil", 1, "Least integer not below.")
trunc = ufunc("trunc", 1, "Integer part, towards zero.")

# --- exponentials and logarithms
exp = ufunc("exp", 1, "e to the power of the elements.")
exp2 = ufunc("exp2", 1, "Two to the power of the elements.")
expm1 = ufunc("expm1", 1, "exp(x) - 1, precise near zero.")
log = ufunc("log", 1, "Natural logarithm.")
log2 = ufunc("log2", 1, "Logarithm to base two.")
log10 = ufunc("log10", 1, "Logarithm to base ten.")
log1p = ufunc("log1p", 1, "log(1 + x), precise near zero.")
logaddexp = ufunc("logaddexp", 2, "log(exp(a) + exp(b)) without overflow.")
logaddexp2 = ufunc("logaddexp2", 2, "log2(2**a + 2**b) without overflow.")

# --- trigonometry
sin = ufunc("sin", 1, "Sine.")
cos = ufunc("cos", 1, "Cosine.")
tan = ufunc("tan", 1, "Tangent.")
arcsin = ufunc("arcsin", 1, "Inverse sine.")
arccos = ufunc("arccos", 1, "Inverse cosine.")
arctan = ufunc("arctan", 1, "Inverse tangent.")
arctan2 = ufunc("arctan2", 2, "Angle of the point (second, first).")
sinh = ufunc("sinh", 1, "Hyperbolic sine.")
cosh = ufunc("cosh", 1, "Hyperbolic cosine.")
tanh = ufunc("tanh", 1, "Hyperbolic tangent.")
arcsinh = ufunc("arcsinh", 1, "Inverse hyperbolic sine.")
arccosh = ufunc("arccosh", 1, "Inverse hyperbolic cosine.")
arctanh = ufunc("arctanh", 1, "Inverse hyperbolic tangent.")
degrees = ufunc("degrees", 1, "Radians to degrees.")
radians = ufunc("radians", 1, "Degrees to radians.")

# --- comparison and logic
equal = ufunc("equal", 2, "a == b.")
not_equal = ufunc("not_equal", 2, "a != b.")
less = ufunc("less", 2, "a < b.")
less_equal = ufunc("less_equal", 2, "a <= b.")
greater = ufunc("greater", 2, "a > b.")
greater_equal = ufunc("greater_equal", 2, "a >= b.")
logical_and = ufunc("logical_and", 2, "Truth of both.")
logical_or = ufunc("logical_or", 2, "Truth of either.")
logical_xor = ufunc("logical_xor", 2, "Truth of exactly one.")
logical_not = ufunc("logical_not", 1, "Falsehood.")
isnan = ufunc("isnan", 1, "Where elements are NaN.")
isinf = ufunc("isinf", 1, "Where elements are infinite.")
isfinite = ufunc("isfinite", 1, "Where elements are neither infinite nor NaN.")
signbit = ufunc("signbit", 1, "Where the sign bit is set.")

# --- bits
bitwise_and = ufunc("bitwise_and", 2, "Bits set in both.")
bitwise_or = ufunc("bitwise_or", 2, "Bits set in either.")
bitwise_xor = ufunc("bitwise_xor", 2, "Bits set in exactly one.")
invert = ufunc("invert", 1, "All bits flipped; `not` for bool.")
left_shift = ufunc("left_shift", 2, "Bits shifted to the left.")
right_shift = ufunc("right_shift", 2, "Bits shifted to the right.")
bitwise_count = ufunc("bitwise_count", 1, "Number of bits set in the magnitude.")

# --- complex numbers
conjugate = ufunc("conjugate", 1, "Complex conjugate.")

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
