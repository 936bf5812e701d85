"""Python's `multiprocessing` under PyTorch's name, and `spawn`. Tensors are copied between processes; memory is not
shared."""

from __future__ import annotations

import multiprocessing as _own
from multiprocessing import *  # noqa: F403
from multiprocessing import get_context  # noqa: F401

from cuprous.torch.multiprocessing.spawn import ProcessRaisedException, spawn, start_processes


def get_sharing_strategy() -> str:
    """Returns "file_system": batches of data loaders are in shared memory, other tensors are copied.

    Returns
    -------
    str

    Examples
    --------
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_system'
    """
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Has no effect: see `get_sharing_strategy`.

    Parameters
    ----------
    new_strategy : str
        The name of a strategy.

    Raises
    ------
    ValueError
        For an unknown strategy.

    Examples
    --------
    >>> torch.multiprocessing.set_sharing_strategy("file_system")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"expected one of {', '.join(sorted(get_all_sharing_strategies()))}, got {new_strategy!r}")


def get_all_sharing_strategies() -> set[str]:
    """Returns the names of PyTorch's strategies.

    Returns
    -------
    set of str
        A set of strings.

    Examples
    --------
    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


__all__ = [*_own.__all__, "ProcessRaisedException", "spawn", "start_processes"]
