"""Embeddings of weighted graphs by stochastic gradient descent with negative samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import cuprous as cp

#: Each coordinate of a step is at most this.
_MOST = 4.0
#: Parts of a graph that are moved one after another in an epoch: in each part a point has few edges.
_PARTS = 4
#: Keeps the repulsion of points at one place finite.
_NEAR = 1e-3


class Forces(NamedTuple):
    """How points of an embedding move.

    Parameters
    ----------
    a : float
        Points at the distance d have the similarity 1 / (1 + a d^(2 b)).
    b : float
        See `a`.
    rate : float
        The size of the first steps; it falls to 0.
    repulsion : float
        The weight of negative samples.
    negatives : int
        The negative samples of each edge.
    """

    a: float
    b: float
    rate: float
    repulsion: float
    negatives: int

    def pull(self, apart: Any) -> Any:
        """Returns the steps of points toward others, by their differences along the last axis."""
        square = (apart * apart).sum(axis=-1)
        safe = cp.where(square > 0, square, 1.0)
        found = -2 * self.a * self.b * safe ** (self.b - 1) / (1 + self.a * safe**self.b)
        return _clipped(cp.where(square > 0, found, 0.0)[..., None] * apart)

    def push(self, apart: Any) -> Any:
        """Returns the sums of the steps of points away from others, by their differences along the last axis."""
        square = (apart * apart).sum(axis=-1)
        similar = 1 + self.a * cp.where(square > 0, square, 1.0) ** self.b
        found = 2 * self.repulsion * self.b / ((_NEAR + square) * similar)
        return _clipped(found[..., None] * apart).sum(axis=-2)

    def steps(self, epochs: int) -> list[float]:
        """Returns the size of the steps of each epoch."""
        return [self.rate * (1 - epoch / epochs) for epoch in range(epochs)]


def embedded(
    begin: np.ndarray, edges: tuple[np.ndarray, np.ndarray, np.ndarray], epochs: int, forces: Forces, seed: int
) -> np.ndarray:
    """Returns an embedding in which points with heavy edges are near.

    Parameters
    ----------
    begin : numpy.ndarray
        The embedding at first.
    edges : tuple of numpy.ndarrays
        From where, to where, and their weights.
    epochs : int
        The number of epochs.
    forces : ndarray
        How points move.
    seed : int
        Of the random numbers.
    """
    heads, tails, weights = edges
    kept = np.flatnonzero(weights >= weights.max(initial=0) / epochs)
    if len(kept) == 0:
        return begin
    parts = min(_PARTS, len(kept))
    size = -(-len(kept) // parts)
    order = np.resize(np.random.default_rng(seed).permutation(kept), size * parts)  # an edge may count twice
    chunks = [
        tuple(cp.asarray(one[order[k::parts]]) for one in (heads, tails, weights / weights.max())) for k in range(parts)
    ]
    points, random = cp.asarray(begin, "float64"), cp.random.default_rng(seed)
    for epoch, step in enumerate(forces.steps(epochs)):
        samples = random.integers(0, len(begin), (parts, size, forces.negatives))
        for k, (head, tail, weight) in enumerate(chunks):
            mine, active = points[head], _active(weight, epoch)[:, None]
            pull = forces.pull(mine - points[tail]) * active
            push = forces.push(mine[:, None, :] - points[samples[k]]) * active
            points = _moved(points, head, step * (pull + push), tail, -step * pull)
    return cp.asnumpy(points)


def placed(
    begin: np.ndarray, fixed: np.ndarray, rows: Any, weights: Any, epochs: int, forces: Forces, seed: int
) -> np.ndarray:
    """Returns points near others that do not move. Where a point comes does not depend on the other new points.

    Parameters
    ----------
    begin : numpy.ndarray
        The new points at first, (points, dimensions).
    fixed : numpy.ndarray
        The others.
    rows : array_like
        The neighbors of each new point among the others, (points, neighbors).
    weights : array_like
        Those of the edges to them.
    epochs : int
        The number of epochs.
    forces : ndarray
        How points move.
    seed : int
        Of the random numbers, which are the same for all points.
    """
    points, others, random = cp.asarray(begin, "float64"), cp.asarray(fixed, "float64"), cp.random.default_rng(seed)
    near, parts = others[rows], weights / weights.max(axis=1)[:, None]
    for epoch, step in enumerate(forces.steps(epochs)):
        samples = random.integers(0, len(fixed), (int(rows.shape[1]), forces.negatives))
        moves = forces.pull(points[:, None, :] - near) + forces.push(points[:, None, None, :] - others[samples])
        points = points + step * (moves * _active(parts, epoch)[:, :, None]).sum(axis=1)
    return cp.asnumpy(points)


def _active(weights: Any, epoch: int) -> Any:
    """Where an edge counts in an epoch: in as many of all as its weight is of the largest."""
    return cp.floor((epoch + 1) * weights) > cp.floor(epoch * weights)


def _moved(points: Any, heads: Any, head_moves: Any, tails: Any, tail_moves: Any) -> Any:
    count = points.shape[0]
    columns = [
        points[:, k]
        + cp.bincount(heads, weights=head_moves[:, k], minlength=count)
        + cp.bincount(tails, weights=tail_moves[:, k], minlength=count)
        for k in range(points.shape[1])
    ]
    return cp.stack(columns, axis=1)


def _clipped(values: Any) -> Any:
    return cp.clip(values, -_MOST, _MOST)
