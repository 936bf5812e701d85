"""Draws reductions, scans, products and sorts."""

from __future__ import annotations

import math

import numpy as np

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
        b = bounds.reduced(b, n)
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
        b = bounds.reduced(m.bound(v), array.size)
        m.assign(f"xp.cumsum({v}, axis={pick_axis(m, array.ndim)})", b, rounding=array.size + 1, laid=False)


def factors(m: Maker) -> tuple[str, Bound, int]:
    """Draws a matrix product, often with a view of the first operand as the second.

    Returns its text, its bound and the number of roundings.
    """
    a = m.pick(lambda x: 1 <= x.ndim <= 3 and x.size <= 400)
    k = m.env[a].shape[-1]
    b = m.pick(lambda x: x.ndim >= 1 and x.size <= 400 and k in (x.shape[max(x.ndim - 2, 0)], x.shape[-1]))
    right = m.env[b]
    text = b if right.shape[max(right.ndim - 2, 0)] == k else f"xp.swapaxes({b}, -1, -2)"
    both = m.env[a].dtype.kind == "c" and right.dtype.kind == "c"
    bound = bounds.reduced(bounds.mul(m.bound(a), m.bound(b), both), k)
    if m.program.special:
        raise Reject  # inf * 0 inside a library's blocked product is not specified
    return f"{a} @ {text}", bound, 2 * k + 4


def product(m: Maker) -> None:
    text, bound, rounding = factors(m)
    m.assign(text, bound, rounding=rounding)


def linear(m: Maker) -> None:
    """Adds a product with a scale and an addend, in a new array or in place, which may become a fused epilogue."""
    text, bound, rounding = factors(m)
    r = m.r

    def value() -> np.ndarray:
        try:
            return np.asarray(eval(text, m.env))
        except (TypeError, ValueError, OverflowError):
            raise Reject from None

    made = value()
    shape, bound = made.shape, bounds.settle(made.dtype, bound, rounding)
    for _ in range(r.choice((0, 1, 1, 2, 3))):
        if r.random() < 0.3:
            s, b = m.scalar()
            text, bound = r.choice((f"({text}) * {s}", f"{s} * ({text})")), bounds.mul(bound, b)
        else:
            other = m.pick(lambda a: a.shape in (shape, shape[-1:]))
            text = r.choice(
                (f"({text}) + {other}", f"{other} + ({text})", f"({text}) - {other}", f"{other} - ({text})")
            )
            bound = bounds.subtract(bound, m.bound(other))
        made = value()
        bound = bounds.settle(made.dtype, bound, 2)
    kind = r.random()
    if kind < 0.5:
        m.assign(text, bound, laid=False)
    elif kind < 0.6 and made.dtype.kind != "c":
        m.assign(f"xp.maximum({text}, 0)", bound.join(bounds.TRUTH), laid=False)
    else:
        target = m.pick(lambda a: a.flags.writeable and a.shape == shape and a.dtype == made.dtype)
        if kind < 0.75:
            m.write(f"{target}[...] = {text}", target, bound)
        else:
            m.write(f"{target} {r.choice(('+=', '-='))} {text}", target, bounds.subtract(m.bound(target), bound), 2)


def order(m: Maker) -> None:
    v = m.pick_exact(lambda x: x.dtype.kind != "c" and x.ndim >= 1 and x.size > 0)
    n = m.env[v].shape[-1]
    if m.r.random() < 0.6:
        m.assign(f"xp.sort({v}, axis={pick_axis(m, m.env[v].ndim)})", m.bound(v), rounding=0)
    elif math.prod(m.env[v].shape) and n:
        m.assign(f"xp.argsort({v}, axis=-1, kind='stable')", Bound(n, 0))
