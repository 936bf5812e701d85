"""Operations on sparse tensors. Products with dense matrices are the sparse routines of arrays; all else is composed of
operations on positions and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from cuprous import _core
from cuprous._common.operands import on_array_device
from cuprous._core import Tensor
from cuprous.scipy.sparse import _product
from cuprous.scipy.sparse._pattern import Pattern
from cuprous.torch import _joining, _ordering, _reductions
from cuprous.torch._args import dims_of, wrap_dim
from cuprous.torch._memory_format import LAYOUTS
from cuprous.torch.autograd import Function
from cuprous.torch.sparse import _positions
from cuprous.torch.sparse._tensor import SparseTensor

_map = _core.t_map
COO = LAYOUTS["sparse_coo"]


def is_sparse(x: Any) -> bool:
    """Returns True for sparse tensors."""
    return type(x) is SparseTensor


def dense(x: Any) -> Tensor:
    """Returns the dense tensor of a sparse one; others as they are."""
    return cast("Tensor", x.to_dense() if is_sparse(x) else x)


# The device of tensors need not be the default one of arrays.
_pattern, _compressed = on_array_device(Pattern.of), on_array_device(_product.compressed)


class _Rows:
    """The positions of a matrix by rows: what products need, computed once for all tensors with the same positions."""

    def __init__(self, x: SparseTensor) -> None:
        coordinates = x._coordinates()
        self.rows, self.columns = coordinates[0], coordinates[1]
        # Values at one position need not be merged: a product adds their terms.
        self.order = None if x.is_sparse_csr else self.rows.argsort(stable=True)
        rows = self.rows if self.order is None else self.rows[self.order]
        columns = self.columns if self.order is None else self.columns[self.order]
        starts = _positions.starts(rows, x.dims[0])
        self.pattern = _pattern(starts.as_array(), columns.as_array())


class _Product(Function):
    """The product of a sparse matrix, or of its transpose, and a dense matrix."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, other: Tensor, rows: _Rows, height: int, transposed: bool) -> Tensor:
        ctx.save_for_backward(values, other)
        ctx.rows, ctx.transposed = rows, transposed
        ordered = values if rows.order is None else values[rows.order]
        result = _compressed(ordered.as_array(), rows.pattern, other.as_array(), height, transposed)
        return _core.t_wrap(result)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        values, other = ctx.saved_tensors
        rows: _Rows = ctx.rows
        written, read = (rows.columns, rows.rows) if ctx.transposed else (rows.rows, rows.columns)
        of_values = of_other = None
        if ctx.needs_input_grad[0]:
            of_values = _reductions.sum(g[written] * other[read].conj(), 1)
        if ctx.needs_input_grad[1]:
            of_other = _Product.apply(values.conj(), g, rows, other.dims[0], not ctx.transposed)
        return of_values, of_other, None, None, None


def matmul(a: Any, b: Any) -> Any:
    """Returns the product of matrices, of which at least one is sparse; two sparse ones have a sparse product."""
    if is_sparse(a) and is_sparse(b):
        return _sparse_product(a, b)
    if is_sparse(b):
        if a.ndim == 1:
            return matmul(b.t(), a)
        return matmul(b.t(), a.mT).mT if a.ndim == 2 else _unsupported("matmul", a, b)
    if a.dense_dim() or len(a.dims) != 2 or b.ndim not in (1, 2):
        return _unsupported("matmul", a, b)
    if b.dims[0] != a.dims[1]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.dims[1]}, got {b.dims[0]}")
    if a.dtype_name != b.dtype_name:
        raise RuntimeError(f"expected both matrices to have the same dtype, but got {a.dtype} and {b.dtype}")
    if a._pattern is None:
        a._pattern = _Rows(a)
    columns = b.unsqueeze(1) if b.ndim == 1 else b
    result = _Product.apply(a._stored, columns, a._pattern, a.dims[0], False)
    return result.squeeze(1) if b.ndim == 1 else result


