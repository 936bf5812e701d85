"""Tests the runner of the peers' suites, and runs a few of NumPy's test files."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import cuprous as cp
from tests.peers.binding import Absent, Finder, execute
from tests.peers.numpy_names import importer
from tests.peers.remainder import Remainder, compare, key_of, updated
from tests.peers.session import Result, run, stored
from tests.peers.suites import SUITES


def _results(**tests: str) -> dict[str, list[Result]]:
    """Returns results of a file "f", one letter per run: p for passed, f for failed."""
    outcomes = {"p": "passed", "f": "failed"}
    return {"f": [Result(f"{t}[{i}]", outcomes[o], "ValueError: x") for t, all_ in tests.items()
                  for i, o in enumerate(all_)]}  # fmt: skip


def test_failures_beside_the_list(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(
        "# header\n\n3: reason one\n  f: test_a (2),\n    test_c\n\n1: reason two\n  f: test_a\n  g: test_x\n"
    )
    remainder = Remainder.read(listed)
    assert remainder.listed() == {("f", "test_a"): 3, ("f", "test_c"): 1, ("g", "test_x"): 1}
    found = compare(_results(test_a="fffp", test_b="ppf", test_c="p"), remainder)
    assert (found.passed, found.as_listed, found.unexpected_count) == (4, 3, 1)
    assert list(found.unexpected) == [("f", "test_b")]
    assert found.stale == {("f", "test_c"): (1, 0)}

    after = updated(_results(test_a="ffpp", test_b="ppf"), remainder, "none")
    assert after.listed() == {("f", "test_a"): 2, ("g", "test_x"): 1}, "without a rule nothing is added"
    after.write(listed)
    assert Remainder.read(listed).listed() == after.listed()
    assert listed.read_text().startswith("# header\n")


def test_names_of_tests() -> None:
    assert key_of("f", "TestA_param_3_{shape=(2, 3), k=[1]}::test_b") == ("f", "TestA.test_b")
    assert key_of("f", "test_b[a::b-[1]]") == ("f", "test_b")


def test_failed_statements_bind_stand_ins(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "from __future__ import annotations\n"
        "from nowhere import thing\n"
        "from math import nothing_of_the_kind, pi\n"
        "for _ in thing: pass\n"
        "class TestA:\n"
        "    @thing.mark\n"
        "    def test_one(self): pass\n"
        "    def test_two(self): return 2\n"
        "class TestB(thing): pass\n"
    )
    module = ModuleType("module")
    execute(source, module)
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        module.thing.anything  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        module.TestA().test_one()
    assert module.TestA().test_two() == 2
    assert module.pi == math.pi, "a missing name takes no other with it"
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        module.TestB().test_class_body()


def test_imports_of_a_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = Finder({"peer_of_ours": "cuprous"}, {}, {})
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    peer = importlib.import_module("peer_of_ours")
    try:
        assert peer.ndarray is cp.ndarray
        assert importlib.import_module("peer_of_ours.fft").rfft is cp.fft.rfft
        assert peer.get_array_module(cp.ones(1)) is peer
        for absent in ("peer_of_ours.nothing", "peer_of_ours._core"):
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module(absent)
        with pytest.raises(AttributeError):
            peer._core  # noqa: B018
    finally:
        for name in [name for name in sys.modules if name.startswith("peer_of_ours")]:
            del sys.modules[name]


def test_names_of_numpy() -> None:
    numpy = importer("numpy")
    assert isinstance(numpy.ones(2), cp.ndarray)
    assert isinstance(numpy.add([1, 2], numpy.ones(2)), cp.ndarray)
    for module, name, argument in (("numpy.linalg", "inv", numpy.ones((1, 1))), ("numpy._core.numeric", "ones", 3)):
        assert isinstance(getattr(importer(module, names=(name,)), name)(argument), cp.ndarray)

    class Holder:
        array = numpy.array

    assert Holder().array([1, 2, 3]).shape == (3,), "a function in a class is not bound"
    assert numpy.exceptions.AxisError is np.exceptions.AxisError
    numpy.testing.assert_equal([cp.arange(3)], [np.arange(3)])
    with pytest.raises(AssertionError):
        numpy.testing.assert_equal(cp.arange(3), np.zeros(3))


def test_stand_in_modules() -> None:
    code = """
from cuprous import cuda
from tests.peers import cupy_names, numba_names
lent = numba_names.lent()
assert lent["numba.cuda.compiler"].compile_ptx is cuda.compile_ptx
assert lent["numba.cuda.np.numpy_support"].from_dtype("f4") is cuda.float32
assert lent["numba.cuda.cudadrv"].driver is lent["numba.cuda.cudadrv.driver"]
assert lent["numba.cuda.cudadrv.devices"].get_context().device.compute_capability >= (5, 0)
assert cupy_names.lent()["cupy._core"].create_reduction_func("f", ("f->f",), ("in0", "a", "out0 = a", None), 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("file", ["fft/tests/test_helper", "lib/tests/test_packbits", "lib/tests/test_twodim_base"])
def test_numpy(file: str, tmp_path: Path) -> None:
    suite = SUITES["numpy"]
    remainder = Remainder.read(suite.remainder)
    if f"NumPy {np.__version__} " not in remainder.header:
        pytest.skip("the list is about another version of NumPy")
    root = suite.find()
    assert root is not None
    run(suite, root, [root / f"{file}.py"], tmp_path / "results.jsonl")
    found = compare(stored(tmp_path / "results.jsonl"), remainder)
    assert found.passed > 5
    assert not found.unexpected
    assert not found.stale


def test_errors_of_absent_names_do_not_grow() -> None:
    """A re-raised error keeps its traceback, which once grew so long that suites took quadratic time."""
    absent, lengths = Absent(KeyError("name")), []
    for _ in range(3):
        with pytest.raises(KeyError) as caught:
            absent()
        lengths.append(len(caught.traceback))
    assert len(set(lengths)) == 1
