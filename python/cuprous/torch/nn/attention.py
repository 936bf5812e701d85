"""`torch.nn.attention`: which way attention is computed."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cuprous.torch.backends import cuda as _switches


class SDPBackend(enum.Enum):
    """Ways of `scaled_dot_product_attention`. The formula is MATH; the fused ones are one routine here, cuDNN's."""

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
    """Allows only these ways within a `with`.

    Raises:
        TypeError: for anything but members of `SDPBackend`.
        NotImplementedError: for `set_priority`, and for OVERRIDEABLE, which devices of others have.
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in wanted):
        raise TypeError(f"[sdpa_kernel] backends are members of SDPBackend, not {backends!r}")
    if set_priority:
        raise NotImplementedError("[sdpa_kernel] set_priority=True is not supported: the fused routine goes first")
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
