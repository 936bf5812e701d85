"""Docstrings and signatures of ufuncs, composed when they are read.

The summary is the row's of the operation table, the dtypes are what the table accepts, and the example is a row of
`EXAMPLES`.
"""

from __future__ import annotations

import itertools
from inspect import Parameter, Signature
from typing import Any

from cuprous import _core
from cuprous._common.naming import entry, join_sections

#: The kinds of dtypes in docstrings: a dtype of each, and its name.
_KINDS = {"bool": "bool", "int64": "integers", "float64": "floats", "complex128": "complex numbers"}
#: The rows of the operation table that give the first result of ufuncs with two results.
_FIRST_RESULTS = {"divmod": "floor_divide", "frexp": "frexp_mantissa", "modf": "modf_fraction"}
#: The keywords of all ufuncs, their defaults, types and what they are.
_KEYWORDS: dict[str, tuple[Any, str, str]] = {
    "where": (True, "array_like of bools",
              "A mask that broadcasts to the result; other elements of `out` are left as they are."),
    "casting": ("same_kind", "str", 'The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".'),
    "order": ("K", "str", 'The memory order of the result: "C", "F", "A" or "K" (that of the operands).'),
    "dtype": (None, "dtype", "The dtype to compute in; by default the one that the operands promote to."),
    "subok": (True, "bool", "Has no effect, because arrays have no subclasses."),
}  # fmt: skip

#: The description of the parameter `out`.
OUT = entry("out", "ndarray", "An array of the result's shape to write to, whose dtype the result must cast to.", None)

