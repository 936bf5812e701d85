"""The import that picks the library: what BENCH_LEARNING names, which is all in which programs differ."""

from __future__ import annotations

import os

if os.environ.get("BENCH_LEARNING", "cuprous") == "torch":
    import torch
    from torch import nn
else:
    import cuprous.torch as torch
    from cuprous.torch import nn

F = nn.functional

__all__ = ["F", "nn", "torch"]
