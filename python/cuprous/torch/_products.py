"""Matrix products, and sums of products by subscripts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _autocast
from cuprous.torch._args import by_name, in_place, wrap_dim, write_out
from cuprous.torch._joining import stack, unbind

_matmul, _map = _core.t_matmul, _core.t_map


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the matrix product of vectors, matrices or batches of matrices.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension: (n), or (..., m, n).
    other : Tensor
        A tensor of at least one dimension: (n), or (..., n, p).
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of shape (..., m, p), without the dimensions that vectors lack; leading dimensions broadcast.

    Raises
    ------
    RuntimeError
        For extents that do not fit.

    See Also
    --------
    torch.einsum, torch.tensordot, torch.inner

    Examples
    --------
    >>> torch.matmul(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    return write_out(out, _matmul(input, other))


def _of_dims(name: str, a: int, b: int, returned: str, result: str) -> Callable[..., Tensor]:
    def product(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        if input.ndim != a or other.ndim != b:
            raise RuntimeError(f"{name}: expected a {a}D and a {b}D tensor, but got {input.ndim}D and {other.ndim}D")
        return write_out(out, _matmul(input, other))

    shapes = ["", "(n)", "(m, n)", "(b, m, n)"]
    others = {"mm": "(n, p)", "mv": "(n)", "bmm": "(b, n, p)", "dot": "(n)"}
    values = ["", "torch.tensor([1.0, 2.0])", "torch.eye(2)", "torch.ones(1, 2, 2)"]
    return named(
        product,
        name,
        f"""Returns the product of a {a}-dimensional and a {b}-dimensional tensor.

    Parameters
    ----------
    input : Tensor
        A tensor of shape {shapes[a]}.
    other : Tensor
        A tensor of shape {others[name]} and of the same dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of shape {returned}.

    Raises
    ------
    RuntimeError
        For other numbers of dimensions, and for extents that do not fit.

    See Also
    --------
    torch.matmul, {related_names(name, "mm mv bmm dot")}

    Examples
    --------
    >>> torch.{name}({values[a]}, {values[b]})
    {result}
    """,
    )


mm = _of_dims("mm", 2, 2, "(m, p)", "tensor([[1., 0.],\n                [0., 1.]])")
mv = _of_dims("mv", 2, 1, "(m)", "tensor([1., 2.])")
bmm = _of_dims("bmm", 3, 3, "(b, m, p)", "tensor([[[2., 2.],\n                 [2., 2.]]])")
dot = _of_dims("dot", 1, 1, "()", "tensor(5.)")
dot = _autocast.policy(dot)


def factor(product: Tensor, value: Any) -> Any:
    """Returns a factor as PyTorch takes it: of integers it is truncated."""
    return value if product.is_floating_point() or product.is_complex() else int(value)


def _adding(name: str, product: Callable[..., Tensor], operands: str, result: str) -> Callable[..., Tensor]:
    def add(input: Tensor, first: Tensor, second: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        result = product(first, second)
        alpha, beta = factor(result, alpha), factor(result, beta)
        result = result if alpha == 1 else _map("multiply", result, alpha)
        return _map("add", result, input if beta == 1 else _map("multiply", input, beta)) if beta != 0 else result

    return _autocast.policy(
        named(
            add,
            name,
            f"""Returns `beta * input + alpha * (first @ second)`.

    Parameters
    ----------
    input : Tensor
        A tensor that broadcasts with the product; it is not read if `beta` is 0.
    first : Tensor
        The first operand of `{product.__name__}`.
    second : Tensor
        The second operand of `{product.__name__}`.
    beta : number, default 1
        The factor of `input`.
    alpha : number, default 1
        The factor of the product.

    Returns
    -------
    Tensor
        A tensor of the shape of the product.

    Raises
    ------
    RuntimeError
        For operands whose shapes `{product.__name__}` does not take.

    See Also
    --------
    torch.{product.__name__}, {related_names(name, "addmm addmv baddbmm addbmm")}

    Examples
    --------
    >>> torch.{name}(torch.tensor(1.0), {operands}, alpha=2)
    {result}
    """,
        )
    )


addmm = _adding("addmm", mm, "torch.eye(2), torch.eye(2)", "tensor([[3., 1.],\n                [1., 3.]])")
addmv = _adding("addmv", mv, "torch.eye(2), torch.tensor([1.0, 2.0])", "tensor([3., 5.])")
baddbmm = _adding("baddbmm", bmm, "torch.ones(1, 1, 3), torch.ones(1, 3, 1)", "tensor([[[7.]]])")


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the outer product of two vectors.

    Parameters
    ----------
    input : Tensor
        A vector of n elements.
    vec2 : Tensor
        A vector of m elements.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A matrix of shape (n, m).

    See Also
    --------
    torch.inner, torch.addr, torch.kron, torch.linalg.multi_dot

    Examples
    --------
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return write_out(out, _map("multiply", input.unsqueeze(1), vec2))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns `input @ weight.T + bias`.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (..., n).
    weight : Tensor
        A tensor of shape (m, n), or a vector of n elements.
    bias : Tensor, optional
        A vector of m elements that is added.

    Returns
    -------
    Tensor
        A tensor of shape (..., m).

    See Also
    --------
    torch.bilinear, torch.nn.functional.bilinear

    Examples
    --------
    >>> F.linear(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 7.]])
    """
    return _core.t_linear(input, weight, bias)


