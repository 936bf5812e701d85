"""Libraries that work on the host read arrays as they are: pandas, matplotlib, Pillow, SciPy, scikit-learn, imageio."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

WANTS = "is not installed (requirements-clients.txt)"


def test_pandas() -> None:
    pd = pytest.importorskip("pandas", reason=f"pandas {WANTS}")
    a = cp.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(a, columns=["x", "y"])
    assert frame["y"].sum() == 9.0
    back = cp.asarray(frame.to_numpy())
    assert bool((back == a).all())
    assert bool((cp.asarray(frame["x"]) == a[:, 0]).all())
    assert pd.Series(a[:, 0]).tolist() == [0, 2, 4]
    assert pd.DataFrame({"x": a[:, 0], "n": cp.arange(3)}).dtypes.tolist() == [np.float64, np.int64]
    frame["z"] = a.sum(axis=1)
    assert frame["z"].tolist() == [1, 5, 9]
    assert (frame["x"] + a[:, 1]).tolist() == [1, 5, 9]
    assert frame.iloc[cp.asarray([2, 0])]["x"].tolist() == [4, 0]
    with cp.set_transfers("refuse"), pytest.raises(cp.ImplicitConversionError, match="get"):
        pd.Series(a[:, 0]).sum()


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason=f"matplotlib {WANTS}")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = cp.linspace(0, 6, 50)
    figure, axes = pyplot.subplots(2, 3)
    (line,) = axes[0, 0].plot(x, cp.sin(x))
    np.testing.assert_array_equal(line.get_ydata(), cp.sin(x).get())
    image = axes[0, 1].imshow(cp.outer(x, x))
    np.testing.assert_array_equal(image.get_array(), cp.outer(x, x).get())
    counts, _, _ = axes[0, 2].hist(cp.sin(x), bins=5)
    assert counts.sum() == 50
    axes[1, 0].scatter(x, x**2, c=x, s=x)
    axes[1, 0].axvline(x[3], label=f"{x[3]:.2f}")
    axes[1, 0].set_xlim(x.min(), x.max())
    axes[1, 1].contourf(cp.outer(x, x))
    axes[1, 1].errorbar(x, x, yerr=x / 10)
    axes[1, 2].bar(cp.arange(3), cp.asarray([3, 1, 2]))
    axes[1, 2].fill_between(x, x, x + 1)
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close(figure)


@pytest.mark.parametrize(("mode", "shape"), [("L", (4, 5)), ("RGB", (4, 5, 3)), ("RGBA", (4, 5, 4))])
def test_pillow(mode: str, shape: tuple[int, ...]) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (requirements-dev.txt)")
    values = cp.arange(int(np.prod(shape))).reshape(shape).astype("uint8")
    for a in (values, values[::-1], values[:, 1:4]):
        picture = image.fromarray(a)
        assert picture.mode == mode
        assert_same(cp.asarray(picture), a.get())
        assert_same(a + picture, a.get() + np.asarray(picture))


def test_imageio(tmp_path: Any) -> None:
    imageio = pytest.importorskip("imageio.v3", reason=f"imageio {WANTS}")
    a = cp.arange(60).reshape(4, 5, 3).astype("uint8")
    imageio.imwrite(tmp_path / "a.png", a)
    assert_same(cp.asarray(imageio.imread(tmp_path / "a.png")), a.get())


def test_scipy() -> None:
    signal = pytest.importorskip("scipy.signal", reason="SciPy is not installed")
    from scipy import interpolate, optimize, spatial, stats

    x = np.linspace(0, 4, 30)
    d = cp.asarray(x)
    np.testing.assert_array_equal(signal.lfilter([1.0, 0.5], [1.0], d), signal.lfilter([1.0, 0.5], [1.0], x))
    np.testing.assert_allclose(stats.norm.cdf(d), stats.norm.cdf(x))
    np.testing.assert_allclose(interpolate.CubicSpline(d, cp.sin(d))(1.3), interpolate.CubicSpline(x, np.sin(x))(1.3))
    assert spatial.cKDTree(d.reshape(-1, 1)).query([1.0])[1] == spatial.cKDTree(x.reshape(-1, 1)).query([1.0])[1]
    found = optimize.minimize(lambda v: ((cp.asarray(v) - 2) ** 2).sum(), np.zeros(2))
    np.testing.assert_allclose(found.x, [2, 2], atol=1e-5)
    (slope, _), _ = optimize.curve_fit(lambda v, a, b: a * v + b, d, 3 * d + 1)
    assert slope == pytest.approx(3)


def test_sklearn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason=f"scikit-learn {WANTS}")
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = (x[:, 0] > 0).astype(int)
    dx, dy = cp.asarray(x), cp.asarray(y)
    model = linear_model.LinearRegression().fit(dx, dy)
    np.testing.assert_allclose(model.coef_, linear_model.LinearRegression().fit(x, y).coef_)
    assert RandomForestClassifier(5, random_state=0).fit(dx, dy).score(dx, dy) > 0.9
    assert KMeans(2, n_init=1, random_state=0).fit(dx).labels_.shape == (60,)
    np.testing.assert_array_equal(cp.asnumpy(dx), x)  # it centers a copy


def test_xarray() -> None:
    """What xarray does with SciPy and pandas is done on the host; NumPy's labels choose elements on the device."""
    xr = pytest.importorskip("xarray", reason=f"xarray {WANTS}")
    x = np.array([1.0, 4, np.nan, 16, 25])
    ours, theirs = (xr.DataArray(values, dims="t", coords={"t": np.arange(5.0)}) for values in (cp.asarray(x), x))
    for work in (
        lambda a: a.interp(t=[0.5, 1.5]), lambda a: a.interpolate_na("t"), lambda a: a.where(a.t > 2),
        lambda a: a.polyfit("t", 1).polyfit_coefficients, lambda a: a.dropna("t"), lambda a: a.to_pandas(),
    ):  # fmt: skip
        np.testing.assert_allclose(np.asarray(work(ours)), np.asarray(work(theirs)), rtol=1e-12)
    assert isinstance(ours.where(ours.t > 2).data, cp.ndarray)
    assert isinstance(ours.dropna("t").data, cp.ndarray)


