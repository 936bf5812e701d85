"""Formatting of arrays with NumPy's own functions, from a host copy of only the elements that are printed."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray


def shown(a: ndarray, threshold: int | None = None, edgeitems: int | None = None) -> Any:
    """Returns a host array that prints as `a`. Of a large array only the corners are copied. The other elements are
    uninitialized."""
    import numpy as np

    options = np.get_printoptions()
    threshold = options["threshold"] if threshold is None else threshold
    edge = options["edgeitems"] if edgeitems is None else edgeitems
    if a.size <= threshold or edge <= 0:
        return _core.to_numpy(a)
    host = np.zeros(a.shape, a.dtype)
    sides = [(slice(None),) if n <= 2 * edge + 1 else (slice(0, edge), slice(n - edge, n)) for n in a.shape]
    for corner in itertools.product(*sides):
        host[corner] = _core.to_numpy(a[corner])
    return host


def array_repr(arr: ArrayLike, max_line_width: int | None = None, precision: int | None = None,
               suppress_small: bool | None = None) -> str:  # fmt: skip
    """Returns the text of `repr(array)` in NumPy's format.

    Parameters
    ----------
    arr : array_like
        An array or array-like.
    max_line_width : int, optional
        The greatest number of characters in a line; 75 by default.
    precision : int, optional
        The number of digits after the point; 8 by default.
    suppress_small : bool, optional
        Whether to show numbers close to zero as zero.

    Returns
    -------
    str

    See Also
    --------
    array_str, array2string, set_printoptions

    Examples
    --------
    >>> cp.array_repr(cp.asarray([1, 2]))
    'array([1, 2])'
    """
    import numpy as np

    return np.array_repr(shown(array(arr)), max_line_width, precision, suppress_small)


def array_str(a: ArrayLike, max_line_width: int | None = None, precision: int | None = None,
              suppress_small: bool | None = None) -> str:  # fmt: skip
    """Returns the text of `str(array)` in NumPy's format.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    max_line_width : int, optional
        The greatest number of characters in a line; 75 by default.
    precision : int, optional
        The number of digits after the point; 8 by default.
    suppress_small : bool, optional
        Whether to show numbers close to zero as zero.

    Returns
    -------
    str

    See Also
    --------
    array2string, array_repr, set_printoptions

    Examples
    --------
    >>> cp.array_str(cp.asarray([1, 2]))
    '[1 2]'
    """
    import numpy as np

    return np.array_str(shown(array(a)), max_line_width, precision, suppress_small)


def array2string(a: ArrayLike, *args: Any, **kwargs: Any) -> str:
    """Returns the text of an array, as NumPy's `array2string`.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    *args : any
        Further arguments of NumPy's function.
    **kwargs : any
        Keyword arguments of NumPy's function, such as `precision` and `separator`.

    Returns
    -------
    str

    See Also
    --------
    array_str, array_repr, set_printoptions, get_printoptions

    Examples
    --------
    >>> cp.array2string(cp.asarray([1.25, 3.0]), separator=", ")
    '[1.25, 3.  ]'
    """
    import numpy as np

    return np.array2string(shown(array(a), kwargs.get("threshold"), kwargs.get("edgeitems")), *args, **kwargs)


def format_array(a: ndarray, spec: str) -> str:
    """Returns `format(array, spec)`. Arrays that are not 0-d accept only an empty `spec`."""
    if a.ndim == 0:
        return format(a.item(), spec)
    if spec:
        raise TypeError("unsupported format string passed to cuprous.ndarray.__format__")
    return array_str(a)


def who(vardict: Mapping[str, Any] | None = None) -> None:
    """Prints name, shape, size in bytes and dtype of arrays, and the total size.

    Parameters
    ----------
    vardict : mapping, optional
        A mapping of names to objects; by default the caller's globals. Only arrays are listed. An array with several
        names is counted once.

    See Also
    --------
    profile

    Examples
    --------
    >>> cp.who({"x": cp.ones(3)})
    Name          Shape          Bytes          Type
    ===================================================
    <BLANKLINE>
    x             3              24             float64
    <BLANKLINE>
    Upper bound on total bytes  =       24
    """
    names = sys._getframe(1).f_globals if vardict is None else vardict
    first: dict[int, str] = {}
    rows = [("Name", "Shape", "Bytes", "Type")]
    total = 0
    for name, a in names.items():
        if isinstance(a, ndarray):
            same = first.setdefault(id(a), name)
            total += a.nbytes if same == name else 0
            size = str(a.nbytes) if same == name else f"{a.nbytes} ({same})"
            rows.append((name, " x ".join(map(str, a.shape)), size, a.dtype_name))
    if len(rows) > 1:
        widths = [max(map(len, column)) + 10 for column in zip(*rows, strict=True)]
        lines = ["".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        print("\n".join([lines[0], "=" * (sum(widths) - 10), "", *lines[1:]]))
    print(f"\nUpper bound on total bytes  =       {total}")


__all__ = ["array2string", "array_repr", "array_str", "who"]
