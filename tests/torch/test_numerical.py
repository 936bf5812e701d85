"""Differences along dimensions, reductions of segments and Sobol's sequence: values of PyTorch 2.11."""

from __future__ import annotations

import math
from typing import Any

import pytest

import cuprous.torch as torch

X = [1.0, 2.0, 4.0, 7.0, 11.0, 16.0]
AT = [0.0, 1.0, 1.5, 3.5, 4.0, 6.0]
ROWS = [[1.0, 2.0], [3.0, math.nan], [5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, [1.0, 1.5, 2.5, 3.5, 4.5, 5.0]),
        ({"spacing": 2.0}, [0.5, 0.75, 1.25, 1.75, 2.25, 2.5]),
        ({"spacing": AT}, [1.0, 3.0, 3.5, 6.7, 6.9, 2.5]),
        ({"spacing": AT, "edge_order": 2}, [-1.0, 3.0, 3.5, 6.7, 6.9, -1.9]),
    ],
)
def test_gradient(options: dict[str, Any], values: list[float]) -> None:
    if isinstance(options.get("spacing"), list):
        options = options | {"spacing": (torch.tensor(options["spacing"]),)}
    (found,) = torch.gradient(torch.tensor(X), **options)
    torch.testing.assert_close(found, torch.tensor(values))


def test_gradients_of_integers_complex_numbers_and_matrices() -> None:
    (found,) = torch.gradient(torch.tensor([1, 2, 4, 8]))
    assert (found.dtype, found.tolist()) == (torch.float32, [1.0, 1.5, 3.0, 4.0])
    assert torch.gradient(torch.tensor([1 + 2j, 3j, 4.0]))[0].tolist() == [-1 + 1j, 1.5 - 1j, 4 - 3j]
    matrix = torch.arange(12.0).reshape(3, 4) ** 2
    edges = torch.gradient(matrix, dim=1, edge_order=2)[0]
    assert edges.tolist() == [[0.0, 2.0, 4.0, 6.0], [8.0, 10.0, 12.0, 14.0], [16.0, 18.0, 20.0, 22.0]]
    leaf = torch.tensor([1.0, 2.0, 4.0, 7.0], requires_grad=True)
    (torch.gradient(leaf)[0] ** 2).sum().backward()
    assert leaf.grad.tolist() == [-3.5, -0.5, -4.5, 8.5]


@pytest.mark.parametrize("options", [{"edge_order": 3}, {"dim": [0, 0]}])
def test_bad_gradients(options: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError):
        torch.gradient(torch.tensor(X), **options)
    with pytest.raises(RuntimeError):
        torch.gradient(torch.tensor([1.0]))


@pytest.mark.parametrize(
    ("reduce", "values", "gradient"),
    [
        ("sum", [[1, 2], [0, 0], [15, math.nan]], [[1, 1], [1, 1], [1, 1], [1, 1]]),
        ("mean", [[1, 2], [math.nan] * 2, [5, math.nan]], [[1, 1], [1 / 3] * 2, [1 / 3] * 2, [1 / 3] * 2]),
        ("max", [[1, 2], [-math.inf] * 2, [7, math.nan]], [[1, 1], [0, 0], [0, 0], [1, 1]]),
        ("min", [[1, 2], [math.inf] * 2, [3, math.nan]], [[1, 1], [1, 0.5], [0, 0.5], [0, 0]]),
        ("prod", [[1, 2], [1, 1], [105, math.nan]], [[1, 1], [35, 24], [21, 24], [15, 9]]),
    ],
)
def test_segments(reduce: str, values: list[list[float]], gradient: list[list[float]]) -> None:
    rows = torch.tensor(ROWS)
    expected = torch.tensor([[float(value) for value in row] for row in values])
    for where in ({"lengths": torch.tensor([1, 0, 3])}, {"offsets": torch.tensor([0, 1, 1, 4])}):
        torch.testing.assert_close(torch.segment_reduce(rows, reduce, **where), expected, equal_nan=True)
    leaf = torch.tensor([[1.0, 2.0], [3.0, 3.0], [5.0, 3.0], [7.0, 8.0]], requires_grad=True)
    torch.segment_reduce(leaf, reduce, lengths=torch.tensor([1, 3])).sum().backward()
    torch.testing.assert_close(leaf.grad, torch.tensor([[float(value) for value in row] for row in gradient]))


def test_bad_segments() -> None:
    rows = torch.tensor(ROWS)
    assert torch.segment_reduce(rows, "sum", lengths=torch.tensor([1, 0, 3]), initial=2.0)[1].tolist() == [2.0, 2.0]
    for options in ({"lengths": torch.tensor([1, 1])}, {}):
        with pytest.raises(RuntimeError):
            torch.segment_reduce(rows, "sum", **options)
    with pytest.raises(RuntimeError):
        torch.segment_reduce(rows, "median", lengths=torch.tensor([4]))


def test_sobol() -> None:
    points = [[0.0] * 4, [0.5] * 4, [0.75, 0.25, 0.25, 0.25], [0.25, 0.75, 0.75, 0.75], [0.375, 0.375, 0.625, 0.875]]
    engine = torch.quasirandom.SobolEngine(4)
    assert engine.draw(3).tolist() + engine.draw(2).tolist() == points
    engine.reset().fast_forward(2)
    assert engine.draw(2).tolist() == points[2:4]
    assert torch.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(4).shape == (4, 2)
    for dimensions in (0, 30_000):
        with pytest.raises(ValueError):
            torch.quasirandom.SobolEngine(dimensions)
