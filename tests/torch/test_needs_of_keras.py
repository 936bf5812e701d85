"""What Keras's backend for PyTorch needs beside the names that most programs use, beside NumPy and PyTorch's values."""

from __future__ import annotations

import itertools
import math
import operator
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous.torch import Tensor
from cuprous.torch.nn import functional as F

RNG = np.random.default_rng(5)


def near(ours: Tensor, theirs: Any, tolerance: float = 1e-6) -> None:
    """Compares values and shapes."""
    found = ours.detach().cpu().numpy()
    assert found.shape == np.shape(theirs)
    np.testing.assert_allclose(found, theirs, tolerance, tolerance)


def difference(function: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Returns the gradient of a function of one array by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        found[at] = (float(function(torch.tensor(up))) - float(function(torch.tensor(down)))) / (2 * step)
    return found


# --- the LU decomposition


@pytest.mark.parametrize("shape", [(4, 4), (2, 5), (5, 3), (2, 3, 3), (2, 3, 0), (1, 1)])
def test_lu_gives_back_the_matrix(shape: tuple[int, ...]) -> None:
    a = torch.tensor(RNG.normal(size=shape))
    p, lower, upper = torch.linalg.lu(a)
    near(p @ lower @ upper, a.cpu().numpy(), 1e-12)
    k = min(shape[-2:])
    assert (p.shape[-2:], lower.shape[-1], upper.shape[-2]) == ((shape[-2],) * 2, k, k)
    near(lower, np.tril(lower.cpu().numpy()))
    near(upper, np.triu(upper.cpu().numpy()))
    assert bool((lower.abs() <= 1).all())  # the largest element of a column is its pivot


def test_lu_as_pytorch() -> None:
    a = torch.tensor([[1.0, 2.0, 4.0], [4.0, 4.0, 2.0], [2.0, 5.0, 1.0]])
    lu, pivots = torch.linalg.lu_factor(a)
    near(lu, [[4.0, 4.0, 2.0], [0.5, 3.0, 0.0], [0.25, 1 / 3, 3.5]])
    assert pivots.tolist() == [2, 3, 3] and pivots.dtype == torch.int32
    assert torch.linalg.lu_factor_ex(torch.ones(2, 2)).info.item() == 2
    with pytest.raises(RuntimeError, match=r"U\[2,2\] is zero"):
        torch.linalg.lu_factor(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.linalg.lu_factor(torch.ones(2))


@pytest.mark.parametrize(("left", "adjoint"), [*itertools.product((True, False), repeat=2)])
def test_lu_solve(left: bool, adjoint: bool) -> None:
    a = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
    b = RNG.normal(size=(3, 2) if left else (2, 3)) + 0j
    solution = torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor(a)), torch.tensor(b), left=left,
                                     adjoint=adjoint)  # fmt: skip
    matrix = a.conj().T if adjoint else a
    near(solution, np.linalg.solve(matrix, b) if left else np.linalg.solve(matrix.T, b.T).T, 1e-10)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 2, 2)])
def test_the_gradient_of_lu(shape: tuple[int, ...]) -> None:
    x = RNG.normal(size=shape)
    weights = torch.tensor(RNG.normal(size=shape))

    def loss(a: Tensor) -> Tensor:
        return (torch.linalg.lu_factor(a).LU.sin() * weights).sum()

    a = torch.tensor(x, requires_grad=True)
    loss(a).backward()
    assert a.grad is not None
    near(a.grad, difference(loss, x), 1e-6)


# --- statistics


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint"])
@pytest.mark.parametrize("dim", [None, 0, -1])
def test_quantiles_without_nan(interpolation: str, dim: int | None) -> None:
    x = RNG.normal(size=(5, 6))
    x[x > 1] = np.nan
    q = np.array([0.0, 0.2, 0.5, 1.0])
    ours = torch.nanquantile(torch.tensor(x), torch.tensor(q), dim=dim, keepdim=True, interpolation=interpolation)
    near(ours, np.nanquantile(x, q, dim, method=interpolation, keepdims=True), 1e-12)


def test_quantiles_of_nan_alone() -> None:
    x = torch.tensor([[math.nan, math.nan], [1.0, math.nan]])
    near(torch.nanquantile(x, 0.5, dim=1), [math.nan, 1.0])
    near(torch.tensor([0.0, 1.0, 2.0, 3.0]).nanquantile(0.5, interpolation="nearest"), 2.0)
    with pytest.raises(RuntimeError, match="in the range"):
        torch.nanquantile(x, 2.0)


