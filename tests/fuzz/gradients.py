"""Compares gradients of random differentiable programs with central differences, in float64.

A program computes values from leaves: views, expanded views, in-place writes, functions with saved values, hooks. Some
values add to a loss; some are overwritten after that. Its gradient is compared with differences of the program itself,
along a random direction; every third program has its second derivative compared too. Programs are numbered, and one
that fails is printed with the lines that it needs to fail.

    python -m tests.fuzz.gradients --programs 10000 --seed 0
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np

import cuprous.torch as torch
from cuprous.torch.utils.checkpoint import checkpoint
from tests.torch.custom_functions import Exp, Mixed, Spread, Square

from .gradient_table import CHOICES, VALUES, VIEWS, WRITES
from .workers import is_internal

SHAPES: list[tuple[int, ...]] = [(3,), (2, 3), (3, 1), (1, 3), (4,), (2, 1, 2), (1,), (3, 2)]
#: Values larger than this make differences inexact.
LARGEST = 30.0
#: Errors of invalid programs: the table draws operands without checking them.
REFUSED = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AttributeError)


def fit(x: Any, shape: Any) -> Any:
    """Returns a view of a value with any shape: its first elements, or its first element expanded."""
    flat = x.reshape(-1)
    n = math.prod(shape)
    return flat[:n].reshape(tuple(shape)) if flat.numel() >= n else flat[:1].expand(tuple(shape))


def w(x: Any, seed: float = 0.3) -> Any:
    """Returns weights that differ for each element."""
    return torch.cos(torch.arange(float(x.numel())) * 1.7 + seed).reshape(x.shape) + 0.1


def m(x: Any) -> Any:
    """Returns a mask."""
    return (torch.arange(x.numel()) % 3 != 1).reshape(x.shape)


def i(x: Any, dim: int) -> Any:
    """Returns indices along a dimension, some of them equal."""
    return (torch.arange(x.numel()) * 2 % x.shape[dim]).reshape(x.shape)


SCOPE = {
    "torch": torch, "F": torch.nn.functional, "checkpoint": checkpoint, "fit": fit, "w": w, "m": m, "i": i, "Exp": Exp,
    "Square": Square, "Mixed": Mixed, "Spread": Spread,
}  # fmt: skip


@dataclass
class Program:
    """Lines of the program, and lines that run between two backward passes of the same graph."""

    seed: int
    shapes: list[tuple[int, ...]]
    lines: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @property
    def second(self) -> bool:
        return self.seed % 3 == 0

    @property
    def twice(self) -> bool:
        return self.seed % 5 == 1

    def text(self) -> str:
        names = ", ".join(f"x{k}" for k in range(len(self.shapes)))
        body = "\n    ".join(["loss = torch.zeros(())", *self.lines, "yield loss", *self.late])
        return f"def program({names}):\n    {body}\n"

    def compiled(self) -> Callable[..., Iterator[Any]]:
        scope: dict[str, Any] = dict(SCOPE)
        exec(compile(self.text(), f"<seed {self.seed}>", "exec"), scope)
        made: Callable[..., Iterator[Any]] = scope["program"]
        return made


def numbers(shapes: list[tuple[int, ...]], rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.uniform(-1.4, 1.4, shape) for shape in shapes]


def leaves(values: list[np.ndarray]) -> list[Any]:
    return [torch.tensor(value).requires_grad_() for value in values]


class Generator:
    """Draws lines and runs each when it is drawn, so that only lines that follow PyTorch's rules are kept."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.program = Program(seed, [self.rng.choice(SHAPES) for _ in range(self.rng.randint(1, 2))])
        self.scope: dict[str, Any] = dict(SCOPE)
        for k, x in enumerate(leaves(numbers(self.program.shapes, np.random.default_rng(seed)))):
            self.scope[f"x{k}"] = x
        self.scope["loss"] = torch.zeros(())
        self.names = [f"x{k}" for k in range(len(self.program.shapes))]

    def pick(self) -> str:
        """Draws a value, preferring recent ones."""
        return self.names[max(self.rng.randrange(len(self.names)), self.rng.randrange(len(self.names)))]

    def filled(self, template: str, **chosen: str) -> str:
        """Returns a line of a template. Fields that are not given are drawn."""
        x, y, z = self.pick(), self.pick(), self.pick()
        ndim = self.scope[x].ndim
        fields = {
            name: self.rng.choice(choices.split()) for name, choices in CHOICES.items() if not choices.startswith("(")
        }
        for name in ("square", "positive_definite"):
            fields[name] = CHOICES[name].format(x=x)
        fields |= {"x": x, "y": y, "z": z, "y2": f"fit({y}, {x}.shape)", "z2": f"fit({z}, {x}.shape)"}
        fields["d"] = str(self.rng.randrange(ndim) if ndim else 0)
        if self.rng.random() < 0.3:
            # A trailing part of the shape, which is broadcast.
            fields["y2"] = f"fit({y}, {x}.shape[1:])"
        return template.format(**fields | chosen)

    def run(self, line: str) -> bool:
        """Runs a line; returns false if it is rejected. Any other error is a bug."""
        try:
            exec(line, self.scope)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            if isinstance(error, REFUSED) and not is_internal(error):
                return False
            raise Mismatch(f"{line} raised {type(error).__name__}: {error}") from error
        return True

    def value(self, template: str, **chosen: str) -> bool:
        name = f"v{len(self.program.lines)}"
        line = f"{name} = {self.filled(template, **chosen)}"
        if not self.run(line):
            return False
        v = self.scope[name]
        if not isinstance(v, torch.Tensor) or v.dtype != torch.float64 or not 0 < v.numel() <= 64 or v.ndim > 5:
            return False
        if not float(v.detach().abs().max()) < LARGEST:
            return False
        self.program.lines.append(line)
        self.names.append(name)
        return True

    def write(self, into: list[str], template: str = "", **chosen: str) -> bool:
        line = self.filled(template or self.rng.choice(WRITES), **chosen)
        if not self.run(line):
            return False
        into.append(line)
        return all(float(self.scope[name].detach().abs().max()) < LARGEST for name in self.names)

    def count(self) -> None:
        name = self.pick()
        line = f"loss = loss + ({name} * w({name}, {len(self.program.lines)})).sum()"
        if self.run(line):
            self.program.lines.append(line)

    def hook(self) -> None:
        name = self.pick()
        line = self.rng.choice([f"{name}.retain_grad()", f"{name}.register_hook(lambda g: g * 1.0)"])
        self.program.lines.append(f"if {name}.requires_grad: {line}")

    def draw(self) -> Program | None:
        """Returns a program, or None if a write left numbers that are too large."""
        lines = self.program.lines
        for _ in range(self.rng.randint(3, 9)):
            kind = self.rng.random()
            if kind < 0.3:
                self.value(self.rng.choice(VIEWS))
            elif kind < 0.78:
                self.value(self.rng.choice(VALUES))
            elif kind < 0.9:
                before = len(lines)
                if not self.write(lines) and len(lines) > before:
                    return None
            elif kind < 0.95:
                self.count()
            else:
                self.hook()
        for name in self.names[-2:]:
            lines.append(f"loss = loss + ({name} * w({name})).sum()")
            self.run(lines[-1])
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            self.write(lines)
        if self.rng.random() < 0.3:
            lines.append(f"with torch.no_grad(): x0.mul_({self.rng.choice(['1.5', '0.0'])})")
        if self.program.twice:
            for _ in range(self.rng.randint(1, 2)):
                self.write(self.program.late)
        return self.program if self.scope["loss"].requires_grad else None


