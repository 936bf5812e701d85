"""Values that are not there yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is there later: it is set, or computed when somebody waits for it.

    Parameters
    ----------
    devices : sequence of ints, optional
        Has no effect.

    See Also
    --------
    torch.futures.collect_all, torch.futures.wait_all

    Examples
    --------
    >>> future = torch.futures.Future()
    >>> future.set_result(5)
    >>> future.wait()
    5
    """

    def __init__(self, *, devices: Any = None) -> None:
        if devices:
            raise NotImplementedError("[Future] devices is not supported: work on a GPU runs in program order")
        self._compute: Callable[[], T] | None = None
        #: Whether `_compute` would not wait.
        self._is_ready: Callable[[], bool] = bool
        self._value: T | None = None
        self._error: BaseException | None = None
        self._is_done = False
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    @classmethod
    def _of(cls, compute: Callable[[], T], is_ready: Callable[[], bool] = bool) -> Future[T]:
        """Returns a future whose value `compute` waits for, without waiting once `is_ready` returns True."""
        future: Future[T] = cls()
        future._compute, future._is_ready = compute, is_ready
        return future

    def _finish(self) -> None:
        """Waits for the value, or for the error."""
        assert self._compute is not None
        try:
            value = self._compute()
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(value)

    def done(self) -> bool:
        """Returns True if the value is there.

        Returns
        -------
        bool

        Examples
        --------
        >>> torch.futures.Future().done()
        False
        """
        if not self._is_done and self._compute is not None and self._is_ready():
            self._finish()
        return self._is_done

    def wait(self) -> T:
        """Returns the value, and waits for it first.

        Returns
        -------
        Tensor
            The value.

        Raises
        ------
        RuntimeError
            If nothing sets it.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.set_result(5)
        >>> future.wait()
        5
        """
        if not self._is_done:
            if self._compute is None:
                raise RuntimeError("wait() would never return: nothing has called set_result() on this Future")
            self._finish()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def value(self) -> T:
        """Returns the value, which must be there.

        Returns
        -------
        Tensor
            The value.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.set_result(5)
        >>> future.value()
        5
        """
        if not self.done():
            raise RuntimeError("value() needs a Future that is done; call wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Sets the value, once.

        Parameters
        ----------
        result : object
            The value.

        Raises
        ------
        RuntimeError
            For a future that is done.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.set_result(5)
        >>> future.done()
        True
        """
        if self._is_done:
            raise RuntimeError("Future can only be marked completed once.")
        self._value, self._is_done = result, True
        self._run_callbacks()

    def set_exception(self, result: BaseException) -> None:
        """Makes `wait` raise an error, once.

        Parameters
        ----------
        result : Exception
            The error.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.set_exception(ValueError("lost"))
        >>> future.wait()
        Traceback (most recent call last):
            ...
        ValueError: lost
        """
        if self._is_done:
            raise RuntimeError("Future can only be marked completed once.")
        self._error, self._is_done = result, True
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls a function with this future when its value is there.

        Parameters
        ----------
        callback : callable
            The function.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.add_done_callback(lambda future: print(future.value()))
        >>> future.set_result(5)
        5
        """
        if self.done():
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Returns the future of what a function makes of this one.

        Parameters
        ----------
        callback : callable
            A function of this future.

        Returns
        -------
        Future
            A future.

        Examples
        --------
        >>> future = torch.futures.Future()
        >>> future.set_result(5)
        >>> future.then(lambda future: 2 * future.value()).wait()
        10
        """

        def compute() -> S:
            self.wait()
            return callback(self)

        return Future._of(compute, self.done)


def wait_all(futures: list[Future[T]]) -> list[T]:
    """Returns the values of several futures, for which it waits first.

    Parameters
    ----------
    futures : list of Futures
        The futures.

    Returns
    -------
    list

    See Also
    --------
    torch.futures.Future, torch.futures.collect_all

    Examples
    --------
    >>> future = torch.futures.Future()
    >>> future.set_result(5)
    >>> torch.futures.wait_all([future, future])
    [5, 5]
    """
    return [future.wait() for future in futures]


def collect_all(futures: list[Future[T]]) -> Future[list[Future[T]]]:
    """Returns a future whose value is the list of futures, all done.

    Parameters
    ----------
    futures : list of Futures
        The futures.

    Returns
    -------
    Future
        A future.

    See Also
    --------
    torch.futures.wait_all, torch.futures.Future

    Examples
    --------
    >>> future = torch.futures.Future()
    >>> future.set_result(5)
    >>> [f.value() for f in torch.futures.collect_all([future]).wait()]
    [5]
    """

    def compute() -> list[Future[T]]:
        wait_all(futures)
        return list(futures)

    return Future._of(compute, lambda: all(future.done() for future in futures))


__all__ = ["Future", "collect_all", "wait_all"]
