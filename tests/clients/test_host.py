"""pandas and matplotlib work on the host: arrays go there by `.get()`, and are refused without it."""

from __future__ import annotations

import io

import numpy as np
import pytest

import cuprous as cp


def test_pandas() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed (requirements-clients.txt)")
    a = cp.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(a.get(), columns=["x", "y"])
    assert frame["y"].sum() == 9.0
    back = cp.asarray(frame.to_numpy())
    assert bool((back == a).all())
    assert bool((cp.asarray(frame["x"].to_numpy()) == a[:, 0]).all())
    with pytest.raises(cp.ImplicitConversionError, match="get"):
        pd.Series(a[:, 0]).sum()


def test_matplotlib() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (requirements-clients.txt)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x = cp.linspace(0, 6, 50)
    figure, (left, right) = pyplot.subplots(1, 2)
    (line,) = left.plot(x.get(), cp.sin(x).get())
    np.testing.assert_array_equal(line.get_ydata(), cp.sin(x).get())
    right.imshow(cp.outer(x, x).get())
    figure.savefig(io.BytesIO(), format="png")
    with pytest.raises(cp.ImplicitConversionError, match="get"):
        left.plot(x, x)
    pyplot.close(figure)
