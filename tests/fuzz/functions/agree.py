"""Compares two outcomes of a call."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import cuprous as cp

from .operands import Case

#: Bounds on the error by the class of a function, in epsilons of the result's dtype: relative to each element, and to
#: the greatest magnitude among operands and result.
BOUNDS = {"exact": (0, 0), "ulp": (24, 0), "phase": (24, 1), "sum": (64, 512), "solve": (1e5, 1e6), "shape": (0, 0)}
_BASES: tuple[type[Exception], ...] = (
    IndexError, ZeroDivisionError, OverflowError, NotImplementedError, KeyError, TypeError, ValueError, AttributeError,
    RuntimeError,
)  # fmt: skip


class Raised:
    """An exception as an outcome."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        # LinAlgError is a ValueError, AxisError a ValueError and an IndexError.
        self.bases: set[type[Exception]] = {base for base in _BASES if isinstance(error, base)} or {type(error)}

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error)[:120]}"


def outcome(case: Case, xp: Any) -> tuple[Any, list[Any]]:
    """Returns the result or the exception, and the operands' values afterwards, all on the host."""
    env: dict[Any, Any] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = to_host(case.run(xp, env))
        except Exception as error:  # every error is an outcome
            result = Raised(error)
        after = [to_host(env[id(x)][0]) if id(x) in env else None for x in case.operands() if x.of is None]
    return result, after


def to_host(x: Any) -> Any:
    if isinstance(x, cp.ndarray):
        return cp.asnumpy(x)
    if isinstance(x, (tuple, list)):
        return [to_host(i) for i in x]
    return x


def difference(case: Case, ours: Any, theirs: Any) -> str | None:
    """Returns the difference as a category and a few words, or None."""
    (ours, our_operands), (theirs, their_operands) = ours, theirs
    if isinstance(theirs, Raised) or isinstance(ours, Raised):
        if not isinstance(ours, Raised):
            return f"accepts: NumPy raises {theirs}"
        if not isinstance(theirs, Raised):
            return f"refuses: {ours}"
        if ours.bases & theirs.bases:
            return None
        return f"error: {ours} where NumPy raises {theirs}"
    found = _differs(case, ours, theirs)
    if found is not None:
        return found
    for mine, its in zip(our_operands, their_operands, strict=True):
        if mine is not None and its is not None and (found := _differs(case, mine, its)) is not None:
            return f"operand {found}"
    return None


def _differs(case: Case, ours: Any, theirs: Any) -> str | None:
    if isinstance(theirs, (list, tuple)):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(theirs):
            return f"type: {type(ours).__name__} where NumPy gives {type(theirs).__name__} of {len(theirs)}"
        for a, b in zip(ours, theirs, strict=True):
            if (found := _differs(case, a, b)) is not None:
                return found
        return None
    if theirs is None or isinstance(theirs, (str, bytes, np.dtype, type)):
        return None if ours == theirs or (theirs is None and ours is None) else f"value: {ours!r} not {theirs!r}"
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype != b.dtype:
        return f"dtype: {a.dtype} not {b.dtype}"
    if a.shape != b.shape:
        return f"shape: {a.shape} not {b.shape}"
    if case.kind == "shape" or b.size == 0:
        return None
    return _values(case, a, b)


def _values(case: Case, a: Any, b: Any) -> str | None:
    if b.dtype.kind not in "fc":
        if np.array_equal(a, b):
            return None
        return f"value: {_some(a, b, a != b)}"
    complex_ = b.dtype.kind == "c"
    wide: Any = np.complex128 if complex_ else np.float64
    relative, absolute = BOUNDS[case.kind]
    dtypes = [b.dtype]
    if "out" in case.kwargs:  # may be wider than the dtype that the operands are computed in
        dtypes += [np.sin(np.empty(0, x.host.dtype)).dtype for x in case.operands() if x.kind in "biufc"]
    eps = float(max(np.finfo(dtype).eps for dtype in dtypes))
    with np.errstate(all="ignore"):
        x, y = a.astype(wide), b.astype(wide)
        scale = _scale(case, y)
        if relative == 0:
            bound: Any = 0.0
        else:
            bound = (
                relative * eps * np.abs(y) + absolute * eps * scale + 8 * float(np.finfo(b.dtype).smallest_subnormal)
            )
        parts = [(x.real, y.real), (x.imag, y.imag)] if complex_ else [(x, y)]
        for p, q in parts:
            same = (p == q) | (np.isnan(p) & np.isnan(q))
            near = np.isfinite(p) & np.isfinite(q) & (np.abs(p - q) <= bound)
            wrong = ~(same | near)
            if wrong.any():
                return f"value: {_some(a, b, wrong)}"
        if case.kind == "exact" or (case.kind == "ulp" and not complex_):
            for p, q in parts:
                signs = (p == 0) & (q == 0) & (np.signbit(p) != np.signbit(q))
                if signs.any():
                    return f"sign of zero: {_some(a, b, signs)}"
    return None


def _scale(case: Case, result: Any) -> float:
    found = [result[np.isfinite(result)]]
    for x in case.operands():
        if x.kind in "fciu" and x.size:
            values = x.host.astype(np.complex128 if x.kind == "c" else np.float64)
            found.append(values[np.isfinite(values)])
    greatest = max((float(np.abs(v).max()) for v in found if v.size), default=0.0)
    return greatest * greatest if case.kind == "sum" else greatest


def _some(a: Any, b: Any, wrong: Any) -> str:
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    where = at if b.ndim else ()
    return f"{a[where]!r} not {b[where]!r} at {where}"
