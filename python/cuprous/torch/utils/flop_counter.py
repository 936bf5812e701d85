"""`torch.utils.flop_counter`: operations are not counted here."""

from __future__ import annotations

from typing import Any, NoReturn

from cuprous.torch._placeholders import UnsupportedError


class FlopCounterMode:
    """The context manager that would count operations: it can be created, and raises when it is entered."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth = depth

    def __enter__(self) -> NoReturn:
        """Raises UnsupportedError."""
        raise UnsupportedError("[FlopCounterMode] operations are not counted; use cuprous.profile or cuprous.estimate")

    def __exit__(self, *_: Any) -> None:
        pass

    def get_total_flops(self) -> int:
        """Returns 0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Returns no counts."""
        return {"Global": {}}


__all__ = ["FlopCounterMode"]
