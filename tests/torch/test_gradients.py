"""Compares every gradient rule with central differences in float64, and second derivatives likewise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch

pytestmark = pytest.mark.usefixtures("double")
F = torch.nn.functional
Tensor = torch.Tensor


def inputs(*shapes: Any, low: float = -1.5, high: float = 1.5) -> list[Tensor]:
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.uniform(low, high, shape)).requires_grad_() for shape in shapes]


def index(*values: Any) -> Tensor:
    return torch.tensor(list(values))


#: Functions of one operand, by the range in which they are smooth.
UNARY = {
    (-1.5, 1.5): "exp exp2 expm1 sin cos tan sinh cosh tanh asinh atan erf erfc sigmoid square sinc abs neg sign floor "
    "ceil trunc round frac deg2rad rad2deg",
    (0.3, 2.0): "log log2 log10 log1p sqrt rsqrt reciprocal lgamma",
    (-0.8, 0.8): "asin acos atanh erfinv",
    (1.2, 3.0): "acosh",
    (-1.4, 2.4): "digamma",
}


@pytest.mark.parametrize(("name", "bounds"), [(n, b) for b, names in UNARY.items() for n in names.split()])
def test_functions_of_one_operand(name: str, bounds: tuple[float, float]) -> None:
    (x,) = inputs((3, 2), low=bounds[0] + 0.013, high=bounds[1])
    assert torch.autograd.gradcheck(getattr(torch, name), [x])


BINARY = "add sub mul maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2 copysign div pow fmod remainder"


@pytest.mark.parametrize("name", BINARY.split())
@pytest.mark.parametrize("shape", [(3, 2), (2,), (3, 1), ()], ids=str)
def test_functions_of_two_operands_sum_over_what_was_broadcast(name: str, shape: tuple[int, ...]) -> None:
    positive = name in ("div", "pow", "fmod", "remainder")
    x, y = inputs((3, 2), shape, low=0.4 if positive else -1.5)
    assert torch.autograd.gradcheck(getattr(torch, name), [x, y])


#: Functions that are not elementwise: name -> (function, shapes of its operands).
RULES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "where": (lambda a, b: torch.where(a > 0, a * 2, b), [(3, 4), (4,)]),
    "power of a number": (lambda a: 2.0**a + a**3 + a**2, [(3,)]),
    "cast": (lambda a: a.to(torch.complex128).real * a, [(3,)]),
    "clamp": (lambda a: a.clamp(-0.5, 0.5), [(3, 4)]),
    # reductions
    "sum": (lambda a: a.sum(1), [(3, 4)]),
    "sum all": (lambda a: a.sum() * a.sum(0, keepdim=True), [(3, 4)]),
    "mean": (lambda a: a.mean((0, 2)), [(2, 3, 2)]),
    "prod": (lambda a: a.prod(1) * a.prod(), [(3, 4)]),
    "amax amin": (lambda a: a.amax(1) * a.amin(0).sum(), [(3, 4)]),
    "max min": (lambda a: a.max(1).values * a.min(0).values[0] * a.max(), [(3, 4)]),
    "var std": (lambda a: a.var(1) + a.std(1, correction=0) + a.var(), [(3, 4)]),
    "norms": (lambda a: a.norm() + a.norm(1, dim=0).sum() + a.norm(3, dim=1).sum(), [(3, 4)]),
    "logsumexp": (lambda a: a.logsumexp(0), [(3, 4)]),
    "softmax": (lambda a: torch.softmax(a, 1) * torch.log_softmax(a, 0), [(3, 4)]),
    "median": (lambda a: a.median(1).values, [(3, 4)]),
    "std of equal elements": (lambda a: (a * 0 + 1.5).std(1) + a.sum(1), [(3, 4)]),
    # scans
    "cumsum": (lambda a: a.cumsum(0) * a.cumsum(1), [(3, 4)]),
    "cumprod": (lambda a: a.cumprod(1), [(3, 4)]),
    "cummax": (lambda a: a.cummax(1).values * a.cummin(0).values, [(3, 4)]),
    # products
    "matmul": (torch.matmul, [(3, 4), (4, 2)]),
    "matmul of views": (lambda a, b: a.T @ b.T, [(4, 3), (2, 4)]),
    "matrix by vector": (lambda a, v, w: w @ a @ v, [(3, 4), (4,), (3,)]),
    "stack of matrices": (torch.matmul, [(2, 3, 4), (2, 4, 3)]),
    "stack by a matrix": (torch.matmul, [(2, 3, 4), (4, 2)]),
    "broadcast stacks": (torch.matmul, [(2, 1, 3, 4), (3, 4, 2)]),
    "linear": (F.linear, [(2, 3, 4), (5, 4), (5,)]),
    "einsum": (lambda a, b: torch.einsum("bij,kj->kbi", a, b), [(2, 3, 4), (5, 4)]),
    "einsum of three": (lambda a, b, c: torch.einsum("ij,jk,k->i", a, b, c), [(2, 3), (3, 4), (4,)]),
    "trace": (lambda a: torch.einsum("ii->i", a), [(3, 3)]),
    "outer": (lambda a, b: torch.outer(a, b) + torch.tensordot(a, b, 0), [(3,), (4,)]),
    # views
    "transpose": (lambda a: a.T * torch.arange(12.0).view(4, 3), [(3, 4)]),
    "reshape": (lambda a: a.view(2, 6) * a.T.reshape(2, 6), [(3, 4)]),
    "index": (lambda a: a[1] * a[-1, 2], [(3, 4)]),
    "slices": (lambda a: a[:, 1:3] * a[:, 0:2] + a[::2, ::3].sum(), [(3, 4)]),
    "flip": (lambda a: a.flip(0, 1) * torch.arange(12.0).view(3, 4), [(3, 4)]),
    "expand": (lambda a: a.expand(2, 3, 4) * torch.arange(24.0).view(2, 3, 4), [(3, 1)]),
    "repeat": (lambda a: a.repeat(2, 3) ** 2, [(3, 2)]),
    "windows": (lambda a: a.unfold(1, 2, 1) ** 2, [(3, 4)]),
    "chunk and cat": (lambda a: torch.cat([q * k for k, q in enumerate(a.chunk(2, 1))], 0), [(3, 4)]),
    "unbind": (lambda a: a.unbind(1)[0] * a.unbind(1)[2], [(3, 4)]),
    "diagonal": (lambda a: a.diagonal() ** 2 + torch.diag(a[0, :3]).sum(), [(3, 4)]),
    "triangles": (lambda a: a.tril() * a.triu(1).sum(), [(3, 4)]),
    "stack": (lambda a, b: torch.stack([a, b], 1) ** 2, [(3, 2), (3, 2)]),
    "roll": (lambda a: a.roll(1, 0) * a, [(3, 4)]),
    "movedim": (lambda a: a.movedim(0, 2) * a.permute(1, 2, 0), [(2, 3, 2)]),
    "squeeze": (lambda a: a.squeeze(1).unsqueeze(0) * 2, [(3, 1, 2)]),
    # indices
    "gather": (lambda a: a.gather(1, index([0, 2], [1, 1], [3, 0])) ** 2, [(3, 4)]),
    "index array": (lambda a: a[index(0, 2, 2)] ** 2 * a[:, index(1)].sum(), [(3, 4)]),
    "index arrays": (lambda a: a[index(0, 2), index(1, 1)] ** 2, [(3, 4)]),
    "index of a view": (lambda a: a[1:, ::2][index(0, 1, 1)] * a.T[index(0, 2)].sum(), [(3, 4)]),
    "index_select": (lambda a: a.index_select(1, index(3, 0, 0)) ** 2, [(3, 4)]),
    "scatter": (lambda a, s: a.scatter(1, index([0, 2], [1, 3], [3, 0]), s) ** 2, [(3, 4), (3, 2)]),
    "scatter_add": (lambda a, s: a.scatter_add(1, index([0, 0], [1, 3], [3, 3]), s) ** 2, [(3, 4), (3, 2)]),
    "index_add": (lambda a, s: a.index_add(0, index(0, 0), s) ** 2, [(3, 4), (2, 4)]),
    "masked_fill": (lambda a: a.masked_fill(a > 0, 3.0) ** 2, [(3, 4)]),
    "masked_select": (lambda a: a.masked_select(a > 0) ** 2, [(3, 4)]),
    "masked_scatter": (lambda a, s: a.masked_scatter(a > 0.5, s) ** 2, [(3, 4), (12,)]),
    "index_copy": (lambda a, s: a.index_copy(0, index(2, 0), s) ** 2, [(3, 4), (2, 4)]),
    "index_fill": (lambda a: a.index_fill(1, index(0, 3), 2.0) ** 2, [(3, 4)]),
    "take": (lambda a: a.take(index(0, 5, 5)) ** 2 + a.take_along_dim(index(1, 0, 2))[:3], [(3, 4)]),
    "kthvalue": (lambda a: a.kthvalue(2, 1).values ** 2, [(3, 4)]),
    "aminmax": (lambda a: a.aminmax(dim=1).min * a.aminmax(dim=1).max, [(3, 4)]),
    "nansum": (lambda a: a.nansum(1) * a.nanmean(1), [(3, 4)]),
    "var_mean": (lambda a: torch.var_mean(a, 1)[0] * torch.std_mean(a, 1)[1], [(3, 4)]),
    "as_strided": (lambda a: a.as_strided((3, 3), (1, 2), 1) ** 2, [(3, 4)]),
    "unflatten": (lambda a: a.unflatten(1, (2, -1)) ** 2, [(3, 4)]),
    "repeat_interleave": (lambda a: a.repeat_interleave(2, 1) ** 2 + a.tile(1, 2), [(3, 4)]),
    "meshgrid": (lambda a, b: torch.meshgrid(a, b, indexing="ij")[0] * b, [(3,), (4,)]),
    "diag_embed": (lambda a: torch.diag_embed(a) @ torch.diag_embed(a, 1)[:, :4, :4], [(3, 4)]),
    "split": (lambda a: a.split((1, 3), 1)[1] * a.tensor_split(2, 1)[0][:, :1], [(3, 4)]),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), [(3, 2), (3, 4), (4, 2)]),
    "baddbmm": (torch.baddbmm, [(2, 3, 2), (2, 3, 4), (2, 4, 2)]),
    "addcmul addcdiv lerp": (
        lambda a, b, c: torch.addcmul(a, b, c, value=2) + torch.addcdiv(a, b, c + 3) + torch.lerp(a, b, c),
        [(3, 2)] * 3,
    ),
    "cross": (lambda a, b: torch.cross(a, b, 1), [(2, 3), (2, 3)]),
    "bilinear": (lambda a, b, w: F.bilinear(a, b, w), [(2, 3), (2, 4), (2, 3, 4)]),
    "xlogy logit": (lambda a, b: torch.xlogy(a, b + 2) + torch.logit(a * 0.2 + 0.5), [(3, 2), (3, 2)]),
    "nan_to_num": (lambda a: (a / a).nan_to_num() * a, [(3, 2)]),
    "sort": (lambda a: a.sort(1).values * a.sort(0, descending=True).values, [(3, 4)]),
    "topk": (lambda a: a.topk(2).values * torch.arange(2.0), [(3, 4)]),
    "embedding": (lambda a: F.embedding(index([0, 2], [2, 1]), a) ** 2, [(3, 4)]),
    # networks
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (4,), w, b), [(3, 4), (4,), (4,)]),
    "rms_norm": (lambda a, w: F.rms_norm(a, (4,), w) * F.normalize(a), [(3, 4), (4,)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 3, 2)] * 3),
    "cross_entropy": (lambda a: F.cross_entropy(a, index(0, 3, 1), label_smoothing=0.1), [(3, 4)]),
    "bce": (lambda a, t: F.binary_cross_entropy(a.sigmoid(), t.sigmoid()), [(3, 2), (3, 2)]),
    "bce_with_logits": (lambda a, t: F.binary_cross_entropy_with_logits(a, t.sigmoid()), [(3, 2), (3, 2)]),
    "mse l1 huber": (lambda a, b: F.mse_loss(a, b) + F.l1_loss(a, b) + F.huber_loss(a, b, delta=0.5), [(3, 2)] * 2),
    "smooth_l1 kl": (lambda a, b: F.smooth_l1_loss(a, b) + F.kl_div(a, b.softmax(1)), [(3, 2)] * 2),
    "pad": (lambda a: F.pad(a, (1, -1, 0, 2)) ** 2, [(3, 4)]),
    "cosine": (lambda a, b: F.cosine_similarity(a, b), [(3, 4), (3, 4)]),
}
for _name in [
    "relu", "leaky_relu", "elu", "gelu", "silu", "softplus", "selu", "celu", "mish", "hardtanh", "relu6", "logsigmoid",
    "softsign", "hardswish", "glu",
]:  # fmt: skip
    RULES[_name] = (getattr(F, _name), [(3, 4)])


@pytest.mark.parametrize("name", RULES)
def test_rules(name: str) -> None:
    function, shapes = RULES[name]
    assert torch.autograd.gradcheck(function, inputs(*shapes))


def _writes(a: Tensor, b: Tensor) -> Tensor:
    w = a * 2
    w[0] = b
    w[1:, 1] *= a[1:, 0]
    w.add_(1).mul_(a)
    w.T[1].mul_(2)
    w.view(-1)[3:7] = a.reshape(-1)[:4] ** 2
    w[index(0, 2)] = a[1]
    w[a > 1.2] = 0.0
    return w * w


def _write_to_constant(a: Tensor, b: Tensor) -> Tensor:
    w = torch.zeros(3, 4)
    row = w[1]
    row.copy_(b)
    row.mul_(a[1])
    w[:, 2] = a[:, 0]
    w[2, index(0, 1)] += b[0]
    return w * 1.0


def _kept_then_overwritten(a: Tensor, b: Tensor) -> Tensor:
    w = a.exp()
    product = w * b
    w.mul_(3)  # the product and exp use the old value of w
    return product + w


@pytest.mark.parametrize("function", [_writes, _write_to_constant, _kept_then_overwritten])
def test_writes(function: Callable[..., Tensor]) -> None:
    assert torch.autograd.gradcheck(function, inputs((3, 4), (4,)))


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_with_zeros(zeros: int) -> None:
    x = torch.tensor([[2.0, 3.0, -1.0], [1.0, 4.0, 0.5]])
    x[0, :zeros] = 0
    x.requires_grad = True
    assert torch.autograd.gradcheck(lambda a: a.prod(1), [x])
    assert torch.autograd.gradcheck(lambda a: a.cumprod(1), [x])


#: Functions whose gradient is differentiated again.
TWICE: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": torch.exp, "tanh": torch.tanh, "cube": lambda a: a * a * a, "product": lambda a: (a @ a.T) ** 2,
    "slices": lambda a: (a[:, 1:] * a[:, :-1]) ** 2, "index": lambda a: a[index(0, 2, 2)] ** 3,
    "softmax": lambda a: torch.softmax(a, 1) ** 2, "std": lambda a: a.std(1), "writes": lambda a: _writes(a, a[2]),
    "cumsum": lambda a: a.cumsum(1) ** 2, "max": lambda a: a.amax(1) ** 3,
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    function = TWICE[name]

    def slope(a: Tensor) -> Tensor:
        return torch.autograd.grad(function(a).sum(), a, create_graph=True)[0]

    assert torch.autograd.gradcheck(slope, inputs((3, 4)))


def test_second_derivative_of_sinc_at_zero() -> None:
    x = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.sinc(x), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x)
    assert curvature.item() == pytest.approx(-(np.pi**2) / 3, rel=1e-12)


def test_complex_gradients_are_conjugated() -> None:
    z = torch.tensor([1 + 2j, -0.5 + 1j], requires_grad=True)
    ((z * z).abs() ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.to_numpy(), 4 * np.abs(z.to_numpy()) ** 2 * z.to_numpy())
    w = torch.tensor([1 + 2j], requires_grad=True)
    torch.exp(w).real.sum().backward()
    np.testing.assert_allclose(w.grad.to_numpy(), np.conj(np.exp(1 + 2j)))


@pytest.mark.parametrize("p", [0.5, 1.5, 2, 3])
def test_norms_have_gradient_0_at_0(p: float) -> None:
    x = torch.zeros(3).requires_grad_()
    torch.linalg.vector_norm(x, p).backward()
    assert x.grad.tolist() == [0.0] * 3


@pytest.mark.parametrize("zero", [0.0, 0j])
def test_the_angle_has_gradient_0_at_0(zero: complex) -> None:
    x = torch.tensor([zero, 2 + zero], requires_grad=True)
    (g,) = torch.autograd.grad(torch.angle(x).sum(), x, create_graph=True)
    assert g.tolist() == [0, 0.5j if isinstance(zero, complex) else 0]
    (second,) = torch.autograd.grad(g.abs().sum(), x)
    assert second[0].item() == 0
