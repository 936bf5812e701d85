"""Pooling with windows that overlap, have gaps or extend beyond the input, and its gradients, beside loops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch.nn import _windows as _nn_windows

F = torch.nn.functional

#: Kernel, stride, padding, dilation, ceil_mode and extents of the input.
CASES: list[tuple[Any, ...]] = [
    ([3, 3], [1, 1], [1, 1], [1, 1], False, (7, 9)),
    ([3, 3], [2, 2], [1, 1], [1, 1], False, (8, 8)),
    ([3, 2], [2, 1], [1, 0], [1, 2], False, (9, 11)),
    ([3, 3], [2, 2], [0, 0], [1, 1], True, (8, 7)),
    ([5, 4], [3, 2], [2, 1], [2, 1], True, (14, 13)),
    ([4, 3], [3, 5], [0, 1], [1, 1], False, (12, 12)),
    ([2, 2], [1, 1], [0, 0], [3, 3], False, (9, 9)),
    ([20, 15], [1, 2], [0, 7], [1, 1], False, (21, 30)),
    ([4], [3], [1], [1], False, (40,)),
    ([2, 3, 2], [1, 2, 1], [1, 1, 0], [1, 1, 1], False, (4, 5, 3)),
    ([5, 3], [2, 1], [2, 1], [1, 1], False, (10, 7)),
    ([4, 3], [2, 2], [1, 0], [1, 1], True, (12, 8)),
    ([3, 3, 2], [2, 1, 2], [1, 1, 0], [1, 1, 1], False, (6, 5, 4)),
]


@pytest.fixture(params=[False, True], ids=["here", "as_on_a_gpu"])
def formula(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums windows by the formula of this device, or by that of a GPU."""
    alternates = _nn_windows._alternates
    if request.param:
        monkeypatch.setattr(_nn_windows, "_alternates", lambda windows, _: alternates(windows, "cuda"))


def _windows(case: tuple[Any, ...], output: tuple[int, ...]) -> Any:
    """Iterates over the windows: their index and the indices of their elements."""
    kernel, stride, padding, dilation, _, extents = case
    for at in np.ndindex(*output):
        inside = []
        for k in itertools.product(*map(range, kernel)):
            place = tuple(a * s - p + b * d for a, s, p, b, d in zip(at, stride, padding, k, dilation, strict=True))
            if all(0 <= i < n for i, n in zip(place, extents, strict=True)):
                inside.append(place)
        yield at, inside


@pytest.mark.usefixtures("formula")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_maxima_and_their_gradients(case: tuple[Any, ...]) -> None:
    kernel, stride, padding, dilation, ceil, extents = case
    rng = np.random.default_rng(len(extents))
    x = rng.permutation(2 * 3 * int(np.prod(extents))).reshape(2, 3, *extents).astype("float32")
    pool = getattr(F, f"max_pool{len(extents)}d")
    t = torch.tensor(x).requires_grad_()
    y = pool(t, kernel, stride, padding, dilation, ceil)
    g = rng.integers(1, 9, tuple(y.shape)).astype("float32")
    (y * torch.tensor(g)).sum().backward()
    maxima, gradient = np.empty_like(g), np.zeros_like(x)
    for at, inside in _windows(case, g.shape[2:]):
        for lead in np.ndindex(2, 3):
            best = max(inside, key=lambda place, lead=lead: x[lead + place])  # type: ignore[misc]
            maxima[lead + at] = x[lead + best]
            gradient[lead + best] += g[lead + at]
    assert t.grad is not None
    np.testing.assert_array_equal(y.detach().cpu().numpy(), maxima)
    np.testing.assert_array_equal(t.grad.cpu().numpy(), gradient)
    with torch.no_grad():
        np.testing.assert_array_equal(pool(t, kernel, stride, padding, dilation, ceil).cpu().numpy(), maxima)


@pytest.mark.usefixtures("formula")
@pytest.mark.parametrize("case", [c for c in CASES if max(c[3]) == 1 and not c[4]], ids=str)
def test_means_and_their_gradients(case: tuple[Any, ...]) -> None:
    kernel, stride, padding, _, _, extents = case
    x = np.random.default_rng(0).standard_normal((2, 3, *extents))
    t = torch.tensor(x).requires_grad_()
    y = getattr(F, f"avg_pool{len(extents)}d")(t, kernel, stride, padding)
    g = np.random.default_rng(1).standard_normal(tuple(y.shape))
    (y * torch.tensor(g)).sum().backward()
    means, gradient = np.empty_like(g), np.zeros_like(x)
    for at, inside in _windows(case, g.shape[2:]):
        for lead in np.ndindex(2, 3):
            means[lead + at] = sum(x[lead + place] for place in inside) / np.prod(kernel)
            for place in inside:
                gradient[lead + place] += g[lead + at] / np.prod(kernel)
    assert t.grad is not None
    np.testing.assert_allclose(y.detach().cpu().numpy(), means, atol=1e-12)
    np.testing.assert_allclose(t.grad.cpu().numpy(), gradient, atol=1e-12)
