"""Bessel functions, zeta functions, elliptic integrals and combinatorics of `cuprous.scipy.special` against SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special

scipy_special = pytest.importorskip("scipy.special")

TINY = np.logspace(-300, 4, 150)
WIDE = np.concatenate([np.linspace(-60, 60, 2001), TINY, -TINY, [0.0, np.nan]])

#: name -> (relative, absolute tolerance) in float64
ACCURACY = {
    "j0": (1e-13, 2e-14), "j1": (1e-13, 2e-14), "y0": (1e-13, 2e-14), "y1": (1e-13, 2e-14), "i1": (1e-14, 0),
    "i1e": (1e-14, 0), "k0": (4e-15, 0), "k0e": (4e-15, 0), "k1": (4e-15, 0), "k1e": (4e-15, 0),
    "erfcx": (1e-14, 0), "dawsn": (5e-15, 0), "ellipk": (2e-15, 0), "ellipkm1": (2e-15, 0), "ellipe": (3e-15, 0),
    "sindg": (1e-15, 0), "cosdg": (1e-15, 0), "cosm1": (1e-13, 2e-15), "gammasgn": (0, 0),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(name: str, dtype: str) -> None:
    x = WIDE if name != "erfcx" else WIDE[~(WIDE < -26)]
    x = np.concatenate([x, np.arange(-720, 721, 7.5)]) if name.endswith("dg") else x
    if dtype == "float32":  # no subnormal numbers, no overflow
        x = x[(np.abs(x) < 80) & ((np.abs(x) > 1e-30) | (x == 0)) & ((x > -9) | (name != "erfcx"))].astype(dtype)
    rtol, atol = ACCURACY[name] if dtype == "float64" else (1e-5, 1e-6)
    with np.errstate(all="ignore"):
        theirs = getattr(scipy_special, name)(x.astype("float64"))
    ours = getattr(special, name)(cp.asarray(x))
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours.get().astype("float64"), theirs, rtol=rtol, atol=atol)


def test_tangents_in_degrees() -> None:
    x = np.concatenate([np.arange(-720, 721, 7.5), np.linspace(-500, 500, 301)])
    for name in ("tandg", "cotdg"):
        ours = getattr(special, name)(cp.asarray(x)).get()
        np.testing.assert_allclose(ours, getattr(scipy_special, name)(x), rtol=1e-11, atol=1e-15)
    x = np.linspace(-26, 26, 301)
    np.testing.assert_allclose(special.erfi(cp.asarray(x)).get(), scipy_special.erfi(x), rtol=1e-13)


def test_limits() -> None:
    inf = np.inf
    cases = {
        "k0": (0.0,), "k1": (inf,), "i1e": (inf,), "erfcx": (inf, -inf), "dawsn": (-inf,), "erfi": (-inf,),
        "ellipk": (-inf, 1.0, 2.0), "ellipe": (1.0, 2.0), "y0": (0.0,), "y1": (0.0, -1.0),
        "gammasgn": (-0.0, -inf, -3.0),
    }  # fmt: skip
    for name, points in cases.items():
        for at in points:
            np.testing.assert_equal(float(getattr(special, name)(at)), float(getattr(scipy_special, name)(at)))
    # SciPy has NaN; these are the limits.
    assert [float(getattr(special, n)(inf)) for n in ("j0", "j1", "y0", "y1", "i1")] == [0, 0, 0, 0, inf]


def test_box_cox() -> None:
    x, lmbda = np.linspace(-0.9, 20, 40), np.array([0.0, 0.5, -1.0, 2.0, 1e-9])[:, None]
    ours = special.boxcox1p(cp.asarray(x), cp.asarray(lmbda))
    np.testing.assert_allclose(ours.get(), scipy_special.boxcox1p(x, lmbda), rtol=1e-13)
    back = special.inv_boxcox1p(ours, cp.asarray(lmbda)).get()
    np.testing.assert_allclose(back, np.broadcast_to(x, back.shape), rtol=1e-10)
    y = np.linspace(0, 0.9, 30)
    theirs = scipy_special.inv_boxcox1p(y, lmbda)
    np.testing.assert_allclose(special.inv_boxcox1p(cp.asarray(y), cp.asarray(lmbda)).get(), theirs, rtol=1e-13)


def test_zeta_and_polygamma() -> None:
    x, q = (
        np.concatenate([np.linspace(1.01, 60, 60), [1.0, 0.5]]),
        np.array([0.1, 0.5, 1, 3.7, 1e4])[:, None],
    )
    assert np.isnan(special.zeta(cp.array([np.nan, 2.0]), cp.array([1.0, np.nan])).get()).all()
    np.testing.assert_allclose(special.zeta(cp.asarray(x), cp.asarray(q)).get(), scipy_special.zeta(x, q), rtol=1e-13)
    assert float(special.zeta(2.0, 0.0)) == np.inf
    np.testing.assert_allclose(special.zeta(cp.asarray(x[:50])).get(), scipy_special.zeta(x[:50]), rtol=1e-14)
    assert special.zeta(cp.ones(2, dtype="float32") * 2, 1.0).dtype == np.float32
    n, x = np.arange(6)[:, None], np.linspace(0.1, 30, 50)
    ours = special.polygamma(cp.asarray(n), cp.asarray(x))
    np.testing.assert_allclose(ours.get(), scipy_special.polygamma(n, x), rtol=2e-14)
    np.testing.assert_allclose(float(special.polygamma(1, 2.5)), scipy_special.polygamma(1, 2.5), rtol=1e-14)


def test_combinatorics() -> None:
    n, k = np.arange(40)[:, None], np.arange(-2, 45)
    np.testing.assert_allclose(special.comb(cp.asarray(n), cp.asarray(k)).get(), scipy_special.comb(n, k), rtol=1e-13)
    np.testing.assert_allclose(special.perm(cp.asarray(n), cp.asarray(k)).get(), scipy_special.perm(n, k), rtol=1e-13)
    some, few = n[1:20], k[2:20]
    ours = special.comb(cp.asarray(some), cp.asarray(few), repetition=True)
    np.testing.assert_allclose(ours.get(), scipy_special.comb(some, few, repetition=True), rtol=1e-13)
    np.testing.assert_allclose(
        special.factorial(cp.arange(-2, 171)).get(), scipy_special.factorial(np.arange(-2, 171)), rtol=1e-14
    )
    for name, arguments in (("factorial", (3,)), ("comb", (3, 2)), ("perm", (3, 2))):
        with pytest.raises(NotImplementedError, match="exact"):
            getattr(special, name)(*arguments, exact=True)


def grid(orders: list[float], places: list[float]) -> list[np.ndarray]:
    return np.meshgrid(np.array(orders), np.array(places))


PLACES = [0.0, 1e-8, 0.5, 2.0, 7.7, 20.0, 49.9, 50.1, 300.0, 600.0, np.nan]


@pytest.mark.parametrize("name", ["iv", "ive", "kn"])
def test_modified_bessel_functions_of_any_order(name: str) -> None:
    orders = [0, 1, 2, 10, 49, 50, 120] + ([-1, -2, 0.25, 1.5, 49.5, 50.5] if name != "kn" else [])
    v, x = grid(orders, [*PLACES, -3.3, -60.0])
    v = v.astype(int) if name == "kn" else v
    want = getattr(scipy_special, name)(v, x)
    np.testing.assert_allclose(
        getattr(special, name)(cp.asarray(v), cp.asarray(x)).get(), want, rtol=1e-10, atol=1e-290
    )
    if name == "kn":
        half = special.kn(1, cp.asarray(x[1:4, 0].astype("float32")))
        assert half.dtype == np.float32
        np.testing.assert_allclose(half.get(), scipy_special.kn(1, x[1:4, 0].astype("float32")), rtol=1e-6)


def test_bessel_functions_of_whole_orders() -> None:
    n, x = grid([0, 1, 2, 5, 30, -1, -4], [*PLACES, 29.0, 31.0, 1e4, -25.0])
    got, want = special.jn(cp.asarray(n), cp.asarray(x)).get(), scipy_special.jn(n, x)
    near = np.abs(x) <= np.abs(n)
    np.testing.assert_allclose(got[near], want[near], rtol=1e-11)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        special.jn(300, cp.asarray([250.0, 299.0])).get(), scipy_special.jn(300, [250, 299]), rtol=1e-11
    )
    with pytest.raises(NotImplementedError, match="401"):
        special.jn(401, 1.0)


@pytest.mark.parametrize("k", [0, -1, 1])
def test_lambert(k: int) -> None:
    rng = np.random.default_rng(5)
    turn = np.exp(2j * np.pi * rng.random(80))
    known = [0, -0.36, -0.2, -1e-5, -1e-300, 1e-300, 1.45, 1e300, np.inf, -np.inf, np.nan, 1j]
    z = np.concatenate([10 ** rng.uniform(-4, 4, 80) * turn, -np.exp(-1) + 0.3 * rng.random(80) * turn, known])
    np.testing.assert_allclose(special.lambertw(cp.asarray(z), k).get(), scipy_special.lambertw(z, k), rtol=1e-13)


def test_lambert_of_several_branches() -> None:
    z, k = np.array([0.5, -0.1, 2 - 1j]), np.array([[0], [-1], [2]])
    got = special.lambertw(cp.asarray(z), cp.asarray(k))
    assert got.dtype == np.complex128
    np.testing.assert_allclose(got.get(), scipy_special.lambertw(z, k), rtol=1e-13)
