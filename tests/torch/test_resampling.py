"""Tests resampling of many channels, which the CPU computes as a product with a matrix, against few channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch.nn import functional as F

RNG = np.random.default_rng(0)

#: Extents and the options of `interpolate`.
CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "larger": ((5, 7), {"size": (11, 9), "mode": "bilinear"}),
    "smaller": ((9, 8), {"size": (4, 3), "mode": "bilinear"}),
    "factor": ((5, 6), {"scale_factor": 2, "mode": "bilinear"}),
    "factor of a fraction": ((7, 9), {"scale_factor": 1.3, "mode": "bilinear"}),
    "recomputed factor": ((7, 9), {"scale_factor": 1.3, "mode": "bilinear", "recompute_scale_factor": True}),
    "one axis as it is": ((5, 6), {"size": (5, 13), "mode": "bilinear"}),
    "aligned corners": ((5, 7), {"size": (12, 7), "mode": "bilinear", "align_corners": True}),
    "to one point": ((5, 7), {"size": (1, 1), "mode": "bilinear", "align_corners": True}),
    "from one point": ((1, 1), {"size": (4, 3), "mode": "bilinear"}),
    "cubic": ((5, 7), {"size": (9, 11), "mode": "bicubic"}),
    "cubic, aligned corners": ((6, 4), {"size": (9, 7), "mode": "bicubic", "align_corners": True}),
    "linear": ((13,), {"size": 29, "mode": "linear"}),
    "trilinear": ((3, 4, 5), {"size": (5, 3, 8), "mode": "trilinear"}),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_many_channels_are_resampled_as_few_are(name: str, dtype: str) -> None:
    extents, options = CASES[name]
    host = RNG.normal(size=(2, 12, *extents)).astype(dtype)
    x = torch.tensor(host).requires_grad_()
    y = F.interpolate(x, **options)
    g = torch.tensor(RNG.normal(size=tuple(y.shape)).astype(dtype))
    (gx,) = torch.autograd.grad(y, [x], g)
    rtol, atol = (1e-12, 1e-12) if dtype == "float64" else (1e-5, 2e-6)
    for first in range(0, 12, 3):
        some = slice(first, first + 3)
        part = torch.tensor(host[:, some].copy()).requires_grad_()
        expected = F.interpolate(part, **options)
        (expected_gx,) = torch.autograd.grad(expected, [part], g[:, some])
        np.testing.assert_allclose(
            y[:, some].detach().cpu().numpy(), expected.detach().cpu().numpy(), rtol=rtol, atol=atol
        )
        np.testing.assert_allclose(gx[:, some].cpu().numpy(), expected_gx.cpu().numpy(), rtol=rtol, atol=atol)
    assert y.is_contiguous() and y.dtype == x.dtype


def test_only_the_points_around_a_position_decide() -> None:
    host = np.ones((1, 16, 4, 4), np.float32)
    host[:, 3, 0, 0], host[:, 5, 3, 3] = math.nan, math.inf
    x = torch.tensor(host)
    few = torch.cat([F.interpolate(x[:, k : k + 1], size=(8, 8), mode="bilinear") for k in range(16)], 1)
    many = F.interpolate(x, size=(8, 8), mode="bilinear")
    np.testing.assert_array_equal(many.cpu().numpy(), few.cpu().numpy())


def test_the_gradient_of_a_gradient() -> None:
    x = torch.tensor(RNG.normal(size=(1, 16, 4, 5))).requires_grad_()
    y = F.interpolate(x, size=(7, 6), mode="bilinear") ** 3
    (g,) = torch.autograd.grad(y.sum(), [x], create_graph=True)
    (gg,) = torch.autograd.grad((g * g).sum(), [x])
    step, places = 1e-6, [(0, 0, 0, 0), (0, 7, 2, 3), (0, 15, 3, 4)]
    for place in places:
        values = []
        for sign in (1, -1):
            moved = x.detach().clone()
            moved[place] += sign * step
            moved.requires_grad_()
            z = F.interpolate(moved, size=(7, 6), mode="bilinear") ** 3
            (h,) = torch.autograd.grad(z.sum(), [moved])
            values.append(float((h * h).sum()))
        assert float(gg[place]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-5)
