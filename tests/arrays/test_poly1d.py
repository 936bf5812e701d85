"""`poly1d` and `polynomial` against NumPy's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_errors


def host(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [host(part) for part in x]
    if isinstance(x, np.bool):
        return bool(x)
    return x.get() if hasattr(x, "get") else np.asarray(x) if isinstance(x, np.generic) else x


def same(ours: Any, theirs: Any) -> None:
    got, want = host(ours), host(theirs)
    assert type(got) is type(want)
    if isinstance(want, list):
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    if isinstance(want, np.poly1d):
        assert got.variable == want.variable
        got, want = got.coeffs, want.coeffs
    if isinstance(want, np.ndarray):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-6)
    else:
        assert got == want


EXPRESSIONS = [
    "p", "p + 1", "1 + p", "p * q", "p * 2", "2 * p", "p / 2", "p / q", "2 / q", "p ** 3", "p ** 0", "p - q", "1 - p",
    "p(2)", "p(q)", "p([[1, 2], [3, 4]])", "p.order", "len(p)", "p[0]", "p[7]", "p[-1]", "list(q)", "p == p", "p != q",
    "p == q", "-p", "+p", "p.integ()", "p.integ(2, [1, 2])", "p.deriv()", "p.deriv(5)", "xp.polyadd(p, [1, 2, 3, 4])",
    "xp.polymul([1, 2], q)", "xp.polydiv(p, q)", "xp.polyval(p, 3)", "xp.polyval([1, 2], p)", "xp.polyder(q)",
    "xp.polyint(q, 2)", "xp.polysub(q, 1)", "xp.roots(q)", "p.r", "p.c", "repr(p)", "str(p)", "xp.asarray(p)",
    "xp.add(p, 1)", "xp.sin(p)", "xp.arange(3) * q", "p + xp.arange(3)", "xp.poly1d([1, 2], True)",
    "xp.poly1d([])", "xp.poly1d(3, variable='z')", "xp.poly1d(p, variable='t')", "xp.polyfit([1, 2, 3], q, 0)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
@pytest.mark.parametrize("code", EXPRESSIONS)
def test_polynomials(code: str, dtype: str) -> None:
    results = []
    for xp in (cp, np):
        p, q = (xp.poly1d(xp.asarray(c, dtype=dtype)) for c in ([0, 0, 1, -2, 3], [1, 4, 2]))
        results.append(eval(code, {"xp": xp, "p": p, "q": q}))
    same(*results)


def test_coefficients_can_be_written() -> None:
    for key in (0, 2, 6):
        ours, theirs = cp.poly1d([0, 1, 2]), np.poly1d([0, 1, 2])
        ours[key] = theirs[key] = 5
        same(ours, theirs)
    ours.set(np.poly1d(np.arange(1, 8), variable="w"))
    same(ours, np.poly1d(np.arange(1, 8), variable="w"))
    same(pickle.loads(pickle.dumps(ours)), ours.get())
    same(cp.poly1d(np.poly1d([1, 2], variable="y")), np.poly1d([1, 2], variable="y"))
    same(2.0 * cp.poly1d([1, 2]), np.poly1d([1, 2]) * 2.0)
    same(np.float64(2) * cp.poly1d([1, 2]), np.poly1d([1, 2]) * 2.0)


def test_bad_polynomials() -> None:
    p = cp.poly1d([1, 2])

    def write(key: int) -> None:
        p[key] = 1

    assert_errors(
        (lambda: cp.poly1d([[1, 2]]), ValueError), (lambda: p**-1, ValueError), (lambda: p**1.5, ValueError),
        (lambda: p**2.0, TypeError), (lambda: write(-1), ValueError), (lambda: hash(p), TypeError),
        (lambda: p.set([1, 2]), TypeError), (lambda: setattr(p, "coeffs", cp.ones(2)), AttributeError),
        (lambda: p.deriv(-1), ValueError),
    )  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "polynomial.polyvander(a, 5)", "polynomial.polyvander(a.reshape(2, 2), 3)", "polynomial.polyvander(a, 0)",
        "polynomial.polyvander(3, 2)", "polynomial.polyvander(a[:0], 2)", "polynomial.polycompanion(a)",
        "polynomial.polycompanion([1, 2, 0])", "polyutils.trimseq(a)", "polyutils.trimseq(a[:0])",
        "polyutils.as_series([2, a])", "polyutils.as_series([a, b], trim=False)", "polyutils.trimcoef(b, 0.1)",
        "polyutils.trimcoef(b, 9)",
    ],
)  # fmt: skip
def test_functions_of_numpys_package(code: str) -> None:
    results = []
    for xp in (cp, np):
        a, b = xp.asarray([1, 2, 3, 0]), xp.asarray([1.0, 0.5, 1e-3, 0], dtype="f4")
        results.append(eval(code, {**vars(xp.polynomial), "a": a, "b": b}))
    same(*results)


def test_bad_series() -> None:
    p, u = cp.polynomial.polynomial, cp.polynomial.polyutils
    assert_errors(
        (lambda: p.polyvander([1], -1), ValueError), (lambda: p.polyvander([1], eval("2.0")), TypeError),
        (lambda: p.polycompanion([1, 0]), ValueError), (lambda: u.as_series([[]]), ValueError),
        (lambda: u.as_series([[[1]]]), ValueError), (lambda: u.as_series([[True]]), ValueError),
        (lambda: u.trimcoef([1], -1), ValueError), (lambda: u.trimseq([[1, 0]]), ValueError),
        (lambda: u.trimseq(3), TypeError),
    )  # fmt: skip
