"""`cuprous.scipy.special` against SciPy, function by function, in both dtypes and at the edges."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special

from . import compared

scipy_special = pytest.importorskip("scipy.special")

WIDE = np.concatenate([np.linspace(-6, 6, 97), [-40.0, -25.0, -12.5, 20.0, 35.5, 100.0, 1e-10, -1e-10, 1e-300, 0.0]])
OPEN_UNIT = np.concatenate([np.linspace(0.0, 1.0, 101), [1e-300, 1e-20, 1e-8, 1 - 1e-8, 0.13, 0.14, 0.86, 0.87]])
POSITIVE = np.concatenate([np.linspace(0.05, 12, 97), [25.0, 60.5, 1e-3, 150.0]])

#: name -> (arguments, relative tolerance in float64)
UNARY: dict[str, tuple[Any, float]] = {
    "erf": (WIDE, 1e-14), "erfc": (WIDE, 1e-12), "erfinv": (np.linspace(-1, 1, 201), 1e-12),
    "erfcinv": (OPEN_UNIT * 2, 1e-12), "gamma": (np.concatenate([POSITIVE, [-0.5, -1.5, -3.25]]), 1e-12),
    "gammaln": (np.concatenate([POSITIVE, [-0.5, -1.5, -3.25, 1e5]]), 1e-12),
    "loggamma": (np.concatenate([POSITIVE, [-0.5, 1e5]]), 1e-12),
    "rgamma": (np.concatenate([POSITIVE, [-0.5, -1.0, -3.0, 0.0]]), 1e-12),
    "digamma": (np.concatenate([POSITIVE, [-0.5, -1.75]]), 1e-11), "psi": (POSITIVE, 1e-11), "expit": (WIDE, 1e-14),
    "logit": (OPEN_UNIT, 1e-14), "log_expit": (WIDE, 1e-14), "ndtr": (WIDE, 1e-12), "ndtri": (OPEN_UNIT, 1e-13),
    "log_ndtr": (WIDE, 1e-12), "i0": (WIDE, 1e-13),
    "i0e": (np.concatenate([WIDE, [49.0, 51.0, 700.0, 1e5, -1e5]]), 1e-13), "sinc": (np.linspace(-3.3, 3.3, 91), 1e-12),
    "entr": (np.concatenate([POSITIVE, [0.0, -1.0]]), 1e-14), "exp10": (np.linspace(-20, 20, 81), 1e-13),
    "exp2": (WIDE[:-5], 1e-14), "expm1": (WIDE[:-5], 1e-14), "log1p": (POSITIVE - 0.9, 1e-14), "exprel": (WIDE, 1e-14),
    "cbrt": (WIDE, 1e-14),
}  # fmt: skip

A = np.linspace(0.1, 20, 23)
B = np.concatenate([np.linspace(0.2, 15, 17), [0.0]])[:, None]

#: name -> (two arguments, relative tolerance in float64)
BINARY: dict[str, tuple[Any, Any, float]] = {
    "beta": (A, B[:-1], 1e-11),
    "betaln": (A, B[:-1], 1e-11),
    "binom": (np.arange(30.0), np.arange(12.0)[:, None], 1e-11),
    "xlogy": (np.concatenate([A, [0.0]]), B, 1e-14),
    "xlog1py": (np.concatenate([A, [0.0]]), B, 1e-14),
    "rel_entr": (np.concatenate([A, [0.0, -1.0]]), B, 1e-13),
    "kl_div": (np.concatenate([A, [0.0, -1.0]]), B, 1e-12),
    "huber": (np.array([0.0, 0.5, 1.5, -1.0]), np.linspace(-3, 3, 25)[:, None], 1e-14),
    "pseudo_huber": (np.array([0.0, 0.5, 1.5, -1.0]), np.linspace(-3, 3, 25)[:, None], 1e-13),
    "boxcox": (A, np.array([0.0, 0.5, -1.0, 2.0])[:, None], 1e-12),
    "powm1": (np.concatenate([A, -A, [0.0, 1 + 1e-9]]), np.array([0.0, 1e-12, -0.02, 0.5, 3.0, -4.0])[:, None], 1e-14),
    "inv_boxcox": (np.linspace(0.1, 0.9, 9), np.array([0.0, 0.5, -1.0, 2.0])[:, None], 1e-12),
}


close = partial(compared.close, atol=0.0)


@pytest.mark.parametrize("name", UNARY)
def test_unary_in_float64(name: str) -> None:
    x, rtol = UNARY[name]
    with np.errstate(all="ignore"):
        close(getattr(special, name)(cp.asarray(x)), getattr(scipy_special, name)(x), rtol, atol=1e-15)


@pytest.mark.parametrize("name", UNARY)
def test_unary_in_float32(name: str) -> None:
    x = UNARY[name][0].astype(np.float32)
    x = x[(np.abs(x) < 30) & ((np.abs(x) > 1e-30) | (x == 0))]
    with np.errstate(all="ignore"):
        theirs = getattr(scipy_special, name)(x.astype(np.float64)).astype(np.float32)
        near_pole = np.abs(theirs) > 1e30
    ours = getattr(special, name)(cp.asarray(x))
    assert ours.dtype == np.float32
    host = cp.asnumpy(ours)
    tolerance = 2e-4 if name in ("erfc", "ndtr", "exp10", "gamma", "rgamma") else 5e-5
    np.testing.assert_allclose(host[~near_pole], theirs[~near_pole], rtol=tolerance, atol=5e-6)


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(name: str) -> None:
    a, b, rtol = BINARY[name]
    with np.errstate(all="ignore"):
        close(
            getattr(special, name)(cp.asarray(a), cp.asarray(b)), getattr(scipy_special, name)(a, b), rtol, atol=1e-13
        )


@pytest.mark.parametrize("name", BINARY)
def test_binary_takes_scalars_on_either_side(name: str) -> None:
    a, b, rtol = BINARY[name]
    ours, theirs = getattr(special, name), getattr(scipy_special, name)
    left, right = float(a[3]), float(b[2, 0])
    with np.errstate(all="ignore"):
        close(ours(left, cp.asarray(b)), theirs(left, b), rtol, atol=1e-13)
        close(ours(cp.asarray(a), right), theirs(a, right), rtol, atol=1e-13)
        np.testing.assert_allclose(float(ours(left, right)), theirs(left, right), rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_nan_stays_nan(name: str) -> None:
    nan = cp.array([np.nan, 1.0])
    arguments = (nan,) if name in UNARY else (nan, nan)
    assert np.isnan(cp.asnumpy(getattr(special, name)(*arguments))[0])


@pytest.mark.parametrize(("name", "x"), [
    ("erf", [np.inf, -np.inf]), ("erfc", [np.inf, -np.inf]), ("erfinv", [1, -1, 1.5]), ("erfcinv", [0, 2, -1, 3]),
    ("logit", [0, 1, -1, 2]), ("log_expit", [-np.inf, np.inf]), ("ndtri", [0, 1, -0.1, 1.1]),
    ("log_ndtr", [-np.inf, np.inf, -1e10]), ("entr", [-np.inf, np.inf]), ("i0e", [np.inf, -np.inf]),
    ("exprel", [0, np.inf, -np.inf]), ("gammaln", [0, -1, np.inf]), ("expit", [-np.inf, np.inf]),
])  # fmt: skip
def test_limits(name: str, x: list[float]) -> None:
    host = np.array(x, dtype=float)
    close(getattr(special, name)(cp.asarray(host)), getattr(scipy_special, name)(host), 1e-14)


def test_limits_of_powm1() -> None:
    """SciPy's 0.5 ** -inf - 1 is 0 and its sign of -0.0 ** -1 is positive, so bases have neither."""
    y = np.array([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan])
    x = np.array([-np.inf, -2.0, -0.5, 0.0, 1.0, 2.0, np.inf, np.nan])[:, None]
    with np.errstate(all="ignore"):
        close(special.powm1(cp.asarray(x), cp.asarray(y)), scipy_special.powm1(x, y), 1e-14)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "uint16", "int32", "uint64", "float16", "float32"])
