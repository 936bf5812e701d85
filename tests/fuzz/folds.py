"""Reductions, scans, products and orderings."""

from __future__ import annotations

import math

from . import bounds
from .bounds import Bound, Reject
from .generate import Maker
from .indices import pick_axis


def reduction(m: Maker) -> None:
    name = m.r.choice(("sum", "sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "var", "prod"))
    v = m.pick()
    array, b = m.env[v], m.bound(v)
    kind, n = array.dtype.kind, array.size
    if kind == "c" and name not in ("sum", "mean", "any", "all"):
        raise Reject
    if name in ("any", "all", "argmax", "argmin") and not b.exact:
        raise Reject
    if name == "prod" and (kind not in "iub" or n > 300):
        raise Reject
    if n == 0 and name in ("mean", "var"):
        raise Reject
    rounding = 4.0
    if name == "sum":
        b = bounds.fold(b, n)
        rounding = n + 1
    elif name == "mean":
        b = Bound(b.mag, None, b.err)
        rounding = n + 4
    elif name == "var":
        b = Bound(4 * b.mag**2, None, 8 * b.mag * b.err)
        rounding = 4 * n + 8
    elif name in ("argmax", "argmin"):
        b = Bound(max(n, 1), 0)
    elif name == "prod":
        b = Bound(2.0**64, 0)
    else:
        rounding = 0
    m.assign(f"{v}.{name}({axes(m, array.ndim, name)})", b, rounding, laid=False)


def axes(m: Maker, ndim: int, name: str) -> str:
    if ndim == 0 or m.r.random() < 0.3:
        text = ""
    elif ndim > 1 and m.r.random() < 0.25 and not name.startswith("arg"):
        text = f"axis={tuple(m.r.sample(range(ndim), 2))}"
    else:
        text = f"axis={pick_axis(m, ndim)}"
    if m.r.random() < 0.3:
        text += (", " if text else "") + "keepdims=True"
    return text


def scan(m: Maker) -> None:
    v = m.pick()
    array = m.env[v]
    if array.ndim == 0:
        raise Reject
    if array.dtype.kind in "iub" and m.r.random() < 0.3:
        m.assign(f"xp.cumprod({v}, axis={pick_axis(m, array.ndim)})", Bound(2.0**64, 0), laid=False)
    else:
        b = bounds.fold(m.bound(v), array.size)
        m.assign(f"xp.cumsum({v}, axis={pick_axis(m, array.ndim)})", b, rounding=array.size + 1, laid=False)


def product(m: Maker) -> None:
    """A matrix product; its second operand is often a view of the first."""
    a = m.pick(lambda x: 1 <= x.ndim <= 3 and x.size <= 400)
    k = m.env[a].shape[-1]
    b = m.pick(lambda x: x.ndim >= 1 and x.size <= 400 and k in (x.shape[max(x.ndim - 2, 0)], x.shape[-1]))
    right = m.env[b]
    text = b if right.shape[max(right.ndim - 2, 0)] == k else f"xp.swapaxes({b}, -1, -2)"
    both = m.env[a].dtype.kind == "c" and right.dtype.kind == "c"
    bound = bounds.fold(bounds.mul(m.bound(a), m.bound(b), both), k)
    if m.program.special:
        raise Reject  # inf * 0 inside a library's blocked product is not specified
    m.assign(f"{a} @ {text}", bound, rounding=2 * k + 4)


def order(m: Maker) -> None:
    v = m.pick_exact(lambda x: x.dtype.kind != "c" and x.ndim >= 1 and x.size > 0)
    n = m.env[v].shape[-1]
    if m.r.random() < 0.6:
        m.assign(f"xp.sort({v}, axis={pick_axis(m, m.env[v].ndim)})", m.bound(v), rounding=0)
    elif math.prod(m.env[v].shape) and n:
        m.assign(f"xp.argsort({v}, axis=-1, kind='stable')", Bound(n, 0))
