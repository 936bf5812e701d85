"""Statements of random programs. Each function draws one statement and adds it, or raises Reject."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from . import bounds
from .bounds import Bound, Reject
from .generate import Maker, fits, root
from .indices import basic_index, pick_axis, view_text

ONE = bounds.TRUTH


def is_complex(m: Maker, name: str) -> bool:
    return m.env[name].dtype.kind == "c"


def real(a: np.ndarray) -> bool:
    return a.dtype.kind != "c"


# --- elementwise


def exact_unary(m: Maker) -> None:
    """Adds a function that keeps exact numbers exact."""
    names = "negative positive square sign logical_not invert conj absolute floor rint trunc"
    name = m.r.choice(names.split())
    v = m.pick_exact()
    b = m.bound(v)
    if is_complex(m, v) and name in ("absolute", "floor", "rint", "trunc", "sign"):
        raise Reject
    if name == "square":
        b = bounds.mul(b, b, is_complex(m, v))
    elif name == "sign":
        b = Bound(1, 0)
    elif name in ("floor", "rint", "trunc", "invert"):
        b = Bound(b.mag + 1, 0)
    elif name == "negative":
        b = replace(b, signed=True)
    m.assign(f"xp.{name}({v})", b)


def smooth_unary(m: Maker) -> None:
    """Adds a function with a bounded slope, so that errors stay small."""
    v = m.pick(real)
    b = m.bound(v)
    text, slope, mag = m.r.choice((
        (f"xp.sin({v})", 1, 1), (f"xp.cos({v})", 1, 1), (f"xp.tanh({v})", 1, 1), (f"xp.arctan({v})", 1, 1.6),
        (f"xp.exp(-xp.abs({v}))", 1, 1), (f"xp.log1p(xp.abs({v}))", 1, math.log1p(b.mag)),
        (f"xp.sqrt(xp.abs({v}) + 1.0)", 0.5, math.sqrt(b.mag + 1)), (f"1.0 / (xp.abs({v}) + 1.0)", 1, 1),
        (f"xp.arcsinh({v})", 1, math.asinh(b.mag)), (f"xp.exp(xp.minimum({v}, 1.0))", 2.8, 2.8),
    ))  # fmt: skip
    if b.mag > 1e5 and not b.exact:
        raise Reject
    if "-xp.abs" in text and m.env[v].dtype.kind == "u":
        raise Reject  # it wraps to huge positive numbers
    m.assign(text, bounds.smooth(b, slope, max(mag, 0.1)), rounding=2)


def arithmetic(m: Maker, a: str, b: str, ba: Bound, bb: Bound, complex_: bool) -> tuple[str, Bound]:
    """Draws one of the operators + - *."""
    op = m.r.choice("++-**")
    if op == "*":
        return f"{a} * {b}", bounds.mul(ba, bb, complex_)
    return f"{a} {op} {b}", (bounds.add if op == "+" else bounds.subtract)(ba, bb)


def binary(m: Maker) -> None:
    a = m.pick()
    b = m.pick()
    text, bound = arithmetic(m, a, b, m.bound(a), m.bound(b), is_complex(m, a) and is_complex(m, b))
    m.assign(text, bound, rounding=2)


def with_scalar(m: Maker) -> None:
    a = m.pick()
    s, bs = m.scalar()
    pair = (a, s, m.bound(a), bs) if m.r.random() < 0.7 else (s, a, bs, m.bound(a))
    text, bound = arithmetic(m, *pair, False)
    m.assign(text, bound, rounding=2)


def divide(m: Maker) -> None:
    a, b = m.pick(real), m.pick(real)
    ba, bb = m.bound(a), m.bound(b)
    if m.r.random() < 0.5:
        m.assign(f"{a} / {m.r.choice(('2', '4.0', '3.0', '-1.5'))}", Bound(ba.mag, None, ba.err), rounding=2)
    else:
        err = ba.err + ba.mag * bb.err
        m.assign(f"{a} / (xp.abs({b}) + 1.0)", Bound(ba.mag, None, err), rounding=3)


def integer_binary(m: Maker) -> None:
    """Adds a division, remainder or bit operation, which are exact in every dtype that has them."""
    a = m.pick_exact(lambda v: v.dtype.kind in "iub")
    kind = m.r.randrange(4)
    if kind == 0:
        b = m.pick_exact(lambda v: v.dtype.kind in "iub")
        m.assign(f"{a} {m.r.choice('&|^')} {b}", Bound(2.0**64, 0))
    elif kind == 1:
        m.assign(f"{a} {m.r.choice(('<<', '>>'))} {m.r.randrange(4)}", Bound(2.0**64, 0))
    elif kind == 2:
        b = m.pick_exact(lambda v: v.dtype.kind in "iu")
        m.assign(f"{a} {m.r.choice(('//', '%'))} {b}", Bound(2.0**64, 0))
    else:
        m.assign(f"{a} {m.r.choice(('//', '%'))} {m.r.choice(('2', '3', '-3', '7'))}", Bound(2.0**64, 0))


def float_remainder(m: Maker) -> None:
    a = m.pick_exact(lambda v: v.dtype.kind == "f")
    if m.program.special:
        raise Reject
    b = m.bound(a)
    if m.r.random() < 0.5:
        m.assign(f"{a} % {m.r.choice(('2', '0.5', '-1.5'))}", Bound(2, max(b.grid or 0, 1)))
    else:
        m.assign(f"{a} // {m.r.choice(('2', '0.5', '-1.5'))}", Bound(2 * b.mag + 1, 0))


def compare(m: Maker) -> None:
    a = m.pick_exact()
    op = m.r.choice(("<", "<=", ">", ">=", "==", "!="))
    b = m.scalar()[0] if m.r.random() < 0.4 else m.pick_exact()
    m.assign(f"{a} {op} {b}", ONE)


def extremes(m: Maker) -> None:
    a = m.pick(real)
    if m.r.random() < 0.4:
        lo, hi = m.r.choice((("-1", "2"), ("-0.5", "k1"), ("0", "3")))
        if m.env[a].dtype.kind == "u" and lo.startswith("-"):
            raise Reject
        m.assign(f"xp.clip({a}, {lo}, {hi})", m.bound(a).join(Bound(3, 3)))
    else:
        b = m.pick(real)
        m.assign(f"xp.{m.r.choice(('maximum', 'minimum'))}({a}, {b})", m.bound(a).join(m.bound(b)), rounding=0)


def where(m: Maker) -> None:
    c = m.pick_exact()
    a, b = m.pick(), m.pick()
    test = c if m.env[c].dtype.kind == "b" else f"{c} > {m.r.choice(('0', '1', 'k0'))}"
    if m.r.random() < 0.3:
        s, bs = m.scalar()
        m.assign(f"xp.where({test}, {a}, {s})", m.bound(a).join(bs))
    else:
        m.assign(f"xp.where({test}, {a}, {b})", m.bound(a).join(m.bound(b)))


def cast(m: Maker) -> None:
    a = m.pick()
    dtype = np.dtype(m.dtype())
    b = m.bound(a)
    source = m.env[a].dtype.kind
    if source == "c" and dtype.kind != "c":
        raise Reject
    if source == "f" and dtype.kind in "iu" and (m.program.special or not bounds.castable(b, dtype)):
        raise Reject
    if source in "fc" and dtype.kind == "b" and not b.exact:
        raise Reject
    m.assign(f"{a}.astype(xp.{dtype.name if dtype.name != 'bool' else 'bool_'})", b)


def out_argument(m: Maker) -> None:
    """Adds a call with `out=`, sometimes with `where=`; the target may be an operand or overlap one."""
    target = m.pick_writable()
    shape = m.env[target].shape
    a = target if m.r.random() < 0.2 else m.pick_like(shape)
    b = m.pick_like(shape)
    ba, bb = m.bound(a), m.bound(b)
    if is_complex(m, a) or is_complex(m, b):
        raise Reject
    name, bound = m.r.choice((
        (f"add({a}, {b}", bounds.add(ba, bb)), (f"subtract({a}, {b}", bounds.subtract(ba, bb)),
        (f"multiply({a}, {b}", bounds.mul(ba, bb)), (f"maximum({a}, {b}", ba.join(bb)),
        (f"minimum({a}, {b}", ba.join(bb)), (f"square({a}", bounds.mul(ba, ba)),
        (f"negative({a}", replace(ba, signed=True)),
    ))  # fmt: skip
    if name.startswith("negative") and root(m.env[a]) is root(m.env[target]):
        raise Reject  # NumPy 2.4 gets `negative(x, out=x)` wrong where x has large strides
    own = m.env[a].dtype if name.startswith(("square", "negative")) else np.result_type(m.env[a], m.env[b])
    if own.kind in "iu":
        bound = bounds.wrapped(own, bound)  # integers wrap around before the cast to the target's dtype
    mask = ""
    if m.r.random() < 0.3:
        mask = f", where={m.pick(lambda x: x.dtype.kind == 'b' and fits(x.shape, shape))}"
    m.write(f"xp.{name}, out={target}{mask})", target, bound, rounding=2)


# --- writes


def in_place(m: Maker) -> None:
    target = m.pick_writable()
    op = m.r.choice(("+=", "-=", "*=", "+=", "|=", "&="))
    if m.r.random() < 0.4:
        other, b = m.scalar()
    else:
        other = m.pick_like(m.env[target].shape)
        b = m.bound(other)
    times = m.r.choice((1, 1, 1, 1, 2, 3))
    bound = m.bound(target)
    for _ in range(times):
        if op == "*=":
            bound = bounds.mul(bound, b.join(bound) if times > 1 else b, is_complex(m, target))
        elif op in ("+=", "-="):
            bound = (bounds.add if op == "+=" else bounds.subtract)(bound, b.join(bound) if times > 1 else b)
        else:
            bound = Bound(2.0**64, 0)
        bound = bounds.settle(m.env[target].dtype, bound, 2)
    loop = f"for _ in range({times}): " if times > 1 else ""
    m.write(f"{loop}{target} {op} {other}", target, bound)


def assignable(m: Maker, target: str, source: str) -> Bound:
    """Returns the bound of the source's values after they are stored in the target."""
    b, to, kind = m.bound(source), m.env[target].dtype, m.env[source].dtype.kind
    if kind == "c" and to.kind != "c":
        raise Reject
    if kind == "f" and to.kind in "iu" and (m.program.special or not bounds.castable(b, to)):
        raise Reject
    if kind == "f" and to.kind == "b" and not b.exact:
        raise Reject
    return b


