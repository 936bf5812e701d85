"""Draws ufunc calls with every keyword, `reduce`, `accumulate`, `outer`, `at`, `reduceat`, and operators."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous as cp

from .operands import ANY, Case, Draw, Operand
from .rows import register, row

#: NumPy's ufuncs that Cuprous has, except those of matrices or strings.
UFUNCS = sorted(
    name for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) and hasattr(cp, name) and getattr(np, name).signature is None
    and name != "isnat"
)  # fmt: skip
#: Those whose results are exact, or rounded once.
EXACT = {
    "add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "negative", "positive", "fabs",
    "sign", "copysign", "nextafter", "spacing", "heaviside", "rint", "floor", "ceil", "trunc", "equal", "not_equal",
    "less", "less_equal", "greater", "greater_equal", "conjugate", "conj", "ldexp", "frexp", "modf", "square",
}  # fmt: skip
#: Negative exponents raise only if they are checked; see docs/differences.md.
POWERS = {"power", "pow", "float_power"}
CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]


def _bound(name: str, args: list[Any]) -> str:
    """Sums of exponentials cancel, and the angle of a complex power is rounded; other functions have a relative bound.
    Complex products may or may not use FMA."""
    if name.startswith("logaddexp"):
        return "sum"
    complex_ = any(isinstance(x, (complex, np.complexfloating)) or getattr(x, "kind", "") == "c" for x in args)
    if name == "exp2" and complex_:
        return "phase"
    return "exact" if name in EXACT and not complex_ else "ulp"


def _kinds(g: Draw, name: str) -> str:
    """Draws operand kinds, nearly always ones for which the ufunc has a loop."""
    if g.chance(0.05):
        return ANY
    types = "".join(t.split("->")[0] for t in getattr(np, name).types)
    kinds = {np.dtype(c).kind for c in types if c not in "OMmgG"} & set(ANY)
    return "".join(sorted(kinds)) + ("b" if "b" not in kinds and g.chance(0.1) else "")


def _operands(g: Draw, name: str, kinds: str) -> list[Any]:
    ufunc = getattr(np, name)
    shape = g.shape()
    if ufunc.nin == 1:
        return [g.operand(kinds, shape, 0.1)]
    if name == "ldexp":  # of a Python integer and an array it is float16, whatever the integer
        return [g.array(kinds, shape), g.array("i", g.beside(shape), dtype="int8")]
    scalar = g.rng.randrange(3)  # at most one of two
    args = [g.scalar(kinds) if i == scalar and g.chance(0.7) else g.array(kinds, g.beside(shape)) for i in range(2)]
    if name in POWERS | {"left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift", "ldexp"}:
        args[1] = g.pick([0, 1, 2, 3, np.int8(2)]) if g.chance(0.5) else g.array("u", g.beside(shape), dtype="uint8")
        if isinstance(args[1], Operand) and args[1].of is None:
            args[1].values[...] %= 5
        if not any(isinstance(x, Operand) for x in args):
            args[0] = g.array(kinds, shape)
    return args


def _result(name: str, args: list[Any]) -> tuple[tuple[int, ...], list[str]]:
    """Returns the shape and dtypes of NumPy's result."""
    try:
        with np.errstate(all="ignore"):
            found = getattr(np, name)(*(x.host if isinstance(x, Operand) else x for x in args))
    except Exception:  # the call will raise
        return (), ["float64"]
    parts = found if isinstance(found, tuple) else (found,)
    return tuple(np.shape(parts[0])), [np.asarray(p).dtype.name for p in parts]


def _call(name: str) -> Any:
    ufunc = getattr(np, name)

    def draw(g: Draw) -> Case:
        g.wild = name not in POWERS or g.chance(0.5)
        args = _operands(g, name, _kinds(g, name))
        kwargs: dict[str, Any] = {}
        shape, dtypes = _result(name, args)
        if ufunc.nout == 1:
            # NumPy crashes where a Python integer beyond the dtype is compared with `where=`.
            if g.chance(0.2) and not any(type(x) is int and not 0 <= x < 128 for x in args):
                kwargs["out"] = g.out(shape, dtypes[0], *args)
                if g.chance(0.4):  # with an aliased `out` of another dtype NumPy writes where the mask is False
                    kwargs |= {"out": g.out(shape, dtypes[0], exact=True), "where": g.mask(shape)}
                kwargs |= g.some(0.1, casting=lambda: g.pick(CASTINGS[2:4]))
            elif g.chance(0.1) and any(isinstance(x, Operand) for x in args):
                g.wild = False
                args = _operands(g, name, _kinds(g, name))
                if not any(isinstance(x, Operand) for x in args):
                    pass
                elif g.chance(0.5) or name == "ldexp":
                    kwargs |= g.some(0.8, dtype=lambda: g.dtype("fiuc"), casting=lambda: g.pick(CASTINGS[2:4]))
                else:
                    python = any(type(x) in (int, float, complex) for x in args)  # "equiv" refuses some of them
                    kwargs |= g.some(0.8, casting=lambda: g.pick(["no", "safe"] if python else CASTINGS[:4]))
            kwargs |= g.some(0.05, order=lambda: g.pick("CFAK"))
        return Case(name, args, kwargs, _bound(name, args))

    return draw


