"""Arguments and results of operators as plain data: tensors by their bytes, dtype, shape, strides and offset."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

#: The most bytes of one tensor.
_MAX_BYTES = 1 << 20
#: Numbers of bytes of elements up to which a tensor's whole memory is kept, for functions that see beyond the tensor.
_WHOLE = 1000
_PLAIN = (bool, int, float, complex, str, type(None), type(Ellipsis))
#: Dtypes without a counterpart in NumPy or here.
_OTHERS = re.compile(r"complex32|float[48]|q|bits|u?int[1-7]$")


class Unencodable(Exception):
    """A value that is not encoded: a sparse or large tensor, or an object of another kind."""


def encode(torch: Any, x: Any) -> Any:
    """Returns a value as plain data; `torch` is PyTorch."""
    if isinstance(x, torch.Tensor):
        return _encode_tensor(torch, x)
    if isinstance(x, torch.dtype):
        return "dtype", str(x)[6:]
    if isinstance(x, (torch.layout, torch.memory_format)):
        return "name", str(x)[6:]
    if isinstance(x, torch.device):
        return "device", str(x)
    if isinstance(x, (list, tuple)):
        kind = "size" if isinstance(x, torch.Size) else "list" if isinstance(x, list) else "tuple"
        return kind, [encode(torch, item) for item in x]
    if isinstance(x, dict):
        return "dict", {key: encode(torch, value) for key, value in x.items()}
    if isinstance(x, slice):
        return "slice", [encode(torch, part) for part in (x.start, x.stop, x.step)]
    if isinstance(x, _PLAIN):
        return "plain", x
    raise Unencodable(type(x).__name__)


def _encode_tensor(torch: Any, x: Any) -> Any:
    plain = x.layout == torch.strided and x.device.type == "cpu" and not x.is_quantized
    if not plain or type(x) not in (torch.Tensor, torch.nn.Parameter):
        raise Unencodable(f"{type(x).__name__} {x.layout} on {x.device}")
    x = x.detach().resolve_conj().resolve_neg()
    storage, start = x.untyped_storage(), x.storage_offset()
    whole = storage.nbytes() // x.element_size()
    span = 0 if 0 in x.shape else 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
    low, count = (0, whole) if whole <= _WHOLE else (start, span)
    if count * x.element_size() > _MAX_BYTES:
        raise Unencodable("large")
    memory = torch.empty(0, dtype=x.dtype).set_(storage, low, (count,), (1,)).contiguous()
    data = memory.view(torch.uint8).numpy().tobytes() if count else b""
    return "tensor", (data, str(x.dtype)[6:], tuple(x.shape), tuple(x.stride()), start - low)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns NumPy's dtype of a name."""
    if _OTHERS.match(name):
        raise Unencodable(name)
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def values(tensor: Any) -> np.ndarray[Any, Any]:
    """Returns the elements of an encoded tensor."""
    data, name, shape, strides, offset = tensor
    dtype = numpy_dtype(name)
    if 0 in shape:
        return np.empty(shape, dtype)
    memory = np.frombuffer(data, dtype)[offset:]
    return np.lib.stride_tricks.as_strided(memory, shape, [step * dtype.itemsize for step in strides])


def overlaps(tensor: Any) -> bool:
    """Returns True if elements of an encoded tensor share memory."""
    _, _, shape, strides, _ = tensor
    if 0 in shape:
        return False
    reach = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    seen = np.lib.stride_tricks.as_strided(np.arange(reach), shape, [8 * step for step in strides])
    return int(np.unique(seen).size) != seen.size


def decode(torch: Any, data: Any, device: str, double: bool = False) -> Any:
    """Returns the value, with tensors of Cuprous on a device. With `double`, floating tensors are float64."""
    kind, x = data
    if kind == "tensor":
        return _decode_tensor(torch, x, device, double)
    if kind in ("dtype", "name"):
        found = getattr(torch, x)
        return torch.float64 if double and kind == "dtype" and found.is_floating_point else found
    if kind == "device":
        return torch.device(device)
    if kind == "dict":
        return {key: decode(torch, value, device, double) for key, value in x.items()}
    if kind == "plain":
        return x
    items = [decode(torch, item, device, double) for item in x]
    return {"size": torch.Size, "list": list, "tuple": tuple, "slice": lambda parts: slice(*parts)}[kind](items)


def _decode_tensor(torch: Any, tensor: Any, device: str, double: bool) -> Any:
    data, name, shape, strides, offset = tensor
    memory = np.frombuffer(data, numpy_dtype(name))
    if double and name in ("float16", "bfloat16", "float32"):
        memory = memory.astype(np.float64)
    if double and name == "complex64":
        memory = memory.astype(np.complex128)
    bytes_of_two = name == "bfloat16" and not double
    base = torch.from_numpy((memory.astype(np.float32) if bytes_of_two else memory).copy()).to(device)
    base = base.to(torch.bfloat16) if bytes_of_two else base
    if 0 in shape:
        return base.new_empty(shape)
    dense = tuple(np.cumprod((1, *shape[:0:-1]))[::-1].tolist()) if shape else ()
    if strides == dense and offset == 0 and base.numel() == int(np.prod(shape)):
        return base.reshape(shape)
    return base.as_strided(shape, strides, offset)


def tensors(torch: Any, x: Any) -> list[Any]:
    """Returns the floating and complex tensors in a value, in order."""
    if isinstance(x, torch.Tensor):
        return [x] if x.is_floating_point() or x.is_complex() else []
    if isinstance(x, dict):
        x = list(x.values())
    return [found for item in x for found in tensors(torch, item)] if isinstance(x, (list, tuple)) else []


def weighted(torch: Any, x: Any) -> Any:
    """Returns a sum over all elements of the results, of which gradients are taken; None if none requires one."""
    total = None
    for found in tensors(torch, x):
        if not found.requires_grad:
            continue
        weights = torch.from_numpy(np.cos(np.arange(found.numel()) * 0.7 + 0.3)).reshape(found.shape).to(found.device)
        part = ((found.abs() if found.is_complex() else found) * weights).sum()
        total = part if total is None else total + part
    return total


def attribute(module: Any, path: str) -> Any:
    """Returns what a dotted path names."""
    for part in path.split("."):
        module = getattr(module, part)
    return module
