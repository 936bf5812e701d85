"""Tests gradients of expanded and overlapping views: each position that reads an element contributes once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cuprous.torch as torch

pytestmark = pytest.mark.usefixtures("double")
F = torch.nn.functional
Tensor = torch.Tensor


#: Functions of (2, 3) matrices that gather by index, or whose gradients scatter by index.
READS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda a: a[torch.tensor([0, 1])],
    "equal rows": lambda a: a[torch.tensor([0, 0, 1])],
    "columns": lambda a: a[:, torch.tensor([0, 2, 0])],
    "elements": lambda a: a[torch.tensor([0, 1]), torch.tensor([2, 2])],
    "mask": lambda a: a[torch.tensor([True, True])],
    "masked_select": lambda a: torch.masked_select(a, torch.ones((2, 3), dtype=torch.bool)),
    "index_select": lambda a: torch.index_select(a, 0, torch.tensor([0, 1, 0])),
    "gather": lambda a: torch.gather(a, 1, torch.zeros((2, 3), dtype=torch.int64)),
    "take_along_dim": lambda a: torch.take_along_dim(a, torch.zeros((2, 1), dtype=torch.int64), 1),
    "take": lambda a: torch.take(a, torch.tensor([0, 5])),
    "embedding": lambda a: F.embedding(torch.tensor([[0, 1], [1, 1]]), a),
    "sort": lambda a: torch.sort(a, 1).values,
    "topk": lambda a: torch.topk(a, 2).values,
    "max": lambda a: a.max(1).values,
    "min": lambda a: a.min(0).values,
    "median": lambda a: a.median(1).values,
    "mode": lambda a: a.mode(1).values,
    "kthvalue": lambda a: a.kthvalue(2).values,
    "cummax": lambda a: a.cummax(1).values,
    "cummin": lambda a: a.cummin(0).values,
    "quantile": lambda a: a.quantile(0.4, 1),
    "scatter": lambda a: a.scatter(1, torch.tensor([[0], [1]]), a[:, :1] * 2),
    "scatter_add": lambda a: a.scatter_add(1, torch.tensor([[0], [1]]), a[:, :1] * 2),
    "scatter_reduce": lambda a: a.scatter_reduce(1, torch.tensor([[0], [1]]), a[:, :1], "prod"),
    "index_add": lambda a: a.index_add(0, torch.tensor([0, 0]), a),
    "index_copy": lambda a: a.index_copy(0, torch.tensor([1]), a[:1] * 2),
    "index_put": lambda a: a.index_put((torch.tensor([1]),), a[:1] * 2),
    "masked_scatter": lambda a: a.masked_scatter(a > 1.5, a * 2),
    "interpolate": lambda a: F.interpolate(a[None], scale_factor=2, mode="linear"),
    "nearest": lambda a: F.interpolate(a[None], scale_factor=2),
    "grid_sample": lambda a: F.grid_sample(a[None, None], torch.full((1, 1, 2, 2), 0.3), align_corners=False),
    "max_pool1d": lambda a: F.max_pool1d(a[None], 2, stride=1),
    "conv1d": lambda a: F.conv1d(a[None], torch.ones(1, 2, 2)),
    "unfold": lambda a: a.unfold(1, 2, 1) ** 2,
    "nll_loss": lambda a: F.nll_loss(a, torch.tensor([0, 2])),
    "cross_entropy": lambda a: F.cross_entropy(a, torch.tensor([0, 2])),
    "embedding_bag": lambda a: F.embedding_bag(torch.tensor([[0, 1], [1, 1]]), a, mode="max"),
    "repeat_interleave": lambda a: torch.repeat_interleave(a, 2, 0),
}

#: Views in which elements share memory.
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "expand": lambda x: x.expand(2, 3),
    "broadcast_to": lambda x: torch.broadcast_to(x, (2, 3)),
    "expand a column": lambda x: x[:2, None].expand(2, 3),
    "expand one": lambda x: x[1].expand(2, 3),
    "windows": lambda x: torch.cat([x, x[:1] * 3]).unfold(0, 3, 1),
    "as_strided": lambda x: (x * 1).as_strided((2, 3), (0, 1)),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_counts_as_its_copy_does(view: str, read: str) -> None:
    def gradient(prepare: Callable[[Tensor], Tensor]) -> list[float]:
        x = torch.tensor([1.0, 2.5, 2.0], requires_grad=True)
        y = READS[read](prepare(VIEWS[view](x)))
        (y * torch.cos(torch.arange(float(y.numel()))).reshape(y.shape)).sum().backward()
        return x.grad.tolist()

    np.testing.assert_allclose(gradient(lambda v: v), gradient(lambda v: v + 0.0), atol=1e-12)


def test_hooks_of_an_expanded_view_see_the_gradient_of_each_place() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = x.expand(2, 3)
    view.retain_grad()
    view[torch.tensor([0, 0, 1])].sum().backward()
    assert view.grad.tolist() == [[2.0] * 3, [1.0] * 3]
    assert x.grad.tolist() == [3.0] * 3


def test_an_expanded_leaf_has_a_gradient_for_each_place() -> None:
    x = torch.ones(3)
    leaf = x.expand(2, 3).requires_grad_()
    leaf[0].sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 3, [0.0] * 3]
    with torch.no_grad():
        view = x.expand(2, 3)
    view.requires_grad_()
    view[torch.tensor([1, 1])].sum().backward()
    assert view.grad.tolist() == [[0.0] * 3, [2.0] * 3]


def test_an_expanded_result_of_a_function_has_a_gradient_for_each_place() -> None:
    class Spread(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x.expand(2, 3)

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return (g * torch.tensor([[1.0], [10.0]])).sum(0)

    x = torch.ones(3, requires_grad=True)
    Spread.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_a_gradient_set_from_outside_may_be_expanded() -> None:
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(()).expand(3)
    (x * torch.arange(3.0)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_second_derivatives_of_writes_by_index() -> None:
    """The gradient of the written value is read at an offset, after others in one array."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    target = torch.zeros(3).index_put((torch.tensor([2, 0]),), x[:2])
    y = torch.cat([x, target]) ** 3
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    assert second.tolist() == [12.0, 24.0, 18.0]


def test_writes_to_expanded_views_are_refused_as_in_pytorch() -> None:
    x = torch.ones(3)
    for write in (
        lambda v: v.mul_(2.0),
        lambda v: v.copy_(torch.ones(2, 3)),
        lambda v: v.scatter_(0, torch.tensor([[0]]), 2.0),
        lambda v: v.sigmoid_(),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write(x.expand(2, 3))
    x.expand(2, 3).zero_()
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_hooks_of_an_expanded_view_of_which_parts_are_read() -> None:
    """Parts of a view are identified by memory: positions that share memory share the gradient; the sum is right."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = x.expand(2, 3)
    view.retain_grad()
    (view * torch.tensor([[1.0], [2.0]])).sum().backward(retain_graph=True)
    assert view.grad.tolist() == [[1.0] * 3, [2.0] * 3]
    x.grad = view.grad = None
    (view[1:] * 2 + view.sum(0)).sum().backward()
    assert x.grad.tolist() == [4.0] * 3
    assert view.grad.sum(0).tolist() == [4.0] * 3
