"""NumPy's unsupported functions: each raises when called and names the nearest alternative.

They are callables, and all other unknown names raise AttributeError, so that `hasattr` can tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_DATES = "devices hold no dates; keep them in NumPy and move numbers with asarray"
_ERRORS = "devices give no floating-point warnings; test results with isfinite"
_EACH = (
    "functions are not called once an element: call it on whole arrays (with where, select or piecewise for its "
    "branches), or compile it with vectorize"
)

#: The nearest alternative to every unsupported function and class of NumPy.
ALTERNATIVES = {
    "asmatrix": "use asarray and the @ operator",
    "bmat": "use block",
    "busday_count": _DATES,
    "busday_offset": _DATES,
    "busdaycalendar": _DATES,
    "datetime_as_string": _DATES,
    "datetime_data": _DATES,
    "frompyfunc": _EACH,
    "fromregex": "use asarray(numpy.fromregex(...))",
    "get_include": "use numpy.get_include()",
    "getbufsize": "ufuncs have no buffers here",
    "geterrcall": _ERRORS,
    "info": "use help",
    "is_busday": _DATES,
    "isnat": _DATES,
    "matrix": "use array and the @ operator",
    "memmap": "use asarray(numpy.memmap(...))",
    "nditer": "use whole-array operations, ndindex or ndenumerate",
    "nested_iters": "use whole-array operations, ndindex or ndenumerate",
    "recarray": "use one array a field",
    "record": "use one array a field",
    "setbufsize": "ufuncs have no buffers here",
    "seterrcall": _ERRORS,
    "show_runtime": "use show_config",
}

#: NumPy's unsupported dtypes and modules. They raise AttributeError with this advice.
ABSENT = {
    **dict.fromkeys(("longdouble", "float128", "clongdouble", "complex256"), "use float64 or complex128"),
    **dict.fromkeys(("datetime64", "timedelta64"), _DATES),
    **dict.fromkeys(
        ("bytes_", "character", "flexible", "object_", "str_", "void"),
        "devices hold numbers and bool; use the name in numpy",
    ),
    **dict.fromkeys(("char", "strings"), "devices hold no text; use numpy's"),
    **dict.fromkeys(("ctypeslib", "core", "dtypes", "f2py", "test", "typing"), "use numpy's"),
    "testing": "numpy.testing takes these arrays too",
    "emath": "cast to complex first",
    "ma": "use where, the nan-functions or a mask of your own",
    "rec": "use one array a field",
}


class Unsupported:
    """A placeholder for an unsupported function of NumPy. Calling it raises NotImplementedError."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = f"Not supported on device arrays: {self.unsupported}."

    @property
    def unsupported(self) -> str:
        """What to use instead."""
        return ALTERNATIVES[self.__name__]

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"[{self.__name__}] not supported on device arrays: {self.unsupported}")

    def __repr__(self) -> str:
        return f"<unsupported function {self.__name__!r}: {self.unsupported}>"


def unsupported_function(name: str, instead: str, module: str = "") -> Callable[..., NoReturn]:
    """Returns a placeholder for an unsupported function of another library. Calling it raises NotImplementedError.

    Parameters
    ----------
    name : str
        Its name.
    instead : str
        What to do instead.
    module : str, default ""
        The prefix of the name in the message, such as "cuda.".
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"[{module}{name}] is not supported: {instead}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not supported: {instead}."
    refuse.unsupported = instead  # type: ignore[attr-defined]  # which `cuprous doctor` reports
    return refuse


__all__ = ["Unsupported", "unsupported_function"]