def test_dask() -> None:
    """What dask does with SciPy and NumPy's own routines is done on the host."""
    da = pytest.importorskip("dask.array", reason=f"dask {WANTS}")
    a = np.random.default_rng(0).random((6, 6)) + 6 * np.eye(6)
    (ours, v), (theirs, w) = (
        (da.from_array(m, chunks=3, asarray=False), da.from_array(r, chunks=3, asarray=False))
        for m, r in ((cp.asarray(a), cp.arange(6.0)), (a, np.arange(6.0)))
    )
    for work in (
        lambda m, r: da.linalg.solve(m, r), lambda m, r: da.linalg.inv(m), lambda m, r: da.linalg.cholesky(m @ m.T),
        lambda m, r: da.linalg.lu(m)[1], lambda m, r: da.linalg.lstsq(m.rechunk((3, 6)), r)[0],
        lambda m, r: da.isin(r, np.array([1.0, 2.0])), lambda m, r: da.insert(r, 1, 9.0, axis=0),
        lambda m, r: da.histogramdd((r, r), bins=2, range=((0, 6), (0, 6)))[0], lambda m, r: da.unique(r),
    ):  # fmt: skip
        np.testing.assert_allclose(
            np.asarray(work(ours, v).compute()), work(theirs, w).compute(), rtol=1e-9, atol=1e-12
        )
    # No device has structured arrays, which dask uses for these, and asks for by np.empty_like (as of CuPy).
    with pytest.raises(ValueError, match="structured arrays"):
        da.unique(v, return_counts=True)
