"""Kernels of the user among other operations: what they write is seen by all that comes later, by nothing before."""

from __future__ import annotations

from . import bounds
from .bounds import Reject
from .generate import Maker, root

#: Each combination of these with an order of elements is a kernel of its own to compile.
DTYPES = ("float32", "float64", "int64")


def add(m: Maker) -> None:
    """One launch, or several one after another."""
    target = m.pick(lambda a: a.flags.writeable and a.dtype.name in DTYPES and a.ndim in (1, 2))
    like = m.env[target]
    source = m.pick(lambda a: a.shape == like.shape and a.dtype == like.dtype)
    # Threads of a kernel that read what others write see it or not.
    if source != target and root(m.env[source]) is root(like):
        raise Reject
    for _ in range(m.r.choice((1, 1, 1, 2, 5))):
        bound = bounds.add(m.bound(target), m.bound(source))
        m.write(f"launch(xp, {target}, {source})", target, bound, rounding=1)
