"""The version of PyTorch whose API this is, and of CUDA."""

__version__ = "2.11.0+cuprous"
cuda = "13.0"
hip = None

__all__ = ["__version__", "cuda", "hip"]
