"""Values, dtypes, gradients and errors of single operators where they are easily wrong.

NaN and infinite operands, integers, half precision, empty tensors, views that leave their tensor. All expected values
are PyTorch 2.11's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

F = torch.nn.functional
nan, inf = math.nan, math.inf


def t(*values: Any, dtype: Any = None) -> Any:
    return torch.tensor(list(values), dtype=dtype)


CASES: dict[str, tuple[Callable[[], Any], list[Any], str]] = {
    "clamp to NaN": (lambda: torch.clamp(t(1.0, 2.0, nan), t(nan, 0.0, 0.0)), [nan, 2.0, nan], "float32"),
    "clamp to the number NaN": (lambda: torch.clamp(t(1.0, 2.0), max=nan), [nan, nan], "float32"),
    "clamp_min": (lambda: t(inf, -1.0).clamp_min_(t(nan, 0.0)), [nan, 0.0], "float32"),
    "sign": (lambda: torch.sign(t(nan, -2.0, -0.0)), [0.0, -1.0, 0.0], "float32"),
    "sign in place": (lambda: t(nan, 2.0).sign_(), [0.0, 1.0], "float32"),
    "sgn of infinity": (lambda: torch.sgn(t(complex(inf, 0), 3 + 4j, 0j))[1:], [0.6 + 0.8j, 0j], "complex64"),
    "heaviside": (lambda: torch.heaviside(t(nan, 1.0, 0.0), t(0.5, nan, 7.0)), [0.0, 1.0, 7.0], "float32"),
    "heaviside in place": (lambda: t(-1, 0, 2).heaviside_(t(5, 6, 7)), [0, 6, 1], "int64"),
    "frac": (lambda: torch.frac(t(inf, -inf, -1.5)), [nan, nan, -0.5], "float32"),
    "lgamma": (lambda: torch.lgamma(t(-inf, 3.0)), [inf, math.log(2)], "float32"),
    "threshold": (lambda: F.threshold(t(nan, 1.0, 0.0), 0.5, 9.0), [nan, 1.0, 9.0], "float32"),
    "arange of integers from floats": (
        lambda: torch.arange(0.0, -8.000001, -4.0, dtype=torch.int32), [0, -4, -8], "int32"),
    "arange of int64 from floats": (
        lambda: torch.arange(0.0, -8.000001, -4.0, dtype=torch.int64), [0, -4], "int64"),
    "all of bytes": (lambda: torch.all(t(2, 0, dtype=torch.uint8)), [0], "uint8"),
    "any of bytes": (lambda: t(2, 0, dtype=torch.uint8).any(0, True), [1], "uint8"),
    "logit of bytes": (lambda: torch.logit(t(0, 5, dtype=torch.uint8)), [-inf, nan], "float32"),
    "mvlgamma": (lambda: torch.mvlgamma(t(-inf, 3.0), 1), [inf, math.log(2)], "float32"),
    "vander of bytes": (lambda: torch.linalg.vander(t(200, 2, dtype=torch.uint8), N=2), [1, 200, 1, 2], "int64"),
    "polynomials of degrees that are no numbers": (
        lambda: torch.special.chebyshev_polynomial_t(torch.full((3,), 0.5), t(3.0, nan, -2.0)),
        [-1.0, 0.0, 0.0], "float32"),
    "kl_div of single numbers": (
        lambda: F.kl_div(t(0.5)[0], t(0.3)[0], reduction="batchmean"), [-0.511192], "float32"),
    "gaussian_nll_loss": (
        lambda: F.gaussian_nll_loss(torch.ones(2, 3), torch.zeros(2, 3), torch.ones(1, 3)), [0.5], "float32"),
    "linspace of integers": (lambda: torch.linspace(4.3, -3, 5, dtype=torch.int64), [4, 2, 0, -1, -3], "int64"),
    "logspace of integers": (lambda: torch.logspace(0.5, 2.5, 3, 2.5, dtype=torch.int64), [1, 2, 6], "int64"),
    "diff of order 0": (lambda: torch.diff(torch.arange(3), 0, 0, torch.arange(2)), [0, 1, 2], "int64"),
    "logsumexp of bytes": (lambda: torch.logsumexp(t(200, 201, dtype=torch.uint8), 0), [201.3133], "float32"),
    "logsumexp of nothing": (lambda: torch.logsumexp(torch.empty(0), 0), [-inf], "float32"),
    "logcumsumexp of complex numbers": (
        lambda: torch.logcumsumexp(t(1 + 3j, 2 - 3j), 0), [1 + 3j, 2.3053687 - 3.0758145j], "complex64"),
    "a negative factor of bytes": (
        lambda: torch.add(t(5, dtype=torch.uint8), t(5, dtype=torch.uint8), alpha=-3), [246], "uint8"),
    "norm of half precision": (lambda: torch.norm(t(300.0, 300.0, 300.0, dtype=torch.float16)), [519.5], "float16"),
    "4-norm of half precision": (lambda: torch.norm(t(30.0, 40.0, dtype=torch.float16), 4), [42.84375], "float16"),
    "ldexp": (lambda: torch.ldexp(t(1.0, dtype=torch.float64), t(0.1, dtype=torch.float64)), [2**0.1], "float64"),
    "gradient": (
        lambda: torch.gradient(torch.arange(3.0, dtype=torch.float64) * 2.1, spacing=2.1)[0], [1.0] * 3, "float64"),
    "gradient of half precision": (
        lambda: torch.gradient(torch.arange(3.0).half(), spacing=None)[0], [1.0] * 3, "float16"),
    "polygamma of negative numbers": (lambda: torch.polygamma(1, t(-0.5, -2.5)), [8.934802, 9.539247], "float32"),
    "igamma of half precision": (lambda: torch.igamma(t(1.0).half(), t(0.5).half()), [0.3935], "float16"),
    "unravel_index of bytes": (lambda: torch.unravel_index(t(7, dtype=torch.uint8), (3, 300))[1], [7], "int64"),
    "circular padding that cuts": (
        lambda: F.pad(torch.arange(4.0).reshape(1, 1, 4), (-1, 1), "circular"), [1.0, 2.0, 3.0, 1.0], "float32"),
    "resampled bytes": (
        lambda: F.interpolate(t(0, 60, 120, 180, dtype=torch.uint8).reshape(1, 1, 2, 2), size=(3, 3), mode="bilinear"),
        [0, 30, 60, 60, 90, 120, 120, 150, 180], "uint8"),
    "addr of bools": (lambda: torch.addr(t(False), t(True, False), t(True)), [True, False], "bool"),
    "addbmm of bytes": (
        lambda: torch.addbmm(torch.zeros(1, 1, dtype=torch.uint8), *(torch.ones(2, 1, 1, dtype=torch.uint8),) * 2),
        [2], "uint8"),
    "masked_scatter with broadcasting": (
        lambda: torch.masked_scatter(torch.zeros(3), t([True, False, True], [False, True, False]), torch.arange(5.0)),
        [0.0, 0.0, 1.0, 0.0, 2.0, 0.0], "float32"),
    "group_norm of an empty batch": (lambda: F.group_norm(torch.ones(0, 4), 2), [], "float32"),
    "exponentials of matrices of different size": (
        lambda: torch.linalg.matrix_exp(t([[100.0]], [[1e-3]]))[1:], [math.exp(1e-3)], "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    call, expected, dtype = CASES[name]
    got = call()
    assert str(got.dtype) == f"torch.{dtype}"
    tolerance = {"float16": 1e-3, "float64": 1e-14}.get(dtype, 1e-5)
    np.testing.assert_allclose(got.cpu().numpy().reshape(-1), expected, rtol=tolerance, atol=1e-7)


def test_sgn_of_an_infinite_complex_number_has_no_direction() -> None:
    assert torch.isnan(torch.sgn(t(complex(inf, 0), complex(1, inf)))).all()


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "diag": (lambda: torch.diag(torch.ones(1, 1, 1)), RuntimeError, "1D or 2D"),
    "diag of a number": (lambda: torch.diag(torch.ones(())), RuntimeError, "1D or 2D"),
    "dsplit": (lambda: torch.dsplit(torch.ones(5, 5, 5), 0), RuntimeError, "not divisible by the split_size 0"),
    "dstack": (lambda: torch.dstack(()), RuntimeError, "non-empty"),
    "hstack": (lambda: torch.hstack(()), RuntimeError, "non-empty"),
    "cat": (lambda: torch.cat((), dim=1), ValueError, "non-empty list of Tensors"),
    "arange": (lambda: torch.arange(0, inf, 2), RuntimeError, "unsupported range"),
    "cov": (lambda: torch.cov(torch.ones(2), fweights=t(1, -1)), RuntimeError, "fweights cannot be negative"),
    "diff": (lambda: torch.diff(torch.ones(3), -1), RuntimeError, "order must be non-negative"),
    "complex": (lambda: torch.complex(torch.ones(2), torch.ones(2).double()), RuntimeError, "one dtype"),
    "vstack": (lambda: torch.vstack(()), RuntimeError, "non-empty"),
    "where": (lambda: torch.where(t(1.0), t(1.0), t(2.0)), RuntimeError, "boolean tensor"),
    "degree": (lambda: torch.special.legendre_polynomial_p(t(0.5), t(1e20)), NotImplementedError, "at most 100000"),
    "prelu": (lambda: F.prelu(torch.ones(2, 8), torch.ones(2, 4)), RuntimeError, "scalar or 1D"),
    "neg": (lambda: torch.neg(t(True)), RuntimeError, "Negation"),
    "kthvalue": (lambda: torch.kthvalue(t(1, 2), 3), RuntimeError, "out of range"),
    "mask of integers": (
        lambda: F.scaled_dot_product_attention(*[torch.ones(1, 2, 4, 8)] * 3, attn_mask=torch.ones(4, 4).long()),
        RuntimeError, "attn_mask dtype to be bool or float"),
    "mask of more batches": (
        lambda: F.scaled_dot_product_attention(*[torch.ones(1, 2, 4, 8)] * 3, attn_mask=torch.ones(2, 1, 4, 4) > 0),
        RuntimeError, "does not broadcast to the scores"),
    "masked_scatter": (lambda: t(1, 2).masked_scatter(t(1, 0), t(3, 4)), RuntimeError, "boolean masks.*int64"),
    "masked_fill": (lambda: torch.ones(2).masked_fill(t(True, False), 1j), RuntimeError, "cannot be converted"),
    "isclose": (lambda: torch.isclose(t(1.0), t(1.0), rtol=-0.5), RuntimeError, "rtol must be greater"),
    "movedim": (lambda: torch.movedim(torch.ones(2, 3), (0, 1), (0, 0)), RuntimeError, "repeated dim in `destination`"),
    "movedim of other numbers": (lambda: torch.movedim(torch.ones(2, 3), (0, 1), (0,)), RuntimeError, "same number"),
    "fliplr": (lambda: torch.fliplr(torch.ones(2)), RuntimeError, "2-d"),
    "flipud": (lambda: torch.flipud(torch.ones(())), RuntimeError, "1-d"),
    "narrow": (lambda: torch.narrow(torch.ones(()), 0, 0, 1), RuntimeError, "0-dim"),
    "index_add": (
        lambda: torch.zeros(3, 2).index_add(0, t(0, 1), t(1.0, 2.0)), RuntimeError, "source tensor shape must match"),
    "lgamma in place": (lambda: t(1, 2).lgamma_(), RuntimeError, "can't be cast"),
    "interpolate": (
        lambda: F.interpolate(torch.ones(1, 1, 2, 2).long(), size=3, mode="bilinear"), RuntimeError, "not implemented"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


def leaf(start: int, stop: int, step: int = 1) -> tuple[Any, Any]:
    """Returns a leaf that is a part of a larger tensor, and that tensor."""
    whole = torch.arange(12.0, dtype=torch.float64)
    return whole[start:stop:step].detach().requires_grad_(), whole


@pytest.mark.parametrize(
    ("part", "strided", "expected"),
    [
        ((5, 10), ((2, 2), (1, 2), 0), [0, 0, 0, 0, 0]),
        ((5, 10), ((2, 2), (1, 2), 4), [3, 2, 4, 0, 0]),
        ((0, 12, 2), ((6,), (1,), 0), [1, 3, 5, 0, 0, 0]),
        ((4, 8), ((4,), (1,), 2), [3, 4, 0, 0]),
    ],
)
def test_a_view_by_strides_may_leave_its_tensor(part: Any, strided: Any, expected: list[float]) -> None:
    """The gradient of elements outside goes nowhere; it had been written outside of the gradient's memory."""
    x, _ = leaf(*part)
    y = x.as_strided(*strided)
    (y.reshape(-1) * torch.arange(1.0, y.numel() + 1)).sum().backward()
    order = np.zeros(12)
    positions = np.lib.stride_tricks.as_strided(
        np.arange(12)[strided[2] :], strided[0], [8 * s for s in strided[1]]
    ).reshape(-1)
    order[positions] = np.arange(1.0, y.numel() + 1)
    np.testing.assert_array_equal(x.grad.cpu().numpy(), order[slice(*part)])
    np.testing.assert_array_equal(x.grad.cpu().numpy(), expected)


