"""PTX of kernels, by NVRTC."""

from __future__ import annotations

from typing import Any

from cuprous.cuda._device import Device, is_available
from cuprous.cuda._nvrtc import compile_source


def _target(cc: tuple[int, int] | None) -> str:
    """The target of a compute capability; without one, this machine's GPU, else what runs on all that are supported."""
    if cc is None:
        return f"compute_{Device().compute_capability}" if is_available() else "compute_75"
    return f"compute_{cc[0]}{cc[1]}"


def ptx(kernel: Any, args: Any, cc: tuple[int, int] | None = None, flags: Any = ()) -> str:
    """Returns the PTX of a kernel for these argument types."""

    source = kernel.cuda_code([t.key for t in args], True, True)
    name = str(kernel.py_func.__name__)
    flags = [*flags, *kernel._options.get("extra", ())]
    return compile_source(source, name, _target(cc), flags).code.rstrip(b"\0").decode()
