"""Intended differences, each with words of its row in `docs/differences.md`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import cuprous as cp

from .operands import Case

#: A word of the row, and a predicate for differences that belong to it.
KNOWN: list[tuple[str, Callable[[Case, str], bool]]] = []


def known(row: str) -> Callable[[Callable[[Case, str], bool]], Callable[[Case, str], bool]]:
    def register(test: Callable[[Case, str], bool]) -> Callable[[Case, str], bool]:
        KNOWN.append((row, test))
        return test

    return register


def reason(case: Case, found: str) -> str | None:
    """Returns the row of docs/differences.md that a difference belongs to."""
    return next((row for row, test in KNOWN if test(case, found)), None)


@known("Integer-array index out of range")
def _index_on_gpu(case: Case, found: str) -> bool:
    on_gpu = not str(cp.get_device()).startswith("cpu")
    return on_gpu and found.startswith("accepts: NumPy raises IndexError")


@known("`isnan`, `isinf`, `isfinite` with `out=` of every second element")
def _missed_elements(case: Case, found: str) -> bool:
    return case.path in ("isnan", "isinf", "isfinite") and "out" in case.kwargs and found.startswith("value")


@known("`max`, `min` with an integer `out=`")
def _extremes_into_integers(case: Case, found: str) -> bool:
    is_extreme = case.path.split(".")[-1] in ("max", "min", "amax", "amin")
    return is_extreme and "out" in case.kwargs and found.startswith(("value: np.int", "value: np.uint"))


@known("`unique(sorted=False)`")
def _any_order(case: Case, found: str) -> bool:
    return case.path == "unique_values" and found.startswith("value")


@known("Complex arithmetic with infinities, NaN or overflow")
def _complex_infinities(case: Case, found: str) -> bool:
    """Returns true for complex operands with non-finite values: NumPy does not specify which parts become NaN."""
    complex_ = any(x.kind == "c" for x in case.operands()) or "complex" in found
    return (
        complex_
        and found.startswith(("value", "operand value", "sign"))
        and (any(word in found for word in ("inf", "nan", "e+308", "e+38")) or not _tame(case))
    )


def _tame(case: Case) -> bool:
    """Returns true if no operand is infinite or NaN, and no product of two overflows or underflows."""
    numbers = [x for x in (*case.args, *case.kwargs.values()) if isinstance(x, (float, complex, np.inexact))]
    for a in (*(x.host for x in case.operands() if x.kind in "fc"), *map(np.asarray, numbers)):
        size = np.abs(a[a != 0])
        info = np.finfo(a.dtype)
        if not ((size > np.sqrt(info.tiny)) & (size < np.sqrt(info.max))).all():
            return False
    return True


@known("`log1p` of complex numbers near zero")
def _complex_log1p(case: Case, found: str) -> bool:
    return case.path == "log1p" and found.startswith("value: np.complex")


@known("`fft.irfft`, `hfft` of an empty axis")
def _empty_transform(case: Case, found: str) -> bool:
    return case.path in ("fft.irfft", "fft.hfft") and case.args[0].size == 0


@known("Integer `reciprocal(0)` and division by zero")
def _by_zero(case: Case, found: str) -> bool:
    zeros = any(x.kind in "iub" and (x.host == 0).any() for x in case.operands())
    return case.path.startswith("reciprocal") and (zeros or any(type(x) is int and x == 0 for x in case.args))


@known("accumulate in float32 and are rounded once")
def _half_products(case: Case, found: str) -> bool:
    """Partial products beyond float16's range are infinite in NumPy, and NaN once they are multiplied by zero."""
    is_product = case.path.startswith("multiply.") or "prod" in case.path
    return is_product and "np.float16(" in found and ("inf" in found or "nan" in found)


@known("also strings, objects, dates, records, longdouble")
def _objects(case: Case, found: str) -> bool:
    """NumPy computes with Python integers beyond 64 bits as objects, and alone from 2**63 on as uint64."""
    return found.startswith(("refuses: OverflowError", "error", "accepts: NumPy raises OverflowError")) and any(
        type(x) is int and not -(2**63) <= x < 2**63 for x in [*case.args, *case.kwargs.values()]
    )


@known("NumPy's own integers wrap")
def _numpy_numbers(case: Case, found: str) -> bool:
    """NumPy scalars that do not fit the dtype of a reduction."""
    initial = case.kwargs.get("initial")
    dtypes = [case.kwargs["dtype"]] if "dtype" in case.kwargs else [x.dtype for x in case.operands()[:1]]
    return isinstance(initial, np.generic) and not all(np.can_cast(initial.dtype, dtype) for dtype in dtypes)


@known("Calls with two faults")
def _two_faults(case: Case, found: str) -> bool:
    return found.startswith("error") and (
        "broadcast" in found or ("out of bounds for" in found and "Cannot cast" in found)
    )


@known("Of 0.0 and -0.0")
def _zeros(case: Case, found: str) -> bool:
    names = ("maximum", "minimum", "fmax", "fmin", "max", "min", "sort", "clip", "unique", "median", "1d")
    return "sign of zero" in found and any(name in case.path for name in names)