def test_several_views_outside() -> None:
    x, _ = leaf(4, 8)
    (x.as_strided((2,), (1,), 0) + x.as_strided((2,), (1,), 2) * 10).sum().backward()
    assert x.grad.tolist() == [0.0] * 4
    x, _ = leaf(4, 8)
    (x.as_strided((4,), (1,), 1)[t(0, 3, 3)] * torch.arange(1.0, 4)).sum().backward()
    assert x.grad.tolist() == [5.0, 0.0, 0.0, 0.0]


def test_a_recorded_write_outside_is_refused_before_it_writes() -> None:
    x, whole = leaf(5, 12)
    value = torch.full((2,), 7.0, dtype=torch.float64, requires_grad=True)
    with pytest.raises(NotImplementedError, match="reaches outside"):
        x.detach().as_strided((2,), (1,), 0).copy_(value)
    assert whole[:2].tolist() == [0.0, 1.0]


def test_a_number_filled_in_twice_counts_once() -> None:
    value = torch.tensor(2.0, requires_grad=True)
    filled = torch.index_fill(torch.zeros(3), 0, t(0, 0, 1), value)
    (filled * t(1.0, 2.0, 4.0)).sum().backward()
    assert filled.tolist() == [2.0, 2.0, 0.0] and float(value.grad) == 3.0


