"""Draws programs. Each statement runs in NumPy when it is drawn, and is kept if it succeeds and its bound is known."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np

from . import bounds
from .bounds import Bound, Reject
from .kernels import add_into
from .program import Program, compiled

DTYPES = {
    "float32": 4, "float64": 4, "int64": 3, "int32": 2, "bool": 2, "int8": 1, "uint8": 1, "float16": 1, "int16": 0.5,
    "uint16": 0.4, "uint32": 0.4, "uint64": 0.4, "complex64": 0.7, "complex128": 0.5,
}  # fmt: skip
_NAMES, _WEIGHTS = list(DTYPES), list(DTYPES.values())
_INPUT_DTYPES = [np.dtype(name) for name in DTYPES]


class Maker:
    """The state while a program is drawn."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.program = Program(seed, [])
        self.env: dict[str, Any] = {"xp": np, "host": lambda label, array: None, "launch": add_into}
        # The bound of the memory at the root of a chain of views, which aliases share. The root is kept alive, so that
        # its id is not reused.
        self.groups: dict[int, tuple[Any, Bound]] = {}
        self.live: list[str] = []
        self.dead: dict[str, Any] = {}  # roots of deleted arrays
        self.unknown: set[str] = set()  # arrays whose length depends on data
        self.next = 0

    # --- looking up and choosing

    def bound(self, name: str) -> Bound:
        return self.groups[id(root(self.env[name]))][1]

    def pick(self, test: Any = None) -> str:
        """Draws a live array of known length, preferring newer ones."""
        for _ in range(8):
            name = self.live[-1 - int(self.r.random() ** 2 * len(self.live))]
            if name not in self.unknown and (test is None or test(self.env[name])):
                return name
        raise Reject

    def widen(self, name: str, bound: Bound) -> None:
        """Records that the memory of `name` may also hold values within `bound` from now on."""
        base = root(self.env[name])
        self.groups[id(base)] = (base, self.groups[id(base)][1].join(bound))

    def pick_exact(self, test: Any = None) -> str:
        name = self.pick(test)
        if not self.bound(name).exact:
            raise Reject
        return name

    def pick_writable(self) -> str:
        return self.pick(lambda a: a.flags.writeable)

    def pick_like(self, shape: tuple[int, ...]) -> str:
        """Draws an array that broadcasts to `shape`."""
        return self.pick(lambda a: fits(a.shape, shape))

    def dtype(self) -> str:
        return self.r.choices(_NAMES, _WEIGHTS)[0]

    def scalar(self) -> tuple[str, Bound]:
        """Draws a Python constant, or a scalar that changes from run to run."""
        text = self.r.choice(("1", "2", "3", "-2", "0.5", "2.5", "-1.5", "k0", "k1", "True", "7"))
        value = {"k0": 3.0, "k1": 2.0}.get(text) or float(eval(text))
        return text, bounds.of_scalar(value)

    # --- adding a line

    def fresh(self) -> str:
        self.next += 1
        return f"v{self.next}"

    def assign(self, text: str, bound: Bound, rounding: float = 1.0, unknown: bool = False, laid: bool = True) -> None:
        """Adds `v = text`. A NumPy scalar becomes a 0-d array, because Cuprous has no scalars.

        Whether a later reshape is a view depends on how the result lies in memory. Where Cuprous does not follow NumPy
        in that (`laid` is False), a result that NumPy lays out otherwise than in C order is copied into it.
        """
        name = self.fresh()
        line = f"{name} = {text}"
        self.run(line)
        if isinstance(self.env[name], np.generic):
            line = f"{name} = xp.asarray({text})"
            self.run(line)
        array = self.env[name]
        if not laid and array.ndim > 1 and not array.flags.c_contiguous:
            line = f"{name} = {text}.copy()"
            self.run(line)
            array = self.env[name]
        if array.size > 20_000 or array.ndim > 5:
            del self.env[name]
            raise Reject
        base = root(array)
        if id(base) not in self.groups:
            try:
                self.groups[id(base)] = (base, bounds.settle(array.dtype, bound, rounding))
            except Reject:
                del self.env[name]
                raise
        self.live.append(name)
        if unknown:
            self.unknown.add(name)
        self.program.lines.append(line)

    def write(self, line: str, name: str, bound: Bound, rounding: float = 1.0) -> None:
        """Adds a line that writes values within `bound` into `name`."""
        array = self.env[name]
        if not array.flags.writeable:
            raise Reject
        base = root(array)
        joined = self.groups[id(base)][1].join(bounds.settle(array.dtype, bound, rounding))
        joined = bounds.settle(array.dtype, joined, 0)
        self.run(line)
        self.groups[id(base)] = (base, joined)
        self.program.lines.append(line)

    def plain(self, line: str) -> None:
        self.run(line)
        self.program.lines.append(line)

    def run(self, line: str) -> None:
        try:
            exec(compiled(line), self.env)
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
            raise Reject from None

    def forget(self, name: str) -> None:
        self.live.remove(name)
        self.dead[name] = root(self.env[name])
        self.unknown.discard(name)
        self.plain(f"del {name}")


def root(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return len(shape) <= len(target) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False)
    )


def draw_inputs(m: Maker) -> None:
    """Draws one to four inputs whose shapes often broadcast with each other."""
    r = m.r
    full = tuple(r.choices((1, 2, 3, 4, 5, 7), k=r.choices((1, 2, 3), (3, 4, 2))[0]))
    if r.random() < 0.03:
        full = (*full[:-1], r.choice((33, 257, 1000, 4099)))
    if r.random() < 0.03:
        full = (*full[:-1], 0)
    if np.prod(full) > 8000:
        full = full[-1:]
    m.program.special = r.random() < 0.06
    for n in range(r.choices((1, 2, 3, 4), (1, 4, 4, 2))[0]):
        shape = full
        if n and r.random() < 0.4:
            shape = tuple(1 if r.random() < 0.3 else extent for extent in full[r.randrange(len(full) + 1) :])
        dtype = r.choices(_INPUT_DTYPES, _WEIGHTS)[0]
        if m.program.special and dtype.kind == "c":
            dtype = np.dtype("float32")
        m.program.inputs.append((shape, dtype))
    for name, value in m.program.data(0).items():
        m.env[name] = value
        if isinstance(value, np.ndarray):
            m.live.append(name)
            m.groups[id(value)] = (value, bounds.input_bound(value.dtype))


def generate(seed: int) -> Program:
    """Returns the program of a seed, which is always the same."""
    from .table import STATEMENTS, WEIGHTS

    m = Maker(seed)
    r = m.r
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw_inputs(m)
        length = r.randint(3, 14)
        for _ in range(4 * length):
            if len(m.program.lines) >= length:
                break
            try:
                r.choices(STATEMENTS, cum_weights=WEIGHTS)[0](m)
            except Reject:
                continue
    m.program.keep = r.random() < 0.5
    m.program.deferred = r.random() < 0.4
    for name, base in m.dead.items():  # the program may be shrunk to one that keeps them
        m.program.bounds[name] = m.groups[id(base)][1]
    for name in m.live:
        m.program.bounds[name] = m.bound(name)
    return m.program
