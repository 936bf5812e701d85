"""Tests SciPy's array API support (SCIPY_ARRAY_API=1): functions that run on devices agree with NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("SciPy was started without SCIPY_ARRAY_API=1; use `make test-clients`", allow_module_level=True)
scipy = pytest.importorskip("scipy", "1.16", reason="SciPy 1.16 is not installed (requirements-clients.txt)")

from scipy import cluster, differentiate, fft, integrate, optimize, signal, spatial, special, stats  # noqa: E402
from scipy.optimize import elementwise  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = RNG.random((30, 8)) + 0.1, RNG.random((30, 8)) + 0.2
V = RNG.standard_normal(200)
EDGES = np.array([[0.0, 1.0], [2.0, 3.0]])


def _of_one(module: Any, names: str) -> dict[str, Callable[[Any], Any]]:
    """Returns functions of one array."""
    return {name: lambda xp, name=name: getattr(module, name)(xp.asarray(X * 0.8)) for name in names.split()}


def _of_two(module: Any, names: str) -> dict[str, Callable[[Any], Any]]:
    """Returns functions of two arrays."""
    return {name: lambda xp, name=name: getattr(module, name)(xp.asarray(X), xp.asarray(Y)) for name in names.split()}


CALLS: dict[str, Callable[[Any], Any]] = {
    **_of_one(special, "entr erf erfc expit gammaln i0 i0e log_expit log_ndtr logit ndtr ndtri psi logsumexp softmax"),
    **_of_two(special, "kl_div rel_entr xlogy xlog1py"),
    "logsumexp weighted": lambda xp: special.logsumexp(xp.asarray(X), axis=0, b=xp.asarray(Y)),
    **_of_one(
        stats,
        "circmean circstd circvar differential_entropy entropy gmean gstd gzscore hmean iqr kurtosis kurtosistest "
        "lmoment median_abs_deviation moment rankdata sem skew skewtest tmean tstd tvar variation zscore",
    ),
    "zmap": lambda xp: stats.zmap(xp.asarray(X), xp.asarray(Y)),
    "pmean": lambda xp: stats.pmean(xp.asarray(X), 2),
    "tmin": lambda xp: stats.tmin(xp.asarray(X), 0.3),
    "boxcox_llf": lambda xp: stats.boxcox_llf(1.0, xp.asarray(X)),
    "describe": lambda xp: tuple(stats.describe(xp.asarray(X)))[2:],
    "sigmaclip": lambda xp: stats.sigmaclip(xp.asarray(V), 2.0, 2.0)[0],
    "false_discovery_control": lambda xp: stats.false_discovery_control(xp.asarray(X[:, 0] * 0.8)),
    "directional_stats": lambda xp: stats.directional_stats(xp.asarray(X)).mean_direction,
    "mannwhitneyu": lambda xp: stats.mannwhitneyu(xp.asarray(X), xp.asarray(Y), method="asymptotic").pvalue,
    "trapezoid": lambda xp: integrate.trapezoid(xp.asarray(X), axis=0),
    "cumulative_trapezoid": lambda xp: integrate.cumulative_trapezoid(xp.asarray(X)),
    "cumulative_simpson": lambda xp: integrate.cumulative_simpson(xp.asarray(X)),
    "tanhsinh": lambda xp: integrate.tanhsinh(xp.exp, *xp.asarray(EDGES)).integral,
    "cubature": lambda xp: integrate.cubature(lambda t: xp.exp(-t[:, 0]), xp.zeros(1), xp.ones(1)).estimate,
    "derivative": lambda xp: differentiate.derivative(xp.exp, xp.asarray(V[:5])).df,
    "jacobian": lambda xp: differentiate.jacobian(lambda t: t**2, xp.asarray(V[:3])).df,
    "find_root": lambda xp: optimize.elementwise.find_root(lambda t: t**2 - 2, tuple(xp.asarray(EDGES))).x,
    "bracket_root": lambda xp: elementwise.bracket_root(lambda t: t - 5.0, xp.zeros(2)).bracket,
    "rosen": lambda xp: optimize.rosen(xp.asarray(V[:4])),
    "rosen_der": lambda xp: optimize.rosen_der(xp.asarray(V[:4])),
    "fft": lambda xp: fft.fft(xp.asarray(X)),
    "rfft2": lambda xp: fft.rfft2(xp.asarray(X)),
    "fftconvolve": lambda xp: signal.fftconvolve(xp.asarray(V), xp.asarray(V[:9])),
    "hann": lambda xp: signal.windows.hann(9, xp=xp),
    "kaiser": lambda xp: signal.windows.kaiser(9, 3.0, xp=xp),
    "get_window": lambda xp: signal.get_window("hamming", 9, xp=xp),
    "whiten": lambda xp: cluster.vq.whiten(xp.asarray(X)),
    "from_rotvec": lambda xp: spatial.transform.Rotation.from_rotvec(xp.asarray(X[:, :3])).as_matrix(),
    "from_euler": lambda xp: spatial.transform.Rotation.from_euler("xyz", xp.asarray(X[:, :3])).as_quat(),
    "rotate": lambda xp: spatial.transform.Rotation.from_quat(xp.asarray(X[:, :4])).apply(xp.asarray(X[:, 4:7])),
}


@pytest.mark.filterwarnings("ignore")  # SciPy's remarks on small samples
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_as_numpy(call: Callable[[Any], Any]) -> None:
    theirs, ours = call(np), call(cp)
    for mine, other in zip(*((ours, theirs) if isinstance(theirs, tuple) else ((ours,), (theirs,))), strict=True):
        assert isinstance(mine, cp.ndarray)
        assert_same(mine, other, rtol=1e-7, atol=1e-10)


def test_ufuncs_dispatch_by_themselves() -> None:
    """SciPy's ufuncs use NumPy's override protocol, independent of SCIPY_ARRAY_API."""
    from scipy.special._ufuncs import ber, expit, gammaln

    ours = expit(cp.asarray(X))
    assert isinstance(ours, cp.ndarray)
    assert_same(ours, expit(X), rtol=1e-13)
    assert_same(gammaln(cp.asarray(X)), gammaln(X), rtol=1e-12, atol=1e-14)
    assert_same(ber(cp.asarray(X)), ber(X))  # not in Cuprous, so it runs on the host


def test_what_scipy_computes_on_the_host_alone() -> None:
    found = signal.lfilter(cp.ones(2), cp.ones(1), cp.asarray(V))
    np.testing.assert_array_equal(np.asarray(found), signal.lfilter(np.ones(2), np.ones(1), V))
    with cp.set_transfers("refuse"), pytest.raises(cp.ImplicitConversionError, match="get"):
        signal.lfilter(cp.ones(2), cp.ones(1), cp.asarray(V))
