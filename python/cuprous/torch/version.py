"""The version of PyTorch whose API this is, and of CUDA or HIP."""

from cuprous import _core
from cuprous.torch.torch_version import TorchVersion

__version__ = TorchVersion("2.11.0+cuprous")
hip = _core.hip_version()
cuda = "13.0" if hip is None else None

git_version = ""
xpu = None
debug = False

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
