"""Older names of `torch.amp` for CUDA."""

from __future__ import annotations

from typing import Any

from cuprous.torch import amp


class autocast(amp.autocast):
    """The context manager `torch.amp.autocast("cuda")`.

    Parameters
    ----------
    enabled : bool, default True
        Whether it has an effect.
    dtype : dtype, optional
        float16 or bfloat16, by default float16.
    cache_enabled : bool, default True
        Has no effect.

    See Also
    --------
    torch.amp.autocast, torch.cuda.amp.GradScaler

    Examples
    --------
    >>> with torch.cuda.amp.autocast(enabled=False):
    ...     x = torch.ones(2) + 1
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """The scaler `torch.amp.GradScaler("cuda")`.

    Parameters
    ----------
    init_scale : float, optional
        The first scale.
    growth_factor : float, default 2.0
        The factor by which the scale grows.
    backoff_factor : float, default 0.5
        The factor by which the scale shrinks after a skipped step.
    growth_interval : int, default 2000
        The number of successful steps after which the scale grows.
    enabled : bool, default True
        Whether there is a scale.

    See Also
    --------
    torch.amp.GradScaler, torch.cuda.amp.autocast

    Examples
    --------
    >>> torch.cuda.amp.GradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Returns `torch.amp.custom_fwd(device_type="cuda")`.

    Parameters
    ----------
    fwd : callable, optional
        The method; None for a decorator.
    cast_inputs : dtype, optional
        A dtype to which the arguments are cast.

    Returns
    -------
    callable
        The method, or a decorator.

    See Also
    --------
    torch.amp.custom_fwd, torch.cuda.amp.custom_bwd

    Examples
    --------
    >>> decorator = torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
    """
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """Returns `torch.amp.custom_bwd(device_type="cuda")`.

    Parameters
    ----------
    bwd : callable, optional
        The method; None for a decorator.

    Returns
    -------
    callable
        The method, or a decorator.

    See Also
    --------
    torch.amp.custom_bwd, torch.cuda.amp.custom_fwd

    Examples
    --------
    >>> decorator = torch.cuda.amp.custom_bwd()
    """
    return amp.custom_bwd(bwd, device_type="cuda")


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
