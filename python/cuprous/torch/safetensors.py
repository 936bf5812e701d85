"""safetensors files, with the API of `safetensors.torch`.

The format is a length, a JSON header and bytes, so it is read and written here. The package's PyTorch module requires
PyTorch, and its NumPy module makes another copy.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._core import Tensor
from cuprous.torch import _types

_TO_NAME = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64",
}  # fmt: skip
_FROM_NAME = {name: code for code, name in _TO_NAME.items()}
_MAX_HEADER_SIZE = 100_000_000  # limit of the header size in the format


class SafetensorError(Exception):
    """The error for a file that is not a valid safetensors file.

    See Also
    --------
    torch.safetensors.safe_open, torch.safetensors.load_file

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> try:
    ...     safetensors.load(b"no file")
    ... except safetensors.SafetensorError:
    ...     print("not a file")
    not a file
    """


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Returns the contents of a file with tensors by name.

    Parameters
    ----------
    tensors : dict of str to Tensor
        The tensors by name.
    metadata : dict of str to str, optional
        Strings by name.

    Returns
    -------
    bytes
        The bytes of a file.

    Raises
    ------
    RuntimeError
        If tensors share memory, which the format cannot represent.
    TypeError
        For dtypes that the format does not support.

    See Also
    --------
    torch.safetensors.save_file, torch.safetensors.safe_open, torch.safetensors.load, torch.safetensors.load_file

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> data = safetensors.save({"x": torch.tensor([1.0, 2.0])})
    >>> safetensors.load(data)
    {'x': tensor([1., 2.])}
    """
    return b"".join(_pieces(tensors, metadata))


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Writes tensors by name to a file, as `save` does.

    Parameters
    ----------
    tensors : dict of str to Tensor
        The tensors by name.
    filename : str or path-like
        The path.
    metadata : dict of str to str, optional
        Strings by name.

    See Also
    --------
    torch.safetensors.safe_open, torch.safetensors.load, torch.safetensors.load_file, torch.safetensors.save

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
    >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
    >>> safetensors.load_file(path)
    {'x': tensor([1., 2.])}
    """
    pieces = _pieces(tensors, metadata)
    first = next(pieces)  # errors are raised before the file is opened
    with open(filename, "wb") as file:
        file.write(first)
        file.writelines(pieces)


def _pieces(tensors: dict[str, Tensor], metadata: dict[str, str] | None, are_separate: bool = False) -> Iterator[bytes]:
    """Returns the contents of a file. Tensors that `are_separate` are known not to share memory."""
    for name, t in tensors.items():
        if t.dtype_name not in _FROM_NAME:
            raise TypeError(f"[safetensors] {name!r} is of dtype {t.dtype_name}, which the format does not support")
    # Wide dtypes come first, so that each tensor is aligned to the size of its elements.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    for k, name in enumerate(order):
        for other in () if are_separate else order[:k]:
            if tensors[name].shares_storage(tensors[other]):
                raise RuntimeError(
                    f"Some tensors share memory: {other!r} and {name!r}. The file would contain them twice, and they "
                    "would not share memory when loaded: save one of them, or copies (tensor.clone())"
                )
    header: dict[str, Any] = {"__metadata__": metadata} if metadata is not None else {}
    at = 0
    for name in order:
        size = tensors[name].numel() * tensors[name].element_size()
        header[name] = {"dtype": _FROM_NAME[tensors[name].dtype_name], "shape": list(tensors[name].dims),
                        "data_offsets": [at, at + size]}  # fmt: skip
        at += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield np.ascontiguousarray(tensors[name].detach().to_numpy()).tobytes()


def load(data: bytes) -> dict[str, Tensor]:
    """Returns the tensors in the contents of a file, on the CPU.

    Parameters
    ----------
    data : bytes
        The bytes.

    Returns
    -------
    dict of str to Tensor
        A dict of tensors by name.

    Raises
    ------
    SafetensorError
        For data that is not a complete safetensors file.

    See Also
    --------
    torch.safetensors.load_file, torch.safetensors.save, torch.safetensors.save_file, torch.safetensors.safe_open

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> safetensors.load(safetensors.save({"x": torch.tensor([1.0, 2.0])}))
    {'x': tensor([1., 2.])}
    """
    header, start = _header(memoryview(data), len(data))
    return {name: _tensor(memoryview(data)[start:], entry, "cpu") for name, entry in header.items()}


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """Returns the tensors of a file by name.

    Parameters
    ----------
    filename : str or path-like
        The path.
    device : device or str, default "cpu"
        The device of the tensors.

    Returns
    -------
    dict of str to Tensor
        A dict of tensors by name.

    Raises
    ------
    SafetensorError
        For a file that is not a complete safetensors file.

    See Also
    --------
    torch.safetensors.save, torch.safetensors.save_file, torch.safetensors.safe_open, torch.safetensors.load

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
    >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
    >>> safetensors.load_file(path)
    {'x': tensor([1., 2.])}
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dictionary


