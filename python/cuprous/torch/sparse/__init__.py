"""Sparse tensors: `torch.sparse` and the functions that create them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cuprous import _core, torch
from cuprous._common.naming import related_names
from cuprous._core import Tensor
from cuprous.torch import _creation, _placeholders
from cuprous.torch._args import tensor_of, unsupported
from cuprous.torch._keywords import complete as _complete
from cuprous.torch._memory_format import LAYOUTS
from cuprous.torch._types import Size
from cuprous.torch.sparse import _operations, _positions
from cuprous.torch.sparse._tensor import UNARY, SparseTensor, from_dense

_COO = LAYOUTS["sparse_coo"]


def _made(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    found = values if isinstance(values, Tensor) else _creation.tensor(values, device=device)
    if dtype is not None or device is not None:
        found = found.to(dtype=dtype, device=device)
    return found.detach().requires_grad_() if requires_grad else found


def _whole(given: Any, device: Any) -> Tensor:
    found = given if isinstance(given, Tensor) else _creation.tensor(given)
    found = found.to(dtype=torch.int64, device=device)
    return found.detach()


def sparse_coo_tensor(*args: Any, size: Sequence[int] | None = None, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None, **named: Any) -> SparseTensor:  # fmt: skip
    """Returns a sparse tensor from coordinates and values.

    Parameters
    ----------
    *args : any
        The indices, a row for each sparse dimension; the values; and possibly the size. Or the size alone.
    size : sequence of ints, optional
        The shape, by default the smallest one that has the indices, which are read for it.
    dtype : dtype, optional
        The dtype of the values, by default their own.
    device : device or str, optional
        The device, by default that of the values.
    pin_memory : bool, default False
        For PyTorch's signature; only False.
    requires_grad : bool, default False
        Whether the values are a leaf that requires a gradient.
    check_invariants : bool, optional
        Whether indices are compared with the size, which reads them.
    is_coalesced : bool, optional
        Whether the indices are sorted and unique.
    **named : any
        `indices` and `values` by name.

    Returns
    -------
    SparseTensor
        A sparse tensor.

    Raises
    ------
    RuntimeError
        For numbers of indices and values that differ, and with `check_invariants` for an index beyond the size.

    See Also
    --------
    torch.sparse_csr_tensor, torch.sparse_csc_tensor, torch.Tensor.to_sparse

    Examples
    --------
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if pin_memory:
        raise NotImplementedError("[sparse_coo_tensor] pin_memory=True is not supported; pin the values")
    given: dict[str, Any] = dict(zip(("indices", "values", "size"), args, strict=False)) | named
    if "values" not in given:
        empty_shape = Size(given["indices"] if size is None else size)
        empty = _creation.zeros((0,), dtype=dtype, device=device, requires_grad=requires_grad)
        nowhere = _creation.zeros((len(empty_shape), 0), dtype=torch.int64, device=device)
        return SparseTensor(nowhere, empty, empty_shape, _COO, True)
    values = _made(given["values"], dtype, device, requires_grad)
    indices = _whole(given["indices"], values.device)
    shape = given.get("size", size)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.dims)}")
    if values.ndim == 0:
        values = values.expand([indices.dims[1]])
    if indices.dims[1] != values.dims[0]:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{indices.dims[1]}, nnz from values: {values.dims[0]}")  # fmt: skip
    dims = _positions.sizes_of(indices, values) if shape is None else tuple(Size(shape))
    if len(dims) != indices.dims[0] + values.ndim - 1:
        raise RuntimeError("number of dimensions must be sparse_dim "
                           f"({indices.dims[0]}) + dense_dim ({values.ndim - 1}), but got {len(dims)}")  # fmt: skip
    if check_invariants or (check_invariants is None and check_sparse_tensor_invariants.is_enabled()):
        for d, found in enumerate(indices.amax(1).tolist() if indices.dims[1] else []):
            if found >= dims[d]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {dims[d]} but found index "
                                   f"{found}")  # fmt: skip
    return SparseTensor(indices, values, dims, _COO, bool(is_coalesced))


