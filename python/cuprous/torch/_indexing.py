"""Reading and writing by index. Indices become offsets into memory, which the backward pass uses as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import indexing as arrays
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _autocast, _determinism
from cuprous.torch._args import by_name, in_place, tensor_of, unsupported, wrap_dim
from cuprous.torch._arithmetic import wrapped_factor
from cuprous.torch._broadcasting import broadcast_tensors
from cuprous.torch._creation import tensor

_gather, _scatter, _map = _core.t_gather, _determinism.scatter, _core.t_map


def _plain(key: Any, device: str) -> Any:
    """Returns the key with arrays in place of tensors, on the device of the indexed tensor.

    Raises
    ------
    RuntimeError
        If indices are on a GPU and the indexed tensor is not.
    """
    if isinstance(key, Tensor):
        if key.device_name not in (device, "cpu"):
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({device}), "
                f"but they are on {key.device_name}"
            )
        array = key.as_array()
        if array.dtype_name != "bool" and not key.ndim and _is_int(key):
            return int(array)
        return array if key.device_name == device else key.to(device).as_array()
    if isinstance(key, tuple):
        return tuple(_plain(k, device) for k in key)
    if isinstance(key, (list, range)):
        return [_plain(k, device) for k in key]
    return key


def _is_int(t: Tensor) -> bool:
    return not (t.is_floating_point() or t.is_complex())


@arrays.on_array_device
def getitem(self: Tensor, key: Any) -> Tensor:
    """Returns `self[key]` for keys with tensors, lists and masks, as a copy."""
    key = _plain(key, self.device_name)
    if arrays.is_basic_key(key):
        return self[key]
    self = _core.t_indexable(self)
    positions = arrays.plan(self.as_array(), key)
    if positions.view.shape == self.dims:
        return _gather(self, positions.offsets)
    basic = _strided_like(self, positions.view)
    return _gather(basic, positions.offsets)


def _strided_like(self: Tensor, view: Any) -> Tensor:
    """Returns the view of a tensor that corresponds to a view of its memory as an array."""
    start = _core.t_wrap(view).storage_offset() - self.storage_offset()
    return _core.t_strided(self, list(view.shape), list(view.element_strides), start)


@arrays.on_array_device
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Implements `self[key] = value` for all kinds of keys."""
    value = value if isinstance(value, (bool, int, float, complex, Tensor)) else tensor_of_any(value, self)
    key = _plain(key, self.device_name)
    if arrays.is_basic_key(key):
        _core.t_update(self[key], _core.t_to_device(value, self.device_name) if isinstance(value, Tensor) else value)
        return
    mask = arrays.mask_of(key) if not isinstance(key, tuple) else None
    if mask is not None and mask.shape == self.dims and (not isinstance(value, Tensor) or value.numel() == 1):
        if isinstance(value, Tensor):
            value = value.reshape(())
        masked_fill_(self, _core.t_wrap(mask), value)
        return
    _write(self, key, value, "set")


def _spread(value: Tensor, shape: list[int], target: Tensor) -> Tensor:
    """Returns a value broadcast to the target's shape. A tensor without dimensions may be on another device, as a
    number may."""
    return _core.t_expand(value if value.ndim else _core.t_to_device(value, target.device_name), shape)


def _write(self: Tensor, key: Any, value: Any, op: str) -> None:
    positions = arrays.plan(self.as_array(), key)
    target = _strided_like(self, positions.view)
    if isinstance(value, Tensor):
        while value.ndim > len(positions.shape) and value.dims[0] == 1:
            value = value[0]
        value = _spread(value, list(positions.shape), self)
    _scatter(target, positions.offsets, value, op)


def tensor_of_any(value: Any, like: Tensor) -> Tensor:
    """Converts a value of any kind to a tensor."""
    if isinstance(value, _core.ndarray):
        return tensor_of(value)
    return tensor(value, device=like.device)


