"""Checks of what sparse matrices are made of: dtypes, shapes, numbers; and their warnings."""

from __future__ import annotations

import operator
from typing import Any

from cuprous._common import dtypes as _dtypes
from cuprous._common.operands import is_scalar
from cuprous._core import ndarray

#: Dtypes of SciPy's sparse matrices.
_DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
#: Names of the formats, for people.
FORMATS = {
    "csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column", "coo": "COOrdinate", "dia": "DIAgonal",
}  # fmt: skip


class SparseWarning(Warning):
    """Something about sparse matrices.

    See Also
    --------
    scipy.sparse.SparseEfficiencyWarning

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.SparseWarning, Warning)
    True
    """


def check_swap(axes: Any) -> None:
    """Checks the `axes` of a transposition.

    Raises
    ------
    ValueError
        For others than None and (1, 0).
    """
    if axes is not None and (not isinstance(axes, (tuple, list)) or tuple(axes) != (1, 0)):
        raise ValueError("Sparse arrays/matrices do not support an 'axes' parameter because swapping dimensions is "
                         "the only logical permutation.")  # fmt: skip


class SparseEfficiencyWarning(SparseWarning):
    """Something that costs more than it looks.

    See Also
    --------
    scipy.sparse.SparseWarning

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.SparseEfficiencyWarning, cp.scipy.sparse.SparseWarning)
    True
    """


def checked_dtype(dtype: Any) -> str:
    """The name of a dtype that values may have.

    Raises
    ------
    ValueError
        For others, as SciPy's.
    """
    name = _dtypes.name_of(dtype)
    if name not in _DTYPES:
        raise ValueError(
            f"scipy.sparse does not support dtype {name}. The only supported types are: {', '.join(_DTYPES)}."
        )
    return name


def as_shape(shape: Any, flat: bool = False) -> tuple[int, ...]:
    """Two extents; one if `flat` allows it.

    Raises
    ------
    TypeError
        For extents that are not integers.
    ValueError
        For negative ones, or another number of them.
    """
    try:
        extents = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise TypeError(f"shape must be a tuple of integers, not {shape!r}") from None
    if len(extents) != 2 and not (flat and len(extents) == 1):
        raise ValueError(f"shape must be a 2-tuple of positive integers, not {shape!r}")
    if any(n < 0 for n in extents):
        raise ValueError("'shape' elements cannot be negative")
    return extents


def is_shape(x: Any) -> bool:
    """Is this tuple a shape, and not (data, indices)?"""
    if not isinstance(x, tuple) or not 1 <= len(x) <= 2:
        return False
    return all(hasattr(n, "__index__") and not getattr(n, "shape", ()) for n in x)


def is_number(x: Any) -> bool:
    """A scalar: Python's, NumPy's, or an array without axes."""
    return is_scalar(x) or (isinstance(x, ndarray) and x.ndim == 0)
