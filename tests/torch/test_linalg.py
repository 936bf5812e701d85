"""Compares `torch.linalg` and `torch.fft` with NumPy and SciPy, and derivatives with differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import cuprous.torch as torch
from tests.support import assert_errors
from tests.torch.custom_functions import Exp

pytestmark = pytest.mark.usefixtures("double")
L, T = torch.linalg, torch.fft


def wanting(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [torch.tensor(rng.normal(size=shape)).requires_grad_() for shape in shapes]


def adjoint(a: Any) -> Any:
    return a.mT.conj() if a.is_complex() else a.mT


def definite(a: Any) -> Any:
    return a @ adjoint(a) + 3 * torch.eye(a.shape[-1], dtype=a.dtype)


def free(u: Any, s: Any, vh: Any) -> tuple[Any, ...]:
    """Returns the parts of singular vectors that do not depend on their phases."""
    return s, (u * s.unsqueeze(-2)) @ vh, u @ vh, u.abs(), vh.abs()


def eigen(values: Any, vectors: Any) -> tuple[Any, ...]:
    return values.abs().sum(), (vectors.abs() * values.abs()).sum()


#: function, shapes; the dtypes are real and complex.
BOTH: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "inv": (L.inv, [(2, 3, 3)]), "solve": (L.solve, [(3, 3), (2, 3, 2)]), "solve a vector": (L.solve, [(3, 3), (3,)]),
    "solve from the right": (lambda a, b: L.solve(a, b, left=False), [(3, 3), (2, 3)]),
    "solve_triangular": (lambda a, b: L.solve_triangular(a, b, upper=True, unitriangular=True), [(3, 3), (3, 2)]),
    "det": (L.det, [(2, 3, 3)]), "slogdet": (lambda a: tuple(L.slogdet(a)), [(3, 3)]),
    "cholesky": (lambda a: L.cholesky(definite(a)), [(2, 3, 3)]),
    "cholesky upper": (lambda a: L.cholesky(definite(a), upper=True), [(3, 3)]), "qr": (L.qr, [(4, 3)]),
    "qr wide": (L.qr, [(2, 4)]), "svd": (lambda a: free(*L.svd(a, False)), [(4, 3)]),
    "svd wide": (lambda a: free(*L.svd(a, full_matrices=False)), [(3, 4)]), "svdvals": (L.svdvals, [(3, 4)]),
    "eigh": (lambda a: eigen(*L.eigh(a + adjoint(a))), [(3, 3)]), "eig": (lambda a: eigen(*L.eig(a)), [(3, 3)]),
    "pinv": (L.pinv, [(4, 3)]), "pinv wide": (L.pinv, [(3, 4)]),
    "matrix_power": (lambda a: L.matrix_power(a, 3) + L.matrix_power(a, -2), [(3, 3)]),
    "matrix_exp": (L.matrix_exp, [(3, 3)]),
    "multi_dot": (lambda a, b, c: L.multi_dot([a, b, c]), [(2, 3), (3, 4), (4,)]), "fft": (T.fft, [(2, 5)]),
    "fft of more points": (lambda a: T.fft(a, 7, 0, "ortho"), [(5, 2)]),
    "ifft of fewer": (lambda a: T.ifft(a, 3), [(2, 5)]), "irfft": (T.irfft, [(2, 4)]),
    "irfft odd": (lambda a: T.irfft(a, 7), [(2, 4)]), "hfft": (T.hfft, [(4,)]), "irfft2": (T.irfft2, [(3, 4)]),
    "fftn": (T.fftn, [(2, 3, 2)]),
}  # fmt: skip
REAL: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "lstsq": (lambda a, b: L.lstsq(a, b).solution, [(4, 3), (4, 2)]),
    "norms": (
        lambda a: L.norm(a) + L.norm(a, 2) + L.norm(a, "nuc") + L.norm(a, 1) + L.norm(a, math.inf) + L.norm(a, -2),
        [(3, 3)],
    ),
    "vector_norm": (lambda a: L.vector_norm(a, 3, 1) + L.cond(a) + L.cond(a, 1), [(3, 3)]),
    "logdet": (lambda a: torch.logdet(definite(a)), [(3, 3)]),
    "tensorinv": (lambda a: L.tensorinv(a, 1), [(4, 2, 2)]),
    "vander": (L.vander, [(3,)]),
    "cross": (L.cross, [(2, 3), (2, 3)]),
    "rfft": (T.rfft, [(2, 6)]),
    "rfft odd": (lambda a: T.rfft(a, norm="forward"), [(2, 5)]),
    "ihfft": (T.ihfft, [(5,)]),
    "rfft2": (T.rfft2, [(3, 4)]),
}
CASES = [(name, False) for name in BOTH | REAL] + [(name, True) for name in BOTH]


def real(function: Callable[..., Any], pairs: bool) -> Callable[..., Any]:
    """Returns a function of real tensors (for complex numbers, of pairs) with real results."""

    def called(*inputs: Any) -> Any:
        outputs = function(*(torch.complex(p[0], p[1]) if pairs else p for p in inputs))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return tuple(torch.stack([y.real, y.imag]) if y.is_complex() else y for y in outputs)

    return called


@pytest.mark.parametrize(("name", "pairs"), CASES)
def test_first_and_second_derivatives(name: str, pairs: bool) -> None:
    function, shapes = (BOTH | REAL)[name]
    plain = real(function, pairs)
    inputs = wanting(*((2, *s) if pairs else s for s in shapes))
    assert torch.autograd.gradcheck(plain, inputs)

    def slopes(*inputs: Any) -> Any:
        total = sum((y**2).sum() for y in plain(*inputs) if y.requires_grad)
        return torch.autograd.grad(total, inputs, create_graph=True)

    assert torch.autograd.gradcheck(slopes, inputs)


#: Names that NumPy also has, with their arguments.
LIKE_NUMPY: dict[str, tuple[Any, ...]] = {
    "inv": (), "det": (), "cholesky": (), "svdvals": (), "eigvalsh": (), "pinv": (), "matrix_rank": (),
    "matrix_norm": (), "vector_norm": (), "cond": (), "matrix_power": (3,), "slogdet": (),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE_NUMPY)
def test_as_numpy(name: str) -> None:
    a = np.random.default_rng(1).normal(size=(2, 4, 4))
    a = a @ a.swapaxes(-1, -2) + np.eye(4)
    ours, theirs = getattr(L, name)(torch.tensor(a), *LIKE_NUMPY[name]), getattr(np.linalg, name)(a, *LIKE_NUMPY[name])
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for mine, other in pairs:
        np.testing.assert_allclose(mine.to_numpy(), other, rtol=1e-9)


TRANSFORMS = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn"


@pytest.mark.parametrize("name", TRANSFORMS.split())
def test_transforms_as_numpy(name: str) -> None:
    a = np.random.default_rng(2).normal(size=(4, 5))
    a = a if name.startswith(("r", "ih")) else a + 1j * a[::-1]
    for norm in (None, "ortho", "forward"):
        got = getattr(T, name)(torch.tensor(a), norm=norm).to_numpy()
        np.testing.assert_allclose(got, getattr(np.fft, name)(a, norm=norm), atol=1e-12)
    single = getattr(T, name)(torch.tensor(a, dtype=torch.complex64 if np.iscomplexobj(a) else torch.float32))
    assert single.dtype in (torch.complex64, torch.float32)


def test_frequencies_and_shifts() -> None:
    np.testing.assert_allclose(T.fftfreq(7, 0.5).to_numpy(), np.fft.fftfreq(7, 0.5))
    np.testing.assert_allclose(T.rfftfreq(8).to_numpy(), np.fft.rfftfreq(8))
    for shift in ("fftshift", "ifftshift"):
        got = getattr(T, shift)(torch.arange(15.0).reshape(3, 5)).to_numpy()
        np.testing.assert_array_equal(got, getattr(np.fft, shift)(np.arange(15.0).reshape(3, 5)))


def test_exponentials_of_matrices_of_any_size() -> None:
    a = np.random.default_rng(4).normal(size=(4, 4))
    for size in (0.0, 1e-3, 1.0, 6.0):
        np.testing.assert_allclose(torch.matrix_exp(torch.tensor(a * size)).to_numpy(), scipy.linalg.expm(a * size),
                                   rtol=1e-9, atol=1e-12)  # fmt: skip


def test_the_determinant_of_singular_matrices_has_a_gradient() -> None:
    a = torch.diag(torch.tensor([2.0, 3.0, 0.0])).requires_grad_()
    L.det(a).backward()
    assert a.grad[2, 2].item() == pytest.approx(6)
    assert float(a.grad.abs().sum()) == pytest.approx(6)


def test_least_squares_as_numpy() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    got, expected = L.lstsq(torch.tensor(a), torch.tensor(b), driver="gelsd"), np.linalg.lstsq(a, b)
    np.testing.assert_allclose(got.solution.to_numpy(), expected[0])
    np.testing.assert_allclose(got.residuals.to_numpy(), expected[1])
    assert int(got.rank) == 3
    np.testing.assert_allclose(got.singular_values.to_numpy(), expected[3])


def test_errors_are_pytorchs() -> None:
    zeros = torch.zeros(2, 2)
    for call in (lambda: L.inv(zeros), lambda: L.solve(zeros, torch.ones(2)), lambda: L.cholesky(-torch.eye(2))):
        with pytest.raises(L.LinAlgError, match="linalg"):
            call()
    assert int(L.inv_ex(zeros).info) == 1 and int(L.cholesky_ex(torch.eye(2)).info) == 0
    with pytest.raises(RuntimeError, match="must be batches of square matrices, but they are 2 by 3 matrices"):
        L.det(torch.ones(2, 3))
    assert_errors(
        (lambda: L.solve(torch.eye(2), torch.ones(2, dtype=torch.float32)), RuntimeError, "same dtype"),
        (lambda: T.fft(torch.ones(3), 0), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda: T.fft(torch.ones(3), norm="none"), RuntimeError, "Invalid normalization mode"),
        (lambda: T.rfft(torch.ones(3, dtype=torch.complex128)), RuntimeError, "real"),
    )


def test_custom_functions_are_differentiated_twice() -> None:
    """An output saved by `save_for_backward` keeps its own position in the graph."""
    x = torch.tensor([0.5, 1.0]).requires_grad_()
    (slope,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    np.testing.assert_allclose(second.to_numpy(), np.exp([0.5, 1.0]))


def test_equal_singular_values_and_eigenvalues_have_gradients() -> None:
    for function in (
        torch.linalg.svdvals,
        lambda a: torch.linalg.svd(a).S,
        torch.linalg.eigvalsh,
        lambda a: torch.linalg.eigh(a).eigenvalues,
        lambda a: torch.linalg.eigvals(a).real,
    ):
        a = (2 * torch.eye(3, dtype=torch.float64)).requires_grad_()
        function(a).sum().backward()
        np.testing.assert_allclose(a.grad.tolist(), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (2, 4, 4), (70, 70), (0, 0)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_lu(shape: tuple[int, ...], dtype: Any) -> None:
    generator = np.random.RandomState(0)
    numbers = generator.randn(*shape) + (1j * generator.randn(*shape) if dtype.is_complex else 0)
    a = torch.tensor(numbers, requires_grad=True)
    p, lower, upper = torch.linalg.lu(a)
    assert torch.allclose(p @ lower @ upper, a) and torch.equal(lower.tril(), lower)
    assert float(lower.detach().abs().max() if a.numel() else 1) <= 2**0.5  # pivots were chosen
    compact, pivots, info = torch.linalg.lu_factor_ex(a)
    parts = torch.lu_unpack(compact, pivots)
    assert torch.equal(parts.P, p) and torch.equal(parts.L, lower) and torch.equal(parts.U, upper)
    assert int(info.sum()) == 0 and pivots.dtype == torch.int32
    if 0 < shape[-1] < 9:
        torch.autograd.gradcheck(lambda x: torch.linalg.lu(x)[1:], (a,))
        torch.autograd.gradcheck(lambda x: torch.linalg.lu_factor(x)[0], (a,))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solutions_by_lu(left: bool, adjoint: bool) -> None:
    generator = np.random.RandomState(1)
    a = torch.tensor(generator.randn(2, 3, 3) + 1j * generator.randn(2, 3, 3), requires_grad=True)
    b = torch.tensor(generator.randn(3, 3) + 0j, requires_grad=True)
    matrix = a.adjoint() if adjoint else a
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    assert torch.allclose(matrix @ x if left else x @ matrix, b.expand(2, 3, 3))
    torch.autograd.gradcheck(
        lambda m, y: torch.linalg.lu_solve(*torch.linalg.lu_factor(m), y, left=left, adjoint=adjoint), (a, b)
    )
    singular = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(torch.linalg.LinAlgError, match=r"U\[1,1\] is zero"):
        torch.linalg.lu_factor(singular)
    assert int(torch.linalg.lu_factor_ex(singular).info) == 1


def test_reflections() -> None:
    a = torch.tensor(np.random.RandomState(2).randn(5, 3))
    compact, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(compact, tau)
    assert torch.allclose(q @ compact[:3].triu(), a)
    whole = torch.ormqr(compact, tau, torch.eye(5).double())
    assert torch.allclose(whole @ whole.mT, torch.eye(5).double()) and torch.allclose(whole[:, :3], q)
    assert torch.allclose(torch.ormqr(compact, tau, a, transpose=True), whole.mT @ a)
    torch.autograd.gradcheck(torch.linalg.householder_product, (compact.requires_grad_(), tau.requires_grad_()))
    u, s, v = torch.svd_lowrank(a, 3)
    assert torch.allclose(u * s @ v.mT, a)
