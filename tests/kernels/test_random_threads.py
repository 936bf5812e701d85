"""Compares random kernels with barriers and shared memory with Python generators, one per thread."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

from cuprous import cuda
from cuprous.cuda import errors

from .test_random_kernels import Small, Writer, checked, compiled

PROGRAMS = int(os.environ.get("CUPROUS_KERNEL_PROGRAMS", "150"))
#: Block shapes: full lane groups, groups and a remainder, a remainder alone, rows.
SHAPES = [(16, 1), (33, 1), (7, 2), (32, 2), (16, 3), (20, 2)]
A = np.array([3, -7, 12, 0, 5, -1, 100, -20, 8])
B = np.array([0, 255, 7, 128, 3, 90, 1, 2, 64], np.uint8)
C = np.array([0.5, -1.25, 3.0, 8.5, -0.75, 2.0, 6.25, -9.5, 1.0], np.float32)
D = np.array([5, -300, 2, 77, -9, 1, 30000, -30000, 4], np.int16)
E = np.random.default_rng(0).integers(-40, 100, 64)
KERNEL = """\
def f(a, b, c, d, e, out, u):
    s = cuda.shared.array(80, np.int64)
    t, y = int(cuda.threadIdx.x), int(cuda.threadIdx.y)
    m = t + y * cuda.blockDim.x
    n = int(cuda.blockDim.x * cuda.blockDim.y)
    k = cuda.blockIdx.x * n + m
    s[m] = m * 3
    cuda.syncthreads()
{body}
    out[k] = ({names}) % 100000
"""
PYTHON = """\
def f(a, b, c, d, e, out, u, s, t, y, m, n):
    k = m
    s[m] = m * 3
    yield 0
{body}
    out[k] = ({names}) % 100000
"""


class Threads(Writer):
    """Writes a random kernel without races: between barriers a thread writes its own elements, or reads any."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names = ["t", "y", "m", "u", "v"]
        self.line(1, "v = 1")
        self.reads = False
        self.waits = self.random.random() < 0.7

    def integer(self, depth: int = 0) -> str:
        if depth > 3 or self.random.random() > 0.2:
            return super().integer(depth)
        x = self.random.choice(["t", "m", "u", "(t + 1)", "(m - 1)", self.integer(depth + 2), self.integer(depth + 2)])
        forms = [
            f"a[{x} % 9]", f"int(b[{x} % 9])", f"int(d[{x} % 9])", f"a[-({x} % 9) - 1]", f"int(c[{x} % 9] * 4)",
            f"int(c[{x} % 9] / ({self.integer(depth + 2)} % 3 + 1.5))",
            f"(a[{x}] if 0 <= {x} < 9 else {self.integer(depth + 2)})",
            f"(1 if c[{x} % 9] > c[{self.integer(depth + 2)} % 9] else int(b[u % 9]))",
            "out[k]" if self.random.random() < 0.3 else "s[m]",
        ]  # fmt: skip
        if self.reads:
            forms += [f"s[{x} % n]", f"s[({x} + 1) % n - n]"]
        return self.random.choice(forms)

    def old(self) -> str:
        return self.random.choice([name for name in self.names if name not in ("t", "y", "m", "u")])

    def bounds(self) -> str:
        forms = ["t % 3, 5", "u % 4", "t, 40, 16", "m, n, 8", f"0, {self.integer(2)} % 5", "3, -1, -1", "y, 4"]
        return self.random.choice([*forms, super().bounds(), super().bounds()])

    def leave(self, indent: int) -> None:
        if not self.waits:
            self.line(indent, f"if {self.truth()}:")
            self.line(indent + 1, "return")
        elif not self.reads:
            self.line(indent, f"s[m] = {self.integer()} % 1000")
        else:
            self.line(indent, f"out[k] = {self.integer()} % 1000")

    def same(self) -> str:
        return self.random.choice(["u", "u + 1", "u * 2", "u % 3", "n", "a[u % 9]"])

    def level(self, indent: int, count: int) -> None:
        """Writes statements that all threads of a block reach."""
        for _ in range(count):
            pick, known = self.random.random(), list(self.names)
            self.reads = self.random.random() < 0.5
            if pick < 0.1:
                self.stride(indent)
            elif pick < 0.5 or indent > 3:
                self.block(indent, 2, False)
                self.line(indent, "WAIT")
            elif pick < 0.65:
                kind, truth = self.random.choice(["count", "and", "or"]), self.truth()
                name = self.name()
                self.line(indent, f"{name} = WAIT_{kind}({truth})")
                self.line(indent, f"{name} += 0")
            elif pick < 0.8:
                self.loops += 1
                self.line(indent, f"for q{self.loops} in range({self.same()} % 4):")
                self.names.append(f"q{self.loops}")
                self.level(indent + 1, 2)
                if self.random.random() < 0.3:
                    self.line(indent + 1, f"if {self.same()} % 5 == {self.random.randint(0, 2)}:")
                    self.line(indent + 2, self.random.choice(["break", "continue"]))
                self.names = list(known)
            elif pick < 0.9:
                self.line(indent, f"if {self.same()} > {self.random.randint(-3, 6)}:")
                self.level(indent + 1, 2)
                self.names = list(known)
            else:
                self.loops += 1
                step = f"w{self.loops}"
                self.line(indent, f"{step} = {self.same()} % 9")
                self.line(indent, f"while {step} > 0:")
                self.level(indent + 1, 1)
                self.line(indent + 1, f"{step} //= 2")
                self.names = [*known, step]

    def stride(self, indent: int) -> None:
        """Writes a loop in which neighboring threads read neighboring elements of an array."""
        choice = self.random.choice
        self.loops += 1
        q, first = f"q{self.loops}", choice(["0", "u", "m"])
        total = self.name()
        self.line(indent, f"{total} = {first}")
        stop, step = choice(["64", "64", "u * 9", "n", "u + 40"]), choice(["16", "n", "n", "u + 5", "7"])
        self.line(indent, f"for {q} in range({choice(['t', 'm', 'm', 't + 2'])}, {stop}, {step}):")
        self.line(indent + 1, f"w{self.loops} = e[{q}] * {self.same()}")
        for _ in range(self.random.randint(1, 3)):
            forms = [
                f"{total} += w{self.loops}", f"{total} = max({total}, e[{q}] - {q})", f"{total} -= {q} % (u + 2)",
                f"{total} = {total} // 2 + e[{q}]", "s[m] = w" if not self.reads else "out[k] = w",
            ]  # fmt: skip
            form = choice(forms).replace("= w", f"= w{self.loops} % 1000")
            if self.random.random() < 0.3:
                self.line(indent + 1, f"if e[{q}] > {self.random.randint(-20, 80)}:")
                form = f"    {form}"
            self.line(indent + 1, form)
        if self.waits:
            self.line(indent, "WAIT")

    def texts(self) -> tuple[str, str]:
        if self.waits:
            self.level(1, 4)
        else:
            self.block(1, 3, False)
            self.stride(1)
            self.block(1, 3, False)
        body, names = "\n".join(self.lines), " + ".join(self.names)
        kernel, python = body.replace("WAIT", "cuda.syncthreads"), body.replace("WAIT_", "yield from vote_")
        kernel = "\n".join(f"{x}()" if x.endswith("cuda.syncthreads") else x for x in kernel.split("\n"))
        python = "\n".join(x.replace("WAIT", "yield 0") if x.endswith("WAIT") else x for x in python.split("\n"))
        return KERNEL.format(body=kernel, names=names), PYTHON.format(body=python, names=names)


