"""Programs that import PyTorch, CuPy, Numba's CUDA or PyCUDA, run with these bound to Cuprous."""
