"""`einsum`: parses the subscripts and contracts pairs of operands as batched matrix products."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import array, ndarray, write_out
from cuprous._common.casting import astype, check_casting, check_rule, common_dtype
from cuprous._common.layout import order_letter, with_order
from cuprous._functions.products import matrix_product
from cuprous._functions.reductions import any as any_

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The first label of the axes that an ellipsis stands for. The labels are not letters, so they never clash.
_ELLIPSIS_BASE = 0xE000

Labels = tuple[str, ...]


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Converts the arguments of einsum(a, [0, 1], b, [1, 2], [0, 2]) to subscripts and operands."""

    def letter(s: Any) -> str:
        if s is Ellipsis:
            return "..."
        if not hasattr(s, "__index__"):
            raise TypeError("each subscript must be either an integer or an ellipsis")
        if not 0 <= operator.index(s) < len(_LETTERS):
            raise ValueError(f"subscript is not within the valid range [0, {len(_LETTERS)})")
        return _LETTERS[operator.index(s)]

    def text(sublist: Any) -> str:
        return "".join(map(letter, sublist))

    pairs, last = operands[: len(operands) // 2 * 2], operands[len(operands) // 2 * 2 :]
    subscripts = ",".join(text(s) for s in pairs[1::2])
    return subscripts + (f"->{text(last[0])}" if last else ""), list(pairs[::2])


def _parse(subscripts: str, arrays: list[ndarray]) -> tuple[list[Labels], Labels]:
    """Returns the labels of the axes of each operand, and of the axes of the result."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        more = "fewer" if len(arrays) < len(terms) else "more"
        raise ValueError(f"{more} operands provided to einstein sum function than specified in the subscripts string")
    widest = 0
    inputs: list[Labels] = []
    for i, (term, a) in enumerate(zip(terms, arrays, strict=True)):
        own = _names(term)
        if "..." in term:
            at = own.index("...")
            extra = a.ndim - (len(own) - 1)
            if extra < 0:
                raise ValueError(f"einstein sum subscripts string contains too many subscripts for operand {i}")
            widest = max(widest, extra)
            own = (*own[:at], *(chr(_ELLIPSIS_BASE + extra - 1 - j) for j in range(extra)), *own[at + 1 :])
        if len(own) < a.ndim:
            raise ValueError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                f"provided to broadcast the extra dimensions. (operand {i})"
            )
        if len(own) > a.ndim:
            raise ValueError(f"einstein sum subscripts string contains too many subscripts for operand {i}")
        inputs.append(own)
    ellipsis = tuple(chr(_ELLIPSIS_BASE + widest - 1 - j) for j in range(widest))
    if arrow:
        names = _names(right)
        if ellipsis and "..." not in names:
            raise ValueError(
                "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
                "broadcast the extra dimensions."
            )
        if "..." in names:
            at = names.index("...")
            names = (*names[:at], *ellipsis, *names[at + 1 :])
        output = names
        known = {c for labels in inputs for c in labels}
        for c in output:
            if output.count(c) > 1:
                raise ValueError(f"einstein sum subscripts string includes output subscript '{c}' multiple times")
            if c not in known:
                raise ValueError(
                    f"einstein sum subscripts string included output subscript '{c}' which never appeared in an input"
                )
    else:
        used = [c for labels in inputs for c in labels if c in _LETTERS]
        output = ellipsis + tuple(sorted(c for c in set(used) if used.count(c) == 1))
    return inputs, output


def _names(term: str) -> tuple[str, ...]:
    head, dots, tail = term.partition("...")
    for c in head + tail:
        if c not in _LETTERS:
            raise ValueError(f"invalid subscript '{c}' in einstein sum subscripts string, subscripts must be letters")
    return (*head, *(("...",) if dots else ()), *tail)


def _diagonals(a: ndarray, labels: Labels) -> tuple[ndarray, Labels]:
    """Returns a view in which each label occurs once. A repeated label selects the diagonal."""
    if len(set(labels)) == len(labels):
        return a, labels
    sizes: dict[str, int] = {}
    strides: dict[str, int] = {}
    for c, n, s in zip(labels, a.shape, a.element_strides, strict=True):
        if sizes.setdefault(c, n) != n:
            raise ValueError(f"dimensions in single operand for collapsing index '{c}' don't match ({sizes[c]} != {n})")
        strides[c] = strides.get(c, 0) + s
    return _core.as_strided(a, list(sizes.values()), list(strides.values()), 0), tuple(sizes)


def _sum_out(a: ndarray, labels: Labels, keep: set[str]) -> tuple[ndarray, Labels]:
    """Sums over the labels that are not in `keep`."""
    summed_axes = tuple(i for i, c in enumerate(labels) if c not in keep)
    if not summed_axes:
        return a, labels
    if a.dtype_name == "bool":
        return any_(a, summed_axes), tuple(c for c in labels if c in keep)
    return _core.reduce("sum", a, summed_axes), tuple(c for c in labels if c in keep)


def _spread(a: ndarray, labels: Labels, sizes: dict[str, int]) -> ndarray:
    """Broadcasts axes of length one to the size of their label."""
    shape = tuple(sizes[c] for c in labels)
    return a if a.shape == shape else _core.broadcast_to(a, shape)


def _contract(
    a: ndarray, a_labels: Labels, b: ndarray, b_labels: Labels, keep: set[str], sizes: dict[str, int]
) -> tuple[ndarray, Labels]:
    """Returns the product of two operands, summed over the labels not in `keep`, as one batched matrix product."""
    a, a_labels = _sum_out(a, a_labels, keep | set(b_labels))
    b, b_labels = _sum_out(b, b_labels, keep | set(a_labels))
    batch = [c for c in a_labels if c in b_labels and c in keep]
    summed = [c for c in a_labels if c in b_labels and c not in keep]
    left = [c for c in a_labels if c not in b_labels]
    right = [c for c in b_labels if c not in a_labels]
    result_labels = (*batch, *left, *right)
    if not summed:  # an outer or elementwise product needs no matrix product
        return _aligned_product(a, a_labels, b, b_labels, result_labels), result_labels
    a, b = _spread(a, a_labels, sizes), _spread(b, b_labels, sizes)

    def pack(x: ndarray, labels: Labels, first: list[str], second: list[str]) -> ndarray:
        moved = x.transpose(tuple(labels.index(c) for c in (*batch, *first, *second)))
        return moved.reshape((*(sizes[c] for c in batch), math.prod(sizes[c] for c in first),
                              math.prod(sizes[c] for c in second)))  # fmt: skip

    product = matrix_product(pack(a, a_labels, left, summed), pack(b, b_labels, summed, right))
    return product.reshape(tuple(sizes[c] for c in result_labels)), result_labels


def _aligned_product(a: ndarray, a_labels: Labels, b: ndarray, b_labels: Labels, labels: Labels) -> ndarray:
    def align(x: ndarray, own: Labels) -> ndarray:
        order = [own.index(c) for c in labels if c in own]
        moved = x.transpose(tuple(order)) if order else x
        extents = iter(moved.shape)
        return moved.reshape(tuple(next(extents) if c in own else 1 for c in labels))

    return _core.map("multiply", align(a, a_labels), align(b, b_labels))


def _given_path(optimize: Any, count: int) -> list[tuple[int, ...]] | None:
    """Returns the steps of an explicit path: the positions of the operands of each contraction, whose result is
    appended at the end. Returns None if `optimize` names a strategy.

    Raises
    ------
    TypeError
        If `optimize` is not a path.
    KeyError
        If NumPy has no strategy of this name.
    RuntimeError
        For a path that leaves more than one operand.
    """
    if optimize is None or isinstance(optimize, bool):
        return None
    if not isinstance(optimize, str):
        if len(optimize) and optimize[0] == "einsum_path":
            steps = [tuple(sorted(map(operator.index, step), reverse=True)) for step in optimize[1:]]
            left = list(range(count))
            for step in steps:
                for i in step:
                    left.pop(i)
                left.append(0)
            if len(left) != 1:
                raise RuntimeError(
                    f"Invalid einsum_path is specified: {len(left) - 1} more operands has to be contracted."
                )
            return steps
        if len(optimize) != 2 or not isinstance(optimize[0], str) or not isinstance(optimize[1], (int, float)):
            raise TypeError(f"Did not understand the path: {optimize}")
        optimize = optimize[0]
    if optimize not in ("greedy", "optimal") and count > 2:
        raise KeyError(f"Path name {optimize} not found")
    return None


def _path(terms: list[Labels], output: Labels, sizes: dict[str, int], optimize: Any) -> list[tuple[int, ...]]:
    """Returns the contraction order: the caller's path, left to right, or greedily by the size of the result."""
    given = _given_path(optimize, len(terms))
    if given is not None:
        return given
    remaining = list(terms)

    def size(labels: Iterable[str]) -> int:
        return math.prod(sizes[c] for c in labels)

    def kept(i: int, j: int) -> Labels:
        rest = {c for k, t in enumerate(remaining) if k not in (i, j) for c in t} | set(output)
        return tuple(c for c in dict.fromkeys(remaining[i] + remaining[j]) if c in rest)

    def score(i: int, j: int) -> tuple[bool, int, int]:
        a, b = set(remaining[i]), set(remaining[j])
        return not a & b, size(kept(i, j)) - size(remaining[i]) - size(remaining[j]), size(a | b)

    path: list[tuple[int, ...]] = []
    while len(remaining) > 1:
        pairs = [(0, 1)] if optimize is False else itertools.combinations(range(len(remaining)), 2)
        i, j = min(pairs, key=lambda pair: score(*pair))
        path.append((j, i))
        remaining = [t for k, t in enumerate(remaining) if k not in (i, j)] + [kept(i, j)]
    return path


def einsum(
    *operands: Any, out: ndarray | None = None, dtype: Any = None, order: str = "K", casting: str = "safe",
    optimize: Any = None,
) -> ndarray:  # fmt: skip
    """Returns sums of products in Einstein notation.

    Pairs are contracted in a greedy order unless `optimize` is False (left to right) or a path. "optimal" means greedy,
    too. As in NumPy, the result must cast to `out` by the rule `casting`, unless several operands and `optimize` are
    given.

    Parameters
    ----------
    *operands : str or array_like
        The subscripts, such as "ij,jk->ik", and the arrays; or each array followed by a list of axis numbers.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    dtype : dtype, optional
        The dtype to compute in.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    casting : str, default "safe"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".
    optimize : bool, str or list, optional
        The strategy: True, False, "greedy", "optimal", or a path of `einsum_path`.

    Returns
    -------
    ndarray
        An array with an axis for each subscript of the result.

    Raises
    ------
    KeyError
        If NumPy has no strategy with the name `optimize`.
    RuntimeError
        If it is a path that leaves more than one operand.
    TypeError
        For a cast that `casting` forbids.
    ValueError
        For subscripts that do not fit the operands.

    See Also
    --------
    einsum_path, dot, inner, outer, tensordot, linalg.multi_dot

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> cp.einsum("ij->j", a)
    array([4, 6])
    >>> cp.einsum("ij,jk->ik", a, a)
    array([[ 7, 10],
           [15, 22]])
    >>> cp.einsum("ii", a)
    array(5)
    """
    check_rule(casting)
    order_letter(order)
    if operands and isinstance(operands[0], str):
        subscripts, given = operands[0], list(operands[1:])
    else:
        subscripts, given = _from_lists(operands)
    arrays = [array(x) for x in given]
    if not arrays:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    inputs, output = _parse(subscripts, arrays)
    view = len(arrays) == 1 and out is None and set(inputs[0]) <= set(output)
    checked = not optimize or len(arrays) == 1
    together = [*arrays, out] if checked and isinstance(out, ndarray) else arrays
    # As in NumPy, a view has the dtype of its operand.
    requested = None if dtype is None else dtypes.name_of(dtype)
    name = common_dtype(together) if requested is None or view else requested
    for i, a in enumerate(arrays):
        check_casting(a.dtype_name, name, casting, f"einsum operand {i}")
    terms: list[tuple[ndarray, Labels]] = [
        _diagonals(astype(a, name), labels) for a, labels in zip(arrays, inputs, strict=True)
    ]
    sizes = _sizes(terms)
    for step in _path([t[1] for t in terms], output, sizes, optimize):
        (result, labels), *others = [terms.pop(i) for i in step][::-1]
        for i, (b, b_labels) in enumerate(others, 1):
            keep = {c for t in (*terms, *others[i:]) for c in t[1]} | set(output)
            result, labels = _contract(result, labels, b, b_labels, keep, sizes)
        terms.append((result, labels))
    ((result, labels),) = terms
    result, labels = _sum_out(result, labels, set(output))
    result = _spread(result, labels, {c: sizes[c] for c in labels})
    if labels != output:
        result = result.transpose(tuple(labels.index(c) for c in output))
    if out is not None:
        return write_out(out, result, "einsum", casting if checked else "unsafe")
    return with_order(result, order)


def _sizes(terms: list[tuple[ndarray, Labels]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for a, labels in terms:
        for c, n in zip(labels, a.shape, strict=True):
            known = sizes.get(c, 1)
            if n != known and 1 not in (n, known):
                shapes = " ".join(str(t[0].shape).replace(" ", "") for t in terms)
                raise ValueError(
                    f"operands could not be broadcast together with remapped shapes [original->remapped]: {shapes}: "
                    f"label '{c}' has lengths {known} and {n}"
                )
            sizes[c] = n if known == 1 else known
    return sizes


def einsum_path(*operands: Any, optimize: Any = "greedy") -> Any:
    """Returns NumPy's contraction path and report for operands of these shapes, without computing the sums.

    Parameters
    ----------
    *operands : str or array_like
        As for `einsum`.
    optimize : bool, str or list, default "greedy"
        The strategy, by default "greedy".

    Returns
    -------
    tuple
        A tuple of the path, a list, and a report, a string.

    Raises
    ------
    ValueError
        For subscripts that do not fit the operands.

    See Also
    --------
    einsum, linalg.multi_dot

    Examples
    --------
    >>> a, b, c = cp.ones((2, 9)), cp.ones((9, 9)), cp.ones((9, 2))
    >>> cp.einsum_path("ij,jk,kl->il", a, b, c)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    import numpy as np

    def outline(x: Any) -> Any:
        if isinstance(x, ndarray):
            return np.lib.stride_tricks.as_strided(np.zeros(1), x.shape, (0,) * x.ndim)
        return x

    return np.einsum_path(*map(outline, operands), optimize=optimize)


__all__ = ["einsum", "einsum_path"]