class safe_open:
    """A file from which tensors are read one by one.

    Parameters
    ----------
    filename : str or path-like
        The path.
    framework : str, default "pt"
        "pt", or "np" for NumPy's arrays.
    device : device or str, default "cpu"
        The device of the tensors.

    Raises
    ------
    SafetensorError
        If it is not a complete safetensors file.

    See Also
    --------
    torch.safetensors.load, torch.safetensors.load_file, torch.safetensors.save, torch.safetensors.save_file

    Examples
    --------
    >>> from cuprous.torch import safetensors
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
    >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
    >>> with safetensors.safe_open(path, "pt") as file:
    ...     file.get_tensor("x")
    tensor([1., 2.])
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise NotImplementedError(f"[safe_open] framework={framework!r} is not supported; use 'pt'")
        self._device = _types.resolve_device(device)
        if not os.path.getsize(filename):
            raise SafetensorError(f"{filename} is empty")
        self._bytes = np.memmap(filename, np.uint8, "r")
        self._entries, self._start = _header(memoryview(self._bytes), self._bytes.size)  # type: ignore[arg-type]
        self._metadata = self._entries.metadata

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: Any) -> None:
        del self._bytes

    def keys(self) -> list[str]:
        """Returns the names of the tensors.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from cuprous.torch import safetensors
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
        >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
        >>> with safetensors.safe_open(path, "pt") as file:
        ...     file.keys()
        ['x']
        """
        return list(self._entries)

    def metadata(self) -> dict[str, str] | None:
        """Returns the file's metadata.

        Returns
        -------
        dict of str to str or None
            A dict of strings, or None.

        Examples
        --------
        >>> from cuprous.torch import safetensors
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
        >>> safetensors.save_file({"x": torch.ones(2)}, path, {"by": "docs"})
        >>> with safetensors.safe_open(path, "pt") as file:
        ...     file.metadata()
        {'by': 'docs'}
        """
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """Returns a tensor.

        Parameters
        ----------
        name : str
            The name.

        Returns
        -------
        Tensor

        Raises
        ------
        SafetensorError
            If there is no tensor with that name.

        Examples
        --------
        >>> from cuprous.torch import safetensors
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
        >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
        >>> with safetensors.safe_open(path, "pt") as file:
        ...     file.get_tensor("x")
        tensor([1., 2.])
        """
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        return _tensor(memoryview(self._bytes)[self._start :], self._entries[name], self._device)  # type: ignore[arg-type]

    def described(self, name: str) -> tuple[list[int], str]:
        """Returns the shape and the name of the dtype of a tensor, without reading it.

        Parameters
        ----------
        name : str
            The name.

        Returns
        -------
        tuple (list of ints, str)
            A list and a string.

        Examples
        --------
        >>> from cuprous.torch import safetensors
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.safetensors"
        >>> safetensors.save_file({"x": torch.tensor([1.0, 2.0])}, path)
        >>> with safetensors.safe_open(path, "pt") as file:
        ...     file.described("x")
        ([2], 'float32')
        """
        entry = self._entries[name]
        return list(entry["shape"]), _TO_NAME[entry["dtype"]]


class _Header(dict[str, Any]):
    metadata: dict[str, str] | None = None


def _header(data: memoryview, total: int) -> tuple[_Header, int]:
    """Returns the entries by name, and the offset of the tensors' bytes, after validating them."""
    length = int.from_bytes(bytes(data[:8]), "little") if total >= 8 else -1
    if not 2 <= length <= min(_MAX_HEADER_SIZE, total - 8):
        raise SafetensorError("the header is longer than the file: it is damaged, or not a safetensors file")
    try:
        entries = json.loads(bytes(data[8 : 8 + length]))
        header = _Header(sorted(((k, v) for k, v in entries.items() if k != "__metadata__"),
                                key=lambda item: item[1]["data_offsets"]))  # fmt: skip
        header.metadata = entries.get("__metadata__")
        at = 0
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            shape = entry["shape"]
            if not isinstance(shape, list) or len(shape) > 64 or any(type(n) is not int or not 0 <= n < 1 << 63
                                                                     for n in (*shape, begin, end)):  # fmt: skip
                raise SafetensorError(f"shape and offsets of {name!r} are not lists of integers")
            itemsize = _types.DTYPES[_TO_NAME[entry["dtype"]]].itemsize
            if math.prod(n or 1 for n in shape) * itemsize >= 1 << 62:
                raise SafetensorError(f"{name!r} is too big: shape {shape}")
            size = math.prod(shape) * itemsize
            if begin != at or end - begin != size:
                raise SafetensorError(f"{name!r} has {size} bytes, but the header gives it {begin} to {end}")
            at = end
        metadata = header.metadata
        if metadata is not None and not all(isinstance(text, str) for text in metadata.values()):
            raise SafetensorError("the metadata is not a mapping from text to text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SafetensorError(f"the header cannot be read ({type(error).__name__}: {error})") from None
    if 8 + length + at != total:
        raise SafetensorError(f"the file has {total} bytes, but its header describes {8 + length + at}")
    return header, 8 + length


def _tensor(data: memoryview, entry: dict[str, Any], device_name: str) -> Tensor:
    begin, end = entry["data_offsets"]
    host = np.frombuffer(data[begin:end], np.uint8).view(_dtypes.numpy_dtype(_TO_NAME[entry["dtype"]]))
    return _core.t_wrap(_core.from_numpy(host.reshape(entry["shape"]), device_name))


__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]
