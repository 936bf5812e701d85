"""Tests how the source of a function is found, and that messages name the location in its file."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cuprous import cuda
from cuprous.cuda import _jit, _source

#: Functions that fill `a`, in unusual source layouts: their names, and the text of a module.
TEXT = '''\
from cuprous import cuda


def plain(a):
    a[0] = 7


@cuda.jit(
    device=True,
)
@(lambda f: f)
def decorated(
    x,
    y=3,
):
    # indented less
# not at all
    return (x +
  y)
# behind it


def texts(a):
    print("""
not indented
""") if a[0] > 1e9 else None
    a[0] = 7

def continued(a):
    a[0] = 3 + \\
4
def one_line(a): a[0] = 7
class Tabs:
\t@staticmethod
\tdef tabs(a):
\t\ta[0] = 7

class Holder:
    @staticmethod
    def method(a):

        for k in range(1):
            a[k] = 7
        # the end


    @staticmethod
    def strange(a):
        a[0] = (
7
)

def outer():
    def inner(a):
        a[0] = decorated(4)
    return inner

table = {"first": lambda a: a[0] * 7, "second":
         lambda a, b: (a[0] +
  b)}
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return loaded(tmp_path_factory.mktemp("source") / "laid_out.py", TEXT)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda m: m.plain, "texts": lambda m: m.texts, "continued": lambda m: m.continued,
    "one_line": lambda m: m.one_line, "tabs": lambda m: m.Tabs.tabs, "method": lambda m: m.Holder.method,
    "strange": lambda m: m.Holder.strange, "inner": lambda m: m.outer(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sources_however_they_are_laid_out(module: ModuleType, name: str) -> None:
    out = np.zeros(2)
    function = FUNCTIONS[name](module)
    cuda.jit(function)[1, 1](out)
    assert out[0] == 7
    _, lines, first, file, _ = _source.parse(function)
    assert (first, file) == (function.__code__.co_firstlineno, function.__code__.co_filename)
    every = TEXT.splitlines()
    assert lines == every[first - 1 : first - 1 + len(lines)]
    assert not lines[-1].lstrip().startswith("#")


def test_lambdas_of_larger_expressions(module: ModuleType) -> None:
    node, _, _, _, shift = _source.parse(module.table["second"])
    line = node.body.lineno + shift  # type: ignore[attr-defined]
    assert TEXT.splitlines()[line - 1][node.body.col_offset :].startswith("a[0] +")  # type: ignore[attr-defined]
    out = np.zeros(1)
    second = cuda.jit(module.table["second"], device=True)

    @cuda.jit
    def kernel(a):
        a[0] = second(a, 7)

    kernel[1, 1](out)
    assert out[0] == 7


def test_source_locations_in_messages() -> None:
    def indented(a):
        a[0] = nonsense(3)  # noqa: F821

    here = indented.__code__.co_firstlineno
    with pytest.raises(cuda.errors.KernelError) as caught:
        cuda.jit(indented)[1, 1](np.zeros(1))
    text = str(caught.value)
    assert str(here + 1) in text
    source, caret = next((a, b) for a, b in zip(text.splitlines(), text.splitlines()[1:], strict=False) if "^" in b)
    assert source[caret.index("^") :].startswith("nonsense")


def test_parameters_are_those_of_inspect() -> None:
    def f(a, /, b, c=3, *rest, d, e=None, **named): ...

    @functools.wraps(f)
    def wrapper(*args, **named): ...

    for function in (f, wrapper, lambda x, y=2: x, test_parameters_are_those_of_inspect):
        assert _jit.parameters(function) == _jit.parameters(functools.partial(function))
    assert _jit.parameters(f) == [("a", []), ("b", []), ("c", [3]), ("d", []), ("e", [None])]


def loaded(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def run(function: Callable[..., Any]) -> float:
    out = np.zeros(1)
    cuda.jit(function)[1, 1](out)
    return float(out[0])


TWINS = """\
from cuprous import cuda
def helper(a):
    a[0] = 111
def kern(a):
    a[0] = 222
class Holder:
    @staticmethod
    def kern(a):
        __secret = 333
        a[0] = __secret
def around(x, y):
    def kern(a):
        a[0] = x + y * 100
    return kern
table = [lambda a: a[0] + 1, lambda a: a[0] + 2]
@cuda.jit(device=True)
def device(x):
    return x + 40
def caller(a):
    a[0] = device(4)
"""


@pytest.mark.parametrize("change", [
    lambda t: "# one\n# two\n" + t, lambda t: t.replace("222", "999"), lambda t: t[t.index("def kern") :], lambda t: "",
])  # fmt: skip
def test_source_files_changed_after_import(tmp_path: Path, change: Callable[[str], str]) -> None:
    """A kernel does what Python runs or is rejected; functions and lambdas with the same name are distinguished."""
    module = loaded(tmp_path / "twins.py", TWINS)
    later = change(TWINS)
    (tmp_path / "twins.py").write_text(later)
    assert run(module.kern) == 222
    assert run(module.Holder.kern) == 333
    assert run(module.around(7, 3)) == 307
    assert run(module.helper) == 111
    assert run(module.caller) == 44
    lambdas = [cuda.jit(f, device=True) for f in module.table]

    def kernel(a):
        a[0] = 10 * lambdas[0](a) + lambdas[1](a)

    if later.count("lambda") == 2:
        first, second = lambdas

        def both(a):
            a[0] = 10 * first(a) + second(a)

        assert run(both) == 12
        _, lines, number, _, _ = _source.parse(module.table[1])
        assert lines == later.splitlines()[number - 1 : number]
    else:
        with pytest.raises(cuda.errors.UnsupportedError, match=r"reload|not available"):
            _source.parse(module.table[1])


def test_changed_body_is_rejected(tmp_path: Path) -> None:
    text = "def kern(a):\n    a[0] = 1 if a[1] > 2 and a.size else 3\n    b = [x for x in a]\n"
    module = loaded(tmp_path / "refused.py", text)
    (tmp_path / "refused.py").write_text(text.replace("1 if", "5 if"))
    with pytest.raises(cuda.errors.UnsupportedError, match=r"refused\.py has changed since it was imported"):
        _source.parse(module.kern)


def test_decorated_functions_run_as_decorated() -> None:
    def tripled(function):
        @functools.wraps(function)
        def inner(a):
            a[0] = 3

        return inner

    @tripled
    def kern(a):
        a[0] = 1

    out = np.zeros(1)
    cuda.jit(kern)[1, 1](out)
    kern(np.zeros(1))
    assert out[0] == 3


def test_assertions_rewritten_by_pytest() -> None:
    def kern(a):
        assert a.size > 0, "empty"
        a[0] = 5

    assert run(kern) == 5
    assert _source.parse(kern)[3] == __file__