#: An example of each ufunc: arguments, and the representation of what it returns.
EXAMPLES = {
    "add": ("[1, 2], [10, 20]", "array([11, 22])"),
    "subtract": ("[10, 20], [1, 2]", "array([ 9, 18])"),
    "multiply": ("[1, 2], [3, 4]", "array([3, 8])"),
    "divide": ("[1, 3], 2", "array([0.5, 1.5])"),
    "floor_divide": ("[7, -7], 2", "array([ 3, -4])"),
    "remainder": ("[7, -7], 3", "array([1, 2])"),
    "fmod": ("[7, -7], 3", "array([ 1, -1])"),
    "power": ("[2, 3], [3, 2]", "array([8, 9])"),
    "float_power": ("[2, 4], 0.5", "array([1.41421356, 2.        ])"),
    "maximum": ("[1, 5], [3, 2]", "array([3, 5])"),
    "minimum": ("[1, 5], [3, 2]", "array([1, 2])"),
    "fmax": ("[1, np.nan], [0, 2]", "array([1., 2.])"),
    "fmin": ("[1, np.nan], [0, 2]", "array([0., 2.])"),
    "negative": ("[1, -2]", "array([-1,  2])"),
    "positive": ("[1, -2]", "array([ 1, -2])"),
    "absolute": ("[-3, 4]", "array([3, 4])"),
    "fabs": ("[-3, 4]", "array([3., 4.])"),
    "sign": ("[-3.5, 0.0, 2.0]", "array([-1.,  0.,  1.])"),
    "square": ("[2, -3]", "array([4, 9])"),
    "reciprocal": ("[2.0, 4.0]", "array([0.5 , 0.25])"),
    "sqrt": ("[4, 9]", "array([2., 3.])"),
    "rsqrt": ("[4.0, 16.0]", "array([0.5 , 0.25])"),
    "cbrt": ("[8, 27]", "array([2., 3.])"),
    "hypot": ("[3, 5], [4, 12]", "array([ 5., 13.])"),
    "copysign": ("[1.0, 2.0], [-1.0, 1.0]", "array([-1.,  2.])"),
    "nextafter": ("[0.0], [1.0]", "array([5.e-324])"),
    "spacing": ("[1.0, 1024.0]", "array([2.22044605e-16, 2.27373675e-13])"),
    "heaviside": ("[-1.5, 0.0, 2.0], 0.5", "array([0. , 0.5, 1. ])"),
    "ldexp": ("[1.0, 3.0], [3, 2]", "array([ 8., 12.])"),
    "gcd": ("[12, 18], 8", "array([4, 2])"),
    "lcm": ("[4, 6], 10", "array([20, 30])"),
    "rint": ("[0.5, 1.5, 2.7]", "array([0., 2., 3.])"),
    "floor": ("[1.7, -1.7]", "array([ 1., -2.])"),
    "ceil": ("[1.2, -1.2]", "array([ 2., -1.])"),
    "trunc": ("[1.7, -1.7]", "array([ 1., -1.])"),
    "exp": ("[0, 1]", "array([1.        , 2.71828183])"),
    "exp2": ("[0, 3]", "array([1., 8.])"),
    "expm1": ("[0.0, 1e-10]", "array([0.e+00, 1.e-10])"),
    "log": ("[1.0, 10.0]", "array([0.        , 2.30258509])"),
    "log2": ("[1, 8]", "array([0., 3.])"),
    "log10": ("[1, 1000]", "array([0., 3.])"),
    "log1p": ("[0.0, 1e-10]", "array([0.e+00, 1.e-10])"),
    "logaddexp": ("[1000.0], [1000.0]", "array([1000.69314718])"),
    "logaddexp2": ("[0.0, 3.0], [0.0, 3.0]", "array([1., 4.])"),
    "sin": ("[0.0, np.pi / 2]", "array([0., 1.])"),
    "cos": ("[0.0, np.pi]", "array([ 1., -1.])"),
    "tan": ("[0.0, np.pi / 4]", "array([0., 1.])"),
    "arcsin": ("[0, 1]", "array([0.        , 1.57079633])"),
    "arccos": ("[1, 0]", "array([0.        , 1.57079633])"),
    "arctan": ("[0, 1]", "array([0.        , 0.78539816])"),
    "arctan2": ("[1, -1], [1, -1]", "array([ 0.78539816, -2.35619449])"),
    "sinh": ("[0, 1]", "array([0.        , 1.17520119])"),
    "cosh": ("[0, 1]", "array([1.        , 1.54308063])"),
    "tanh": ("[0, 1]", "array([0.        , 0.76159416])"),
    "arcsinh": ("[0, 1]", "array([0.        , 0.88137359])"),
    "arccosh": ("[1, 2]", "array([0.       , 1.3169579])"),
    "arctanh": ("[0.0, 0.5]", "array([0.        , 0.54930614])"),
    "degrees": ("[0, np.pi]", "array([  0., 180.])"),
    "radians": ("[0, 180]", "array([0.        , 3.14159265])"),
    "equal": ("[1, 2], [1, 3]", "array([ True, False])"),
    "not_equal": ("[1, 2], [1, 3]", "array([False,  True])"),
    "less": ("[1, 2, 3], 2", "array([ True, False, False])"),
    "less_equal": ("[1, 2, 3], 2", "array([ True,  True, False])"),
    "greater": ("[1, 2, 3], 2", "array([False, False,  True])"),
    "greater_equal": ("[1, 2, 3], 2", "array([False,  True,  True])"),
    "logical_and": ("[True, True, False], [True, False, False]", "array([ True, False, False])"),
    "logical_or": ("[True, True, False], [True, False, False]", "array([ True,  True, False])"),
    "logical_xor": ("[True, True, False], [True, False, False]", "array([False,  True, False])"),
    "logical_not": ("[True, False]", "array([False,  True])"),
    "isnan": ("[1.0, np.nan]", "array([False,  True])"),
    "isinf": ("[1.0, -np.inf]", "array([False,  True])"),
    "isfinite": ("[1.0, np.nan, np.inf]", "array([ True, False, False])"),
    "signbit": ("[1.5, -1.5, -0.0]", "array([False,  True,  True])"),
    "bitwise_and": ("[12, 10], 6", "array([4, 2])"),
    "bitwise_or": ("[12, 10], 6", "array([14, 14])"),
    "bitwise_xor": ("[12, 10], 6", "array([10, 12])"),
    "invert": ("[0, 5]", "array([-1, -6])"),
    "left_shift": ("[1, 3], 2", "array([ 4, 12])"),
    "right_shift": ("[8, 12], 2", "array([2, 3])"),
    "bitwise_count": ("[1, 7, 8]", "array([1, 3, 1], dtype=uint8)"),
    "conjugate": ("[1 + 2j, 3]", "array([1.-2.j, 3.-0.j])"),
    "divmod": ("[7, -7], 2", "(array([ 3, -4]), array([1, 1]))"),
    "frexp": ("[4.0, 10.0]", "(array([0.5  , 0.625]), array([3, 4], dtype=int32))"),
    "modf": ("[1.5, -2.25]", "(array([ 0.5 , -0.25]), array([ 1., -2.]))"),
}  # fmt: skip