@_autocast.policy
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns `input1 @ weight[k] @ input2` for each k.

    Parameters
    ----------
    input1 : Tensor
        A tensor of shape (..., n).
    input2 : Tensor
        A tensor of shape (..., m).
    weight : Tensor
        A tensor of shape (k, n, m).
    bias : Tensor, optional
        A vector of k elements that is added.

    Returns
    -------
    Tensor
        A tensor of shape (..., k).

    See Also
    --------
    torch.nn.functional.linear

    Examples
    --------
    >>> F.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(4, 2, 3))
    tensor([[6., 6., 6., 6.]])
    """
    result = einsum("...i,kij,...j->...k", input1, weight, input2)
    return result if bias is None else result + bias


@_autocast.policy
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Returns the cross product of vectors of three elements.

    Parameters
    ----------
    input : Tensor
        A tensor with extent 3 along the dimension.
    other : Tensor
        A tensor of as many dimensions that broadcasts with `input`.
    dim : int, optional
        The dimension; a negative one counts from the end, None is the first one with extent 3.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    Raises
    ------
    RuntimeError
        If no dimension has extent 3, or the one that is given has another.

    See Also
    --------
    torch.linalg.cross, torch.dot, torch.outer

    Examples
    --------
    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None and 3 not in input.dims:
        raise RuntimeError(f"no dimension of size 3 in input: the shape is {list(input.dims)}")
    axis = input.dims.index(3) if dim is None else wrap_dim(dim, input.ndim)
    if (input.dims[axis], other.dims[axis]) != (3, 3):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.dims[axis]} and "
                           f"{other.dims[axis]}")  # fmt: skip
    a, b, c = unbind(input, axis)
    x, y, z = unbind(other, axis)
    return write_out(out, stack([b * z - c * y, c * x - a * z, a * y - b * x], axis))


# --- Einstein summation


def _labels(subscripts: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    """Returns the labels of each operand's dimensions, and of the result's. Dimensions of an ellipsis are labeled by
    numbers."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation"
                           if len(terms) < len(operands) else
                           "einsum(): fewer operands were provided than specified in the equation")  # fmt: skip
    widest = 0
    for term, x in zip(terms, operands, strict=True):
        if "..." in term:
            widest = max(widest, x.ndim - len(term.replace("...", "")))

    def spread(term: str, count: int) -> list[str]:
        before, dots, after = term.partition("...")
        middle = [str(k) for k in range(widest - count, widest)] if dots else []
        return [*before, *middle, *after]

    names = []
    for term, x in zip(terms, operands, strict=True):
        labels = spread(term, x.ndim - len(term.replace("...", "")))
        if len(labels) != x.ndim:
            raise RuntimeError("einsum(): the number of subscripts in the equation "
                               f"({len(labels)}) does not match the number of dimensions ({x.ndim}) for an "
                               "operand")  # fmt: skip
        names.append(labels)
    if arrow:
        return names, spread(output, widest)
    flat = [label for labels in names for label in labels]
    once = sorted({label for label in flat if flat.count(label) == 1 and not label.isdecimal()})
    return names, [str(k) for k in range(widest)] + once


