"""`vectorize` by a loop in Python, for functions of arrays (`signature=`) and arguments that are not arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, broadcast_shapes, ndarray
from cuprous._common.casting import astype
from cuprous._functions.joining import stack

#: The names of the core dimensions of each argument.
Dimensions = list[tuple[str, ...]]

_ARGUMENT = r"\((?:\w+(?:,\w+)*)?\)"
_ARGUMENTS = f"{_ARGUMENT}(?:,{_ARGUMENT})*"


def parse(signature: str) -> tuple[Dimensions, Dimensions]:
    """Returns the core dimensions of the arguments and the results of a signature such as "(m,n),(n)->(m)".

    Raises
    ------
    ValueError
        For another form.
    """
    signature = re.sub(r"\s+", "", signature)
    if not re.fullmatch(f"{_ARGUMENTS}->{_ARGUMENTS}", signature):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    before, after = (
        [tuple(re.findall(r"\w+", argument)) for argument in re.findall(_ARGUMENT, side)]
        for side in signature.split("->")
    )
    return before, after


def _add_extents(extents: dict[str, int], arg: ndarray, dims: tuple[str, ...]) -> None:
    """Adds the extents of core dimensions, which must agree with those known."""
    if arg.ndim < len(dims):
        raise ValueError(
            f"{arg.ndim}-dimensional argument does not have enough dimensions for all core dimensions {dims!r}"
        )
    for name, n in zip(dims, arg.shape[arg.ndim - len(dims) :], strict=True):
        if extents.setdefault(name, n) != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n!r} vs {extents[name]!r}")


def call(
    function: Callable[..., Any], args: Sequence[Any], inputs: Dimensions | None, outputs: Dimensions | None,
    otypes: Sequence[str] | None,
) -> Any:  # fmt: skip
    """Calls a function for each index of the axes before the core dimensions, and returns arrays of the results.

    Parameters
    ----------
    function : callable
        The function of elements or, with core dimensions, of arrays.
    args : sequence of array_like
        The arguments.
    inputs : list of tuples of str or None
        The core dimensions of the arguments; None for elements.
    outputs : list of tuples of str or None
        The core dimensions of the results; None for as many numbers as the function returns.
    otypes : sequence of str or None
        The dtypes of the results.

    Raises
    ------
    TypeError
        For another number of arguments than in the signature.
    ValueError
        For core dimensions that do not fit, another number of results, or no element to call the function for.
    """
    inputs = [()] * len(args) if inputs is None else inputs
    if len(args) != len(inputs):
        raise TypeError(f"wrong number of positional arguments: expected {len(inputs)!r}, got {len(args)!r}")
    arrays = [array(a) for a in args]
    extents: dict[str, int] = {}
    for arg, dims in zip(arrays, inputs, strict=True):
        _add_extents(extents, arg, dims)
    loops = [a.shape[: a.ndim - len(dims)] for a, dims in zip(arrays, inputs, strict=True)]
    shape = broadcast_shapes(*loops)
    arrays = [
        _core.broadcast_to(a, (*shape, *(extents[name] for name in dims)))
        for a, dims in zip(arrays, inputs, strict=True)
    ]
    if not math.prod(shape):
        return _empty(shape, extents, outputs, otypes)
    found: list[list[ndarray]] = []
    several = False
    for index in product(*map(range, shape)):
        results = function(*(a[index] for a in arrays))
        several = isinstance(results, tuple)
        row = [array(r) for r in results] if several else [array(results)]
        if outputs is None:
            outputs = [()] * len(row)
        if len(row) != len(outputs):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {len(outputs)!r}, got {len(row)!r}")
        for result, dims in zip(row, outputs, strict=True):
            _add_extents(extents, result, dims)
        found.append(row)
    whole = [stack(parts).reshape((*shape, *parts[0].shape)) for parts in zip(*found, strict=True)]
    return _finished(whole, several or len(whole) > 1, otypes)


def _empty(
    shape: tuple[int, ...], extents: dict[str, int], outputs: Dimensions | None, otypes: Sequence[str] | None
) -> Any:
    if otypes is None:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    outputs = [()] * len(otypes) if outputs is None else outputs
    if any(name not in extents for dims in outputs for name in dims):
        raise ValueError("cannot call `vectorize` with a signature including new output dimensions on size 0 inputs")
    whole = [
        _core.empty((*shape, *(extents[name] for name in dims)), name)
        for dims, name in zip(outputs, otypes, strict=True)
    ]
    return _finished(whole, len(whole) > 1, otypes)


def _finished(whole: list[ndarray], several: bool, otypes: Sequence[str] | None) -> Any:
    if otypes is not None:
        if len(otypes) != len(whole):
            raise ValueError(f"{len(otypes)} otypes, but the function returns {len(whole)} values")
        whole = [astype(one, name) for one, name in zip(whole, otypes, strict=True)]
    return tuple(whole) if several else whole[0]


__all__ = ["call", "parse"]
