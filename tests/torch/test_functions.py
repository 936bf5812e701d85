"""Compares rearrangements and statistics with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

A = np.random.default_rng(0).normal(size=(3, 4, 5))
M, V, K = A[0], A[0, 0], np.array([[3, 1, 3, 0], [1, 1, 2, 0], [0, 5, 5, 5]])

#: The call on each side: (with torch and its tensors, with NumPy).
TABLE: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "rot90": (lambda t: t(M).rot90(3), lambda: np.rot90(M, 3)),
    "rot90 of other dims": (lambda t: torch.rot90(t(A), 1, (1, 2)), lambda: np.rot90(A, 1, (1, 2))),
    "rot90 backwards": (lambda t: torch.rot90(t(M), -1), lambda: np.rot90(M, -1)),
    "hsplit": (lambda t: t(A).hsplit(2)[1], lambda: np.hsplit(A, 2)[1]),
    "vsplit": (lambda t: t(A).vsplit([1])[1], lambda: np.vsplit(A, [1])[1]),
    "dsplit": (lambda t: t(A).dsplit([2, 3])[2], lambda: np.dsplit(A, [2, 3])[2]),
    "dstack": (lambda t: torch.dstack([t(V), t(V)]), lambda: np.dstack([V, V])),
    "column_stack": (lambda t: torch.column_stack([t(V), t(M.T)]), lambda: np.column_stack([V, M.T])),
    "atleast_3d": (lambda t: torch.atleast_3d(t(V)), lambda: np.atleast_3d(V)),
    "kron": (lambda t: torch.kron(t(M), t(V)), lambda: np.kron(M, V)),
    "trace": (lambda t: t(M).trace(), lambda: np.trace(M)),
    "argwhere": (lambda t: t(K).argwhere(), lambda: np.argwhere(K)),
    "triangle": (lambda t: torch.triu_indices(3, 4, 1), lambda: np.array(np.triu_indices(3, 1, 4))),
    "cartesian_prod": (lambda t: torch.cartesian_prod(t(V[:2]), t(V[2:])),
                       lambda: np.array([(a, b) for a in V[:2] for b in V[2:]])),
    "combinations": (lambda t: torch.combinations(t(V[:3])), lambda: V[[[0, 1], [0, 2], [1, 2]]]),
    "block_diag": (lambda t: torch.block_diag(t(M[:1, :2]), t(V[:1])),
                   lambda: np.array([[M[0, 0], M[0, 1], 0], [0, 0, V[0]]])),
    "view_as_real": (lambda t: torch.view_as_real(torch.view_as_complex(t(A[..., :2]))), lambda: A[..., :2]),
    "sum_to_size": (lambda t: t(A).sum_to_size(4, 1), lambda: A.sum((0, 2))[:, None]),
    "scatter_reduce": (lambda t: torch.zeros(3, dtype=torch.float64).scatter_reduce(
        0, t(np.array([0, 0, 2, 0, 2])), t(V), "mean", include_self=False),
        lambda: np.array([V[[0, 1, 3]].mean(), 0, V[[2, 4]].mean()])),
    "scatter_reduce of integers": (lambda t: t(np.array([9, 2, 5])).scatter_reduce(
        0, t(np.array([0, 0, 2])), t(np.array([4, 12, 7])), "amin", include_self=False), lambda: np.array([4, 2, 7])),
    "index_reduce": (lambda t: t(M).index_reduce(0, t(np.array([2, 2])), t(M[:2]), "amax"),
                     lambda: np.stack([M[0], M[1], M[:3].max(0), M[3]])),
    "unique_consecutive": (lambda t: torch.cat(torch.unique_consecutive(
        t(np.array([1, 1, 2, 1, 3, 3])), return_inverse=True, return_counts=True)),
        lambda: np.array([1, 2, 1, 3, 0, 0, 1, 2, 3, 3, 2, 1, 1, 2])),
    "msort": (lambda t: t(M).msort(), lambda: np.sort(M, 0)),
    "quantile": (lambda t: torch.quantile(t(A), t(np.array([0.0, 0.3, 1.0])), dim=1),
                 lambda: np.quantile(A, [0.0, 0.3, 1.0], axis=1)),
    "quantile nearest": (lambda t: t(A).quantile(0.37, keepdim=True, interpolation="lower"),
                         lambda: np.quantile(A, 0.37, method="lower", keepdims=True)),
    "mode": (lambda t: t(K).mode(1).values, lambda: np.array([3, 1, 5])),
    "mode's index": (lambda t: torch.gather(t(K), 1, t(K).mode(1, keepdim=True).indices), lambda: [[3], [1], [5]]),
    "histc": (lambda t: torch.histc(t(A), 7, -1, 2), lambda: np.histogram(A, 7, (-1, 2))[0].astype(float)),
    "bucketize": (lambda t: torch.bucketize(t(A), t(np.sort(V))), lambda: np.searchsorted(np.sort(V), A)),
    "isin": (lambda t: torch.isin(t(K), t(np.array([1, 5]))), lambda: np.isin(K, [1, 5])),
    "diff": (lambda t: torch.diff(t(A), 2, 1), lambda: np.diff(A, 2, 1)),
    "diff of more": (lambda t: t(M).diff(append=t(M)), lambda: np.diff(M, append=M)),
    "trapezoid": (lambda t: torch.trapezoid(t(M), t(np.sort(V))), lambda: np.trapezoid(M, np.sort(V))),
    "cov": (lambda t: t(M).cov(), lambda: np.cov(M)),
    "corrcoef": (lambda t: t(M).corrcoef(), lambda: np.corrcoef(M)),
    "logcumsumexp": (lambda t: torch.logcumsumexp(t(M), 1), lambda: np.logaddexp.accumulate(M, 1)),
    "renorm": (lambda t: torch.renorm(t(M), 2, 0, 1.0),
               lambda: M / np.maximum(np.linalg.norm(M, axis=1, keepdims=True), 1)),
    "tril_": (lambda t: t(M.copy()).tril_(-1), lambda: np.tril(M, -1)),
    "unsqueeze_": (lambda t: t(V).unsqueeze_(1), lambda: V[:, None]),
    "t_": (lambda t: t(M.copy()).t_() * 2, lambda: M.T * 2),
    "relu": (lambda t: t(M.copy()).relu_(), lambda: np.maximum(M, 0)),
    "where": (lambda t: t(M).where(t(M > 0), 2.0), lambda: np.where(M > 0, M, 2.0)),
    "bool triangle": (lambda t: torch.ones(2, 2, dtype=torch.bool).triu(1), lambda: np.triu(np.ones((2, 2), bool), 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_as_numpy(name: str) -> None:
    ours, theirs = TABLE[name]
    found, expected = ours(torch.tensor).cpu().numpy(), np.asarray(theirs())
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda x: x.exponential_(2.0), 0.5, 0.5),
        (lambda x: x.geometric_(0.25), 4.0, 12**0.5),
        (lambda x: x.log_normal_(0.0, 0.5), np.exp(0.125), np.exp(0.125) * (np.exp(0.25) - 1) ** 0.5),
        (lambda x: torch.poisson(x.fill_(3.0)), 3.0, 3**0.5),
    ],
)
def test_samples(draw: Any, mean: float, std: float) -> None:
    values = draw(torch.empty(40000)).cpu().numpy()
    assert values.mean() == pytest.approx(mean, rel=0.03) and values.std() == pytest.approx(std, rel=0.05)


def test_tensors_without_dimensions_are_joined_as_in_pytorch() -> None:
    x = torch.tensor(2.0)
    assert torch.hstack([x, x]).tolist() == [2.0, 2.0]
    assert torch.vstack([x, x]).tolist() == [[2.0], [2.0]]
    with pytest.raises(RuntimeError, match=r"zero-dimensional tensor \(at position 0\) cannot be concatenated"):
        torch.cat([x, x])


def test_excluded_extremes_get_no_gradient() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 1]), x, "amax", include_self=False).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_mantissas_of_all_magnitudes(dtype: str) -> None:
    """`exp2` of the exponent of the greatest numbers is infinite."""
    info = np.finfo(dtype)
    values = np.array(
        [info.max, -info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan, 0.0, -0.0, 3.0]
    )
    values = values.astype(dtype)
    ours, theirs = torch.frexp(torch.tensor(values)), np.frexp(values)
    mantissa = ours.mantissa.cpu().numpy()
    np.testing.assert_array_equal(mantissa, theirs[0])
    np.testing.assert_array_equal(np.signbit(mantissa), np.signbit(theirs[0]))
    np.testing.assert_array_equal(ours.exponent.cpu().numpy(), theirs[1])
    assert ours.exponent.dtype == torch.int32
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        torch.frexp(torch.tensor([1]))
