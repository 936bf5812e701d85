"""Saved tensors keep their values whatever is written later, and reference cycles are collected."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch.utils.checkpoint import checkpoint
from tests.robust.helpers import output
from tests.torch.custom_functions import Exp, Square

Tensor = torch.Tensor


def leaf(*values: float) -> Tensor:
    return torch.tensor([float(v) for v in values], dtype=torch.float64, requires_grad=True)


#: Functions that save results or operands: of a symmetric positive definite matrix.
SAVING: dict[str, Callable[[Tensor], Tensor]] = {
    "inv": torch.linalg.inv,
    "pinv": torch.linalg.pinv,
    "det": lambda a: torch.linalg.det(a.expand(2, 3, 3)),
    "slogdet": lambda a: torch.linalg.slogdet(a.expand(2, 3, 3)).logabsdet,
    "solve": lambda a: torch.linalg.solve(a, a[:, :2] * 2 + 1),
    "solve_triangular": lambda a: torch.linalg.solve_triangular(a, a[:, :2] * 2 + 1, upper=True),
    "cholesky": torch.linalg.cholesky,
    "cholesky_solve": lambda a: torch.cholesky_solve(a[:, :1] * 1, torch.linalg.cholesky(a)),
    "qr": lambda a: torch.linalg.qr(a).R,
    "svdvals": torch.linalg.svdvals,
    "svd": lambda a: torch.linalg.svd(a).U.abs(),
    "eigvalsh": torch.linalg.eigvalsh,
    "eigh": lambda a: torch.linalg.eigh(a).eigenvectors.abs(),
    "norm 2": lambda a: torch.linalg.norm(a.expand(2, 3, 3), 2, dim=(1, 2)),
    "norm nuc": lambda a: torch.linalg.norm(a.expand(2, 3, 3), "nuc", dim=(1, 2)),
    "matrix_exp": lambda a: torch.matrix_exp(a * 0.1),
    "scatter_reduce": lambda a: a.scatter_reduce(0, torch.tensor([[0, 1, 1]]), a[:1] * 2, "prod"),
    "a Function": Exp.apply,
    "a Function of its operand": Square.apply,
    "checkpoint": lambda a: checkpoint(lambda t: torch.sin(t) * t, a, use_reentrant=False),
}


def positive_definite() -> Tensor:
    a = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    return torch.tensor(a @ a.T + np.diag([1.0, 2.0, 3.0]), requires_grad=True)


@pytest.mark.parametrize("name", SAVING)
@pytest.mark.parametrize("write", [lambda t: t.zero_(), lambda t: t.mul_(2.0), lambda t: t.copy_(t * t + 1)])
def test_writes_to_operands_and_results_leave_gradients_as_they_were(name: str, write: Callable[[Tensor], Any]) -> None:
    function = SAVING[name]
    x = positive_definite()
    y = function(x * 1)
    weight = torch.cos(torch.arange(float(y.numel()))).reshape(y.shape)
    (expected,) = torch.autograd.grad((y * weight).sum(), x)
    for overwritten in ("operand", "result"):
        operand = x * 1
        result = function(operand)
        loss = (result * weight).sum()
        write(operand if overwritten == "operand" else result)
        (found,) = torch.autograd.grad(loss, x)
        np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-12, err_msg=overwritten)


def test_overwritten_leaf_uses_its_saved_value() -> None:
    x = leaf(1, 2)
    y = Square.apply(x).sum()
    with torch.no_grad():
        x.zero_()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_values_overwritten_in_forward_use_their_final_value() -> None:
    class Late(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = x * 1
            ctx.save_for_backward(y)
            return y.mul_(3.0)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * ctx.saved_tensors[0]

    x = leaf(1, 2)
    Late.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]


def test_second_derivatives_go_through_saved_operands_and_results() -> None:
    for function, second in ((Exp, np.exp([1.0, 2.0])), (Square, [2.0, 2.0])):
        x = leaf(1, 2)
        a = x * 1
        y = function.apply(a)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        a.zero_()
        y.detach().zero_()
        (found,) = torch.autograd.grad(slope.sum(), x)
        np.testing.assert_allclose(found.tolist(), second)


def test_saved_parameters_keep_their_identity() -> None:
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
            ctx.save_for_backward(x, None, weight)
            return x * weight

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            x, nothing, weight = ctx.saved_tensors
            seen.append((weight, nothing))
            return g * weight, g * x

    weight = torch.nn.Parameter(torch.ones(2))
    Scale.apply(torch.ones(2), weight).sum().backward()
    assert seen[0][0] is weight and seen[0][1] is None


def test_saved_tensors_are_freed_with_the_graph() -> None:
    contexts = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            part = x * 2
            contexts.append((ctx, weakref.ref(part)))
            ctx.save_for_backward(part)
            return part * x

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * ctx.saved_tensors[0] * 2

    loss = Keep.apply(leaf(1, 2)).sum()
    ctx, part = contexts[0]
    loss.backward(retain_graph=True)
    assert ctx.saved_tensors[0].tolist() == [2.0, 4.0]
    loss.backward()
    assert part() is None
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = ctx.saved_tensors


def test_checkpoint_recomputes_from_its_original_inputs() -> None:
    x = leaf(1, 2)
    a = x * 1
    y = checkpoint(lambda pair, by: pair[0].exp() * pair[1] * by, (a, a), by=a, use_reentrant=False)
    a.zero_()
    y.sum().backward()
    v = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.tolist(), np.exp(v) * (v**2 + 2 * v))


# --- cycles


def collected(make: Callable[[], Any]) -> bool:
    """Returns true if the garbage collector finds an object that a function creates and drops."""
    gone = weakref.ref(make())
    gc.collect()
    return gone() is None


class Big:
    """An object in a cycle."""


def hook_on_a_leaf() -> Any:
    t, big = leaf(1, 2), Big()
    t.register_hook(lambda g: (g + t, big)[0])
    (t * 2).sum().backward()
    return big


def hook_on_a_result() -> Any:
    t, big = leaf(1, 2) * 2, Big()
    t.register_hook(lambda g: (g + t, big)[0])
    return big


def hook_on_a_view() -> Any:
    t, big = leaf(1, 2)[:1], Big()
    t.register_hook(lambda g: (g + t, big)[0])
    return big


def hook_after_accumulation() -> Any:
    t, big = leaf(1, 2), Big()
    t.register_post_accumulate_grad_hook(lambda p: None if p is not t else setattr(big, "seen", t))
    t.sum().backward()
    return big


def function_with_its_context() -> Any:
    big = Big()

    class Cyclic(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.me, ctx.big = ctx, big
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g

    Cyclic.apply(leaf(1, 2)).sum().backward()
    return big


def function_with_its_result() -> Any:
    big, contexts = Big(), []

    class Cyclic(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            contexts.append(ctx)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g

    y = Cyclic.apply(leaf(1, 2))
    ctx = contexts.pop()
    ctx.result, ctx.big = y * 2 + 1, big
    return big


def attribute_of_itself() -> Any:
    t, big = leaf(1, 2), Big()
    t.me, t.big = t, big
    return big


@pytest.mark.parametrize(
    "make",
    [hook_on_a_leaf, hook_on_a_result, hook_on_a_view, hook_after_accumulation, function_with_its_context,
     function_with_its_result, attribute_of_itself],
)  # fmt: skip
def test_cycles_are_collected(make: Callable[[], Any]) -> None:
    assert collected(make)


def test_hook_reachable_from_a_result_is_kept() -> None:
    seen = []

    def graph() -> Tensor:
        t = leaf(1, 2) * 2
        t.register_hook(lambda g: seen.append((g.tolist(), t.tolist())))
        return (t * 3).sum()

    loss = graph()
    gc.collect()
    loss.backward()
    assert seen == [([3.0, 3.0], [2.0, 4.0])]


def test_backward_with_a_graph_warns_once() -> None:
    said = output("""
        import warnings, cuprous.torch as torch
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                x = torch.ones(2, requires_grad=True)
                (x * x).sum().backward(create_graph=True)
                x.grad = None
        print(len(seen), seen[0].message)
    """)
    assert said.startswith("1 Using backward() with create_graph=True will create a reference cycle")


def test_gradient_with_a_graph_is_not_a_view() -> None:
    x = leaf(1, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x.sum().backward(create_graph=True)
    (x * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 4.0]
    x.grad = None


def test_the_collector_may_run_at_any_time() -> None:
    """Creating a tensor allocates, so a collection may see it half initialized."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(20):
            x = leaf(1, 2)
            y = Square.apply(x)
            y.register_hook(lambda g, y=y: g * 1)
            (Exp.apply(y) * y).sum().backward()
            assert x.grad is not None
    finally:
        gc.set_threshold(*before)