class Mismatch(Exception):
    """A gradient is wrong."""


class Kink(Exception):
    """The program has no derivative here."""


def loss_at(compiled: Callable[..., Iterator[Any]], values: list[np.ndarray]) -> Any:
    return float(next(compiled(*leaves(values))).detach())


def along(gradients: Any, direction: list[np.ndarray]) -> Any:
    """Returns the inner product of gradients and a direction, as a tensor."""
    total = torch.zeros(())
    for g, d in zip(gradients, direction, strict=True):
        if g is not None:
            total = total + (g * torch.tensor(d)).sum()
    return total


def compare(found: float, f: Callable[[float], float], scale: float) -> None:
    """Compares a derivative with differences of `f` at 0.

    Raises
    ------
    Mismatch
        Where they differ.
    Kink
        Where the differences to both sides do.
    """
    seen = []
    for h in (1e-5, 1e-4, 1e-6):
        expected = (f(h) - f(-h)) / (2 * h)
        if not math.isfinite(expected):
            raise Kink
        seen.append(expected)
        if abs(found - expected) <= 1e-5 * max(1.0, abs(expected), abs(found)) + 1e-9 / h * scale * 1e-5:
            return
    here = f(0.0)
    for h in (1e-5, 1e-7):
        right, left = (f(h) - here) / h, (here - f(-h)) / h
        if abs(right - left) > 1e-3 * max(1.0, abs(right), abs(left)):
            raise Kink
    if max(seen) - min(seen) > 1e-3 * max(1.0, abs(seen[0])):
        raise Kink
    raise Mismatch(f"the gradient along a direction is {found:.9g}, differences give {seen[0]:.9g}")


