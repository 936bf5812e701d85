"""Garbage collection at the same time on all ranks."""

from __future__ import annotations

import gc
from types import TracebackType


class gc_every:
    """Collects Python's garbage every `n` iterations, at the same time on all ranks, instead of whenever Python likes.

    Otherwise each rank pauses in another iteration, and the others wait for it in the next collective: of many ranks,
    one is nearly always pausing. Used with `with`; Python collects by itself again at the end. Objects that refer to
    each other in a cycle are kept until the next collection, all others go away at once as ever.

    Parameters
    ----------
    n : int
        The iterations between two collections. The same on all ranks.

    Raises
    ------
    ValueError
        Unless `n` is positive.

    Examples
    --------
    >>> with dist.gc_every(100) as garbage:
    ...     for iteration in range(1000):
    ...         garbage.step()  # the last line of an iteration
    >>> garbage.collections
    10
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"[gc_every] n must be positive, got {n}")
        self._n, self._steps = n, 0
        self._was_enabled = False
        #: How often `step` has collected.
        self.collections = 0

    def __enter__(self) -> gc_every:
        self._was_enabled = gc.isenabled()
        gc.disable()
        gc.collect()
        return self

    def step(self) -> None:
        """Ends an iteration. All ranks call it equally often.

        Raises
        ------
        RuntimeError
            Outside of `with`.

        Examples
        --------
        >>> with dist.gc_every(2) as garbage:
        ...     garbage.step()
        >>> garbage.collections
        0
        """
        if gc.isenabled():
            raise RuntimeError("[gc_every] step() is for the body of `with dist.gc_every(n) as garbage:`")
        self._steps += 1
        if self._steps % self._n == 0:
            gc.collect()
            self.collections += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_enabled:
            gc.enable()
