"""The ranks that save or load together."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from cuprous.torch.distributed import _groups, _objects
from cuprous.torch.distributed.checkpoint import _wire

T = TypeVar("T")


class CheckpointException(BaseException):
    """What went wrong on which ranks.

    Parameters
    ----------
    msg : str
        What was done.
    failures : dict
        By rank, the exception, or its text if it was raised on another rank.

    See Also
    --------
    torch.distributed.checkpoint.save, torch.distributed.checkpoint.load
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
    """A group, or this process alone, one of whose ranks plans for all.

    Parameters
    ----------
    group : ProcessGroup
        The group.
    alone : bool
        True for this process alone.
    coordinator : int, default 0
        The rank that plans, in the whole job.
    modules : iterable of str, optional
        Modules whose dataclasses may travel between the ranks.
    """

    def __init__(self, group: Any, alone: bool, coordinator: int = 0, modules: Iterable[str] = ()) -> None:
        self.group = None if alone or not _groups.is_initialized() else _groups.resolve(group)
        self.rank = 0 if self.group is None else self.group.rank()
        self.size = 1 if self.group is None else self.group.size()
        self._root = 0 if self.group is None else _groups.get_group_rank(self.group, coordinator)
        self.is_coordinator = self.rank == self._root
        self._modules = set(modules)

    def reduce_scatter(self, what: str, local: Callable[[], Any], combine: Callable[[list[Any]], list[Any]]) -> Any:
        """Calls a function on each rank, and another one on the coordinator with the results of all. It returns what
        each rank gets.

        Parameters
        ----------
        what : str
            Says in errors what was done.
        local : callable
            The function of each rank.
        combine : callable
            That of the coordinator.

        Raises
        ------
        CheckpointException
            On all ranks, if it raised on one.
        """
        answer, error = self._attempt(local)
        if self.group is None:
            answers = [None]
            if error is None:
                answers, error = self._attempt(lambda: combine([answer]))
            if error is not None:
                raise CheckpointException(what, {0: error}) from error
            return answers[0]
        mine, error = (None, error) if error else self._attempt(lambda: _wire.to_text(answer, self._modules))
        every: list[Any] | None = [None] * self.size if self.is_coordinator else None
        _objects.gather_object((mine, _text(error)), every, group=self.group, group_dst=self._root)
        replies: list[Any] | None = None
        if every is not None:
            failures = {rank: each[1] for rank, each in enumerate(every) if each[1] is not None}
            texts: list[Any] = [None] * self.size
            if not failures:
                made, raised = self._attempt(lambda: self._combined(every, combine))
                if raised is None:
                    texts = made
                else:
                    error, failures = raised, {self.rank: _text(raised)}
            replies = [(text, failures) for text in texts]
        reply: list[Any] = [None]
        _objects.scatter_object_list(reply, replies, group=self.group, group_src=self._root)
        text, failures = reply[0]
        if failures:
            raise CheckpointException(what, failures | ({} if error is None else {self.rank: error})) from error
        return _wire.from_text(text, self._modules)

    def _combined(self, every: list[Any], combine: Callable[[list[Any]], list[Any]]) -> list[str]:
        made = combine([_wire.from_text(text, self._modules) for text, _ in every])
        if len(made) != self.size:
            raise ValueError(f"there are {len(made)} plans for {self.size} ranks")
        return [_wire.to_text(each, self._modules) for each in made]

    def all_reduce(self, what: str, local: Callable[[], Any], combine: Callable[[list[Any]], Any]) -> Any:
        """Does the same where the coordinator's result is the same for all ranks. See `reduce_scatter`."""
        return self.reduce_scatter(what, local, lambda every: [combine(every)] * self.size)

    def do(self, what: str, function: Callable[[], Any]) -> None:
        """Calls a function on each rank, and waits for all of them.

        Raises
        ------
        CheckpointException
            On all ranks, if it raised on one.
        """
        self.all_reduce(what, lambda: _nothing(function()), _nothing)

    def _attempt(self, function: Callable[[], T]) -> tuple[Any, Exception | None]:
        try:
            return function(), None
        except Exception as error:
            return None, error


def _nothing(_: object) -> None:
    """Drops a result that no other rank needs."""


def _text(error: Exception | None) -> str | None:
    return None if error is None else "".join(traceback.format_exception_only(error)).strip()


__all__ = ["CheckpointException", "Ranks"]
