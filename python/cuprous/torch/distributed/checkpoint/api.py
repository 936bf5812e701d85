"""The ranks that save or load together."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from cuprous.torch.distributed import _groups, _objects

T = TypeVar("T")


class CheckpointException(BaseException):
    """What went wrong on which ranks.

    Args:
        msg: what was done.
        failures: by rank, the exception, or its text if it was raised on another rank.
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """What was raised, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = "\n".join(f"rank {rank}: {failure}" for rank, failure in self._failures.items())
        return f"CheckpointException ranks:{set(self._failures)}\n{self.args[0]}\n{lines}"


class Ranks:
    """A group, or this process alone."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = None if alone or not _groups.is_initialized() else _groups.resolve(group)
        self.rank = 0 if self.group is None else self.group.rank()
        self.size = 1 if self.group is None else self.group.size()

    def gather(self, value: Any) -> list[Any]:
        """Returns a value of each rank."""
        if self.group is None:
            return [value]
        result: list[Any] = [None] * self.size
        _objects.all_gather_object(result, value, self.group)
        return result

    def do(self, what: str, function: Callable[[], T]) -> list[T]:
        """Calls a function on each rank, and returns their results.

        Raises:
            CheckpointException: on all ranks, if it raised on one.
        """
        error: Exception | None = None
        answer: Any = None
        try:
            answer = function()
        except Exception as raised:
            error = raised
        text = None if error is None else "".join(traceback.format_exception_only(error)).strip()
        every = self.gather([answer, text])
        failures = {rank: each[1] for rank, each in enumerate(every) if each[1] is not None}
        if error is not None:
            failures[self.rank] = error
        if failures:
            raise CheckpointException(what, failures) from error
        return [each[0] for each in every]


__all__ = ["CheckpointException", "Ranks"]
