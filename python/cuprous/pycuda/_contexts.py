"""Devices, contexts and versions of PyCUDA's driver."""

from __future__ import annotations

import threading
from typing import Any

from cuprous import _core
from cuprous import cuda as _cuda
from cuprous.cuda import _nvrtc
from cuprous.pycuda._attributes import device_attribute, func_cache
from cuprous.pycuda._errors import LogicError


def init(flags: int = 0) -> None:
    """Does nothing: the device starts with its first work. As in CUDA, `flags` must be 0.

    See Also
    --------
    pycuda.driver.Device, pycuda.driver.Context

    Examples
    --------
    >>> drv.init()
    """
    if flags:
        raise LogicError(f"cuInit failed: invalid argument: flags={flags}, must be 0")


def get_version() -> tuple[int, int, int]:
    """Returns the CUDA version of the compiler.

    See Also
    --------
    pycuda.driver.get_driver_version
    """
    major, minor = _nvrtc.version()
    return major, minor, 0


def get_driver_version() -> int:
    """Returns the driver's version, such as 13000 for 13.0; 0 without a driver.

    See Also
    --------
    pycuda.driver.get_version

    Examples
    --------
    >>> drv.get_driver_version() >= 0
    True
    """
    return int(_core.device_properties(0).get("driverVersion", 0)) if _core.device_count() else 0


class Device:
    """A GPU.

    See Also
    --------
    pycuda.driver.Context, pycuda.driver.device_attribute

    Examples
    --------
    >>> drv.Device.count() >= 0
    True
    """

    def __init__(self, number: int) -> None:
        count = _core.device_count()
        if not 0 <= int(number) < count:
            reason = _core.unusable_gpu_reason()
            raise LogicError(f"cuDeviceGet failed: invalid device ordinal {number}, usable GPUs: {count}"
                             + (f"; {reason}" if reason else ""))  # fmt: skip
        self._device = _cuda.Device(int(number))

    @staticmethod
    def count() -> int:
        """Returns the number of GPUs.

        Examples
        --------
        >>> drv.Device.count() >= 0
        True
        """
        return _core.device_count()

    def name(self) -> str:
        """Returns the product name.

        Examples
        --------
        >>> # needs a GPU
        >>> device = drv.Device(0)
        >>> name = device.name()
        """
        return self._device.name

    def compute_capability(self) -> tuple[int, int]:
        """Returns the major and minor compute capability.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).compute_capability() >= (7, 5)
        True
        """
        both = int(self._device.compute_capability)
        return both // 10, both % 10

    def total_memory(self) -> int:
        """Returns the bytes of the GPU's memory.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).total_memory() > 0
        True
        """
        return self._device.mem_info[1]

    def get_attributes(self) -> dict[device_attribute, int]:
        """Returns all attributes.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.device_attribute.WARP_SIZE in drv.Device(0).get_attributes()
        True
        """
        properties = self._device.attributes
        return {attribute: attribute.of(properties) for attribute in device_attribute}

    def get_attribute(self, attr: device_attribute) -> int:
        """Returns an attribute: `device.get_attribute(driver.device_attribute.WARP_SIZE)`, or `device.warp_size`.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).get_attribute(drv.device_attribute.MAX_THREADS_PER_BLOCK)
        1024
        """
        return attr.of(self._device.attributes)

    def __getattr__(self, name: str) -> int:
        found = device_attribute.__members__.get(name.upper())
        if found is None or name.startswith("_"):
            raise AttributeError(f"'Device' object has no attribute {name!r}")
        return self.get_attribute(found)

    def pci_bus_id(self) -> str:
        """Returns the PCI address.

        Examples
        --------
        >>> # needs a GPU
        >>> address = drv.Device(0).pci_bus_id()
        """
        return str(self._device.attributes["pciBusID"])

    def make_context(self, flags: int = 0) -> Context:
        """Makes the primary context current until it is popped. Other contexts are not created, so that other libraries
        share the memory. `flags` select how the host waits and have no effect.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> context.pop()
        """
        context = self.retain_primary_context()
        context.push()
        return context

    def retain_primary_context(self) -> Context:
        """Returns the primary context, which is current only after it is pushed.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).retain_primary_context()
        """
        return Context(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._device == self._device

    def __hash__(self) -> int:
        return hash(self._device)


class _Stack(threading.local):
    """The devices of the contexts below the current one, per host thread."""

    def __init__(self) -> None:
        self.under: list[Any] = []


_STACK = _Stack()


class Context:
    """The primary context of a GPU. The current context is that of the default device.

    See Also
    --------
    pycuda.driver.Device, pycuda.driver.init

    Examples
    --------
    >>> drv.Context.get_current() == drv.Context.get_current()
    True
    """

    def __init__(self, device: Device | None = None) -> None:
        self._device = device

    @staticmethod
    def get_current() -> Context:
        """Returns the current context.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Context.get_current() == drv.Context.get_current()
        True
        """
        is_gpu = _core.get_device() != "cpu" and _core.device_count() > 0
        return Context(Device(_cuda.get_device_id()) if is_gpu else None)

    @staticmethod
    def get_device() -> Device:
        """Returns the GPU of the current context.

        Raises
        ------
        LogicError
            If programs run on the CPU.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Context.get_device() == drv.Device(0)
        True
        """
        return Device(_cuda.get_device_id())

    @staticmethod
    def synchronize() -> None:
        """Submits the recorded work and waits for it.

        Examples
        --------
        >>> drv.Context.synchronize()
        """
        _core.synchronize()

    @staticmethod
    def pop() -> None:
        """Restores the context that was current before the last `push` or `make_context`.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> Context = drv.Context
        >>> Context.pop()
        """
        if _STACK.under:
            _core.enter_device(_STACK.under.pop())

    def push(self) -> None:
        """Makes the context current.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).retain_primary_context()
        >>> context.push()
        >>> context.pop()
        """
        _STACK.under.append(_core.get_device())
        if self._device is not None:
            self._device._device.use()

    attach = push

    def detach(self) -> None:
        """Pops the context if it is current; the primary context itself persists.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> context.detach()
        """
        if self == Context.get_current():
            Context.pop()

    get_api_version = staticmethod(get_driver_version)

    @staticmethod
    def set_cache_config(cc: Any) -> None:
        """Accepts any of `func_cache` without effect, as the driver splits memory between cache and shared memory.

        Examples
        --------
        >>> drv.Context.set_cache_config(drv.func_cache.PREFER_L1)
        """
        func_cache(cc)

    @staticmethod
    def get_cache_config() -> func_cache:
        """Returns `func_cache.PREFER_NONE`, as the driver decides.

        Examples
        --------
        >>> drv.Context.get_cache_config()
        <func_cache.PREFER_NONE: 0>
        """
        return func_cache.PREFER_NONE

    @staticmethod
    def set_limit(limit: Any, value: int) -> None:
        """Not supported.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f"[Context] set_limit({limit}, {value}) is not supported")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other._device == self._device

    def __hash__(self) -> int:
        return hash(self._device)


__all__ = ["Context", "Device", "get_driver_version", "get_version", "init"]
