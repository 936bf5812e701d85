"""Classes of other libraries that take part in ufuncs (`__array_ufunc__`) and functions (`__array_function__`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from cuprous import _core

_F = TypeVar("_F", bound=Callable[..., Any])
#: Classes that have neither protocol, or are converted to arrays.
_PLAIN = frozenset({_core.ndarray, _core.Tensor, bool, int, float, complex, str, bytes, list, tuple, type(None)})


def overrides(kind: type, protocol: str) -> bool:
    """Returns true if a class implements the protocol itself. GPU arrays of other libraries are converted instead."""
    if kind in _PLAIN:
        return False
    method = getattr(kind, protocol, NotImplemented)
    is_numpy = getattr(getattr(method, "__objclass__", None), "__module__", "") == "numpy"
    return method is not NotImplemented and not is_numpy and not hasattr(kind, "__cuda_array_interface__")


def _others(operands: Iterable[Any], protocol: str) -> list[Any]:
    """Returns one operand of each class that has a protocol: subclasses first, then from left to right."""
    found: list[Any] = []
    for x in operands:
        kind = type(x)
        if not overrides(kind, protocol) or any(type(other) is kind for other in found):
            continue
        at = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(at, x)
    return found


def ufunc_result(ufunc: Any, method: str, inputs: tuple[Any, ...], outs: Iterable[Any], kwargs: dict[str, Any]) -> Any:
    """
    Returns the result of another class's `__array_ufunc__`; NotImplemented if no operand has one.

    Parameters
    ----------
    ufunc : ufunc
        The ufunc. Other classes receive NumPy's ufunc of the same name.
    method : str
        "__call__", or the name of the ufunc's method.
    inputs, outs, kwargs
        The operands, the outputs (None for those not passed) and the other keywords.

    Raises
    ------
    TypeError
        If a class has `__array_ufunc__ = None`, or all of them return NotImplemented.
    """
    outs = tuple(outs)
    others = _others((*inputs, *outs), "__array_ufunc__")
    if not others:
        return NotImplemented
    import numpy as np

    for x in others:
        if type(x).__array_ufunc__ is None:
            raise TypeError(f"operand '{type(x).__name__}' does not support ufuncs (__array_ufunc__=None)")
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    if any(out is not None for out in outs):
        rest["out"] = outs
    theirs = getattr(np, ufunc.__name__, ufunc)
    for x in others:
        result = x.__array_ufunc__(theirs, method, *inputs, **rest)
        if result is not NotImplemented:
            return result
    shown = ", ".join(repr(type(x).__name__) for x in (*inputs, *outs) if x is not None)
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({theirs!r}, {method!r}): {shown}"
    )


def like_ufunc(function: _F) -> _F:
    """Lets the two operands of a function override it by `__array_ufunc__`, as for a ufunc."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        outs = args[2:] or (out if isinstance(out, tuple) else (out,))
        result = ufunc_result(call, "__call__", args[:2], outs, kwargs)
        return function(*args, **kwargs) if result is NotImplemented else result

    return call  # type: ignore[return-value]


def dispatched(function: _F) -> _F:
    """Lets the elements of a function's first argument override it by `__array_function__`, as in NumPy."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        sequence: Any = args[0] if args else next(iter(kwargs.values()), None)
        others = _others(sequence, "__array_function__") if isinstance(sequence, (list, tuple)) else None
        if not others:
            return function(*args, **kwargs)
        import numpy as np

        theirs = getattr(np, function.__name__)
        types = [type(x) for x in others]
        if any(isinstance(x, _core.ndarray) for x in sequence):
            types.append(_core.ndarray)
        for x in others:
            method = type(x).__array_function__
            result = NotImplemented if method is None else x.__array_function__(theirs, types, args, kwargs)
            if result is not NotImplemented:
                return result
        name = f"numpy.{function.__name__}"
        raise TypeError(f"no implementation found for '{name}' on types that implement __array_function__: {types}")

    return call  # type: ignore[return-value]
