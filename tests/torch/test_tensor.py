"""Tensors: memory shared with arrays, conversions, views, indexing, in-place methods, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch


def test_tensors_and_arrays_share_memory() -> None:
    a = cp.arange(6.0).reshape(2, 3)
    t = torch.as_tensor(a)
    t[0, 1] = 50
    a[1] = -1
    assert a.tolist() == t.tolist() == [[0.0, 50.0, 2.0], [-1.0, -1.0, -1.0]]
    back = cp.asarray(t)
    back += 1
    assert t[0].tolist() == [1.0, 51.0, 3.0]
    with pytest.raises((RuntimeError, BufferError), match="grad"):
        cp.asarray(t.requires_grad_())


def test_arrays_and_tensors_mix_to_tensors() -> None:
    a, t = cp.ones(2, dtype=cp.float32), torch.tensor([1.0, 2.0], requires_grad=True)
    for mixed in (a + t, t + a):
        assert isinstance(mixed, torch.Tensor) and mixed.requires_grad and mixed.tolist() == [2.0, 3.0]


def test_defaults() -> None:
    assert torch.tensor([1.5]).dtype == torch.zeros(1).dtype == torch.randn(1).dtype == torch.float32
    assert torch.tensor(1).dtype == torch.arange(3).dtype == torch.int64
    assert torch.tensor(np.ones(2)).dtype == torch.float64
    assert torch.tensor([True]).dtype == torch.bool and torch.full((2,), 1).dtype == torch.int64
    torch.set_default_dtype(torch.float64)
    assert torch.tensor([1.5]).dtype == (torch.arange(3) / 2).dtype == torch.float64
    assert torch.Tensor([25]).dtype == torch.Tensor(2, 3).dtype == torch.float64
    assert torch.FloatTensor([25]).dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.arange(1, 2, 0.25), np.arange(1, 2, 0.25)),
        (lambda: torch.linspace(-1, 1, 7), np.linspace(-1, 1, 7)),
        (lambda: torch.eye(2, 3), np.eye(2, 3)),
        (lambda: torch.full((2, 2), 7), np.full((2, 2), 7)),
        (lambda: torch.zeros(2, 3), np.zeros((2, 3))),
        (lambda: torch.zeros((2, 3)), np.zeros((2, 3))),
        (lambda: torch.ones_like(torch.arange(3)), np.ones(3)),
        (lambda: torch.tril(torch.ones(3, 3), -1), np.tril(np.ones((3, 3)), -1)),
        (lambda: torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")[1], np.mgrid[0:2, 0:3][1]),
        (lambda: torch.cat([torch.arange(2), torch.arange(3.0)]), np.array([0, 1, 0, 1, 2.0])),
        (lambda: torch.stack([torch.zeros(2), torch.ones(2)], 1), np.array([[0, 1], [0, 1.0]])),
        (lambda: torch.einsum("ij,jk", torch.ones(2, 3), torch.ones(3, 2)), np.full((2, 2), 3.0)),
        (lambda: torch.arange(6).view(2, 3).T.reshape(-1), np.arange(6).reshape(2, 3).T.reshape(-1)),
        (lambda: torch.arange(6).split([1, 2, 3])[2], np.arange(3, 6)),
        (lambda: torch.arange(7).chunk(3)[2], np.array([6])),
        (lambda: torch.arange(4).roll(1), np.array([3, 0, 1, 2])),
        (lambda: torch.arange(3).repeat_interleave(2), np.array([0, 0, 1, 1, 2, 2])),
        (lambda: torch.tensor([3, 1, 2]).sort(descending=True).indices, np.array([0, 2, 1])),
        (lambda: torch.tensor([1, 3, 3, 2]).topk(2).indices, np.array([1, 2])),
        (lambda: torch.tensor([1, 3, 3]).cummax(0).indices, np.array([0, 1, 2])),
        (lambda: torch.tensor([[4, 1], [2, 3]]).max(1).indices, np.array([0, 1])),
        (lambda: torch.tensor([[4, 1], [2, 3]]).argmin(), np.array(1)),
        (lambda: torch.tensor([3, 0, 4]).nonzero(), np.array([[0], [2]])),
        (lambda: torch.nn.functional.one_hot(torch.tensor([0, 2])), np.array([[1, 0, 0], [0, 0, 1]])),
        (lambda: torch.tensor([-7, 7]) // 2, np.array([-4, 3])),
        (lambda: torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc"), np.array([-3, 3])),
        (lambda: torch.tensor([0.5, 1.5, 2.25]).round(decimals=1), np.array([0.5, 1.5, 2.2])),
    ],
)
def test_values(make: Any, expected: Any) -> None:
    result = make()
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=1e-6)
    assert tuple(result.shape) == np.shape(expected)


def test_in_place_methods_give_back_the_tensor() -> None:
    t = torch.tensor([1.0, -2.0])
    assert t.mul_(2) is t and t.abs_() is t and t.clamp_(max=3) is t and t.add_(t, alpha=2) is t
    assert t.tolist() == [6.0, 9.0]
    t += 1
    t[0] = 5
    assert t.fill_(2).zero_().copy_(torch.tensor([7, 8])).tolist() == [7.0, 8.0]
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.arange(3).add_(1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(2).add_(torch.ones(3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.reshape(-1, -1), "only one dimension can be inferred"),
        (lambda t: t.reshape(-2, -1), r"shape '\[-2, -1\]' is invalid for input of size 6"),
        (lambda t: t.reshape(4, -1), r"shape '\[4, -1\]' is invalid"),
        (lambda t: t.sum((0, -2)), "dim 0 appears multiple times in the list of dims"),
        (lambda t: t.permute(0, 0), "does not match the length of the desired ordering"),
        (lambda t: t.permute(0), "does not match the length of the desired ordering"),
        (lambda t: t.add_(torch.ones(2, 2, 3)), r"shape \[2, 3\] doesn't match the broadcast shape \[2, 2, 3\]"),
        (lambda t: t.mul_(torch.ones(2, 2, 3)), r"shape \[2, 3\] doesn't match the broadcast shape \[2, 2, 3\]"),
        (lambda t: t.requires_grad_().clamp_(0), "a leaf Variable that requires grad is being used in an in-place"),
    ],
)
def test_shapes_and_dimensions_that_do_not_fit(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call(torch.ones(2, 3))


def test_indexing() -> None:
    host = np.arange(24).reshape(2, 3, 4)
    keys: list[Any] = [
        0, (1, 2), (slice(None), 1), (Ellipsis, -1), None, ([0, 1], [2, 0]), (slice(None), [0, 2]), host > 10,
        (0, host[0] > 5), ([[0], [1]], slice(None), [1, 3]),
    ]  # fmt: skip
    for key in keys:
        ours = torch.arange(24).view(2, 3, 4)
        wrapped = tuple(torch.tensor(k) if isinstance(k, (list, np.ndarray)) else k for k in key) if isinstance(
            key, tuple
        ) else torch.tensor(key) if isinstance(key, np.ndarray) else key  # fmt: skip
        np.testing.assert_array_equal(ours[wrapped].cpu().numpy(), host[key])
        theirs = host.copy()
        theirs[key] = -1
        ours[wrapped] = -1
        np.testing.assert_array_equal(ours.cpu().numpy(), theirs)
    with pytest.raises(ValueError, match="step must be greater than zero"):
        torch.arange(3)[::-1]
    with pytest.raises(IndexError):
        torch.arange(3)[5]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.ones(2, 3) + torch.ones(4), RuntimeError, r"The size of tensor a \(3\) must match"),
        (lambda: torch.ones(2, 3) @ torch.ones(4, 5), RuntimeError, r"cannot be multiplied \(2x3 and 4x5\)"),
        (lambda: torch.ones(2, 3).view(5), RuntimeError, "is invalid for input of size 6"),
        (lambda: torch.ones(2, 3).T.view(6), RuntimeError, "view size is not compatible"),
        (lambda: torch.ones(2).sum(3), IndexError, "Dimension out of range"),
        (lambda: torch.arange(2).mean(), RuntimeError, "could not infer output dtype"),
        (lambda: bool(torch.ones(2)), RuntimeError, "more than one value is ambiguous"),
        (lambda: torch.ones(2).item(), RuntimeError, "cannot be converted to Scalar"),
        (lambda: torch.ones(2, requires_grad=True).numpy(), RuntimeError, "Can't call numpy"),
        (lambda: torch.device("tpu"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda: torch.cat([torch.ones(2, 2), torch.ones(3, 3)]), RuntimeError, "Sizes of tensors must match"),
        (lambda: torch.ones(2).expand(3), RuntimeError, "must match the existing size"),
        (lambda: torch.ones(2, dtype=torch.bool).neg(), RuntimeError, "Negation"),
        (lambda: torch.tensor([[1], [2, 3]]), ValueError, "."),
        (lambda: torch.ones(2) + np.ones(2), TypeError, "from_numpy"),
        (lambda: np.ones(2) * torch.ones(2), TypeError, "from_numpy"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_random_numbers_repeat_by_seed() -> None:
    probabilities = torch.full((4,), 0.5)

    def draw() -> list[Any]:
        torch.manual_seed(3)
        drawn = (torch.rand(3), torch.randn(2), torch.randperm(5), torch.randint(0, 9, (4,)))
        return [x.tolist() for x in (*drawn, torch.bernoulli(probabilities))]

    first = draw()
    assert first == draw() and torch.rand(3).tolist() != first[0] and sorted(first[2]) == [0, 1, 2, 3, 4]
    x = torch.randn(100_000)
    assert abs(x.mean().item()) < 0.02 and abs(x.std().item() - 1) < 0.02
    i = torch.randint(-3, 4, (10_000,))
    assert (i.min().item(), i.max().item()) == (-3, 3)


def test_weighted_samples() -> None:
    weights = torch.tensor([[1.0, 3.0, 0.0, 4.0], [0.0, 0.0, 2.0, 0.0]])
    drawn = torch.multinomial(weights, 20_000, replacement=True).cpu().numpy()
    shares = [np.bincount(row, minlength=4) / 20_000 for row in drawn]
    np.testing.assert_allclose(shares, [[0.125, 0.375, 0, 0.5], [0, 0, 1, 0]], atol=0.02)
    assert sorted(torch.multinomial(weights[0], 3).tolist()) == [0, 1, 3]
    with pytest.raises(RuntimeError, match="without replacement"):
        torch.multinomial(weights[0], 5)


def test_named_objects_stay_themselves() -> None:
    """dtypes, layouts and memory formats, of which there is one of each."""
    for x in (torch.float16, torch.strided, torch.sparse_coo, torch.channels_last, torch.contiguous_format):
        assert pickle.loads(pickle.dumps(x)) is x and copy.deepcopy(x) is x


def test_copies_and_pickles() -> None:
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other.tolist() == [1.0, 2.0] and other.requires_grad and not other.shares_storage(t)
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(t * 2)


def test_conversions() -> None:
    t = torch.tensor([[1.7, -2.2]])
    assert t.int().tolist() == [[1, -2]] and t.to(torch.float64).dtype == torch.float64
    assert t.float() is t and t.to(t.device) is t and t.contiguous() is t
    assert [float(x) for x in t[0]] == pytest.approx([1.7, -2.2]) and len(t) == 1 and t.size(1) == 2
    assert t.shape == torch.Size([1, 2]) == (1, 2) and t.numel() == 2 and t.T.stride() == (1, 2)
    np.testing.assert_array_equal(np.asarray(t.cpu()), np.array([[1.7, -2.2]], np.float32))
    assert f"{t.sum():.2f}" == "-0.50" and hash(t) == hash(t) and t in [t]


def test_legacy_types() -> None:
    x = torch.FloatTensor([1.5, 2])
    assert x.dtype is torch.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    y = x.cpu().type(torch.DoubleTensor)
    assert y.dtype is torch.float64 and isinstance(y, torch.DoubleTensor) and not isinstance(y, torch.LongTensor)
    assert y.type("torch.IntTensor").tolist() == [1, 2] and y.type() == "torch.DoubleTensor"
    assert repr(torch.ByteTensor) == "<class 'torch.ByteTensor'>"
    torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.ones(1).dtype is torch.float64
    with pytest.raises(TypeError, match="floating-point"):
        torch.set_default_tensor_type(torch.LongTensor)


def test_sizes_by_name_and_ranges_as_indices() -> None:
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(size=(2, 3)).shape == make(2, 3).shape == make((2, 3)).shape == (2, 3)
    assert torch.arange(5)[range(1, 3)].tolist() == [1, 2]


def test_indices_may_be_lists_and_tensors_of_the_cpu() -> None:
    x, places = torch.arange(6).reshape(3, 2), torch.tensor([2, 0], device="cpu")
    assert x[places].tolist() == x[[2, 0]].tolist() == [[4, 5], [0, 1]]
    assert x[places, [1, 0]].tolist() == [5, 0] and x[torch.tensor(1, device="cpu")].tolist() == [2, 3]
    x[places] = 7
    assert x.tolist() == [[7, 7], [2, 3], [7, 7]]
    there = torch.arange(4, device="cpu")  # not the default device if that is a GPU
    assert there[[3, 1]].tolist() == [3, 1] and there[there > 1].tolist() == [2, 3]
