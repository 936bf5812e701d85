"""`torch.utils.flop_counter`: operations are not counted here."""

from __future__ import annotations

from typing import Any, NoReturn

from cuprous.torch._placeholders import UnsupportedError


class FlopCounterMode:
    """The context manager that counts operations in PyTorch. It can be created here, and raises an error when it is
    entered.

    Parameters
    ----------
    mods : sequence of Modules, optional
        Has no effect.
    depth : int, default 2
        Has no effect.
    display : bool, default True
        Has no effect.
    custom_mapping : dict, optional
        Has no effect.

    See Also
    --------
    torch.profiler.profile

    Examples
    --------
    >>> counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth = depth

    def __enter__(self) -> NoReturn:
        """Raises UnsupportedError."""
        raise UnsupportedError("[FlopCounterMode] operations are not counted; use cuprous.profile or cuprous.estimate")

    def __exit__(self, *_: Any) -> None:
        pass

    def get_total_flops(self) -> int:
        """Returns 0, because nothing was counted.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.utils.flop_counter.FlopCounterMode(display=False).get_total_flops()
        0
        """
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Returns no counts.

        Returns
        -------
        dict of str to dict
            A dict.

        Examples
        --------
        >>> counts = torch.utils.flop_counter.FlopCounterMode(display=False).get_flop_counts()
        """
        return {"Global": {}}


__all__ = ["FlopCounterMode"]