def _unsupported(name: str, *operands: Any) -> Any:
    shapes = " and ".join(str(list(x.dims)) for x in operands)
    raise NotImplementedError(f"[{name}] operands of shapes {shapes} are not supported; use matrices or to_dense()")


def _sparse_product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Returns the product of two sparse matrices: all terms, summed by position."""
    if len(a.dims) != 2 or len(b.dims) != 2 or a.dense_dim() or b.dense_dim():
        _unsupported("matmul", a, b)
    if a.dims[1] != b.dims[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.dims[0]}x{a.dims[1]} and "
                           f"{b.dims[0]}x{b.dims[1]})")  # fmt: skip
    first, second = a.to_sparse(), b.to_sparse().coalesce()
    rows, inner = first._at[0], first._at[1]
    starts = _positions.starts(second._at[0], b.dims[0])
    counts = starts[inner + 1] - starts[inner]
    ends = counts.cumsum(0)
    total = int(ends[-1]) if counts.dims[0] else 0
    term = _core.t_iota([total], [1], 0, rows.device_name)
    owner = _ordering.searchsorted(ends, term, right=True)
    place = starts[inner][owner] + term - (ends - counts)[owner]
    values = first._stored[owner] * second._stored[place]
    positions = _joining.stack([rows[owner], second._at[1][place]])
    found = SparseTensor(positions, values, (a.dims[0], b.dims[1]), COO).coalesce()
    return found if a.is_coo else found.to_sparse_csr()


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Returns `beta * mat + alpha * (mat1 @ mat2)`."""
    product = matmul(mat1, mat2)
    product = product if alpha == 1 else multiply(product, alpha)
    return product if beta == 0 else add(mat if beta == 1 else multiply(mat, beta), product)