@pytest.mark.parametrize("options", [{}, {"range": (-1.0, 1.5)}, {"density": True}, {"weight": True}])
def test_histogram(options: dict[str, Any]) -> None:
    x = RNG.normal(size=(7, 5)).astype("float32")
    weight = RNG.uniform(size=(7, 5)).astype("float32") if options.get("weight") else None
    theirs = {k: v for k, v in options.items() if k != "weight"} | ({"weights": weight} if weight is not None else {})
    ours = {k: torch.tensor(weight) if k == "weight" else v for k, v in options.items()}
    found = torch.histogram(torch.tensor(x), 6, **ours)
    for part, expected in zip(found, np.histogram(x, 6, **theirs), strict=True):
        near(part, expected, 1e-5)
    edges = np.array([-1.0, 0.0, 0.5, 3.0], "float32")
    near(torch.histogram(torch.tensor(x), torch.tensor(edges)).hist, np.histogram(x, edges)[0])


def test_histogram_refuses() -> None:
    with pytest.raises(RuntimeError, match=r"cast the input to torch\.float32"):
        torch.histogram(torch.tensor([1, 2]), 2)
    with pytest.raises(RuntimeError, match="must be > 0"):
        torch.histogram(torch.ones(2), 0)
    near(torch.histogram(torch.ones(2), 2).bin_edges, [0.5, 1.0, 1.5])


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("weights", ["", "f", "a", "fa"])
def test_covariance(correction: int, weights: str) -> None:
    x = RNG.normal(size=(3, 6))
    f = np.array([1, 2, 1, 3, 1, 1]) if "f" in weights else None
    a = RNG.uniform(0.5, 1, 6) if "a" in weights else None
    tensors = {f"{k}weights": torch.tensor(v) for k, v in (("f", f), ("a", a)) if v is not None}
    ours = torch.cov(torch.tensor(x), correction=correction, **tensors)
    near(ours, np.cov(x, ddof=correction, fweights=f, aweights=a), 1e-10)


def test_covariance_of_integers() -> None:
    x = np.array([[1, 2, 4], [2, 1, 7]])
    assert torch.cov(torch.tensor(x)).dtype == torch.float32
    near(torch.cov(torch.tensor(x)), np.cov(x))
    near(torch.corrcoef(torch.tensor(x)), np.corrcoef(x))
    with pytest.raises(RuntimeError, match="bool dtype is not supported"):
        torch.cov(torch.tensor([True, False]))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_distinct_slices(dim: int) -> None:
    x = np.array([[3, 1, 3], [1, 2, 1], [3, 1, 3], [1, 2, 0]])
    ours = torch.unique(torch.tensor(x), dim=dim, return_inverse=True, return_counts=True)
    theirs = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
    for part, expected in zip(ours, theirs, strict=True):
        assert part.cpu().numpy().tolist() == expected.reshape(part.shape).tolist()


@pytest.mark.parametrize(("name", "expected"), [("min", [1.0, 2.0]), ("max", [3.0, 2.0])])
def test_scatter_reduce_by_short_names(name: str, expected: list[float]) -> None:
    index, values = torch.tensor([0, 0, 1]), torch.tensor([3.0, 1.0, 2.0])
    near(torch.zeros(2).scatter_reduce_(0, index, values, reduce=name, include_self=False), expected)


def test_each_nan_is_distinct() -> None:
    near(torch.unique(torch.tensor([1.0, math.nan, 1.0, math.nan])), [1.0, math.nan, math.nan])


def test_the_distance_of_a_trapezoid_may_be_a_tensor() -> None:
    ours = torch.trapz(torch.ones(3, dtype=torch.float16), dx=torch.tensor(0.5))
    assert ours.dtype == torch.float16 and ours.item() == 1


def test_runs_of_slices() -> None:
    x = torch.tensor([[1, 2, 2], [3, 4, 4]])
    values, inverse, counts = torch.unique_consecutive(x, dim=1, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 2], [3, 4]], [0, 1, 1], [1, 2])
    assert torch.unique_consecutive(torch.tensor([[1, 1], [1, 1], [2, 1]]), dim=0).tolist() == [[1, 1], [2, 1]]


# --- products and indices


