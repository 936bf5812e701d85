"""Types for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from cuprous._core import Tensor
from cuprous.torch._types import device, dtype

Number: TypeAlias = Union[int, float, bool]  # noqa: UP007
Device: TypeAlias = Union[device, str, int, None]  # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
Storage: TypeAlias = Any
TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_dtype, _device = dtype, device
_size: TypeAlias = Union[list[int], tuple[int, ...]]  # noqa: UP007

__all__ = ["Device", "FileLike", "Number", "Storage"]
