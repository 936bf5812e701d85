"""Collation of items into batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._joining import stack


def _rebuilt(like: Any, values: list[Any]) -> Any:
    """Returns a sequence of the same type, or a list if it cannot be constructed."""
    try:
        return type(like)(values)
    except TypeError:
        return values


def _rebuilt_mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    try:
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def default_collate(batch: Sequence[Any]) -> Any:
    """Returns a batch of items.

    Arrays, tensors and numbers are stacked along a new first dimension, dictionaries, tuples and lists are collated
    recursively, and strings stay a list.

    Parameters
    ----------
    batch : sequence
        The items.

    Returns
    -------
    Tensor
        A tensor, or a container of tensors.

    Raises
    ------
    TypeError
        For items of other types.
    RuntimeError
        If items that are sequences differ in length.

    See Also
    --------
    torch.utils.data.default_convert

    Examples
    --------
    >>> torch.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.ndim:
        if first.dtype.kind in "OSUV":
            raise TypeError(_refusal(first.dtype))
        return _creation.as_tensor(np.stack(batch))
    if isinstance(first, (np.generic, np.ndarray)) and not isinstance(first, (str, bytes)):
        return _creation.as_tensor(np.array(batch, first.dtype))
    if isinstance(first, float):
        return _creation.tensor(batch, dtype=_FLOAT64)
    if isinstance(first, int):
        return _creation.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt_mapping(first, {key: default_collate([item[key] for item in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _rebuilt(first, columns)
    raise TypeError(_refusal(type(first)))


def _refusal(kind: Any) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"


def default_convert(data: Any) -> Any:
    """Returns one item with its arrays converted to tensors, for loaders without batches.

    Parameters
    ----------
    data : object
        The item.

    Returns
    -------
    Tensor
        The item, with tensors in place of arrays.

    See Also
    --------
    torch.utils.data.default_collate

    Examples
    --------
    >>> torch.utils.data.default_convert(np.arange(2))
    tensor([0, 1])
    """
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (str, bytes)):
        return data if data.dtype.kind in "OSUV" else _creation.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        values = [default_convert(value) for value in data]
        return values if isinstance(data, tuple) else _rebuilt(data, values)
    return data


_FLOAT64 = _creation.DTYPES["float64"]
