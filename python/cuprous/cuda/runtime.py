"""CuPy's `cupy.cuda.runtime`: the CUDA runtime's functions that programs call most."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.cuda._device import Device, get_device_id
from cuprous.cuda.errors import CUDARuntimeError as CUDARuntimeError

is_hip = False


def getDeviceCount() -> int:
    """Returns the number of usable GPUs.

    Returns
    -------
    int

    See Also
    --------
    cuda.runtime.getDevice, cuda.runtime.setDevice, cuda.runtime.getDeviceProperties

    Examples
    --------
    >>> cuda.runtime.getDeviceCount() >= 0
    True
    """
    return _core.device_count()


def getDevice() -> int:
    """Returns the number of the current GPU.

    Returns
    -------
    int

    See Also
    --------
    cuda.runtime.setDevice, cuda.runtime.getDeviceCount, cuda.get_current_device

    Examples
    --------
    >>> cuda.runtime.getDevice()
    0
    """
    return get_device_id()


def setDevice(device: int) -> None:
    """Makes a GPU the device of new arrays.

    Parameters
    ----------
    device : int
        The GPU's number.

    Raises
    ------
    CUDARuntimeError
        If there is no such GPU.

    See Also
    --------
    cuda.runtime.getDevice, cuda.runtime.getDeviceCount, cuda.select_device

    Examples
    --------
    >>> if cuda.is_available():
    ...     cuda.runtime.setDevice(0)
    """
    Device(device).use()


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Returns 1 if a GPU can access the memory of another one, and 0 otherwise.

    Parameters
    ----------
    device : int
        The number of a GPU.
    peerDevice : int
        The number of the other one.

    Returns
    -------
    int

    See Also
    --------
    cuda.runtime.getDeviceCount, cuda.runtime.getDeviceProperties

    Examples
    --------
    >>> if cuda.runtime.getDeviceCount() > 1:
    ...     found = cuda.runtime.deviceCanAccessPeer(0, 1)
    """
    return int(_core.can_access_peer(device, peerDevice))


def deviceSynchronize() -> None:
    """Submits the recorded operations and waits for them, also on the CPU.

    See Also
    --------
    cuda.runtime.streamSynchronize, cuda.synchronize

    Examples
    --------
    >>> cuda.runtime.deviceSynchronize()
    """
    _core.synchronize()


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Returns the driver's properties of a GPU. `name` is bytes, as in CuPy.

    Parameters
    ----------
    device : int
        The GPU's number.

    Returns
    -------
    dict

    Raises
    ------
    CUDARuntimeError
        If there is no such GPU.

    See Also
    --------
    cuda.runtime.getDevice, cuda.runtime.getDeviceCount, cuda.runtime.get_device_properties, cuda.runtime.memGetInfo

    Examples
    --------
    >>> if cuda.is_available():
    ...     name = cuda.runtime.getDeviceProperties(0)["name"]
    """
    properties = dict(Device(device).attributes)
    name = properties.get("name")
    if isinstance(name, str):
        properties["name"] = name.encode()
    return properties


def get_device_properties(device: int | None = None) -> dict[str, Any]:
    """Returns the driver's properties of a GPU, as `runtime.getDeviceProperties`.

    Parameters
    ----------
    device : int, optional
        The GPU's number, by default the current one.

    Returns
    -------
    dict

    Raises
    ------
    CUDARuntimeError
        If there is no such GPU.

    See Also
    --------
    cuda.get_current_device, cuda.get_device_id, cuda.select_device

    Examples
    --------
    >>> if cuda.is_available():
    ...     name = cuda.get_device_properties()["name"]
    """
    return getDeviceProperties(get_device_id() if device is None else device)


def memGetInfo() -> tuple[int, int]:
    """Returns the free and the total bytes of the current GPU's memory.

    Returns
    -------
    pair of ints

    Raises
    ------
    CUDARuntimeError
        Without a GPU.

    See Also
    --------
    cuda.runtime.getDeviceProperties

    Examples
    --------
    >>> if cuda.is_available():
    ...     free, total = cuda.runtime.memGetInfo()
    """
    return Device().mem_info


def driverGetVersion() -> int:
    """Returns the CUDA version that the driver supports, such as 13000 for 13.0, and 0 without a GPU.

    Returns
    -------
    int

    See Also
    --------
    cuda.runtime.runtimeGetVersion

    Examples
    --------
    >>> cuda.runtime.driverGetVersion() >= 0
    True
    """
    return int(_core.device_properties()["driverVersion"]) if _core.device_count() else 0


def runtimeGetVersion() -> int:
    """Returns the same as `driverGetVersion`, because no runtime library is used.

    Returns
    -------
    int

    See Also
    --------
    cuda.runtime.driverGetVersion

    Examples
    --------
    >>> cuda.runtime.runtimeGetVersion() == cuda.runtime.driverGetVersion()
    True
    """
    return driverGetVersion()


def streamSynchronize(stream: int) -> None:
    """Submits the recorded operations and waits for the engine's stream and for another one.

    Parameters
    ----------
    stream : int
        The handle of the other stream.

    See Also
    --------
    cuda.runtime.deviceSynchronize, cuda.synchronize

    Examples
    --------
    >>> cuda.runtime.streamSynchronize(0)
    """
    _core.synchronize()
    _core.Stream(stream).synchronize()
