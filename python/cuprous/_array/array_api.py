"""The array API standard's own names: its version, and the inspection of the namespace."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.dtype_info import dtypes_of

__array_api_version__ = "2025.12"

#: Reductions support arrays of up to this many axes.
MAX_DIMENSIONS = 32

#: Versions of the standard that `array.__array_namespace__` can be asked for; each contains the ones before.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def device_object(word: str) -> Any:
    """Returns a device as `array.device` does: "cpu", "auto", or a `cuda.Device`."""
    if word in ("cpu", "auto"):
        return word
    from cuprous.cuda import Device  # `import cuprous` does not import the kernel language

    return Device(int(word.partition(":")[2] or 0))


class Info:
    """What `__array_namespace_info__()` returns. (Section "Inspection" of the standard.)"""

    def capabilities(self) -> dict[str, Any]:
        """Returns which optional parts of the standard are supported, and the number `max dimensions`."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> Any:
        """Returns the device of new arrays."""
        return device_object(_core.get_device())

    def devices(self) -> list[Any]:
        """Returns all usable devices, the CPU first."""
        return ["cpu", *(device_object(f"cuda:{i}") for i in range(_core.device_count()))]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Returns the default dtypes of new arrays.

        Raises
        ------
        ValueError
            If the device does not exist.
        """
        self._check(device)
        names = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: _dtypes.numpy_dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes of a kind, a tuple of kinds or all, by name. (float16 and bfloat16 are not in it.)

        Raises
        ------
        ValueError
            If the device or the kind does not exist.
        """
        self._check(device)
        return dict(dtypes_of(kind))

    def _check(self, device: Any) -> None:
        if device is not None and device not in self.devices() and device not in ("cuda", "cuda:0"):
            raise ValueError(f"device {device!r} does not exist; the devices are {', '.join(map(str, self.devices()))}")


def __array_namespace_info__() -> Info:
    """Returns the inspection interface of the array API standard: capabilities, devices and dtypes.

    Returns
    -------
    Info
        An object with the methods of the standard.

    See Also
    --------
    finfo, iinfo, isdtype, result_type

    Examples
    --------
    >>> cp.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return Info()


def check_version(api_version: str | None) -> None:
    """Raises ValueError unless this version of the standard is supported."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f'Version "{api_version}" of the Array API Standard is not supported; {", ".join(VERSIONS)} are.'
        )


__all__ = ["__array_api_version__", "__array_namespace_info__"]