def index_put_(self: Tensor, indices: tuple[Tensor, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    """Writes (or adds) values at index tensors.

    Parameters
    ----------
    indices : tuple of Tensors
        int64 or bool tensors, one for each leading dimension.
    values : Tensor
        The values, a tensor that broadcasts with the selected elements.
    accumulate : bool, default False
        Whether to add the values; otherwise they replace the elements.

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> torch.zeros(3).index_put_((torch.tensor([0, 2]),), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """
    _write(self, tuple(_plain(i, self.device_name) for i in indices), values, "add" if accumulate else "set")
    return self


def _offsets(t: Tensor, dim: int, index: Tensor) -> Any:
    """Returns the memory offsets of the elements `index` along `dim`; the other coordinates are those of the index
    itself."""
    if index.ndim != t.ndim and t.ndim and index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if index.dtype_name not in ("int64", "int32"):
        raise RuntimeError("gather(): Expected dtype int64 for index")
    if not t.ndim or not index.ndim:
        return index.as_array() * 0
    for k, (n, m) in enumerate(zip(index.dims, t.dims, strict=True)):
        if k != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.dims)} to be no larger than self "
                f"{list(t.dims)} apart from dimension {dim}"
            )
    strides = list(t.stride_tuple())
    own, strides[dim] = strides[dim], 0
    wrapped = arrays.wrapped(index.as_array(), t.dims[dim], dim)
    grid = _core.t_iota(list(index.dims), strides, 0, t.device_name).as_array()
    return grid + (wrapped if own == 1 else wrapped * own)


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Returns `out` with `out[i][j] = input[index[i][j]][j]`, here for `dim=0`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    index : Tensor
        int64 indices, as many dimensions as `input` and no larger in any but `dim`.
    sparse_grad : bool, default False
        For PyTorch's signature; only False.

    Returns
    -------
    Tensor
        A tensor of the shape of `index`.

    Raises
    ------
    IndexError
        For an index out of range.

    See Also
    --------
    torch.scatter, torch.take_along_dim, torch.index_select

    Examples
    --------
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    unsupported("gather", sparse_grad=(sparse_grad, False))
    input = _core.t_indexable(input)
    return _gather(input, _offsets(input, wrap_dim(dim, input.ndim), index))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Returns elements at indices along a dimension, as `gather`, with broadcasting of the other dimensions.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    indices : Tensor
        int64 indices.
    dim : int, optional
        The dimension; None for the flattened tensor.

    Returns
    -------
    Tensor
        A tensor of the shape that both broadcast to.

    See Also
    --------
    torch.gather, torch.take, torch.argsort

    Examples
    --------
    >>> x = torch.tensor([[3, 1], [2, 4]])
    >>> torch.take_along_dim(x, x.argsort(dim=1), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, input.ndim)
    wide = [list(x.dims) for x in (input, indices)]
    for k, (a, b) in enumerate(zip(*wide, strict=True)):
        if k != dim:
            wide[0][k] = wide[1][k] = b if a == 1 else a
    x, index = (t if list(t.dims) == shape else _core.t_expand(t, shape)
                for t, shape in zip((input, indices), wide, strict=True))  # fmt: skip
    # The indices are computed here or checked by `gather`.
    return gather(x, dim, index)


