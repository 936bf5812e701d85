"""Draws writes through views that overlap their source, and views of diagonals, complex parts and bits."""

from __future__ import annotations

import numpy as np

from . import bounds
from .bounds import TRUTH, Bound, Reject
from .generate import Maker, fits, root
from .indices import basic_index, pick_axis
from .statements import assignable, is_complex


def _repeated(m: Maker, v: str, times: int) -> Bound:
    """Returns the bound after repeatedly adding parts of an array to itself."""
    bound = m.bound(v)
    for _ in range(times):
        bound = bounds.settle(m.env[v].dtype, bounds.add(bound, bound), 2)
    return bound


def overlap(m: Maker) -> None:
    """Writes an array from a shifted, reversed or transposed view of itself."""
    v = m.pick(lambda a: a.flags.writeable and a.ndim >= 1 and a.size > 1)
    shape = m.env[v].shape
    lead = ":, " * m.r.randrange(len(shape))
    n = shape[lead.count(":")]
    step = m.r.choice((1, 1, 2))
    pairs = [
        (f"{v}[{lead}{step}:]", f"{v}[{lead}:-{step}]"), (f"{v}[{lead}:-{step}]", f"{v}[{lead}{step}:]"),
        (v, f"{v}[{lead}::-1]"), (f"{v}[{lead}::-1]", v),
        (f"{v}[{lead}:{n // 2}]", f"{v}[{lead}:{n - n // 2 - 1}:-1]"),
    ]  # fmt: skip
    if len(shape) > 1 and shape == shape[::-1]:
        pairs += [(v, f"{v}.T"), (f"{v}.T", v)] * 2
    if n > 1:
        pairs.append((v, f"{v}[{lead}:1]"))  # one slice of itself, repeated
    target, source = m.r.choice(pairs)
    op = m.r.choice(("=", "=", "+=", "+=", "-=", "*="))
    if not target.endswith("]") and (op == "=" or target != v):
        target += "[...]"
    if op == "=":
        m.write(f"{target} = {source}", v, m.bound(v), 0)
    elif op == "*=":
        m.write(f"{target} *= {source}", v, bounds.mul(m.bound(v), m.bound(v), is_complex(m, v)), 2)
    else:
        combine = bounds.add if op == "+=" else bounds.subtract
        m.write(f"{target} {op} {source}", v, combine(m.bound(v), m.bound(v)), 2)


def chain(m: Maker) -> None:
    """Adds in-place steps in a loop, each of which reads the result of the previous one."""
    v = m.pick(lambda a: a.flags.writeable and a.ndim >= 1 and a.shape[0] > 1 and a.dtype.kind != "b")
    times = m.r.choice((2, 3))
    body = m.r.choice((
        f"{v}[1:] += {v}[:-1]", f"{v}[:-1] += {v}[1:]", f"{v} += {v}[::-1]", f"{v}[::2] += {v}[:1]",
        f"{v}[1:-1] = {v}[2:] + {v}[:-2]", f"{v}[..., ::-1] += {v}",
    ))  # fmt: skip
    m.write(f"for _ in range({times}): {body}", v, _repeated(m, v, times), 2)


def alias_write(m: Maker) -> None:
    """Makes two names of the same memory and writes one from the other, or both alternately."""
    v = m.pick_writable()
    base = root(m.env[v])
    shape = m.env[v].shape
    w = m.pick(lambda a: root(a) is base and fits(a.shape, shape))
    if w == v and m.r.random() < 0.7:
        raise Reject
    kind = m.r.random()
    if kind < 0.3:
        m.write(f"{v}[...] = {w}", v, m.bound(v), 0)
    elif kind < 0.6:
        m.write(f"{v} += {w}", v, bounds.add(m.bound(v), m.bound(v)), 2)
    elif kind < 0.8:
        m.write(f"{v}[...] = {w} + {v}", v, bounds.add(m.bound(v), m.bound(v)), 2)
    else:
        m.write(f"for _ in range(2): {v} += {w}", v, _repeated(m, v, 2), 2)


