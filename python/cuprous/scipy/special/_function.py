"""The class of special functions: callables with the interface of a ufunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, operand, write_out
from cuprous._common.casting import astype
from cuprous._common.operands import is_scalar
from cuprous._ufuncs.methods import CallSignature, Documentation

_NARROW = ("bfloat16", "float32")


def compute_dtype(name: str) -> str:
    """Returns float32 for float32 and bfloat16, otherwise float64, as SciPy does.

    Raises
    ------
    TypeError
        For complex dtypes.
    """
    if _dtypes.kind(name) == "c":
        raise TypeError(f"not supported for the input type {name}")
    return "float32" if name in _NARROW else "float64"


_CLASS = """An elementwise function.

Parameters
----------
name : str
    SciPy's name.
nin : int
    The number of operands.
code : callable
    Computes the function from operands of one float dtype, of which at least one is an array.
doc : str
    The summary of the docstring.

See Also
--------
ufunc

Examples
--------
>>> cp.special.erf.nin
1
"""
_DOCUMENTATION = "cuprous.scipy.special._documentation"


class SpecialFunction:
    __doc__ = Documentation(_CLASS, _DOCUMENTATION)
    __signature__ = CallSignature("", _DOCUMENTATION)

    def __init__(self, name: str, nin: int, code: Callable[..., ndarray], doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self._doc = doc
        self.nin = nin
        self.nout = 1
        self.nargs = nin + 1
        self._code = code

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> ndarray:
        """Applies the function to each element.

        Parameters
        ----------
        *args : array_like
            Arrays, scalars or lists that broadcast together; after them possibly `out`.
        out : ndarray, optional
            An array that receives the result.

        Raises
        ------
        TypeError
            For a wrong number of operands, complex numbers, or an `out` that the result does not cast to.
        ValueError
            For operands that do not broadcast.
        NotImplementedError
            For a ufunc's other keywords.
        """
        for keyword, value in kwargs.items():
            if keyword not in ("where", "dtype", "casting", "order", "subok", "signature"):
                raise TypeError(f"{self.__name__}() got an unexpected keyword argument '{keyword}'")
            raise NotImplementedError(f"[{self.__name__}] {keyword}={value!r} is not supported yet")
        if len(args) == self.nin + 1 and out is None:
            *args, out = args  # type: ignore[assignment]
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments but "
                            f"{len(args)} were given")  # fmt: skip
        return write_out(out, self._code(*_prepared(args)), self.__name__)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"


def _prepared(args: Any) -> list[Any]:
    """Returns operands of one float dtype: arrays are cast; Python scalars stay, if there is an array."""
    operands = [operand(arg) for arg in args]
    dtype = None
    for x in operands:
        if isinstance(x, complex):
            raise TypeError("not supported for the input type complex128")
        name = x.dtype_name if isinstance(x, ndarray) else _dtypes.name_of(x.dtype) if hasattr(x, "dtype") else None
        if name is not None:
            name = compute_dtype(name)
            dtype = name if dtype is None or name == "float64" else dtype
    if dtype is None:
        dtype = "float64"
    prepared: list[Any] = [astype(x, dtype) if isinstance(x, ndarray) else float(x) for x in operands]
    if not any(isinstance(x, ndarray) for x in prepared):
        prepared[0] = _core.full((), prepared[0], dtype)
    return prepared


def in_double(code: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Wraps a function to compute in float64 and cast back. All operands become arrays."""

    def wrapped(*operands: Any) -> ndarray:
        like = next(x for x in operands if isinstance(x, ndarray))
        wide = (
            astype(x, "float64") if isinstance(x, ndarray) else _core.full((), x, "float64", like=like)
            for x in operands
        )
        return astype(code(*wide), like.dtype_name)

    return wrapped


def floats(a: Any, other: Any = None) -> ndarray:
    """Returns an array in the dtype that special functions compute in; a scalar is on the device of `other`."""
    like = other if isinstance(other, ndarray) else None
    a = array(a) if not is_scalar(a) else _core.full((), float(a), "float64", like=like)
    return astype(a, compute_dtype(a.dtype_name))
