"""The protocol by which `scipy.fft.set_backend(cuprous.scipy.fft)` calls the functions here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from cuprous._common.arguments import array, ndarray
from cuprous.scipy.fft import _cosines, _hankel, _spectra

_FUNCTIONS = {**_spectra.FUNCTIONS, **_cosines.FUNCTIONS, "fht": _hankel.fht, "ifht": _hankel.ifht}

__ua_domain__ = "numpy.scipy.fft"


def __ua_convert__(dispatchables: Iterable[Any], coerce: bool) -> Any:
    """Returns the arrays of a call, converted if that is permitted, or NotImplemented."""
    numpy = importlib.import_module("numpy")
    values = []
    for one in dispatchables:
        value = one.value
        if one.type is numpy.ndarray and not isinstance(value, ndarray):
            if not (coerce and one.coercible):
                return NotImplemented
            value = array(value)
        values.append(value)
    return values


def __ua_function__(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function of this name, or returns NotImplemented if there is none."""
    function = _FUNCTIONS.get(method.__name__)
    return NotImplemented if function is None else function(*args, **kwargs)