def _vote(kind: str) -> Any:
    def vote(truth: Any) -> Generator[Any, Any, Any]:
        votes = yield bool(truth)
        return {"count": sum(votes), "and": int(all(votes)), "or": int(any(votes))}[kind]

    return vote


def evaluated(text: str, shape: tuple[int, int], u: int) -> list[int]:
    """Returns what the threads of a block compute, run step by step between barriers."""
    function = checked(text)
    function.__globals__.update({f"vote_{kind}": _vote(kind) for kind in ("count", "and", "or")})
    n = shape[0] * shape[1]
    arrays: list[Any] = [[Small(x) for x in array.tolist()] for array in (A, B)]
    arrays += [C.tolist(), *([Small(x) for x in array.tolist()] for array in (D, E))]
    out: list[int] = [Small(0)] * n
    shared = [Small(0)] * 80
    threads = [
        function(*arrays, out, Small(u), shared, Small(m % shape[0]), Small(m // shape[0]), Small(m), Small(n))
        for m in range(n)
    ]
    answer = None
    while True:
        said = []
        for thread in threads:
            try:
                said.append(thread.send(answer))
            except StopIteration:
                said.append(None)
        if all(x is None for x in said):
            return out
        answer = said


def check(seed: int) -> None:
    """Checks the kernel of that seed."""
    shape, u = SHAPES[seed % len(SHAPES)], seed % 7
    kernel, python = Threads(seed).texts()
    try:
        expected = evaluated(python, shape, u)
    except OverflowError:
        return
    function = compiled(kernel, f"threads {seed}")
    function.__globals__.update(cuda=cuda, np=np)
    out = np.zeros((2, shape[0] * shape[1]), np.int64)
    try:
        cuda.jit(function)[2, shape](A, B, C, D, E, out.reshape(-1), u)
    except errors.KernelError as error:
        raise AssertionError(f"{error}\n{kernel}") from error
    np.testing.assert_array_equal(out, [expected] * 2, err_msg=f"{shape} {u}\n{kernel}")


@pytest.mark.slow
def test_random_kernels_with_barriers_agree_with_python() -> None:
    for seed in range(PROGRAMS):
        check(seed)
