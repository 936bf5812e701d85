"""Process groups: creation, ranks, and the end of a job."""

from __future__ import annotations

import atexit
import os
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cuprous import _core
from cuprous._core import DistSession, DistStore
from cuprous.torch import _types
from cuprous.torch.distributed import _error_file, _interface, _mpi, _rendezvous
from cuprous.torch.distributed._options import JOIN_TIMEOUT, backends_by_device, check_timeout, seconds, unsupported
from cuprous.torch.distributed._process_group import Members, ProcessGroup
from cuprous.torch.distributed._stores import Store


@dataclass
class _Job:
    """The job of this process."""

    session: DistSession
    store: DistStore
    world: ProcessGroup
    #: None for the default of each backend.
    timeout: timedelta | None
    pid: int
    groups: list[ProcessGroup] = field(default_factory=list)
    made: int = 0
    local: dict[int, int] = field(default_factory=dict)


_job: _Job | None = None
#: How many jobs this process has joined. All ranks join them in the same order, so they find each other's keys.
_joined = 0


class _NonMember:
    """What `new_group` returns to ranks that are not in the group."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class GroupMember:
    """What stands for the group of all ranks, and for no group.

    See Also
    --------
    torch.distributed.group, torch.distributed.new_group
    """

    NON_GROUP_MEMBER: Any = _NonMember()


class _Group:
    """`group.WORLD`, PyTorch's name of the group of all ranks."""

    @property
    def WORLD(self) -> ProcessGroup | None:
        """The group of all ranks; None before `init_process_group`."""
        return _job.world if _job is not None else None


group = _Group()


def job() -> _Job:
    """Returns the job of this process.

    Raises
    ------
    ValueError
        Before `init_process_group`, and in a child process after a fork.
    """
    if _job is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if _job.pid != os.getpid():
        raise ValueError("this process was forked after init_process_group, so it is not a rank; fork before it")
    return _job


def resolve(given: Any) -> ProcessGroup | None:
    """Returns the group of an argument: that of all ranks for None, and None for a group without this rank."""
    if given is None:
        return job().world
    if given is GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(given, ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup, got {type(given)}")
    job()
    if given.has_ended:
        raise ValueError(
            f"Group {given} is not registered, please create group with torch.distributed.new_group API; it was "
            "destroyed"
        )
    return given


def is_initialized() -> bool:
    """Returns True between `init_process_group` and `destroy_process_group`.

    See Also
    --------
    torch.distributed.is_available, torch.distributed.new_group, torch.distributed.init_process_group,
    torch.distributed.destroy_process_group

    Examples
    --------
    >>> dist.is_initialized()
    True
    """
    return _job is not None


def is_torchelastic_launched() -> bool:
    """Returns True if a launcher such as `python -m cuprous.run` started this process.

    See Also
    --------
    torch.distributed.is_initialized, torch.distributed.is_available

    Examples
    --------
    >>> dist.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "",
                       pg_options: Any = None, device_id: Any = None) -> None:  # fmt: skip
    """Joins the ranks of a job. All ranks call it.

    Rank and number of ranks are those of the launcher's environment variables (`python -m cuprous.run`, torchrun,
    Slurm, MPI) unless they are given.

    Parameters
    ----------
    backend : str, optional
        "ring" or "gloo": collectives of CPU tensors, through shared memory on one host and sockets otherwise. "mpi":
        the same through the MPI of the mpirun or srun that started the program, which needs mpi4py; MPI numbers the
        ranks, and `init_method`, `rank` and `world_size` do not matter. "nccl": those of GPU tensors, one GPU for each
        rank. "cpu:gloo,cuda:nccl" or None: both.
    init_method : str, optional
        "env://", "tcp://host:port" of rank 0, or "file:///path" that does not exist yet.
    timeout : timedelta, optional
        How long an operation takes at most; 30 minutes on the CPU, 10 on GPUs.
    world_size : int, default -1
        The number of ranks.
    rank : int, default -1
        This process's rank.
    store : Store, optional
        A store that all ranks share, in place of `init_method`.
    group_name : str, default ""
        The description of the group.
    pg_options : object, optional
        Not supported.
    device_id : device or int, optional
        This rank's GPU. The GPUs are connected at once then, otherwise by the first collective.

    Raises
    ------
    ValueError
        If an argument or environment variable is missing or wrong, the process has joined already, or there is no GPU
        for "nccl".
    DistBackendError
        If a rank does not come within 300 seconds, or MPI or NCCL cannot be used.
    DistNetworkError
        If rank 0 cannot be reached, or its port is taken.

    See Also
    --------
    torch.distributed.destroy_process_group, torch.distributed.is_initialized, torch.distributed.is_available,
    torch.distributed.new_group

    Examples
    --------
    >>> import cuprous.torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    global _job, _joined
    if _job is not None:
        raise ValueError("trying to initialize the default process group twice!")
    backends = backends_by_device("init_process_group", backend)
    check_timeout(timeout)
    for name, value in ("world_size", world_size), ("rank", rank):
        if not isinstance(value, int):
            raise RuntimeError(f"`{name}` must be an integer. {value!r}")
    unsupported("init_process_group", pg_options=pg_options)
    gpu = _gpu("init_process_group", backends, device_id)
    join = JOIN_TIMEOUT if timeout is None else min(timeout, JOIN_TIMEOUT)
    if backends.get("cpu") == "mpi":
        meeting = _mpi.meet(rank, world_size, join)
    elif store is not None:
        if init_method is not None:
            raise ValueError("Cannot specify both init_method and store.")
        if rank < 0 or world_size < 0:
            raise ValueError("rank and world_size must be set with a store")
        meeting = _rendezvous.Rendezvous(store, rank, world_size, None, _rendezvous.token())
    else:
        meeting = _rendezvous.meet(init_method, rank, world_size, join)
    if "cuda" in backends and meeting.master is not None:
        _rendezvous.choose_interface_of_nccl(meeting.master[0])
    if not 0 <= meeting.rank < meeting.world_size:
        raise ValueError(f"rank {meeting.rank} is not one of the {meeting.world_size} ranks")
    _joined += 1
    session, native, world = connect(meeting, f"job{_joined}", timeout, backends, group_name or "default_pg", gpu)
    _job = _Job(session, native, world, timeout, os.getpid(), [world])
    _error_file.install(_report)
    atexit.register(_leave)


