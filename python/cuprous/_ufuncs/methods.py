"""Keywords and methods of ufuncs: reduce, accumulate, outer, reduceat."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Axis,
    along,
    array,
    as_operands,
    check_subok,
    ndarray,
    normalize_axes,
    normalize_axis,
    result_name,
    truth_mask,
    write_exactly,
    write_out,
)
from cuprous._common.casting import (
    IDENTITY,
    astype,
    check_casting,
    check_rule,
    check_without_initial,
    starting_value,
    sum_dtype,
)
from cuprous._common.layout import fortran_or_c, order_letter, with_order
from cuprous._common.overrides import ufunc_result
from cuprous._functions import reductions
from cuprous._functions.joining import concatenate

#: The reduction of the engine for each ufunc that has one.
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_LOGICAL = {"logical_and": "min", "logical_or": "max"}
#: The results of empty reductions.
_IDENTITIES: dict[str, Any] = {
    "add": 0, "multiply": 1, "logical_and": True, "logical_or": False, "logical_xor": False, "bitwise_and": -1,
    "bitwise_or": 0, "bitwise_xor": 0, "hypot": 0, "logaddexp": float("-inf"), "logaddexp2": float("-inf"),
    "gcd": 0,
}  # fmt: skip
#: ufuncs that can be reduced in any grouping.
_ASSOCIATIVE = {*_REDUCTIONS, *_IDENTITIES, "fmax", "fmin"}
#: The kinds of dtypes that are too narrow for a Python scalar.
_NARROWER = {float: "biu", complex: "biuf"}
#: Letters of dtypes that arrays do not have: longdouble, dates and objects.
_NO_ARRAYS = {*"gGmMO"}
_KEYWORDS = {"out", "where", "dtype", "casting", "order", "subok", "signature", "sig"}


class Documentation:
    """The attribute `__doc__` of a class whose objects are functions: their docstrings are composed when they are read.

    Parameters
    ----------
    doc : str
        The docstring of the class.
    module : str, default "cuprous._ufuncs.documentation"
        The module with `docstring(function)` and `signature(function)`. It is for people, not for programs, so it is
        imported when it is needed.
    """

    def __init__(self, doc: str, module: str = "cuprous._ufuncs.documentation") -> None:
        self._doc = doc
        self._module = module

    def __get__(self, function: Any, owner: Any = None) -> str:
        return self._doc if function is None else import_module(self._module).docstring(function)


class CallSignature(Documentation):
    """The attribute `__signature__` of such a class: the signature of a function's calls."""

    def __get__(self, function: Any, owner: Any = None) -> Any:
        if function is None:
            raise AttributeError("__signature__")
        return import_module(self._module).signature(function)


def keywords(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, str, str]:
    """Returns `where`, `casting` and `order` of a call, with `order` resolved if it depends on the operands."""
    if "subok" in kwargs:
        check_subok(kwargs["subok"])
    casting, order = kwargs.get("casting", "same_kind"), kwargs.get("order", "K")
    check_rule(casting)
    if order != "K" and order_letter(order) == "A":
        order = fortran_or_c(*(x for x in args if isinstance(x, ndarray)))
    return kwargs.get("where", True), casting, order