def check(program: Program) -> None:
    """Compares gradients with differences.

    Raises
    ------
    Mismatch
        Where they differ, or where a backward pass fails.
    Kink
        Where there is no derivative.
    """
    rng = np.random.default_rng(program.seed)
    values = numbers(program.shapes, rng)
    direction = [rng.standard_normal(v.shape) for v in values]
    compiled = program.compiled()

    def moved(h: float) -> list[np.ndarray]:
        return [v + h * d for v, d in zip(values, direction, strict=True)]

    def gradients(at: list[np.ndarray], **options: Any) -> tuple[Any, list[Any], Any]:
        xs = leaves(at)
        run = compiled(*xs)
        loss = next(run)
        if not loss.requires_grad:
            raise Kink
        return torch.autograd.grad(loss, xs, allow_unused=True, **options), xs, (loss, run)

    try:
        found, xs, (loss, run) = gradients(values, retain_graph=program.twice)
        first = float(along(found, direction))
        if math.isnan(first) and "atan2" in program.text():
            raise Kink  # of two zeros, as in PyTorch
        if program.twice:
            next(run, None)
            loss.backward()
            again = float(along([x.grad for x in xs], direction))
            if not math.isclose(first, again, rel_tol=1e-9, abs_tol=1e-9):
                raise Mismatch(f"the second backward pass of the same graph gives {again:.9g} after {first:.9g}")
    except REFUSED as error:
        raise Mismatch(f"the backward pass raised {type(error).__name__}: {error}") from error
    scale = abs(loss_at(compiled, values))
    compare(first, lambda h: loss_at(compiled, moved(h)), scale)
    if not program.second:
        return
    other = [rng.standard_normal(v.shape) for v in values]

    def slope(h: float) -> float:
        return float(along(gradients(moved(h))[0], other))

    try:
        found, xs, _ = gradients(values, create_graph=True)
        total = along(found, other)
        if not total.requires_grad:
            return
        found = torch.autograd.grad(total, xs, allow_unused=True)
    except NotImplementedError:
        return
    except REFUSED as error:
        raise Mismatch(f"the second derivative raised {type(error).__name__}: {error}") from error
    second = float(along(found, direction))
    try:
        compare(second, slope, abs(first) + scale)
    except Mismatch as error:
        raise Mismatch(f"second derivative: {error}") from None


def fails(program: Program) -> Mismatch | None:
    try:
        check(program)
    except Mismatch as error:
        return error
    except Exception:
        # Not every part of a program is valid.
        return None
    return None


def shrunk(program: Program) -> tuple[Program, Mismatch | None]:
    """Returns the program without the lines that are not needed for the failure."""
    smallest, error = program, fails(program)
    again = error is not None
    while again:
        again = False
        for part in ("late", "lines"):
            for k in reversed(range(len(getattr(smallest, part)))):
                rest = {name: list(getattr(smallest, name)) for name in ("lines", "late")}
                del rest[part][k]
                candidate = Program(smallest.seed, smallest.shapes, **rest)
                found = fails(candidate)
                if found is not None:
                    smallest, error, again = candidate, found, True
    return smallest, error


def ready() -> None:
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")


def report(texts: dict[int, str], seed: int, text: str) -> None:
    texts[seed] = text
    print(text, file=sys.stderr, flush=True)


def run(first: int, programs: int, failures: int = 10, end: float = math.inf) -> tuple[Counter[str], dict[int, str]]:
    """Checks programs; returns counts of their outcomes, and the texts of those that failed."""
    ready()
    counts: Counter[str] = Counter()
    texts: dict[int, str] = {}
    seed = first
    while counts["programs"] < programs and time.monotonic() < end and len(texts) < failures:
        generator = Generator(seed)
        seed += 1
        try:
            program = generator.draw()
        except Mismatch as error:
            report(texts, seed - 1, f"# seed {seed - 1}: {error}\n{generator.program.text()}")
            continue
        if program is None:
            continue
        counts["programs"] += 1
        counts["second"] += program.second
        try:
            check(program)
        except Kink:
            counts["kinks"] += 1
        except Mismatch as error:
            small, found = shrunk(program)
            message = found or f"{error} (once, and not again)"
            report(texts, program.seed, f"# seed {program.seed}, shapes {small.shapes}: {message}\n{small.text()}")
    counts["last"] = seed
    return counts, texts


def names(templates: list[str]) -> set[str]:
    """Returns the functions that templates may call."""
    text = " ".join(templates)
    found = set(re.findall(r"\.(\w+)\(", text))
    for field_, choices in CHOICES.items():
        for end in ("(", "_("):
            if f".{{{field_}}}{end}" in text:
                found |= {choice + end[:-1] for choice in choices.split()}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.gradients", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--failures", type=int, default=10, help="stop after this many in a process")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--show", action="store_true", help="print the first program and stop")
    args = parser.parse_args()
    ready()
    if args.show:
        program = Generator(args.seed).draw()
        print(program.text() if program else "no program")
        return 0
    start = time.monotonic()
    share = -(-args.programs // args.processes)
    # The seeds of the processes are far apart, because some seeds give no program.
    calls = [(args.seed + 2 * k * share, share, args.failures, start + args.seconds) for k in range(args.processes)]
    if args.processes == 1:
        outcomes = [run(*calls[0])]
    else:
        with ProcessPoolExecutor(args.processes, mp_context=get_context("spawn")) as pool:
            outcomes = list(pool.map(run, *zip(*calls, strict=True)))
    counts: Counter[str] = sum((c for c, _ in outcomes), Counter())
    texts = {seed: text for _, found in outcomes for seed, text in found.items()}
    took = time.monotonic() - start
    rate = counts["programs"] / took
    print(f"{counts['programs']} programs, {counts['second']} with second derivatives: {len(texts)} wrong, "
          f"{counts['kinks']} without a derivative; {took:.1f} s, {rate:.0f} programs/s")  # fmt: skip
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main())
