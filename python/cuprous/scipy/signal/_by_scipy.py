"""Functions of coefficients, on the host by SciPy's own: the numbers are few, and their algorithms branch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cuprous import _core

#: What wraps SciPy's objects of other classes, by their names.
WRAPPERS: dict[str, Callable[[Any], Any]] = {}


def to_host(value: Any) -> Any:
    """Returns arrays and systems as NumPy's and SciPy's, also in tuples and lists."""
    value = getattr(value, "host_system", value)
    if isinstance(value, _core.ndarray):
        return _core.to_numpy(value)
    if type(value) in (tuple, list):
        return type(value)(to_host(item) for item in value)
    return value


def to_device(value: Any) -> Any:
    """Returns arrays and systems of the host as ours, also in tuples and lists."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return _core.from_numpy(value)
    wrap = WRAPPERS.get(type(value).__name__)
    if wrap is not None:
        return wrap(value)
    if type(value).__name__ == "Bunch":  # a result with names, SciPy's own
        vars(value).update({key: to_device(item) for key, item in vars(value).items()})
        return value
    if type(value) in (tuple, list):
        return type(value)(to_device(item) for item in value)
    return value


def by_scipy(name: str, *args: Any, **keywords: Any) -> Any:
    """Returns what a function of `scipy.signal` returns for the arguments, as arrays of the default device.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    """
    try:
        import scipy.signal
    except ImportError:
        raise ImportError(f"[{name}] filters are designed by SciPy: pip install scipy") from None
    # With SCIPY_ARRAY_API functions are wrapped, and the wrapper of `dfreqresp` does not know its last argument.
    function = inspect.unwrap(getattr(scipy.signal, name))
    host = {key: to_host(value) for key, value in keywords.items()}
    return to_device(function(*map(to_host, args), **host))
