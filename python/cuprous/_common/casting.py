"""Dtypes of results, and casts with NumPy's rules and warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._core import ndarray

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def check_casting(source: str, target: str, casting: str, what: str) -> None:
    """Raises TypeError unless the casting rule allows a cast from `source` to `target`; warns if imaginary parts are
    lost."""
    if source == target:
        return
    if not _core.can_cast(source, target, casting):
        raise TypeError(f"Cannot cast {what} from dtype('{source}') to dtype('{target}') with casting rule '{casting}'")
    warn_of_lost_parts(source, target)


def warn_of_lost_parts(source: str, target: str) -> None:
    """Issues NumPy's ComplexWarning at the user's line if a cast drops imaginary parts."""
    if not source.startswith("complex") or dtypes.kind(target) in "cb":
        return
    import sys
    import warnings

    from numpy.exceptions import ComplexWarning

    level = 1
    while str(sys._getframe(level).f_globals.get("__name__")).startswith("cuprous."):
        level += 1
    warnings.warn("Casting complex values to real discards the imaginary part", ComplexWarning, stacklevel=level + 1)


def astype(a: ndarray, dtype: str) -> ndarray:
    """Returns `a` if it has the dtype, otherwise a cast copy; warns if imaginary parts are lost."""
    if a.dtype_name == dtype:
        return a
    warn_of_lost_parts(a.dtype_name, dtype)
    return _core.cast(a, dtype)


def sum_dtype(name: str, dtype: Any, out: Any) -> str:
    """Returns the dtype that sums and products of dtype `name` use: `dtype`, that of `out`, or the default."""
    if dtype is not None:
        return dtypes.name_of(dtype)
    if isinstance(out, ndarray):
        return _core.promote_types(name, out.dtype_name)
    return dtypes.accumulator(name)


class _IdentityType:
    """The type of `IDENTITY`."""

    def __repr__(self) -> str:
        return "<the identity>"


#: The default of `initial`: a reduction starts with its identity. None means that it starts with the first element.
IDENTITY: _IdentityType = _IdentityType()


def check_without_initial(ufunc: str, where: Any, reduced_count: int) -> None:
    """Raises ValueError for a reduction that starts with its first element and may have none."""
    if where is not True:
        raise ValueError(
            f"reduction operation '{ufunc}' does not have an identity, "
            "so to use a where mask one has to specify 'initial'"
        )
    if reduced_count == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc} which has no identity")


def starting_value(initial: Any, name: str, like: ndarray) -> ndarray:
    """Returns a reduction's `initial` as a 0-d array of the dtype that it computes in, on the device of `like`.

    Raises
    ------
    OverflowError
        For an integer out of the dtype's range.
    TypeError
        For a complex number in a real dtype.
    ValueError
        For an array of several elements.
    """
    if isinstance(initial, ndarray):
        if initial.ndim:
            raise ValueError("setting an array element with a sequence.")
        return astype(initial, name)
    result = _core.empty((), name, like)
    _core.update(result, initial)
    return result


def common_dtype(arrays: Iterable[ndarray]) -> str:
    """Returns the dtype that the arrays' dtypes promote to."""
    return promoted([a.dtype_name for a in arrays])


def promoted(names: list[str]) -> str:
    """Returns the dtype that `names` promote to.

    Floats come first, as in NumPy: uint16, int8 and float32 promote to float32, although uint16 and int8 are int32.
    """
    result = names[0]
    if any(name != result for name in names):
        names = sorted(names, key=lambda name: ("complex" not in name, "float" not in name))
        result = names[0]
        for name in names[1:]:
            result = _core.promote_types(result, name)
    return result


def check_rule(casting: str) -> None:
    """Raises ValueError unless it is the name of a casting rule."""
    if casting not in _CASTINGS:
        raise ValueError(f"casting must be one of {', '.join(map(repr, _CASTINGS))} (got {casting!r})")
