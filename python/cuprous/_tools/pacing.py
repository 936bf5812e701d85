"""Iterates no faster than the recorded work is computed, for progress bars that tell the truth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from cuprous import _core

T = TypeVar("T")


class Paced(Generic[T]):
    """An iterable that waits for the devices between its items: see `paced`."""

    def __init__(self, iterable: Iterable[T], interval: float) -> None:
        self.iterable = iterable
        self.interval = interval

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]  # as the iterable: a TypeError if it does not have one

    def __iter__(self) -> Iterator[T]:
        _core.synchronize()
        batch, recorded, begin = 1, 0, time.perf_counter()
        for item in self.iterable:
            yield item
            recorded += 1
            if recorded < batch:
                continue
            _core.synchronize()
            now = time.perf_counter()
            # Batches are powers of two, so that the recorded work is divided into few different programs.
            if now - begin < self.interval / 2:
                batch *= 2
            elif now - begin > self.interval:
                batch = max(batch // 2, 1)
            recorded, begin = 0, now
        _core.synchronize()


def paced(iterable: Iterable[T], *, interval: float = 0.1) -> Paced[T]:
    """Iterates over `iterable` in step with the work of the loop's body.

    Operations on arrays are recorded and computed later, on a GPU beside the program. A progress bar around a loop is
    therefore ahead of the work, and the last iteration seems to take the time of many. This function waits for the
    devices before the first iteration and after the last one, and in between after as many iterations as take about
    `interval` seconds. The bar is ahead of the work by no more than that, and the waits cost little.

    Parameters
    ----------
    iterable : iterable
        What the loop goes over. If it has a length, so has the result, and bars know their end.
    interval : float, default 0.1
        The seconds of work between two waits, about. 0 waits in each iteration.

    Returns
    -------
    Paced
        An iterable of the same items, to be given to `tqdm.tqdm`, `rich.progress.track` and the like.

    Raises
    ------
    TypeError
        If `iterable` cannot be iterated over.
    ValueError
        If `interval` is negative or not a number.

    See Also
    --------
    timeit, synchronize

    Examples
    --------
    >>> x = cp.ones((100, 100))
    >>> for step in cp.paced(range(20)):  # tqdm(cp.paced(range(20)))
    ...     x = cp.tanh(x @ x)
    >>> float(x[0, 0])
    1.0
    """
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise TypeError(f"[paced] the first argument must be an iterable, not {type(iterable).__name__}")
    if not interval >= 0:
        raise ValueError(f"[paced] interval must be 0 or more seconds, not {interval}")
    return Paced(iterable, float(interval))


__all__ = ["paced"]
