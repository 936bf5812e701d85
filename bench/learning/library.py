"""Imports the library that BENCH_LEARNING names; the programs differ in nothing else."""

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
