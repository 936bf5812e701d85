"""Products as generalized ufuncs (`matmul` and similar), with NumPy's `axes=`, `axis=` and `keepdims=`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    array,
    as_operands,
    axis_error,
    check_subok,
    ndarray,
    normalize_axis,
    write_out,
)
from cuprous._common.casting import astype, check_casting, check_rule, common_dtype
from cuprous._common.layout import fortran_or_c, order_letter, with_order
from cuprous._common.overrides import like_ufunc
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.products import matrix_product
from cuprous._functions.reductions import sum as sum_


class Rule(NamedTuple):
    """A product of the last axes of its operands: its name and signature, the number of core axes of each operand and
    of the result, and its implementation."""

    name: str
    signature: str
    first: int
    second: int
    result: int
    product: Callable[[ndarray, ndarray], ndarray]


def call(
    rule: Rule, x1: ArrayLike, x2: ArrayLike, out: Any = None, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = None, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Computes a product with the keywords of a ufunc.

    Parameters
    ----------
    axes : array_like, optional
        The core axes of each operand, and of the result if it has any.
    axis : int, optional
        The core axis of all operands, if the signature has a single one.
    keepdims : bool, default False
        Keeps that axis in the result with length one.

    Raises
    ------
    AxisError
        If an array lacks an axis, or the number of axes does not fit the signature.
    TypeError
        If the signature does not support a keyword, or `casting` forbids a cast.
    ValueError
        If extents do not fit.
    """
    check_subok(subok)
    check_rule(casting)
    order = order_letter(order)
    a, b = array(x1), array(x2)
    common = common_dtype((a, b)) if dtype is None else dtypes.name_of(dtype)
    for i, x in enumerate((a, b)):
        check_casting(x.dtype_name, common, casting, f"ufunc '{rule.name}' input {i}")
    for i, (x, count) in enumerate(((a, rule.first), (b, rule.second))):
        if x.ndim < count:
            raise ValueError(
                f"{rule.name}: Input operand {i} does not have enough dimensions (has {x.ndim}, gufunc core with "
                f"signature {rule.signature} requires {count})"
            )
    single = rule.signature == "(n),(n)->()"
    core_axes = _core_axes(rule, axes, axis, single, keepdims)
    left, right = (_at_end(astype(x, common), own_axes) for x, own_axes in zip((a, b), core_axes, strict=False))
    result = rule.product(left, right)
    if keepdims and single:
        result = result.reshape((*result.shape, 1))
    if core_axes and len(core_axes) > 2 and core_axes[2]:
        result = moveaxis(result, tuple(range(-len(core_axes[2]), 0)), core_axes[2])
    if out is not None:
        target = out[0] if isinstance(out, tuple) and out else out
        if isinstance(target, ndarray):
            check_casting(result.dtype_name, target.dtype_name, casting, f"ufunc '{rule.name}' output")
            _check_core(rule, target, result, core_axes[2:])
        return write_out(out, result, rule.name, casting)
    return with_order(result, fortran_or_c(a, b) if order == "A" else order)


def _check_core(rule: Rule, out: ndarray, result: ndarray, core_axes: list[tuple[int, ...]]) -> None:
    """Raises ValueError unless the core axes of the result have the extents of `out`. Other axes broadcast to `out`."""
    for i, axis in enumerate(core_axes[0] if core_axes else ()):
        if -out.ndim <= axis < out.ndim and out.shape[axis] != result.shape[axis]:
            raise ValueError(
                f"{rule.name}: Output operand 0 has a mismatch in its core dimension {i}, with gufunc signature "
                f"{rule.signature} (size {out.shape[axis]} is different from {result.shape[axis]})"
            )


