"""Functions of bfloat16 for kernels, by CUDA's names: `bf16.hadd(a, b)`, `bf16.bfloat16_to_int32_rd(x)`.

They are functions of the kernel language, created on first use. They compute in float32 and round once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from types import FunctionType

import numpy as np

from cuprous.cuda import _intrinsics, libdevice, types
from cuprous.cuda._generated_functions import make_function
from cuprous.cuda.types import bfloat16

_NAMES = {
    "np": np, "math": math, "libdevice": libdevice, "fma": _intrinsics._Intrinsic("cuda.fma"),
    **{t: getattr(types, t) for t in (
        "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    )},
}  # fmt: skip

#: Expressions of a, b and c.
_VALUES = {
    "hadd": "a + b", "hsub": "a - b", "hmul": "a * b", "hdiv": "a / b", "hneg": "-a", "habs": "abs(a)",
    "hadd_rn": "a + b", "hsub_rn": "a - b", "hmul_rn": "a * b",
    "hfma": "bfloat16(fma(float32(a), float32(b), float32(c)))",
    "heq": "a == b", "hne": "a != b", "hge": "a >= b", "hgt": "a > b", "hle": "a <= b", "hlt": "a < b",
    "hisnan": "a != a", "hisinf": "int32(math.isinf(float32(a)))",
    # The plain versions ignore a NaN, the `_nan` versions propagate it.
    "hmax": "a if a > b or b != b else b", "hmin": "a if a < b or b != b else b",
    "hmax_nan": "a if a > b or a != a else b", "hmin_nan": "a if a < b or a != a else b",
    "bfloat16_to_float32": "float32(a)", "float32_to_bfloat16": "bfloat16(a)", "float64_to_bfloat16": "bfloat16(a)",
    "bfloat16_as_int16": "int16(libdevice.float_as_int(float32(a)) >> 16)",
    "bfloat16_as_uint16": "uint16(libdevice.float_as_int(float32(a)) >> 16)",
    "int16_as_bfloat16": "bfloat16(libdevice.int_as_float(int32(a) << 16))",
    "uint16_as_bfloat16": "bfloat16(libdevice.int_as_float(int32(int32(a) << 16)))",
    **{f"h{name}": f"bfloat16(np.{name}(float32(a)))" for name in (
        "trunc", "ceil", "floor", "rint", "sqrt", "log", "log2", "log10", "cos", "sin", "exp", "exp2", "tanh",
    )},
    "htanh_approx": "bfloat16(np.tanh(float32(a)))", "hrsqrt": "bfloat16(1 / np.sqrt(float32(a)))",
    "hrcp": "bfloat16(1 / float32(a))", "hexp10": "bfloat16(float32(10) ** float32(a))",
}  # fmt: skip
_WITHIN = {f"{name}_sat": f"min(max(float32({_VALUES[name]}), 0), 1)" for name in ("hadd", "hsub", "hmul", "hfma")}
_VALUES |= {name: f"bfloat16({value})" for name, value in _WITHIN.items()}
_VALUES["hfma_relu"] = f"bfloat16(max(float32({_VALUES['hfma']}), 0))"

#: Roundings: to the nearest, towards zero, down, up.
_ROUND = {"rn": "rint", "rz": "trunc", "rd": "floor", "ru": "ceil"}
_INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _to_int(kind: str, rounding: str) -> list[str]:
    """Returns the body of a conversion to an integer: it saturates, and a NaN becomes 0."""
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    return [
        f"x = np.{_ROUND[rounding]}(float64(a))",
        "if x != x:", f"    return {kind}(0)",
        f"if x >= {float(high)}:", f"    return {kind}({high})",
        f"if x <= {float(low)}:", f"    return {kind}({low})",
        f"return {kind}(x)",
    ]  # fmt: skip


def _from(kind: str, rounding: str) -> list[str]:
    """Returns the body of a conversion to bfloat16: rounds to nearest, then steps down or up where necessary."""
    if rounding == "rn":
        return ["return bfloat16(a)"]
    if kind in _INTS:
        top = float(2 ** int(np.iinfo(kind).bits - (kind[0] == "i")))
        above, below = f"w >= {top} or {kind}(w) > x", f"w < {top} and {kind}(w) < x"
    else:
        above, below = "w > x", "w < x"
    down, up = "np.nextafter(y, bfloat16(-math.inf))", "np.nextafter(y, bfloat16(math.inf))"
    lines = [f"x = {kind}(a)", "y = bfloat16(x)", "w = float64(y)"]
    if rounding in ("rd", "rz"):
        lines += [f"if ({above}){' and x > 0' if rounding == 'rz' else ''}:", f"    return {down}"]
    if rounding in ("ru", "rz"):
        lines += [f"if ({below}){' and x < 0' if rounding == 'rz' else ''}:", f"    return {up}"]
    return [*lines, "return y"]


def _bodies() -> Iterator[tuple[str, list[str]]]:
    for name, value in _VALUES.items():
        yield name, [f"return {value}"]
    for kind in _INTS:
        yield f"bfloat16_to_{kind}_rz", _to_int(kind, "rz")
    for rounding in _ROUND:
        for kind in _INTS[2:]:
            yield f"bfloat16_to_{kind}_{rounding}", _to_int(kind, rounding)
            yield f"{kind}_to_bfloat16_{rounding}", _from(kind, rounding)
        yield f"float32_to_bfloat16_{rounding}", _from("float32", rounding)


_BODIES = dict(_bodies())
_functions: dict[str, FunctionType] = {}


def __getattr__(name: str) -> FunctionType:
    if name not in _BODIES:
        raise AttributeError(f"module 'cuprous.cuda.bf16' has no attribute {name!r}")
    if name not in _functions:
        body = _BODIES[name]
        takes = [x for x in "abc" if any(re.search(rf"\b{x}\b", line) for line in body)]
        _functions[name] = make_function(name, takes, body, _NAMES)
    return _functions[name]


def __dir__() -> list[str]:
    return sorted([*_BODIES, "bfloat16"])


__all__ = ["bfloat16"]