def part_view(m: Maker) -> None:
    """Draws a diagonal, a real or imaginary part, a flip or a rotation."""
    v = m.pick()
    array, r = m.env[v], m.r
    if array.dtype.kind == "c" and r.random() < 0.6:
        m.assign(f"{v}.{r.choice(('real', 'imag'))}", m.bound(v))
        return
    if array.ndim == 0:
        raise Reject
    if array.ndim == 1:
        m.assign(f"xp.flip({v})", m.bound(v))
        return
    i = pick_axis(m, array.ndim)
    j = (i + r.randrange(1, array.ndim)) % array.ndim
    text = r.choice((
        f"xp.diagonal({v}, {r.randrange(-2, 3)}, {i}, {j})", f"{v}.diagonal()", f"xp.fliplr({v})",
        f"xp.rot90({v}, {r.randrange(4)})", f"xp.rollaxis({v}, {i}, {r.randrange(array.ndim + 1)})",
        f"{v}.swapaxes({i}, {j})", f"xp.flip({v}, ({i}, {j}))", f"{v}.mT", f"xp.atleast_3d({v})",
    ))  # fmt: skip
    m.assign(text, m.bound(v))


def part_write(m: Maker) -> None:
    """Writes to the real or imaginary part of a complex array, or to a diagonal."""
    v = m.pick_writable()
    array, b = m.env[v], m.bound(v)
    if array.dtype.kind != "c":
        if array.ndim < 2:
            raise Reject
        m.write(f"xp.fill_diagonal({v}, {m.r.choice(('0', '1', 'k0'))})", v, Bound(3, 0, signed=False), 0)
        return
    part = f"{v}.{m.r.choice(('real', 'imag'))}"
    source = m.pick(lambda a: a.dtype.kind != "c" and fits(a.shape, array.shape))
    kind = m.r.random()
    if kind < 0.25:
        m.write(f"{part} = {source}", v, m.bound(source))
    elif kind < 0.5:
        m.write(f"{part}[...] = {source}", v, m.bound(source))
    elif kind < 0.75:
        m.write(f"{part}[...] += {source}", v, bounds.add(b, m.bound(source)), 2)
    else:
        m.write(f"{v}.real[...] = {v}.imag", v, b, 0)


def flat_write(m: Maker) -> None:
    """Writes by position in the flattened array."""
    v = m.pick_writable()
    array = m.env[v]
    if array.size == 0:
        raise Reject
    kind = m.r.random()
    if kind < 0.4:
        start = m.r.randrange(array.size)
        m.write(f"{v}.flat[{start}:] = {m.r.choice(('0', '2', 'k0'))}", v, Bound(3, 0, signed=False), 0)
    elif kind < 0.6:
        m.write(f"{v}.flat[{m.r.randrange(-array.size, array.size)}] = 1", v, TRUTH, 0)
    elif kind < 0.8:
        m.write(f"{v}.fill({m.r.choice(('0', '2', 'k0'))})", v, Bound(3, 0, signed=False), 0)
    else:
        source = m.pick(lambda a: a.size == array.size and root(a) is not root(array))  # overlaps are not buffered
        m.write(f"{v}.flat[:] = {source}", v, assignable(m, v, source))


_TWINS = {"int8": "uint8", "int16": "uint16", "int32": "uint32", "int64": "uint64"}
_TWINS |= {twin: name for name, twin in _TWINS.items()}


def same_bits(m: Maker) -> None:
    """Views integers as integers of the other signedness."""
    v = m.pick(lambda a: a.dtype.name in _TWINS)
    twin = np.dtype(_TWINS[m.env[v].dtype.name])
    index = basic_index(m, m.env[v].shape)
    m.assign(f"{v}[{index.text}].view(xp.{twin.name})", m.bound(v))
    m.widen(v, Bound(2.0 ** (8 * twin.itemsize), 0))
