"""Statistics of the GPU memory pool under PyTorch's names."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous.torch.cuda._device import number_of

_NONE = {"used_bytes": 0, "free_bytes": 0, "peak_bytes": 0, "n_free_blocks": 0, "limit_bytes": 0, "total_bytes": 0}


def _pool(device: Any) -> dict[str, int]:
    if not _core.device_count():  # as in PyTorch, programs that only print these statistics run without a GPU
        return _NONE
    return _core.memory_stats(f"cuda:{number_of(device)}")


def memory_allocated(device: Any = None) -> int:
    """Returns the bytes of all computed arrays on a GPU. Recorded arrays that are not yet computed have no memory.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    int

    See Also
    --------
    torch.accelerator.max_memory_allocated, torch.accelerator.memory_reserved, torch.accelerator.max_memory_reserved,
    torch.accelerator.memory_stats, torch.accelerator.reset_peak_memory_stats

    Examples
    --------
    >>> torch.cuda.memory_allocated() >= 0
    True
    """
    return _pool(device)["used_bytes"]


def memory_reserved(device: Any = None) -> int:
    """Returns the bytes that the pool holds, for arrays and for reuse.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    int

    See Also
    --------
    torch.accelerator.max_memory_reserved, torch.accelerator.memory_stats, torch.accelerator.reset_peak_memory_stats,
    torch.accelerator.memory_allocated, torch.accelerator.max_memory_allocated

    Examples
    --------
    >>> torch.cuda.memory_reserved() >= 0
    True
    """
    pool = _pool(device)
    return pool["used_bytes"] + pool["free_bytes"]


def max_memory_allocated(device: Any = None) -> int:
    """Returns the peak of the bytes of arrays since the process began or `reset_peak_memory_stats` was called.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    int

    See Also
    --------
    torch.accelerator.memory_reserved, torch.accelerator.max_memory_reserved, torch.accelerator.memory_stats,
    torch.accelerator.reset_peak_memory_stats, torch.accelerator.memory_allocated

    Examples
    --------
    >>> torch.cuda.max_memory_allocated() >= 0
    True
    """
    return _pool(device)["peak_bytes"]


def max_memory_reserved(device: Any = None) -> int:
    """Returns a lower bound of the peak of the pool: its peak of arrays, or what it holds now.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    int

    See Also
    --------
    torch.accelerator.memory_stats, torch.accelerator.reset_peak_memory_stats, torch.accelerator.memory_allocated,
    torch.accelerator.max_memory_allocated, torch.accelerator.memory_reserved

    Examples
    --------
    >>> torch.cuda.max_memory_reserved() >= 0
    True
    """
    return max(_pool(device)["peak_bytes"], memory_reserved(device))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Resets the peak to the current usage.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    See Also
    --------
    torch.accelerator.memory_allocated, torch.accelerator.max_memory_allocated, torch.accelerator.memory_reserved,
    torch.accelerator.max_memory_reserved, torch.accelerator.memory_stats

    Examples
    --------
    >>> torch.cuda.reset_peak_memory_stats()
    """
    if _core.device_count():
        _core.reset_peak_memory(f"cuda:{number_of(device)}")


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """Returns the pool's statistics under PyTorch's names.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    dict of str to int
        A dict.

    See Also
    --------
    torch.accelerator.reset_peak_memory_stats, torch.accelerator.memory_allocated,
    torch.accelerator.max_memory_allocated, torch.accelerator.memory_reserved, torch.accelerator.max_memory_reserved

    Examples
    --------
    >>> stats = torch.cuda.memory_stats()
    """
    pool = _pool(device)
    return {
        "allocated_bytes.all.current": pool["used_bytes"], "allocated_bytes.all.peak": pool["peak_bytes"],
        "reserved_bytes.all.current": memory_reserved(device), "reserved_bytes.all.peak": max_memory_reserved(device),
        "inactive_split_bytes.all.current": pool["free_bytes"], "inactive_split.all.current": pool["n_free_blocks"],
    }  # fmt: skip


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Returns the free and the total bytes of a GPU, over all processes.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Returns
    -------
    pair of ints

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.cuda.memory_summary, torch.cuda.set_per_process_memory_fraction

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     free, total = torch.cuda.mem_get_info()
    """
    properties = _core.device_properties(number_of(device))
    return int(properties["freeMemory"]), int(properties["totalGlobalMem"])


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Returns the pool's statistics as a table.

    Parameters
    ----------
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.
    abbreviated : bool, default False
        For PyTorch's signature; it has no effect.

    Returns
    -------
    str

    See Also
    --------
    torch.cuda.set_per_process_memory_fraction, torch.cuda.mem_get_info

    Examples
    --------
    >>> summary = torch.cuda.memory_summary()
    """
    pool = _pool(device)
    rows = [("arrays", pool["used_bytes"]), ("arrays, at most so far", pool["peak_bytes"]),
            (f"kept for reuse, in {pool['n_free_blocks']} blocks", pool["free_bytes"]),
            ("reserved", memory_reserved(device)), ("limit (0: none)", pool["limit_bytes"])]  # fmt: skip
    body = "\n".join(f"| {name:<36} | {size / (1 << 20):>12.1f} MiB |" for name, size in rows)
    line = "-" * 57
    return f"{line}\n| memory of GPU {number_of(device) if _core.device_count() else '-'}\n{line}\n{body}\n{line}"


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limits the pool to a fraction of the GPU's memory.

    Parameters
    ----------
    fraction : float
        The fraction, from 0 to 1.
    device : device or str, optional
        The GPU, an index, a name or a `torch.device`; None for the current one.

    Raises
    ------
    ValueError
        Unless the fraction is in [0, 1].

    See Also
    --------
    torch.cuda.mem_get_info, torch.cuda.memory_summary

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_per_process_memory_fraction(1.0)
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    number = number_of(device)
    _core.set_memory_limit(f"cuda:{number}", int(fraction * _core.device_properties(number)["totalGlobalMem"]))


def empty_cache() -> None:
    """Returns the cached memory of the pools to the GPUs.

    See Also
    --------
    torch.cuda.memory_allocated, torch.cuda.memory_reserved

    Examples
    --------
    >>> torch.cuda.empty_cache()
    """
    for k in range(_core.device_count()):
        _core.trim_memory(f"cuda:{k}")


__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]  # fmt: skip
