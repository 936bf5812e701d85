"""Runs programs that import PyTorch, CuPy, Numba's CUDA or PyCUDA on Cuprous, without a change to their text.

`bind()` makes `import torch` and the others import Cuprous's modules, in this process and in the Python processes that
it starts. The commands `cuprous run program.py` and `cuprous doctor program.py`, the notebook extension (`%load_ext
cuprous`), the pytest plugin (`pytest -p cuprous`) and the launcher (`python -m cuprous.run --bind`) are built on it.
Nothing is bound unless one of them is used.
"""

from __future__ import annotations

from cuprous.runner._binding import bind, bound, unbind
from cuprous.runner._real import real_package

__all__ = ["bind", "bound", "real_package", "unbind"]
