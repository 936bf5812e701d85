"""Draws launches of user kernels among other operations: only later operations may see their writes."""

from __future__ import annotations

from . import bounds
from .bounds import Reject
from .generate import Maker, root

#: Each combination of a dtype and an element order compiles its own kernel.
DTYPES = ("float32", "float64", "int64")


def add(m: Maker) -> None:
    """Adds one launch, or several in sequence."""
    target = m.pick(lambda a: a.flags.writeable and a.dtype.name in DTYPES and a.ndim in (1, 2))
    like = m.env[target]
    source = m.pick(lambda a: a.shape == like.shape and a.dtype == like.dtype)
    # Threads that read elements written by other threads are a race.
    if source != target and root(m.env[source]) is root(like):
        raise Reject
    for _ in range(m.r.choice((1, 1, 1, 2, 5))):
        bound = bounds.add(m.bound(target), m.bound(source))
        m.write(f"launch(xp, {target}, {source})", target, bound, rounding=1)
