"""Tests the autograd graph: saved values and their release, modes, hooks, custom functions, PyTorch's errors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import cuprous.torch as torch
from cuprous import _core

Tensor = torch.Tensor


def leaf(*values: float) -> Tensor:
    return torch.tensor([float(v) for v in values], requires_grad=True)


def test_gradients_are_summed_up() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    first = x.grad
    x.grad = None
    assert x.grad is None and first.tolist() == [5.0, 7.0]


def test_leaves_do_not_share_gradients() -> None:
    a, b = leaf(1, 2), leaf(3, 4)
    (a + b).sum().backward()
    a.grad.zero_()
    assert b.grad.tolist() == [1.0, 1.0]
    given = torch.ones(2)
    (a * 1).backward(given)
    given.zero_()
    assert a.grad.tolist() == [1.0, 1.0]


def test_saved_tensors_are_released() -> None:
    x = leaf(1, 2)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    (2 * x).sum().backward()


def test_saved_values_survive_writes() -> None:
    import cuprous as cp

    array = cp.arange(3.0)
    x = leaf(1, 1, 1)
    factor = torch.as_tensor(array)
    y = (x.double() * factor).sum()
    array += 10  # the array API writes into the same memory
    assert factor.tolist() == [10.0, 11.0, 12.0]
    y.backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


def test_backward_after_a_weight_update() -> None:
    w, x = leaf(2.0), leaf(3.0)
    y = (w * x).sum()
    y.backward(retain_graph=True)
    with torch.no_grad():
        w -= 1.0
    y.backward()
    assert x.grad.tolist() == [4.0] and w.tolist() == [1.0]


def test_only_overwritten_saved_values_are_copied() -> None:
    x = leaf(*range(4))
    y = torch.zeros(4)
    z = x + y  # addition saves nothing
    _core.flush()
    before = _core.stats()["nodes"]
    y.fill_(1)
    plain = _core.stats()["nodes"] - before
    z = x * y
    before = _core.stats()["nodes"]
    y.fill_(2)
    assert _core.stats()["nodes"] - before == plain + 1
    z.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


def test_backward_of_vectors() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(torch.ones(3))
    (x * 2).backward(torch.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).sum().backward()


def test_grad_of_some_inputs() -> None:
    x, w = leaf(1, 2), leaf(3, 4)
    y = x * w
    part = y[0]
    z = part * part + y.sum()
    found = torch.autograd.grad(z, [part, y, w], retain_graph=True)
    assert [g.tolist() for g in found] == [6.0, [7.0, 1.0], [7.0, 2.0]]
    assert x.grad is None and w.grad is None
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(z, leaf(1), retain_graph=True)
    assert torch.autograd.grad(z, leaf(1), allow_unused=True, retain_graph=True) == (None,)
    z.backward(inputs=[x])
    assert x.grad.tolist() == [21.0, 4.0] and w.grad is None


def test_gradients_have_the_dtype_and_layout_of_their_leaf() -> None:
    w = torch.randn(3, 4, requires_grad=True)
    x = torch.randn(5, 4, dtype=torch.float64)
    (x @ w.T.double()).sum().backward()
    assert (w.grad.dtype, w.grad.shape, w.grad.is_contiguous()) == (torch.float32, (3, 4), True)


@pytest.mark.parametrize("how", ["with", "decorator", "bare", "inference"])
def test_no_grad(how: str) -> None:
    x = leaf(1.0)

    def double() -> Tensor:
        return x * 2

    if how == "with":
        with torch.no_grad():
            y = double()
    else:
        y = {"decorator": torch.no_grad(), "bare": torch.no_grad, "inference": torch.inference_mode()}[how](double)()
    assert not y.requires_grad and double().requires_grad and torch.is_grad_enabled()
    with torch.no_grad(), torch.enable_grad():
        assert double().requires_grad
    torch.set_grad_enabled(False)
    assert not double().requires_grad
    with torch.set_grad_enabled(True):
        assert double().requires_grad
    assert not torch.is_grad_enabled()


def test_writes_into_leaves_are_refused() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        x[0] = 1
    with torch.no_grad():
        x.add_(1)
        x[0] = 7
    assert x.tolist() == [7.0, 3.0] and x.requires_grad and x.is_leaf


def test_leaves_and_others() -> None:
    x = leaf(1, 2)
    y = x * 2
    assert x.is_leaf and not y.is_leaf and y.detach().is_leaf and not x[0].is_leaf
    assert (x.grad_fn, repr(y.grad_fn)) == (None, "<MulBackward0>")
    assert y.detach().shares_storage(y) and not y.detach().requires_grad
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="floating point"):
        torch.arange(3).requires_grad_()
    x.requires_grad_(False)
    assert not (x * 2).requires_grad


def test_a_copy_of_a_leaf_is_no_leaf() -> None:
    x = leaf(1, 2)
    y = torch.zeros(2)
    y.copy_(x)
    assert y.requires_grad and not y.is_leaf
    y.mul_(y).add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and y.grad is None


def test_hooks() -> None:
    x = leaf(1, 2)
    y = x * 3
    seen: list[Any] = []
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    (y * y).sum().backward(retain_graph=True)
    assert (seen, y.grad.tolist(), x.grad.tolist()) == ([[6.0, 12.0]], [12.0, 24.0], [36.0, 72.0])
    handle.remove()
    (y.sum()).backward()
    assert len(seen) == 1
    view = (x * 1)[:1]
    view.register_hook(lambda g: g * 10)
    view.retain_grad()
    x.grad = None
    (view.sum() * 2).backward()
    assert (view.grad.tolist(), x.grad.tolist()) == ([20.0], [20.0, 0.0])


def test_an_exception_in_a_hook_is_the_users() -> None:
    x = leaf(1.0)
    y = x * 2

    def fail(g: Tensor) -> None:
        raise KeyError("mine")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    (x * 2).backward()
    assert x.grad.tolist() == [2.0]


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x**3 * factor, x * 2

    @staticmethod
    def backward(ctx: Any, cubed: Tensor, doubled: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return cubed * 3 * x * x * ctx.factor + doubled * 2, None


def test_custom_functions() -> None:
    x = leaf(1, 2)
    a, b = _Cube.apply(x, 2.0)
    assert repr(a.grad_fn) == "<_CubeBackward>"
    (a.sum() + b[0]).backward()
    assert x.grad.tolist() == [8.0, 24.0]
    y = leaf(2.0)
    a, _ = _Cube.apply(y, 1.0)
    (g,) = torch.autograd.grad(a, y, create_graph=True)
    assert torch.autograd.grad(g, y)[0].tolist() == [12.0]


def test_functions_without_a_derivative_say_so() -> None:
    x = leaf(0.5)
    with pytest.raises(NotImplementedError, match="j0"):
        torch.special.bessel_j0(x)
    assert not (x > 0).requires_grad and not x.argmax().requires_grad and not x.long().requires_grad


def test_long_chains_are_dropped_without_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(30_000):
        y = y + 1.0
    del y
    gc.collect()
    z = x
    for _ in range(3_000):
        z = z * 1.0
    z.backward()
    assert x.grad.tolist() == [1.0]


def test_unneeded_values_are_freed() -> None:
    x = leaf(1, 2)
    y = x * x
    dead = weakref.ref(y)
    z = y.sum()
    del y
    gc.collect()
    assert dead() is None
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_graph_nodes_can_be_traversed() -> None:
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (w * x).exp()
    ((product, out),) = y.grad_fn.next_functions
    assert (product.name(), out) == ("MulBackward0", 0)
    (leaf, _), (nothing, _) = product.next_functions
    assert leaf.name() == "AccumulateGrad"
    assert nothing is None
    assert leaf.next_functions == ()


def test_detach_in_place() -> None:
    w = torch.ones(3, requires_grad=True)
    y = w * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    y.requires_grad_()
    (y * 3).sum().backward()
    assert w.grad is None
    assert y.grad.tolist() == [3.0] * 3
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (w * 2)[1:].detach_()