#: Functions that whoever reads about a ufunc may look for.
RELATED = {
    "absolute": "fabs, sign",
    "add": "subtract, sum",
    "arccos": "cos, arctan, arcsin",
    "arccosh": "cosh, arcsinh, sinh, arctanh, tanh",
    "arcsin": "sin, cos, arccos, tan, arctan, arctan2",
    "arcsinh": "sinh, arccosh, arctanh",
    "arctan": "arctan2, angle",
    "arctan2": "arctan, tan, angle",
    "arctanh": "tanh, arcsinh, arccosh",
    "bitwise_and": "logical_and, bitwise_or, bitwise_xor, binary_repr",
    "bitwise_count": "bitwise_and, packbits",
    "bitwise_or": "logical_or, bitwise_and, bitwise_xor, binary_repr",
    "bitwise_xor": "logical_xor, bitwise_and, bitwise_or, binary_repr",
    "cbrt": "sqrt, power",
    "ceil": "floor, trunc, rint, fix",
    "conjugate": "real, imag",
    "copysign": "sign, signbit",
    "cos": "sin, tan, arccos",
    "cosh": "sinh, tanh, arccosh",
    "degrees": "radians",
    "divide": "floor_divide, multiply, reciprocal",
    "divmod": "floor_divide, remainder, modf",
    "equal": "not_equal, greater_equal, less_equal, greater, less",
    "exp": "expm1, exp2",
    "exp2": "power",
    "expm1": "log1p",
    "fabs": "absolute",
    "float_power": "power",
    "floor": "ceil, trunc, rint, fix",
    "floor_divide": "remainder, divmod, divide, floor, ceil",
    "fmax": "fmin, maximum, amax, nanmax, minimum, amin",
    "fmin": "fmax, minimum, amin, nanmin, maximum, amax",
    "fmod": "remainder, divide",
    "frexp": "ldexp",
    "gcd": "lcm",
    "greater": "greater_equal, less, less_equal, equal, not_equal",
    "greater_equal": "greater, less, less_equal, equal, not_equal",
    "heaviside": "sign, where",
    "hypot": "sqrt, linalg.norm",
    "invert": "bitwise_and, bitwise_or, bitwise_xor, logical_not, binary_repr",
    "isfinite": "isinf, isneginf, isposinf, isnan",
    "isinf": "isneginf, isposinf, isnan, isfinite",
    "isnan": "isinf, isneginf, isposinf, isfinite",
    "lcm": "gcd",
    "ldexp": "frexp",
    "left_shift": "right_shift, binary_repr",
    "less": "greater, less_equal, greater_equal, equal, not_equal",
    "less_equal": "greater, less, greater_equal, equal, not_equal",
    "log": "log10, log2, log1p",
    "log10": "log, log2, log1p",
    "log1p": "expm1",
    "log2": "log, log10, log1p",
    "logaddexp": "logaddexp2",
    "logaddexp2": "logaddexp",
    "logical_and": "logical_or, logical_not, logical_xor, bitwise_and",
    "logical_not": "logical_and, logical_or, logical_xor",
    "logical_or": "logical_and, logical_not, logical_xor, bitwise_or",
    "logical_xor": "logical_and, logical_or, logical_not, bitwise_xor",
    "maximum": "minimum, fmax, amax, nanmax, fmin, amin",
    "minimum": "maximum, fmin, amin, nanmin, fmax, amax",
    "modf": "divmod",
    "multiply": "divide, matmul",
    "negative": "positive, absolute",
    "nextafter": "spacing",
    "not_equal": "equal, greater, greater_equal, less, less_equal",
    "positive": "negative",
    "power": "float_power",
    "radians": "degrees, unwrap",
    "reciprocal": "divide, rsqrt",
    "remainder": "floor_divide, divmod, fmod, divide, floor",
    "right_shift": "left_shift, binary_repr",
    "rint": "fix, ceil, floor, trunc",
    "rsqrt": "sqrt, reciprocal",
    "sign": "signbit, copysign",
    "signbit": "sign, copysign",
    "sin": "arcsin, sinh, cos",
    "sinh": "cosh, tanh, arcsinh",
    "spacing": "nextafter, finfo",
    "sqrt": "cbrt, square, rsqrt",
    "square": "linalg.matrix_power, sqrt, power",
    "subtract": "add, diff",
    "tan": "sin, cos, arctan",
    "tanh": "sinh, cosh, arctanh",
    "trunc": "ceil, floor, rint, fix",
}  # fmt: skip


