"""Docstrings of the elementwise functions, composed of the operation table's summary and a row of `ROWS`."""

from __future__ import annotations

from cuprous import _core
from cuprous._common.naming import entry, join_sections, related_names

#: The row of the operation table: the dtypes that it takes (bool, integers, floats, complex numbers), an example's
#: operands, and the result of the example.
ROWS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "absolute": ("bifc", ("[-3, 4]",), "[3, 4]"),
    "arccos": ("bifc", ("[1.0, 0.0]",), "[0.0000, 1.5708]"),
    "arccosh": ("bifc", ("[1.0, 2.0]",), "[0.0000, 1.3170]"),
    "angle": ("bifc", ("[-1.0, 2.0]",), "[3.1416, 0.0000]"),
    "arcsin": ("bifc", ("[0.0, 1.0]",), "[0.0000, 1.5708]"),
    "arcsinh": ("bifc", ("[0.0, 1.0]",), "[0.0000, 0.8814]"),
    "arctan": ("bifc", ("[0.0, 1.0]",), "[0.0000, 0.7854]"),
    "arctanh": ("bifc", ("[0.0, 0.5]",), "[0.0000, 0.5493]"),
    "invert": ("bi", ("[0, 5]",), "[-1, -6]"),
    "ceil": ("bif", ("[1.2, -1.2]",), "[ 2., -1.]"),
    "conjugate": ("bifc", ("[1 + 2j, 3 - 1j]",), "[1.-2.j, 3.+1.j]"),
    "cos": ("bifc", ("[0.0, 1.0]",), "[1.0000, 0.5403]"),
    "cosh": ("bifc", ("[0.0, 1.0]",), "[1.0000, 1.5431]"),
    "radians": ("bif", ("[0.0, 180.0]",), "[0.0000, 3.1416]"),
    "digamma": ("bif", ("[1.0, 2.0]",), "[-0.5772,  0.4228]"),
    "erf": ("bif", ("[0.0, 1.0]",), "[0.0000, 0.8427]"),
    "erfc": ("bif", ("[0.0, 1.0]",), "[1.0000, 0.1573]"),
    "erfinv": ("bif", ("[0.0, 0.5]",), "[0.0000, 0.4769]"),
    "exp": ("bifc", ("[0.0, 1.0]",), "[1.0000, 2.7183]"),
    "exp2": ("bifc", ("[0.0, 3.0]",), "[1., 8.]"),
    "expm1": ("bifc", ("[0.0, 1.0]",), "[0.0000, 1.7183]"),
    "trunc": ("bif", ("[1.7, -1.7]",), "[ 1., -1.]"),
    "floor": ("bif", ("[1.7, -1.7]",), "[ 1., -2.]"),
    "modf_fraction": ("bif", ("[1.5, -2.25]",), "[ 0.5000, -0.2500]"),
    "i0": ("bif", ("[0.0, 1.0]",), "[1.0000, 1.2661]"),
    "isfinite": ("bifc", ("[1.0, float('inf')]",), "[ True, False]"),
    "isinf": ("bifc", ("[1.0, float('inf')]",), "[False,  True]"),
    "isnan": ("bifc", ("[1.0, float('nan')]",), "[False,  True]"),
    "gammaln": ("bif", ("[1.0, 4.0]",), "[0.0000, 1.7918]"),
    "log": ("bifc", ("[1.0, 10.0]",), "[0.0000, 2.3026]"),
    "log10": ("bifc", ("[1.0, 1000.0]",), "[0., 3.]"),
    "log1p": ("bifc", ("[0.0, 1.0]",), "[0.0000, 0.6931]"),
    "log2": ("bifc", ("[1.0, 8.0]",), "[0., 3.]"),
    "logical_not": ("bifc", ("[0.0, 2.0]",), "[ True, False]"),
    "negative": ("ifc", ("[1, -2]",), "[-1,  2]"),
    "degrees": ("bif", ("[0.0, 1.0]",), "[ 0.0000, 57.2958]"),
    "reciprocal": ("bifc", ("[2.0, 4.0]",), "[0.5000, 0.2500]"),
    "rsqrt": ("bif", ("[4.0, 16.0]",), "[0.5000, 0.2500]"),
    "sign": ("ifc", ("[-3.5, 0.0, 2.0]",), "[-1.,  0.,  1.]"),
    "expit": ("bif", ("[0.0, 2.0]",), "[0.5000, 0.8808]"),
    "signbit": ("bif", ("[1.5, -1.5]",), "[False,  True]"),
    "sin": ("bifc", ("[0.0, 1.0]",), "[0.0000, 0.8415]"),
    "sinc": ("bif", ("[0.0, 0.5]",), "[1.0000, 0.6366]"),
    "sinh": ("bifc", ("[0.0, 1.0]",), "[0.0000, 1.1752]"),
    "sqrt": ("bifc", ("[4.0, 9.0]",), "[2., 3.]"),
    "square": ("bifc", ("[2, -3]",), "[4, 9]"),
    "tan": ("bifc", ("[0.0, 1.0]",), "[0.0000, 1.5574]"),
    "tanh": ("bifc", ("[0.0, 1.0]",), "[0.0000, 0.7616]"),
    "arctan2": ("bif", ("[1.0, -1.0]", "[1.0, -1.0]"), "[ 0.7854, -2.3562]"),
    "bitwise_and": ("bi", ("[12, 10]", "6"), "[4, 2]"),
    "left_shift": ("bi", ("[1, 3]", "2"), "[ 4, 12]"),
    "bitwise_or": ("bi", ("[12, 10]", "6"), "[14, 14]"),
    "right_shift": ("bi", ("[8, 12]", "2"), "[2, 3]"),
    "bitwise_xor": ("bi", ("[12, 10]", "6"), "[10, 12]"),
    "copysign": ("bif", ("[1.0, 2.0]", "[-1.0, 1.0]"), "[-1.,  2.]"),
    "equal": ("bifc", ("[1.0, 2.0]", "[1.0, 3.0]"), "[ True, False]"),
    "float_power": ("bifc", ("[2.0, 4.0]", "0.5"), "[1.4142, 2.0000], dtype=torch.float64"),
    "floor_divide": ("bif", ("[7, -7]", "2"), "[ 3, -4]"),
    "fmax": ("bifc", ("[1.0, float('nan')]", "[0.0, 2.0]"), "[1., 2.]"),
    "fmin": ("bifc", ("[1.0, float('nan')]", "[0.0, 2.0]"), "[0., 2.]"),
    "fmod": ("bif", ("[7, -7]", "3"), "[ 1, -1]"),
    "gcd": ("i", ("[12, 18]", "[8, 27]"), "[4, 9]"),
    "greater_equal": ("bifc", ("[1.0, 2.0, 3.0]", "2"), "[False,  True,  True]"),
    "greater": ("bifc", ("[1.0, 2.0, 3.0]", "2"), "[False, False,  True]"),
    "heaviside": ("bif", ("[-1.5, 0.0, 2.0]", "[0.5, 0.5, 0.5]"), "[0.0000, 0.5000, 1.0000]"),
    "hypot": ("bif", ("[3.0, 5.0]", "[4.0, 12.0]"), "[ 5., 13.]"),
    "lcm": ("i", ("[4, 6]", "[10, 8]"), "[20, 24]"),
    "less_equal": ("bifc", ("[1.0, 2.0, 3.0]", "2"), "[ True,  True, False]"),
    "less": ("bifc", ("[1.0, 2.0, 3.0]", "2"), "[ True, False, False]"),
    "logaddexp": ("bif", ("[0.0, 1000.0]", "[0.0, 1000.0]"), "[6.9315e-01, 1.0007e+03]"),
    "logaddexp2": ("bif", ("[0.0, 3.0]", "[0.0, 3.0]"), "[1., 4.]"),
    "logical_and": ("bifc", ("[1.0, 2.0, 0.0]", "[3.0, 0.0, 0.0]"), "[ True, False, False]"),
    "logical_or": ("bifc", ("[1.0, 2.0, 0.0]", "[3.0, 0.0, 0.0]"), "[ True,  True, False]"),
    "logical_xor": ("bifc", ("[1.0, 2.0, 0.0]", "[3.0, 0.0, 0.0]"), "[False,  True, False]"),
    "maximum": ("bifc", ("[1, 5]", "[3, 2]"), "[3, 5]"),
    "minimum": ("bifc", ("[1, 5]", "[3, 2]"), "[1, 2]"),
    "multiply": ("bifc", ("[1, 2]", "[3, 4]"), "[3, 8]"),
    "not_equal": ("bifc", ("[1.0, 2.0]", "[1.0, 3.0]"), "[False,  True]"),
    "nextafter": ("bif", ("[0.0, 1.0]", "[1.0, 0.0]"), "[1.4013e-45, 1.0000e+00]"),
    "power": ("bifc", ("[2, 3]", "[3, 2]"), "[8, 9]"),
    "remainder": ("bif", ("[7, -7]", "3"), "[1, 2]"),
    "divide": ("bifc", ("[1.0, 3.0]", "2"), "[0.5000, 1.5000]"),
}  # fmt: skip