def take(input: Tensor, index: Tensor) -> Tensor:
    """Returns elements of the flattened tensor.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    index : Tensor
        int64 indices.

    Returns
    -------
    Tensor
        A tensor of the shape of `index`.

    Raises
    ------
    IndexError
        For an index out of range.

    See Also
    --------
    torch.take_along_dim, torch.index_select, torch.put

    Examples
    --------
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    return gather(input.reshape(-1), 0, index.reshape(-1)).reshape(index.dims)


def _scatter_functions(name: str, op: str) -> tuple[Callable[..., Tensor], ...]:
    def change(
        self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
    ) -> Tensor:
        how = {None: op, "add": "add", "multiply": "multiply"}.get(reduce)
        if how is None:
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src if value is None else value
        if isinstance(source, Tensor):
            if source.dtype_name != self.dtype_name:
                raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
            if source.dims != index.dims:
                source = source[tuple(slice(0, n) for n in index.dims)]
        _scatter(self, _offsets(self, wrap_dim(dim, self.ndim), index), source, how)
        return self

    def function(
        input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
    ) -> Tensor:
        return change(input.clone(), dim, index, src, value=value, reduce=reduce)

    arguments = f"""dim : int
        The dimension that `index` counts in.
    index : Tensor
        int64 indices, as many dimensions as the tensor and no larger in any but `dim`.
    src : Tensor or number, optional
        The values to {"add" if op == "add" else "write"}: a tensor that covers `index`, or a number.
    value : number, optional
        A number, in place of `src`.
    reduce : {{"add", "multiply"}}, optional
        "add" or "multiply" to combine values with the present elements."""
    raises = """Raises
    ------
    RuntimeError
        For another `reduce`, a `src` of another dtype, and shapes that do not fit.
    IndexError
        For an index out of range."""
    sign = "+" if op == "add" else ""
    return named(
        function,
        name,
        f"""Computes `out[index[i][j]][j] {sign}= src[i][j]` (for `dim=0`) on a copy.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    {arguments}

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    {raises}

    See Also
    --------
    {related_names(name, "scatter scatter_add scatter_reduce gather")}

    Examples
    --------
    >>> torch.{name}(torch.zeros(4), 0, torch.tensor([0, 2]), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6., 0.])
    """,
    ), named(
        change,
        f"{name}_",
        f"""Computes `self[index[i][j]][j] {sign}= src[i][j]` (for `dim=0`).

    Parameters
    ----------
    {arguments}

    Returns
    -------
    Tensor
        The tensor itself.

    {raises}

    Examples
    --------
    >>> torch.zeros(4).{name}_(0, torch.tensor([0, 2]), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6., 0.])
    """,
    )


scatter, scatter_ = _scatter_functions("scatter", "set")
scatter_add, scatter_add_ = _scatter_functions("scatter_add", "add")
scatter_add = _autocast.policy(scatter_add)


def _rows(self: Tensor, dim: int, index: Tensor) -> tuple[int, Any, list[int]]:
    """Returns the offsets of whole slices along a dimension."""
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not self.ndim:
        return dim, index.as_array() * 0, list(index.dims)
    wrapped = arrays.wrapped(index.as_array().reshape(-1), self.dims[dim], dim)
    return dim, *_slices(self, dim, wrapped)


def _slices(self: Tensor, dim: int, index: Any) -> tuple[Any, list[int]]:
    """Returns the offsets of the slices at valid indices, and the shape of the result."""
    strides = list(self.stride_tuple())
    own, strides[dim] = strides[dim], 0
    shape = list(self.dims)
    shape[dim] = index.size
    lead = (-1,) + (1,) * (self.ndim - dim - 1)
    grid = _core.t_iota(shape, strides, 0, self.device_name).as_array()
    return grid + (index * own).reshape(lead), shape


def slices(input: Tensor, dim: int, index: Any) -> Tensor:
    """Returns the slices at an array of indices that are known to be valid."""
    input = _core.t_indexable(input)
    return _gather(input, _slices(input, dim, index)[0])


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Returns the slices at indices along a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    index : Tensor
        A vector of int64 indices.

    Returns
    -------
    Tensor
        A tensor with the extent of `index` along the dimension.

    Raises
    ------
    IndexError
        For an index out of range, or an index that is not a vector.

    See Also
    --------
    torch.gather, torch.take, torch.index_copy

    Examples
    --------
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4], [5, 6]]), 0, torch.tensor([2, 0]))
    tensor([[5, 6],
            [1, 2]])
    """
    if not input.ndim:  # an index of the only element
        return index_select(input.reshape(1), dim, index).reshape(())
    input = _core.t_indexable(input)
    return _gather(input, _rows(input, dim, index)[1])


