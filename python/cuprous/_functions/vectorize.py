"""`vectorize` at the top of the package: CuPy's and NumPy's class, and Numba's decorator of the same name."""

from __future__ import annotations

from typing import Any

from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert
from cuprous.cuda._vectorize import UFunc, guvectorize
from cuprous.cuda._vectorize import vectorize as _decorate


class vectorize:
    """Makes a function of numbers a function of arrays that broadcast: `vectorize(function)(x, y)`.

    The function is compiled for the dtypes of its arguments, so it supports the same Python as kernels. With signatures
    instead of a function it is Numba's decorator: `@vectorize(["float32(float32)"], target="cuda")`.

    Parameters
    ----------
    pyfunc : callable
        The function.
    otypes : str or list of dtypes, optional
        Dtypes that the results are converted to: letters, or a list of dtypes.
    doc : str, optional
        The docstring; None (the default) uses that of the function.
    excluded : set of ints or str, optional
        Not supported.
    cache : bool, default False
        Not supported.
    signature : str, optional
        Not supported.

    Raises
    ------
    NotImplementedError
        For `excluded`, `cache` and `signature`; see `guvectorize`.

    Examples
    --------
    >>> @cp.vectorize
    ... def larger(x, y):
    ...     return x if x > y else y
    >>> larger(cp.asarray([1, 5]), cp.asarray([3, 2]))
    array([3, 5])
    """

    def __new__(cls, pyfunc: Any = None, *args: Any, **kwargs: Any) -> Any:
        if pyfunc is None or not callable(pyfunc) or hasattr(pyfunc, "key") or "target" in kwargs:
            return _decorate(pyfunc if pyfunc is not None else (), *args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self, pyfunc: Any, otypes: Any = None, doc: str | None = None, excluded: Any = None, cache: bool = False,
        signature: str | None = None,
    ) -> None:  # fmt: skip
        for name, given in (("excluded", excluded), ("cache", cache), ("signature", signature)):
            if given:
                raise NotImplementedError(f"[vectorize] {name}= is not supported; leave it out, or see guvectorize")
        self.pyfunc = pyfunc
        self.otypes = None if otypes is None else [dtypes.name_of(t) for t in otypes]
        self.__doc__ = pyfunc.__doc__ if doc is None else doc
        self._ufunc = UFunc(pyfunc, [], {})

    def __call__(self, *args: Any) -> Any:
        """Applies the function to each element.

        Raises
        ------
        TypeError
            If an argument is not a number or array, or the function cannot be compiled for the arguments.
        """
        given = [convert(a) if getattr(a, "ndim", 0) and not isinstance(a, ndarray) else a for a in args]
        result = self._ufunc(*given)
        results = result if isinstance(result, tuple) else (result,)
        arrays = [convert(r) for r in results]
        if self.otypes is not None:
            if len(self.otypes) != len(arrays):
                raise ValueError(f"{len(self.otypes)} otypes, but the function returns {len(arrays)} values")
            arrays = [convert(a, t) for a, t in zip(arrays, self.otypes, strict=True)]
        return tuple(arrays) if isinstance(result, tuple) else arrays[0]


__all__ = ["guvectorize", "vectorize"]