def set_basic(m: Maker) -> None:
    target = m.pick_writable()
    index = basic_index(m, m.env[target].shape)
    part = m.env[target][index.value]
    if m.r.random() < 0.35:
        s = m.r.choice(("0", "1", "3", "k0"))
        m.write(f"{target}[{index.text}] = {s}", target, Bound(3, 0))
        return
    source = m.pick(lambda a: fits(a.shape, part.shape))
    m.write(f"{target}[{index.text}] = {source}", target, assignable(m, target, source))


def in_place_part(m: Maker) -> None:
    """`v[1:] += v[:-1]`: the source may overlap the target."""
    target = m.pick_writable()
    index = basic_index(m, m.env[target].shape)
    part = m.env[target][index.value]
    source = m.pick(lambda a: fits(a.shape, part.shape))
    if m.r.random() < 0.5 and m.env[target].ndim:
        other = basic_index(m, m.env[target].shape)
        if not fits(m.env[target][other.value].shape, part.shape):
            raise Reject
        text, b = f"{target}[{other.text}]", m.bound(target)
    else:
        text, b = source, m.bound(source)
    m.write(f"{target}[{index.text}] += {text}", target, bounds.add(m.bound(target), b), rounding=2)


def row_loop(m: Maker) -> None:
    v = m.pick(lambda a: a.flags.writeable and a.ndim >= 1 and 1 < a.shape[0] < 8)
    if m.env[v].dtype.kind == "b":
        raise Reject
    line = m.r.choice((f"for i in range(len({v})): {v}[i] += i", f"for i in range(1, len({v})): {v}[i] += {v}[i - 1]"))
    m.write(line, v, bounds.reduced(m.bound(v).join(Bound(8, 0, signed=False)), 8), rounding=8)


