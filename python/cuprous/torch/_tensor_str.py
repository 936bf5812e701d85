"""The functions of PyTorch's private module of this name that libraries call: text representations of tensors."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _printing


class _Options:
    """The options of `set_printoptions`, as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return _printing.option(name)
        except KeyError:
            raise AttributeError(name) from None


PRINT_OPTS = _Options()


def _tensor_str(self: Tensor, indent: int) -> str:
    """Returns the elements as text. Further lines are indented."""
    return _printing.values(self, " " * indent) if self.numel() else "[]"


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Returns the text with further parts and the closing bracket."""
    first = [",\n" + " " * indent + suffixes[0]] if force_newline and suffixes else []
    return _printing.joined(tensor_str + "".join(first), suffixes[len(first) :], indent)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Returns the text of a tensor."""
    return _printing.text(self, contents=tensor_contents)


_str_intern = _str

__all__ = ["PRINT_OPTS"]
