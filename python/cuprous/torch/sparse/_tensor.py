"""Sparse tensors: indices and values, which are tensors themselves, so that gradients flow through the values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining, _types
from cuprous.torch._args import astype
from cuprous.torch._memory_format import LAYOUTS, layout
from cuprous.torch._printing import joined
from cuprous.torch._printing import text as shown
from cuprous.torch._types import Size
from cuprous.torch.sparse import _positions

_map = _core.t_map
#: Functions that are 0 at 0, so that they apply to values alone: method -> function of the table of operations.
UNARY = {
    "abs": "absolute", "neg": "negative", "sqrt": "sqrt", "sin": "sin", "tan": "tan", "asin": "arcsin",
    "atan": "arctan", "sinh": "sinh", "tanh": "tanh", "asinh": "arcsinh", "atanh": "arctanh", "expm1": "expm1",
    "log1p": "log1p", "sign": "sign", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round",
    "erf": "erf", "erfinv": "erfinv", "square": "square", "relu": "relu", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip


class SparseTensor:
    """A tensor of which only some elements are stored. `torch.sparse_coo_tensor` and `Tensor.to_sparse` return one.

    `isinstance(x, torch.Tensor)` is True, but a function that does not support sparse tensors raises. Operations are
    composed of those on the values, so gradients flow to the values: `grad` is a sparse tensor of the same positions.

    Parameters
    ----------
    indices : Tensor
        The positions of the values: for `sparse_coo` a row for each sparse dimension, for `sparse_csr` and `sparse_csc`
        the offsets of the rows (columns) and the columns (rows) as a tuple.
    values : Tensor
        The values along the first dimension.
    size : sequence of ints
        The shape.
    kind : layout
        The layout.
    is_coalesced : bool, default False
        Whether the positions are sorted and unique.

    Examples
    --------
    >>> x = torch.tensor([[0.0, 2.0]]).to_sparse()
    >>> x.values()
    tensor([2.])
    """

    def __init__(self, indices: Any, values: Tensor, size: Sequence[int], kind: layout,
                 is_coalesced: bool = False) -> None:  # fmt: skip
        self._at, self._stored, self.dims = indices, values, tuple(size)
        self.layout, self._is_coalesced = kind, is_coalesced
        self._pattern: Any = None  # of products, created by the first one

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` sees beside `SparseTensor`."""
        return Tensor

    def _like(self, values: Tensor) -> SparseTensor:
        """Returns other values at the same positions."""
        found = SparseTensor(self._at, values, self.dims, self.layout, self._is_coalesced)
        found._pattern = self._pattern
        return found

    # --- what it is
    @property
    def is_coo(self) -> bool:
        """True for the layout of coordinates."""
        return self.layout.name == "sparse_coo"

    @property
    def is_sparse(self) -> bool:
        """True for the layout of coordinates."""
        return self.is_coo

    @property
    def is_sparse_csr(self) -> bool:
        """True for compressed rows."""
        return self.layout.name == "sparse_csr"

    shape = property(lambda self: Size(self.dims))
    ndim = property(lambda self: len(self.dims))
    dtype = property(lambda self: self._stored.dtype)
    device = property(lambda self: self._stored.device)
    device_name = property(lambda self: self._stored.device_name)
    dtype_name = property(lambda self: self._stored.dtype_name)
    requires_grad = property(lambda self: self._stored.requires_grad)
    is_leaf = property(lambda self: self._stored.is_leaf)
    is_cuda = property(lambda self: self._stored.is_cuda)
    grad_fn = property(lambda self: self._stored.grad_fn)
    is_meta = is_quantized = is_nested = property(lambda self: False)

    def size(self, dim: int | None = None) -> Any:
        """Returns the shape, or the extent of one dimension."""
        return self.shape if dim is None else self.dims[dim]

    def dim(self) -> int:
        """Returns the number of dimensions."""
        return len(self.dims)

    def numel(self) -> int:
        """Returns the number of elements, stored or not."""
        return math.prod(self.dims)

    def sparse_dim(self) -> int:
        """Returns the number of dimensions that positions have."""
        return int(self._at.dims[0]) if self.is_coo else 2

    def dense_dim(self) -> int:
        """Returns the number of dimensions that one value has."""
        return len(self.dims) - self.sparse_dim()

    def _nnz(self) -> int:
        return int(self._stored.dims[0])

    def is_floating_point(self) -> bool:
        """Returns True for floating dtypes."""
        return bool(self._stored.is_floating_point())

    def is_complex(self) -> bool:
        """Returns True for complex dtypes."""
        return bool(self._stored.is_complex())

    # --- positions and values
    def _wants(self, name: str, kind: str) -> None:
        if self.layout.name != kind:
            raise RuntimeError(f"{name} expected sparse tensor layout {kind} but got {self.layout!r}")

    def indices(self) -> Tensor:
        """Returns the positions of a coalesced tensor."""
        self._wants("indices", "sparse_coo")
        if not self._is_coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        found: Tensor = self._at
        return found

    def values(self) -> Tensor:
        """Returns the values of a coalesced or compressed tensor."""
        if self.is_coo and not self._is_coalesced:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self._stored

    def _indices(self) -> Tensor:
        self._wants("_indices", "sparse_coo")
        found: Tensor = self._at
        return found

    def _values(self) -> Tensor:
        return self._stored

    def _compressed(self, name: str, kind: str, part: int) -> Tensor:
        self._wants(name, kind)
        found: Tensor = self._at[part]
        return found

    def crow_indices(self) -> Tensor:
        """Returns the offsets of rows of the layout CSR."""
        return self._compressed("crow_indices", "sparse_csr", 0)

    def col_indices(self) -> Tensor:
        """Returns the columns of the layout CSR."""
        return self._compressed("col_indices", "sparse_csr", 1)

    def ccol_indices(self) -> Tensor:
        """Returns the offsets of columns of the layout CSC."""
        return self._compressed("ccol_indices", "sparse_csc", 0)

    def row_indices(self) -> Tensor:
        """Returns the rows of the layout CSC."""
        return self._compressed("row_indices", "sparse_csc", 1)

    def is_coalesced(self) -> bool:
        """Returns whether positions are known to be sorted and unique."""
        self._wants("is_coalesced", "sparse_coo")
        return self._is_coalesced

    def coalesce(self) -> SparseTensor:
        """Returns the tensor with sorted positions and with the sum of the values at each."""
        self._wants("coalesce", "sparse_coo")
        if self._is_coalesced:
            return self
        positions, values = _positions.merged(self._at, self._stored, self.dims)
        return SparseTensor(positions, values, self.dims, self.layout, True)

    # --- conversions
    def _coordinates(self) -> Tensor:
        """Returns the positions of any layout as coordinates."""
        if self.is_coo:
            found: Tensor = self._at
            return found
        major = _positions.expanded(self._at[0], self._nnz())
        pair = [major, self._at[1]] if self.is_sparse_csr else [self._at[1], major]
        return _joining.stack([astype(x, "int64") for x in pair])

    def to_sparse(self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
                  dense_dim: Any = None) -> SparseTensor:  # fmt: skip
        """Returns the tensor in another sparse layout, by default that of coordinates."""
        if blocksize is not None or dense_dim is not None:
            raise NotImplementedError("[to_sparse] blocks and dense dimensions of sparse tensors are not supported")
        if sparse_dim not in (None, self.sparse_dim()):
            raise NotImplementedError("[to_sparse] sparse_dim= of sparse tensors is not supported; use to_dense()")
        name = "sparse_coo" if layout is None else layout.name
        if name == self.layout.name:
            return self
        if name == "sparse_coo":
            coordinates = self._coordinates()
            found = SparseTensor(coordinates, self._stored, self.dims, LAYOUTS[name], self.is_sparse_csr)
            return found if self.is_sparse_csr else found.coalesce()
        if name not in ("sparse_csr", "sparse_csc"):
            raise NotImplementedError(f"[to_sparse] {LAYOUTS[name]!r} is not supported; use torch.sparse_csr")
        if len(self.dims) != 2 or self._stored.ndim != 1:
            raise NotImplementedError("[to_sparse] compressed layouts have two dimensions here; use torch.sparse_coo")
        return _compress(self.to_sparse().coalesce(), name)

    def to_sparse_coo(self) -> SparseTensor:
        """Returns the tensor in the layout of coordinates."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: Any = None) -> SparseTensor:
        """Returns the tensor with compressed rows."""
        return self.to_sparse(layout=LAYOUTS["sparse_csr"], dense_dim=dense_dim)

    def to_sparse_csc(self, dense_dim: Any = None) -> SparseTensor:
        """Returns the tensor with compressed columns."""
        return self.to_sparse(layout=LAYOUTS["sparse_csc"], dense_dim=dense_dim)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """Returns the dense tensor. Its gradient reaches the stored values."""
        found = _positions.scattered(self._coordinates(), self._stored, self.dims)
        return found if dtype is None else found.to(dtype)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Returns the tensor with another dtype or on another device."""
        values = self._stored.to(*args, **kwargs)
        if values is self._stored:
            return self
        moved = values.device_name != self._stored.device_name
        at = self._at
        if moved:
            at = at.to(values.device) if self.is_coo else tuple(x.to(values.device) for x in at)
        found = SparseTensor(at, values, self.dims, self.layout, self._is_coalesced)
        found._pattern = None if moved else self._pattern
        return found

    def cpu(self) -> SparseTensor:
        """Returns the tensor on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> SparseTensor:
        """Returns the tensor on a GPU."""
        return self.to("cuda" if device is None else device, non_blocking=non_blocking)

    def type(self, dtype: Any = None) -> Any:
        """Returns the tensor with another dtype, or the name of its type."""
        return f"torch.sparse.{self._stored.type().removeprefix('torch.')}" if dtype is None else self.to(dtype)

    def float(self) -> SparseTensor:
        """Returns the tensor in float32."""
        return self.to(_types.DTYPES["float32"])

    def double(self) -> SparseTensor:
        """Returns the tensor in float64."""
        return self.to(_types.DTYPES["float64"])

    def half(self) -> SparseTensor:
        """Returns the tensor in float16."""
        return self.to(_types.DTYPES["float16"])

    def bfloat16(self) -> SparseTensor:
        """Returns the tensor in bfloat16."""
        return self.to(_types.DTYPES["bfloat16"])

    def numpy(self) -> Any:
        """Raises TypeError: the tensor is not dense."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # --- gradients
    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Sets whether the values require a gradient."""
        self._stored.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at their positions."""
        found = self._stored.grad
        return None if found is None else self._like(found)

    @grad.setter
    def grad(self, value: SparseTensor | None) -> None:
        self._stored.grad = None if value is None else value._stored

    def retain_grad(self) -> None:
        """Keeps the gradient of a tensor that is not a leaf."""
        self._stored.retain_grad()

    def detach(self) -> SparseTensor:
        """Returns the tensor without its graph."""
        return self._like(self._stored.detach())

    data = property(detach)

    def clone(self, *, memory_format: Any = None) -> SparseTensor:
        """Returns a copy of the values at the same positions."""
        return self._like(self._stored.clone())

    # --- shapes
    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Returns the tensor with two sparse dimensions exchanged."""
        n = len(self.dims)
        first, second = dim0 % n, dim1 % n
        dims = list(self.dims)
        dims[first], dims[second] = dims[second], dims[first]
        if first == second:
            return self
        if not self.is_coo:
            other = LAYOUTS["sparse_csc" if self.is_sparse_csr else "sparse_csr"]
            return SparseTensor(self._at, self._stored, dims, other)
        if max(first, second) >= self.sparse_dim():
            raise RuntimeError("transpose: dense dimensions of sparse tensors cannot be exchanged")
        order = list(range(self.sparse_dim()))
        order[first], order[second] = order[second], order[first]
        rows = _joining.stack([self._at[k] for k in order])
        return SparseTensor(rows, self._stored, dims, self.layout)

    def t(self) -> SparseTensor:
        """Returns the transpose of a matrix."""
        if len(self.dims) > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(self.dims)}D")
        return self.transpose(0, 1) if len(self.dims) == 2 else self

    T = mT = property(t)

    def __repr__(self) -> str:
        parts: list[tuple[str, Tensor]]
        if self.is_coo:
            parts = [("indices", self._at)]
        else:
            names = ("crow_indices", "col_indices") if self.is_sparse_csr else ("ccol_indices", "row_indices")
            parts = list(zip(names, self._at, strict=True))
        parts.append(("values", self._stored.detach()))
        blocks = []
        for name, tensor in parts:
            plain = re.sub(r"(, size=\([\d, ]*\))?,\s+dtype=[\w.]+\)$", r"\1)", shown(tensor))
            blocks.append(f"{name}={plain}".replace("\n", "\n" + " " * (len(name) + 8)))
        suffixes = [f"size={self.dims}", f"nnz={self._nnz()}"]
        if self.dtype_name not in (_core.t_default_dtype(), "int64", "bool", "complex64"):
            suffixes.append(f"dtype={self.dtype}")
        suffixes.append(f"layout={self.layout!r}")
        if self.requires_grad:
            suffixes.append("requires_grad=True" if self.is_leaf else f"grad_fn={self.grad_fn!r}")
        text = "tensor(" + ",\n       ".join(blocks)
        if self.is_coo:
            text, suffixes = f"{text},\n       {suffixes[0]}", suffixes[1:]
        return joined(text, suffixes)

    def __len__(self) -> int:
        return self.dims[0]

    def __bool__(self) -> bool:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")


def _compress(x: SparseTensor, name: str) -> SparseTensor:
    """Returns a coalesced matrix with compressed rows or columns."""
    major, minor = (0, 1) if name == "sparse_csr" else (1, 0)
    indices, values = x._at, x._stored
    if major == 1:
        order = (indices[1] * x.dims[0] + indices[0]).argsort()
        indices, values = indices[:, order], values[order]
    starts = _positions.starts(indices[major], x.dims[major])
    return SparseTensor((starts, indices[minor]), values, x.dims, LAYOUTS[name])


def unary(name: str) -> Callable[..., SparseTensor]:
    """Returns the method that applies a function to the values."""

    def method(self: SparseTensor) -> SparseTensor:
        x = self.coalesce() if self.is_coo and name not in ("neg",) else self
        return x._like(_map(UNARY[name], x._stored))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Returns `{name}` of each stored value."
    return method


for _name in UNARY:
    setattr(SparseTensor, _name, unary(_name))


def from_dense(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Returns the elements of a tensor that are not 0, in the layout of coordinates."""
    n = x.ndim if sparse_dim is None else sparse_dim
    if not 0 <= n <= x.ndim or (n == 0 and x.ndim > 0):
        raise RuntimeError(
            f"sparse_dim argument must be in >0 when self.dim()>0, got {n}; self has {x.ndim} dimensions"
        )
    is_stored = x.detach() != 0
    if n < x.ndim:
        is_stored = is_stored.flatten(n).any(-1)
    positions = is_stored.nonzero().mT.contiguous()
    values = x[tuple(positions)] if n else x.reshape(1)
    return SparseTensor(positions, values, x.dims, LAYOUTS["sparse_coo"], True)
