"""The backend "CUPROUS" of `ray.util.collective`: collectives among actors of Ray by those of `torch.distributed`.

Ray's own functions accept NumPy arrays (`np.asarray(a)` is the memory of an array on the CPU); a group's methods accept
arrays and tensors too.
"""

from __future__ import annotations

import json
import secrets
import time
from datetime import timedelta
from typing import Any

import numpy as np
import ray
from ray.experimental import internal_kv
from ray.util.collective.collective_group.base_collective_group import BaseGroup
from ray.util.collective.types import ReduceOp

import cuprous
from cuprous import _core
from cuprous.torch.distributed._collectives import run
from cuprous.torch.distributed._groups import connect
from cuprous.torch.distributed._rendezvous import Rendezvous
from cuprous.torch.distributed._stores import TCPStore
from cuprous.torch.distributed._work import Work

NAME = "CUPROUS"
#: How long the ranks may take to join, and an operation by default.
JOIN, TIMEOUT = timedelta(seconds=60), timedelta(minutes=30)


def meet(key: str, rank: int, size: int) -> Rendezvous:
    """Returns where ranks meet that know a key: rank 0 publishes its address and a secret in Ray's store.

    Raises
    ------
    DistBackendError
        If rank 0 does not come in time.
    """
    if rank == 0:
        store = TCPStore(ray.util.get_node_ip_address(), 0, None, True, JOIN)
        address: list[Any] = [store.host, store.port, secrets.token_hex(32)]
        internal_kv._internal_kv_put(key, json.dumps(address))
    else:
        until = time.monotonic() + JOIN.total_seconds()
        while (found := internal_kv._internal_kv_get(key)) is None:
            if time.monotonic() > until:
                raise _core.DistBackendError(f"rank {rank} has waited {JOIN.seconds} s for rank 0 of {key!r}")
            time.sleep(0.01)
        address = json.loads(found)
        store = TCPStore(address[0], address[1], None, False, JOIN)
    return Rendezvous(store, rank, size, (address[0], address[1]), address[2])


def _tensor(x: Any, writes: bool = True) -> Any:
    """Returns a tensor of the same memory."""
    if isinstance(x, _core.Tensor):
        return x.detach()
    if isinstance(x, np.ndarray):
        if not x.flags.writeable:
            if writes:
                raise ValueError("the NumPy array is read-only, as those are that Ray's store holds; pass a copy")
            x = x.copy()
        x = cuprous.from_dlpack(x)
    if not isinstance(x, cuprous.ndarray):
        raise TypeError(f"collectives take NumPy and Cuprous arrays and tensors, got {type(x)}")
    return _core.t_wrap(x)


class CuprousGroup(BaseGroup):
    """A group of actors. `ray.util.collective` makes it, and calls its methods with lists of one array."""

    def __init__(self, world_size: int, rank: int, group_name: str) -> None:
        super().__init__(world_size, rank, group_name)
        self._key = f"cuprous_collective/{group_name}"
        meeting = meet(self._key, rank, world_size)
        self._session, _, self._group = connect(meeting, "ray", TIMEOUT, {"cpu": "ring"}, group_name)
        if rank == 0:
            internal_kv._internal_kv_del(self._key)  # all have joined

    @classmethod
    def backend(cls) -> str:
        """Returns the backend's name."""
        return NAME

    @classmethod
    def check_backend_availability(cls) -> bool:
        """Returns True."""
        return True

    def destroy_group(self) -> None:
        """Leaves the group."""
        self._group._end(self._session.verdict() is not None)
        self._session.leave()

    def _perform(self, op: str, inputs: list[Any], outputs: list[Any], reduce: Any = None, root: Any = None) -> None:
        given = {id(x): _tensor(x) for x in outputs}
        sent = [given[id(x)] if id(x) in given else _tensor(x, writes=False) for x in inputs]
        kind = None if reduce is None else ReduceOp(reduce).name.lower()
        run(self._group, op, sent, [given[id(x)] for x in outputs], kind, root)

    def allreduce(self, tensor: list[Any], allreduce_options: Any = None) -> None:
        """Combines an array of all ranks in place."""
        self._perform("all_reduce", tensor, tensor, _reduction(allreduce_options))

    def barrier(self, barrier_options: Any = None) -> None:
        """Waits for all ranks."""
        self._perform("barrier", [], [])

    def reduce(self, tensor: list[Any], reduce_options: Any = None) -> None:
        """Combines an array of all ranks in place of that of the root."""
        root = getattr(reduce_options, "root_rank", 0)
        self._perform("reduce", tensor, tensor if root == self.rank else [], _reduction(reduce_options), root)

    def allgather(self, tensor_list: list[list[Any]], tensor: list[Any], allgather_options: Any = None) -> None:
        """Copies the array of each rank to all."""
        self._perform("all_gather", tensor, tensor_list[0])

    def broadcast(self, tensor: list[Any], broadcast_options: Any = None) -> None:
        """Copies the array of the root to all."""
        root = getattr(broadcast_options, "root_rank", 0)
        self._perform("broadcast", *((tensor, []) if root == self.rank else ([], tensor)), None, root)

    def reducescatter(self, tensor: list[Any], tensor_list: list[list[Any]], reducescatter_options: Any = None) -> None:
        """Combines the k-th arrays of all ranks' lists for rank k."""
        self._perform("reduce_scatter", tensor_list[0], tensor, _reduction(reducescatter_options))

    def _message(self, is_send: bool, tensor: list[Any], peer: int) -> None:
        given = _tensor(tensor[0], writes=not is_send)
        staged = given.contiguous()
        native = self._group.native("send" if is_send else "recv", [staged])
        Work(native.messages([(is_send, peer, 0, staged)])[0], [staged]).wait()
        if not is_send and staged is not given:
            given.copy_(staged)

    def send(self, tensor: list[Any], send_options: Any) -> None:
        """Sends an array to a rank."""
        self._message(True, tensor, send_options.dst_rank)

    def recv(self, tensor: list[Any], recv_options: Any) -> None:
        """Receives an array of a rank."""
        self._message(False, tensor, recv_options.src_rank)


def _reduction(options: Any) -> Any:
    return getattr(options, "reduceOp", ReduceOp.SUM)


def register(collective: Any) -> None:
    """Registers the backend. `collective` is the module `ray.util.collective`."""
    registered = getattr(collective, "register_collective_backend", None)
    if registered is not None:  # older ones know no other backends
        registered(NAME, CuprousGroup)
