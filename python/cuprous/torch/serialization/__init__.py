"""`torch.save` and `torch.load`: PyTorch's zip files, read without running any code that they contain."""

from cuprous.torch.serialization._names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from cuprous.torch.serialization._read import load
from cuprous.torch.serialization._write import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
