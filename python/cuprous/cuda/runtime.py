"""CuPy's `cupy.cuda.runtime`: the CUDA runtime's functions that programs call most."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.cuda._device import Device, get_device_id
from cuprous.cuda.errors import CUDARuntimeError as CUDARuntimeError

is_hip = False


def getDeviceCount() -> int:
    """Number of usable GPUs."""
    return _core.device_count()


def getDevice() -> int:
    """Number of the current GPU."""
    return get_device_id()


def setDevice(device: int) -> None:
    """Makes a GPU the device of new arrays."""
    Device(device).use()


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Returns 1 if a GPU can access the memory of another one, else 0."""
    return int(_core.can_access_peer(device, peerDevice))


def deviceSynchronize() -> None:
    """Submits the recorded operations and waits for them, also on the CPU."""
    _core.synchronize()


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Returns the driver's properties of a GPU; `name` is bytes, as in CuPy."""
    properties = dict(Device(device).attributes)
    name = properties.get("name")
    if isinstance(name, str):
        properties["name"] = name.encode()
    return properties


def get_device_properties(device: int | None = None) -> dict[str, Any]:
    """Returns the same as `getDeviceProperties`; by default for the current GPU."""
    return getDeviceProperties(get_device_id() if device is None else device)


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of the current GPU's memory."""
    return Device().mem_info


def driverGetVersion() -> int:
    """The CUDA version that the driver supports, as 13000 for 13.0; 0 without a GPU."""
    return int(_core.device_properties()["driverVersion"]) if _core.device_count() else 0


def runtimeGetVersion() -> int:
    """The same as `driverGetVersion`: no runtime library is used."""
    return driverGetVersion()


def streamSynchronize(stream: int) -> None:
    """Submits the recorded operations and waits for the engine's stream and for `stream`."""
    _core.synchronize()
    _core.Stream(stream).synchronize()
