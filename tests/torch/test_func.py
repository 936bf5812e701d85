"""Tests function transforms, checkpoints, hooks and anomaly detection."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch.autograd import functional
from cuprous.torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from cuprous.torch.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.support import assert_errors

nn = torch.nn
pytestmark = pytest.mark.usefixtures("double")


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(*(x.to_numpy() if hasattr(x, "detach") else x for x in (a, b)), atol=1e-12)


def cubes(x: Any) -> Any:
    return (x**3).sum()


X = [0.5, -1.0, 2.0]


def x() -> Any:
    return torch.tensor(X)


# --- torch.func


def test_gradients_of_functions() -> None:
    close(grad(cubes)(x()), 3 * np.array(X) ** 2)
    close(grad(lambda v: grad(cubes)(v).sum())(x()), 6 * np.array(X))
    slope, value = grad_and_value(cubes)(x())
    close(value, (np.array(X) ** 3).sum())
    assert not slope.requires_grad and not value.requires_grad
    both = grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x(), x() + 1)
    close(both[0], np.array(X) + 1)
    close(both[1], X)
    parts, aux = grad(lambda p: ((p["w"] * p["b"]).sum(), p["w"] * 2), has_aux=True)({"w": x(), "b": x() + 1})
    close(parts["b"], X)
    close(aux, 2 * np.array(X))
    with torch.no_grad():
        close(grad(cubes)(x()), 3 * np.array(X) ** 2)
    with pytest.raises(RuntimeError, match="scalar tensor, got tensor with 1 dims"):
        grad(lambda v: v * 2)(x())


def test_captured_tensors_still_get_gradients() -> None:
    w = torch.tensor(2.0).requires_grad_()
    grad(lambda v: (v**2).sum() * w)(x()).sum().backward()
    close(w.grad, 2 * np.sum(X))
    inside = x().requires_grad_()
    grad(cubes)(inside).sum().backward()
    close(inside.grad, 6 * np.array(X))


def test_jacobians_and_products() -> None:
    a = torch.tensor(np.random.default_rng(0).normal(size=(2, 3)))

    def f(v: Any) -> Any:
        return torch.sin(a @ v)

    expected = np.cos(a.to_numpy() @ np.array(X))[:, None] * a.to_numpy()
    close(jacrev(f)(x()), expected)
    close(jacfwd(f)(x()), expected)
    output, back = vjp(f, x())
    g = torch.tensor([1.0, -2.0])
    (product,) = back(g)  # a tuple even for one argument
    close(product, g.to_numpy() @ expected)
    primal, pushed = jvp(f, (x(),), (x() + 1,))
    close(primal, output)
    close(pushed, expected @ (np.array(X) + 1))
    close(hessian(cubes)(x()), np.diag(6 * np.array(X)))
    close(functional.jacobian(f, x()), expected)
    close(functional.hessian(cubes, x()), np.diag(6 * np.array(X)))
    close(functional.hvp(cubes, x(), x())[1], 6 * np.array(X) ** 2)
    close(functional.jvp(f, x(), x() + 1)[1], expected @ (np.array(X) + 1))
    close(functional.vjp(f, x(), g)[1], g.to_numpy() @ expected)
    rows = functional.jacobian(lambda p, q: (p * q, p.sum()), (x(), x()))
    close(rows[0][1], np.diag(X))
    close(rows[1][0], np.ones(3))
    with pytest.raises(RuntimeError, match="strict mode"):
        functional.jacobian(lambda p, q: p * 2, (x(), x()), strict=True)


def test_vmap() -> None:
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    close(vmap(torch.dot, in_dims=(0, None))(a, b), a.to_numpy() @ b.to_numpy())
    close(vmap(lambda v: v * 2, in_dims=1, out_dims=1)(a), 2 * a.to_numpy())
    close(vmap(grad(cubes))(a), 3 * a.to_numpy() ** 2)
    sums, parts = vmap(lambda d: (d["a"].sum(), [d["a"] + d["b"]]), in_dims=({"a": 0, "b": None},))({"a": a, "b": b})
    close(sums, a.to_numpy().sum(1))
    close(parts[0], a.to_numpy() + b.to_numpy())
    same = vmap(lambda v: torch.rand(2) + v, randomness="same")(torch.zeros(3))
    assert len({tuple(row) for row in same.tolist()}) == 1
    with pytest.raises(ValueError, match=r"got sizes \[2, 3\]"):
        vmap(torch.add)(a, b)


def test_gradients_of_a_module_by_its_parameters() -> None:
    net = nn.Linear(3, 1)
    values = {name: p.detach() * 0 + 1 for name, p in net.named_parameters()}
    found = grad(lambda p, v: torch.func.functional_call(net, p, (v,)).sum())(values, x())
    close(found["weight"], [X])
    assert net.weight.grad is None


# --- checkpoints


def _net(seed: int) -> Any:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1))


@pytest.mark.parametrize("how", ["backward", "grad", "twice"])
def test_a_checkpoint_changes_no_gradient(how: str) -> None:
    results = []
    for wrapped in (False, True):
        net, v = _net(0), x().requires_grad_()
        torch.manual_seed(1)
        y = checkpoint(net, v * 2, use_reentrant=False) if wrapped else net(v * 2)
        leaves = [v, *net.parameters()]
        if how == "backward":
            y.sum().backward()
            found = [t.grad for t in leaves]
        elif how == "grad":
            found = list(torch.autograd.grad((y**2).sum(), leaves))
        else:
            slopes = torch.autograd.grad((y**2).sum(), v, create_graph=True)[0]
            found = list(torch.autograd.grad((slopes**2).sum(), leaves, allow_unused=True))
        results.append([None if g is None else g.to_numpy() for g in found])
    for plain, again in zip(*results, strict=True):
        assert (plain is None) == (again is None)
        if plain is not None:
            np.testing.assert_allclose(plain, again, rtol=1e-12)


def test_checkpoint_saves_nothing_and_recomputes() -> None:
    calls = []

    def f(v: Any, w: Any) -> Any:
        calls.append(None)
        return (v * w).exp(), "text", v

    w = torch.tensor(X).requires_grad_()
    captured = w * 2
    y, text, same = checkpoint(f, x().requires_grad_() * 1, captured)
    assert text == "text" and same.requires_grad and len(calls) == 1
    y.sum().backward()
    assert len(calls) == 2
    close(w.grad, 2 * np.array(X) * np.exp(2 * np.array(X) ** 2))
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    layers = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))
    v = x().requires_grad_()
    close(checkpoint_sequential(layers, 2, v, use_reentrant=False), layers(v))
    with torch.no_grad():
        assert not checkpoint(f, x(), w)[0].requires_grad
    turns = iter([3, 2])
    z = checkpoint(lambda v: v[: next(turns)] * 2, x().requires_grad_())
    with pytest.raises(RuntimeError, match="different outputs"):
        z.sum().backward()


# --- hooks and anomalies


def test_hooks_after_accumulation() -> None:
    w, seen = x().requires_grad_(), []
    handle = w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    for _ in range(2):
        (w * 2).sum().backward()
    assert seen == [[2, 2, 2], [4, 4, 4]]
    handle.remove()
    (w * 2).sum().backward()
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="non-leaf"):
        (w * 2).register_post_accumulate_grad_hook(print)

    def step(t: Any) -> None:  # an optimizer in the backward pass
        with torch.no_grad():
            t -= 0.1 * t.grad
        t.grad = None

    w.grad = None
    w.register_post_accumulate_grad_hook(step)
    (w * 1).sum().backward()
    close(w, np.array(X) - 0.1)
    del w
    gc.collect()


def test_anomalies_name_the_line() -> None:
    v = torch.tensor([0.0, 1.0]).requires_grad_()
    with torch.autograd.detect_anomaly():
        assert torch.autograd.is_anomaly_enabled()
        y = (v.sqrt() * 0).sum()  # here
        with pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output.*\n"
                                               r".*was recorded at .*test_func\.py:\d+"):  # fmt: skip
            y.backward()
    assert not torch.autograd.is_anomaly_enabled()
    (v.sqrt() * 0).sum().backward()
    assert math.isnan(v.grad[0].item())


def test_values_that_are_overwritten_are_kept() -> None:
    """Uses the old contents of overwritten values, for which PyTorch raises."""
    v = x().requires_grad_()
    y = v.exp()
    total = (y * y).sum()
    y.mul_(0)
    total.backward()
    close(v.grad, 2 * np.exp(2 * np.array(X)))


@pytest.mark.parametrize("function", [lambda z: z * z.conj(), torch.exp, lambda z: z.abs(), lambda z: (z**2).real])
def test_gradcheck_of_complex_functions(function: Callable[..., Any]) -> None:
    z = torch.tensor([1 + 2j, -0.5 + 0.3j]).requires_grad_()
    assert torch.autograd.gradcheck(function, [z])
    assert torch.autograd.gradgradcheck(function, [z])


def test_gradcheck_finds_a_wrong_gradient() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            return v * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(Wrong.apply, [x().requires_grad_()])
    assert not torch.autograd.gradcheck(Wrong.apply, [x().requires_grad_()], raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        torch.autograd.gradcheck(torch.exp, [x()])


def test_stacked_module_state() -> None:
    models = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert {name: tuple(p.shape) for name, p in parameters.items()} == {"weight": (4, 2, 3), "bias": (4, 2)}
    assert all(p.is_leaf and p.requires_grad for p in parameters.values())
    x = torch.randn(5, 3)
    together = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(
        parameters, buffers, x
    )
    for k, model in enumerate(models):
        close(together[k].detach(), model(x).detach())
    assert_errors(
        (lambda: stack_module_state([]), RuntimeError, "at least one model"),
        (lambda: stack_module_state([models[0], nn.Linear(3, 2).eval()]), RuntimeError, "same training/eval mode"),
        (lambda: stack_module_state([models[0], nn.ReLU()]), RuntimeError, "same class"),
    )
