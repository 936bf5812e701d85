"""`dtype`, `device` and `Size` under PyTorch's names."""

from __future__ import annotations

import math
import threading
from typing import Any

from cuprous import _core
from cuprous._common.dtypes import TABLE

_SHORT = {"float32": "float", "float64": "double", "float16": "half", "int64": "long", "int32": "int", "int16": "short",
          "complex64": "cfloat", "complex128": "cdouble"}  # fmt: skip


class Immutable:
    """A class whose attributes are set once, by `_fix`. Its instances are shared by the whole process, and a malicious
    file may try to modify them while it is loaded."""

    __slots__ = ()

    def _fix(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects is not writable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects is not writable")


class dtype(Immutable):
    """A data type. There is one instance of each.

    Parameters
    ----------
    name : str
        The name.
    itemsize : int
        The bytes of an element.

    See Also
    --------
    torch.finfo, torch.iinfo

    Examples
    --------
    >>> torch.float32.itemsize
    4
    """

    __slots__ = ("itemsize", "name")

    name: str
    itemsize: int

    def __init__(self, name: str, itemsize: int) -> None:
        self._fix(name=name, itemsize=itemsize)

    @property
    def is_floating_point(self) -> bool:
        """True for floats of any width."""
        return "float" in self.name

    @property
    def is_complex(self) -> bool:
        """True for complex dtypes."""
        return self.name.startswith("complex")

    @property
    def is_signed(self) -> bool:
        """True if negative numbers can be represented."""
        return self.name != "bool" and not self.name.startswith("uint")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_of, (self.name,)


#: Every dtype by name.
DTYPES: dict[str, dtype] = {name: dtype(name, size) for name, (_, size) in TABLE.items()}
#: Dtypes that have a name and limits, but no tensors.
FLOAT8 = {
    name: dtype(name, 1)
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
}
#: All dtypes without tensors.
NAMED_ONLY = (
    FLOAT8
    | {"complex32": dtype("complex32", 4)}
    | {f"{kind}{bits}": dtype(f"{kind}{bits}", 1) for kind in ("int", "uint") for bits in range(1, 8)}
)
#: PyTorch's alternative names.
ALIASES = {short: DTYPES[name] for name, short in _SHORT.items()} | {"chalf": NAMED_ONLY["complex32"]}
#: Legacy tensor types and their dtypes, such as `torch.FloatTensor`.
LEGACY = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
          "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}  # fmt: skip


def dtype_of(name: str) -> dtype:
    """Returns the dtype with a name."""
    return DTYPES[name] if name in DTYPES else NAMED_ONLY[name]


def dtype_name(given: Any) -> str:
    """Returns the engine's name of a dtype that is given as PyTorch's, NumPy's or a Python type.

    Raises
    ------
    TypeError
        For anything else.
    NotImplementedError
        For dtypes without tensors.
    """
    if isinstance(given, dtype):
        if given.name not in DTYPES:
            other = "torch.complex64" if given.is_complex else "torch.float16 or torch.bfloat16"
            raise NotImplementedError(f"tensors of {given} are not supported; use {other}")
        return given.name
    plain = {bool: "bool", int: "int64", float: _core.t_default_dtype(), complex: "complex64"}.get(given)
    if plain is not None:
        return plain
    raise TypeError(f"dtype must be a torch.dtype, not {given!r}")


def number_dtype(kind: type) -> str:
    """Returns the engine's name of the dtype of tensors that are created from numbers of a Python type."""
    if kind is float:
        return _core.t_default_dtype()
    if kind is complex:
        return "complex128" if _core.t_default_dtype() == "float64" else "complex64"
    return {bool: "bool", int: "int64"}[kind]


class device(Immutable):
    """The device of a tensor: the CPU, a GPU, or "auto", which picks the faster device for each program.

    Tensors for `device("meta")` are on the CPU: they take no memory and no time until somebody reads them.

    Parameters
    ----------
    type : str, int or device, optional
        "cpu", "cuda", "cuda:0", "auto" or "meta", or the index of a GPU.
    index : int, optional
        The index of the GPU.

    Raises
    ------
    RuntimeError
        For an unsupported device type, or a negative index.

    See Also
    --------
    torch.set_default_device, torch.get_default_device, torch.Tensor.to, torch.cuda.is_available

    Examples
    --------
    >>> torch.device("cuda", 0)
    device(type='cuda', index=0)
    >>> torch.device("cuda:0").index
    0
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any = None, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type!r}")
        kind, _, number = type.partition(":")
        if kind not in ("cpu", "cuda", "auto", "meta"):
            raise RuntimeError(f"Expected one of cpu, cuda, auto, meta device type at start of device string: {type}")
        if number and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if number and not number.isdecimal():
            raise RuntimeError(f"Invalid device string: '{type}'")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self._fix(type=kind, index=int(number) if number else index)

    @property
    def device_name(self) -> str:
        """The engine's name of the device. That of "meta" is the CPU's: what nobody reads is never computed."""
        if self.type == "cuda":
            return f"cuda:{current_gpu() if self.index is None else self.index}"
        return "cpu" if self.type == "meta" else self.type

    def __enter__(self) -> device:
        """Within a `with` block, new tensors are created on this device."""
        _thread.outer.append((_thread.default, _thread.is_meta))
        _thread.default, _thread.is_meta = self.device_name, self.type == "meta"
        return self

    def __exit__(self, *_: Any) -> None:
        _thread.default, _thread.is_meta = _thread.outer.pop()

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + ("" if self.index is None else f", index={self.index}") + ")"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (str(self),)


def resolve_device(given: Any) -> str:
    """Returns the engine's name of a device that is given as a string, an index or a `device`; None is the default
    device."""
    if given is None:
        return default_device()
    return (given if isinstance(given, device) else device(given)).device_name


class _ThreadState(threading.local):
    """What each thread sets for itself, as in PyTorch."""

    #: The device of new tensors.
    default = "cpu"
    #: True if new tensors are to name "meta" as their device.
    is_meta = False
    #: The GPU that "cuda" refers to, if the program has said so.
    gpu: int | None = None

    def __init__(self) -> None:
        #: `default` and `is_meta` outside of each `with` block.
        self.outer: list[tuple[str, bool]] = []


_thread = _ThreadState()


def current_gpu() -> int:
    """Returns the index of the GPU that "cuda" refers to."""
    return _thread.gpu or 0


def is_gpu_chosen() -> bool:
    """Returns True if the program has said which GPU "cuda" refers to."""
    return _thread.gpu is not None


def set_current_gpu(number: int) -> None:
    """Sets the GPU that "cuda" refers to."""
    _thread.gpu = number


def default_device() -> str:
    """Returns the device of new tensors: by default the CPU, as in PyTorch."""
    return _thread.default


def _kind(given: Any) -> str:
    return device(given).type


def set_default_device(device: Any) -> None:
    """Sets the device of the thread's new tensors: the CPU, a GPU, or "auto", which picks the faster device for each
    program.

    Parameters
    ----------
    device : device or str
        A device or its name; None for the CPU.

    See Also
    --------
    torch.get_default_device, torch.set_default_dtype, torch.get_default_dtype, torch.set_default_tensor_type

    Examples
    --------
    >>> torch.set_default_device("cpu")
    """
    _thread.default = "cpu" if device is None else resolve_device(device)
    _thread.is_meta = device is not None and _kind(device) == "meta"


def is_meta_default() -> bool:
    """Returns True if new tensors are to name "meta" as their device."""
    return _thread.is_meta


class Size(tuple[int, ...]):
    """A shape: a tuple of integers.

    Parameters
    ----------
    iterable : iterable of ints, optional
        The extents.

    See Also
    --------
    torch.Tensor.size, torch.numel, torch.broadcast_shapes

    Examples
    --------
    >>> torch.ones(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """Returns the number of elements.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.Size([2, 3]).numel()
        6
        """
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        got = super().__getitem__(key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other))


DEVICES = {device_name: device(device_name) for device_name in ("cpu", "auto")} | {
    f"{kind}:{k}": device("cuda", k) for kind in ("cuda", "hip") for k in range(16)
}
