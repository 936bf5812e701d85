"""Values that are not there yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is there later: it is set, or computed when somebody waits for it."""

    def __init__(self, *, devices: Any = None) -> None:
        if devices:
            raise NotImplementedError("[Future] devices is not supported: work on a GPU is ordered by itself")
        self._compute: Callable[[], T] | None = None
        self._value: T | None = None
        self._error: BaseException | None = None
        self._is_done = False
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    @classmethod
    def _of(cls, compute: Callable[[], T]) -> Future[T]:
        """Returns a future whose value `compute` waits for."""
        future: Future[T] = cls()
        future._compute = compute
        return future

    def done(self) -> bool:
        """Returns True if the value is there."""
        return self._is_done

    def wait(self) -> T:
        """Returns the value, and waits for it first.

        Raises:
            RuntimeError: if nothing sets it.
        """
        if not self._is_done:
            if self._compute is None:
                raise RuntimeError("wait() would never return: nothing has called set_result() on this Future")
            try:
                value = self._compute()
            except BaseException as error:
                self.set_exception(error)
            else:
                self.set_result(value)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def value(self) -> T:
        """Returns the value, which must be there."""
        if not self._is_done:
            raise RuntimeError("value() needs a Future that is done; call wait()")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Sets the value, once."""
        if self._is_done:
            raise RuntimeError("Future can only be marked completed once.")
        self._value, self._is_done = result, True
        self._run_callbacks()

    def set_exception(self, result: BaseException) -> None:
        """Makes `wait` raise, once."""
        if self._is_done:
            raise RuntimeError("Future can only be marked completed once.")
        self._error, self._is_done = result, True
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Calls a function with this future when its value is there."""
        if self._is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Returns the future of what a function makes of this one."""

        def compute() -> S:
            self.wait()
            return callback(self)

        return Future._of(compute)


def wait_all(futures: list[Future[T]]) -> list[T]:
    """Returns the values of several futures, and waits for them first."""
    return [future.wait() for future in futures]


def collect_all(futures: list[Future[T]]) -> Future[list[Future[T]]]:
    """Returns a future whose value is the list of futures, all done."""

    def compute() -> list[Future[T]]:
        wait_all(futures)
        return list(futures)

    return Future._of(compute)


__all__ = ["Future", "collect_all", "wait_all"]
