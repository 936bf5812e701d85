"""DLPack: exchange of arrays with other libraries without a copy."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.device import device_word
from cuprous._core import ndarray

#: DLPack's device types.
_CPU, _CUDA, _CUDA_HOST, _ROCM, _ROCM_HOST, _CUDA_MANAGED = 1, 2, 3, 10, 11, 13


def dlpack_device(self: ndarray) -> tuple[int, int]:
    """Returns DLPack's (device type, device number) of an array."""
    name, _, number = self.device_name.partition(":")
    return (_CPU, 0) if name == "cpu" else (_CUDA if _core.hip_version() is None else _ROCM, int(number or 0))


def dlpack(
    self: ndarray, *, stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """Returns a DLPack capsule that shares the memory, or holds a copy of it if `copy` is true.

    Raises
    ------
    BufferError
        For another device than the array's own or the host's, or if that needs a copy and `copy` is False.
    """
    source = self
    here = dlpack_device(self)
    if dl_device is not None and tuple(dl_device) != here:
        if tuple(dl_device) != (_CPU, 0):
            raise BufferError(f"[__dlpack__] cannot export from device {here} to device {tuple(dl_device)}")
        if copy is False:
            raise BufferError("[__dlpack__] cannot export a GPU array to the host without a copy")
        source, copy = _core.to_device(self, "cpu"), None
    versioned = max_version is not None and max_version[0] >= 1
    if source.device_name == "cpu" and stream not in (None, -1):
        raise BufferError("[__dlpack__] stream must be None for arrays on the CPU")
    return _core.to_dlpack(source, versioned, stream, bool(copy))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """Returns an array that shares memory with another library's array, by DLPack.

    Parameters
    ----------
    x : object
        An object with the methods `__dlpack__` and `__dlpack_device__`.
    device : str or Device, optional
        The device of the result; by default that of the memory.
    copy : bool, optional
        True always copies, False never, None (the default) only if needed.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        If the object has no `__dlpack__`.
    BufferError
        If a copy would be needed and `copy` is False.

    See Also
    --------
    asarray

    Examples
    --------
    >>> host = np.arange(3)
    >>> a = cp.from_dlpack(host)
    >>> host[0] = 9
    >>> a
    array([9, 1, 2])
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack needs an object with __dlpack__ and __dlpack_device__, not {type(x)}")
    kind = x.__dlpack_device__()[0]
    if kind not in (_CPU, _CUDA, _CUDA_HOST, _ROCM, _ROCM_HOST, _CUDA_MANAGED):
        raise BufferError(f"[from_dlpack] unsupported DLPack device type {kind}")
    # The legacy default stream, which ours is ordered with: 1 of CUDA, 0 of ROCm.
    stream = {_CUDA: 1, _CUDA_MANAGED: 1, _ROCM: 0}.get(kind)
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 1), copy=copy)
    except TypeError:  # a producer from before DLPack 1.0
        capsule = x.__dlpack__(stream=stream) if stream is not None else x.__dlpack__()
    result = _core.from_dlpack(capsule)
    if device is not None:
        target = device_word(device)
        if copy is False and target != result.device_name:
            raise BufferError(f"[from_dlpack] the array is on {result.device_name}: a copy to {target} was forbidden")
        result = _core.to_device(result, target)
    return result


def to_dlpack(array: ndarray) -> Any:
    """Returns a DLPack capsule of an array.

    Parameters
    ----------
    array : ndarray
        The array.

    Returns
    -------
    PyCapsule
        A capsule, for functions that take one.

    Examples
    --------
    >>> type(cp.arange(3).toDlpack()).__name__
    'PyCapsule'
    """
    return _core.to_dlpack(array, False, None, False)


__all__ = ["from_dlpack"]