#: The names in `torch` of functions that are related to those of a row.
_RELATED = {
    "absolute": "sign sgn angle neg", "angle": "abs polar real imag", "arccos": "cos asin atan acosh",
    "arccosh": "cosh asinh atanh acos", "arcsin": "sin acos atan asinh", "arcsinh": "sinh acosh atanh asin",
    "arctan": "tan atan2 asin acos", "arctanh": "tanh asinh acosh atan", "arctan2": "atan angle hypot",
    "bitwise_and": "bitwise_or bitwise_xor bitwise_not logical_and",
    "bitwise_or": "bitwise_and bitwise_xor bitwise_not logical_or",
    "bitwise_xor": "bitwise_and bitwise_or bitwise_not logical_xor", "ceil": "floor trunc round",
    "conjugate": "conj resolve_conj real imag", "copysign": "sign signbit abs", "cos": "sin tan acos cosh",
    "cosh": "sinh tanh acosh cos", "degrees": "deg2rad", "digamma": "lgamma polygamma mvlgamma",
    "divide": "div floor_divide reciprocal remainder", "equal": "ne equal isclose allclose",
    "erf": "erfc erfinv special.erfcx special.ndtr", "erfc": "erf erfinv special.erfcx",
    "erfinv": "erf erfc special.ndtri", "exp": "log exp2 expm1", "exp2": "log2 exp ldexp",
    "expit": "logit nn.functional.logsigmoid", "expm1": "log1p exp", "float_power": "pow sqrt",
    "floor": "ceil trunc round floor_divide", "floor_divide": "div floor remainder", "fmax": "fmin maximum amax",
    "fmin": "fmax minimum amin", "fmod": "remainder div trunc", "gammaln": "digamma polygamma mvlgamma", "gcd": "lcm",
    "greater": "ge lt eq", "greater_equal": "gt le eq", "heaviside": "sign where", "hypot": "atan2 linalg.vector_norm",
    "i0": "special.i0e special.i1 kaiser_window", "invert": "bitwise_and bitwise_or bitwise_xor logical_not",
    "isfinite": "isinf isnan nan_to_num", "isinf": "isfinite isnan isposinf isneginf",
    "isnan": "isfinite isinf nan_to_num nanmean", "lcm": "gcd", "left_shift": "bitwise_right_shift ldexp",
    "less": "le gt eq", "less_equal": "lt ge eq", "log": "exp log1p log2 log10", "log10": "log log2 log1p",
    "log1p": "expm1 log", "log2": "exp2 log log10", "logaddexp": "logaddexp2 logsumexp",
    "logaddexp2": "logaddexp exp2 log2", "logical_and": "logical_or logical_xor logical_not bitwise_and",
    "logical_not": "logical_and logical_or bitwise_not", "logical_or": "logical_and logical_xor logical_not bitwise_or",
    "logical_xor": "logical_and logical_or bitwise_xor", "maximum": "minimum fmax amax clamp",
    "minimum": "maximum fmin amin clamp", "modf_fraction": "trunc floor fmod", "multiply": "div addcmul matmul prod",
    "negative": "positive abs sub", "nextafter": "finfo", "not_equal": "eq isclose logical_not",
    "power": "float_power sqrt square exp", "radians": "rad2deg", "reciprocal": "div rsqrt",
    "remainder": "fmod floor_divide div", "right_shift": "bitwise_left_shift", "rsqrt": "sqrt reciprocal",
    "sign": "sgn signbit copysign abs", "signbit": "sign copysign", "sin": "cos tan asin sinh", "sinc": "sin",
    "sinh": "cosh tanh asinh sin", "sqrt": "rsqrt square pow", "square": "sqrt pow", "tan": "sin cos atan tanh",
    "tanh": "sinh cosh atanh tan", "trunc": "floor ceil round frac",
}  # fmt: skip
#: Summaries that differ from the operation table's, which name NumPy's dtypes.
_SUMMARIES = {
    "divide": "Returns the quotient. Integers are divided in the default dtype.",
    "multiply": "Returns the product.",
    "power": "Returns the input raised to the power of the second operand.",
    "rsqrt": "Returns one over the square root.",
}
_DTYPES = {
    "bifc": "any dtype", "bif": "any dtype but complex ones", "ifc": "any dtype but bool", "bi": "integers or bool",
    "i": "integers",
}  # fmt: skip
_OUT = entry("out", "Tensor", "A tensor of the result's shape to write to.", None)