def take_outs(name: str, nin: int, nout: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the outputs that the caller gave by position or keyword, with None for each missing one."""
    unknown = kwargs.keys() - _KEYWORDS
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
    if not nin <= len(args) <= nin + nout:
        counts = f"from {nin} to {nin + nout}"
        verb = "was" if len(args) == 1 else "were"
        raise TypeError(f"{name}() takes {counts} positional arguments but {len(args)} {verb} given")
    outs = args[nin:]
    if any(x is ... for x in outs):
        raise TypeError("out=... is only allowed as a keyword argument.")
    given = kwargs.get("out")
    if given is ...:  # an array also for 0-d results, which all results are
        given = None
    if outs and given is not None:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")
    if given is not None:
        if nout > 1 and not isinstance(given, tuple):
            raise TypeError("'out' must be a tuple of arrays")
        outs = given if isinstance(given, tuple) else (given,)
    if len(outs) > nout or (isinstance(given, tuple) and len(given) != nout):
        raise ValueError(f"[{name}] The 'out' tuple must have exactly {nout} entries")
    return (*outs, *(None,) * (nout - len(outs)))


def finish(name: str, result: ndarray, out: Any, where: Any, order: str, casting: str) -> ndarray:
    """Applies `where=`, `out=` and `order=` to a computed result."""
    if where is not True:
        mask = truth_mask(where)
        base = out if isinstance(out, ndarray) else _core.full((), 0, result.dtype_name, like=result)
        if isinstance(out, ndarray):
            check_casting(result.dtype_name, out.dtype_name, casting, f"ufunc '{name}' output")
            result = astype(result, out.dtype_name)
        result = _core.map("where", mask, result, base)
    return with_order(result, order) if out is None else write_out(out, result, name, casting)


def loop_dtype(name: str, args: tuple[Any, ...], dtype: Any, casting: str) -> str | None:
    """Returns the dtype to compute in for `dtype=`, after checking that the operands can be cast to it."""
    if dtype is None:
        return None
    requested = dtypes.name_of(dtype)
    for i, x in enumerate(args):
        if hasattr(x, "dtype"):
            own = x.dtype_name if isinstance(x, ndarray) else dtypes.name_of(x.dtype)
            check_casting(own, requested, casting, f"ufunc '{name}' input {i}")
        elif casting == "equiv" and requested != dtypes.OF_SCALARS.get(type(x), requested):
            raise TypeError(f"cannot cast Python {type(x).__name__} to {requested} under the casting rule 'equiv'")
        elif type(x) is bool:
            check_casting("bool", requested, casting, f"ufunc '{name}' input {i}")
        elif casting != "unsafe" and dtypes.kind(requested) in _NARROWER.get(type(x), ""):
            check_casting(
                "float64" if type(x) is float else "complex128", requested, casting, f"ufunc '{name}' input {i}"
            )
    return requested


def _natural_dtype(name: str, args: tuple[Any, ...]) -> str | None:
    """Returns the dtype of the result without `dtype=`, or None if there is no loop for the operands."""
    try:
        return _core.result_dtype(name, *args)
    except TypeError:
        return None


def check_loop(name: str, requested: str | None, found: str) -> None:
    """Raises TypeError if the loop does not return the dtype given by `dtype=`."""
    if requested is not None and found != requested:
        raise TypeError(f"No loop matching the specified signature and casting was found for ufunc {name}")


def _loop_of(name: str, nin: int, nout: int, signature: Any) -> list[str | None]:
    """Returns the dtypes of operands and results that `signature=` gives, None for those that it leaves open.

    Raises
    ------
    TypeError, ValueError
        As NumPy, for another form.
    """
    count = nin + nout
    if isinstance(signature, str):
        before, arrow, after = signature.partition("->")
        if not arrow and len(signature) == 1:
            raise TypeError("Use `dtype` or  fill the tuple with more than one 'None'.")
        if not arrow or (len(before), len(after)) != (nin, nout):
            raise ValueError(f"a type-string for {name}, {nin} typecode(s) before and {nout} after the -> sign")
        signature = (*before, *after)
    elif not isinstance(signature, tuple):
        raise TypeError("the signature object to ufunc must be a string or a tuple.")
    if len(signature) == 1 and count > 1:
        raise TypeError("Use `dtype` or  fill the tuple with more than one 'None'.")
    if len(signature) != count:
        raise ValueError(f"a type-tuple must be specified of length {count} for ufunc '{name}'")
    instances = (t() if isinstance(t, type) and t.__module__ == "numpy.dtypes" else t for t in signature)
    return [None if t is None else dtypes.name_of(t) for t in instances]


def signature_dtype(
    ufunc: Any, args: tuple[Any, ...], kwargs: dict[str, Any], casting: str
) -> tuple[tuple[Any, ...], Any, list[str | None]]:
    """Returns the operands, cast to those of `signature=`, the dtype given by `dtype=` and those required of results.

    Raises
    ------
    TypeError
        If two of `signature`, `sig` and `dtype` are given, or the operands cannot be cast.
    """
    name, nin, dtype = ufunc.__name__, ufunc.nin, kwargs.get("dtype")
    if kwargs.get("signature") is not None and kwargs.get("sig") is not None:
        raise TypeError("cannot specify both 'sig' and 'signature'")
    signature = kwargs.get("signature", kwargs.get("sig"))
    if signature is None:
        return args, dtype, []
    if dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    loop = _loop_of(name, nin, ufunc.nout, signature)
    known = {t for t in loop[:nin] if t is not None}
    if not known:  # only results are given, as by `dtype=`
        return args, loop[nin] if ufunc.nout == 1 else None, loop[nin:]
    if len(known) == 1:
        loop[:nin] = [t or next(iter(known)) for t in loop[:nin]]
    cast = []
    for i, (x, own) in enumerate(zip(args, loop, strict=False)):
        if own is None:
            cast.append(x)
            continue
        given = x if isinstance(x, ndarray) else array(x)
        if hasattr(x, "dtype") or dtypes.kind(own) in _NARROWER.get(type(x), ""):
            check_casting(given.dtype_name, own, casting, f"ufunc '{name}' input {i}")
        cast.append(astype(given, own))
    return tuple(cast), None, loop[nin:]


def check_results(name: str, required: list[str | None], *results: ndarray) -> None:
    """Raises TypeError if results do not have the dtypes that `signature=` requires."""
    for own, result in zip(required, results, strict=False):
        check_loop(name, own, result.dtype_name)


def call(ufunc: _core.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ndarray:
    """Calls a ufunc with keywords or positional outputs. The native type delegates to this function."""
    name = ufunc.__name__
    out = take_outs(name, ufunc.nin, 1, args, kwargs)[0]
    args = args[: ufunc.nin]
    override = ufunc_result(ufunc, "__call__", args, (out,), kwargs)
    if override is not NotImplemented:
        return override
    args = tuple(as_operands(args))
    where, casting, order = keywords(args, kwargs)
    args, dtype, required = signature_dtype(ufunc, args, kwargs, casting)
    if dtype is not None and _natural_dtype(name, args) == dtypes.name_of(dtype):
        dtype = None  # the default loop returns it: bool for comparisons, real for magnitudes of complex numbers
    if name == "absolute" and dtype is not None and isinstance(args[0], ndarray):
        # `dtype` is the dtype of the result, so this finds the complex loop that returns it.
        complex_dtype = _core.promote_types(dtypes.name_of(dtype), "complex64")
        real = dtypes.component(complex_dtype) == dtypes.name_of(dtype)
        if (
            real
            and dtypes.kind(args[0].dtype_name) == "c"
            and _core.can_cast(args[0].dtype_name, complex_dtype, "safe")
        ):
            args, dtype = (astype(args[0], complex_dtype),), None
    requested = loop_dtype(name, args, dtype, casting)
    if casting in ("no", "equiv") and dtype is None and name != "ldexp" and not name.startswith("logical_"):
        natural = _natural_dtype(name, args)
        # Results of comparisons, magnitudes and bit counts differ in dtype from the operands.
        own = natural == "bool" or name in ("absolute", "bitwise_count")
        loop = result_name(*args) if own else natural
        if loop is not None:
            loop_dtype(name, args, loop, casting)
    result = _core.map(name, *args, dtype=requested)
    check_loop(name, requested, result.dtype_name)
    check_results(name, required, result)
    return finish(name, result, out, where, order, casting)


def resolve_dtypes(
    self: Any, dtypes: tuple[Any, ...], *, signature: Any = None, casting: str | None = None, reduction: bool = False
) -> tuple[Any, ...]:
    """Returns the dtypes in which a call computes, of the operands and the results, by NumPy's rules.

    Parameters
    ----------
    dtypes : tuple
        The dtypes of the operands and results; `int`, `float` or `complex` for a Python number, None for a result that
        is not given.
    signature : tuple, optional
        Dtypes that are required.
    casting : str, optional
        The rule for casts, by default "same_kind".
    reduction : bool, default False
        Whether the call is a reduction, whose first dtype is that of the result or None.

    Returns
    -------
    tuple of dtypes
        The dtypes.

    Raises
    ------
    TypeError
        If the ufunc does not support the dtypes.

    Examples
    --------
    >>> cp.add.resolve_dtypes((np.dtype("i4"), np.dtype("f4"), None))
    (dtype('float64'), dtype('float64'), dtype('float64'))
    """
    import numpy as np

    theirs = getattr(np, self.__name__, None)
    if theirs is None:
        raise NotImplementedError(f"[resolve_dtypes] NumPy has no ufunc {self.__name__!r}")
    given = {"signature": signature, "casting": casting}
    options = {name: value for name, value in given.items() if value is not None}
    found: tuple[Any, ...] = theirs.resolve_dtypes(dtypes, reduction=reduction, **options)
    return found


def types(self: Any) -> list[str]:
    """Returns the combinations of dtypes of a ufunc of NumPy's that arrays have, such as "dd->d"."""
    import numpy as np

    loops: list[str] = getattr(np, self.__name__).types
    return [loop for loop in dict.fromkeys(loops) if not _NO_ARRAYS & {*loop}]


# --- reduce, accumulate, outer, reduceat


def _require_binary(ufunc: Any, method: str) -> str:
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError(f"{method} only supported for binary functions")
    return str(ufunc.__name__)


def _reduction_operand(name: str, a: ndarray, dtype: Any, out: Any) -> ndarray:
    """Casts `a` to the dtype that a reduction with this ufunc computes in.

    Raises
    ------
    TypeError
        If the result of the ufunc has another dtype than its operands, so that it cannot be reduced further.
    """
    requested = None if dtype is None else dtypes.name_of(dtype)
    if name.startswith("logical_"):
        check_loop(name, requested, "bool")
        return astype(a, "bool")
    if name in ("add", "multiply"):
        return astype(a, sum_dtype(a.dtype_name, dtype, out))
    start = requested or a.dtype_name
    if name in _REDUCTIONS:
        return astype(a, start)
    one = _core.empty((), start)
    found = _core.result_dtype(name, one, one)
    check_loop(name, "bool" if found == "bool" else requested, start if found == "bool" else found)
    return astype(a, found)


def _reduce_first_axis(name: str, a: ndarray, start: Any = None, mask: ndarray | None = None) -> ndarray:
    """Reduces the first axis (length at least 1) of `a`. Associative ufuncs combine pairs. Other ufuncs combine the
    elements selected by the mask one by one, beginning with `start` if given."""
    if name not in _ASSOCIATIVE:
        first = 0 if start is not None else 1
        result = a[0] if start is None else _core.broadcast_to(start, a.shape[1:])
        for i in range(first, a.shape[0]):
            combined = _core.map(name, result, a[i])
            result = combined if mask is None else _core.map("where", mask[i], combined, result)
        return result
    while (n := a.shape[0]) > 1:
        half = n // 2
        combined = _core.map(name, a[:half], a[half : 2 * half])
        if n % 2:
            leading = _core.map(name, combined[:1], a[n - 1 :])
            if half == 1:
                return leading[0]
            _core.update(combined[:1], leading)
        a = combined
    return a[0]


def reduce(
    self: Any, array_: ArrayLike, /, axis: Axes = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = IDENTITY, where: Any = True,
) -> ndarray:  # fmt: skip
    """Reduces axes of an array with the ufunc.

    Parameters
    ----------
    array_ : array_like
        An array or array-like.
    axis : int, tuple of ints or None, default 0
        An axis, several, or None for all.
    dtype : dtype, optional
        Dtype to compute in.
    out : ndarray, optional
        Where to write the result.
    keepdims : bool, default False
        Keeps reduced axes with length one.
    initial : scalar, optional
        The value that the reduction starts with; with None it starts with the first element.
    where : array_like of bools, default True
        The mask of elements to reduce.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    Raises
    ------
    ValueError
        If an empty reduction has no identity, or the ufunc is not binary.

    Examples
    --------
    >>> cp.add.reduce([[1, 2], [3, 4]])
    array([4, 6])
    >>> cp.multiply.reduce([[1, 2], [3, 4]], axis=None)
    array(24)
    """
    name = _require_binary(self, "reduce")
    a = array(array_)
    if name in _REDUCTIONS:
        return reductions.reduced_by(name, a, axis, dtype, out, keepdims, initial, where)
    # NumPy accepts axis 0 or -1 of a 0-d array here.
    axes = () if a.ndim == 0 and axis in (0, -1) else normalize_axes(axis, a.ndim)
    a = _reduction_operand(name, a, dtype, out)
    identity = None if initial is None else _IDENTITIES.get(name)
    initial = None if initial is IDENTITY else initial
    if initial is not None or (identity == 0 and a.dtype_name != "bool"):
        # The identity can change an element: gcd(0, -6) is 6.
        initial = starting_value(identity if initial is None else initial, a.dtype_name, a)
    mask = None
    if where is not True:
        if initial is None and identity is None:
            check_without_initial(name, where, 1)
        mask = _core.broadcast_to(truth_mask(where), a.shape)
        if name in _ASSOCIATIVE:  # replaces masked elements by the identity
            filler = initial if identity is None else _core.full((), identity, a.dtype_name, like=a)
            a = _core.map("where", mask, a, filler)
    reduced_count = math.prod(a.shape[i] for i in axes)
    if not axes and (initial is None or name in _ASSOCIATIVE):
        result = a.copy("K")
    elif not axes:
        result = _reduce_first_axis(name, a[None], initial, None if mask is None else mask[None])
    elif reduced_count == 0:
        if identity is None and initial is None:
            check_without_initial(name, True, 0)
        shape = reductions.reduced_shape(a.shape, axes, keepdims)
        result = _core.full(shape, 0 if identity is None else identity, a.dtype_name, like=a)
        if initial is not None:
            _core.update(result, initial)
    elif name in _LOGICAL:
        result = _core.reduce(_LOGICAL[name], a, axes, keepdims)
    else:
        if len(axes) > 1 and name not in _ASSOCIATIVE:
            raise ValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
        result = a
        for i in axes:
            order = (i, *(j for j in range(a.ndim) if j != i))
            moved = None if mask is None else mask.transpose(order)
            reduced = _reduce_first_axis(name, result.transpose(order), initial, moved)
            result = reduced.reshape((*result.shape[:i], 1, *result.shape[i + 1 :]))
        result = result.reshape(reductions.reduced_shape(a.shape, axes, keepdims))
    if initial is not None and reduced_count and name in _ASSOCIATIVE:
        result = _core.map(name, result, initial)
    return write_exactly(out, result, name, "unsafe")


def accumulate(self: Any, array_: ArrayLike, /, axis: Axis = 0, dtype: Any = None, out: Any = None) -> ndarray:
    """Returns the scan (cumulative reduction) along an axis.

    Parameters
    ----------
    array_ : array_like
        An array or array-like.
    axis : int, default 0
        The axis, by default the first.
    dtype : dtype, optional
        The dtype to compute in.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the same shape.

    Raises
    ------
    ValueError
        For a ufunc that is not binary.

    Examples
    --------
    >>> cp.multiply.accumulate([1, 2, 3, 4])
    array([ 1,  2,  6, 24])
    """
    name = _require_binary(self, "accumulate")
    a = array(array_)
    if a.ndim == 0 and axis in (0, -1):
        raise TypeError("cannot accumulate on a scalar")
    i = normalize_axis(axis, a.ndim)
    a = _reduction_operand(name, a, dtype, out)
    scans = {**_REDUCTIONS, **_LOGICAL}
    if name in scans and not (a.dtype_name == "bool" and name in ("add", "multiply")):
        return write_exactly(out, _core.scan(scans[name], a, i), name, "unsafe")
    n = a.shape[i]
    order = (i, *(j for j in range(a.ndim) if j != i))
    result = a.copy("K")
    moved = result.transpose(order)
    if name in _ASSOCIATIVE:
        step = 1
        while step < n:
            _core.update(moved[step:], _core.map(name, moved[:-step], moved[step:]))
            step *= 2
    else:
        for j in range(1, n):
            _core.update(moved[j : j + 1], _core.map(name, moved[j - 1 : j], moved[j : j + 1]))
    return write_exactly(out, result, name, "unsafe")


def outer(self: Any, A: ArrayLike, B: ArrayLike, /, **kwargs: Any) -> Any:
    """Applies the ufunc to each pair of an element of A and an element of B.

    Parameters
    ----------
    A : array_like
        An array or array-like.
    B : array_like
        An array or array-like.
    **kwargs : any
        Keyword arguments of the ufunc.

    Returns
    -------
    ndarray
        An array of shape A.shape + B.shape.

    Raises
    ------
    ValueError
        For a ufunc that is not binary.

    See Also
    --------
    tensordot

    Examples
    --------
    >>> cp.add.outer([1, 2], [10, 20, 30])
    array([[11, 21, 31],
           [12, 22, 32]])
    """
    _require_binary(self, "outer")
    override = ufunc_result(self, "outer", (A, B), (kwargs.get("out"),), kwargs)
    if override is not NotImplemented:
        return override
    a, b = map(array, as_operands((A, B)))  # scalars become arrays of their default dtype, which promote as arrays do
    return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)


