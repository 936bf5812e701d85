"""Draws routines that take, put, search, count, contract and rearrange elements."""

from __future__ import annotations

import numpy as np

from . import bounds
from .bounds import TRUTH, Bound, Reject
from .fancy import test_of
from .generate import Maker, fits, root
from .indices import pick_axis
from .statements import assignable, real

SMALL = ("0", "1", "3", "k0")
SMALL_BOUND = Bound(3, 0, signed=False)


def places(m: Maker, n: int, most: int = 5) -> list[int]:
    """Draws positions in an axis of length n, with repeats and negatives."""
    if n == 0:
        raise Reject
    return [m.r.randrange(-n, n) for _ in range(m.r.randint(1, most))]


def take_and_put(m: Maker) -> None:
    """Adds take, put, compress or putmask."""
    v = m.pick(lambda a: a.ndim >= 1)
    array, r = m.env[v], m.r
    axis = pick_axis(m, array.ndim)
    n = array.shape[axis]
    kind = r.random()
    if kind < 0.25:
        mode = r.choice(("", ", mode='wrap'", ", mode='clip'"))
        # NumPy does not terminate when it wraps indices into an empty axis.
        index = places(m, n) if not mode or n == 0 else [r.randrange(-9, 9) for _ in range(3)]
        m.assign(f"{v}.take(xp.asarray({index}), axis={axis}{mode})", m.bound(v))
    elif kind < 0.4:
        m.assign(f"xp.take({v}, xp.asarray([{places(m, array.size)}]))", m.bound(v))
    elif kind < 0.6:
        m.write(f"xp.put({v}, {places(m, array.size)}, {r.choice(SMALL)})", v, SMALL_BOUND, 0)
    elif kind < 0.75:
        source = m.pick(lambda a: a.size > 0 and root(a) is not root(array))
        bound = assignable(m, v, source)
        m.write(f"xp.put({v}, xp.asarray({sorted(set(places(m, array.size)))}), {source})", v, bound)
    elif kind < 0.9:
        m.write(f"xp.putmask({v}, {test_of(m, v)}, {r.choice(SMALL)})", v, SMALL_BOUND, 0)
    else:
        flags = [r.random() < 0.6 for _ in range(n)]
        m.assign(f"xp.compress(xp.asarray({flags}), {v}, axis={axis})", m.bound(v))


def along_axis(m: Maker) -> None:
    """Takes elements of one array in the sort order of another."""
    v = m.pick_exact(lambda a: a.dtype.kind != "c" and a.ndim >= 1 and a.size > 0)
    axis = pick_axis(m, m.env[v].ndim)
    order = f"xp.argsort({v}, axis={axis}, kind='stable')"
    kind = m.r.random()
    if kind < 0.5:
        w = m.pick(lambda a: a.shape == m.env[v].shape)
        m.assign(f"xp.take_along_axis({w}, {order}, {axis})", m.bound(w))
    elif kind < 0.8:
        w = m.pick(lambda a: a.shape == m.env[v].shape and a.flags.writeable)
        bound = assignable(m, w, v)
        m.write(f"xp.put_along_axis({w}, {order}, {v}, {axis})", w, bound)
    elif kind < 0.9:
        kth = m.r.randrange(m.env[v].shape[axis])
        m.assign(f"xp.partition({v}, {kth}, axis={axis}).take({kth}, axis={axis})", m.bound(v))
    else:
        m.write(f"{v}.sort(axis={axis})", v, m.bound(v), 0)


def at(m: Maker) -> None:
    """Adds ufunc.at, in which repeated positions count repeatedly."""
    v = m.pick(lambda a: a.flags.writeable and a.ndim >= 1 and a.dtype.kind not in "bc")
    array, b, r = m.env[v], m.bound(v), m.r
    index = places(m, array.shape[0])
    if array.dtype.name == "uint64":
        raise Reject  # NumPy's `at` treats Python integers as int64, which promotes uint64 to float64
    name, combine = r.choice((("add", bounds.add), ("subtract", bounds.subtract), ("maximum", Bound.join),
                              ("minimum", Bound.join)))  # fmt: skip
    if r.random() < 0.4:
        text, other = r.choice((("1", TRUTH), ("2", Bound(2, 0, signed=False)), ("k0", SMALL_BOUND)))
    else:
        text = m.pick(lambda a: real(a) and fits(a.shape, (len(index), *array.shape[1:])))
        other = m.bound(text)
        source = m.env[text].dtype
        # NumPy casts results unsafely. Cuprous raises if that differs from casting the operands.
        both = np.result_type(array.dtype, source)
        modular = {array.dtype.kind, both.kind} <= {*"iu"} and combine is not Bound.join
        narrowed = both.kind in "fc" and np.can_cast(both, array.dtype, "same_kind")
        if not (modular or narrowed or both == array.dtype):
            raise Reject
    if combine is not Bound.join:
        other = bounds.reduced(other, len(index))
    m.write(f"xp.{name}.at({v}, xp.asarray({index}), {text})", v, combine(b, other), len(index) + 1)


