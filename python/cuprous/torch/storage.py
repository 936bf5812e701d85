"""`torch.storage`: the memory of tensors, as programs look at it to find tensors that share it."""

from __future__ import annotations

import io
from typing import Any

from cuprous.torch._storage import TypedStorage, UntypedStorage
from cuprous.torch.serialization import load


def _load_from_bytes(b: bytes) -> Any:
    """Reads what PyTorch's pickles of tensors contain."""
    return load(io.BytesIO(b), weights_only=False)


__all__ = ["TypedStorage", "UntypedStorage"]