def reduceat(
    self: Any, array_: ArrayLike, /, indices: Any, axis: Axis = 0, dtype: Any = None, out: Any = None
) -> ndarray:
    """Reduces the slices that begin at `indices` along an axis. Each index costs one reduction.

    Parameters
    ----------
    array_ : array_like
        An array or array-like.
    indices : array_like
        The positions where slices begin. A slice ends where the next one begins.
    axis : int, default 0
        The axis, by default the first.
    dtype : dtype, optional
        The dtype to compute in.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array with an element for each slice along the axis.

    Raises
    ------
    IndexError
        For an index out of bounds.
    ValueError
        For a ufunc that is not binary.

    Examples
    --------
    >>> cp.add.reduceat([1, 2, 3, 4], [0, 2])
    array([3, 7])
    """
    name = _require_binary(self, "reduceat")
    a = array(array_)
    if axis is None and a.ndim > 1:
        raise ValueError("reduceat does not allow multiple axes")
    i = normalize_axis(0 if axis is None else axis, a.ndim)
    starts = [int(s) for s in (indices.get() if isinstance(indices, ndarray) else indices)]
    n = a.shape[i]
    for s in starts:
        if not 0 <= s < n:
            raise IndexError(f"index {s} out-of-bounds in {name}.reduceat [0, {n})")
    a = _reduction_operand(name, a, dtype, out)
    parts = []
    for k, s in enumerate(starts):
        e = starts[k + 1] if k + 1 < len(starts) else n
        part = a[along(i, s, max(e, s + 1))]
        parts.append(part if part.shape[i] == 1 else reduce(self, part, i, dtype, keepdims=True))

    result = concatenate(parts, i) if parts else a[along(i, 0, 0)].copy("K")
    return write_exactly(out, result, name, "unsafe")


def identity(self: Any) -> Any:
    """Returns the result of an empty reduction with the ufunc, or None."""
    return _IDENTITIES.get(self.__name__)
