"""Functions that run in new processes."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from typing import Any


class ProcessRaisedException(Exception):
    """The error for a process of `spawn` that ended with an error.

    See Also
    --------
    torch.multiprocessing.spawn

    Examples
    --------
    >>> issubclass(torch.multiprocessing.ProcessRaisedException, Exception)
    True
    """


def _run(function: Callable[..., Any], position: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(position, *args)
    except Exception:
        import traceback

        errors.put((position, traceback.format_exc()))
        raise SystemExit(1) from None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:  # fmt: skip
    """Calls `fn(i, *args)` in several new processes and waits for them.

    Parameters
    ----------
    fn : callable
        The function, which can be pickled.
    args : tuple, optional
        Its arguments after the process's number.
    nprocs : int, default 1
        The number of processes.
    join : bool, default True
        Whether to wait; the processes are returned otherwise.
    daemon : bool, default False
        Whether the processes end with this one.
    start_method : {"spawn", "fork", "forkserver"}, default "spawn"
        "spawn", "fork" or "forkserver".

    Returns
    -------
    ProcessContext or None
        None, or the processes with `join=False`.

    Raises
    ------
    ProcessRaisedException
        With the traceback of the first process that ended with an error.

    See Also
    --------
    torch.multiprocessing.ProcessRaisedException

    Examples
    --------
    >>> torch.multiprocessing.spawn(print, args=("started",), nprocs=2)  # doctest: +SKIP
    """
    context = get_context(start_method)
    errors: Any = context.SimpleQueue()
    processes: list[Any] = [
        context.Process(target=_run, args=(fn, k, args, errors), daemon=daemon)  # type: ignore[attr-defined]
        for k in range(nprocs)
    ]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    if not errors.empty():
        position, text = errors.get()
        raise ProcessRaisedException(f"\n\n-- Process {position} terminated with the following error:\n{text}")
    return None


start_processes = spawn

__all__ = ["ProcessRaisedException", "spawn", "start_processes"]
