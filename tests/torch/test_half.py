"""Half precision with Python numbers is computed in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch

DTYPES = {"bfloat16": (torch.bfloat16, ml_dtypes.bfloat16), "float16": (torch.float16, np.float16)}
N = 3.1

#: With torch's tensors a and b and NumPy's float32 arrays of the same values.
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda a, b: a * N,
    "rmul": lambda a, b: N * a,
    "div": lambda a, b: a / N,
    "rdiv": lambda a, b: N / a,
    "add": lambda a, b: a + N,
    "sub": lambda a, b: a - N,
    "rsub": lambda a, b: N - a,
    "floor": lambda a, b: a // N,
    "a number above the half's range": lambda a, b: a / 1e5,
    "alpha": lambda a, b: a + np.float32(N) * b if isinstance(a, np.ndarray) else torch.add(a, b, alpha=N),
    "sub alpha": lambda a, b: a - np.float32(N) * b if isinstance(a, np.ndarray) else torch.sub(a, b, alpha=N),
    "addcmul": lambda a, b: (a + np.float32(N) * (a * b) if isinstance(a, np.ndarray)
                             else torch.addcmul(a, a, b, value=N)),
    "addcdiv": lambda a, b: (a + np.float32(N) * (a / b) if isinstance(a, np.ndarray)
                             else torch.addcdiv(a, a, b, value=N)),
    "lerp": lambda a, b: a + np.float32(N) * (b - a) if isinstance(a, np.ndarray) else torch.lerp(a, b, N),
    "a tensor without axes": lambda a, b: a * np.float32(N) if isinstance(a, np.ndarray) else a * torch.tensor(N),
}  # fmt: skip


def operands(half: str) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    torch_dtype, numpy_dtype = DTYPES[half]
    x, y = np.linspace(-8, 8, 250), np.linspace(1, 3, 250)
    a, b = (torch.tensor(v.astype(np.float32)).to(torch_dtype) for v in (x, y))
    return (
        a,
        b,
        x.astype(np.float32).astype(numpy_dtype).astype(np.float32),
        y.astype(np.float32).astype(numpy_dtype).astype(np.float32),
    )


def same(found: Any, expected: np.ndarray, half: str) -> None:
    assert found.dtype == DTYPES[half][0]
    rounded = expected.astype(DTYPES[half][1]).astype(np.float32)
    np.testing.assert_array_equal(found.float().cpu().numpy(), rounded)


@pytest.mark.parametrize("half", DTYPES)
@pytest.mark.parametrize("name", FORMULAS)
def test_scalars_are_not_rounded_to_half(name: str, half: str) -> None:
    a, b, x, y = operands(half)
    expected = FORMULAS[name](x, y)
    assert expected.dtype == np.float32
    same(FORMULAS[name](a, b), expected, half)


@pytest.mark.parametrize("half", DTYPES)
def test_in_place_and_in_gradients_too(half: str) -> None:
    a, _, x, _ = operands(half)
    same(a.clone().mul_(0.3), x * np.float32(0.3), half)
    same(a.clone().div_(0.3), x / np.float32(0.3), half)
    c = a.clone()
    c *= 0.3
    same(c, x * np.float32(0.3), half)
    c = a.clone().requires_grad_()
    (c * 0.3).backward(a)
    same(c.grad, x * np.float32(0.3), half)


def test_the_layout_of_the_result_is_that_of_the_operand() -> None:
    a = torch.ones(3, 4).bfloat16().T
    assert (a * 0.3).stride() == (a * 0.5).stride() == (1, 4)


def test_powers_and_comparisons_round_their_number() -> None:
    """As in PyTorch, exponents and bounds have the tensor's dtype."""
    a = torch.tensor([3.09375, 2.0]).bfloat16()
    assert (a == 3.1).tolist() == [True, False]
    assert (a**3.1).tolist() == (a ** float(torch.tensor(3.1).bfloat16())).tolist()


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
def test_arrays_round_the_number_as_numpy_does(half: str) -> None:
    dtype = DTYPES[half][1]
    x = np.linspace(-8, 8, 250).astype(dtype)
    a = cp.asarray(x)
    for ours, theirs in ((a * N, x * dtype(N)), (N / a, dtype(N) / x), (a + N, x + dtype(N)), (a - N, x - dtype(N))):
        assert ours.dtype == theirs.dtype == dtype
        np.testing.assert_array_equal(cp.asnumpy(ours).astype(np.float32), theirs.astype(np.float32))
    # Chains round after each operation, fused or not.
    ours, theirs = (a * N + 0.3) / N - a, (x * dtype(N) + dtype(0.3)) / dtype(N) - x
    np.testing.assert_array_equal(cp.asnumpy(ours).astype(np.float32), theirs.astype(np.float32))


def test_means_of_adam_in_half_precision_move() -> None:
    """A factor of 0.999 would round to 1."""
    p = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
    wide = torch.ones(4, requires_grad=True)
    optimizers = [torch.optim.Adam([t], lr=0.1) for t in (p, wide)]
    for _ in range(20):
        for t, optimizer in zip((p, wide), optimizers, strict=True):
            optimizer.zero_grad()
            ((t - 0.3) ** 2).sum().backward()
            optimizer.step()
    np.testing.assert_allclose(p.detach().float().cpu().numpy(), wide.detach().cpu().numpy(), atol=0.02)