def signature(ufunc: Any) -> Signature:
    """Returns the signature of a ufunc's calls."""
    operands = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in _operands(ufunc)]
    out = Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None if ufunc.nout == 1 else (None,) * ufunc.nout)
    keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, (value, *_) in _KEYWORDS.items()]
    return Signature([*operands, out, *keywords])


def docstring(ufunc: Any) -> str:
    """Returns the docstring of a ufunc."""
    name = ufunc.__name__
    accepted = _accepted(_FIRST_RESULTS.get(name, name), ufunc.nin)
    kinds = [[kind for kind in _KINDS if any(kinds[i] == kind for kinds in accepted)] for i in range(ufunc.nin)]
    results = set(accepted.values())
    converted = accepted.get(("int64",) * ufunc.nin) == "float64" and any("float64" in found for found in kinds)
    several = ufunc.nin > 1
    arguments = [
        entry(x, "array_like", f"A scalar, array or array-like of {_listed([_KINDS[kind] for kind in found])}.")
        for x, found in zip(_operands(ufunc), kinds, strict=True)
    ]
    several_out = f"A tuple of {ufunc.nout} arrays or None to write to."
    arguments.append(OUT if ufunc.nout == 1 else entry("out", "tuple of ndarrays", several_out, None))
    arguments += [entry(name, kind, text, default) for name, (default, kind, text) in _KEYWORDS.items()]
    single = "A bool array" if results == {"bool"} else "An array"
    array = single if ufunc.nout == 1 else f"A tuple of {ufunc.nout} arrays"
    shape = "of the shape that the operands broadcast to" if several else "of the shape of `x`"
    raises = {"TypeError": "For other dtypes, and for a cast that `casting` forbids."}
    if several:
        raises["ValueError"] = "For shapes that do not broadcast."
    values, result = EXAMPLES[name]
    kind = "ndarray" if ufunc.nout == 1 else "tuple of ndarrays"
    returns = f"{kind}\n    {array} {shape}.{' Integers are computed in floating point.' if converted else ''}"
    example = (f"cp.{name}({values})", result)
    return compose(f"{name}{signature(ufunc)}", ufunc._doc, arguments, returns, raises, example, RELATED.get(name, ""))


def compose(
    call: str,
    summary: str,
    arguments: list[str],
    returns: str,
    raises: dict[str, str],
    example: tuple[str, str],
    related: str,
) -> str:
    """Returns a docstring with all sections, which begins with the signature.

    Parameters
    ----------
    call : str
        The signature.
    summary : str
        The first sentence.
    arguments : list of str
        The description of each parameter.
    returns : str
        The type of what is returned, and its description.
    raises : dict of str to str
        The classes of errors, and when they are raised.
    example : pair of str
        A call and the representation of its result.
    related : str
        Names of related functions, or an empty text.
    """
    return join_sections(f"{call}\n\n{summary}", {
        "Parameters": "\n".join(arguments),
        "Returns": returns,
        "Raises": "\n".join(f"{name}\n    {text}" for name, text in raises.items()),
        "See Also": related,
        "Examples": f">>> {example[0]}\n{example[1]}\n",
    })  # fmt: skip


def _listed(words: list[str]) -> str:
    """Returns words as in "a, b or c"."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _operands(ufunc: Any) -> list[str]:
    return ["x"] if ufunc.nin == 1 else [f"x{i + 1}" for i in range(ufunc.nin)]


def _accepted(row: str, count: int) -> dict[tuple[str, ...], str]:
    """Returns the dtype of the result for each combination of operands' dtypes that a row of the table accepts."""
    found = {}
    for kinds in itertools.product(_KINDS, repeat=count):
        try:
            found[kinds] = _core.result_dtype(row, *(_core.empty((1,), kind) for kind in kinds))
        except TypeError:
            continue
    return found