def _compressed(name: str, kind: str) -> Callable[..., SparseTensor]:
    major = ("rows", "columns") if kind == "sparse_csr" else ("columns", "rows")

    def make(compressed: Any, plain: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
             pin_memory: bool = False, requires_grad: bool = False,
             check_invariants: bool | None = None) -> SparseTensor:  # fmt: skip
        if pin_memory:
            raise NotImplementedError(f"[{name}] pin_memory=True is not supported; pin the values")
        stored = _made(values, dtype, device, requires_grad)
        offsets, indices = (_whole(x, stored.device) for x in (compressed, plain))
        if offsets.ndim != 1 or stored.ndim != 1:
            raise NotImplementedError(f"[{name}] batches and blocks are not supported; use torch.sparse_coo_tensor")
        if indices.dims != stored.dims:
            raise RuntimeError(f"number of values {stored.dims[0]} differs from that of indices {indices.dims[0]}")
        if size is None:
            (other,) = _positions.sizes_of(indices.unsqueeze(0), stored)
            size = (offsets.dims[0] - 1, other) if kind == "sparse_csr" else (other, offsets.dims[0] - 1)
        checks = check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants
        if checks and (int(offsets[0]) != 0 or int(offsets[-1]) != stored.dims[0]):
            raise RuntimeError(f"`{name.removeprefix('sparse_')}`: offsets must run from 0 to nnz")
        return SparseTensor((offsets, indices), stored, tuple(size), LAYOUTS[kind])

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Returns a sparse matrix with compressed {major[0]}.

    Parameters
    ----------
    compressed : array_like
        The offset of each of the {major[0]} among the values, and the number of values.
    plain : array_like
        The {major[1]} of the values.
    values : array_like
        The values.
    size : int or sequence of ints, optional
        The shape, by default the smallest one that has the indices, which are read for it.
    dtype : dtype, optional
        The dtype of the values, by default their own.
    device : device or str, optional
        The device, by default that of the values.
    pin_memory : bool, default False
        For PyTorch's signature; only False.
    requires_grad : bool, default False
        Whether the values are a leaf that requires a gradient.
    check_invariants : bool, optional
        Whether the offsets are checked, which reads them.

    Returns
    -------
    SparseTensor
        A sparse tensor.

    Raises
    ------
    RuntimeError
        For numbers of indices and values that differ.

    See Also
    --------
    {related_names(name, "sparse_csr_tensor sparse_csc_tensor sparse_coo_tensor sparse_compressed_tensor")}

    Examples
    --------
    >>> torch.{name}([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2)).to_dense()
    tensor([[0., {"3" if kind == "sparse_csr" else "4"}.],
            [{"4" if kind == "sparse_csr" else "3"}., 0.]])
    """
    return make


sparse_csr_tensor = _compressed("sparse_csr_tensor", "sparse_csr")
sparse_csc_tensor = _compressed("sparse_csc_tensor", "sparse_csc")


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
                             layout: Any = None, **options: Any) -> SparseTensor:  # fmt: skip
    """Returns a sparse matrix with compressed rows or columns.

    Parameters
    ----------
    compressed_indices : array_like
        The offsets of the rows or columns.
    plain_indices : array_like
        The columns or rows of the values.
    values : array_like
        The values.
    size : int or sequence of ints, optional
        The shape.
    layout : layout, optional
        `torch.sparse_csr` or `torch.sparse_csc`.
    **options : any
        The keywords of `sparse_csr_tensor`.

    Returns
    -------
    SparseTensor
        A sparse tensor.

    Raises
    ------
    NotImplementedError
        For layouts with blocks.

    See Also
    --------
    torch.sparse_csr_tensor, torch.sparse_csc_tensor, torch.sparse_coo_tensor

    Examples
    --------
    >>> torch.sparse_compressed_tensor([0, 1], [1], [3.0], (1, 2), layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.]])
    """
    if layout is None:
        raise RuntimeError("expected sparse compressed tensor layout but got none")
    make = {"sparse_csr": sparse_csr_tensor, "sparse_csc": sparse_csc_tensor}.get(layout.name)
    if make is None:
        raise NotImplementedError(f"[sparse_compressed_tensor] {layout!r} is not supported; use torch.sparse_csr")
    return make(compressed_indices, plain_indices, values, size, **options)


def mm(mat1: Any, mat2: Any) -> Any:
    """Returns the product of a sparse matrix and a dense or sparse one.

    Parameters
    ----------
    mat1 : Tensor or SparseTensor
        A matrix.
    mat2 : Tensor or SparseTensor
        A matrix; at least one is sparse.

    Returns
    -------
    Tensor
        A dense matrix, or for two sparse ones a sparse matrix.

    See Also
    --------
    torch.sparse.sampled_addmm, torch.sparse.addmm

    Examples
    --------
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _operations.matmul(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """Returns `beta * mat + alpha * (mat1 @ mat2)`.

    Parameters
    ----------
    mat : Tensor
        A dense matrix.
    mat1 : SparseTensor
        A sparse matrix.
    mat2 : Tensor
        A dense matrix.
    beta : float, default 1.0
        The factor of `mat`.
    alpha : float, default 1.0
        The factor of the product.

    Returns
    -------
    Tensor
        A dense matrix.

    See Also
    --------
    torch.sparse.mm, torch.sparse.sampled_addmm

    Examples
    --------
    >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1), alpha=2.0)
    tensor([[3.],
            [3.]])
    """
    return _operations.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0,
                  out: Any = None) -> SparseTensor:  # fmt: skip
    """Returns `beta * input + alpha * (mat1 @ mat2)` at the positions of a sparse matrix.

    Parameters
    ----------
    input : SparseTensor
        A sparse matrix.
    mat1 : Tensor
        A dense matrix.
    mat2 : Tensor
        A dense matrix.
    beta : float, default 1.0
        The factor of `input`.
    alpha : float, default 1.0
        The factor of the product.
    out : Tensor, optional
        For PyTorch's signature; only None.

    Returns
    -------
    SparseTensor
        A sparse matrix with the positions of `input`.

    See Also
    --------
    torch.sparse.addmm, torch.sparse.mm

    Examples
    --------
    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if out is not None:
        raise NotImplementedError("[sampled_addmm] out= is not supported; use the result")
    rows, columns = input._coordinates()
    products = (mat1[rows] * mat2.mT[columns]).sum(1)
    return input._like(beta * input._stored + alpha * products)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """Returns the sum over all dimensions of a sparse tensor, or over some of them.

    Parameters
    ----------
    input : SparseTensor
        A sparse tensor.
    dim : int or sequence of ints, optional
        A dimension or several; None for all.
    dtype : dtype, optional
        The dtype of the sum.

    Returns
    -------
    Tensor
        A sparse tensor, or a dense one if no sparse dimension is left.

    See Also
    --------
    torch.sparse.softmax, torch.sparse.log_softmax

    Examples
    --------
    >>> torch.sparse.sum(torch.eye(2).to_sparse())
    tensor(2.)
    """
    return _operations.total(input, dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Returns the softmax of the stored values along a dimension.

    Parameters
    ----------
    input : SparseTensor
        A sparse tensor.
    dim : int
        The dimension.
    dtype : dtype, optional
        The dtype in which it is computed.

    Returns
    -------
    Tensor
        A sparse tensor.

    See Also
    --------
    torch.sparse.log_softmax, torch.sparse.sum

    Examples
    --------
    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).values()
    tensor([1., 1.])
    """
    return _operations.softmax(input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Returns the logarithm of the softmax of the stored values along a dimension.

    Parameters
    ----------
    input : SparseTensor
        A sparse tensor.
    dim : int
        The dimension.
    dtype : dtype, optional
        The dtype in which it is computed.

    Returns
    -------
    Tensor
        A sparse tensor.

    See Also
    --------
    torch.sparse.sum, torch.sparse.softmax

    Examples
    --------
    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), 1).values()
    tensor([0., 0.])
    """
    return _operations.softmax(input, dim, dtype, logarithm=True)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> SparseTensor:
    """Returns a sparse matrix with given diagonals.

    Parameters
    ----------
    diagonals : Tensor
        A diagonal in each row; element j belongs to column j.
    offsets : Tensor
        The diagonals: 0 is the main one, positive ones are above it.
    shape : pair of ints
        The shape of the matrix.
    layout : layout, optional
        The layout, by default that of coordinates.

    Returns
    -------
    SparseTensor
        A sparse matrix.

    See Also
    --------
    torch.diag, torch.diag_embed, torch.sparse_coo_tensor

    Examples
    --------
    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    diagonals = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    offsets = offsets.reshape(-1)
    columns = _core.t_iota(list(diagonals.dims), [0, 1], 0, diagonals.device_name)
    rows = columns - offsets.unsqueeze(1)
    kept = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    positions = torch.stack([rows[kept], columns[kept]])
    found = SparseTensor(positions, diagonals[kept], tuple(shape), _COO)
    return found if layout is None else found.to_sparse(layout=layout)