def _distinct(x: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    """Replaces dimensions with the same label by their diagonal."""
    while len(set(labels)) < len(labels):
        label = next(name for name in labels if labels.count(name) > 1)
        a = labels.index(label)
        b = labels.index(label, a + 1)
        x = x.diagonal(0, a, b)
        labels = [name for k, name in enumerate(labels) if k not in (a, b)] + [label]
    return x, labels


def _summed(x: Tensor, labels: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    removed = [k for k, label in enumerate(labels) if label not in keep]
    wide = [k for k in removed if x.dims[k] != 1]
    x = x.sum(wide, keepdim=True) if wide else x
    return x.squeeze(removed) if removed else x, [label for label in labels if label in keep]


def _pair(x: Tensor, a: list[str], y: Tensor, b: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    """Contracts two operands over the labels that are not in `keep`, as one batched matrix product."""
    # A label with extent 1 in one of them is no contraction: the other is summed over it, and extent 1 is left out.
    single = {label for labels, t in ((a, x), (b, y)) for label, n in zip(labels, t.dims, strict=True) if n == 1}
    x, a = _summed(x, a, keep | (set(b) - single))
    y, b = _summed(y, b, keep | (set(a) - single))
    both = [label for label in a if label in b and label in keep]
    inner = [label for label in a if label in b and label not in keep]
    left, right = [label for label in a if label not in b], [label for label in b if label not in a]
    extent = dict(zip(a, x.dims, strict=True))
    for label, n in zip(b, y.dims, strict=True):
        m = extent.setdefault(label, n)
        if m != n and 1 not in (m, n):
            raise RuntimeError(f"einsum(): subscript {label} has size {n} for an operand, but {m} for another")
        extent[label] = max(m, n)

    def arranged(t: Tensor, labels: list[str], order: list[list[str]]) -> Tensor:
        flat = [label for group in order for label in group]
        t = t.permute([labels.index(label) for label in flat])
        t = t.expand([extent[label] for label in flat])
        sizes = [[extent[label] for label in group] for group in order]
        return t.reshape([*sizes[0], math.prod(sizes[1]), math.prod(sizes[2])])

    labels = both + left + right
    if not inner and x.dtype_name != y.dtype_name:  # nothing is summed, so dtypes are promoted
        parts = [t.permute([own.index(name) for name in labels if name in own])
                 .reshape([t.dims[own.index(name)] if name in own else 1 for name in labels])
                 for t, own in ((x, a), (y, b))]  # fmt: skip
        return parts[0] * parts[1], labels
    product = _matmul(arranged(x, a, [both, left, inner]), arranged(y, b, [both, inner, right]))
    return product.reshape([extent[label] for label in labels]), labels


@_autocast.policy
def einsum(equation: str, *operands: Any) -> Tensor:
    """Returns the sum of products that subscripts describe. Operands are contracted from left to right.

    Parameters
    ----------
    equation : str
        The subscripts, such as "ij,jk->ik".
    *operands : Tensor or sequence of Tensors
        The tensors, or one sequence of them.

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        For subscripts that do not fit the operands.

    See Also
    --------
    torch.tensordot, torch.inner, torch.matmul

    Examples
    --------
    >>> torch.einsum("ij,j->i", torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
    names, output = _labels(equation, tensors)
    parts = [_distinct(x, labels) for x, labels in zip(tensors, names, strict=True)]
    x, labels = parts[0]
    for k, (y, other) in enumerate(parts[1:], 1):
        later = set(output).union(*(more for _, more in parts[k + 1 :]))
        x, labels = _pair(x, labels, y, other, later)
    x, labels = _summed(x, labels, set(output))
    return x.permute([labels.index(label) for label in output])


@_autocast.policy
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Returns the sum of products over some dimensions of each operand.

    Parameters
    ----------
    a : Tensor
        A tensor.
    b : Tensor
        A tensor of the same dtype.
    dims : int or pair of sequences of ints, default 2
        The number of dimensions, the last of `a` and the first of `b`; or a pair of lists of dimensions.

    Returns
    -------
    Tensor
        A tensor of the remaining dimensions of `a` and then those of `b`.

    See Also
    --------
    torch.inner, torch.matmul, torch.einsum

    Examples
    --------
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, int):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([wrap_dim(d, t.ndim) for d in given] for given, t in zip(dims, (a, b), strict=True))
    for i, j in zip(left, right, strict=True):  # an extent of 1 counts for all elements of the other operand
        if a.dims[i] == 1 != b.dims[j]:
            b = b.sum(j, keepdim=True, dtype=b.dtype)
        elif b.dims[j] == 1 != a.dims[i]:
            a = a.sum(i, keepdim=True, dtype=a.dtype)
    rows, columns = ([k for k in range(t.ndim) if k not in removed] for t, removed in ((a, left), (b, right)))
    inner = math.prod(a.dims[k] for k in left)
    product = _matmul(a.permute(rows + left).reshape(-1, inner), b.permute(right + columns).reshape(inner, -1))
    return product.reshape([*(a.dims[k] for k in rows), *(b.dims[k] for k in columns)])


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Returns the sum of products over the last dimension of each operand.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension.
    other : Tensor
        A tensor with the same last extent.

    Returns
    -------
    Tensor
        A tensor of the remaining dimensions of `input` and then those of `other`.

    See Also
    --------
    torch.matmul, torch.einsum, torch.tensordot

    Examples
    --------
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if not (input.ndim and other.ndim):
        return _core.t_map("multiply", input, other)
    return tensordot(input, other, ([-1], [-1]))


_BOTH = by_name(matmul, mm, mv, bmm, dot, addmm, addmv, baddbmm, outer, cross)
METHODS = _BOTH | by_name(
    in_place(addmm, "torch.zeros(1, 1).addmm_(torch.ones(1, 2), torch.ones(2, 1)) -> tensor([[2.]])"),
    in_place(addmv, "torch.zeros(1).addmv_(torch.ones(1, 2), torch.ones(2)) -> tensor([2.])"),
    in_place(baddbmm, "torch.zeros(1, 1, 1).baddbmm_(torch.ones(1, 1, 2), torch.ones(1, 2, 1)) -> tensor([[[2.]]])"),
)
FUNCTIONS = _BOTH | by_name(einsum, tensordot) | {
    "ger": outer, "spmm": mm, "inner": inner,
}  # fmt: skip
