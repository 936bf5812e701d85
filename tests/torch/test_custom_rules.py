"""Tests functions with their own gradient rule: values, first and second derivatives, half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

F = torch.nn.functional
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def draw(*shape: int, dtype: Any = None) -> Any:
    torch.manual_seed(5)
    return torch.randn(*shape, dtype=dtype or torch.float64).requires_grad_(True)


def attention(x: Any) -> Any:
    """Queries, keys and values overlap in memory, so that the products copy them."""
    q, k, v = x.view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def target() -> Any:
    return torch.tensor([2, 0, -100, 3])


CASES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "softmax": (lambda x: F.softmax(x, 1), (3, 4)),
    "softmax in front": (lambda x: F.softmax(x.T, 0), (3, 4)),
    "log_softmax": (lambda x: F.log_softmax(x, -1), (3, 4)),
    "cross_entropy": (lambda x: F.cross_entropy(x, target()), (4, 5)),
    "cross_entropy of a transposed input": (lambda x: F.cross_entropy(x.T, target()), (5, 4)),
    "cross_entropy of images": (lambda x: F.cross_entropy(x, torch.tensor([[[1, 2]], [[0, 1]]])), (2, 3, 1, 2)),
    "cross_entropy, weighed": (lambda x: F.cross_entropy(x, target(), torch.arange(1.0, 6.0).double()), (4, 5)),
    "cross_entropy, each": (lambda x: F.cross_entropy(x, target(), reduction="none"), (4, 5)),
    "mse_loss": (lambda x: F.mse_loss(x, torch.ones(3, 4, dtype=torch.float64)), (3, 4)),
    "gelu": (F.gelu, (3, 4)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (2, 3, 4)),
    "layer_norm of two dimensions": (lambda x: F.layer_norm(x, (3, 4)), (2, 3, 4)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (2, 2, 4, 6)),
    "max_pool2d with a rest": (lambda x: F.max_pool2d(x, (2, 3)), (1, 2, 5, 7)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (2, 2, 6)),
    "max_pool3d of a view": (lambda x: F.max_pool3d(x.transpose(2, 3), 2), (1, 2, 2, 4, 4)),
    "attention": (attention, (2, 5, 24)),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, shape = CASES[name]
    assert gradcheck(function, (draw(*shape),))
    assert gradgradcheck(function, (draw(*shape),))


def test_derivatives_of_weights() -> None:
    x, w, b = draw(2, 3, 4), draw(4), draw(4)
    assert gradcheck(lambda *t: F.layer_norm(t[0], (4,), t[1], t[2]), (x, w, b))
    assert gradgradcheck(lambda *t: F.layer_norm(t[0], (4,), t[1], t[2]), (x, w, b))
    weight = torch.ones(4, dtype=torch.float64)
    for part in (F.layer_norm(x, (4,), None, b), F.layer_norm(x, (4,), weight, b)):
        (gradient,) = torch.autograd.grad(part.sum(), [b])
        assert gradient.tolist() == [6.0] * 4


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "gelu", "layer_norm"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(name: str, dtype: Any) -> None:
    function, shape = CASES[name]
    x = draw(*shape, dtype=torch.float32).detach().to(dtype).requires_grad_(True)
    wide = x.detach().float().requires_grad_(True)
    y, z = function(x), function(wide)
    assert y.dtype == dtype and torch.equal(y.detach(), z.detach().to(dtype))
    y.sum().backward()
    z.sum().backward()
    assert x.grad.dtype == dtype
    assert np.allclose(x.grad.float().cpu().numpy(), wide.grad.cpu().numpy(), rtol=0.02, atol=0.01)


def test_pooling_gives_the_first_of_equals_and_nan_its_gradient() -> None:
    x = torch.tensor([[[1.0, 1.0, 3.0, 2.0, float("nan"), 5.0]]], requires_grad=True)
    y = F.max_pool1d(x, 2)
    assert y.tolist()[0][0][:2] == [1.0, 3.0] and bool(y[0, 0, 2].isnan())
    y.sum().backward()
    assert x.grad.tolist() == [[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]]
    with torch.no_grad():
        assert bool(F.max_pool1d(x, 2)[0, 0, 2].isnan())


def test_cross_entropy_under_autocast_is_float32() -> None:
    x = draw(4, 5, dtype=torch.float32).detach().to(torch.bfloat16).requires_grad_(True)
    assert F.cross_entropy(x, target()).dtype == torch.bfloat16
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(x, target())
    assert loss.dtype == torch.float32
    assert abs(float(loss) - float(F.cross_entropy(x.detach().float(), target()))) < 1e-6
    loss.backward()
    assert x.grad.dtype == torch.bfloat16
