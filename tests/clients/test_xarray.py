"""Compares xarray with Cuprous arrays to NumPy arrays; the data must stay Cuprous arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

xr = pytest.importorskip("xarray", reason="xarray is not installed (requirements-clients.txt)")

X = np.random.default_rng(0).standard_normal((6, 8))
HOLES = np.where(X > 1, np.nan, X)


def labelled(values: Any) -> Any:
    """Returns a DataArray with two labeled axes."""
    return xr.DataArray(values, dims=("t", "s"), coords={"t": np.arange(6), "s": np.arange(8.0)}, name="v")


def _written(a: Any) -> Any:
    a = a.copy()
    a[{"t": 1}] = 5.0
    a.loc[{"s": 2.0}] = 0
    return a


CALLS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda a: a + 1 - a * a.mean("t"), "ufunc": lambda a: np.maximum(np.exp(a), 1),
    "align": lambda a: a + a.isel(t=slice(2, 5)),
    **{
        name: lambda a, name=name: getattr(a, name)("t")
        for name in ("sum", "mean", "std", "var", "max", "min", "median", "argmax", "cumsum", "cumprod", "count")
    },
    "mean of all": lambda a: a.mean(), "idxmax": lambda a: a.idxmax("t"), "quantile": lambda a: a.quantile(0.3, "t"),
    "any": lambda a: (a > 0).any("t"), "isel": lambda a: a.isel(t=2, s=slice(None, None, 2)),
    "sel": lambda a: a.sel(t=[1, 3], s=slice(1, 5)), "sel nearest": lambda a: a.sel(s=2.2, method="nearest"),
    "reindex": lambda a: a.reindex(t=[0, 2, 9]), "sortby": lambda a: a.sortby("t", ascending=False),
    "where": lambda a: a.where(a > 0), "where else": lambda a: xr.where(a > 0, a, -a),
    "fillna": lambda a: a.where(a > 0).fillna(9.0), "combine_first": lambda a: a.where(a > 0).combine_first(-a),
    "isnull": lambda a: a.isnull(), "clip": lambda a: a.clip(-1, 1).round(1),
    "isin": lambda a: a.round().isin([0.0, 1.0]), "transpose": lambda a: a.transpose("s", "t"),
    "expand_dims": lambda a: a.expand_dims("q").squeeze(), "stack": lambda a: a.stack(z=("t", "s")).unstack("z"),
    "concat": lambda a: xr.concat([a, a + 1], "t"), "concat along a new axis": lambda a: xr.concat([a, a + 1], "n"),
    "broadcast": lambda a: xr.broadcast(a, a.isel(t=0))[1], "roll": lambda a: a.roll(t=2),
    "shift": lambda a: a.shift(t=2), "pad": lambda a: a.pad(t=1, mode="edge"), "diff": lambda a: a.diff("t"),
    "integrate": lambda a: a.integrate("s"), "dot": lambda a: xr.dot(a, a, dim="s"),
    "matmul": lambda a: a @ a.rename(t="u"), "cov": lambda a: xr.cov(a, a * 2, dim="t"),
    "corr": lambda a: xr.corr(a, a**2, dim="t"), "groupby": lambda a: a.groupby(a.t % 2).mean(),
    "groupby_bins": lambda a: a.groupby_bins("s", [0, 3, 8]).sum(), "coarsen": lambda a: a.coarsen(t=2).mean(),
    "rolling": lambda a: a.rolling(t=3).mean(),
    "weighted": lambda a: a.weighted(abs(a.isel(t=0)).fillna(0.5)).mean("s"),
    "apply_ufunc": lambda a: xr.apply_ufunc(
        lambda v: v - v.mean(-1, keepdims=True), a, input_core_dims=[["s"]], output_core_dims=[["s"]]
    ),
    "dataset": lambda a: a.to_dataset().mean("t")["v"],
    "merge": lambda a: xr.merge([a.to_dataset(), (a * 2).rename("u").to_dataset()])["u"], "write": _written,
    "full_like": lambda a: xr.full_like(a, 3.0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # all-NaN slices in NumPy; xarray's changes to come
@pytest.mark.parametrize("values", [X, HOLES], ids=["full", "holes"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_as_numpy(call: Callable[[Any], Any], values: np.ndarray[Any, Any]) -> None:
    theirs, ours = call(labelled(values)), call(labelled(cp.asarray(values)))
    assert isinstance(ours.data, cp.ndarray)
    assert ours.dims == theirs.dims
    assert_same(ours.data, theirs.data, rtol=1e-9, atol=1e-12)
    assert all(ours[name].equals(theirs[name]) for name in theirs.coords if theirs[name].dtype != X.dtype)


def test_text() -> None:
    a = labelled(cp.asarray(X))
    assert "array([[ 0.12573022" in repr(a)
    assert "0.1257" in repr(a.to_dataset())
    assert "<div>" in a._repr_html_()


def test_equality_and_pickling() -> None:
    a = labelled(cp.asarray(X))
    assert a.equals(a.copy())
    assert a.identical(pickle.loads(pickle.dumps(a)))
    assert not a.equals(a + 1)
    xr.testing.assert_allclose(a, a + 0.0)


def test_to_the_host() -> None:
    a = labelled(cp.asarray(X))
    np.testing.assert_array_equal(a.values, X)
    with cp.set_transfers("refuse"), pytest.raises(cp.ImplicitConversionError, match="get"):
        _ = a.values
    host = a.copy(data=a.data.get())
    assert host.to_pandas().loc[2, 3.0] == X[2, 3]
    assert a.mean().item() == pytest.approx(X.mean())


def test_chunked() -> None:
    pytest.importorskip("dask", reason="dask is not installed (requirements-clients.txt)")
    result = labelled(cp.asarray(X)).chunk(t=3).mean("t").compute()
    assert isinstance(result.data, cp.ndarray)
    assert_same(result.data, X.mean(0), rtol=1e-9, atol=1e-12)
