"""Methods of dense tensors that return sparse ones. `torch.sparse` is imported when it is used."""

from __future__ import annotations

import importlib
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._args import by_name
from cuprous.torch._memory_format import LAYOUTS


def to_sparse(self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: Any = None) -> Any:  # fmt: skip
    """Returns a sparse tensor of the elements that are not 0.

    Parameters
    ----------
    sparse_dim : int, optional
        The number of dimensions that positions have, by default all.
    layout : layout, optional
        The layout, by default `torch.sparse_coo`.
    blocksize : int or sequence of ints, optional
        For PyTorch's signature; only None.
    dense_dim : int, optional
        For PyTorch's signature; only None.

    Returns
    -------
    Tensor
        A sparse tensor, through which gradients flow to the elements.

    Raises
    ------
    NotImplementedError
        For layouts with blocks.
    RuntimeError
        For a number of dimensions that the tensor does not have.

    Examples
    --------
    >>> torch.tensor([[0, 2], [3, 0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    if blocksize is not None or dense_dim is not None:
        raise NotImplementedError("[to_sparse] blocksize= and dense_dim= are not supported; use sparse_dim")
    found = importlib.import_module("cuprous.torch.sparse").from_dense(self, sparse_dim)
    return found if layout is None or layout.name == "sparse_coo" else found.to_sparse(layout=layout)


def to_sparse_coo(self: Tensor) -> Any:
    """Returns a sparse tensor with coordinates of the elements that are not 0.

    Returns
    -------
    Tensor
        A sparse tensor.

    Examples
    --------
    >>> torch.eye(2).to_sparse_coo().values()
    tensor([1., 1.])
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: Any = None) -> Any:
    """Returns a sparse matrix with compressed rows.

    Parameters
    ----------
    dense_dim : int, optional
        For PyTorch's signature; only None.

    Returns
    -------
    Tensor
        A sparse tensor.

    Examples
    --------
    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return to_sparse(self, layout=LAYOUTS["sparse_csr"], dense_dim=dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: Any = None) -> Any:
    """Returns a sparse matrix with compressed columns.

    Parameters
    ----------
    dense_dim : int, optional
        For PyTorch's signature; only None.

    Returns
    -------
    Tensor
        A sparse tensor.

    Examples
    --------
    >>> torch.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return to_sparse(self, layout=LAYOUTS["sparse_csc"], dense_dim=dense_dim)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Returns the tensor itself, which is dense.

    Parameters
    ----------
    dtype : dtype, optional
        The dtype of the result.
    masked_grad : bool, optional
        For PyTorch's signature; it is about sparse tensors.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> torch.ones(2).to_dense()
    tensor([1., 1.])
    """
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Tensor, mask: Any) -> Any:
    """Returns a sparse tensor of the elements at the positions of another one.

    Parameters
    ----------
    mask : SparseTensor
        A coalesced or compressed sparse tensor of the same shape.

    Returns
    -------
    Tensor
        A sparse tensor.

    Raises
    ------
    RuntimeError
        For another shape.

    Examples
    --------
    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).values()
    tensor([1., 1.])
    """
    if tuple(self.dims) != tuple(mask.dims):
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.dims)} but mask "
                           f"has size {list(mask.dims)}")  # fmt: skip
    coordinates = mask._coordinates()
    found: Any = mask._like(self[tuple(coordinates)])
    return found


METHODS = by_name(to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_dense, sparse_mask)

__all__ = ["METHODS"]
