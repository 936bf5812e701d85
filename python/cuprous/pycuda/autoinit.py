"""A context for the program: the primary one, which is there already and is shared with other libraries."""

from __future__ import annotations

import cuprous.pycuda.driver as cuda

cuda.init()
#: The current GPU; None where programs run on the CPU.
device = cuda.Device(0) if cuda.Device.count() else None
context = cuda.Context.get_current()

__all__ = ["context", "device"]
