"""The functions of NVIDIA's libdevice by name, for kernels: `libdevice.sincos(x)`."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.cuda._intrinsics import _Intrinsic

_PREFIX = "libdevice."
_NAMES = frozenset(n.removeprefix(_PREFIX) for n in _core.kernel_builtins() if n.startswith(_PREFIX))


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'cuprous.cuda.libdevice' has no attribute {name!r}")
    return _Intrinsic(_PREFIX + name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
