"""Tests outputs that overlap operands: the result is as if every operand had been copied first.

Every function with an `out` has a row; NumPy, given copies, is the oracle.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE
from tests.inputs.rows import function, public
from tests.support import sample

Array = np.ndarray[Any, Any]
#: Calls with an operand and `out`, which may be None.
Write = Callable[[Any, Any, Any], Any]

#: Functions that accept integers, or whose outputs are integers.
OF_INTEGERS = {
    "argmax", "argmin", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "choose", "gcd", "invert", "lcm", "left_shift", "nanargmax", "nanargmin",
    "right_shift",
}  # fmt: skip
#: Functions in Python with an `out`, with their arguments after the array.
GIVEN: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sum", "prod", "max", "min", "amax", "amin", "mean", "std", "var", "ptp", "all", "any", "argmax",
    "argmin",
                     "median", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar", "nanmedian",
                     "nanargmax", "nanargmin", "cumsum", "cumprod", "nancumsum", "nancumprod"), (0,)),
    **dict.fromkeys(("quantile", "nanquantile"), (0.3, 1)),
    **dict.fromkeys(("percentile", "nanpercentile"), ([10, 70], 0)),
    **dict.fromkeys(("around", "round", "fix", "isneginf", "isposinf", "trace"), ()),
    "clip": (0, 2), "take": ([2, 0], 0),
}  # fmt: skip
LENGTHS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("fft.irfft", "fft.hfft"), (4,)), **dict.fromkeys(("fft.irfft2", "fft.irfftn"), ((4, 4), (0, 1))),
}  # fmt: skip
ROWS: dict[str, Write] = {
    **{name: lambda xp, x, o, name=name: getattr(xp, name)(x, *GIVEN[name], out=o) for name in GIVEN},
    **{name: lambda xp, x, o, name=name: getattr(xp, name)(x, axis=1, out=o) for name in ("cumulative_sum",
    "cumulative_prod")},
    **{name: lambda xp, x, o, name=name: function(xp, name)(x, *LENGTHS.get(name, ()), out=o)
       for name in public() if name.startswith("fft.") and "out" in inspect.signature(function(cp, name)).parameters},
    **{name: lambda xp, x, o, name=name: getattr(xp, name)((x[:2], x[1:3]), axis=0, out=o) for name in ("concat",
    "concatenate")},
    "choose": lambda xp, x, o: xp.choose(x, (x, -x, x[::-1]), o, "wrap"),
    "compress": lambda xp, x, o: xp.compress([True, False, True], x, 0, o),
    "dot": lambda xp, x, o: xp.dot(x, x, out=o), "matmul": lambda xp, x, o: xp.matmul(x, x[::-1], out=o),
    "einsum": lambda xp, x, o: xp.einsum("ij,kj->ki", x, x, out=o),
    "matvec": lambda xp, x, o: xp.matvec(x, x[0], out=o), "vecmat": lambda xp, x, o: xp.vecmat(x[0], x, out=o),
    "outer": lambda xp, x, o: xp.outer(x[0], x[:, 1], out=o), "vecdot": lambda xp, x, o: xp.vecdot(x, x[::-1], out=o),
    "stack": lambda xp, x, o: xp.stack((x[1], x[0]), out=o),
    "divmod": lambda xp, x, o: xp.divmod(x, x[::-1], out=(None, o))[1],
    "frexp": lambda xp, x, o: xp.frexp(x, out=(o, None))[0], "modf": lambda xp, x, o: xp.modf(x, out=(o, None))[0],
    "linalg.multi_dot": lambda xp, x, o: xp.linalg.multi_dot([x, x, x], out=o),
}  # fmt: skip


def _with_ufuncs() -> dict[str, Write]:
    rows = dict(ROWS)
    for name in public():
        value = function(cp, name)
        if isinstance(value, cp.ufunc) and hasattr(np, name):
            if value.nin == 1:
                rows[name] = lambda xp, x, o, name=name: getattr(xp, name)(x, out=o)
            elif name == "ldexp":
                rows[name] = lambda xp, x, o: xp.ldexp(x, 2, out=o)
            else:
                rows[name] = lambda xp, x, o, name=name: getattr(xp, name)(x, x[::-1], out=o)
    return rows


ROWS = _with_ufuncs()


def test_every_function_with_an_out_has_a_row() -> None:
    missing = []
    for name in public():
        value = function(cp, name)
        if not isinstance(value, cp.ufunc) and "out" in inspect.signature(value).parameters:
            missing += [name] if name not in ROWS and name != "asnumpy" else []
    assert missing == []


def _operands(b: Any) -> Iterator[Any]:
    """Yields views of a (4, 4) buffer for use as operands."""
    yield b
    yield b[::-1]
    yield b.T
    if b.dtype.kind == "c":
        yield b.real


def _targets(b: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yields views of the same buffer with the shape of a result."""
    places: list[Any] = [
        (), np.s_[::-1], np.s_[:, ::-1], np.s_[:2], np.s_[1:3], np.s_[::2], np.s_[:, :3], np.s_[:, 3:0:-1], 0,
        np.s_[:, 1],
        np.s_[::-1, 2],
    ]  # fmt: skip
    for part in (b, b.T, b.real) if b.dtype.kind == "c" else (b, b.T):
        for place in places:
            if part[place].shape == shape:
                yield part[place]
    if shape == ():
        yield b[2, 3:].reshape(())