def connect(meeting: _rendezvous.Rendezvous, prefix: str, timeout: timedelta | None, backends: dict[str, str],
            description: str, gpu: str | None = None) -> tuple[DistSession, DistStore, ProcessGroup]:  # fmt: skip
    """Joins the ranks of a meeting, whose keys in the store begin with `prefix`, and connects their GPUs if this rank's
    is given. Returns the group of all, and what makes others."""
    store = meeting.store._native.prefixed(prefix)
    join = JOIN_TIMEOUT if timeout is None else min(timeout, JOIN_TIMEOUT)
    session = DistSession(store, meeting.rank, meeting.world_size, _interface.listening(meeting.master),
                          meeting.token.encode() if meeting.token else None, seconds(join),
                          meeting.store._native if meeting.has_launcher else None)  # fmt: skip
    try:
        members = Members(session, store, meeting.rank, 0, range(meeting.world_size), timeout)
        world = ProcessGroup(members, backends, description)
        if gpu is not None:
            world.connect(gpu)
    except BaseException:
        session.leave()
        raise
    return session, store, world


def _gpu(function: str, backends: dict[str, str], device_id: Any) -> str | None:
    """Returns the GPU of an argument, after checking that GPUs and NCCL exist if the group has no other backend."""
    if "cpu" not in backends:
        try:
            _core.device_properties(0)
        except (ImportError, RuntimeError) as error:
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!") from error
        _core.dist_nccl_version()  # raises what to install
    if device_id is None:
        return None
    device = _types.device(f"cuda:{device_id}" if isinstance(device_id, int) else device_id)
    if device.type != "cuda" or "cuda" not in backends:
        raise ValueError(
            f'[{function}] device_id={device_id!r} must be a GPU of the backend "nccl"; leave it out for the CPU'
        )
    return f"cuda:{_types.current_gpu() if device.index is None else device.index}"


def _report(kind: type[BaseException], error: BaseException, line: str) -> None:
    """Tells the other ranks that this one ends with an exception."""
    if _job is not None and _job.pid == os.getpid() and _job.session.verdict() is None:
        rank = _job.world.rank()
        _job.session.fail(f"{_job.session.name(rank)} raised {kind.__name__}: {error} (at {line})")


def _leave() -> None:
    global _job
    if _job is not None and _job.pid == os.getpid():
        for each in _job.groups:
            each._end(_job.session.verdict() is not None)
        _job.session.leave()
    _job = None


