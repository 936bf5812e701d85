"""GPUs by index and name."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.torch import _types


def device_count() -> int:
    """Returns the number of GPUs.

    Returns
    -------
    int

    See Also
    --------
    torch.accelerator.current_device_idx, torch.accelerator.set_device_idx, torch.accelerator.current_accelerator,
    torch.accelerator.is_available

    Examples
    --------
    >>> torch.cuda.device_count() >= 0
    True
    """
    return _core.device_count()


def is_available() -> bool:
    """Returns True if a GPU is available.

    Returns
    -------
    bool

    See Also
    --------
    torch.accelerator.device_count, torch.accelerator.current_device_idx, torch.accelerator.set_device_idx,
    torch.accelerator.current_accelerator

    Examples
    --------
    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return device_count() > 0 and _core.unusable_gpu_reason() is None


def is_initialized() -> bool:
    """Returns true if a GPU is available. No explicit initialization is needed.

    Returns
    -------
    bool

    See Also
    --------
    torch.cuda.init

    Examples
    --------
    >>> torch.cuda.is_initialized() == torch.cuda.is_available()
    True
    """
    return is_available()


def init() -> None:
    """Checks that a GPU is available.

    Raises
    ------
    RuntimeError
        If no GPU is available, with the reason.

    See Also
    --------
    torch.cuda.is_initialized

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     torch.cuda.init()
    """
    current_device()


def current_device() -> int:
    """Returns the index of the GPU that "cuda" refers to.

    Returns
    -------
    int

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.cuda.set_device, torch.cuda.device

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     index = torch.cuda.current_device()
    """
    if not is_available():
        raise RuntimeError(_core.unusable_gpu_reason() or "no NVIDIA GPU is visible; `cuprous doctor` explains")
    return _types.current_gpu()


def number_of(given: Any) -> int:
    """Returns the index of a GPU that is given as an index, a string or a device; None is the current one."""
    if given is None:
        return current_device()
    if isinstance(given, int):
        return given
    index = _types.device(given).index
    return current_device() if index is None else index


def set_device(device: Any) -> None:
    """Sets the GPU that "cuda" refers to.

    Parameters
    ----------
    device : device or str
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Raises
    ------
    RuntimeError
        If there is no GPU of that index.

    See Also
    --------
    torch.cuda.device, torch.cuda.current_device

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_device(0)
    """
    number = number_of(device)
    if number < 0:
        return
    if number >= device_count():
        raise RuntimeError(f"CUDA error: invalid device ordinal {number}: there are {device_count()} usable GPUs")
    _types.set_current_gpu(number)


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Returns true if a GPU can access the memory of another one, so that copies between them do not go through the
    host.

    Parameters
    ----------
    device : device or str
        The GPU, an index, a name or a `torch.device`; None for the current one.
    peer_device : device or int
        The other GPU.

    Returns
    -------
    bool

    Raises
    ------
    AssertionError
        If there is no such GPU.

    See Also
    --------
    torch.cuda.get_device_capability, torch.cuda.get_device_name, torch.cuda.get_device_properties

    Examples
    --------
    >>> if torch.cuda.device_count() > 1:
    ...     found = torch.cuda.can_device_access_peer(0, 1)
    """
    numbers = []
    for given in (device, peer_device):
        number = number_of(given)
        if not 0 <= number < device_count():
            raise AssertionError(f"Invalid device id: {number}; there are {device_count()} usable GPUs")
        numbers.append(number)
    return _core.can_access_peer(*numbers)


class device:
    """A context manager that sets the GPU that "cuda" refers to. None and negative indices have no effect.

    Parameters
    ----------
    device : device, str or None
        The GPU, an index, a name or a `torch.device`; None for the current one.

    See Also
    --------
    torch.cuda.current_device, torch.cuda.set_device

    Examples
    --------
    >>> with torch.cuda.device(None):
    ...     x = torch.ones(2)
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else number_of(device)

    def __enter__(self) -> None:
        self.prev_idx = _types.current_gpu()
        if self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *_: Any) -> None:
        _types.set_current_gpu(self.prev_idx)


class _Properties:
    """The driver's properties of a GPU."""

    def __init__(self, number: int) -> None:
        found = _core.device_properties(number)
        self.name = str(found["name"])
        self.major, self.minor = int(found["major"]), int(found["minor"])
        self.total_memory = int(found["totalGlobalMem"])
        self.multi_processor_count = int(found["multiProcessorCount"])
        self.L2_cache_size = int(found["l2CacheSize"])
        self.warp_size = int(found["warpSize"])
        self.regs_per_multiprocessor = int(found["regsPerMultiprocessor"])
        self.max_threads_per_multi_processor = int(found["maxThreadsPerMultiProcessor"])
        self.shared_memory_per_block = int(found["sharedMemPerBlock"])
        self.shared_memory_per_block_optin = int(found["sharedMemPerBlockOptin"])
        self.shared_memory_per_multiprocessor = int(found["sharedMemPerMultiprocessor"])
        self.is_integrated = int(found["integrated"])
        self.uuid = str(found["uuid"])

    def __repr__(self) -> str:
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
                f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
                f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size >> 20}MB)")  # fmt: skip


def get_device_properties(device: Any = None) -> _Properties:
    """Returns the name, compute capability, memory and limits of a GPU.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    object
        An object with attributes such as `name` and `total_memory`.

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.cuda.can_device_access_peer, torch.cuda.get_device_capability, torch.cuda.get_device_name

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     memory = torch.cuda.get_device_properties(0).total_memory
    """
    return _Properties(number_of(device))


def get_device_name(device: Any = None) -> str:
    """Returns the name of a GPU.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    str

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.cuda.get_device_properties, torch.cuda.can_device_access_peer, torch.cuda.get_device_capability

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     name = torch.cuda.get_device_name(0)
    """
    return str(_core.device_properties(number_of(device))["name"])


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Returns the compute capability of a GPU.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    pair of ints
        The pair of the major and the minor number.

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.cuda.get_device_name, torch.cuda.get_device_properties, torch.cuda.can_device_access_peer

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     major, minor = torch.cuda.get_device_capability(0)
    """
    properties = _core.device_properties(number_of(device))
    return int(properties["major"]), int(properties["minor"])


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Returns true if bfloat16 is supported. It is native from compute capability 8.0 on.

    Parameters
    ----------
    including_emulation : bool, default True
        Whether emulated support counts.

    Returns
    -------
    bool

    See Also
    --------
    torch.cuda.get_device_capability, torch.cuda.get_device_properties

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     found = torch.cuda.is_bf16_supported()
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def synchronize(device: Any = None) -> None:
    """Waits until all recorded work is done.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    See Also
    --------
    torch.accelerator.current_stream, torch.accelerator.set_stream

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     torch.cuda.synchronize()
    """
    _core.synchronize()


__all__ = [
    "can_device_access_peer", "current_device", "device", "device_count", "get_device_capability", "get_device_name",
    "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized", "set_device",
    "synchronize",
]  # fmt: skip
