"""Compares small random kernels with Python's evaluation; `python -m tests.kernels.fuzz` runs more."""

from __future__ import annotations

import ast
import linecache
import os
import random
from typing import Any

import numpy as np
import pytest

from cuprous.cuda import errors

from .test_language import run

PROGRAMS = int(os.environ.get("CUPROUS_KERNEL_PROGRAMS", "150"))


class Writer:
    """Writes a random function of two integers whose numbers stay small."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["a", "b"]
        self.loops = 0

    def integer(self, depth: int = 0) -> str:
        pick = self.random.random()
        if depth > 3 or pick < 0.3:
            return self.random.choice([*self.names, str(self.random.randint(-9, 9))])
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        forms = [
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} // ({y} % 7 + 1))", f"({x} % ({y} % 5 + 1))",
            f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})", f"(-{x})", f"(~{x})", f"({x} >> ({y} & 7))",
            f"({x} << ({y} & 3))", f"min({x}, {y})", f"max({x}, {y})", f"abs({x})",
            f"({x} if {self.truth(depth + 1)} else {y})",
            f"int({x} / 3)", f"({x}, {y})[{self.random.randint(0, 1)}]",
            f"divmod({x}, ({y} % 3 + 1))[{self.random.randint(0, 1)}]",
            f"({x} ** 2)", f"round({x} * 0.25)", f"({x}, {y}, 4)[({x} + {y}) % 6 - 3]",
        ]  # fmt: skip
        return self.random.choice(forms)

    def truth(self, depth: int = 0) -> str:
        x, y = self.integer(depth + 1), self.integer(depth + 1)
        forms = [
            f"({x} < {y})", f"({x} == {y})", f"({x} >= {y})", f"({x} != {y})", f"(-5 < {x} <= {y})",
            f"({x} in ({y}, 3))",
        ]  # fmt: skip
        if depth < 3:
            forms += [
                f"({self.truth(depth + 2)} and {self.truth(depth + 2)})",
                f"({self.truth(depth + 2)} or {self.truth(depth + 2)})",
                f"(not {self.truth(depth + 2)})",
            ]  # fmt: skip
        return self.random.choice(forms)

    def old(self) -> str:
        return self.random.choice(self.names)

    def name(self) -> str:
        if self.random.random() < 0.5:
            return self.old()
        name = f"v{len(self.names)}"
        self.names.append(name)
        return name

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def bounds(self) -> str:
        choose = self.random
        return f"{choose.randint(-2, 2)}, {choose.randint(1, 6)}, {choose.choice([1, 2, -1])}"

    def leave(self, indent: int) -> None:
        self.line(indent, f"if {self.truth()}:")
        self.line(indent + 1, f"return {self.integer()} % 1000")

    def block(self, indent: int, count: int, in_loop: bool) -> None:
        for _ in range(count):
            pick = self.random.random()
            known = list(self.names)
            if pick < 0.45 or indent > 3:
                value = self.integer()
                self.line(indent, f"{self.name()} = {value} % 1000")
            elif pick < 0.6:
                self.line(indent, f"{self.old()} += {self.integer()} % 100")
            elif pick < 0.75:
                self.line(indent, f"if {self.truth()}:")
                self.block(indent + 1, 2, in_loop)
                self.names = list(known)
                if self.random.random() < 0.6:
                    self.line(indent, "else:")
                    self.block(indent + 1, 2, in_loop)
                    self.names = list(known)
            elif pick < 0.87:
                self.loops += 1
                counter = f"i{self.loops}"
                header = f"{counter} in range({self.bounds()})"
                if self.random.random() < 0.3:
                    item = f"e{self.loops}"
                    items = f"({self.integer(2)}, {self.integer(2)}, {self.random.randint(0, 9)})"
                    header = f"{counter}, {item} in " + self.random.choice(
                        [f"enumerate({items}, {self.random.randint(-2, 2)})", f"zip({items}, (4, 5))"]
                    )
                    self.names.append(item)
                self.line(indent, f"for {header}:")
                self.names.append(counter)
                self.block(indent + 1, 2, True)
                self.names = list(known)
                if self.random.random() < 0.3:
                    self.line(indent, "else:")
                    self.block(indent + 1, 1, in_loop)
                    self.names = list(known)
            elif pick < 0.93:
                self.loops += 1
                counter = f"w{self.loops}"
                self.line(indent, f"{counter} = 0")
                self.line(indent, f"while {counter} < {self.random.randint(1, 5)}:")
                self.line(indent + 1, f"{counter} += 1")
                self.block(indent + 1, 2, True)
                self.names = list(known)
            elif in_loop:
                self.line(indent, f"if {self.truth()}:")
                self.line(indent + 1, self.random.choice(["break", "continue"]))
            else:
                self.leave(indent)

    def function(self) -> str:
        self.block(1, 5, False)
        body = "\n".join(self.lines)
        return f"def f(a, b):\n{body}\n    return ({' + '.join(self.names)}) % 100000\n"


def compiled(text: str, name: str) -> Any:
    file = f"<random {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


class Small(int):
    """An integer whose results must fit into 64 bits, as those of kernels do."""


def _checked(name: str) -> Any:
    plain = getattr(int, name)

    def operation(*args: Any) -> Any:
        result = plain(*args)
        if type(result) is int:
            if abs(result) >= 1 << 63:
                raise OverflowError
            return Small(result)
        return result

    return operation


for _name in "add sub mul floordiv mod pow and or xor lshift rshift".split():  # noqa: SIM905
    setattr(Small, f"__{_name}__", _checked(f"__{_name}__"))
    setattr(Small, f"__r{_name}__", _checked(f"__r{_name}__"))
for _name in "neg abs invert".split():  # noqa: SIM905
    setattr(Small, f"__{_name}__", _checked(f"__{_name}__"))


class _Literals(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is not int:
            return node
        return ast.copy_location(ast.Call(ast.Name("Small", ast.Load()), [node], []), node)


def checked(text: str) -> Any:
    """Returns the function with every integer a `Small`."""
    tree = ast.fix_missing_locations(_Literals().visit(ast.parse(text)))
    space: dict[str, Any] = {"Small": Small, "int": lambda x: Small(int(x)), "round": lambda x: Small(round(x))}
    exec(compile(tree, "<checked>", "exec"), space)
    return space["f"]


def check(seed: int) -> None:
    """Checks the function of that seed."""
    a, b = (x.ravel().copy() for x in np.meshgrid(np.arange(-4, 5), np.arange(-3, 6)))
    text = Writer(seed).function()
    function = compiled(text, str(seed))
    try:
        plain = checked(text)
        expected = [plain(Small(x), Small(y)) for x, y in zip(a, b, strict=True)]
    except OverflowError:
        return
    try:
        out = run(function, a, b, np.int64)
    except errors.KernelError as error:
        raise AssertionError(f"{error}\n{text}") from error
    np.testing.assert_array_equal(out, expected, err_msg=text)


@pytest.mark.slow
def test_random_kernels_agree_with_python() -> None:
    for seed in range(PROGRAMS):
        check(seed)
