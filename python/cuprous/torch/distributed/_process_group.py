"""A group of ranks with a backend for each type of device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cuprous._core import DistGroup, DistSession, DistStore, Tensor
from cuprous.torch import _types
from cuprous.torch.distributed import _mpi
from cuprous.torch.distributed._options import DEFAULT_TIMEOUT, NCCL_TIMEOUT, backend_name, seconds

#: How long `destroy_process_group` waits for operations that are under way.
_END = 5.0


@dataclass(frozen=True)
class Members:
    """The ranks of a group, and where they meet. All of them give the same number and ranks."""

    session: DistSession
    store: DistStore
    #: This process's rank of the job.
    rank: int
    number: int
    ranks: Sequence[int]
    #: None for the default of each backend.
    timeout: timedelta | None


class ProcessGroup:
    """Ranks that perform collectives together. `new_group` and `group.WORLD` return them.

    The ranks are connected for tensors on the CPU at once, and for those on a GPU when they have the first ones.

    See Also
    --------
    torch.distributed.ReduceOp, torch.distributed.Work

    Examples
    --------
    >>> group = dist.new_group([0])
    >>> group.size()
    1
    """

    def __init__(self, members: Members, backends: dict[str, str], description: str) -> None:
        self._members, self._backends, self.group_desc = members, backends, description
        timeout = DEFAULT_TIMEOUT if members.timeout is None else members.timeout
        #: MPI's, which belongs to the group.
        self._communicator: Any = None
        if backends.get("cpu") == "mpi":
            self._communicator = _mpi.communicator(members.ranks, members.rank, members.number, members.store, timeout)
        handles = None if self._communicator is None else _mpi.handles(self._communicator)
        ranks = list(members.ranks)
        self._native = DistGroup(members.session, members.store, members.number, ranks, seconds(timeout), handles)
        self._on_gpu: DistGroup | None = None
        self._gpu: str | None = None
        self._host: ProcessGroup | None = self if "cpu" in backends else None
        #: True once the group was destroyed.
        self.has_ended = False

    @property
    def group_name(self) -> str:
        """The group's name."""
        return self.group_desc

    def rank(self) -> int:
        """Returns this process's rank in the group.

        Examples
        --------
        >>> dist.group.WORLD.rank()
        0
        """
        return self._native.rank

    def size(self) -> int:
        """Returns the number of ranks.

        Examples
        --------
        >>> dist.group.WORLD.size()
        1
        """
        return len(self._native.ranks)

    def name(self) -> str:
        """Returns the backend's name, or those of a group that has several.

        Examples
        --------
        >>> dist.group.WORLD.name()
        'ring'
        """
        return backend_name(self._backends)

    @property
    def bound_device(self) -> str | None:
        """The GPU whose tensors the group moves, once it is known."""
        return self._gpu

    @property
    def host(self) -> ProcessGroup:
        """The same ranks for tensors on the CPU, also where the user's must be on GPUs: agreement of ranks does not go
        through their GPUs."""
        if self._host is None:
            host = object.__new__(ProcessGroup)
            host.__dict__.update(self.__dict__, _backends={"cpu": "ring"}, _on_gpu=None, _gpu=None)
            self._host = host._host = host
        return self._host

    def native(self, function: str, tensors: Sequence[Tensor] = (), device: str | None = None) -> DistGroup:
        """Returns the backend for some tensors, or for a device.

        Raises
        ------
        RuntimeError
            If the group has no backend for that type of device.
        DistBackendError
            If GPUs cannot be connected.
        """
        name = tensors[0].device_name if tensors else device or "cpu"
        if name == self._gpu and self._on_gpu is not None:
            return self._on_gpu
        kind = name.partition(":")[0]
        if kind not in self._backends:
            hint = {"cpu": "move the tensor to a GPU, or use", "cuda": "move the tensor with .cpu(), or use"}.get(kind)
            advice = "" if hint is None else f': {hint} backend="cpu:gloo,cuda:nccl"'
            raise RuntimeError(f"No backend type associated with device type {kind} in [{function}]{advice}")
        return self._native if kind == "cpu" else self.connect(name)

    def connect(self, device: str) -> DistGroup:
        """Connects the ranks' GPUs unless they are connected. All ranks of the group call it."""
        if self._on_gpu is None:
            members = self._members
            limit = NCCL_TIMEOUT if members.timeout is None else members.timeout
            self._on_gpu = DistGroup.nccl(members.session, members.store, members.number, list(members.ranks),
                                          seconds(limit), device)  # fmt: skip
            self._gpu = device
        return self._on_gpu

    def barrier_device(self, device_ids: list[int] | None) -> str:
        """Returns the device of a barrier."""
        if device_ids is not None:
            return f"cuda:{device_ids[0]}"
        return "cpu" if "cpu" in self._backends else self._gpu or f"cuda:{_types.current_gpu()}"

    def _end(self, failed: bool) -> None:
        self.has_ended = True
        if self._on_gpu is not None:
            self._on_gpu.end(_END)
        self._native.end(_END)
        if self._communicator is not None and not failed:
            self._communicator.Free()
        self._communicator = None

    def __repr__(self) -> str:
        transport = self._native.transport if self._gpu is None else f"{self._native.transport}, nccl on {self._gpu}"
        return f"ProcessGroup(ranks={self._native.ranks}, rank={self.rank()}, {transport})"
