"""Creates a context for the program: the primary one, which other libraries share."""

from __future__ import annotations

import cuprous.pycuda.driver as cuda

cuda.init()
#: The current GPU; None if programs run on the CPU.
device = cuda.Device(0) if cuda.Device.count() else None
context = cuda.Context.get_current()

__all__ = ["context", "device"]
