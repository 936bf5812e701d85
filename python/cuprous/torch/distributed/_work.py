"""Operations under way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cuprous._core import DistBackendError, DistWork, Tensor
from cuprous.torch.distributed._options import seconds
from cuprous.torch.futures import Future


class Work:
    """An operation that was called with `async_op=True`, or a message.

    Operations on its tensors wait for it by themselves; `wait` also raises its error. On a GPU, waiting orders later
    work of the GPU after the operation, and the program goes on.

    See Also
    --------
    torch.distributed.ProcessGroup, torch.distributed.ReduceOp

    Examples
    --------
    >>> x = torch.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait()
    True
    >>> x
    tensor([1., 1.])
    """

    def __init__(self, native: DistWork, result: list[Tensor], finish: Callable[[], None] | None = None) -> None:
        self._native, self._result, self._finish = native, result, finish

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until the operation has ended; on a GPU, until later work comes after it, unless `timeout` is given.
        Returns True.

        Raises
        ------
        DistBackendError
            If the operation failed, or has not ended within `timeout`.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> dist.all_reduce(x, async_op=True).wait()
        True
        """
        if not self._native.wait(None if timeout is None else seconds(timeout)):
            assert timeout is not None
            raise DistBackendError(f"Wait timeout: the operation has not ended within {seconds(timeout):g} seconds")
        return True

    def is_completed(self) -> bool:
        """Returns True if the operation has ended.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> work = dist.all_reduce(x, async_op=True)
        >>> _ = work.wait()
        >>> work.is_completed()
        True
        """
        return self._native.is_completed()

    def is_success(self) -> bool:
        """Returns True if the operation has ended without an error.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> work = dist.all_reduce(x, async_op=True)
        >>> _ = work.wait()
        >>> work.is_success()
        True
        """
        return self._native.is_completed() and self._native.exception() is None

    def exception(self) -> BaseException | None:
        """Returns the exception of an operation that failed.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> work = dist.all_reduce(x, async_op=True)
        >>> _ = work.wait()
        >>> work.exception() is None
        True
        """
        return self._native.exception()

    def source_rank(self) -> int | None:
        """Returns the rank in the group from which a message came."""
        return self._native.source()

    def result(self) -> list[Tensor]:
        """Returns the tensors that the operation writes, after waiting for it.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> work = dist.all_reduce(x, async_op=True)
        >>> _ = work.wait()
        >>> work.result()
        [tensor([1., 1.])]
        """
        self.wait()
        return self._result

    def get_future(self) -> Future[Any]:
        """Returns a future whose value is the list of tensors that the operation writes.

        Examples
        --------
        >>> x = torch.ones(2)
        >>> dist.all_reduce(x, async_op=True).get_future().wait()
        [tensor([1., 1.])]
        """
        return Future._of(self.result, self.is_completed)
