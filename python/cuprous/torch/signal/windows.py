"""Window functions, which are symmetric by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _windows
from cuprous.torch._args import named


def _symmetric(name: str, of: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def window(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, **settings: Any) -> Tensor:  # fmt: skip
        return of(M, not sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, **settings)

    return named(window, name, f"{of.__doc__} It is symmetric unless `sym` is False.")


bartlett, blackman, hann, kaiser = (
    _symmetric(name, getattr(_windows, f"{name}_window")) for name in ("bartlett", "blackman", "hann", "kaiser")
)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Returns a Hamming window. It is symmetric unless `sym` is False."""
    return _windows.hamming_window(M, not sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


__all__ = ["bartlett", "blackman", "hamming", "hann", "kaiser"]