def choose(m: Maker) -> None:
    """Chooses elements from several arrays."""
    a, b = m.pick(), m.pick()
    both = m.bound(a).join(m.bound(b))
    if m.r.random() < 0.5:
        c = m.pick(lambda x: x.dtype.kind == "b")
        d = m.pick(lambda x: x.dtype.kind == "b")
        m.assign(f"xp.select([{c}, {d}], [{a}, {b}], {m.r.choice(('0', '1'))}).copy()", both.join(TRUTH))
    else:
        w = m.pick(lambda x: x.dtype.kind in "iu")
        m.assign(f"xp.choose({w} % 2, [{a}, {b}]).copy()", both)


def search(m: Maker) -> None:
    """Searches sorted arrays and counts bins."""
    v = m.pick_exact(lambda a: a.dtype.kind in "iuf" and a.size > 0)
    if m.program.special:
        raise Reject
    edges = m.r.choice(("[-1, 0, 2]", "[0.5, 1, 1, 3]", "[-2.0, 5.0]"))
    side = m.r.choice(("left", "right"))
    kind = m.r.random()
    if kind < 0.4:
        m.assign(f"xp.searchsorted(xp.asarray({edges}), {v}, side={side!r})", SMALL_BOUND.join(Bound(4, 0)))
    elif kind < 0.6:
        m.assign(f"xp.digitize({v}, xp.asarray({edges}))", Bound(4, 0, signed=False))
    elif kind < 0.8:
        w = m.pick_exact(lambda a: a.dtype.kind in "iuf" and a.size > 0)
        m.assign(f"xp.searchsorted(xp.sort({w}, axis=None), {v}, side={side!r})", Bound(m.env[w].size, 0, signed=False))
    else:
        m.assign(f"xp.histogram({v}, xp.asarray({edges}))[0]", Bound(m.env[v].size, 0, signed=False))


def count(m: Maker) -> None:
    """Adds counts, and results whose length depends on values."""
    v = m.pick_exact()
    array, n = m.env[v], m.env[v].size
    within = Bound(max(n, *array.shape, 1), 0, signed=False)
    kind = m.r.random()
    if array.ndim == 0 or (kind < 0.2 and array.dtype.kind == "c"):
        raise Reject
    if kind < 0.2 and not m.program.special:
        m.assign(f"xp.unique({v})", m.bound(v), 0, unknown=True)
    elif kind < 0.4:
        m.assign(f"xp.flatnonzero({v})", within, unknown=True)
    elif kind < 0.5:
        m.assign(f"xp.argwhere({v})", within, unknown=True, laid=False)
    elif kind < 0.7:
        m.assign(f"xp.count_nonzero({v}, axis={pick_axis(m, array.ndim)})", within, laid=False)
    else:
        w = m.pick(lambda a: a.dtype.kind in "iu" and a.dtype.name != "uint64" and a.ndim == 1)
        m.assign(f"xp.bincount({w} % 5, minlength=5)", Bound(max(m.env[w].size, 1), 0, signed=False))


def triangle(m: Maker) -> None:
    v = m.pick(lambda a: a.ndim >= 1)
    k = m.r.randrange(-2, 3)
    if m.env[v].ndim == 1:
        m.assign(f"xp.diag({v}, {k})", m.bound(v).join(TRUTH))
    elif m.r.random() < 0.7:
        m.assign(f"xp.{m.r.choice(('tril', 'triu'))}({v}, {k})", m.bound(v).join(TRUTH))
    else:
        m.assign(f"xp.trace({v}, {k})", bounds.reduced(m.bound(v), 8), 9)


def contract(m: Maker) -> None:
    """Adds products other than `@`."""
    if m.program.special:
        raise Reject
    a = m.pick(lambda x: real(x) and 1 <= x.ndim <= 2 and x.size <= 60)
    b = m.pick(lambda x: real(x) and 1 <= x.ndim <= 2 and x.size <= 60)
    x, y, bound = m.env[a], m.env[b], bounds.mul(m.bound(a), m.bound(b))
    k = x.shape[-1]
    kind = m.r.random()
    if kind < 0.35:
        m.assign(f"xp.{m.r.choice(('outer', 'kron'))}({a}, {b})", bound, 2)
        return
    if kind < 0.5 and y.shape[-1] == k:
        text = f"xp.inner({a}, {b})"
    elif kind < 0.65 and x.ndim == 2 and y.shape[0] == k:
        text = f"xp.einsum('ij,j{'k'[: y.ndim - 1]}->{'k'[: y.ndim - 1]}i', {a}, {b})"
    elif kind < 0.8 and y.shape[0] == k:
        text = f"xp.tensordot({a}, {b}, 1)"
    elif y.shape[max(y.ndim - 2, 0)] == k:
        text = f"xp.dot({a}, {b})"
    else:
        raise Reject
    m.assign(text, bounds.reduced(bound, k), 2 * k + 4, laid=False)


