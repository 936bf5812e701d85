"""The ufuncs with one output: an object of the native type per row of the operation table; and NumPy's aliases."""

from __future__ import annotations

import copyreg

from cuprous._core import ufunc

copyreg.pickle(ufunc, lambda ufunc: ufunc.__name__)  # pickled by name

# --- arithmetic
add = ufunc("add")
subtract = ufunc("subtract")
multiply = ufunc("multiply")
divide = ufunc("divide")
floor_divide = ufunc("floor_divide")
remainder = ufunc("remainder")
fmod = ufunc("fmod")
power = ufunc("power")
float_power = ufunc("float_power")
maximum = ufunc("maximum")
minimum = ufunc("minimum")
fmax = ufunc("fmax")
fmin = ufunc("fmin")
negative = ufunc("negative")
positive = ufunc("positive")
absolute = ufunc("absolute")
fabs = ufunc("fabs")
sign = ufunc("sign")
square = ufunc("square")
reciprocal = ufunc("reciprocal")
sqrt = ufunc("sqrt")
rsqrt = ufunc("rsqrt")
cbrt = ufunc("cbrt")
hypot = ufunc("hypot")
copysign = ufunc("copysign")
nextafter = ufunc("nextafter")
spacing = ufunc("spacing")
heaviside = ufunc("heaviside")
ldexp = ufunc("ldexp")
gcd = ufunc("gcd")
lcm = ufunc("lcm")

# --- rounding
rint = ufunc("rint")
floor = ufunc("floor")
ceil = ufunc("ceil")
trunc = ufunc("trunc")

# --- exponentials and logarithms
exp = ufunc("exp")
exp2 = ufunc("exp2")
expm1 = ufunc("expm1")
log = ufunc("log")
log2 = ufunc("log2")
log10 = ufunc("log10")
log1p = ufunc("log1p")
logaddexp = ufunc("logaddexp")
logaddexp2 = ufunc("logaddexp2")

# --- trigonometry
sin = ufunc("sin")
cos = ufunc("cos")
tan = ufunc("tan")
arcsin = ufunc("arcsin")
arccos = ufunc("arccos")
arctan = ufunc("arctan")
arctan2 = ufunc("arctan2")
sinh = ufunc("sinh")
cosh = ufunc("cosh")
tanh = ufunc("tanh")
arcsinh = ufunc("arcsinh")
arccosh = ufunc("arccosh")
arctanh = ufunc("arctanh")
degrees = ufunc("degrees")
radians = ufunc("radians")

# --- comparison and logic
equal = ufunc("equal")
not_equal = ufunc("not_equal")
less = ufunc("less")
less_equal = ufunc("less_equal")
greater = ufunc("greater")
greater_equal = ufunc("greater_equal")
logical_and = ufunc("logical_and")
logical_or = ufunc("logical_or")
logical_xor = ufunc("logical_xor")
logical_not = ufunc("logical_not")
isnan = ufunc("isnan")
isinf = ufunc("isinf")
isfinite = ufunc("isfinite")
signbit = ufunc("signbit")

# --- bits
bitwise_and = ufunc("bitwise_and")
bitwise_or = ufunc("bitwise_or")
bitwise_xor = ufunc("bitwise_xor")
invert = ufunc("invert")
left_shift = ufunc("left_shift")
right_shift = ufunc("right_shift")
bitwise_count = ufunc("bitwise_count")

# --- complex numbers
conjugate = ufunc("conjugate")

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