def _operand(values: str) -> str:
    return f"torch.tensor({values})" if values[0] == "[" else values


def _doc(head: str, arguments: list[str], returns: str, related: str, call: str, result: str) -> str:
    return join_sections(head, {
        "Parameters": "\n".join(arguments),
        "Returns": f"Tensor\n    {returns}",
        "See Also": related,
        "Examples": f">>> {call}\ntensor({result})\n",
    })  # fmt: skip


def docstrings(name: str, row: str, second: str = "") -> tuple[str, str, str]:
    """Returns the docstrings of a function, its method and its in-place method.

    Parameters
    ----------
    name : str
        PyTorch's name.
    row : str
        The row of the operation table.
    second : str, default ""
        The name of the second operand, if there is one.
    """
    dtypes, operands, result = ROWS[row]
    head = _SUMMARIES.get(row) or _core.ufunc(row)._doc
    first, *further = [_operand(values) for values in operands]
    rest = ", ".join(further)
    bools = result.startswith(("[ True", "[False"))
    kind = "A bool tensor" if bools else "A tensor"
    shape = "that the operands broadcast to" if second else "of the input"
    written = result.replace(" True", "1.").replace("False", "0.") if bools else result.partition(", dtype")[0]
    other, both = (
        [entry(second, "Tensor or number", f"A tensor or number that broadcasts with {it}.")] if second else []
        for it in ("the tensor", "`input`")
    )
    inputs = [entry("input", "Tensor", f"A tensor of {_DTYPES[dtypes]}."), *both]
    return (
        _doc(head, [*inputs, _OUT], f"{kind} of the shape {shape}.", related_names(name, _RELATED[row]),
             f"torch.{name}({', '.join([first, *further])})", result),
        _doc(head, other, f"{kind} of the shape {shape}, as `torch.{name}`.", f"torch.{name}",
             f"{first}.{name}({rest})", result),
        _doc(f"Writes the result of `{name}` to the tensor.", inputs, "The tensor itself, of the same dtype.",
             f"torch.{name}", f"{first}.{name}_({rest})", written),
    )  # fmt: skip
