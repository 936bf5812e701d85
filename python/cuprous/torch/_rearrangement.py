"""Rearrangements that are not views: rotations, stacking, triangle indices, block matrices, combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _autocast, _diagonals, _indexing, _joining, _shape
from cuprous.torch._args import by_name, sizes, unsupported, wrap_dim
from cuprous.torch._creation import _configured, from_numpy
from cuprous.torch._types import dtype_name, resolve_device
from cuprous.torch.nn._padding import pad

_map = _core.t_map


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Returns a copy rotated by right angles in the plane of two dimensions, from the first toward the second.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.
    k : int, default 1
        The number of right angles.
    dims : sequence of ints, default (0, 1)
        The two dimensions.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.flip, torch.fliplr, torch.flipud

    Examples
    --------
    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    a, b = (wrap_dim(d, input.ndim) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return _joining.flip(input, [a, b])
    return (
        _shape.transpose(_joining.flip(input, b), a, b) if k == 1 else _joining.flip(_shape.transpose(input, a, b), b)
    )


def _atleast(n: int) -> Callable[..., Any]:
    def atleast(*tensors: Any) -> Any:
        given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
        wide = []
        for x in given:
            if x.ndim == 0:
                x = x.reshape((1,) * n)
            elif x.ndim == 1 and n > 1:
                x = x.unsqueeze(0) if n == 2 else x.reshape(1, -1, 1)
            elif x.ndim == 2 and n == 3:
                x = x.unsqueeze(2)
            wide.append(x)
        return wide[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(wide)

    return named(
        atleast,
        f"atleast_{n}d",
        f"""Returns tensors with at least {n} dimensions.

    Parameters
    ----------
    *tensors : Tensor or sequence of Tensors
        Tensors, or one sequence of tensors.

    Returns
    -------
    Tensor
        A tensor, with dimensions of extent 1 added where it has fewer than {n}; a tuple for several tensors.

    See Also
    --------
    {related_names(f"atleast_{n}d", "atleast_1d atleast_2d atleast_3d unsqueeze")}

    Examples
    --------
    >>> torch.atleast_{n}d(torch.tensor(2.0)).shape
    torch.Size([{", ".join("1" * n)}])
    """,
    )


atleast_1d, atleast_2d, atleast_3d = _atleast(1), _atleast(2), _atleast(3)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors along the third dimension.

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors of shapes that are equal except for the third dimension.

    Returns
    -------
    Tensor
        A tensor of at least three dimensions.

    See Also
    --------
    torch.column_stack, torch.row_stack, torch.hstack, torch.vstack

    Examples
    --------
    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return _joining.cat(list(atleast_3d(*tensors)) if len(tensors) > 1 else [atleast_3d(tensors[0])], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors as columns. A vector is one column.

    Parameters
    ----------
    tensors : sequence of Tensors
        Vectors, or matrices with the same number of rows.

    Returns
    -------
    Tensor
        A matrix.

    See Also
    --------
    torch.row_stack, torch.hstack, torch.vstack, torch.dstack

    Examples
    --------
    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    return _joining.cat([x.reshape(x.numel(), 1) if x.ndim <= 1 else x for x in tensors], 1)


def _splitting(name: str, least: int, axis: int) -> Callable[..., tuple[Tensor, ...]]:
    def split(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                               f"{input.ndim} dimensions!")  # fmt: skip
        dim = min(axis, input.ndim - 1)
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or input.dims[dim] % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                               f"{input.dims[dim]} is not divisible by the split_size "
                               f"{indices_or_sections}!")  # fmt: skip
        return _joining.tensor_split(input, indices_or_sections, dim)

    vectors = " (0 for vectors)" if least == 1 else ""
    example = ", ".join(("2" if k == axis else "1") for k in range(max(least, axis + 1)))
    return named(
        split,
        name,
        f"""Returns views of parts along dimension {axis}{vectors}.

    Parameters
    ----------
    input : Tensor
        A tensor of at least {least} dimensions.
    indices_or_sections : int or array_like
        The number of parts, or the indices where parts begin.

    Returns
    -------
    tuple of Tensors

    Raises
    ------
    RuntimeError
        For too few dimensions, or a number of parts that does not divide the extent.

    See Also
    --------
    torch.tensor_split, {related_names(name, "hsplit vsplit dsplit")}

    Examples
    --------
    >>> [part.shape for part in torch.{name}(torch.ones({example}), 2)]
    [torch.Size([{example.replace("2", "1")}]), torch.Size([{example.replace("2", "1")}])]
    """,
    )


hsplit, vsplit, dsplit = _splitting("hsplit", 1, 1), _splitting("vsplit", 2, 0), _splitting("dsplit", 3, 2)


def _triangle(name: str, which: str, example: str) -> Callable[..., Tensor]:
    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
                layout: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
        import numpy as np

        unsupported(name, layout=(layout, None))
        found = np.array(getattr(np, name)(row, offset, col))
        made = _core.t_to_device(from_numpy(found), resolve_device(device))
        result = made if dtype is None else _core.t_cast(made, dtype_name(dtype))
        return _configured(result, requires_grad, pin_memory)

    return named(
        indices,
        name,
        f"""Returns the row and column indices of the {which} triangle of a matrix.

    Parameters
    ----------
    row : int
        The number of rows.
    col : int
        The number of columns.
    offset : int, default 0
        The diagonal that bounds the triangle; 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype, by default int64.
    device : device or str, optional
        The device, by default the default device.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients, which integers cannot be.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.

    Returns
    -------
    Tensor
        A tensor of shape (2, n) of the row and the column indices of n elements.

    See Also
    --------
    {related_names(name, "tril_indices triu_indices")}, torch.{name.removesuffix("_indices")}

    Examples
    --------
    >>> torch.{name}(2, 2)
    {example}
    """,
    )


tril_indices = _triangle("tril_indices", "lower", "tensor([[0, 1, 1],\n                [0, 0, 1]])")
triu_indices = _triangle("triu_indices", "upper", "tensor([[0, 0, 1],\n                [0, 1, 1]])")


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Returns all combinations of one element from each vector, as rows.

    Parameters
    ----------
    *tensors : Tensor
        Vectors.

    Returns
    -------
    Tensor
        A tensor of shape (combinations, vectors); a vector for one vector.

    See Also
    --------
    torch.combinations, torch.meshgrid

    Examples
    --------
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([5, 6]))
    tensor([[1, 5],
            [1, 6],
            [2, 5],
            [2, 6]])
    """
    if len(tensors) == 1:
        return tensors[0]
    return _joining.stack([x.reshape(-1) for x in _joining.meshgrid(*tensors)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Returns all combinations of r elements of a vector, as rows.

    Parameters
    ----------
    input : Tensor
        A vector.
    r : int, default 2
        The number of elements in a combination.
    with_replacement : bool, default False
        Whether an element may occur several times.

    Returns
    -------
    Tensor
        A tensor of shape (combinations, r).

    See Also
    --------
    torch.meshgrid, torch.cartesian_prod

    Examples
    --------
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    import numpy as np

    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    return _indexing.getitem(input, from_numpy(chosen).to(input.device))


def block_diag(*tensors: Tensor) -> Tensor:
    """Returns a block diagonal matrix of the given matrices.

    Parameters
    ----------
    *tensors : Tensor or number
        Matrices, vectors as rows, or numbers.

    Returns
    -------
    Tensor
        A matrix.

    See Also
    --------
    torch.diag

    Examples
    --------
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    blocks = [atleast_2d(x) for x in tensors]
    width = sum(x.dims[1] for x in blocks)
    rows, at = [], 0
    for x in _joining._common(blocks):
        rows.append(pad(x, (at, width - at - x.dims[1])))
        at += x.dims[1]
    return _joining.cat(rows, 0)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Returns the Kronecker product.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    other : Tensor
        A tensor of any shape.

    Returns
    -------
    Tensor
        A tensor whose extents are the products of the operands' extents.

    See Also
    --------
    torch.outer, torch.block_diag, torch.tensordot

    Examples
    --------
    >>> torch.kron(torch.tensor([1, 2]), torch.tensor([1, 10]))
    tensor([ 1, 10,  2, 20])
    """
    n = max(input.ndim, other.ndim)
    a, b = (x.reshape((1,) * (n - x.ndim) + tuple(x.dims)) for x in (input, other))
    left = a.reshape([k for extent in a.dims for k in (extent, 1)])
    right = b.reshape([k for extent in b.dims for k in (1, extent)])
    return _map("multiply", left, right).reshape([x * y for x, y in zip(a.dims, b.dims, strict=True)])


@_autocast.policy
def trace(input: Tensor) -> Tensor:
    """Returns the sum of the diagonal of a matrix.

    Parameters
    ----------
    input : Tensor
        A matrix.

    Returns
    -------
    Tensor
        A tensor of shape ().

    Raises
    ------
    RuntimeError
        For another number of dimensions.

    See Also
    --------
    torch.diagonal, torch.diag, torch.einsum

    Examples
    --------
    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return _diagonals.diagonal(input).sum()


def argwhere(input: Tensor) -> Tensor:
    """Returns the indices of the nonzero elements, as rows.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    Tensor
        An int64 tensor of shape (n, input.ndim).

    See Also
    --------
    torch.nonzero, torch.where

    Examples
    --------
    >>> torch.argwhere(torch.tensor([[0, 3], [5, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return _indexing.nonzero(input)


def index_put(input: Tensor, indices: tuple[Tensor, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    """Returns a copy with values written at index tensors.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    indices : tuple of Tensors
        int64 or bool tensors, one for each leading dimension.
    values : Tensor
        The values, a tensor that broadcasts with the selected elements.
    accumulate : bool, default False
        Whether to add the values; otherwise they replace the elements.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.put, torch.index_add, torch.index_copy, torch.scatter

    Examples
    --------
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """
    return _indexing.index_put_(input.clone(), indices, values, accumulate)


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sums over the dimensions along which a tensor of the given shape would be broadcast.

    Parameters
    ----------
    *size : int or sequence of ints
        The extents, as integers or as one sequence.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    Raises
    ------
    RuntimeError
        If the tensor's shape is not one that the extents broadcast to.

    Examples
    --------
    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = sizes(size)
    lead = self.ndim - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, self.dims[lead:], strict=True)):
        raise RuntimeError(f"size {shape} is not expandable to size {list(self.dims)}.")
    if not shape:
        return self.sum()
    dims = [*range(lead), *(lead + k for k, n in enumerate(shape) if n != self.dims[lead + k])]
    return self.sum(dims, keepdim=True).reshape(shape) if dims else self


def view_as_real(input: Tensor) -> Tensor:
    """Returns the real and imaginary parts along a new last dimension of extent 2, as a copy.

    Parameters
    ----------
    input : Tensor
        A complex tensor.

    Returns
    -------
    Tensor
        A real tensor of shape (..., 2).

    See Also
    --------
    torch.view_as_complex

    Notes
    -----
    PyTorch's result is a view.

    Examples
    --------
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _joining.stack([_map("real", input), _map("imag", input)], -1)


def view_as_complex(input: Tensor) -> Tensor:
    """Returns complex numbers made from a last dimension of extent 2, as a copy.

    Parameters
    ----------
    input : Tensor
        A float32 or float64 tensor of shape (..., 2).

    Returns
    -------
    Tensor
        A complex tensor without the last dimension.

    See Also
    --------
    torch.view_as_real

    Notes
    -----
    PyTorch's result is a view.

    Examples
    --------
    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if not input.is_floating_point() or not input.ndim or input.dims[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return _map("make_complex", input[..., 0], input[..., 1])


_BOTH = by_name(rot90, hsplit, vsplit, dsplit, kron, trace, argwhere, index_put)
METHODS = _BOTH | by_name(sum_to_size)
FUNCTIONS = _BOTH | {"row_stack": _joining.vstack} | by_name(
    atleast_1d, atleast_2d, atleast_3d, dstack, column_stack, tril_indices, triu_indices, cartesian_prod,
    combinations, block_diag,
    view_as_real, view_as_complex
)  # fmt: skip
