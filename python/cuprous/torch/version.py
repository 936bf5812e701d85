"""The version of PyTorch whose names these are, and of CUDA whose libraries the GPU uses."""

__version__ = "2.11.0+cuprous"
cuda = "13.0"
hip = None

__all__ = ["__version__", "cuda", "hip"]
