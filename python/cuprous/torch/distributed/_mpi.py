"""The backend "mpi": the ranks of a program that mpirun or srun started, found and connected by its MPI.

mpi4py opens and initializes the MPI library. Collectives call that library from Rust, because they also move data while
Python waits.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import secrets
import socket
import time
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from cuprous._core import DistBackendError, DistStore, DistStoreError
from cuprous.torch.distributed import _interface
from cuprous.torch.distributed._options import seconds
from cuprous.torch.distributed._rendezvous import Rendezvous
from cuprous.torch.distributed._stores import TCPStore

_ADVICE = (
    "install it (`pip install mpi4py mpich`) and start the program with `mpirun -n 2 python program.py`, or use "
    'backend="ring"'
)
#: Room for the address of rank 0, and for the name of a host.
_ADDRESS, _NAME = 512, 256


def _library() -> str | None:
    """Returns the file of mpi4py's module, which opens the MPI library, without initializing MPI."""
    with contextlib.suppress(ImportError, OSError, RuntimeError, ValueError):
        spec = importlib.util.find_spec("mpi4py.MPI")
        if spec is not None and spec.origin is not None:
            ctypes.CDLL(spec.origin)
            return spec.origin
    return None


def is_available() -> bool:
    """Returns True if mpi4py is installed and finds an MPI library."""
    return _library() is not None


def _initialized() -> Any:
    """Returns `mpi4py.MPI`, initialized for several threads."""
    if not is_available():
        raise DistBackendError(f'[init_process_group] backend "mpi" needs mpi4py and an MPI library; {_ADVICE}')
    from mpi4py import MPI  # initializes MPI, unless `mpi4py.rc` says otherwise

    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistBackendError(
            "[init_process_group] MPI was initialized without MPI_THREAD_MULTIPLE, which several threads need; leave "
            'mpi4py.rc.thread_level at "multiple", or use an MPI that was built with support of threads'
        )
    return MPI


def _finish(request: Any, timeout: timedelta, rank: int) -> None:
    """Waits for a collective among all ranks."""
    until = time.monotonic() + seconds(timeout)
    while not request.Test():
        if time.monotonic() > until:
            raise DistBackendError(
                f"[init_process_group] rank {rank} has waited {seconds(timeout):g} s for the other ranks; all ranks "
                "that mpirun started must call init_process_group"
            )
        time.sleep(0.0005)


def _address(names: Sequence[str]) -> str:
    """Returns an address of this host that the others reach."""
    other = next((name for name in names if name != names[0]), None)
    if other is None:
        return "127.0.0.1"
    if "MASTER_ADDR" in os.environ:
        return os.environ["MASTER_ADDR"]
    if (own := _interface.requested()) is not None:
        return own[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((other, 9))  # sends nothing: the system chooses the interface
        return str(probe.getsockname()[0])


def meet(rank: int, world_size: int, timeout: timedelta) -> Rendezvous:
    """Returns where the ranks of MPI meet: rank 0 sends the address of its store and a secret through MPI.

    Raises
    ------
    DistBackendError
        If MPI cannot be used, or a rank does not come in time.
    ValueError
        If another launcher started several ranks that MPI knows nothing of.
    """
    if rank >= 0 or world_size >= 0:
        warnings.warn(
            f"For MPI backend, world_size ({world_size}) and rank ({rank}) are ignored since they are assigned by the "
            "MPI runtime.",
            stacklevel=4,
        )
    MPI = _initialized()
    world = MPI.COMM_WORLD
    rank, world_size = world.Get_rank(), world.Get_size()
    launched = os.environ.get("WORLD_SIZE", "1")
    if world_size == 1 and launched != "1":
        raise ValueError(
            f'[init_process_group] backend "mpi": WORLD_SIZE is {launched}, but MPI has one process; start the program '
            'with mpirun, or use backend="ring"'
        )
    own = bytearray(MPI.Get_processor_name().encode()[:_NAME].ljust(_NAME))
    hosts = bytearray(_NAME * world_size)
    _finish(world.Iallgather(own, hosts), timeout, rank)
    address = bytearray(_ADDRESS)
    if rank == 0:
        names = [hosts[k : k + _NAME].decode().strip() for k in range(0, len(hosts), _NAME)]
        store = TCPStore(_address(names), 0, None, True, timeout)
        secret = os.environ.get("CUPROUS_JOB_TOKEN") or secrets.token_hex(32)
        address[:] = json.dumps([store.host, store.port, secret]).encode().ljust(_ADDRESS)
    _finish(world.Ibcast(address, 0), timeout, rank)
    host, port, secret = json.loads(address)
    if rank:
        store = TCPStore(host, port, None, False, timeout)
    return Rendezvous(store, rank, world_size, (host, port), secret)


def communicator(ranks: Sequence[int], rank: int, number: int, store: DistStore, timeout: timedelta) -> Any:
    """Returns a communicator of some ranks in that order. All of them call it.

    Raises
    ------
    DistBackendError
        If a rank does not come in time.
    """
    from mpi4py import MPI

    keys = [f"group/{number}/mpi/{each}" for each in ranks]
    store.set(f"group/{number}/mpi/{rank}", b"")
    try:
        store.wait(keys, seconds(timeout))  # MPI would wait for ever
    except DistStoreError as error:
        missing = [each for each, key in zip(ranks, keys, strict=True) if not store.check([key])]
        raise DistBackendError(
            f"[new_group] rank {rank} has waited {seconds(timeout):g} s for ranks {missing} of {list(ranks)}"
        ) from error
    world = MPI.COMM_WORLD
    tags = world.Get_attr(MPI.TAG_UB) or 32767  # what every MPI has
    return world.Create_group(world.group.Incl(list(ranks)), tag=number % tags)


def handles(comm: Any) -> tuple[str, int, int]:
    """Returns what Rust needs to call MPI: the file that opened it, the communicator and `MPI_BYTE`."""
    from mpi4py import MPI

    library, word = _library(), 1 << 64
    assert library is not None
    return library, MPI._handleof(comm) % word, MPI._handleof(MPI.BYTE) % word
