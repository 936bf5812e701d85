"""Writes golden.txt: results of NumPy, SciPy and mpmath at selected values.

Run with: python golden.py > golden.txt


A line has the function, the dtype of the operands, the dtype of the result, and for each case the bits of operands and
result in hexadecimal.
"""

import warnings

import numpy as np
import scipy.special as sc

warnings.simplefilter("ignore")
np.seterr(all="ignore")
inf, nan = np.inf, np.nan
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.0,
    7.25,
    -7.25,
    1e-320,
    1e300,
    -1e300,
    1e-9,
    709.9,
    -745.2,
    inf,
    -inf,
    nan,
]
RNG = np.random.default_rng(0)


def emit(name, out, *operands, to=None):
    dtype, result = operands[0].dtype, out.dtype
    cases = [";".join([o[i].tobytes().hex() for o in (*operands, out)]) for i in range(len(out))]
    print(name, dtype, result, " ".join(cases))


def grid(values, dtype):
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return a.ravel().copy(), b.ravel().copy()


UNARY = [
    "negative",
    "absolute",
    "sign",
    "square",
    "reciprocal",
    "sqrt",
    "cbrt",
    "spacing",
    "rint",
    "floor",
    "ceil",
    "trunc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "degrees",
    "radians",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "copysign",
    "nextafter",
    "heaviside",
    "logaddexp",
    "logaddexp2",
    "arctan2",
    "equal",
    "not_equal",
    "less",
    "less_equal",
]
for dtype in (np.float64, np.float32, np.float16):
    if dtype == np.float16:
        values = [v for v in SPECIAL if not (0 < abs(v) < 1e-7 or 6e4 < abs(v) < 1e301)] + [6e-8, 65504.0, 1e-4]
    elif dtype == np.float32:
        values = [v for v in SPECIAL if not (0 < abs(v) < 1e-44 or 1e38 < abs(v) < 1e301)] + [1e-44, 3e38, 88.8, -104.0]
    else:
        values = SPECIAL
    more = np.concatenate([values, RNG.normal(size=8) * 3, RNG.uniform(-1, 1, 8), RNG.uniform(0, 50, 4)]).astype(dtype)
    for f in UNARY:
        emit(f, getattr(np, f)(more), more)
    a, b = grid([*values[::2], 3.0, 0.1], dtype)
    for f in BINARY:
        emit(f, getattr(np, f)(a, b), a, b)
    emit("modf_fraction", np.modf(more)[0], more)
    emit("frexp_mantissa", np.frexp(more)[0], more)
    emit(
        "frexp_exponent", np.frexp(np.nan_to_num(more, posinf=1, neginf=1))[1], np.nan_to_num(more, posinf=1, neginf=1)
    )
x = np.concatenate(
    [
        np.array([v for v in SPECIAL if v not in (1e-320, 709.9)]),
        RNG.normal(size=20) * 4,
        RNG.uniform(-0.99, 0.99, 10),
        RNG.uniform(1, 100, 10),
    ]
)
for f, g in dict(
    erf=sc.erf,
    erfc=sc.erfc,
    erfinv=sc.erfinv,
    gammaln=sc.gammaln,
    digamma=sc.digamma,
    expit=sc.expit,
    ndtr=sc.ndtr,
    i0=lambda v: np.where(np.isinf(v), inf, sc.i0(v)),  # SciPy returns NaN for infinities
    sinc=np.sinc,
).items():
    emit(f, g(x), x)
emit("gamma", sc.gamma(x[17:]), x[17:])
for dtype in (np.int8, np.int64, np.uint8):
    i = np.iinfo(dtype)
    values = [v for v in (0, 1, 2, 7, 8, 63, -1, -7, i.max, i.min, i.max - 1) if i.min <= v <= i.max]
    a, b = grid(values, dtype)
    for f in [
        "add",
        "subtract",
        "multiply",
        "floor_divide",
        "remainder",
        "fmod",
        "left_shift",
        "right_shift",
        "gcd",
        "lcm",
        "maximum",
        "bitwise_xor",
        "less",
    ]:
        emit(f, getattr(np, f)(a, b), a, b)
    emit("power", np.power(a, np.abs(b) % 9), a, np.abs(b) % 9)
    for f in ["negative", "absolute", "sign", "square", "invert", "bitwise_count"]:
        emit(f, getattr(np, f)(a), a)
# Complex numbers: on and around the branch cuts, and at the limits.
parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-3, 20.0, inf, -inf, nan]
re, im = np.meshgrid(parts, parts)
z = (re + 0j).ravel()
z.imag = im.ravel()
z = np.concatenate([z, RNG.normal(size=20).view(complex) * 2])
for f in [
    "sqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "square",
    "reciprocal",
    "absolute",
    "sign",
    "conjugate",
    "negative",
]:
    emit(f, getattr(np, f)(z), z)
w = z[np.isfinite(z)][::9]
a, b = np.meshgrid(w, w)
a, b = a.ravel().copy(), b.ravel().copy()
for f in ["multiply", "divide", "power"]:
    emit(f, getattr(np, f)(a, b), a, b)
a, b = np.meshgrid(z[::13], z[::13])
a, b = a.ravel().copy(), b.ravel().copy()
for f in ["maximum", "minimum", "fmax", "fmin", "less", "less_equal", "equal"]:
    emit(f, getattr(np, f)(a, b), a, b)
# Casts.
types = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]
for t in types:
    kind = np.dtype(t).kind
    if kind == "b":
        v = np.array([False, True])
    elif kind in "iu":
        i = np.iinfo(t)
        v = np.array([0, 1, 100, i.max, i.min, i.max - 5], t)
    else:
        v = np.array(
            [
                0,
                -0.0,
                1.5,
                -1.5,
                127.9,
                255.5,
                -3.7,
                70000,
                65519.9,
                65520,
                2.0001,
                1e-7,
                3e-5,
                1 + 2**-11 + 2**-30,
                inf,
                -inf,
                nan,
            ]
        ).astype(t)
        if t == np.float64:
            v = np.concatenate([v, [3e9, -3e9, 1e19, -1e19, 9.3e18]])
    for u in types:
        if np.dtype(u).kind in "iu" and kind in "fc":
            w = v[np.isfinite(v)]
            i = np.iinfo(u)
            # Values out of range are undefined in C. Only x86's behavior for 32 and 64 bits is guaranteed.
            w = w[(w.real > i.min - 1) & (w.real < float(i.max) + 1)]
        else:
            w = v
        emit("cast", w.astype(u), w)
