"""`vectorize` at the top of the package: CuPy's and NumPy's class, and Numba's decorator of the same name."""

from __future__ import annotations

import inspect
from typing import Any

from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert
from cuprous._functions import looped
from cuprous.cuda._vectorize import UFunc, guvectorize
from cuprous.cuda._vectorize import vectorize as _decorate


class vectorize:
    """Makes a function of numbers a function of arrays that broadcast: `vectorize(function)(x, y)`.

    The function is compiled for the dtypes of its arguments, so it supports the same Python as kernels. With signatures
    instead of a function it is Numba's decorator: `@vectorize(["float32(float32)"], target="cuda")`. A callable that is
    not a Python function, such as `math.gcd`, a method or a `functools.partial`, is called once an element by a loop in
    Python.

    Parameters
    ----------
    pyfunc : callable
        The function.
    otypes : str or list of dtypes, optional
        Dtypes that the results are converted to: letters, or a list of dtypes.
    doc : str, optional
        The docstring; None (the default) uses that of the function.
    excluded : set of ints or str, optional
        Positions and names of arguments that are given to the function as they are. The function is then called once an
        element by a loop in Python.
    cache : bool, default False
        Has no effect, because the function is not called to find the number of results.
    signature : str, optional
        The core dimensions of the arguments and results, such as "(m,n),(n)->(m)". The function is then called with
        arrays by a loop in Python over the axes before them; see `guvectorize` for functions that are compiled.

    Raises
    ------
    ValueError
        For a signature of another form.

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
        self.excluded = set() if excluded is None else set(excluded)
        self.cache = cache
        self.signature = signature
        self._dims = None if signature is None else looped.parse(signature)
        self.pyfunc = pyfunc
        self.otypes = None if otypes is None else [dtypes.name_of(t) for t in otypes]
        self.__doc__ = pyfunc.__doc__ if doc is None else doc
        self.__name__ = getattr(pyfunc, "__name__", type(pyfunc).__name__)
        is_compiled = hasattr(pyfunc, "__code__") and not inspect.ismethod(pyfunc)
        is_looped = signature is not None or self.excluded or not is_compiled
        self._ufunc = None if is_looped else UFunc(pyfunc, [], {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Applies the function to each element.

        Parameters
        ----------
        *args : array_like
            The arguments.
        **kwargs : array_like
            Arguments by name.

        Raises
        ------
        TypeError
            If an argument is not a number or array, or the function cannot be compiled for the arguments.
        """
        if self._ufunc is not None and (kwargs or getattr(self.pyfunc, "__defaults__", None)):
            called = inspect.signature(self.pyfunc).bind(*args, **kwargs)
            called.apply_defaults()
            args, kwargs = called.args, called.kwargs
        if kwargs or self._ufunc is None:
            return self._looped(args, kwargs)
        given = [convert(a) if getattr(a, "ndim", 0) and not isinstance(a, ndarray) else a for a in args]
        result = self._ufunc(*given)
        results = result if isinstance(result, tuple) else (result,)
        arrays = [convert(r) for r in results]
        if self.otypes is not None:
            if len(self.otypes) != len(arrays):
                raise ValueError(f"{len(self.otypes)} otypes, but the function returns {len(arrays)} values")
            arrays = [convert(a, t) for a, t in zip(arrays, self.otypes, strict=True)]
        return tuple(arrays) if isinstance(result, tuple) else arrays[0]

    def _looped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        positions = [i for i in range(len(args)) if i not in self.excluded]
        names = [name for name in kwargs if name not in self.excluded]

        def call(*values: Any) -> Any:
            every, named = list(args), dict(kwargs)
            for i, value in zip(positions, values, strict=False):
                every[i] = value
            named.update(zip(names, values[len(positions) :], strict=True))
            return self.pyfunc(*every, **named)

        given = [*(args[i] for i in positions), *(kwargs[name] for name in names)]
        inputs, outputs = self._dims or (None, None)
        return looped.call(call, given, inputs, outputs, self.otypes)


__all__ = ["guvectorize", "vectorize"]
