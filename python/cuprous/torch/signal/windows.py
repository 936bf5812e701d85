"""Window functions, which are symmetric by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _windows


def _symmetric(name: str, of: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def window(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, **settings: Any) -> Tensor:  # fmt: skip
        return of(M, not sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, **settings)

    summary = (of.__doc__ or "").partition("\n")[0]
    more = "beta: the shape: the larger it is, the narrower is the window." if name == "kaiser" else "not used."
    return named(
        window,
        name,
        f"""{summary} It is symmetric unless `sym` is False.

    Parameters
    ----------
    M : int
        The number of elements.
    sym : bool, default True
        Whether the window is symmetric; it is one period of a longer one otherwise.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    **settings : any
        {more}

    Returns
    -------
    Tensor
        A tensor of shape (M).

    See Also
    --------
    {related_names(name, "bartlett blackman hamming hann kaiser", "torch.signal.windows")}

    Examples
    --------
    >>> torch.signal.windows.{name}(3)[1]
    tensor(1.)
    """,
    )


bartlett, blackman, hann, kaiser = (
    _symmetric(name, getattr(_windows, f"{name}_window")) for name in ("bartlett", "blackman", "hann", "kaiser")
)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Returns a Hamming window. It is symmetric unless `sym` is False.

    Parameters
    ----------
    M : int
        The number of elements.
    sym : bool, default True
        Whether the window is symmetric; it is one period of a longer one otherwise.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.

    Returns
    -------
    Tensor
        A tensor of shape (M).

    See Also
    --------
    torch.signal.windows.hann, torch.signal.windows.kaiser, torch.signal.windows.bartlett,
    torch.signal.windows.blackman

    Examples
    --------
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _windows.hamming_window(M, not sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


__all__ = ["bartlett", "blackman", "hamming", "hann", "kaiser"]
