"""`torch.save` and `torch.load`: PyTorch's zip files, read without running any code that they contain."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from cuprous.torch import _placeholders
from cuprous.torch._types import device
from cuprous.torch.serialization._names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from cuprous.torch.serialization._read import load
from cuprous.torch.serialization._write import save

#: The types of `map_location=`.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | device | str | dict[str, str] | None

if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("serialization", name)


__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