def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """Returns `a + alpha * b`."""
    b = b if alpha == 1 else multiply(b, alpha)
    if not is_sparse(a):
        return a + dense(b)
    if not is_sparse(b):
        if a.is_coo or not isinstance(b, Tensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return a.to_dense() + b
    if a.dims != b.dims:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {a.dims} != {b.dims}")
    first, second = a.to_sparse(), b.to_sparse()
    positions = _joining.cat([first._at, second._at], 1)
    found = SparseTensor(positions, _joining.cat([first._stored, second._stored]), a.dims, COO).coalesce()
    return found if a.is_coo else found.to_sparse(layout=a.layout)


def subtract(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """Returns `a - alpha * b`."""
    return add(a, b, alpha=-alpha)


def multiply(a: Any, b: Any) -> Any:
    """Returns the product of elements, of which at least one operand is sparse: so is the result."""
    if not is_sparse(a):
        return multiply(b, a) if is_sparse(b) else a * b
    if not isinstance(b, Tensor) or (not is_sparse(b) and b.ndim == 0):
        return a._like(a._stored * b)
    if is_sparse(b):
        x, y = a.to_sparse().coalesce(), b.to_sparse().coalesce()
        if x.dims != y.dims:
            raise RuntimeError(f"mul operands have incompatible sizes: {x.dims} and {y.dims}")
        ours, theirs = _positions.keys(x._at, x.dims), _positions.keys(y._at, y.dims)
        place = _ordering.searchsorted(theirs, ours).clamp(max=max(y._nnz() - 1, 0))
        kept = (theirs[place] == ours).nonzero().squeeze(1) if y._nnz() else ours[:0]
        values = x._stored[kept] * y._stored[place[kept]]
        return SparseTensor(x._at[:, kept], values, x.dims, COO, True).to_sparse(layout=a.layout)
    return a._like(a._stored * b.expand(a.dims)[tuple(a._coordinates())])


def divide(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    """Returns a sparse tensor over a number or a tensor without dimensions."""
    if not is_sparse(a) or is_sparse(b) or (isinstance(b, Tensor) and b.ndim):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return a._like(a._stored.div(b, rounding_mode=rounding_mode))


def power(a: Any, exponent: Any) -> Any:
    """Returns a power of each element with a positive number as exponent."""
    if not is_sparse(a) or isinstance(exponent, Tensor) or exponent <= 0:
        raise RuntimeError("pow of a sparse tensor requires a positive number as exponent")
    x = a.to_sparse().coalesce() if a.is_coo else a
    return x._like(x._stored**exponent)


def total(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Returns the sum over all dimensions or some of them."""
    input = input if dtype is None else input.to(dtype)
    reduced = dims_of(dim)
    if reduced is None:
        return _reductions.sum(input._stored)
    if keepdim:
        raise NotImplementedError("[sum] keepdim=True of sparse tensors is not supported; use to_dense()")
    x = input.to_sparse()
    n, count = len(x.dims), x.sparse_dim()
    gone = sorted({wrap_dim(d, n) for d in reduced})
    inner = [d - count + 1 for d in gone if d >= count]
    values = _reductions.sum(x._stored, inner) if inner else x._stored
    kept = [d for d in range(count) if d not in gone]
    dims = [x.dims[d] for d in range(n) if d not in gone]
    if not kept:
        return _reductions.sum(values, 0)
    positions = _joining.stack([x._at[d] for d in kept])
    is_same = x._is_coalesced and len(kept) == count
    found = SparseTensor(positions, values, dims, COO, is_same)
    return found if is_same else found.coalesce()


def softmax(input: Any, dim: int, dtype: Any = None, *, logarithm: bool = False) -> Any:
    """Returns the softmax of the stored values along a dimension, or its logarithm."""
    x = (input if dtype is None else input.to(dtype)).to_sparse().coalesce()
    dim = wrap_dim(dim, len(x.dims))
    if dim >= x.sparse_dim():
        values = x._stored.log_softmax(dim - x.sparse_dim() + 1) if logarithm else x._stored.softmax(
            dim - x.sparse_dim() + 1)  # fmt: skip
        return x._like(values)
    others = [d for d in range(x.sparse_dim()) if d != dim]
    dims = [x.dims[d] for d in others]
    group = _positions.keys(_joining.stack([x._at[d] for d in others]), dims) if others else x._at[0] * 0
    values, count = x._stored, math.prod(dims)
    index = group.reshape([-1, *(1 for _ in values.dims[1:])]).expand(values.dims)
    low = _core.t_full([count, *values.dims[1:]], -math.inf, values.dtype_name, values.device_name)
    highest = low.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - highest[group]
    powers = _map("exp", shifted)
    sums = (low * 0).nan_to_num(0.0).index_add(0, group, powers)
    return x._like(shifted - _map("log", sums)[group] if logarithm else powers / sums[group])


def concatenated(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """Returns sparse tensors one after another along a sparse dimension."""
    parts = [x.to_sparse() for x in tensors]
    dim = wrap_dim(dim, len(parts[0].dims))
    positions, offset = [], 0
    for x in parts:
        rows = [x._at[d] + offset if d == dim else x._at[d] for d in range(x.sparse_dim())]
        positions.append(_joining.stack(rows))
        offset += x.dims[dim]
    dims = [offset if d == dim else n for d, n in enumerate(parts[0].dims)]
    return SparseTensor(_joining.cat(positions, 1), _joining.cat([x._stored for x in parts]), dims, COO)


def stacked(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """Returns sparse tensors along a new dimension."""
    return concatenated([unsqueezed(x, dim) for x in tensors], dim)


def unsqueezed(x: Any, dim: int) -> SparseTensor:
    """Returns the tensor with a new dimension of extent 1 among the sparse ones."""
    x = x.to_sparse()
    at = wrap_dim(dim, len(x.dims) + 1)
    if at > x.sparse_dim():
        raise NotImplementedError("[unsqueeze] among the dense dimensions of a sparse tensor is not supported")
    rows = [x._at[d] for d in range(x.sparse_dim())]
    rows.insert(at, x._at[0] * 0)
    return SparseTensor(_joining.stack(rows), x._stored, [*x.dims[:at], 1, *x.dims[at:]], COO, x._is_coalesced)


def selected(x: Any, dim: int, index: int) -> Any:
    """Returns the part at one index of a dimension."""
    x = x.to_sparse()
    dim = wrap_dim(dim, len(x.dims))
    if not -x.dims[dim] <= index < x.dims[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.dims)} at dimension {dim}")
    dims = [n for d, n in enumerate(x.dims) if d != dim]
    if dim >= x.sparse_dim():
        return SparseTensor(x._at, x._stored.select(dim - x.sparse_dim() + 1, index), dims, COO, x._is_coalesced)
    kept = (x._at[dim] == index % x.dims[dim]).nonzero().squeeze(1)
    if x.sparse_dim() == 1:
        return _reductions.sum(x._stored[kept], 0)
    rows = [x._at[d][kept] for d in range(x.sparse_dim()) if d != dim]
    return SparseTensor(_joining.stack(rows), x._stored[kept], dims, COO, x._is_coalesced)


def index_selected(x: Any, dim: int, index: Tensor) -> SparseTensor:
    """Returns the parts at several indices of a sparse dimension."""
    parts = [unsqueezed(selected(x, dim, int(i)), dim) for i in index.tolist()]
    return concatenated(parts, dim).coalesce()


def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Returns the norm of all elements."""
    if dim is not None or keepdim:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty")
    return (x.to_sparse().coalesce()._stored if x.is_coo else x._stored).norm(2 if p == "fro" else p, dtype=dtype)


def zeros_like(x: Any) -> SparseTensor:
    """Returns a sparse tensor of the same shape without values."""
    rows = _core.t_full([x.sparse_dim(), 0], 0, "int64", x.device_name)
    values = _core.t_full([0, *x.dims[x.sparse_dim() :]], 0, x.dtype_name, x.device_name)
    return SparseTensor(rows, values, x.dims, COO, True).to_sparse(layout=x.layout)


def _item(self: SparseTensor, key: Any) -> Any:
    found: Any = self
    for index in key if isinstance(key, tuple) else (key,):
        if not isinstance(index, int):
            raise NotImplementedError("[getitem] sparse tensors are indexed by integers only; use index_select")
        found = selected(found, 0, index) if is_sparse(found) else found[index]
    return found


#: Methods and operators of sparse tensors.
_METHODS: dict[str, Any] = {
    "matmul": matmul, "mm": matmul, "mv": matmul, "__matmul__": matmul, "__rmatmul__": lambda a, b: matmul(b, a),
    "add": add, "__add__": add, "__radd__": lambda a, b: add(b, a), "sub": subtract, "__sub__": subtract,
    "__rsub__": lambda a, b: add(b, multiply(a, -1)), "mul": multiply, "__mul__": multiply, "__rmul__": multiply,
    "div": divide, "__truediv__": divide, "pow": power, "__pow__": power, "__neg__": lambda x: x.neg(), "sum": total,
    "__getitem__": _item, "select": selected, "index_select": index_selected, "unsqueeze": unsqueezed, "norm": norm,
    "smm": matmul, "addmm": addmm, "softmax": softmax,
}  # fmt: skip
for _name, _method in _METHODS.items():
    setattr(SparseTensor, _name, _method)

#: Functions of `torch` that take sparse tensors.
FUNCTIONS: dict[str, Any] = {
    "matmul": matmul, "mm": matmul, "mv": matmul, "addmm": addmm, "add": add, "sub": subtract, "subtract": subtract,
    "mul": multiply, "multiply": multiply, "div": divide, "divide": divide, "pow": power, "sum": total,
    "cat": concatenated, "spmm": matmul, "dsmm": matmul,
    "concat": concatenated, "stack": stacked, "unsqueeze": unsqueezed, "select": selected, "norm": norm,
    "index_select": index_selected, "zeros_like": zeros_like, "t": SparseTensor.t, "transpose": SparseTensor.transpose,
    "numel": SparseTensor.numel, "clone": SparseTensor.clone, "is_floating_point": SparseTensor.is_floating_point,
    "is_complex": SparseTensor.is_complex,
}  # fmt: skip