def test_einsum_promotes_where_nothing_is_summed() -> None:
    a, b = RNG.integers(0, 9, (2, 3)), RNG.normal(size=(3, 2)).astype("float32")
    x, y = torch.tensor(a, dtype=torch.int32), torch.tensor(b)
    for subscripts in ("ij,kl->ijkl", "ij,kl->likj", "ij,ji->ij"):
        ours = torch.einsum(subscripts, x, y)
        assert ours.dtype == torch.float32
        near(ours, np.einsum(subscripts, a, b))
    ones = torch.ones(1, 1, dtype=torch.float16)
    assert torch.einsum("ij,jk->ik", ones, torch.ones(1, 1)).dtype == torch.float32  # nothing to add
    assert torch.einsum("ij,jk->ik", ones, torch.ones(1, 1, dtype=torch.int8)).dtype == torch.float16
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.einsum("ij,jk->ik", x, y)


def test_einsum_of_extent_1() -> None:
    for shapes in itertools.product([(1, 1), (2, 1), (1, 3), (2, 3)], [(1, 1), (3, 1), (1, 4), (3, 4)]):
        a, b = (RNG.normal(size=shape) for shape in shapes)
        wide = np.broadcast_to(a, (a.shape[0], 3)), np.broadcast_to(b, (3, b.shape[1]))
        near(torch.einsum("ij,jk->ik", torch.tensor(a), torch.tensor(b)),
             wide[0] @ wide[1] if (a.shape[1], b.shape[0]) != (1, 1) else a @ b, 1e-12)  # fmt: skip


def test_cross_along_the_first_dimension_with_three_elements() -> None:
    a, b = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(2, 3, 3))
    near(torch.cross(torch.tensor(a), torch.tensor(b)), np.cross(a, b, axis=1))
    near(torch.cross(torch.tensor(a), torch.tensor(b), dim=-1), np.cross(a, b))
    for shape in ((2, 2), (2, 3, 1)):
        with pytest.raises(RuntimeError, match=r"size 3|length 3|same number"):
            torch.cross(torch.ones(2, 2), torch.ones(shape))


def test_take_along_a_dimension_broadcasts_both() -> None:
    x, index = np.arange(12).reshape(1, 1, 4, 3), RNG.integers(0, 4, (2, 5, 2, 1))
    expected = np.take_along_axis(np.broadcast_to(x, (2, 5, 4, 3)), np.broadcast_to(index, (2, 5, 2, 3)), 2)
    near(torch.take_along_dim(torch.tensor(x), torch.tensor(index), 2), expected)
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        torch.take_along_dim(torch.tensor(x), torch.tensor([0]), 2)


def test_windows_in_memory_of_their_own() -> None:
    x = torch.arange(5)
    windows = torch.unfold_copy(x, 0, 3, 2)
    x[0] = 9
    assert windows.tolist() == [[0, 1, 2], [2, 3, 4]]


def test_products_of_bytes() -> None:
    a, b = RNG.integers(-128, 128, (3, 40)), RNG.integers(-128, 128, (40, 2))
    ours = torch._int_mm(torch.tensor(a, dtype=torch.int8), torch.tensor(b, dtype=torch.int8))
    assert ours.dtype == torch.int32 and ours.tolist() == (a @ b).tolist()
    with pytest.raises(RuntimeError, match="int8"):
        torch._int_mm(torch.ones(2, 2), torch.ones(2, 2))


def test_norms_of_vectors_over_two_dimensions_are_errors() -> None:
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.linalg.norm(torch.ones(3), 1, dim=(0, 1))


# --- dtypes and classes


