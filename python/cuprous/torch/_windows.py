"""Window functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _creation, _ranges
from cuprous.torch._args import by_name, unsupported
from cuprous.torch._info import get_default_dtype
from cuprous.torch._types import DTYPES

_map = _core.t_map


def _positions(window_length: int, periodic: bool, dtype: Any, device: Any) -> Any:
    """Returns the positions of a window's elements in [0, 1]; a periodic window ends one element before 1."""
    if window_length < 0:
        raise RuntimeError(f"window_length must be non-negative, got {window_length}")
    kind = DTYPES["float64"] if dtype is None or dtype.name == "float64" else DTYPES["float32"]
    k = _ranges.arange(window_length, dtype=kind, device=device)
    return k / max(window_length if periodic else window_length - 1, 1)


def _finished(name: str, window: Any, dtype: Any, layout: Any, pin_memory: bool, requires_grad: bool) -> Tensor:
    """Returns a window with the options of functions that create tensors."""
    unsupported(name, layout=(layout, None))
    result: Any = window.to(dtype or get_default_dtype())
    result = result.pin_memory() if pin_memory else result
    return result.requires_grad_(requires_grad)


def _cosines(
    name: str, doc: str, example: str, coefficients: Callable[..., tuple[float, ...]], **settings: float
) -> Callable[..., Tensor]:
    def window(
        window_length: int,
        periodic: bool = True,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **given: Any,
    ) -> Tensor:
        if len(args) > len(settings) or not given.keys() <= settings.keys():
            raise TypeError(f"{name}() takes the settings {', '.join(settings) or '(none)'}")
        values = settings | dict(zip(settings, args, strict=False)) | given
        if window_length == 1:
            result: Any = _creation.ones(1, dtype=DTYPES["float64"], device=device)
        else:
            x = _positions(window_length, periodic, DTYPES["float64"], device)
            result = sum(c * _map("cos", 2 * math.pi * k * x) for k, c in enumerate(coefficients(**values)))
        return _finished(name, result, dtype, layout, pin_memory, requires_grad)

    own = "".join(
        f"{setting} : float, default {x}\n        A coefficient of the window.\n    " for setting, x in settings.items()
    )
    return named(
        window,
        name,
        f"""{doc}

    Parameters
    ----------
    window_length : int
        The number of elements.
    periodic : bool, default True
        Whether the window is one period of a longer one; False for a symmetric window.
    *args : float
        The values of {" and ".join(settings) or "no further parameters"}.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.
    {own}**given : float
        The same values by keyword.

    Returns
    -------
    Tensor
        A tensor of shape (window_length).

    Raises
    ------
    RuntimeError
        For a negative length.

    See Also
    --------
    {related_names(name, "bartlett_window blackman_window hamming_window hann_window kaiser_window")}

    Examples
    --------
    >>> torch.{name}(4)[1:]
    {example}
    """,
    )


hann_window = _cosines("hann_window", "Returns a Hann window.", "tensor([0.5000, 1.0000, 0.5000])", lambda: (0.5, -0.5))
hamming_window = _cosines("hamming_window", "Returns a Hamming window.", "tensor([0.5400, 1.0000, 0.5400])",
                          lambda alpha, beta: (alpha, -beta), alpha=0.54, beta=0.46)  # fmt: skip
blackman_window = _cosines(
    "blackman_window",
    "Returns a Blackman window.",
    "tensor([0.3400, 1.0000, 0.3400])",
    lambda: (0.42, -0.5, 0.08),
)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None,
                    device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Returns a triangular window.

    Parameters
    ----------
    window_length : int
        The number of elements.
    periodic : bool, default True
        Whether the window is one period of a longer one; False for a symmetric window.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.

    Returns
    -------
    Tensor
        A tensor of shape (window_length).

    Raises
    ------
    RuntimeError
        For a negative length.

    See Also
    --------
    torch.blackman_window, torch.hamming_window, torch.hann_window, torch.kaiser_window

    Examples
    --------
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    x = _positions(window_length, periodic, DTYPES["float64"], device)
    result = 1 - _map("absolute", 2 * x - 1) if window_length != 1 else _creation.ones(1, device=device)
    return _finished("bartlett_window", result, dtype, layout, pin_memory, requires_grad)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
                  layout: Any = None, device: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Returns a Kaiser window.

    Parameters
    ----------
    window_length : int
        The number of elements.
    periodic : bool, default True
        Whether the window is one period of a longer one; False for a symmetric window.
    beta : float, default 12.0
        The shape: the larger it is, the narrower is the window.
    dtype : dtype, optional
        The floating dtype, by default the default dtype.
    layout : layout, optional
        `torch.strided`, the only layout of tensors.
    device : device or str, optional
        The device, by default the default device.
    pin_memory : bool, default False
        Whether the result is in page-locked host memory, from which GPUs copy faster.
    requires_grad : bool, default False
        Whether operations on the result are recorded for gradients.

    Returns
    -------
    Tensor
        A tensor of shape (window_length).

    Raises
    ------
    RuntimeError
        For a negative length.

    See Also
    --------
    torch.bartlett_window, torch.blackman_window, torch.hamming_window, torch.hann_window

    Examples
    --------
    >>> torch.kaiser_window(4, beta=0.0)
    tensor([1., 1., 1., 1.])
    """
    x = 2 * _positions(window_length, periodic, DTYPES["float64"], device) - 1
    inside = _map("maximum", 1 - _map("square", x), 0.0)
    zero = _creation.zeros((), dtype=DTYPES["float64"], device=device)
    result = _map("i0", beta * _map("sqrt", inside)) / _map("i0", zero + beta)
    result = result if window_length != 1 else _creation.ones(1, device=device)
    return _finished("kaiser_window", result, dtype, layout, pin_memory, requires_grad)


FUNCTIONS = by_name(bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window)
