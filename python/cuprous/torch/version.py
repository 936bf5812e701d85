"""The version of PyTorch whose API this is, and of CUDA."""

from cuprous.torch.torch_version import TorchVersion

__version__ = TorchVersion("2.11.0+cuprous")
cuda = "13.0"
hip = None

git_version = ""
xpu = None
debug = False

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]