@pytest.mark.parametrize("name", ["angle", "reciprocal"])
@pytest.mark.parametrize(("dtype", "result"), [("int64", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16")])
def test_dtypes_of_results(name: str, dtype: str, result: str) -> None:
    x = torch.tensor([-2, 4], dtype=getattr(torch, dtype))
    ours = getattr(torch, name)(x)
    assert ours.dtype == getattr(torch, result) and getattr(x, name)().dtype == ours.dtype
    near(ours.float(), [math.pi, 0] if name == "angle" else [-0.5, 0.25], 1e-2)


def test_names_without_tensors() -> None:
    assert torch.complex32 is torch.chalf and torch.complex32.is_complex and torch.complex32.itemsize == 4
    with pytest.raises(NotImplementedError, match=r"use torch\.complex64"):
        torch.zeros(2, dtype=torch.complex32)
    assert torch.newaxis is None and not isinstance(3, torch.SymInt)
    assert torch.SymInt is torch.SymInt
    assert isinstance(torch.ones(2, 2).max(1), torch.return_types.max)
    assert isinstance(torch.nn.LazyLinear(2), torch.nn.modules.lazy.LazyModuleMixin)


def test_parts_of_dictionaries_belong_together_by_their_keys() -> None:
    pytree = torch.utils._pytree
    first, second = ({"a": 1, "b": 2}, {"b": 20, "a": 10})
    for kind in (dict, OrderedDict, lambda items: defaultdict(int, items)):
        assert dict(pytree.tree_map(operator.add, kind(first), kind(second))) == {"a": 11, "b": 22}
    one, other = namedtuple("one", "x"), namedtuple("other", "x")
    with pytest.raises(ValueError, match="mismatch"):
        pytree.tree_map(operator.add, one(1), other(2))


# --- layers


@pytest.mark.parametrize(("mode", "both", "biases"), [("LSTM", True, True), ("GRU", False, False), ("GRU", True, True)])
def test_recurrent_layers_as_functions(mode: str, both: bool, biases: bool) -> None:
    layer = getattr(torch.nn, mode)(3, 4, num_layers=2, bidirectional=both, bias=biases, batch_first=True)
    x = torch.randn(2, 5, 3)
    states = [torch.randn(2 * (1 + both), 2, 4) for _ in range(1 + (mode == "LSTM"))]
    first = tuple(states) if mode == "LSTM" else states[0]
    output, last = layer(x, first)
    function = getattr(torch._VF, mode.lower())
    parameters = [w for group in layer.all_weights for w in group]
    ours = function(x, first, parameters, biases, 2, 0.0, False, both, True)
    for part, expected in zip(ours, (output, *(last if mode == "LSTM" else (last,))), strict=True):
        near(part, expected.detach().cpu().numpy())
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3], device="cpu"), batch_first=True)
    data, *_ = function(packed.data, packed.batch_sizes, first, parameters, biases, 2, 0.0, False, both)
    near(data, layer(packed, first)[0].data.detach().cpu().numpy())
    with pytest.raises(RuntimeError, match="parameters for 2 layers"):
        function(x, first, parameters[1:], biases, 2, 0.0, False, both, True)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_attention_with_a_mask_and_causal(kind: str) -> None:
    q, k, v = (torch.tensor(RNG.normal(size=(1, 2, 4, 3))) for _ in range(3))
    allowed = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1]], dtype=torch.bool)
    lower = torch.ones(4, 4, dtype=torch.bool).tril()
    mask = allowed if kind == "bool" else torch.tensor(RNG.normal(size=(4, 4)))
    both = allowed & lower if kind == "bool" else mask.masked_fill(~lower, -math.inf)
    ours = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=True)
    near(ours, F.scaled_dot_product_attention(q, k, v, attn_mask=both).cpu().numpy(), 1e-12)


def test_targets_of_ctc_loss_may_be_floats() -> None:
    logs = torch.randn(6, 2, 5).log_softmax(-1)
    targets = torch.tensor([[1, 2], [3, 1]])
    options = (torch.tensor([6, 5]), torch.tensor([2, 1]))
    expected = F.ctc_loss(logs, targets, *options)
    near(F.ctc_loss(logs, targets.float(), *options), expected.item())


#: PyTorch 2.11's means over all that new points cover.
ANTIALIASED = {
    ("bilinear", (2, 3), False): [[[[0.200911, -0.194453, 0.301967], [-0.207207, 0.011048, 0.178634]]]],
    ("bicubic", (2, 3), False): [[[[0.222829, -0.208857, 0.304651], [-0.231008, 0.024465, 0.169219]]]],
    ("bilinear", (3, 2), True): [[[[0.037505, 0.10928], [0.005155, 0.265535], [-0.026432, 0.196197]]]],
}


@pytest.mark.parametrize(("mode", "size", "align"), ANTIALIASED)
def test_resampling_without_aliases(mode: str, size: tuple[int, int], align: bool) -> None:
    x = (torch.arange(35.0).reshape(1, 1, 5, 7) * 1.7).sin().requires_grad_()
    ours = F.interpolate(x, size, mode=mode, align_corners=align, antialias=True)
    near(ours, ANTIALIASED[mode, size, align], 1e-5)
    ours.sum().backward()
    assert x.grad is not None
    near(x.grad.sum(), size[0] * size[1], 1e-4)  # weights add up to 1
    near(F.interpolate(torch.ones(1, 1, 5, 7), scale_factor=0.4, mode=mode, antialias=True), np.ones((1, 1, 2, 2)))
    with pytest.raises(ValueError, match="restricted to bilinear and bicubic"):
        F.interpolate(x, size, mode="nearest", antialias=True)