def _core_axes(rule: Rule, axes: Any, axis: Any, single: bool, keepdims: bool) -> list[tuple[int, ...]]:
    """Returns the core axes of each operand and of the result. By default they are the last ones."""
    if not single:
        keyword = "axis" if axis is not None else "keepdims" if keepdims else None
        if keyword:
            raise TypeError(f"{rule.name}: {keyword}= needs a single shared core dimension, not {rule.signature}")
    if axis is not None:
        if axes is not None:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        i = operator.index(axis)
        return [(i,), (i,), (i,) if keepdims else ()]
    counts = [rule.first, rule.second, rule.result + (single and keepdims)]
    if axes is None:
        return [tuple(range(-n, 0)) for n in counts]
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) == 2 and not rule.result:
        axes = [*axes, tuple(range(-counts[2], 0))]
    if len(axes) != 3:
        raise ValueError(
            "axes should be a list with an entry for all 3 inputs and outputs; entries for outputs can only be "
            "omitted if none of them has core axes."
        )
    return [_entry(rule, i, entry, n) for i, (entry, n) in enumerate(zip(axes, counts, strict=True))]


def _entry(rule: Rule, operand: int, entry: Any, count: int) -> tuple[int, ...]:
    own_axes = tuple(map(operator.index, entry)) if isinstance(entry, tuple) else (operator.index(entry),)
    if len(own_axes) != count:
        text = f"{rule.name}: operand {operand} has {count} core dimensions, but {len(own_axes)} are named by axes."
        raise type(axis_error(0, 0))(text)  # NumPy's AxisError
    return own_axes


def _at_end(x: ndarray, own_axes: tuple[int, ...]) -> ndarray:
    """Returns a view with `own_axes` moved to the end."""
    positions = tuple(normalize_axis(i, x.ndim) for i in own_axes)
    last = tuple(range(x.ndim - len(positions), x.ndim))
    return x if positions == last else moveaxis(x, positions, last)


# --- the products


def _conjugated(a: ndarray) -> ndarray:
    return _core.map("conjugate", a) if dtypes.kind(a.dtype_name) == "c" else a


def _vecdot(a: ndarray, b: ndarray) -> ndarray:
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->() "
            f"(size {b.shape[-1]} is different from {a.shape[-1]})"
        )
    return sum_(_core.map("multiply", _conjugated(a), b), -1, a.dtype_name)


def _matvec(a: ndarray, b: ndarray) -> ndarray:
    return matrix_product(a, b.reshape((*b.shape, 1)))[..., 0]


def _vecmat(a: ndarray, b: ndarray) -> ndarray:
    return matrix_product(_conjugated(a).reshape((*a.shape[:-1], 1, a.shape[-1])), b)[..., 0, :]


_VECDOT = Rule("vecdot", "(n),(n)->()", 1, 1, 0, _vecdot)
_MATVEC = Rule("matvec", "(m,n),(n)->(m)", 2, 1, 1, _matvec)
_VECMAT = Rule("vecmat", "(n),(n,m)->(m)", 1, 2, 1, _vecmat)


