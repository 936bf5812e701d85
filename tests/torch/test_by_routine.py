"""Attention and layer normalization without gradients, which a device may compute by one routine, beside NumPy and
beside the formula that is used where gradients are needed."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core
from tests.conftest import DEVICE

F = torch.nn.functional

has_no_routines = bool(os.environ.get("CUPROUS_CHECK_CUDA"))
needs_routines = pytest.mark.skipif(has_no_routines, reason="the formulas' kernels are checked")


def _nodes(run: Any) -> int:
    """Returns how many nodes a call recorded."""
    before = _core.stats()["nodes"]
    result = run()
    recorded = _core.stats()["nodes"] - before
    del result
    return recorded


def _attention(q: Any, k: Any, v: Any, causal: bool, scale: float) -> Any:
    q, k, v = (x.astype("float64") for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


#: Queries, keys, features of keys, features of values.
SIZES = [
    (1, 1, 16, 16),
    (1, 40, 16, 16),
    (2, 5, 20, 33),
    (7, 9, 5, 3),
    (9, 7, 64, 70),
    (130, 130, 32, 48),
    (70, 3, 1, 1),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attention(dtype: str, size: tuple[int, ...], causal: bool) -> None:
    rows, keys, width, depth = size
    rng = np.random.default_rng(sum(size))
    # As projections give them, with heads next to each other, and with strided features.
    q, k = (rng.standard_normal((2, n, 3, width)).swapaxes(1, 2).astype(dtype) for n in (rows, keys))
    v = rng.standard_normal((2, 3, depth, keys)).swapaxes(2, 3).astype(dtype)
    q, k = 3 * q, 3 * k
    ours: Any = [torch.tensor(x.swapaxes(1, 2).copy()).transpose(1, 2) for x in (q, k)]
    ours.append(torch.tensor(v.swapaxes(2, 3).copy()).transpose(2, 3))
    expected = _attention(q, k, v, causal, 1 / math.sqrt(width))
    tolerance = 1e-12 if dtype == "float64" else 3e-5
    result = F.scaled_dot_product_attention(*ours, is_causal=causal)
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=tolerance, atol=tolerance)
    recorded: Any = [x.clone().requires_grad_() for x in ours]
    formula = F.scaled_dot_product_attention(*recorded, is_causal=causal).detach()
    np.testing.assert_allclose(formula.cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_attention_of_extreme_scores() -> None:
    q = torch.tensor([[[[1e4], [-1e4], [float("nan")]]]])
    k = torch.tensor([[[[3.0], [-2.0], [3.0]]]])
    v = torch.tensor([[[[1.0], [2.0], [4.0]]]])
    result = F.scaled_dot_product_attention(q, k, v, scale=1.0)[0, 0, :, 0]
    np.testing.assert_array_equal(result.cpu().numpy(), np.array([2.5, 2.0, np.nan]))
    apart = F.scaled_dot_product_attention(q[:, :, :1], k - float("inf"), v, scale=1.0)
    assert torch.isnan(apart).all(), "no score is greater than -inf"
    assert F.scaled_dot_product_attention(q, k, v, scale=0.0)[0, 0, 0, 0].item() == pytest.approx(7 / 3)


def test_attention_without_queries_or_keys() -> None:
    x = torch.ones(1, 2, 3, 4)
    assert F.scaled_dot_product_attention(x[:, :, :0], x, x).shape == (1, 2, 0, 4)
    assert torch.equal(F.scaled_dot_product_attention(x, x[:, :, :0], x[:, :, :0]), torch.zeros(1, 2, 3, 4))


@needs_routines
def test_attention_is_one_node_unless_a_gradient_is_needed() -> None:
    x = torch.ones(1, 2, 5, 4)
    assert _nodes(lambda: F.scaled_dot_product_attention(x, x, x, is_causal=True)) == 1
    heads_last = F.scaled_dot_product_attention(x, x, x).transpose(1, 2)
    assert heads_last.is_contiguous(), "heads are merged without a copy"
    y = x.clone().requires_grad_()
    assert _nodes(lambda: F.scaled_dot_product_attention(y, y, y)) > 1
    with torch.no_grad():
        assert _nodes(lambda: F.scaled_dot_product_attention(y, y, y)) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dims"), [((5, 64), 1), ((2, 3, 7), 1), ((4, 3, 5), 2), ((6,), 1), ((3, 1), 1), ((300, 400), 1)]
)
def test_layer_norm(shape: tuple[int, ...], dims: int, dtype: str) -> None:
    rng = np.random.default_rng(len(shape))
    x = (100 + rng.standard_normal(shape)).astype(dtype)
    weight, bias = (rng.standard_normal(shape[-dims:]).astype(dtype) for _ in "wb")
    axes = tuple(range(-dims, 0))
    wide = x.astype("float64")
    centered = wide - wide.mean(axes, keepdims=True)
    expected = centered / np.sqrt((centered**2).mean(axes, keepdims=True) + 1e-5) * weight + bias
    tolerance = 1e-9 if dtype == "float64" else 1e-3  # the mean is a hundred times the deviation
    t, w, b = (torch.tensor(a) for a in (x, weight, bias))
    columns = torch.tensor(x.T.copy()).permute(*range(x.ndim - 1, -1, -1))
    for given in (t, columns, t.clone().requires_grad_()):
        result = F.layer_norm(given, shape[-dims:], w, b).detach().cpu().numpy()
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@needs_routines
def test_layer_norm_of_few_elements_is_one_node() -> None:
    x, w = torch.ones(3, 4), torch.ones(4)
    assert _nodes(lambda: F.layer_norm(x, (4,), w, w)) == 1
    assert _nodes(lambda: F.layer_norm(x, (4,), w.clone().requires_grad_(), w)) > 1
    large = torch.ones(1 << 8, 1 << 9)
    weight = torch.ones(1 << 9)
    assert _nodes(lambda: F.layer_norm(large, (1 << 9,), weight, weight)) > 1