class check_sparse_tensor_invariants:
    """Whether the positions of new sparse tensors are checked, within a `with` block or from `enable` on.

    Parameters
    ----------
    enable : bool, default True
        Whether they are.

    See Also
    --------
    torch.sparse_coo_tensor, torch.sparse_csr_tensor, torch.sparse_csc_tensor

    Examples
    --------
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self._state, self._before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        """Returns whether positions are checked.

        Returns
        -------
        bool

        Examples
        --------
        >>> torch.sparse.check_sparse_tensor_invariants.is_enabled()
        False
        """
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Checks positions from now on.

        Examples
        --------
        >>> torch.sparse.check_sparse_tensor_invariants.enable()
        >>> torch.sparse.check_sparse_tensor_invariants.disable()
        """
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Does not check positions from now on.

        Examples
        --------
        >>> torch.sparse.check_sparse_tensor_invariants.disable()
        """
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before = check_sparse_tensor_invariants._enabled
        check_sparse_tensor_invariants._enabled = self._state

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        check_sparse_tensor_invariants._enabled = self._before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function with checks, as a decorator."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._state):
                return function(*args, **kwargs)

        return inside


def _dispatched(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of `torch` that also takes sparse tensors."""
    special = _operations.FUNCTIONS.get(name) or (lambda x: getattr(x, name)())

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        operands = (*args, *kwargs.values())
        flat = (y for x in operands for y in (x if type(x) in (list, tuple) else (x,)))
        return special(*args, **kwargs) if any(map(_operations.is_sparse, flat)) else plain(*args, **kwargs)

    return function