def rows(weight: Tensor, index: Tensor) -> Tensor:
    """Returns `weight[index]`, the rows of a table, as an embedding needs them."""
    weight = _core.t_indexable(weight)
    (count, width), (stride, step), shape = weight.dims, weight.stride_tuple(), index.dims
    wrapped = arrays.wrapped(index.as_array(), count, 0)
    grid = _core.t_iota([*shape, width], [0] * len(shape) + [step], 0, weight.device_name)
    return _gather(weight, grid.as_array() + (wrapped * stride).reshape((*shape, 1)))


def _index_writing(name: str, op: str, source: str, result: str) -> tuple[Callable[..., Tensor], ...]:
    def change(self: Tensor, dim: int, index: Tensor, source: Any, *, alpha: Any = 1) -> Tensor:
        if name == "index_fill" and self.ndim and isinstance(source, Tensor) and source.requires_grad:
            # An index that occurs twice counts once for the gradient of the number.
            chosen = _core.t_full([self.dims[wrap_dim(dim, self.ndim)]], False, "bool", self.device_name)
            change(chosen, 0, index, True)
            shape = [-1 if k == wrap_dim(dim, self.ndim) else 1 for k in range(self.ndim)]
            masked: Tensor = self.copy_(_core.t_map("where", chosen.reshape(shape), source, self))
            return masked
        _, offsets, shape = _rows(self, dim, index)
        if op == "add" and self.ndim and source.dims != tuple(shape):
            raise RuntimeError(
                "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                f"{list(self.dims)} source.shape = {list(source.dims)}"
            )
        value = source * wrapped_factor(alpha, self) if alpha != 1 else source
        _scatter(self, offsets, _spread(value, shape, self) if isinstance(value, Tensor) else value, op)
        return self

    def function(input: Tensor, dim: int, index: Tensor, source: Any, *, alpha: Any = 1) -> Tensor:
        return change(input.clone(), dim, index, source, alpha=alpha)

    verb = "Adds" if op == "add" else "Writes"
    arguments = f"""dim : int
        The dimension; a negative one counts from the end.
    index : Tensor
        A vector of int64 indices.
    source : {"number" if name == "index_fill" else "Tensor"}
        {"A number" if name == "index_fill" else "A tensor with a slice for each index"}.
    alpha : number, default 1
        The factor of `source`."""
    return named(
        function,
        name,
        f"""{verb} slices along a dimension at indices of a copy.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    {arguments}

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    IndexError
        For an index out of range, or an index that is not a vector.

    See Also
    --------
    {related_names(name, "index_add index_copy index_fill index_select")}

    Examples
    --------
    >>> torch.{name}(torch.ones(3), 0, torch.tensor([0, 2]), {source})
    {result}
    """,
    ), named(
        change,
        f"{name}_",
        f"""{verb} slices along a dimension at indices.

    Parameters
    ----------
    {arguments}

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    IndexError
        For an index out of range, or an index that is not a vector.

    Examples
    --------
    >>> torch.ones(3).{name}_(0, torch.tensor([0, 2]), {source})
    {result}
    """,
    )


