"""Tests products: matmul and related functions, einsum, norms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import alike, assert_same, check, sample

PAIRS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((), (3,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 4)),
    ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "vdot", "outer", "kron", "vecdot", "matvec", "vecmat"])
def test_pairs(name: str) -> None:
    for (first, second), dtype in itertools.product(PAIRS, ["float64", "int32", "complex128", "float32", "bool"]):
        if name == "kron" and dtype == "bool":
            continue
        a, b = sample(dtype, first), sample(dtype, second, seed=1)
        options = {"rtol": 1e-5, "atol": 1e-5, "message": f"{name} {first} {second} {dtype}"}
        alike(lambda xp, a=a, b=b: getattr(xp, name)(xp.asarray(a), xp.asarray(b)), **options)


def test_matmul_more() -> None:
    a, b = sample("float64", (3, 4)), sample("float32", (4, 2), seed=1)
    assert_same(cp.asarray(a) @ cp.asarray(b), a @ b)
    assert_same(cp.asarray(a.T.copy()).T @ cp.asarray(b), a @ b)
    out = cp.empty((3, 2))
    assert cp.matmul(cp.asarray(a), cp.asarray(b), out=out) is out
    assert_same(out, a @ b)
    d = cp.asarray(a)
    d @= cp.eye(4)
    assert_same(d, a)
    with pytest.raises(ValueError, match="mismatch in its core dimension 0"):
        cp.matmul(cp.ones((2, 3)), cp.ones((2, 3)))
    assert_same(cp.matmul(cp.ones((2, 3)), np.ones((3, 2))), np.full((2, 2), 3.0))
    with pytest.raises(ValueError, match="not aligned"):
        cp.dot(cp.ones((2, 3)), cp.ones((2, 3)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "complex64"])
def test_matmul_dtypes(dtype: str) -> None:
    a, b = sample(dtype, (17, 33)), sample(dtype, (33, 9), seed=1)
    alike(lambda xp: xp.asarray(a) @ xp.asarray(b), rtol=5e-3, atol=0.5 if dtype == "float16" else 1e-4)


def test_tensordot() -> None:
    a, b = sample("float64", (2, 3, 4)), sample("float64", (4, 3, 2), seed=1)
    for axes in (1, 0, ([1, 2], [1, 0]), ([0], [2]), (2, 0), ((-1,), (0,)), 3, 2):
        alike(lambda xp, ax=axes: xp.tensordot(xp.asarray(a), xp.asarray(b), ax))


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ii->i", (4, 4)), ("ii", (4, 4)), ("ij->ji", (3, 4)),
    ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)), ("i,i", (5,), (5,)), ("ij,ij->ij", (3, 4), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("...i->...", (2, 3, 4)),
    ("i...,i...->...", (3, 2), (3, 2)), ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    ("ij,kj,lj->ikl", (2, 3), (4, 3), (5, 3)), ("abc,cd,db->a", (2, 3, 4), (4, 5), (5, 3)), ("ij,j", (3, 4), (4,)),
    ("ba", (3, 4)), ("iij->j", (3, 3, 4)), ("ijk,ijk->", (2, 3, 4), (2, 3, 4)), ("ij,k->ijk", (2, 3), (4,)),
    ("i,ij,j->", (3,), (3, 4), (4,)), ("...,...->...", (3, 4), (3, 4)), ("ij,i->j", (1, 4), (3,)),
    ("a...b,b...->a...", (2, 3, 4), (4, 3)), ("ij...,jk...->ik...", (2, 3, 5), (3, 4, 5)), ("i->", (0,)),
    ("ij,jk->ik", (3, 0), (0, 5)), ("ij,jk->iq", (3, 4), (4, 5)), ("ij,jk->ik", (3, 4), (5, 5)), ("ijk", (3, 4)),
    ("ij->ii", (3, 4)), ("i$", (3, 4)), ("ij", (3, 4), (4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: f"{c[0]} {c[1:]}")
def test_einsum(case: tuple[object, ...]) -> None:
    subscripts, *shapes = case
    for dtype in ("float64", "int32", "complex128"):
        host = [sample(dtype, s, seed=i) for i, s in enumerate(shapes)]  # type: ignore[arg-type]
        for optimize in (True, False):
            alike(lambda xp, h=host, o=optimize: xp.einsum(subscripts, *map(xp.asarray, h), optimize=o))


def test_einsum_forms() -> None:
    a, b = sample("float64", (3, 4)), sample("float64", (4, 5), seed=1)
    da, db = cp.asarray(a), cp.asarray(b)
    assert_same(cp.einsum(da, [0, 1], db, [1, 2], [0, 2]), a @ b)
    assert_same(cp.einsum(da, [0, 1], db, [1, 2]), a @ b)
    out = cp.empty((3, 5))
    assert cp.einsum("ij,jk->ik", da, db, out=out) is out
    assert_same(cp.einsum("ij,jk->ik", da, db, dtype="complex128"), np.einsum("ij,jk->ik", a, b, dtype="complex128"))
    path = cp.einsum_path("ij,jk,kl->il", da, db, cp.ones((5, 2)))
    assert path[0][0] == "einsum_path"
    assert_same(cp.einsum("ij,jk,kl->il", da, db, cp.ones((5, 2)), optimize=path[0]), a @ b @ np.ones((5, 2)))


def test_cross_and_trace() -> None:
    a, b = sample("float64", (4, 3)), sample("float64", (4, 3), seed=1)
    alike(lambda xp: xp.cross(xp.asarray(a), xp.asarray(b)))
    alike(lambda xp: xp.cross(xp.asarray(a.T), xp.asarray(b.T), axis=0))
    check(lambda xp, x: xp.trace(x), a)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf])
def test_vector_norms(ord: object) -> None:
    for dtype in ("float64", "int32", "complex128"):
        a = sample(dtype, (7,)) + np.ones(7, dtype) * 10
        alike(lambda xp, a=a: xp.linalg.norm(xp.asarray(a), ord))
        b = sample(dtype, (3, 4)) + np.ones((3, 4), dtype) * 10
        for axis in (0, 1):
            alike(lambda xp, b=b, ax=axis: xp.linalg.norm(xp.asarray(b), ord, ax, True))


def test_matrix_norms() -> None:
    a = sample("float64", (2, 3, 4))
    for ord in (None, "fro", 1, -1, np.inf, -np.inf):
        for axis in ((0, 1), (1, 2), (2, 0), (-1, -2)):
            alike(lambda xp, o=ord, ax=axis: xp.linalg.norm(xp.asarray(a), o, ax))
    assert_same(cp.linalg.norm(cp.asarray(a)), np.asarray(np.linalg.norm(a)))
    for ord in (2, -2, "nuc"):
        want = np.linalg.norm(a, ord, (1, 2))
        np.testing.assert_allclose(cp.asnumpy(cp.linalg.norm(cp.asarray(a), ord, (1, 2))), want, rtol=1e-12)
    with pytest.raises(ValueError):
        cp.linalg.norm(cp.ones((2, 2)), "bogus")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(("m", "k", "n"), [(300, 150, 401), (2100, 40, 64), (33, 300, 500), (257, 129, 193)])
def test_products_done_in_blocks(m: int, k: int, n: int, dtype: str) -> None:
    """Sizes that are not multiples of the block size; each operand plain and transposed."""
    # Small integers: no rounding.
    a = (np.arange(m * k) % 7 - 3).astype(dtype).reshape(m, k)
    b = (np.arange(k * n) % 5 - 2).astype(dtype).reshape(k, n)
    x, y = cp.asarray(a), cp.asarray(b)
    xt, yt = cp.asarray(np.ascontiguousarray(a.T)).T, cp.asarray(np.ascontiguousarray(b.T)).T
    for left, right in ((x, y), (xt, y), (x, yt), (xt, yt)):
        np.testing.assert_array_equal(cp.asnumpy(left @ right), a @ b)


A = sample("float64", (2, 3, 4))
B = sample("float64", (3, 4), seed=1)
GUFUNCS: dict[str, Any] = {
    "vecdot": lambda xp, a, b: xp.vecdot(a, b),
    "vecdot axis": lambda xp, a, b: xp.vecdot(a, b, axis=-1),
    "vecdot axis of unlike length": lambda xp, a, b: xp.vecdot(a, b, axis=1),
    "vecdot axis of none": lambda xp, a, b: xp.vecdot(a, b, axis=5),
    "vecdot first axis": lambda xp, a, b: xp.vecdot(a[0], b, axis=0),
    "vecdot first axis kept": lambda xp, a, b: xp.vecdot(a[0], b, axis=0, keepdims=True),
    "vecdot axes": lambda xp, a, b: xp.vecdot(a, b, axes=[1, 0]),
    "vecdot axes as tuples": lambda xp, a, b: xp.vecdot(a, b, axes=[(1,), (0,), ()]),
    "vecdot axes kept": lambda xp, a, b: xp.vecdot(a, b, axes=[1, 0], keepdims=True),
    "vecdot axes kept elsewhere": lambda xp, a, b: xp.vecdot(a, b, axes=[1, 0, 0], keepdims=True),
    "vecdot kept": lambda xp, a, b: xp.vecdot(a, b, keepdims=True),
    "vecdot too few axes": lambda xp, a, b: xp.vecdot(a, b, axes=[1]),
    "vecdot axes no list": lambda xp, a, b: xp.vecdot(a, b, axes=(1, 0)),
    "vecdot too many core axes": lambda xp, a, b: xp.vecdot(a, b, axes=[(1, 0), 0]),
    "vecdot a core axis too many": lambda xp, a, b: xp.vecdot(a, b, axes=[1, 0, 2]),
    "vecdot both": lambda xp, a, b: xp.vecdot(a, b, axes=[1, 0], axis=0),
    "vecdot axes of none": lambda xp, a, b: xp.vecdot(a, b, axes=[9, 0]),
    "vecdot axes of fractions": lambda xp, a, b: xp.vecdot(a, b, axes=[1.5, 0]),
    "vecdot dtype": lambda xp, a, b: xp.vecdot(a, b, dtype="float32"),
    "vecdot dtype refused": lambda xp, a, b: xp.vecdot(a, b, dtype="int32"),
    "vecdot dtype forced": lambda xp, a, b: xp.vecdot(a, b, dtype="int32", casting="unsafe"),
    "vecdot order": lambda xp, a, b: xp.vecdot(a, b, order="X"),
    "vecdot subok": lambda xp, a, b: xp.vecdot(a, b, subok=3),
    "vecdot where": lambda xp, a, b: xp.vecdot(a, b, where=True),
    "vecdot scalar": lambda xp, a, b: xp.vecdot(a, 3.0),
    "vecdot out": lambda xp, a, b: xp.vecdot(a, b, out=xp.ones((5, 2, 3))),
    "vecdot out refused": lambda xp, a, b: xp.vecdot(a, b, xp.ones((2, 3), "int64")),
    "matvec": lambda xp, a, b: xp.matvec(a, b[0]),
    "matvec axis": lambda xp, a, b: xp.matvec(a, b, axis=0),
    "matvec kept": lambda xp, a, b: xp.matvec(a, b, keepdims=True),
    "matvec axes": lambda xp, a, b: xp.matvec(a, b[:2], axes=[(0, 2), 1, 0]),
    "matvec axes without result": lambda xp, a, b: xp.matvec(a, b[:2], axes=[(0, 2), 1]),
    "vecmat": lambda xp, a, b: xp.vecmat(b[:, 0] * 1j, a),
    "vecmat axes": lambda xp, a, b: xp.vecmat(b, a, axes=[0, (1, 0), 0]),
    "matmul axes": lambda xp, a, b: xp.matmul(a, b.T, axes=[(1, 2), (0, 1), (2, 0)]),
    "matmul axes of vectors": lambda xp, a, b: xp.matmul(a, b[0], axes=[(1, 2), 0, 0]),
    "matmul axes of too many": lambda xp, a, b: xp.matmul(a, b[0], axes=[(1, 2), (0,), (0, 1)]),
    "matmul axis": lambda xp, a, b: xp.matmul(a, b.T, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", GUFUNCS)
def test_keywords_of_gufuncs(name: str) -> None:
    call = GUFUNCS[name]
    alike(lambda xp: call(xp, xp.asarray(A), xp.asarray(B)), rtol=1e-6)