def rearrange(m: Maker) -> None:
    """Adds padding, splitting, inserting, deleting, rolling or repeating."""
    v = m.pick(lambda a: 1 <= a.ndim <= 3 and a.size <= 500)
    array, r, b = m.env[v], m.r, m.bound(v)
    axis = pick_axis(m, array.ndim)
    n = array.shape[axis]
    w = m.pick(lambda a: a.ndim == array.ndim)
    pieces = (
        f"xp.pad({v}, {r.randrange(3)})", f"xp.pad({v}, 1, mode='edge')", f"xp.pad({v}, ((1, 0),) * {array.ndim})",
        f"xp.roll({v}, {r.randrange(-4, 5)})", f"xp.repeat({v}, {r.randrange(3)})",
        f"xp.repeat({v}, {[r.randrange(3) for _ in range(n)]}, axis={axis})",
        f"xp.array_split({v}, 2, axis={axis})[{r.randrange(2)}]",
        f"xp.delete({v}, {r.randrange(n) if n else 0}, axis={axis})",
        f"xp.insert({v}, {r.randrange(n + 1)}, 1, axis={axis})", f"xp.append({v}, {w}, axis={axis})",
        f"xp.hstack([{v}, {w}])", f"xp.vstack([{v}, {w}])", f"xp.tile({v}, (2, 1))", f"xp.nan_to_num({v}, nan=0.0)",
        f"xp.resize({v}, ({r.randrange(1, 4)}, {r.randrange(1, 6)}))", f"xp.flip({v})",
        f"xp.meshgrid({v}[..., :3], {w}[..., :2])[{r.randrange(2)}]",
    )  # fmt: skip
    text = r.choice(pieces)
    if "nan_to_num" in text and m.program.special:
        raise Reject
    m.assign(text, b.join(m.bound(w)).join(TRUTH), laid=False)


def masked_reduction(m: Maker) -> None:
    """Adds a reduction with `where=`, `dtype=` or `initial=`."""
    v = m.pick(lambda a: a.dtype.kind != "c" and a.ndim >= 1 and a.size > 0)
    array, b = m.env[v], m.bound(v)
    axis = m.r.choice((None, pick_axis(m, array.ndim)))
    n = array.size
    kind = m.r.random()
    if kind < 0.35:
        mask = m.pick(lambda a: a.dtype.kind == "b" and fits(a.shape, array.shape))
        m.assign(f"xp.sum({v}, axis={axis}, where={mask})", bounds.reduced(b, n).join(TRUTH), n + 1, laid=False)
    elif kind < 0.5:
        mask = m.pick(lambda a: a.dtype.kind == "b" and fits(a.shape, array.shape))
        m.assign(f"xp.max({v}, axis={axis}, where={mask}, initial=0)", b.join(TRUTH), 0, laid=False)
    elif kind < 0.75:
        m.assign(f"xp.sum({v}, axis={axis}, dtype=xp.float64)", bounds.reduced(b, n), n + 1, laid=False)
    elif kind < 0.9:
        m.assign(f"xp.cumsum({v}, axis={axis}, dtype=xp.float64)", bounds.reduced(b, n), n + 1, laid=False)
    else:
        m.assign(f"xp.ptp({v}, axis={axis})", bounds.subtract(b, b), 2, laid=False)


def safe(source: np.ndarray, target: np.ndarray) -> bool:
    """Returns true if a reduction of `source` may write to `target`. NumPy allows any and computes in its dtype."""
    wide = np.dtype("int64") if source.dtype.kind == "b" else source.dtype
    return wide.kind == target.dtype.kind and np.can_cast(wide, target.dtype, "same_kind")


def reduce_into(m: Maker) -> None:
    """Adds a reduction or scan with `out=`, which may be a view of the operand."""
    v = m.pick(lambda a: a.dtype.kind != "c" and a.ndim >= 1 and a.size > 0)
    array, b = m.env[v], m.bound(v)
    axis = pick_axis(m, array.ndim)
    if m.r.random() < 0.5:
        target = m.pick(lambda a: a.flags.writeable and a.shape == array.shape and safe(array, a))
        m.write(f"xp.cumsum({v}, axis={axis}, out={target})", target, bounds.reduced(b, array.size), array.size + 1)
        return
    shape = tuple(n for i, n in enumerate(array.shape) if i != axis % array.ndim)
    target = m.pick(lambda a: a.flags.writeable and a.shape == shape and safe(array, a))
    name = m.r.choice(("sum", "max", "min"))
    to = m.env[target].dtype
    if name != "sum" and to.kind in "iu" and b.mag > np.iinfo(to).max:
        raise Reject  # NumPy wraps after each step, so the result depends on their order
    bound, rounding = (bounds.reduced(b, array.size), array.size + 1) if name == "sum" else (b, 0)
    m.write(f"xp.{name}({v}, axis={axis}, out={target})", target, bound, rounding)
