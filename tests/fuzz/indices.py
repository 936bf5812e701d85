"""Draws indices, axes and views."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .bounds import Reject
from .generate import Maker


class Index(NamedTuple):
    text: str
    value: Any


def basic_index(m: Maker, shape: tuple[int, ...], newaxis: bool = True) -> Index:
    """Draws integers, slices with any step, an ellipsis and new axes. The result is never a scalar, since NumPy's is
    not a view."""
    r = m.r
    texts: list[str] = []
    dims = list(shape)
    cut = r.randrange(len(dims) + 1) if r.random() < 0.25 else None
    used = dims if cut is None else dims[:cut]
    for extent in used:
        kind = r.random()
        if kind < 0.22 and extent:
            texts.append(str(r.randrange(-extent, extent)))
        elif kind < 0.45:
            texts.append(":")
        else:
            texts.append(slice_text(m, extent))
        if newaxis and r.random() < 0.08:
            texts.append("None")
    if cut is not None or not texts or all(t.lstrip("-").isdigit() for t in texts):
        texts.append("...")
    text = ", ".join(texts)
    return Index(text, eval(f"_[{text}]", {"_": np.s_}))


def slice_text(m: Maker, extent: int) -> str:
    r = m.r
    start = "" if r.random() < 0.4 else str(r.randrange(-extent, extent + 1))
    stop = "" if r.random() < 0.5 else str(r.randrange(-extent, extent + 2))
    step = r.choices(("", ":2", ":-1", ":-2", ":3"), (5, 2, 2, 1, 0.5))[0]
    return f"{start}:{stop}{step}"


def pick_axis(m: Maker, ndim: int) -> int:
    if ndim == 0:
        raise Reject
    return m.r.randrange(-ndim, ndim)


def view_text(m: Maker, v: str) -> str:
    """Draws an expression whose result is a view in NumPy (for reshape and ravel: if possible)."""
    array, r = m.env[v], m.r
    kind = r.random()
    if kind < 0.45:
        return f"{v}[{basic_index(m, array.shape).text}]"
    if kind < 0.52:
        return f"{v}.T"
    if kind < 0.66:
        return f"{v}.reshape({reshaped(m, array)})"
    if kind < 0.72:
        return r.choice((f"xp.ravel({v})", f"{v}.reshape(-1)"))
    if kind < 0.78:
        order = list(range(array.ndim))
        r.shuffle(order)
        return f"{v}.transpose({tuple(order)})" if order else f"xp.transpose({v})"
    if kind < 0.84:
        a, b = pick_axis(m, array.ndim), pick_axis(m, array.ndim)
        return r.choice((f"xp.swapaxes({v}, {a}, {b})", f"xp.moveaxis({v}, {a}, {b})"))
    if kind < 0.9:
        extra = (r.choice((1, 2, 3)),)
        shape = tuple(r.choice((2, 3)) if n == 1 else n for n in array.shape)
        return f"xp.broadcast_to({v}, {extra + shape if r.random() < 0.5 else shape})"
    if kind < 0.95:
        return f"xp.expand_dims({v}, {r.randrange(array.ndim + 1)})"
    return f"xp.squeeze({v})"


def reshaped(m: Maker, array: Any) -> tuple[int, ...]:
    """Draws another shape of the same size, sometimes with -1."""
    rest, shape = array.size, []
    if rest == 0:
        return (0, m.r.randrange(4))
    for _ in range(m.r.randrange(3)):
        factors = [n for n in (1, 2, 3, 4, 5, 7) if rest % n == 0]
        shape.append(m.r.choice(factors))
        rest //= shape[-1]
    shape.insert(m.r.randrange(len(shape) + 1), rest if m.r.random() < 0.5 else -1)
    return tuple(shape)