def destroy_process_group(group: Any = None) -> None:
    """Leaves a group, or with None the job. Waits up to 5 seconds for operations that are under way.

    Raises
    ------
    ValueError
        Before `init_process_group`.

    See Also
    --------
    torch.distributed.is_initialized, torch.distributed.is_available, torch.distributed.new_group,
    torch.distributed.init_process_group

    Examples
    --------
    >>> group = dist.new_group([0])
    >>> dist.destroy_process_group(group)
    """
    member = resolve(group)
    if member is None:
        return
    if member is job().world:
        _leave()
        atexit.unregister(_leave)
        _error_file.uninstall()
    elif member in job().groups:
        job().groups.remove(member)
        member._end(job().session.verdict() is not None)


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None) -> Any:  # fmt: skip
    """Returns a group of some ranks. All ranks of the job call it in the same order, also those that are not in the
    group, which get `GroupMember.NON_GROUP_MEMBER`; with `use_local_synchronization` only its ranks do.

    With `device_id` the GPUs of the group are connected at once, otherwise by the first collective.

    Raises
    ------
    ValueError
        If ranks are repeated or out of range, or the backend is "mpi" and that of the job is not.

    See Also
    --------
    torch.distributed.init_process_group, torch.distributed.destroy_process_group, torch.distributed.is_initialized,
    torch.distributed.is_available, torch.distributed.new_subgroups

    Examples
    --------
    >>> group = dist.new_group([0])
    >>> group.size()
    1
    """
    own = job()
    backends = own.world._backends if backend is None else backends_by_device("new_group", backend)
    check_timeout(timeout)
    unsupported("new_group", pg_options=pg_options)
    gpu = _gpu("new_group", backends, device_id)
    if backends.get("cpu") == "mpi" and own.world._backends.get("cpu") != "mpi":
        raise ValueError('[new_group] backend "mpi" needs init_process_group(backend="mpi"), which finds MPI\'s ranks')
    members = list(range(own.world.size())) if ranks is None else sorted(ranks)
    if len(set(members)) != len(members):
        raise ValueError(f"[new_group] ranks are repeated: {members}")
    if any(not 0 <= rank < own.world.size() for rank in members):
        raise ValueError(f"the new group's rank should be within the world_size set by init_process_group: {members}")
    if use_local_synchronization:
        # Numbers that ranks agree on without talking to each other; those of other groups are below.
        key = zlib.crc32(repr(members).encode()) >> 2
        own.local[key] = own.local.get(key, 0) + 1
        number = 1 << 31 | zlib.crc32(f"{key}:{own.local[key]}".encode()) >> 1
    else:
        own.made += 1
        number = own.made
    if own.world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    limit = own.timeout if timeout is None else timeout
    joined = Members(own.session, own.store, own.world.rank(), number, members, limit)
    made = ProcessGroup(joined, backends, group_desc or f"group{number}")
    own.groups.append(made)
    if gpu is not None:
        made.connect(gpu)
    return made


def get_rank(group: Any = None) -> int:
    """Returns this process's rank in a group; -1 if it is not in it.

    See Also
    --------
    torch.distributed.get_world_size, torch.distributed.get_node_local_rank, torch.distributed.get_group_rank,
    torch.distributed.get_global_rank

    Examples
    --------
    >>> dist.get_rank()
    0
    """
    member = resolve(group)
    return -1 if member is None else member.rank()


def get_world_size(group: Any = None) -> int:
    """Returns the number of ranks of a group; -1 if this process is not in it.

    See Also
    --------
    torch.distributed.get_node_local_rank, torch.distributed.get_group_rank, torch.distributed.get_global_rank,
    torch.distributed.get_rank

    Examples
    --------
    >>> dist.get_world_size()
    1
    """
    member = resolve(group)
    return -1 if member is None else member.size()


def get_backend(group: Any = None) -> str:
    """Returns the name of a group's backend: "ring", "mpi", "nccl", or "cpu:ring,cuda:nccl" for both.

    Raises
    ------
    ValueError
        If this process is not in the group.

    See Also
    --------
    torch.distributed.get_default_backend_for_device, torch.distributed.get_process_group_ranks

    Examples
    --------
    >>> dist.get_backend()
    'ring'
    """
    member = resolve(group)
    if member is None:
        raise ValueError("Invalid process group specified")
    return member.name()


def get_process_group_ranks(group: Any) -> list[int]:
    """Returns the ranks of a group as ranks of the job.

    Raises
    ------
    ValueError
        If this process is not in the group.

    See Also
    --------
    torch.distributed.get_backend, torch.distributed.get_default_backend_for_device

    Examples
    --------
    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    """
    member = resolve(group)
    if member is None:
        raise ValueError("Invalid process group specified")
    return list(member._native.ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Returns the rank in a group of a rank of the job.

    Raises
    ------
    ValueError
        If the rank is not in the group.

    See Also
    --------
    torch.distributed.get_global_rank, torch.distributed.get_rank, torch.distributed.get_world_size,
    torch.distributed.get_node_local_rank

    Examples
    --------
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    """
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Returns the rank of the job of a rank in a group.

    Raises
    ------
    ValueError
        If the group has no such rank.

    See Also
    --------
    torch.distributed.get_rank, torch.distributed.get_world_size, torch.distributed.get_node_local_rank,
    torch.distributed.get_group_rank

    Examples
    --------
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    """
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Returns this process's rank on its host: the launcher's, else `fallback_rank`.

    Raises
    ------
    RuntimeError
        If neither is known.

    See Also
    --------
    torch.distributed.get_rank
    """
    launched = _rendezvous.local_rank()
    if launched is not None:
        return launched
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def member_of(given: Any, function: str) -> ProcessGroup | None:
    """Returns the group of a call. Without this process in it the call has no effect: None, with a warning."""
    member = resolve(given)
    if member is None:
        rank = job().world.rank()
        message = f"Running {function} on global rank {rank} which does not belong to the given group."
        warnings.warn(message, stacklevel=3)
    return member
