"""Tests printing of arrays, and reading and writing of files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import DTYPES, assert_same, sample


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize(
    "shape", [(), (0,), (3,), (2, 3), (2, 0), (2, 2, 2), (1500,), (60, 70), (3, 20, 30), (2000, 1)]
)
def test_text(dtype: str, shape: tuple[int, ...]) -> None:
    a = sample(dtype, shape)
    d = cp.asarray(a)
    assert repr(d) == repr(a)
    assert str(d) == str(a)
    assert f"{d.T}" == f"{a.T}" if shape else True


def test_options() -> None:
    a = np.linspace(0, 1, 5)
    with np.printoptions(precision=2):
        assert repr(cp.asarray(a)) == repr(a)
    assert cp.array2string(cp.asarray(a), precision=1) == np.array2string(a, precision=1)
    assert cp.array_str(cp.asarray(a), precision=1) == np.array_str(a, precision=1)
    assert cp.array_repr(cp.asarray(a)) == np.array_repr(a)
    big = np.arange(5000)
    assert cp.array2string(cp.asarray(big), threshold=10, edgeitems=2) == np.array2string(
        big, threshold=10, edgeitems=2
    )
    with np.printoptions(threshold=10000):
        assert repr(cp.asarray(big)) == repr(big)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_save_and_load(dtype: str, tmp_path: Any) -> None:
    a = sample(dtype, (3, 4))
    cp.save(tmp_path / "a.npy", cp.asarray(a).T)
    back = cp.load(tmp_path / "a.npy")
    assert isinstance(back, cp.ndarray)
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back.get(), a.T)


@pytest.mark.parametrize("name", ["savez", "savez_compressed"])
def test_savez(name: str, tmp_path: Any) -> None:
    path = tmp_path / "b.npz"
    getattr(cp, name)(path, cp.arange(3), x=cp.ones(2))
    with cp.load(path) as z:
        assert sorted(z.files) == ["arr_0", "x"]
        assert "x" in z
        assert isinstance(z["x"], cp.ndarray)
        assert_same(z["arr_0"], np.arange(3))


def test_pickles_are_refused(tmp_path: Any) -> None:
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        cp.load(tmp_path / "o.npy")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_headers_that_declare_more_than_the_file_holds(version: int) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }\n"
    start = b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(2 if version == 1 else 4, "little")
    with pytest.raises(ValueError, match="damaged"):
        cp.load(io.BytesIO(start + header + bytes(80)))


def test_text_files() -> None:
    text = io.StringIO()
    cp.savetxt(text, cp.arange(6.0).reshape(2, 3))
    text.seek(0)
    assert_same(cp.loadtxt(text), np.arange(6.0).reshape(2, 3))
    assert_same(cp.genfromtxt(io.StringIO("1,2\n3,"), delimiter=","), np.array([[1.0, 2.0], [3.0, np.nan]]))


def test_who(capsys: pytest.CaptureFixture[str]) -> None:
    x = cp.ones(10)
    cp.who({"x": x, "number": 3, "same": x, "y": cp.ones((2, 3), "int32")})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[3:6]] == [
        ["x", "10", "80", "float64"], ["same", "10", "80", "(x)", "float64"], ["y", "2", "x", "3", "24", "int32"],
    ]  # fmt: skip
    assert lines[-1].split()[-1] == "104"
    cp.who({})
    assert capsys.readouterr().out == "\nUpper bound on total bytes  =       0\n"
