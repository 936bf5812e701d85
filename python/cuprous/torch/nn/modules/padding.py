"""Padding layers. The classes for each mode and number of dimensions are generated from one table."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module


class _Pad(Module):
    """Pads the last dimensions; `padding` is one width for all sides, or (before, after) of each dimension, the last
    dimension first."""

    _repr = "{self.padding}"
    _dims, _mode = 1, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        widths = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        if len(widths) != 2 * self._dims:
            raise ValueError(f"{type(self).__name__} takes {2 * self._dims} widths, got {padding}")
        self.padding = widths

    def forward(self, input: Tensor) -> Tensor:
        """Returns the padded input."""
        return F.pad(input, self.padding, self._mode, getattr(self, "value", None))


class _Constant(_Pad):
    """Padding with a value."""

    _repr = "padding={self.padding}, value={self.value}"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


class _Zero(_Pad):
    """Padding with zeros."""


#: The base class and mode for each prefix of a class name.
_KINDS: dict[str, tuple[type[_Pad], str]] = {
    "ConstantPad": (_Constant, "constant"), "ZeroPad": (_Zero, "constant"), "ReflectionPad": (_Pad, "reflect"),
    "ReplicationPad": (_Pad, "replicate"), "CircularPad": (_Pad, "circular"),
}  # fmt: skip

__all__: list[str] = []
for _kind, (_base, _mode) in _KINDS.items():
    for _n in (1, 2, 3):
        _name = f"{_kind}{_n}d"
        _what = (
            "a value" if _kind == "ConstantPad" else "zeros" if _kind == "ZeroPad" else f"the mode {_mode!r} of `pad`"
        )
        _value = "\n    value : number\n        The value." if _kind == "ConstantPad" else ""
        _doc = f"""A layer that pads the last {_n} dimension{"s" * (_n > 1)} with {_what}.

    Parameters
    ----------
    padding : int or sequence of ints
        One width for all sides, or the widths before and after each dimension, of the last dimension first.{_value}

    Shapes
    ------
    input
        (N, C, ...) or (C, ...) with {_n} more dimension{"s" * (_n > 1)}.
    result
        Of the dtype of the input.

    Raises
    ------
    ValueError
        For another number of widths.

    See Also
    --------
    torch.nn.functional.pad

    Examples
    --------
    >>> nn.{_name}(1{", 0.5" if _kind == "ConstantPad" else ""})(torch.ones(1, 1{", 2" * _n})).shape
    torch.Size([1, 1{", 4" * _n}])
    """
        _body = {"_dims": _n, "_mode": _mode, "__doc__": _doc, "__module__": __name__}
        globals()[_name] = type(_name, (_base,), _body)
        __all__.append(_name)
