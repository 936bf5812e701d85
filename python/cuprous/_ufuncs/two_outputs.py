"""The ufuncs with two outputs: `divmod`, `frexp`, `modf`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, as_operands, ndarray
from cuprous._common.overrides import ufunc_result
from cuprous._ufuncs.methods import (
    CallSignature,
    Documentation,
    check_loop,
    check_results,
    finish,
    keywords,
    loop_dtype,
    resolve_dtypes,
    signature_dtype,
    take_outs,
    types,
)


class TwoOutputs:
    __doc__ = Documentation("A ufunc that returns two arrays: `divmod`, `frexp`, `modf`.")
    __signature__ = CallSignature("")

    nout = 2
    signature = None
    identity = None
    types = property(types)
    ntypes = property(lambda self: len(self.types))
    resolve_dtypes = resolve_dtypes

    def __init__(self, name: str, nin: int, compute: Callable[..., tuple[ndarray, ndarray]], doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self._doc = doc
        self.nin = nin
        self.nargs = nin + 2
        self._compute = compute

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[ndarray, ndarray]:
        name = self.__name__
        outs = take_outs(name, self.nin, 2, args, kwargs)
        args = args[: self.nin]
        override = ufunc_result(self, "__call__", args, outs, kwargs)
        if override is not NotImplemented:
            return override
        args = tuple(as_operands(args))
        where, casting, order = keywords(args, kwargs)
        args, dtype, required = signature_dtype(self, args, kwargs, casting)
        dtype = loop_dtype(name, args, dtype, casting)
        first, second = self._compute(*args, dtype=dtype)
        check_loop(name, dtype, first.dtype_name)
        check_results(name, required, first, second)
        return (
            finish(name, first, outs[0], where, order, casting),
            finish(name, second, outs[1], where, order, casting),
        )

    def outer(self, A: ArrayLike, B: ArrayLike, /, **kwargs: Any) -> Any:
        """Returns both outputs for each pair of an element of A and an element of B."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        a, b = array(A), array(B)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"


def _pair(first: str, second: str) -> Callable[..., tuple[ndarray, ndarray]]:
    def compute(*args: Any, dtype: str | None) -> tuple[ndarray, ndarray]:
        return _core.map(first, *args, dtype=dtype), _core.map(second, *args, dtype=dtype)

    return compute


divmod = TwoOutputs(
    "divmod",
    2,
    _pair("floor_divide", "remainder"),
    "Returns the quotient, rounded towards minus infinity, and the remainder.",
)
frexp = TwoOutputs(
    "frexp", 1, _pair("frexp_mantissa", "frexp_exponent"), "Returns the mantissa, in [0.5, 1), and the exponent of two."
)


def _modf(x: Any, dtype: str | None) -> tuple[ndarray, ndarray]:
    fraction = _core.map("modf_fraction", x, dtype=dtype)
    return fraction, _core.map("trunc", x, dtype=fraction.dtype_name)


modf = TwoOutputs("modf", 1, _modf, "Returns the fractional and integer parts, both with the sign of the element.")

__all__ = ["divmod", "frexp", "modf"]
