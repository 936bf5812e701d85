"""What differs on purpose: each with words of its row in `docs/differences.md`."""

from __future__ import annotations

from collections.abc import Callable

from .operands import Case

#: A word of the row, and whether a difference belongs there.
KNOWN: list[tuple[str, Callable[[Case, str], bool]]] = []


def known(row: str) -> Callable[[Callable[[Case, str], bool]], Callable[[Case, str], bool]]:
    def register(test: Callable[[Case, str], bool]) -> Callable[[Case, str], bool]:
        KNOWN.append((row, test))
        return test

    return register


def reason(case: Case, found: str) -> str | None:
    """The row of docs/differences.md that a difference belongs to."""
    return next((row for row, test in KNOWN if test(case, found)), None)


@known("`unique(sorted=False)`")
def _any_order(case: Case, found: str) -> bool:
    return case.path == "unique_values" and found.startswith("value")


@known("Complex arithmetic with infinities, NaN or overflow")
def _complex_infinities(case: Case, found: str) -> bool:
    """Whether operands are complex and something is not finite: which parts become NaN is no promise of NumPy's."""
    words = ("inf", "nan", "e+308", "e+38")
    complex_ = any(x.kind == "c" for x in case.operands()) or "complex" in found
    return (
        complex_
        and found.startswith(("value", "operand value", "sign"))
        and any(w in found or w in case.show() for w in words)
    )


@known("`fft.irfft`, `hfft` of an empty axis")
def _empty_transform(case: Case, found: str) -> bool:
    return case.path in ("fft.irfft", "fft.hfft") and case.args[0].size == 0


@known("Integer `reciprocal(0)` and division by zero")
def _by_zero(case: Case, found: str) -> bool:
    return case.path.startswith("reciprocal") and any(x.kind in "iub" and (x.host == 0).any() for x in case.operands())


@known("also strings, objects, dates, records, longdouble")
def _objects(case: Case, found: str) -> bool:
    """NumPy computes with Python integers beyond 64 bits as objects, and alone from 2**63 on as uint64."""
    return found.startswith(("refuses: OverflowError", "error", "accepts: NumPy raises OverflowError")) and any(
        type(x) is int and not -(2**63) <= x < 2**63 for x in [*case.args, *case.kwargs.values()]
    )


@known("NumPy's own integers wrap")
def _numpy_numbers(case: Case, found: str) -> bool:
    """Numbers of NumPy's that the dtype of a reduction does not hold."""
    return "initial" in case.kwargs and hasattr(case.kwargs["initial"], "dtype")


@known("Calls with two faults")
def _two_faults(case: Case, found: str) -> bool:
    return found.startswith("error") and (
        "broadcast" in found or ("out of bounds for" in found and "Cannot cast" in found)
    )


@known("Of 0.0 and -0.0")
def _zeros(case: Case, found: str) -> bool:
    names = ("maximum", "minimum", "fmax", "fmin", "max", "min", "sort", "clip", "unique", "median", "1d")
    return "sign of zero" in found and any(name in case.path for name in names)