@like_ufunc
def matmul(
    x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = None, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the matrix product with broadcast batch axes. Vectors are rows on the left and columns on the right.

    Parameters
    ----------
    x1 : array_like
        An array of shape (..., M, K), or a vector.
    x2 : array_like
        An array of shape (..., K, N), or a vector.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    casting : str, default "same_kind"
        The rule for casts of operands and result: "no", "equiv", "safe", "same_kind" or "unsafe".
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    dtype : dtype, optional
        The dtype to compute in.
    subok : bool, default True
        Has no effect, because arrays have no subclasses.
    axes : list, optional
        A list with the core axes of each operand and of the result, by default the last ones.
    axis : int, optional
        Not supported, because there is more than one core axis.
    keepdims : bool, default False
        Not supported, because there is more than one core axis.

    Returns
    -------
    ndarray
        An array of shape (..., M, N), without the axes of vectors, of the dtype that both promote to.

    Raises
    ------
    ValueError
        For 0-d operands, or if the inner extents differ.
    TypeError
        If `casting` forbids a cast.

    See Also
    --------
    vecdot, matvec, vecmat, tensordot, einsum, dot

    Examples
    --------
    >>> cp.matmul([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    array([[2, 1],
           [4, 3]])
    >>> cp.matmul(cp.ones((5, 2, 3)), cp.ones(3)).shape
    (5, 2)
    """
    a, b = (array(x) for x in as_operands((x1, x2)))
    if out is dtype is axes is axis is None and (casting, order, subok, keepdims) == ("same_kind", "K", True, False):
        return matrix_product(a, b)  # fast path
    first, second = (min(max(x.ndim, 1), 2) for x in (a, b))
    rule = Rule("matmul", "(n?,k),(k,m?)->(n?,m?)", first, second, first + second - 2, matrix_product)
    return call(rule, a, b, out, casting, order, dtype, subok, axes, axis, keepdims)


@like_ufunc
def vecdot(
    x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = None, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the inner products of vectors along an axis, the first conjugated. Other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        An array of shape (..., N).
    x2 : array_like
        An array of shape (..., N).
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    casting : str, default "same_kind"
        The rule for casts of operands and result: "no", "equiv", "safe", "same_kind" or "unsafe".
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    dtype : dtype, optional
        The dtype to compute in.
    subok : bool, default True
        Has no effect, because arrays have no subclasses.
    axes : list, optional
        A list with the core axes of each operand and of the result, by default the last ones.
    axis : int, optional
        The core axis of all operands, if there is a single one.
    keepdims : bool, default False
        Keeps that axis in the result, with length one.

    Returns
    -------
    ndarray
        An array of shape (...), of the dtype that both promote to.

    Raises
    ------
    ValueError
        If the vectors differ in length.

    See Also
    --------
    vdot, matmul, vecmat, matvec, einsum

    Examples
    --------
    >>> cp.vecdot([[1, 2], [3, 4]], [[1, 1], [1, 0]])
    array([3, 3])
    """
    return call(_VECDOT, x1, x2, out, casting, order, dtype, subok, axes, axis, keepdims)


@like_ufunc
def matvec(
    x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = None, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the products of matrices with vectors. Other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        An array of shape (..., M, N).
    x2 : array_like
        An array of shape (..., N).
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    casting : str, default "same_kind"
        The rule for casts of operands and result: "no", "equiv", "safe", "same_kind" or "unsafe".
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    dtype : dtype, optional
        The dtype to compute in.
    subok : bool, default True
        Has no effect, because arrays have no subclasses.
    axes : list, optional
        A list with the core axes of each operand and of the result, by default the last ones.
    axis : int, optional
        Not supported, because there is more than one core axis.
    keepdims : bool, default False
        Not supported, because there is more than one core axis.

    Returns
    -------
    ndarray
        An array of shape (..., M), of the dtype that both promote to.

    Raises
    ------
    ValueError
        If the extents differ.

    See Also
    --------
    vecdot, vecmat, matmul, einsum

    Examples
    --------
    >>> cp.matvec([[1, 2], [3, 4]], [1, 10])
    array([21, 43])
    """
    return call(_MATVEC, x1, x2, out, casting, order, dtype, subok, axes, axis, keepdims)


@like_ufunc
def vecmat(
    x1: ArrayLike, x2: ArrayLike, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = None, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the products of conjugated vectors with matrices. Other axes broadcast.

    Parameters
    ----------
    x1 : array_like
        An array of shape (..., N).
    x2 : array_like
        An array of shape (..., N, M).
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    casting : str, default "same_kind"
        The rule for casts of operands and result: "no", "equiv", "safe", "same_kind" or "unsafe".
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    dtype : dtype, optional
        The dtype to compute in.
    subok : bool, default True
        Has no effect, because arrays have no subclasses.
    axes : list, optional
        A list with the core axes of each operand and of the result, by default the last ones.
    axis : int, optional
        Not supported, because there is more than one core axis.
    keepdims : bool, default False
        Not supported, because there is more than one core axis.

    Returns
    -------
    ndarray
        An array of shape (..., M), of the dtype that both promote to.

    Raises
    ------
    ValueError
        If the extents differ.

    See Also
    --------
    vecdot, matvec, matmul, einsum

    Examples
    --------
    >>> cp.vecmat([1, 10], [[1, 2], [3, 4]])
    array([31, 42])
    """
    return call(_VECMAT, x1, x2, out, casting, order, dtype, subok, axes, axis, keepdims)


for _function, _signature in (
    (matmul, "(n?,k),(k,m?)->(n?,m?)"), (vecdot, _VECDOT.signature), (matvec, _MATVEC.signature),
    (vecmat, _VECMAT.signature),
):  # fmt: skip
    vars(_function).update(nin=2, nout=1, nargs=3, identity=None, signature=_signature)

__all__ = ["matmul", "matvec", "vecdot", "vecmat"]