# --- views, copies, reads and lifetimes


def view(m: Maker) -> None:
    v = m.pick()
    m.assign(view_text(m, v), m.bound(v))


def copy(m: Maker) -> None:
    v = m.pick()
    m.assign(m.r.choice((f"{v}.copy()", f"xp.ascontiguousarray({v}).copy()", f"xp.array({v})")), m.bound(v))


def create(m: Maker) -> None:
    v = m.pick()
    text, b = m.r.choice((
        (f"xp.zeros_like({v})", ONE), (f"xp.ones_like({v})", ONE), (f"xp.full({m.env[v].shape}, k1)", Bound(2, 1)),
        (f"xp.arange({m.r.randrange(7)})", Bound(8, 0)), (f"xp.arange(0.5, {m.r.randrange(1, 7)}.0)", Bound(8, 1)),
        (f"xp.zeros({m.env[v].shape}, dtype=xp.{m.env[v].dtype.name.replace('bool', 'bool_')})", ONE),
    ))  # fmt: skip
    m.assign(text, b)


def host_read(m: Maker) -> None:
    v = m.pick()
    label = f"h{len(m.program.lines)}"
    m.program.bounds[label] = m.bound(v)
    m.plain(f"host({label!r}, {v})")


def branch(m: Maker) -> None:
    v, target = m.pick_exact(real), m.pick_writable()
    if m.env[v].size == 0:
        raise Reject
    text = m.r.choice((f"({v} > k0).any()", f"float({v}.max()) > 1", f"int(({v} != 0).sum()) % 2"))
    # Both branches must be valid, whichever one was taken while drawing.
    if m.env[target].dtype.kind not in "ifc":
        raise Reject
    m.write(f"if {text}: {target} += 1", target, bounds.add(m.bound(target), ONE))


def delete(m: Maker) -> None:
    if len(m.live) < 3:
        raise Reject
    m.forget(m.r.choice(m.live))


# --- several arrays into one


def join(m: Maker) -> None:
    a, b = m.pick(), m.pick()
    if m.env[a].ndim == 0 or m.env[a].ndim != m.env[b].ndim:
        raise Reject
    axis: int | None = pick_axis(m, m.env[a].ndim)
    name = m.r.choice(("concatenate", "concatenate", "stack"))
    if name == "concatenate" and m.r.random() < 0.15:
        axis = None
    more = f", {m.pick(lambda x: x.shape == m.env[b].shape)}" if m.r.random() < 0.2 else ""
    bound = m.bound(a).join(m.bound(b))
    bound = bound.join(m.bound(more[2:])) if more else bound
    m.assign(f"xp.{name}([{a}, {b}{more}], axis={axis})", bound, laid=False)