def test_result_dtypes(dtype: str) -> None:
    """float32 for float32, otherwise float64. SciPy has the same from 1.16 on, but not for every function: those whose
    first loop is the one of float32, before 1.16 all, take it for whatever casts safely to float32."""
    x = np.array([0, 1], dtype=dtype)
    ours = "float32" if dtype == "float32" else "float64"
    for name, arguments in (("erf", 1), ("xlogy", 2), ("entr", 1), ("gammaln", 1)):
        expected = getattr(scipy_special, name)(*(x,) * arguments)
        assert expected.dtype == ours or (expected.dtype == "float32" and np.can_cast(dtype, "float32"))
        actual = getattr(special, name)(*(cp.asarray(x),) * arguments)
        assert actual.dtype == ours
        np.testing.assert_allclose(actual.get(), expected, rtol=1e-6)


def test_python_scalars_do_not_promote() -> None:
    assert special.xlogy(cp.ones(2, dtype=cp.float32), 2.0).dtype == np.float32
    assert special.huber(1, cp.ones(2, dtype=cp.float32)).dtype == np.float32
    x = cp.asarray([0.25, 0.75], dtype=cp.float32)
    named = (getattr(special, name) for name in special.__all__)
    for function in (f for f in named if isinstance(f, special.SpecialFunction) and f.nin > 1):
        for place in range(function.nin):
            result = function(*[x if i == place else 0.5 for i in range(function.nin)])
            assert result.dtype == np.float32, (function, place)


