"""Reading of PyTorch's zip files. Their pickle is read by an unpickler that only supports tensors and plain containers,
so that no code in the file is run."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._core import Tensor
from cuprous._functions.zip import entry_size
from cuprous.torch import _types
from cuprous.torch.nn.parameter import Parameter
from cuprous.torch.serialization._names import PLAIN, STORAGES, UNTYPED, Allowed
from cuprous.torch.serialization._unpickle import TrustingUnpickler, Unpickler


class _Kind(_types.Immutable):
    """A storage class that a file refers to."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self._fix(name=name)


class _Bytes:
    """A storage: its bytes and target device. A function given as `map_location` takes and returns this."""

    def __init__(self, raw: np.ndarray[Any, Any], dtype: str | None, device_name: str) -> None:
        self._raw, self._dtype, self._device_name = raw, dtype, device_name
        self._made: dict[str, Tensor] = {}

    @property
    def device(self) -> Any:
        """The target device."""
        return _types.device(self._device_name)

    def cpu(self) -> _Bytes:
        """Selects host memory."""
        return _Bytes(self._raw, self._dtype, "cpu")

    def cuda(self, device: Any = None) -> _Bytes:
        """Selects a GPU."""
        return _Bytes(self._raw, self._dtype, _types.device("cuda" if device is None else device).device_name)

    def tensor(self, name: str | None) -> Tensor:
        """Returns all elements as a tensor; the same tensor each time, so that views of it share memory."""
        name = self._dtype if name is None else name
        if name is None:
            raise ValueError("a storage of bytes without a dtype")
        if name not in self._made:
            itemsize = _types.DTYPES[name].itemsize
            host = self._raw[: self._raw.size // itemsize * itemsize].view(_dtypes.numpy_dtype(name))
            self._made[name] = _core.t_wrap(_core.from_numpy(host, self._device_name))
        return self._made[name]


def _placed(storage: Any, offset: int, size: Any, stride: Any, name: str | None) -> Tensor:
    if not isinstance(storage, _Bytes):
        raise ValueError("a tensor without a storage")
    if not (isinstance(offset, int) and all(isinstance(n, int) for n in (*size, *stride))):
        raise ValueError("a tensor whose size, strides and offset are not integers")
    whole = storage.tensor(name)
    size, stride = list(size), list(stride)
    if len(size) != len(stride) or offset < 0 or any(n < 0 for n in (*size, *stride)):
        raise ValueError(f"a tensor of size {size} with strides {stride} at {offset}")
    if 0 in size:
        return _core.t_empty(size, whole.dtype_name, whole.device_name)
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if last >= whole.numel():
        raise ValueError(f"a tensor reaches element {last} of a storage of {whole.numel()}")
    return _core.t_strided(whole, size, stride, offset)


def _tensor(storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, hooks: Any = None,
            *rest: Any) -> Tensor:  # fmt: skip
    """Implements `_rebuild_tensor_v2`, and v3, which adds the dtype."""
    name = rest[0].name if rest and isinstance(rest[0], _types.dtype) else None
    result = _placed(storage, offset, size, stride, name)
    if requires_grad:
        result.requires_grad = True
    return result


def _parameter(data: Any, requires_grad: bool, hooks: Any, *state: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise ValueError("a parameter without a tensor")
    return Parameter(data, requires_grad=bool(requires_grad))


def _of_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """Rebuilds a tensor of a subclass. Its additional attributes are ignored, because they could be any objects."""
    if not isinstance(function, Allowed):
        raise ValueError("a tensor made by an unknown function")
    return function(*args)


_UTILS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor, "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor, "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter, "torch._tensor._rebuild_from_type_v2": _of_type,
}  # fmt: skip
_KNOWN: dict[str, Any] = {
    **PLAIN,
    **{name: Allowed(function) for name, function in _UTILS.items()},
    **{f"torch.{name}": _Kind(name) for name in STORAGES},
    "torch.storage.UntypedStorage": _Kind(UNTYPED), "torch.UntypedStorage": _Kind(UNTYPED),
    "torch.Tensor": _Kind("Tensor"), "torch.nn.parameter.Parameter": Allowed(_parameter),
}  # fmt: skip


class _Archive:
    """A zip file whose declared sizes are checked against the size of the file before memory is allocated."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.names = frozenset(archive.namelist())
        self._left = archive.start_dir  # bytes before the directory; limits reads of overlapping entries

    def size(self, name: str) -> int:
        """Returns the number of bytes of an entry."""
        return entry_size(self._archive, name)

    def read(self, name: str, count: int) -> bytes:
        """Returns the first bytes of an entry."""
        count = min(count, self.size(name))
        self._left -= self._archive.getinfo(name).compress_size
        if self._left < 0:
            raise ValueError("the parts of the file overlap")
        with self._archive.open(name) as entry:
            return entry.read(count)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = True,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:  # fmt: skip
    """Loads a file that `save` wrote, here or in PyTorch.

    It reads tensors and plain containers. With `weights_only=False` it reads any objects, whose loading may run code
    from the file.

    Parameters
    ----------
    f : str, path-like or file
        A path, or a file that is open for reading bytes.
    map_location : device, str, dict or callable, optional
        The device of the tensors: a device, a dictionary of devices by name, or a function of storage and device name;
        by default the device that they were on.
    pickle_module : module, optional
        For PyTorch's signature; only None.
    weights_only : bool or None, default True
        Whether only tensors, plain containers and added classes are read.
    mmap : bool, optional
        Has no effect: files are read whole.
    **pickle_load_args : any
        For PyTorch's signature; none are supported.

    Returns
    -------
    object
        The object that was saved.

    Raises
    ------
    RuntimeError
        For a file that is damaged, of another format, or with tensors of a GPU if none is available.
    pickle.UnpicklingError
        For a file with other objects.

    See Also
    --------
    torch.serialization.save

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"x": torch.tensor([1.0, 2.0])}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'x': tensor([1., 2.])}
    """
    if pickle_module is not None or pickle_load_args:
        raise NotImplementedError("[load] pickle_module= and pickle arguments are not supported")
    if not isinstance(f, (str, os.PathLike)) and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise AttributeError(f"expected a path or a file that can be read and has 'seek', got {f!r}")
    name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "the file")
    try:
        with zipfile.ZipFile(f) as archive:
            return _load(_Archive(archive), map_location, str(name), weights_only is not False)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, struct.error) as error:
        raise RuntimeError(f"[load] {name} {_guess_format(f)} ({error})") from None


def _guess_format(f: Any) -> str:
    """Returns a guess at the format of a file that is not a zip file."""
    try:
        if isinstance(f, (str, os.PathLike)):
            with open(f, "rb") as file:
                head = file.read(16)
        else:
            f.seek(0)
            head = f.read(16)
    except OSError:
        head = b""
    if not head:
        return "is empty"
    if head[:2] == b"PK":
        return "is damaged, or was not written to its end"
    if head[:4] == b"\x80\x02\x8a\x0a":
        return "is of PyTorch before 1.6; load and save it with a newer PyTorch"
    if head[8:9] == b"{":
        return "seems to be a safetensors file: use cuprous.torch.safetensors.load_file"
    return "is not a file that torch.save writes"


def _load(archive: _Archive, map_location: Any, name: str, safely: bool) -> Any:
    names = archive.names
    pickles = [n for n in names if n.endswith("/data.pkl") and n.count("/") == 1]
    if len(pickles) != 1:
        raise RuntimeError(f"[load] {name} is a zip file, but not one that torch.save writes: it has no data.pkl")
    root = pickles[0].removesuffix("data.pkl")
    if f"{root}constants.pkl" in names:
        raise RuntimeError(f"[load] {name} is a TorchScript program, which cannot be loaded")
    swap = f"{root}byteorder" in names and archive.read(f"{root}byteorder", 16).strip() == b"big"
    found: dict[str, _Bytes] = {}

    def storage(pid: Any) -> _Bytes:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[1], _Kind)):
            raise ValueError(f"a storage named by {type(pid).__name__}")
        _, kind, key, location, count = pid
        if not (isinstance(key, str) and isinstance(location, str) and isinstance(count, int) and count >= 0):
            raise ValueError("a storage without a name, a device or a size")
        if key not in found:
            dtype = STORAGES.get(kind.name)
            entry = f"{root}data/{key}"
            if entry not in names:
                raise ValueError(f"there is no storage {key!r}")
            needed = count * (_types.DTYPES[dtype].itemsize if dtype else 1)
            if archive.size(entry) < needed:
                raise ValueError(f"storage {key!r} has {archive.size(entry)} bytes, not {needed}")
            raw = np.frombuffer(archive.read(entry, needed), np.uint8)
            if swap:
                if dtype is None:
                    raise NotImplementedError("[load] storages of bytes from big-endian machines are not supported")
                width = _types.DTYPES[dtype].itemsize // (2 if dtype.startswith("complex") else 1)
                raw = raw.reshape(-1, width)[:, ::-1].reshape(-1)
            found[key] = _moved(_Bytes(raw, dtype, "cpu"), location, map_location)
        return found[key]

    try:
        size = archive.size(pickles[0])
        content = archive.read(pickles[0], size)
        return (Unpickler if safely else TrustingUnpickler)(content, _KNOWN, storage).load()
    except (pickle.UnpicklingError, RuntimeError, MemoryError):
        raise
    except Exception as error:
        raise RuntimeError(f"[load] {name} is damaged: {error}") from error


def _moved(storage: _Bytes, location: str, map_location: Any) -> _Bytes:
    if callable(map_location) and not isinstance(map_location, _types.device):
        placed = map_location(storage, location)
        if placed is not None:
            return placed
        map_location = None
    if isinstance(map_location, dict):
        map_location = map_location.get(location)
    target = _types.device(location if map_location is None else map_location)
    if target.type == "cuda":
        reason = None if _core.device_count() else _core.unusable_gpu_reason() or "no GPU is visible"
        if reason is not None:
            raise RuntimeError(
                f"Attempting to deserialize object on a CUDA device ({location!r}), but it cannot be used: {reason}. "
                "Use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            )
    return _Bytes(storage._raw, storage._dtype, target.device_name)
