"""The ufuncs with one output: an object of the native type per row of the operation table; and NumPy's aliases."""

from __future__ import annotations

import copyreg

from cuprous._core import ufunc

copyreg.pickle(ufunc, lambda ufunc: ufunc.__name__)  # pickled by name


def _make(name: str) -> ufunc:
    result = ufunc(name)
    result.__doc__ = result._doc  # otherwise it would show the type's
    return result


# --- arithmetic
add = _make("add")
subtract = _make("subtract")
multiply = _make("multiply")
divide = _make("divide")
floor_divide = _make("floor_divide")
remainder = _make("remainder")
fmod = _make("fmod")
power = _make("power")
float_power = _make("float_power")
maximum = _make("maximum")
minimum = _make("minimum")
fmax = _make("fmax")
fmin = _make("fmin")
negative = _make("negative")
positive = _make("positive")
absolute = _make("absolute")
fabs = _make("fabs")
sign = _make("sign")
square = _make("square")
reciprocal = _make("reciprocal")
sqrt = _make("sqrt")
rsqrt = _make("rsqrt")
cbrt = _make("cbrt")
hypot = _make("hypot")
copysign = _make("copysign")
nextafter = _make("nextafter")
spacing = _make("spacing")
heaviside = _make("heaviside")
ldexp = _make("ldexp")
gcd = _make("gcd")
lcm = _make("lcm")

# --- rounding
rint = _make("rint")
floor = _make("floor")
ceil = _make("ceil")
trunc = _make("trunc")

# --- exponentials and logarithms
exp = _make("exp")
exp2 = _make("exp2")
expm1 = _make("expm1")
log = _make("log")
log2 = _make("log2")
log10 = _make("log10")
log1p = _make("log1p")
logaddexp = _make("logaddexp")
logaddexp2 = _make("logaddexp2")

# --- trigonometry
sin = _make("sin")
cos = _make("cos")
tan = _make("tan")
arcsin = _make("arcsin")
arccos = _make("arccos")
arctan = _make("arctan")
arctan2 = _make("arctan2")
sinh = _make("sinh")
cosh = _make("cosh")
tanh = _make("tanh")
arcsinh = _make("arcsinh")
arccosh = _make("arccosh")
arctanh = _make("arctanh")
degrees = _make("degrees")
radians = _make("radians")

# --- comparison and logic
equal = _make("equal")
not_equal = _make("not_equal")
less = _make("less")
less_equal = _make("less_equal")
greater = _make("greater")
greater_equal = _make("greater_equal")
logical_and = _make("logical_and")
logical_or = _make("logical_or")
logical_xor = _make("logical_xor")
logical_not = _make("logical_not")
isnan = _make("isnan")
isinf = _make("isinf")
isfinite = _make("isfinite")
signbit = _make("signbit")

# --- bits
bitwise_and = _make("bitwise_and")
bitwise_or = _make("bitwise_or")
bitwise_xor = _make("bitwise_xor")
invert = _make("invert")
left_shift = _make("left_shift")
right_shift = _make("right_shift")
bitwise_count = _make("bitwise_count")

# --- complex numbers
conjugate = _make("conjugate")

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
