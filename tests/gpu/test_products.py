"""Large float32 products by tensor cores are as accurate as cuBLAS' and treat infinity and NaN as it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import torch

Array = Any

#: The largest error, as a part of the sum of the terms' magnitudes. cuBLAS reaches 5e-6 for the same operands.
ERROR = 2e-6


def numbers(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    """Returns float32 numbers: of both signs, of one sign, or of magnitudes from 1e-8 to 1e8."""
    random = cp.random.default_rng(seed)
    if kind == "positive":
        return random.random(shape, dtype=cp.float32)
    x = random.standard_normal(shape, dtype=cp.float32)
    return x if kind == "normal" else x * cp.exp(4 * random.standard_normal(shape, dtype=cp.float32))


def has_tensor_cores() -> bool:
    """Returns true if the device has the instructions of these kernels."""
    return cp.cuda.Device().compute_capability == "90"


def is_by_tensor_cores(product: Array) -> bool:
    return "tf32_dot" in cp.show_code(product)


def check(product: Array, a: Array, b: Array, more: Array = 0.0) -> None:
    """Compares a product with that of float64, and its path with the one that the device should take."""
    assert is_by_tensor_cores(product) == has_tensor_cores()
    wide = [x.astype(cp.float64) for x in (a, b)]
    bound = cp.abs(wide[0]) @ cp.abs(wide[1]) + cp.abs(cp.asarray(more))
    error = cp.abs(product - (wide[0] @ wide[1] + more)) / bound
    assert float(cp.max(error)) < ERROR


@pytest.mark.parametrize("kind", ["normal", "positive", "wide"])
@pytest.mark.parametrize("m, k, n", [(2048, 2048, 2048), (2100, 1001, 2303), (4000, 300, 4100), (1024, 16384, 1024)])
def test_products_of_several_shapes(m: int, k: int, n: int, kind: str) -> None:
    a, b = numbers(kind, (m, k), 1), numbers(kind, (k, n), 2)
    check(a @ b, a, b)


LAYOUTS: list[Callable[[Array], Array]] = [
    lambda x: x,
    lambda x: cp.ascontiguousarray(x.T).T,
    lambda x: cp.concatenate([x, x], 1)[:, 1 : x.shape[1] + 1],
    lambda x: x[::-1],
    lambda x: cp.repeat(x, 2, axis=1)[:, ::2],
]


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_operands_in_every_layout(left: Callable[[Array], Array], right: Callable[[Array], Array]) -> None:
    a, b = left(numbers("normal", (1920, 1700), 3)), right(numbers("normal", (1700, 1930), 4))
    check(a @ b, a, b)


def test_batches_and_a_shared_operand() -> None:
    a, b = numbers("normal", (5, 1100, 1200), 5), numbers("normal", (5, 1200, 1300), 6)
    check(a @ b, a, b)
    check(a @ b[2], a, b[2])
    check(a[3] @ b, a[3], b)


@pytest.mark.parametrize("m, k, n", [(2000, 1500, 2001), (1024, 16384, 1024)])
def test_factors_addends_and_biases(m: int, k: int, n: int) -> None:
    a, b = numbers("normal", (m, k), 7), numbers("normal", (k, n), 8)
    c, row = numbers("normal", (m, n), 9), numbers("normal", (n,), 10)
    check(a @ b + row, a, b, row)
    check(c + a @ b, a, b, c)
    check(2.5 * (a @ b), 2.5 * a, b)
    check(0.5 * (a @ b) - 3 * c, 0.5 * a, b, -3 * c)
    check(row - a @ b, -a, b, row)
    c += a @ b
    check(c, a, b, numbers("normal", (m, n), 9))


@pytest.mark.parametrize("m, k, n", [(9000, 40000, 700), (700, 9000, 40001)])
def test_operands_of_gigabytes(m: int, k: int, n: int) -> None:
    """The parts of such an operand take turns."""
    a, b, c = numbers("normal", (m, k), 15), numbers("normal", (k, n), 16), numbers("normal", (m, n), 17)
    row = numbers("normal", (n,), 18)
    check(a @ b + row, a, b, row)
    check(c - a @ b, -a, b, c)


def test_infinity_and_nan_stay_where_they_are() -> None:
    a, b = numbers("normal", (2048, 2049), 11), numbers("normal", (2049, 2050), 12)
    a[3, 5], a[200, 70], b[7, 200] = cp.inf, cp.nan, -cp.inf
    # TF32 represents these, so that their low parts are zero.
    b[5, :] = 0.5
    a[9, 11], b[11, :] = np.finfo("float32").max, 0.25
    product = a @ b
    assert is_by_tensor_cores(product) == has_tensor_cores()
    with np.errstate(invalid="ignore"):
        got, want = cp.asnumpy(product), cp.asnumpy(a) @ cp.asnumpy(b)
    for same in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(same(got), same(want))
    finite = np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-4, atol=1e-2)


def test_the_smallest_numbers_do_not_vanish() -> None:
    a, b = numbers("normal", (2048, 2048), 13) * 1e-35, numbers("normal", (2048, 2048), 14)
    check(a @ b, a, b)


def test_gradients_of_a_linear_layer() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(1500, 1600, device="cuda")
    x = torch.randn(4096, 1500, device="cuda", requires_grad=True)
    layer(x).square().mean().backward()
    wide = torch.nn.Linear(1500, 1600, device="cuda", dtype=torch.float64)
    wide.load_state_dict(layer.state_dict())
    y = x.detach().double().requires_grad_()
    wide(y).square().mean().backward()
    for got, want in ((x.grad, y.grad), (layer.weight.grad, wide.weight.grad), (layer.bias.grad, wide.bias.grad)):
        assert got is not None and want is not None
        assert float((got.double() - want).norm() / want.norm()) < 1e-6