def test_i0_has_a_derivative() -> None:
    x = t(0.5, -1.0).requires_grad_()
    torch.i0(x).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), [0.257894, -0.565159], rtol=1e-5)


HALF: dict[str, Callable[[Any, Any], Any]] = {
    "depthwise convolution": lambda x, w: F.conv2d(x, w[:, :1], groups=4),
    "convolution in three dimensions": lambda x, w: F.conv3d(x[:, None], w[:1, :1, None]),
    "transposed convolution": lambda x, w: F.conv_transpose2d(x, w, stride=2),
    "transposed depthwise convolution": lambda x, w: F.conv_transpose2d(x, w[:, :1], groups=4),
    "average pooling": lambda x, w: F.avg_pool2d(x, 5, 1, 2),
    "adaptive average pooling": lambda x, w: F.adaptive_avg_pool2d(x, (3, 5)),
    "p-norm pooling": lambda x, w: F.lp_pool2d(x.abs() + 30, 4.0, 3),
    "bilinear": lambda x, w: F.interpolate(x, size=(13, 7), mode="bilinear"),
    "bicubic": lambda x, w: F.interpolate(x, size=(13, 7), mode="bicubic"),
    "norm": lambda x, w: torch.linalg.vector_norm(x * 64, 3.0, dim=1),
    "logcumsumexp": lambda x, w: torch.logcumsumexp(x, 2),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", HALF)
def test_half_precision_is_rounded_once(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = (torch.tensor(rng.standard_normal(shape), dtype=dtype) for shape in ((2, 4, 9, 11), (4, 4, 3, 3)))
    got, exact = HALF[name](x, w), HALF[name](x.double(), w.double())
    assert got.dtype == dtype
    unit = torch.finfo(dtype).eps
    np.testing.assert_allclose(got.double().cpu().numpy(), exact.cpu().numpy(), rtol=0.6 * unit, atol=0.3 * unit)


def test_an_empty_batch_leaves_running_statistics_alone() -> None:
    for layer in (torch.nn.BatchNorm1d(2), torch.nn.InstanceNorm1d(2, track_running_stats=True)):
        assert layer(torch.ones(0, 2, 3)).shape == (0, 2, 3)
        assert layer.running_mean.tolist() == [0.0, 0.0] and layer.running_var.tolist() == [1.0, 1.0]