@pytest.mark.parametrize("name", ROWS)
def test_out_may_overlap(name: str) -> None:
    dtype = "int64" if name in OF_INTEGERS else "complex128" if name.startswith("fft.") else "float64"
    start = sample(dtype, (4, 4), 7, 1, 4)
    tried = 0
    # On a GPU each view compiles its own kernel, except in library routines.
    few = 2 if DEVICE != "cpu" and not name.startswith("fft.") else None
    for i, x in enumerate(list(_operands(start))[:few]):
        with np.errstate(all="ignore"):
            try:
                value = np.asarray(ROWS[name](np, x.copy(), None))
            except TypeError:  # complex instead of real numbers, or the reverse
                continue
        for j, probe in enumerate(list(_targets(start, value.shape))[:few]):
            if not np.can_cast(value.dtype, probe.dtype, "same_kind"):
                continue
            if name == "dot" and not probe.flags.c_contiguous:  # raises, as in NumPy
                continue
            host, device = start.copy(), cp.asarray(start)
            np.copyto(list(_targets(host, value.shape))[j], value, casting="same_kind")
            out = list(_targets(device, value.shape))[j]
            assert ROWS[name](cp, list(_operands(device))[i], out) is out
            np.testing.assert_allclose(device.get(), host, rtol=1e-10, atol=1e-10, err_msg=f"operand {i}, target {j}")
            tried += 1
    assert tried >= 2


#: Functions with two results.
TWO_RESULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "divmod": lambda xp, b, o: xp.divmod(b[0], b[1], out=o),
    "modf": lambda xp, b, o: xp.modf(b[0] / 2, out=o),
    "frexp": lambda xp, b, o: xp.frexp(b[0], out=o),
}


@pytest.mark.parametrize("name", TWO_RESULTS)
@pytest.mark.parametrize("rows", [(0, 1), (1, 0)])
def test_two_results_may_overlap_both_operands(name: str, rows: tuple[int, int]) -> None:
    start = sample("float64", (2, 5), 3, 1, 9)
    first, second = TWO_RESULTS[name](np, start, (None, None))
    device = cp.asarray(start)
    whole = cp.zeros(5, "int32") if name == "frexp" else device[rows[1]]
    TWO_RESULTS[name](cp, device, (device[rows[0]], whole))
    np.testing.assert_array_equal(device[rows[0]].get(), first)
    np.testing.assert_array_equal(whole.get(), second)


IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
    operator.ipow,
            operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]  # fmt: skip
PAIRS: dict[str, tuple[Any, Any]] = {
    "ahead": (np.s_[2:], np.s_[:-2]), "behind": (np.s_[:-2], np.s_[2:]), "backwards": (np.s_[:], np.s_[::-1]),
    "every other": (np.s_[:6], np.s_[::2]), "one for all": (np.s_[:], np.s_[3:4]),
}  # fmt: skip


@pytest.mark.parametrize("write", IN_PLACE, ids=lambda write: write.__name__)
def test_in_place_on_views_that_overlap(write: Callable[[Any, Any], Any]) -> None:
    integers = write.__name__ in ("iand", "ior", "ixor", "ilshift", "irshift")
    start = sample("int64" if integers else "float64", (12,), 2, 1, 5)
    for label, (target, source) in PAIRS.items():
        host, device = start.copy(), cp.asarray(start)
        write(host[target], host[source].copy())
        write(device[target], device[source])
        np.testing.assert_allclose(device.get(), host, rtol=1e-12, err_msg=label)


def test_matrix_product_in_place() -> None:
    start = sample("float64", (3, 3), 2)
    a = cp.asarray(start)
    a @= a.T
    np.testing.assert_allclose(a.get(), start @ start.T)
