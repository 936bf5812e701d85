"""Functions of integers, bools and complex numbers: PyTorch 2.11's values and dtypes, which it printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

F, special = torch.nn.functional, torch.special
INTEGERS = np.array([[-3, 2], [0, 9]])


def ints() -> Any:
    return torch.tensor(INTEGERS.tolist())


def bools() -> Any:
    return torch.tensor([True, False])


def complexes() -> Any:
    return torch.tensor([1 + 3.1j, 2 - 3j])


#: The call, the dtype and the values of its result.
TABLE: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "heaviside": (lambda: torch.heaviside(ints(), torch.tensor(5)), "int64", [[0, 1], [5, 1]]),
    "hardtanh": (lambda: F.hardtanh(ints(), -0.5, 1.7), "int64", [[0, 1], [0, 1]]),
    "relu6": (lambda: F.relu6(ints()), "int64", [[0, 2], [0, 6]]),
    "ldexp of complex exponents": (lambda: torch.ldexp(torch.tensor(2.0), complexes()), "complex64",
                                   [2 * 2 ** (1 + 3.1j), 2 * 2 ** (2 - 3j)]),
    "logsumexp of complex numbers": (lambda: torch.logsumexp(torch.tensor([1 + 3j, 1.5 + 4j]), 0), "complex64",
                                     np.log(np.exp(1 + 3j) + np.exp(1.5 + 4j))),
    "sign of bools": (lambda: bools().sign(), "bool", [True, False]),
    "sgn of bools": (lambda: torch.sgn(bools()), "bool", [True, False]),
    "conj_physical of bools": (lambda: torch.conj_physical(bools()), "bool", [True, False]),
    "square of bools": (lambda: torch.square(bools()), "int64", [1, 0]),
    "isclose of bools": (lambda: torch.isclose(bools(), torch.tensor([True, True])), "bool", [True, False]),
    "arange truncates its bounds": (lambda: torch.arange(0.9, -8.1, -4.0, dtype=torch.int64), "int64", [0, -4]),
    "logspace of integers": (lambda: torch.logspace(0, -3, 2, dtype=torch.int64), "int64", [1, 0]),
    "addmm": (lambda: torch.addmm(*[ints()] * 3, beta=0.2, alpha=2.6), "int64", 2 * INTEGERS @ INTEGERS),
    "addmv": (lambda: torch.addmv(ints()[0], ints(), ints()[0], beta=1.2, alpha=0.6), "int64", [-3, 2]),
    "baddbmm": (lambda: torch.baddbmm(*[ints()[None]] * 3, alpha=1.9), "int64", INTEGERS[None] + INTEGERS @ INTEGERS),
    "addbmm": (lambda: torch.addbmm(ints(), *[ints()[None]] * 2, alpha=1.9), "int64", INTEGERS + INTEGERS @ INTEGERS),
    "special functions": (lambda: special.bessel_j0(torch.tensor([0, 1])), "float32", [1.0, 0.7651977]),
    "special functions of two": (lambda: special.zeta(torch.tensor([2, 3]), torch.tensor([1.0, 2.0])), "float32",
                                 [1.644934, 0.2020569]),
    "degrees are truncated": (lambda: special.hermite_polynomial_h(torch.tensor([0.5, -2.0, 3.0, 9.0]),
                                                                   torch.tensor([3.6, 1.0, -0.6, -8.0])),
                              "float32", [-5.0, -4.0, 1.0, 0.0]),
    "polynomials of integers": (lambda: special.chebyshev_polynomial_t(torch.tensor([2, 3]), 2), "float32",
                                [7.0, 17.0]),
    "rsqrt of complex numbers": (lambda: complexes().rsqrt(), "complex64", np.array([1 + 3.1j, 2 - 3j]) ** -0.5),
    "sigmoid of complex numbers": (lambda: torch.sigmoid(complexes()), "complex64",
                                   1 / (1 + np.exp(-np.array([1 + 3.1j, 2 - 3j])))),
    "sinc of complex numbers": (lambda: torch.sinc(torch.tensor([0, 0.25j])), "complex64",
                                [1, np.sin(0.25j * np.pi) / (0.25j * np.pi)]),
    "quantile": (lambda: torch.tensor(2.5).quantile(0.5, dim=0, keepdim=True), "float32", 2.5),
    "index_reduce": (lambda: torch.tensor(2.0).index_reduce(0, torch.tensor([0]), torch.tensor(4.0), "mean"), "float32",
                     3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_as_in_pytorch(name: str) -> None:
    call, dtype, values = TABLE[name]
    result = call()
    assert result.dtype == getattr(torch, dtype) and result.shape == np.shape(values)
    np.testing.assert_allclose(result.cpu().numpy(), values, 1e-5, 1e-6)


def test_complex_random_numbers() -> None:
    torch.manual_seed(0)
    x = torch.randn(20_000, dtype=torch.complex64)
    assert x.dtype == torch.complex64 and torch.randn_like(complexes()).dtype == torch.complex64
    parts = torch.view_as_real(x)
    assert parts.mean(0).tolist() == pytest.approx([0, 0], abs=0.03)
    assert parts.var(0).tolist() == pytest.approx([0.5, 0.5], abs=0.03)
    assert float((parts[:, 0] * parts[:, 1]).mean()) == pytest.approx(0, abs=0.03)
    u = torch.view_as_real(torch.rand(1000, dtype=torch.complex128))
    assert float(u.min()) >= 0 and float(u.max()) < 1 and u.dtype == torch.float64