def test_empty_and_zero_dimensional() -> None:
    assert special.erf(cp.zeros((0, 3))).shape == (0, 3)
    assert special.ndtri(cp.array(0.5)).shape == ()
    assert special.erf(0.5).shape == ()
    assert special.radian(1.0, 30.0, cp.array([0.0, 36.0])).shape == (2,)
    close(special.radian(1.0, 30.0, cp.array([0.0, 36.0])), scipy_special.radian(1.0, 30.0, [0.0, 36.0]), 1e-15)


def test_out_receives_the_result() -> None:
    x, out = cp.array([0.5, 1.0]), cp.zeros(2)
    assert special.erf(x, out=out) is out
    close(out, scipy_special.erf([0.5, 1.0]), 1e-14)
    assert special.erf(x, out) is out
    with pytest.raises(TypeError, match="Cannot cast"):
        special.erf(x, out=cp.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="broadcast"):
        special.erf(x, out=cp.zeros(3))


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: special.erf(), TypeError, "positional arguments"),
    (lambda: special.erf(1.0, size=3), TypeError, "unexpected keyword"),
    (lambda: special.erf(cp.ones(2), where=cp.array([True, False])), NotImplementedError, "where"),
    (lambda: special.ndtri(cp.ones(2, dtype=complex)), TypeError, "complex"),
    (lambda: special.xlogy(cp.ones(2), cp.ones(3)), ValueError, "broadcast"),
])  # fmt: skip
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_known_binomials_are_exact() -> None:
    n, k = np.arange(40.0), np.arange(40.0)[:, None]
    host = cp.asnumpy(special.binom(cp.asarray(n), cp.asarray(k)))
    np.testing.assert_array_equal(host, np.rint(scipy_special.binom(n, k)))


CUBE = np.linspace(-3, 4, 24).reshape(2, 3, 4) ** 3


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis: Any, keepdims: bool) -> None:
    x = cp.asarray(CUBE)
    close(
        special.logsumexp(x, axis=axis, keepdims=keepdims),
        scipy_special.logsumexp(CUBE, axis=axis, keepdims=keepdims), 1e-14,
    )  # fmt: skip
    b = np.linspace(-1, 2, 4)
    ours = special.logsumexp(x, axis, cp.asarray(b), keepdims, True)
    theirs = scipy_special.logsumexp(CUBE, axis=axis, b=b, keepdims=keepdims, return_sign=True)
    for mine, his in zip(ours, theirs, strict=True):
        close(mine, his, 1e-12)


def test_logsumexp_at_the_edges() -> None:
    inf = float("inf")
    for values in ([-inf, -inf], [inf, 1.0], [-inf, 0.0], [1000.0, 1000.0], [-1000.0, -1000.0]):
        np.testing.assert_allclose(float(special.logsumexp(cp.array(values))), scipy_special.logsumexp(values))
    weighted = special.logsumexp(cp.array([inf, 1.0]), b=cp.array([0.0, 2.0]))
    np.testing.assert_allclose(float(weighted), 1 + np.log(2))
    assert np.isnan(float(special.logsumexp(cp.array([0.0, 1.0]), b=cp.array([1.0, -1.0]))))
    assert special.logsumexp(cp.ones(3, dtype=cp.float32)).dtype == np.float32
    with pytest.raises(np.exceptions.AxisError):
        special.logsumexp(cp.ones(3), axis=1)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
def test_softmax(axis: Any) -> None:
    x = cp.asarray(CUBE)
    close(special.softmax(x, axis=axis), scipy_special.softmax(CUBE, axis=axis), 1e-13)
    close(special.log_softmax(x, axis=axis), scipy_special.log_softmax(CUBE, axis=axis), 1e-13, atol=1e-15)


def test_get_array_module() -> None:
    import scipy

    import cuprous.scipy

    assert cuprous.scipy.get_array_module(cp.ones(1)) is cuprous.scipy
    assert cuprous.scipy.get_array_module(np.ones(1)) is scipy


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_float16_stays_float16(name: str) -> None:
    x = np.linspace(-3, 4, 12).reshape(3, 4).astype("float16")
    for axis in (None, 1):
        ours, theirs = getattr(special, name)(cp.asarray(x), axis=axis), getattr(scipy_special, name)(x, axis=axis)
        assert ours.dtype == theirs.dtype == "float16"
        np.testing.assert_allclose(ours.get(), theirs, rtol=3e-3)


def test_invalid_dimension_and_aliases() -> None:
    assert special.psi is special.digamma
    with pytest.raises(ValueError, match="dimension"):
        special.multigammaln(cp.ones(3), cp.arange(3))
