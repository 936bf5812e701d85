"""`CUPROUS_DEBUG=1`: launches are logged and synchronous, so that an error is raised at the launching line.

CUPROUS_DEBUG=2 shows the CUDA C++ as well when a kernel is compiled. `CUPROUS_KERNEL_CHECK=1` is `check=True` for all
kernels of `cuda.jit`.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from cuprous import _core

_VALUE = os.environ.get("CUPROUS_DEBUG", "0")
#: 0: off; 1: launches are logged; 2: the generated code too.
LEVEL: int = 2 if _VALUE == "2" else int(_VALUE not in ("", "0"))
#: Whether kernels without the option `check` are compiled with it.
CHECKS = os.environ.get("CUPROUS_KERNEL_CHECK", "0") not in ("", "0")


def _say(text: str) -> None:
    print(f"cuprous: {text}", file=sys.stderr, flush=True)


def _line() -> str:
    """Returns the source line that launches."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "cuprous" in str(frame.f_globals.get("__name__", "")).split(".")[:1]:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class Launch:
    """A configured kernel that logs its launches and waits for them."""

    def __init__(self, kernel: Any, key: Any, launcher: Any) -> None:
        self.kernel, self.key, self.launcher = kernel, key, launcher

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        name = self.kernel.__name__
        known = len(self.kernel.compiled_types())
        where = _line()
        _core.synchronize()
        start = time.perf_counter()
        try:
            self.launcher(*args, **kwargs)
            _core.synchronize()
        except Exception as error:
            _say(f"{name}[{self.key[0]}, {self.key[1]}] at {where} failed: {type(error).__name__}")
            raise
        elapsed = (time.perf_counter() - start) * 1e3
        found = self.kernel.listing()
        if len(found) > known:
            keys = ", ".join(map(str, self.kernel.signatures[-1]))
            _say(f"{name} compiled for ({keys})")
            if LEVEL == 2:
                print(found[-1][1], file=sys.stderr, flush=True)
        more = ", with compiling" if len(found) > known else ""
        _say(f"{name}[{self.key[0]}, {self.key[1]}] at {where}: {elapsed:.3f} ms{more}")
