"""CuPy's settings of Fourier transforms. Each transform runs on one GPU, whatever the number of its axes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

#: The value of `enable_nd_planning`.
_planned = [True]
_DEPRECATED = "enable_nd_planning is deprecated and has no effect: several axes are always transformed by one plan"


def set_cufft_gpus(gpus: int | Sequence[int]) -> NoReturn:
    """Is not supported: a transform runs on one GPU.

    Parameters
    ----------
    gpus : int or sequence of ints
        The number of GPUs, or their indices.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> cp.fft.config.set_cufft_gpus([0, 1])
    Traceback (most recent call last):
    NotImplementedError: ...
    """
    raise NotImplementedError("[set_cufft_gpus] a transform runs on one GPU; divide the batch between the GPUs")


class _Config(ModuleType):
    """The module, whose settings are properties."""

    @property
    def enable_nd_planning(self) -> bool:
        """Whether several axes are transformed at once. Reading and setting it warns."""
        warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
        return _planned[0]

    @enable_nd_planning.setter
    def enable_nd_planning(self, value: bool) -> None:
        warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
        _planned[0] = bool(value)

    @property
    def use_multi_gpus(self) -> bool:
        """Whether transforms run on several GPUs: False."""
        return False

    @use_multi_gpus.setter
    def use_multi_gpus(self, value: bool) -> None:
        if value:
            set_cufft_gpus(2)


sys.modules[__name__].__class__ = _Config

__all__ = ["set_cufft_gpus"]
