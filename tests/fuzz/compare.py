"""Runs a program in each engine mode and compares the outcomes with NumPy's."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from .bounds import Bound
from .program import REPEATS, Outcome, Program, execute

#: How often a program runs with other extents.
SIZES = 2
EXACT = Bound(0, 0)


class Mismatch(Exception):
    """Cuprous and NumPy disagree. `gross` if rounding cannot explain it; `variant` is the number of the inputs."""

    def __init__(self, text: str, gross: bool, variant: int = 0) -> None:
        super().__init__(text)
        self.gross = gross
        self.variant = variant


def compare_arrays(name: str, expected: np.ndarray, actual: np.ndarray, bound: Bound) -> None:
    """Raises Mismatch if dtype, shape or a value differs."""
    expected = np.asarray(expected)
    if actual.dtype != expected.dtype:
        raise Mismatch(f"{name}: dtype {actual.dtype}, expected {expected.dtype}", True)
    if actual.shape != expected.shape:
        raise Mismatch(f"{name}: shape {actual.shape}, expected {expected.shape}", True)
    if actual.tobytes() == expected.tobytes():
        return
    same = actual == expected
    if expected.dtype.kind in "fc":
        same |= (actual != actual) & (expected != expected)
    if same.all():
        return
    difference = 0.0
    if expected.dtype.kind in "fc" and not bound.exact:
        with np.errstate(all="ignore"):
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            distance = np.abs(actual.astype(wide) - expected.astype(wide))
        # If only one side is finite the distance is inf or NaN, which no tolerance accepts.
        near = same | (distance <= 8 * bound.err)
        if near.all():
            return
        same, difference = near, float(np.max(np.where(near, 0, np.nan_to_num(distance, nan=np.inf))))
    where = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(same)))
    got, want = np.atleast_1d(actual)[where], np.atleast_1d(expected)[where]
    gross = bound.exact or not difference <= 1000 * bound.err
    raise Mismatch(
        f"{name}{list(where)} is {got!r}, expected {want!r} "
        f"({int((~same).sum())} of {expected.size} differ; allowed {0 if bound.exact else 8 * bound.err:.3g})",
        gross,
    )


def compare_outcomes(program: Program, expected: Outcome, actual: Outcome, cp: ModuleType) -> None:
    """Raises Mismatch if an error, a host read or a variable differs."""
    if (expected.error is None) != (actual.error is None) or expected.line != actual.line:
        raise Mismatch(
            f"at `{actual.line or expected.line}`: {actual.error!r}, expected {expected.error!r}", True
        ) from actual.error
    for label, value in expected.reads.items():
        compare_arrays(label, value, actual.reads[label], program.bounds.get(label, EXACT))
    for name, value in expected.variables.items():
        if isinstance(value, (np.ndarray, np.generic)):
            compare_arrays(name, value, cp.asnumpy(actual.variables[name]), program.bounds.get(name, EXACT))


def check(program: Program, cp: ModuleType, modes: tuple[str, ...] = ("single", "fused", "auto", "sizes")) -> None:
    """Runs the program with NumPy and in each mode; raises Mismatch with the mode's name.

    In mode `sizes` it runs with other extents, and then with its own again.
    """
    data = [program.data(variant) for variant in range(REPEATS)]
    expected = [execute(program.lines, inputs, np) for inputs in data]
    for mode in modes:
        variant = 0
        cp._core.set_replay("auto" if mode == "sizes" else mode)
        try:
            if mode == "sizes":
                for variant in (*range(REPEATS, REPEATS + SIZES), 0):
                    inputs = program.data(variant)
                    wanted = execute(program.lines, inputs, np)
                    # A line may name an extent or a position that these arrays do not have.
                    if wanted.error is None:
                        compare_outcomes(program, wanted, execute(program.lines, inputs, cp), cp)
            elif mode != "auto":
                compare_outcomes(program, expected[0], execute(program.lines, data[0], cp), cp)
            elif program.deferred:
                outcomes = [execute(program.lines, inputs, cp) for inputs in data]
                for variant, outcome in enumerate(outcomes):
                    compare_outcomes(program, expected[variant], outcome, cp)
            else:
                kept = []
                for variant, inputs in enumerate(data):
                    outcome = execute(program.lines, inputs, cp)
                    compare_outcomes(program, expected[variant], outcome, cp)
                    if program.keep:
                        kept.append(outcome)
                for variant, outcome in enumerate(kept):
                    compare_outcomes(program, expected[variant], outcome, cp)
        except Mismatch as error:
            raise Mismatch(f"[{mode}, run {variant + 1}] {error}", error.gross, variant) from error.__cause__
        finally:
            cp._core.set_replay("auto")
