"""The functions of `torch._utils` that libraries and pickles use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch._joining import cat
from cuprous.torch.nn.parameter import Parameter


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Returns the elements of tensors of one dtype as one vector."""
    return cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Returns views of a vector in the shapes of tensors."""
    views, start = [], 0
    for t in tensors:
        views.append(flat[start : start + t.numel()].view(t.shape))
        start += t.numel()
    return tuple(views)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterable[list[Tensor]]:
    """Yields groups of tensors of one type, each of at most a number of bytes if it has more than one."""
    groups: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        key = (tensor.dtype, tensor.device)
        group, size = groups.get(key, ([], 0))
        bytes_ = tensor.numel() * tensor.element_size()
        if size + bytes_ > size_limit and group:
            yield group
            group, size = [], 0
        groups[key] = ([*group, tensor], size + bytes_)
    yield from (group for group, _ in groups.values() if group)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Returns the index of a GPU.

    Raises
    ------
    ValueError
        For other devices.
    """
    if isinstance(device, int):
        return device
    if device is None and optional:
        return _types.current_gpu()
    given = _types.device(device)
    if given.type == "cpu" and allow_cpu:
        return -1
    if given.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return _types.current_gpu() if given.index is None else given.index


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Returns device, dtype, `non_blocking` and memory format of the arguments of `Module.to`."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    non_blocking = kwargs.get("non_blocking", False)
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, _types.dtype):
            dtype = arg
        elif isinstance(arg, bool):
            non_blocking = arg
        elif arg is not None:
            device = arg
    return (None if device is None else _types.device(device)), dtype, non_blocking, kwargs.get("memory_format")


def _rebuild_tensor(storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Returns a tensor that is a view of a storage."""
    return storage._elements().as_strided(list(size), list(stride), storage_offset)


def _rebuild_tensor_v2(storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int],
                       requires_grad: bool, backward_hooks: Any, metadata: Any = None) -> Tensor:  # fmt: skip
    """Returns a tensor that is a view of a storage, as pickles name it."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Returns a parameter, as pickles name it."""
    return Parameter(data, requires_grad)


def _import_dotted_name(name: str) -> Any:
    """Returns the object at a dotted path."""
    module, *rest = name.split(".")
    found: Any = __import__(module)
    for part in rest:
        found = getattr(found, part)
    return found


def is_compiling() -> bool:
    """Returns False: Python runs in every iteration."""
    return False


__all__ = ["OrderedDict", "parse_to"]
