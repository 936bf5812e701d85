"""Writing of PyTorch's zip files: a pickle that refers to storages, and the bytes of each storage.

The pickle refers to PyTorch's functions, which need not be installed. The pickler written in Python allows this,
because its `save` can be overridden.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch.nn.parameter import Parameter
from cuprous.torch.serialization._names import CLASS_OF, UNTYPED

#: Alignment of storages in the file, so that it can be memory-mapped.
_ALIGN = 64


class _Global:
    """A reference to one of PyTorch's names."""

    def __init__(self, module: str, name: str) -> None:
        self.line = f"c{module}\n{name}\n".encode()

    def __call__(self, *args: Any) -> None:
        raise TypeError("a name of another library")


class _Storage:
    """The range of memory that tensors which share memory use."""

    def __init__(self, key: str, tensor: Tensor) -> None:
        self.key, self.tensor, self.dtype = key, tensor, tensor.dtype_name
        self.low, self.high = tensor.as_array().span()

    def take(self, tensor: Tensor) -> None:
        """Extends the range to include another tensor.

        Raises
        ------
        RuntimeError
            If the tensor has another dtype than the storage.
        """
        if tensor.dtype_name != self.dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types: "
                               f"{self.dtype} and {tensor.dtype_name}")  # fmt: skip
        low, high = tensor.as_array().span()
        if low < high:
            self.low, self.high = (low, high) if self.low == self.high else (min(self.low, low), max(self.high, high))

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return (self.high - self.low) // self.tensor.element_size()

    def offset(self, tensor: Tensor) -> int:
        """Returns the offset of a tensor, in elements."""
        return tensor.storage_offset() - self.low // tensor.element_size() if tensor.numel() else 0

    def elements(self) -> np.ndarray[Any, Any]:
        """Returns all elements, on the host."""
        whole = _core.t_strided(self.tensor, [self.size], [1], -self.offset(self.tensor)) if self.size else self.tensor
        return np.ascontiguousarray(whole.to_numpy()).reshape(-1)


class _Pickler(pickle._Pickler):
    """Writes tensors as PyTorch does, and all other objects as pickle does."""

    def __init__(self, file: Any, storages: list[_Storage]) -> None:
        super().__init__(file, 2)
        self.storages = storages

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Writes an object."""
        if isinstance(obj, _Global):
            self.write(obj.line)  # type: ignore[attr-defined]
        elif isinstance(obj, _types.dtype):
            self.write(_Global("torch", obj.name).line)  # type: ignore[attr-defined]
        else:
            super().save(obj.item() if isinstance(obj, np.generic) else obj, save_persistent_id)  # type: ignore[misc]

    def persistent_id(self, obj: Any) -> Any:
        """Returns the reference to a storage, by its number."""
        if not isinstance(obj, _Storage):
            return None
        name = CLASS_OF.get(obj.dtype)
        device_name = obj.tensor.device_name
        count = obj.size if name else obj.size * obj.tensor.element_size()
        kind = _Global("torch", name) if name else _Global("torch.storage", UNTYPED)
        return "storage", kind, obj.key, device_name, count

    def reducer_override(self, obj: Any) -> Any:
        """Returns how an object is rebuilt."""
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, _types.device):
            args: tuple[Any, ...] = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return _Global("torch", "device"), args
        if type(obj) is _types.Size:
            return _Global("torch", "Size"), (tuple(obj),)
        return NotImplemented

    def _tensor(self, t: Tensor) -> Any:
        if isinstance(t, Parameter):
            plain = _core.t_strided(t.detach(), list(t.dims), list(t.stride_tuple()))
            return _Global("torch._utils", "_rebuild_parameter"), (plain, t.requires_grad, OrderedDict())
        if not t.is_leaf and t.requires_grad:
            t = t.detach()
        storage = self._storage(t.detach())
        hooks: OrderedDict[str, Any] = OrderedDict()
        strides = tuple(t.stride_tuple())
        position = (storage, storage.offset(t), tuple(t.dims), strides, t.requires_grad, hooks)
        if t.dtype_name in CLASS_OF:
            return _Global("torch._utils", "_rebuild_tensor_v2"), position
        return _Global("torch._utils", "_rebuild_tensor_v3"), (*position, t.dtype)

    def _storage(self, t: Tensor) -> _Storage:
        for storage in self.storages:
            if t.shares_storage(storage.tensor):
                storage.take(t)
                return storage
        self.storages.append(_Storage(str(len(self.storages)), t))
        return self.storages[-1]


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:  # fmt: skip
    """Writes tensors, numbers, strings and containers of them in PyTorch's format.

    Tensors that share memory share it again when they are loaded, and only the range that they use is written. NumPy
    scalars become Python numbers. Other objects, such as whole modules, are pickled: only `load(weights_only=False)`
    reads them, in a process that has their classes. A `state_dict()` is read everywhere.

    Parameters
    ----------
    obj : object
        The object.
    f : str, path-like or file
        A path, or a file that is open for writing bytes.
    pickle_module : module, optional
        For PyTorch's signature; only None or `pickle`.
    pickle_protocol : int, default 2
        For PyTorch's signature; only 2.

    Raises
    ------
    NotImplementedError
        For other pickles than those of protocol 2.
    AttributeError
        For what is neither a path nor a file.

    See Also
    --------
    torch.serialization.load

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"x": torch.tensor([1.0, 2.0])}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'x': tensor([1., 2.])}
    """
    if pickle_module not in (None, pickle) or pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise NotImplementedError("[save] only pickle, protocol 2 and zip files are supported")
    storages: list[_Storage] = []
    _Pickler(io.BytesIO(), storages).dump(obj)  # computes how much of each storage is used
    data = io.BytesIO()
    _Pickler(data, storages).dump(obj)
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute: {f!r}")
    stem = os.path.splitext(os.path.basename(os.fspath(f)))[0] if isinstance(f, (str, os.PathLike)) else "archive"
    stem = stem if stem and stem.isascii() else "archive"
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, f"{stem}/data.pkl", data.getvalue())
        _put(archive, f"{stem}/.format_version", b"1")
        _put(archive, f"{stem}/.storage_alignment", str(_ALIGN).encode())
        _put(archive, f"{stem}/byteorder", b"little")
        for storage in storages:
            host = storage.elements()
            _put(archive, f"{stem}/data/{storage.key}", host.view(np.uint8).data if host.size else b"")
        _put(archive, f"{stem}/version", b"3\n")


def _put(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    # The bytes begin after a header of 30 bytes, the name, and an extra field that pads to the alignment.
    at = archive.fp.tell() + 30 + len(name) + 4 if archive.fp is not None else 0
    large = len(content) >= 0xFFFF0000
    at += 20 if large else 0  # zipfile writes the 64-bit sizes before the extra field
    gap = -at % _ALIGN
    entry.extra = b"FB" + gap.to_bytes(2, "little") + b"Z" * gap
    with archive.open(entry, "w", force_zip64=large) as target:
        target.write(content)
