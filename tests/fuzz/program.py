"""A program, its inputs, and its execution by one library."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from .bounds import Bound, draw_input
from .kernels import add_into

REPEATS = 4  # planned, launched, captured, replayed

_compiled: dict[str, CodeType] = {}


def compiled(line: str) -> CodeType:
    """Returns the code object of a line. Common lines repeat, so a bounded cache is worthwhile."""
    code = _compiled.get(line)
    if code is None:
        if len(_compiled) > 20_000:
            _compiled.clear()
        code = _compiled[line] = compile(line, line, "exec")
    return code


@dataclass(slots=True)
class Program:
    """Lines of Python, their inputs, and the bound on each result."""

    seed: int
    inputs: list[tuple[tuple[int, ...], np.dtype]]
    special: bool = False
    lines: list[str] = field(default_factory=list)
    # A bound for each variable's last value and for each label of `host(label, array)`.
    bounds: dict[str, Bound] = field(default_factory=dict)
    keep: bool = False  # the results of one run stay alive during the next
    deferred: bool = False  # several runs are recorded before the first result is read

    def data(self, variant: int) -> dict[str, Any]:
        """Returns inputs and scalars of one run. Variants differ in values, from `REPEATS` on in extents as well."""
        rng = np.random.default_rng((self.seed, variant))
        extents = self.extents(rng) if variant >= REPEATS else {}
        data: dict[str, Any] = {
            f"i{n}": draw_input(rng, tuple(extents.get(e, e) for e in shape), dtype, self.special)
            for n, (shape, dtype) in enumerate(self.inputs)
        }
        data["k0"] = 1 + (self.seed + variant) % 3
        data["k1"] = 0.5 * (1 + (self.seed // 3 + variant) % 4)
        return data

    def extents(self, rng: np.random.Generator) -> dict[int, int]:
        """Returns other extents for those of the inputs.

        What broadcasts keeps broadcasting: equal extents stay equal, 0 and 1 stay, and none becomes one of them. None
        grows, because the bounds of results are those of the drawn extents.
        """
        known = sorted({e for shape, _ in self.inputs for e in shape if e > 1})
        return {e: int(rng.integers(2, e + 1)) for e in known}


@dataclass(slots=True)
class Outcome:
    """The result of a run: its variables (arrays of the library), its host reads, or the error that ended it."""

    variables: dict[str, Any]
    reads: dict[str, np.ndarray]
    error: BaseException | None = None
    line: str = ""


def execute(lines: list[str], data: dict[str, Any], xp: ModuleType) -> Outcome:
    """Runs the lines; an exception ends the run and is part of the outcome."""
    reads: dict[str, np.ndarray] = {}
    on_numpy = xp is np

    def host(label: str, array: Any) -> None:
        reads[label] = np.array(array) if on_numpy else xp.asnumpy(array)

    env: dict[str, Any] = {"xp": xp, "host": host, "launch": add_into, "__builtins__": __builtins__}
    for name, value in data.items():
        if isinstance(value, np.ndarray):
            env[name] = value.copy() if on_numpy else xp.asarray(value)
        else:
            env[name] = value
    outcome = Outcome(env, reads)
    line = ""
    try:
        if on_numpy:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for line in lines:
                    exec(compiled(line), env)
        else:
            for line in lines:
                exec(compiled(line), env)
    except Exception as error:  # the error is part of the outcome
        outcome.error, outcome.line = error, line
    for name in ("xp", "host", "launch", "__builtins__", "k0", "k1"):
        env.pop(name, None)
    return outcome