#: Ufuncs to reduce with.
BINARY = [name for name in UFUNCS if getattr(np, name).nin == 2 and getattr(np, name).nout == 1]
_UNSTABLE = {
    "divide", "true_divide", "floor_divide", "remainder", "mod", "fmod", "power", "pow", "float_power", "ldexp",
    "arctan2", "atan2", "nextafter", "left_shift", "bitwise_left_shift", "hypot", "logaddexp", "logaddexp2",
}  # fmt: skip
REDUCTIONS = [name for name in BINARY if name not in _UNSTABLE]


def _reduction(name: str, method: str) -> Any:
    def draw(g: Draw) -> Case:
        g.wild = name in ("maximum", "minimum", "fmax", "fmin") or name.startswith(("bitwise", "logical"))
        a = g.array(_kinds(g, name), least=1)
        kwargs: dict[str, Any] = g.some(0.6, axis=lambda: g.axis(a))
        if method == "reduce":
            if name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or") and g.chance(0.3):
                kwargs["axis"] = g.axes(a)
            kwargs |= g.some(0.2, keepdims=True)
            if name not in ("gcd", "lcm"):
                kwargs |= g.some(0.2, initial=lambda: g.scalar("bi"))
            if "initial" in kwargs:
                kwargs |= g.some(0.3, where=lambda: g.mask(a.shape))
        elif method == "reduceat":
            n = a.shape[0] if a.shape else 0
            kwargs.pop("axis", None)
            return Case(
                f"{name}.reduceat", [a, [g.rng.randrange(max(n, 1)) for _ in range(g.pick([0, 1, 3]))]], kwargs, "sum"
            )
        if name in ("add", "multiply", "maximum", "minimum"):
            kwargs |= g.some(0.1, dtype=lambda: g.wider(a))
        return Case(f"{name}.{method}", [a], kwargs, "sum")

    return draw


def _outer(name: str) -> Any:
    def draw(g: Draw) -> Case:
        g.wild = name not in POWERS
        kinds = _kinds(g, name)
        args = [g.array(kinds, most=2), g.operand(kinds, g.shape(most=2), 0.2)]
        if type(args[1]) is int:
            args[1] %= 100
        if name in POWERS or "shift" in name or name == "ldexp":
            args[1] = g.pick([0, 1, 2])
        return Case(f"{name}.outer", args, {}, _bound(name, args))

    return draw


def _at(name: str) -> Any:
    def draw(g: Draw) -> Case:
        g.wild = False
        kinds = _kinds(g, name)
        if all(t[0] in "efdgFDGO" for t in getattr(np, name).types):  # cast to integers they may differ by one
            kinds = "f"
        a = g.array(kinds, least=1, most=2, plain=True)
        n = a.shape[0] if a.shape else 0
        at = [g.rng.randrange(-n, n) for _ in range(g.pick([0, 1, 3]) if n else 0)]
        key: Any = g.pick([at, np.array(at, "int64"), at[0] if at else 0, np.array(at[0] if at else 0), slice(None),
                           (np.array(at[0] if at else 0),)])  # fmt: skip
        args = [a, key]
        if getattr(np, name).nin == 2:
            args.append(g.pick([1, 2]) if "shift" in name or name in POWERS or g.chance(0.2) else g.scalar(kinds))
        return Case(f"{name}.at", args, {}, "sum")

    return draw


for _name in UFUNCS:
    register(_name, _call(_name))
    if getattr(np, _name).nout == 1:
        register(f"{_name}.at", _at(_name))
for _name in REDUCTIONS:
    for _method in ("reduce", "accumulate", "reduceat"):
        register(f"{_name}.{_method}", _reduction(_name, _method))
for _name in BINARY:
    register(f"{_name}.outer", _outer(_name))


# --- operators

_BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift matmul lt le eq ne gt ge"


@row(" ".join(f"operator.{n}" for n in _BINARY.split()), "ulp")
def _operator(g: Draw, name: str) -> Any:
    short = name.split(".")[1]
    g.wild = short not in ("pow", "matmul")
    if short == "matmul":
        n = g.pick([0, 1, 3])
        return [g.array(shape=g.pick([(n,), (2, n)])), g.array(shape=g.pick([(n,), (n, 2)]))]
    shape = g.shape()
    args: list[Any] = [g.array(shape=shape), g.operand(ANY, g.beside(shape), 0.5)]
    if short in ("pow", "lshift", "rshift"):
        return [args[0], g.pick([0, 1, 2, 3])]
    return args[::-1] if g.chance(0.5) and not isinstance(args[1], np.generic) else args


@row("operator.iadd operator.isub operator.imul operator.itruediv operator.ifloordiv operator.imod operator.iand "
     "operator.ior operator.ixor operator.ilshift operator.irshift operator.ipow operator.imatmul", "ulp")  # fmt: skip
def _in_place(g: Draw, name: str) -> Any:
    a = g.array(plain=True)
    g.wild = False
    if name.endswith("pow") or "shift" in name:
        return [a, g.pick([0, 1, 2])]
    if name.endswith("matmul"):
        n = g.pick([1, 2, 3])
        return [g.array(shape=(n, n), plain=True), g.array(shape=g.pick([(n, n), (n,), (n, 2)]))]
    return [a, g.operand(ANY, g.beside(a.shape), 0.4)]


row("operator.neg operator.pos operator.invert operator.abs", "ulp")(lambda g: [g.array()])


@row("operator.getitem")
def _getitem(g: Draw) -> Any:
    a = g.array(least=1)
    return [a, g.pick([0, -1, slice(None, None, -1), slice(1, None, 2), None, Ellipsis, (Ellipsis, 0), [0, 0], []])]


row("operator.index operator.truth")(lambda g: [g.array(ndim=g.pick([0, 0, 1]))])
