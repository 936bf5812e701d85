"""`ufunc.at`: a ufunc applied in place at indices, once for every time that an index occurs."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes, indexing
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous._common.masks import flatnonzero

#: The scatter operation of the engine for each ufunc that has one.
_SCATTERS = {"add": "add", "subtract": "add", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum"}


def at(self: Any, a: ndarray, indices: Any, b: Any = None, /) -> None:
    """Applies the ufunc in place at indices. It is applied once for each occurrence of an index.

    Computes in the dtype that the ufunc has for `a` and `b`, and casts to that of `a`, as NumPy does (unsafely). Sums,
    products and extremes within one kind of dtype take a single scatter, in unspecified order. Other cases take as many
    steps as the most frequent index has occurrences.

    Parameters
    ----------
    a : ndarray
        The array, which is changed.
    indices : index
        An index, as in `a[indices]`.
    b : array_like, optional
        The second operand of a binary ufunc, which broadcasts to the indexed elements.

    Raises
    ------
    TypeError
        Unless `a` is an array.
    ValueError
        If the number of operands does not fit the ufunc.

    Examples
    --------
    >>> a = cp.zeros(3, int)
    >>> cp.add.at(a, [0, 0, 2], 1)
    >>> a
    array([2, 0, 1])
    """
    if not isinstance(a, ndarray) or a.is_element:
        raise TypeError("first operand must be array")
    if self.nin == 1 and b is not None:
        raise ValueError("second operand provided when ufunc is unary")
    if self.nin == 2 and b is None:
        raise ValueError("second operand needed for ufunc")
    operands: tuple[ndarray, ...] = () if b is None else (array(b),)  # NumPy scalars promote like arrays here
    name = self.__name__
    _core.result_dtype(name, *(_core.empty((), x.dtype_name) for x in (a, *operands)))  # raises if there is no loop
    if name in _SCATTERS and _scatters_exactly(name, a, *operands):
        value = astype(operands[0], a.dtype_name)
        indexing.scatter_into(a, indices, -value if name == "subtract" else value, _SCATTERS[name])
    elif indexing.is_basic_key(indices):
        # Assigns instead of writing to a view, because an element `a[i]` is a copy.
        a[indices] = astype(self(a[indices], *operands), a.dtype_name)
    else:
        _apply_by_occurrence(self, a, indices, *operands)


def _scatters_exactly(name: str, a: ndarray, b: ndarray) -> bool:
    """Returns true if a scatter of `b`, cast to the dtype of `a`, gives the same result as computing in the common
    dtype."""
    common = _core.result_dtype(name, *(_core.empty((), x.dtype_name) for x in (a, b)))
    if common == a.dtype_name:
        return True
    own_kind, common_kind = dtypes.kind(a.dtype_name), dtypes.kind(common)
    # The low bits of integers do not depend on the width.
    wraps = name not in ("maximum", "minimum") and {own_kind, common_kind} <= {*"iu"}
    return wraps or (own_kind == common_kind and own_kind in "fc")


def _apply_by_occurrence(ufunc: Any, a: ndarray, key: Any, *operands: ndarray) -> None:
    """Applies the ufunc to the first occurrence of each index, then to the second ones, and so on."""
    plan = indexing.plan(a, key)
    n = plan.offsets.size
    if n == 0:
        return
    offsets = plan.offsets.reshape(-1)
    flat = [indexing.broadcast_value(x, plan.shape).reshape(-1) for x in operands]
    order = _core.argsort(offsets)
    ordered = indexing.gather_flat(offsets, order)
    first = _core.full((n,), True, "bool")
    _core.update(first[1:], ordered[1:] != ordered[:-1])
    count = _core.iota((n,), (1,), 0)
    rank = count - _core.scan("max", _core.map("where", first, count, 0), 0)
    for occurrence in range(int(_core.reduce("max", rank, None)) + 1):
        positions = indexing.gather_flat(order, flatnonzero(rank == occurrence))
        target = indexing.gather_flat(offsets, positions)
        result = ufunc(_core.gather(plan.view, target), *(indexing.gather_flat(x, positions) for x in flat))
        _core.scatter(plan.view, target, astype(result, a.dtype_name), "set")
