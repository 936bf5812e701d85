"""Reduces a failing program to a few lines, and prints it as Python that can be run."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from .compare import Mismatch, check
from .program import Program, execute


def failure(program: Program, cp: ModuleType, modes: tuple[str, ...]) -> Mismatch | None:
    try:
        check(program, cp, modes)
    except Mismatch as error:
        return error
    return None


def with_lines(program: Program, lines: list[str]) -> Program:
    return Program(program.seed, program.inputs, program.special, lines, program.bounds, program.keep, program.deferred)


def shrink(program: Program, cp: ModuleType, modes: tuple[str, ...]) -> tuple[Program, Mismatch, tuple[str, ...]]:
    """Removes lines by delta debugging, as long as NumPy still runs the program and it still fails."""
    first = failure(program, cp, modes)
    if first is None:
        raise ValueError("the program does not fail")
    # One mode is enough if the program fails in it alone.
    for mode in modes:
        if failure(program, cp, (mode,)):
            modes = (mode,)
            break

    def fails(candidate: Program) -> bool:
        if execute(candidate.lines, candidate.data(0), np).error is not None:
            return False
        error = failure(candidate, cp, modes)
        # The bounds were computed for the whole program, so only a gross difference is a failure of a part of it.
        return error is not None and (error.gross or not first.gross)

    lines = minimize(program.lines, lambda kept: fails(with_lines(program, kept)))
    small = with_lines(program, lines)
    for plain in ("keep", "deferred"):
        was = getattr(small, plain)
        setattr(small, plain, False)
        if not fails(small):
            setattr(small, plain, was)
    return small, failure(small, cp, modes) or first, modes


def minimize(lines: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Returns the lines that remain when no chunk of any size can be removed."""
    chunk = max(len(lines) // 2, 1)
    while True:
        position, removed = 0, False
        while position < len(lines):
            candidate = lines[:position] + lines[position + chunk :]
            if fails(candidate):
                lines, removed = candidate, True
            else:
                position += chunk
        if chunk > 1:
            chunk //= 2
        elif not removed:
            return lines


def literal(array: np.ndarray) -> str:
    if array.size > 60:
        return f"np.resize(np.arange(-32, 33) / 8, {array.shape}).astype(np.{array.dtype})  # stands in for random data"
    dtype = "bool_" if array.dtype.kind == "b" else array.dtype.name
    text = np.array2string(array, separator=", ", threshold=100, floatmode="unique").replace("\n", "")
    text = text.replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({text}, np.{dtype}).reshape({array.shape})"


def as_python(program: Program, error: Mismatch, modes: tuple[str, ...]) -> str:
    """Returns a script that shows the difference."""
    used = "\n".join(program.lines)
    inputs = {name: value for name, value in program.data(error.variant).items() if name in used}
    arrays = [name for name, value in inputs.items() if isinstance(value, np.ndarray)]
    scalars = [name for name in inputs if name not in arrays]
    body = "\n".join(f"    {line}" for line in program.lines) or "    pass"
    first = "\n".join(f"{name} = {literal(inputs[name])}" for name in arrays)
    return f"""# seed {program.seed}: {error}
import numpy as np
import cuprous as cp
{"from tests.fuzz.kernels import add_into as launch" if "launch(" in used else ""}

def program(xp, {", ".join(arrays + scalars)}):
    host = lambda label, array: print(label, array if xp is np else xp.asnumpy(array))
{body}
    return {{n: v for n, v in locals().items() if v is not xp and hasattr(v, "dtype")}}

{first}
arrays = [{", ".join(arrays)}]
expected = program(np, *(a.copy() for a in arrays), *{[inputs[n] for n in scalars]})
cp._core.set_replay({"auto" if modes[-1] == "sizes" else modes[-1]!r})
for _ in range({4 if modes[-1] == "auto" else 1}):
    actual = program(cp, *map(cp.asarray, arrays), *{[inputs[n] for n in scalars]})
    for name, value in expected.items():
        got = cp.asnumpy(actual[name])
        if not np.array_equal(got, value, equal_nan=value.dtype.kind in "fc"):
            print(name, got.dtype, got, "expected", value.dtype, value, sep="\\n")
"""