# The functions of a process that has no sparse tensors cost what they did.
for _name in (*_operations.FUNCTIONS, *UNARY):
    if hasattr(torch, _name):
        setattr(torch, _name, _dispatched(_name, getattr(torch, _name)))


def smm(input: Any, mat: Tensor) -> SparseTensor:
    """Returns the product of a sparse and a dense matrix as a sparse tensor.

    Parameters
    ----------
    input : SparseTensor
        A sparse matrix.
    mat : Tensor
        A dense matrix.

    Returns
    -------
    SparseTensor
        A sparse matrix.

    See Also
    --------
    torch.sspaddmm, torch.sparse.mm, torch.sparse.addmm

    Examples
    --------
    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return from_dense(tensor_of(_operations.matmul(input, mat)))


def sspaddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> SparseTensor:
    """Returns `beta * input + alpha * (mat1 @ mat2)` as a sparse tensor.

    Parameters
    ----------
    input : SparseTensor
        A sparse matrix.
    mat1 : SparseTensor
        A sparse matrix.
    mat2 : Tensor
        A dense matrix.
    beta : number, default 1
        The factor of `input`.
    alpha : number, default 1
        The factor of the product.
    out : Tensor, optional
        Only None: a sparse tensor is not written to.

    Returns
    -------
    SparseTensor
        A sparse matrix.

    See Also
    --------
    torch.smm, torch.sparse.addmm, torch.addmm

    Examples
    --------
    >>> eye = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(eye, eye, torch.eye(2)).to_dense()
    tensor([[2., 0.],
            [0., 2.]])
    """
    unsupported("sspaddmm", out=(out, None))
    found: SparseTensor = _operations.add(
        _operations.multiply(input, beta), _operations.multiply(smm(mat1, mat2), alpha)
    )
    return found


if not TYPE_CHECKING:  # checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("sparse", name)


__all__ = [
    "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip

_NAMED = ("log_softmax", "smm", "softmax", "sparse_csc_tensor", "sparse_csr_tensor")
globals().update(_complete({name: globals()[name] for name in _NAMED}))
