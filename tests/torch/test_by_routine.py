"""Attention and normalization, which a device may compute by routines, beside NumPy and beside their formulas."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import _core

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
    (1, 1500, 64, 64),
    (3, 700, 20, 33),
    (4, 4, 300, 5),
    (6, 2, 4, 270),
]
#: Of results of about 1, beside float64.
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-12}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_attention(dtype: str, size: tuple[int, ...], causal: bool) -> None:
    rows, keys, width, depth = size
    rng = np.random.default_rng(sum(size))
    # As projections give them, with heads next to each other, and with strided features.
    q, k = (3 * rng.standard_normal((2, n, 3, width)) for n in (rows, keys))
    v = rng.standard_normal((2, 3, depth, keys))
    kind = getattr(torch, dtype)
    ours: Any = [torch.tensor(x).to(kind).transpose(1, 2) for x in (q, k)] + [torch.tensor(v).to(kind).transpose(2, 3)]
    rounded = (x.to(torch.float64).cpu().numpy() for x in ours)
    expected = _attention(*rounded, causal, 1 / math.sqrt(width))
    recorded: Any = [x.clone().requires_grad_() for x in ours]
    for given in (ours, recorded):
        result = F.scaled_dot_product_attention(*given, is_causal=causal)
        assert result.dtype == kind
        # On a GPU without cuDNN, the formula rounds scores of up to 40 to half precision.
        rounds = ours[0].is_cuda and dtype in ("float16", "bfloat16") and (given is recorded or rows > 4)
        tolerance = TOLERANCES[dtype] * (8 if rounds else 1)
        result = result.detach().to(torch.float64).cpu().numpy()
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("with_gradient", [False, True])
def test_attention_of_grouped_queries(rows: int, with_gradient: bool) -> None:
    rng = np.random.default_rng(rows)
    arrays = [rng.standard_normal(shape) for shape in ((2, 6, rows, 8), (2, 3, 20, 8), (2, 3, 20, 5))]
    results = []
    for grouped in (True, False):
        q, k, v = (torch.tensor(a, requires_grad=with_gradient) for a in arrays)
        repeated = (k, v) if grouped else (x.repeat_interleave(2, 1) for x in (k, v))
        result = F.scaled_dot_product_attention(q, *repeated, enable_gqa=grouped)
        assert result.shape == (2, 6, rows, 5)
        results.append([result])
        if with_gradient:
            result.square().sum().backward()
            results[-1] += [q.grad, k.grad, v.grad]
    for ours, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(ours.detach().cpu().numpy(), wanted.detach().cpu().numpy(), rtol=1e-11, atol=1e-12)


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


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("shape", "dims"), [((5, 64), 1), ((2, 3, 7), 1), ((4, 3, 5), 2), ((6,), 1), ((3, 1), 1), ((300, 400), 1)]
)
def test_layer_norm(shape: tuple[int, ...], dims: int, dtype: str) -> None:
    rng = np.random.default_rng(len(shape))
    # Where there are digits for it, the mean is a hundred times the deviation.
    far, tolerance = {"float64": (100, 1e-9), "float32": (100, 1e-3)}.get(dtype, (1, TOLERANCES[dtype]))
    kind = getattr(torch, dtype)
    drawn = [far + rng.standard_normal(shape), *(rng.standard_normal(shape[-dims:]) for _ in "wb")]
    t, w, b = (torch.tensor(a).to(kind) for a in drawn)
    x, weight, bias = (a.to(torch.float64).cpu().numpy() for a in (t, w, b))
    axes = tuple(range(-dims, 0))
    centered = x - x.mean(axes, keepdims=True)
    expected = centered / np.sqrt((centered**2).mean(axes, keepdims=True) + 1e-5) * weight + bias
    columns = torch.tensor(x.T.copy()).to(kind).permute(*range(x.ndim - 1, -1, -1))
    for given in (t, columns, t.clone().requires_grad_()):
        result = F.layer_norm(given, shape[-dims:], w, b)
        assert result.dtype == kind
        result = result.detach().to(torch.float64).cpu().numpy()
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@needs_routines
def test_layer_norm_is_one_node_where_a_routine_suits() -> None:
    x, w, wide = torch.ones(3, 16), torch.ones(16), torch.ones(1 << 9)
    trained, large = w.clone().requires_grad_(), torch.ones(1 << 8, 1 << 9)
    assert _nodes(lambda: F.layer_norm(x, (16,), w, w)) == 1
    has_gradient = x.device.type == "cpu"  # of the routine, which then takes any number of elements
    assert (_nodes(lambda: F.layer_norm(x, (16,), trained, w)) == 1) == has_gradient
    assert _nodes(lambda: F.layer_norm(x.reshape(6, 8), (8,), trained[:8], w[:8])) > 1  # narrow
    assert (_nodes(lambda: F.layer_norm(large, (1 << 9,), wide, wide)) == 1) == has_gradient


def _normalized(x: Any, dims: tuple[int, ...], weight: Any, bias: Any) -> Any:
    """Returns the formula of layer and batch norm."""
    centered = x - x.mean(dims, keepdim=True)
    y = centered / torch.sqrt((centered**2).mean(dims, keepdim=True) + 1e-5)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _layer(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], w, b)


def _batch(x: Any, w: Any, b: Any) -> Any:
    return F.batch_norm(x, None, None, w, b, training=True)


def _layer_by_formula(x: Any, w: Any, b: Any) -> Any:
    return _normalized(x, (-1,), w, b)


def _batch_by_formula(x: Any, w: Any, b: Any) -> Any:
    w, b = (None if t is None else t.reshape(-1, *(1 for _ in x.shape[2:])) for t in (w, b))
    return _normalized(x, (0, *range(2, x.ndim)), w, b)


NORMS = {"layer": (_layer, _layer_by_formula), "batch": (_batch, _batch_by_formula)}


def _gradients(norm: Any, operands: list[Any], g: Any, order: int) -> list[Any]:
    """Returns the result, its gradients, and (of second order) those of their squares."""
    result = norm(*operands)
    known = [t for t in operands if t is not None]
    first = torch.autograd.grad(result, known, g, create_graph=order == 2)
    if order == 1:
        return [result, *first]
    squares = sum((t**2).sum() for t in first)
    second = torch.autograd.grad(squares, known, allow_unused=True)  # they do not depend on the bias
    return [result, *first, *(t for t in second if t is not None)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("missing", ["", "weight", "bias", "both"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("layer", (5, 64)), ("layer", (2, 3, 7)), ("layer", (1, 1)), ("layer", (300, 130)),
        ("batch", (4, 3)), ("batch", (4, 3, 5)), ("batch", (6, 40, 4, 4)), ("batch", (3, 2, 30, 31)),
    ],
)  # fmt: skip
def test_gradients_of_norms(kind: str, shape: tuple[int, ...], missing: str, order: int, dtype: str) -> None:
    rng = np.random.default_rng(len(shape))
    n = shape[-1] if kind == "layer" else shape[1]
    x, g, weight, bias = (
        torch.tensor(rng.standard_normal(s).astype(dtype)).requires_grad_() for s in (shape, shape, (n,), (n,))
    )
    w = None if missing in ("weight", "both") else weight
    b = None if missing in ("bias", "both") else bias
    g = g.detach()
    got, want = (_gradients(norm, [x, w, b], g, order) for norm in NORMS[kind])
    tolerance = {"float64": 1e-9, "float32": 2e-3}[dtype]
    for ours, theirs in zip(got, want, strict=True):
        largest = max(1.0, float(theirs.abs().max()))
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours.detach().cpu().numpy() / largest, theirs.detach().cpu().numpy() / largest,
                                   rtol=0, atol=tolerance)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_of_half_precision(dtype: str) -> None:
    """Results and gradients are those of float32, rounded once."""
    rng = np.random.default_rng(3)
    half = getattr(torch, dtype)
    x, g, w, b = (torch.tensor(rng.standard_normal(s)).to(half) for s in ((6, 8, 5, 5), (6, 8, 5, 5), (8,), (8,)))
    for norm in (_batch, lambda x, w, b: _layer(x.movedim(1, -1), w, b).movedim(-1, 1)):
        got = _gradients(norm, [t.clone().requires_grad_() for t in (x, w, b)], g, 1)
        want = _gradients(norm, [t.float().requires_grad_() for t in (x, w, b)], g.float(), 1)
        for ours, theirs in zip(got, want, strict=True):
            assert ours.dtype == half
            assert torch.equal(ours, theirs.to(half))
