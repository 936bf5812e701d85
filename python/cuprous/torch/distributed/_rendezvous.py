"""How ranks find each other: `init_method`, and the environment variables of launchers."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import warnings
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from cuprous.torch.distributed import _interface
from cuprous.torch.distributed._stores import FileStore, PrefixStore, Store, TCPStore

#: The variables of each launcher, the first complete row wins: rank, number of ranks, rank on the host.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)
#: Ports that are derived from the number of a job, as JAX does.
_PORTS = 4096, 61440

#: Servers of this process by port. A process that initializes again uses its server again.
_SERVERS: dict[tuple[str, int], TCPStore] = {}


@dataclass
class Rendezvous:
    """Where ranks meet, and which of them this process is."""

    store: Store
    rank: int
    world_size: int
    #: The host and port by which the interface is chosen; None for one host.
    master: tuple[str, int] | None
    #: The secret of the job, which connections must know.
    token: str | None
    #: True if the launcher hosts the store, and writes there how ranks ended.
    has_launcher: bool = False


def _launched() -> dict[str, int]:
    """Returns rank, world_size and local_rank as the launcher says them; what is not known is missing."""
    for names in _LAUNCHERS:
        if all(name in os.environ for name in names[:2]):
            found = {
                key: int(os.environ[name])
                for key, name in zip(("rank", "world_size", "local_rank"), names, strict=True)
                if name in os.environ
            }
            if names[0].startswith("SLURM") and os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive"):
                return _alone("an interactive shell of Slurm")
            return found
    if "SLURM_JOB_ID" in os.environ and "SLURM_PROCID" not in os.environ and "RANK" not in os.environ:
        return _alone("a Slurm allocation, but not started by srun")
    return {}


def _alone(where: str) -> dict[str, int]:
    warnings.warn(f"this process is in {where}: it runs as the only rank; start ranks with srun", stacklevel=4)
    return {"rank": 0, "world_size": 1, "local_rank": 0}


def local_rank() -> int | None:
    """Returns the rank on this host as the launcher says it."""
    return int(os.environ["LOCAL_RANK"]) if "LOCAL_RANK" in os.environ else _launched().get("local_rank")


def token() -> str | None:
    """Returns the secret of the job as the launcher says it."""
    return os.environ.get("CUPROUS_JOB_TOKEN") or None


def _first_host(nodes: str) -> str:
    """Returns the first host of a list of Slurm's, such as `n[003-005,9],m1`."""
    match = re.match(r"([^,\[]+)(?:\[(\d+))?", nodes)
    if match is None:
        raise ValueError(f"the host list {nodes!r} of Slurm is not understood; set MASTER_ADDR")
    return match[1] + (match[2] or "")


def _master(world_size: int) -> tuple[str, int]:
    """Returns the address of rank 0: MASTER_ADDR and MASTER_PORT, else what the launcher lets derive."""
    count, first = _PORTS
    environ = os.environ
    host, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT")
    if host is None and "SLURM_STEP_NODELIST" in environ and world_size > 1:
        host = _first_host(environ["SLURM_STEP_NODELIST"])
    on_one_host = environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", environ.get("MPI_LOCALNRANKS")) == str(world_size)
    if host is None and (on_one_host or world_size == 1):
        host = "127.0.0.1"
    if port is None and world_size == 1:
        port = "0"
    if port is None and "SLURM_JOB_ID" in environ and "RANK" not in environ:
        port = str(int(environ["SLURM_JOB_ID"]) % count + first)
    if port is None and on_one_host:
        port = str(os.getppid() % count + first)  # mpirun, or its one process on this host
    for name, value in ("MASTER_ADDR", host), ("MASTER_PORT", port):
        if value is None:
            raise ValueError(_missing(name))
    assert host is not None and port is not None
    return host, int(port)


def _missing(name: str) -> str:
    return (
        f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not "
        "set; start the program with `python -m cuprous.run --standalone --nproc-per-node=2 program.py`"
    )


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns the address of a host, or None if it is not known: connecting says what is wrong."""
    try:
        return ipaddress.ip_address(socket.gethostbyname(host))
    except (OSError, ValueError):
        return None


def choose_interface_of_nccl(host: str) -> None:
    """Makes NCCL's own connections, which know no token, use the interface of CUPROUS_SOCKET_IFNAME. Without it they
    stay off the network if the ranks meet on the loopback interface. NCCL_SOCKET_IFNAME in the environment is left as
    it is."""
    address = _address(host)
    if os.environ.get("CUPROUS_SOCKET_IFNAME") and (own := _interface.requested(host)) is not None:
        os.environ.setdefault("NCCL_SOCKET_IFNAME", f"={own[0]}")  # NCCL reads "eth1" as a prefix
    elif address is not None and address.is_loopback:
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")


def _warn_if_public(host: str) -> None:
    address = _address(host)
    if address is not None and not (address.is_private or address.is_loopback):
        warnings.warn(
            f"MASTER_ADDR={host} is a public address: the store's connections are neither encrypted nor authenticated; "
            "use a private network, or ssh or WireGuard",
            stacklevel=5,
        )


def _tcp(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Rendezvous:
    launcher = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    _warn_if_public(host)
    serves = rank == 0 and not launcher
    store = _SERVERS.get((host, port)) if serves else None
    if store is None:
        store = TCPStore(host, port, None, serves, timeout)
        if serves:
            _SERVERS[host, port] = store
    run, restart = os.environ.get("TORCHELASTIC_RUN_ID", "none"), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    prefixed = PrefixStore(f"cuprous/{run}/{restart}", store)
    return Rendezvous(prefixed, rank, world_size, (host, store.port), token(), launcher)


def _number(function_value: int, query: dict[str, list[str]], name: str) -> int:
    if function_value >= 0:
        return function_value
    if name in query:
        return int(query[name][0])
    raise ValueError(f"[init_process_group] {name}= is needed with this init_method")


def meet(init_method: str | None, rank: int, world_size: int, timeout: timedelta) -> Rendezvous:
    """Returns where the ranks of an `init_method` meet.

    Raises
    ------
    ValueError
        If something is missing or unknown.
    DistNetworkError
        If rank 0 cannot be reached in time, or its port is taken.
    """
    url: Any = urlparse("env://" if init_method is None else init_method)
    query = parse_qs(url.query)
    if url.scheme == "env":
        launched = _launched()
        rank = rank if rank >= 0 else launched.get("rank", -1)
        world_size = world_size if world_size >= 0 else launched.get("world_size", -1)
        for name, value in ("RANK", rank), ("WORLD_SIZE", world_size):
            if value < 0:
                raise ValueError(_missing(name))
        return _tcp(*_master(world_size), rank, world_size, timeout)
    rank, world_size = _number(rank, query, "rank"), _number(world_size, query, "world_size")
    if url.scheme == "tcp":
        if url.hostname is None or url.port is None:
            raise ValueError(f"[init_process_group] {init_method!r} needs a host and a port, as tcp://10.0.0.1:23456")
        return _tcp(url.hostname, url.port, rank, world_size, timeout)
    if url.scheme == "file":
        if not url.path or url.netloc:
            raise ValueError(f"[init_process_group] {init_method!r} needs an absolute path, as file:///shared/meeting")
        return Rendezvous(FileStore(url.path), rank, world_size, None, token())
    raise ValueError(f"[init_process_group] init_method {init_method!r} is unknown; use env://, tcp:// or file://")