index_add, index_add_ = _index_writing("index_add", "add", "torch.tensor([5.0, 6.0])", "tensor([6., 1., 7.])")
index_copy, index_copy_ = _index_writing("index_copy", "set", "torch.tensor([5.0, 6.0])", "tensor([5., 1., 6.])")
index_fill, index_fill_ = _index_writing("index_fill", "set", "9", "tensor([9., 1., 9.])")


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Returns a copy with a value where the mask is true.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    mask : Tensor
        A bool tensor that broadcasts with `input`.
    value : Tensor or number
        A number, or a tensor without dimensions.

    Returns
    -------
    Tensor
        A tensor of the dtype of `input`.

    Raises
    ------
    RuntimeError
        For a mask that is not bool, a value with dimensions, or a complex value for a real tensor.

    See Also
    --------
    torch.masked_scatter, torch.masked_select, torch.where

    Examples
    --------
    >>> torch.masked_fill(torch.tensor([1, 2]), torch.tensor([True, False]), 9)
    tensor([9, 2])
    """
    if mask.dtype_name != "bool":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype_name}")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError("masked_fill only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")  # fmt: skip
    if (value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)) and not input.is_complex():
        raise RuntimeError(f"value cannot be converted to type {input.dtype_name} without overflow")
    return _map("where", mask, value, input, dtype=input.dtype_name)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Writes a value where the mask is true.

    Parameters
    ----------
    mask : Tensor
        A bool tensor that broadcasts with the tensor.
    value : Tensor or number
        A number, or a tensor without dimensions.

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    RuntimeError
        For a mask that is not bool, or a value with dimensions.

    Examples
    --------
    >>> torch.tensor([1, 2]).masked_fill_(torch.tensor([True, False]), 9)
    tensor([9, 2])
    """
    _core.t_update(self, masked_fill(self, mask, value))
    return self


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Returns the elements where the mask is true. The mask is read on the host.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    mask : Tensor
        A bool tensor that broadcasts with `input`.

    Returns
    -------
    Tensor
        A tensor of one dimension.

    See Also
    --------
    torch.nonzero, torch.where

    Examples
    --------
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    a, m = broadcast_tensors(input, mask)
    return getitem(a, m)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Returns a copy in which elements of `source`, in order, replace those where the mask is true.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    mask : Tensor
        A bool tensor that broadcasts with `input`.
    source : Tensor
        The values, at least as many as the mask has true elements.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        If `mask` is not bool, or `source` has too few elements.

    See Also
    --------
    torch.masked_fill, torch.masked_select, torch.where

    Examples
    --------
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """
    if mask.dtype_name != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype_name}")
    input, mask = broadcast_tensors(input, mask)
    result = input.clone()
    n = int(mask.sum())
    if n > source.numel():
        raise RuntimeError("masked_scatter: expected self and source to have enough elements")
    setitem(result, mask, source.reshape(-1)[:n])
    return result


@arrays.on_array_device
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Returns the indices of the nonzero elements. Their number is read on the host.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    as_tuple : bool, default False
        Whether to return a tuple of one vector for each dimension.

    Returns
    -------
    Tensor
        An int64 tensor of shape (n, input.ndim), or a tuple of vectors.

    See Also
    --------
    torch.where, torch.masked_select, torch.unravel_index

    Examples
    --------
    >>> torch.nonzero(torch.tensor([0, 3, 5]))
    tensor([[1],
            [2]])
    """
    found = cp.nonzero(input.as_array() if input.ndim else input.as_array().reshape(-1))
    if as_tuple:
        return tuple(map(_core.t_wrap, found))
    return _core.t_wrap(cp.stack(found, 1) if input.ndim else found[0].reshape(-1, 1)[:, :0])


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Returns a copy with other values at positions in row-major order.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    index : Tensor
        The positions (int64); negative ones count from the end.
    source : Tensor
        The values, as many as positions.
    accumulate : bool, default False
        Whether values are added to what is there.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        For numbers of positions and values that differ.

    See Also
    --------
    torch.take, torch.index_put, torch.scatter

    Examples
    --------
    >>> torch.put(torch.zeros(2, 2), torch.tensor([1, 2]), torch.tensor([5.0, 6.0]))
    tensor([[0., 5.],
            [6., 0.]])
    """
    if index.numel() != source.numel():
        raise RuntimeError("put_(): Expected source and index to have the same number of elements, but got source "
                           f"with {source.numel()} and index with {index.numel()}")  # fmt: skip
    flat = input.reshape(-1).clone()
    return flat.index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(list(input.dims))


FUNCTIONS = by_name(gather, take_along_dim, take, scatter, scatter_add, index_select, index_add, index_copy, index_fill,
                    masked_fill, masked_select, masked_scatter, nonzero, put)  # fmt: skip
METHODS = FUNCTIONS | by_name(
    scatter_, scatter_add_, index_add_, index_copy_, index_fill_, masked_fill_, index_put_,
    in_place(put, "torch.zeros(2).put_(torch.tensor([1]), torch.tensor([5.0])) -> tensor([0., 5.])"),
)  # fmt: skip
