"""`torch.nn.attention`: selection of the implementation of attention."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cuprous.torch.backends import cuda as _switches


class SDPBackend(enum.Enum):
    """An implementation of `scaled_dot_product_attention`. MATH is the formula. The fused ones are all cuDNN's routine
    here.

    See Also
    --------
    torch.nn.attention.sdpa_kernel, torch.nn.functional.scaled_dot_product_attention

    Examples
    --------
    >>> nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_NAMES = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
}


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Returns a context manager that allows only some implementations.

    Parameters
    ----------
    backends : SDPBackend or sequence of SDPBackend
        The implementations, or one of them.
    set_priority : bool, default False
        For PyTorch's signature; only False.

    Returns
    -------
    context manager

    Raises
    ------
    TypeError
        For values that are not members of `SDPBackend`.
    NotImplementedError
        For `set_priority`, and for OVERRIDEABLE, which is for other vendors' devices.

    See Also
    --------
    torch.nn.attention.SDPBackend, torch.nn.functional.scaled_dot_product_attention

    Examples
    --------
    >>> x = torch.ones(1, 1, 3, 2)
    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     result = F.scaled_dot_product_attention(x, x, x)
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in wanted):
        raise TypeError(f"[sdpa_kernel] backends are members of SDPBackend, not {backends!r}")
    if set_priority:
        raise NotImplementedError(
            "[sdpa_kernel] set_priority=True is not supported: the fused backend always has priority"
        )
    if SDPBackend.OVERRIDEABLE in wanted:
        raise NotImplementedError("[sdpa_kernel] SDPBackend.OVERRIDEABLE is not supported")
    allowed = {name: backend in wanted for backend, name in _NAMES.items()}
    before = dict(_switches._sdp)
    _switches._sdp.update(allowed)
    try:
        yield
    finally:
        _switches._sdp.update(before)


__all__ = ["SDPBackend", "sdpa_kernel"]
