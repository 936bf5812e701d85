"""Draws indexing by integer and boolean arrays, and routines that move elements."""

from __future__ import annotations

from . import bounds
from .bounds import Bound, Reject
from .generate import Maker, fits, root
from .indices import pick_axis
from .statements import ONE, assignable


def integers(m: Maker, extent: int) -> str:
    """Draws an index array for an axis: a list with repeats and negatives, or an array of the program reduced to the
    range."""
    if extent == 0:
        raise Reject
    if m.r.random() < 0.5:
        return str([m.r.randrange(-extent, extent) for _ in range(m.r.randint(1, 5))])
    # NumPy's 0-d results are scalars, which index as integers do; here they are arrays.
    w = m.pick(lambda a: a.dtype.kind in "iu" and 1 <= a.ndim <= 2 and a.size <= 64)
    text = f"{w} % {min(extent, 100)}"
    return f"{text} - {extent}" if m.env[w].dtype.kind == "i" and m.r.random() < 0.2 else text


def gather(m: Maker) -> None:
    v = m.pick(lambda a: a.ndim >= 1)
    shape = m.env[v].shape
    index = integers(m, shape[0])
    kind = m.r.random()
    if kind < 0.3 and len(shape) > 1:
        text = f"{v}[:, {integers(m, shape[1])}]"
    elif kind < 0.45 and len(shape) > 1 and shape[1]:
        text = f"{v}[{index}, {m.r.randrange(shape[1])}]"
    elif kind < 0.6 and index.startswith("["):
        text = f"xp.take({v}, xp.asarray({index}), axis=0)"
    else:
        text = f"{v}[{index}]"
    m.assign(text, m.bound(v))


def test_of(m: Maker, v: str) -> str:
    """Draws a boolean array of v's shape."""
    if m.bound(v).exact and m.env[v].dtype.kind != "c" and m.r.random() < 0.6:
        return f"{v} > {m.r.choice(('0', '1', 'k0'))}"
    base = root(m.env[v])  # a write through a mask that it changes is undefined
    return m.pick(lambda a: a.dtype.kind == "b" and a.shape == m.env[v].shape and root(a) is not base)


def mask_read(m: Maker) -> None:
    v = m.pick(lambda a: a.ndim >= 1)
    picked = f"{v}[{test_of(m, v)}]"
    n, b = m.env[v].size, m.bound(v)
    kind = m.r.random()
    if kind < 0.5:
        m.assign(f"{picked}.sum()", bounds.reduced(b, n), rounding=n + 1)
    elif kind < 0.8:
        m.assign(picked, b, unknown=True)
    else:
        m.assign(f"{picked} + 1", bounds.add(b, ONE), unknown=True)


def mask_write(m: Maker) -> None:
    target = m.pick_writable()
    if m.env[target].ndim == 0:
        raise Reject
    test = test_of(m, target)
    b = m.bound(target)
    kind = m.r.random()
    if kind < 0.4:
        m.write(f"{target}[{test}] = {m.r.choice(('0', '1', '3', 'k0'))}", target, Bound(3, 0))
    elif kind < 0.6:
        m.write(f"{target}[{test}] += 1", target, bounds.add(b, ONE), rounding=2)
    elif kind < 0.85:
        source = m.pick(lambda a: a.shape == m.env[target].shape)
        bound = assignable(m, target, source)
        name = f"t{m.next}"
        if test.startswith(target):  # the condition is evaluated once, before the write changes it
            m.plain(f"{name} = {test}")
            test = name
        m.write(f"{target}[{test}] = {source}[{test}]", target, bound)
    else:
        m.write(f"xp.copyto({target}, {m.r.choice(('0', '2', 'k0'))}, where={test})", target, Bound(3, 0))


def scatter(m: Maker) -> None:
    target = m.pick(lambda a: a.flags.writeable and a.ndim >= 1)
    array = m.env[target]
    index = integers(m, array.shape[0])
    kind = m.r.random()
    if kind < 0.4:
        m.write(f"{target}[{index}] = {m.r.choice(('0', '1', '3', 'k0'))}", target, Bound(3, 0))
    elif kind < 0.6:
        m.write(f"{target}[{index}] += 1", target, bounds.add(m.bound(target), ONE), rounding=2)
    elif kind < 0.8:
        if not index.startswith("["):
            raise Reject
        count = index.count(",") + 1
        source = m.pick(lambda a: fits(a.shape, (count, *array.shape[1:])))
        m.write(f"{target}[{index}] = {source}", target, assignable(m, target, source))
    else:
        if array.dtype.kind in "bc" or array.dtype.name == "uint64" or not index.startswith("["):
            raise Reject
        m.write(f"xp.add.at({target}, xp.asarray({index}), 1)", target, bounds.add(m.bound(target), Bound(5, 0)), 6)


def move(m: Maker) -> None:
    v = m.pick(lambda a: a.ndim >= 1 and a.size <= 2000)
    axis = pick_axis(m, m.env[v].ndim)
    text = m.r.choice((
        f"xp.roll({v}, {m.r.randrange(-4, 5)}, axis={axis})", f"xp.flip({v}, axis={axis})",
        f"xp.repeat({v}, 2, axis={axis})", f"xp.tile({v}, 2)", f"xp.diff({v}, axis={axis})",
    ))  # fmt: skip
    if "diff" in text:
        if m.env[v].dtype.kind == "b":
            raise Reject
        m.assign(text, bounds.subtract(m.bound(v), m.bound(v)), rounding=2)
    else:
        m.assign(text, m.bound(v), laid=False)
