"""GPUs as objects."""

from __future__ import annotations

import threading
from typing import Any

from cuprous import _core
from cuprous.cuda.errors import CUDARuntimeError


def is_available() -> bool:
    """Returns true if a GPU can be used.

    Returns
    -------
    bool

    See Also
    --------
    cuda.detect, cuda.list_devices, cuda.current_context

    Examples
    --------
    >>> cuda.is_available() == (cuda.runtime.getDeviceCount() > 0)
    True
    """
    return _core.device_count() > 0


def get_device_id() -> int:
    """Returns the number of the current GPU.

    Returns
    -------
    int

    See Also
    --------
    cuda.select_device, cuda.get_device_properties, cuda.get_current_device

    Examples
    --------
    >>> cuda.get_device_id()
    0
    """
    device = _core.get_device()
    return int(device.partition(":")[2] or 0)


class _Stack(threading.local):
    """What the `with` blocks of a thread restore."""

    def __init__(self) -> None:
        self.outer: list[int] = []


_STACK = _Stack()


class Device:
    """A GPU. `with Device(0):` or `.use()` makes it the device of the thread's new arrays.

    Parameters
    ----------
    device : int, device or str, optional
        Its number, by default that of the current GPU.

    See Also
    --------
    cuda.get_current_device, cuda.select_device, cuda.gpus

    Examples
    --------
    >>> if cuda.is_available():
    ...     with cuda.Device(0):
    ...         x = cp.ones(3)
    """

    def __init__(self, device: int | Device | None = None) -> None:
        self.id: int = get_device_id() if device is None else int(device)

    def _check(self) -> None:
        count = _core.device_count()
        if not 0 <= self.id < count:
            reason = _core.unusable_gpu_reason()
            raise CUDARuntimeError(
                f"cudaErrorInvalidDevice: there is no usable GPU {self.id} (usable GPUs: {count})"
                + (f"; {reason}" if reason else "")
            )

    def use(self) -> None:
        """Makes the GPU the device of the thread's new arrays.

        Raises
        ------
        CUDARuntimeError
            If there is no such GPU.

        Examples
        --------
        >>> if cuda.is_available():
        ...     cuda.Device(0).use()
        """
        self._enter()

    def _enter(self) -> int:
        self._check()
        return _core.enter_device(f"cuda:{self.id}")

    def synchronize(self) -> None:
        """Submits the recorded operations and waits for them.

        Examples
        --------
        >>> cuda.Device().synchronize()
        """
        _core.synchronize()

    def __enter__(self) -> Device:
        _STACK.outer.append(self._enter())
        return self

    def __exit__(self, *exc: Any) -> None:
        _core.leave_device(_STACK.outer.pop())

    @property
    def _properties(self) -> dict[str, Any]:
        self._check()
        return _core.device_properties(self.id)

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of its memory."""
        properties = self._properties
        return int(properties["freeMemory"]), int(properties["totalGlobalMem"])

    @property
    def _capability(self) -> tuple[int, int]:
        properties = self._properties
        return int(properties["major"]), int(properties["minor"])

    @property
    def compute_capability(self) -> Any:
        """The major and minor number without a dot, such as "90"."""
        return "{}{}".format(*self._capability)

    @property
    def attributes(self) -> dict[str, Any]:
        """The driver's attributes of the device."""
        return self._properties

    @property
    def name(self) -> str:
        """Its product name."""
        return str(self._properties["name"])

    @property
    def supports_float16(self) -> bool:
        """True if kernels can compute with float16."""
        return self._capability >= (5, 3)

    @property
    def supports_bfloat16(self) -> bool:
        """True if kernels can compute with bfloat16."""
        return self._capability >= (8, 0)

    def __int__(self) -> int:
        return self.id

    def __index__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(("cuda", self.id))

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


class Gpu(Device):
    """A GPU as `numba.cuda` shows it: `get_current_device()`, `gpus[0]`. The driver's attributes, such as
    `device.WARP_SIZE`, are attributes.
    """

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number, as (9, 0)."""
        return self._capability

    @property
    def uuid(self) -> str:
        """The unique identifier, as `nvidia-smi -L` shows it."""
        return str(self._properties["uuid"])

    def __getattr__(self, name: str) -> int:
        if not name.isupper() or name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        from cuprous.pycuda._attributes import device_attribute  # PyCUDA's names, which few programs use

        found = device_attribute.__members__.get(name)
        if found is None:
            known = ", ".join(device_attribute.__members__)
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}; there are {known}")
        return found.of(self._properties)
