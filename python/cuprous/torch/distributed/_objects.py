"""Collectives of Python objects. Plain values and tensors travel as text and bytes; nothing that arrives is run."""

from __future__ import annotations

import base64
import json
import os
import pickle
import struct
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._collectives import _root
from cuprous.torch.distributed._groups import member_of
from cuprous.torch.distributed._messages import recv, send
from cuprous.torch.distributed._process_group import ProcessGroup

_ADVICE = (
    "pass None, numbers, str, bytes, lists, tuples, sets, dicts, tensors or NumPy's arrays. Objects of other classes "
    "are pickled with allow_pickle=True, in a job whose ranks share a token (started by `python -m cuprous.run`)"
)
#: Classes of collections, and how they are named.
_COLLECTIONS: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "f"}
#: Kinds of dtypes that NumPy's short text names wholly.
_PLAIN = "biufcUSmM"
_BY_KIND = {kind: cls for cls, kind in _COLLECTIONS.items()}


def _pack(value: Any, parts: list[bytes], pickles: bool) -> Any:
    """Returns a value as JSON of [kind, contents]; bytes of tensors are appended to `parts`."""
    if value is None or type(value) in (bool, int, float, str):
        return ["v", value]
    if type(value) in _COLLECTIONS:
        return [_COLLECTIONS[type(value)], [_pack(item, parts, pickles) for item in value]]
    if type(value) is dict:
        return ["d", [[_pack(k, parts, pickles), _pack(v, parts, pickles)] for k, v in value.items()]]
    if type(value) is bytes:
        return ["b", base64.b64encode(value).decode()]
    if type(value) is complex:
        return ["c", [value.real, value.imag]]
    if (type(value) is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in _PLAIN:
        parts.append(value.tobytes())
        return ["a" if isinstance(value, np.ndarray) else "n", [value.dtype.str, list(value.shape)]]
    if isinstance(value, Tensor):
        host = value.detach().cpu().contiguous()
        parts.append(_core.to_bytes(host.as_array()))
        return ["T", [host.dtype_name, list(host.shape)]]
    if pickles:
        return ["p", base64.b64encode(pickle.dumps(value)).decode()]
    raise TypeError(f"cannot send an object of {type(value)} to other ranks; {_ADVICE}")


def _unpack(value: Any, parts: list[bytes], pickles: bool) -> Any:
    kind, inner = value
    if kind == "v":
        return inner
    if kind in _BY_KIND:
        return _BY_KIND[kind](_unpack(item, parts, pickles) for item in inner)
    if kind == "c":
        return complex(*inner)
    if kind in "an":
        name, shape = inner
        array = np.frombuffer(parts.pop(0), np.dtype(name)).reshape(shape).copy()
        return array if kind == "a" else array[()]
    if kind == "d":
        return {_unpack(k, parts, pickles): _unpack(v, parts, pickles) for k, v in inner}
    if kind == "b":
        return base64.b64decode(inner)
    if kind == "T":
        name, shape = inner
        host = np.frombuffer(parts.pop(0), np.uint8).view(_dtypes.numpy_dtype(name))
        return _core.t_wrap(_core.from_numpy(host.reshape(shape), "cpu"))
    if kind == "p" and pickles:
        return pickle.loads(base64.b64decode(inner))
    raise ValueError("another rank sent a pickled object; pass allow_pickle=True on all ranks to accept it")


def _check_token(allow_pickle: bool) -> None:
    if allow_pickle and not os.environ.get("CUPROUS_JOB_TOKEN"):
        raise ValueError(
            "allow_pickle=True needs a job whose ranks share a token, because unpickling runs code: start it with "
            "`python -m cuprous.run`, or set CUPROUS_JOB_TOKEN to a secret on all ranks"
        )


def _encode(value: Any, allow_pickle: bool) -> Tensor:
    """Returns a value as a tensor of bytes."""
    _check_token(allow_pickle)
    parts: list[bytes] = []
    head = json.dumps([_pack(value, parts, allow_pickle), [len(part) for part in parts]]).encode()
    return _bytes_tensor(struct.pack("<Q", len(head)) + head + b"".join(parts))


def _bytes_tensor(data: bytes) -> Tensor:
    return _creation.from_numpy(np.frombuffer(data, np.uint8).copy())


def _decode(tensor: Tensor, allow_pickle: bool) -> Any:
    data = tensor.numpy().tobytes()
    (length,) = struct.unpack_from("<Q", data)
    packed, sizes = json.loads(data[8 : 8 + length])
    at, parts = 8 + length, []
    for size in sizes:
        parts.append(data[at : at + size])
        at += size
    return _unpack(packed, parts, allow_pickle)


def _members(group: Any, function: str) -> ProcessGroup | None:
    """Returns the ranks of a call, for tensors on the CPU."""
    member = member_of(group, function)
    return None if member is None else member.host


def _sizes(n: int) -> list[Tensor]:
    return [_creation.zeros(1, dtype=_types.DTYPES["int64"], device="cpu") for _ in range(n)]


def _room(size: int) -> Tensor:
    return _creation.zeros(size, dtype=_types.DTYPES["uint8"], device="cpu")


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None, *, allow_pickle: bool = False) -> None:
    """Copies an object of each rank into the list of every rank: a plain value, a tensor, or a list, tuple or dict of
    such. Tensors arrive on the CPU.

    Parameters
    ----------
    object_list : list
        A list of as many items as ranks.
    obj : object
        This rank's object.
    group : ProcessGroup, optional
        The group.
    allow_pickle : bool, default False
        Accepts objects of other classes, in a job whose ranks share a token. Unpickling runs code that another rank
        sends.

    Raises
    ------
    TypeError
        For an object of another class.
    ValueError
        For `allow_pickle` without a token.

    See Also
    --------
    torch.distributed.gather, torch.distributed.all_gather, torch.distributed.all_gather_into_tensor,
    torch.distributed.gather_object, torch.distributed.scatter_object_list

    Examples
    --------
    >>> objects = [None]
    >>> dist.all_gather_object(objects, {"rank": 0})
    >>> objects
    [{'rank': 0}]
    """
    member = _members(group, "all_gather_object")
    if member is None:
        return
    data, n = _encode(obj, allow_pickle), member.size()
    sizes = _sizes(n)
    _collectives.all_gather(sizes, _length(data), member)
    counts = [int(size.item()) for size in sizes]
    # Every rank gets parts of another size from each rank.
    rooms = [_room(count) for count in counts]
    _collectives.all_to_all(rooms, [data] * n, member)
    for k, room in enumerate(rooms):
        object_list[k] = _decode(room, allow_pickle)


def _length(data: Tensor) -> Tensor:
    return _creation.tensor([data.numel()], dtype=_types.DTYPES["int64"], device="cpu")


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
                  group_dst: int | None = None, *, allow_pickle: bool = False) -> None:  # fmt: skip
    """Copies an object of each rank into the list of rank `dst`. See `all_gather_object`.

    See Also
    --------
    torch.distributed.scatter_object_list, torch.distributed.broadcast_object_list,
    torch.distributed.all_gather_object

    Examples
    --------
    >>> objects = [None]
    >>> dist.gather_object("a", objects, dst=0)
    >>> objects
    ['a']
    """
    member = _members(group, "gather_object")
    if member is None:
        return
    root, n = _root(member, dst, group_dst, "dst", 0), member.size()
    if (object_gather_list is not None) != (member.rank() == root):
        raise ValueError("Argument ``object_gather_list`` must be specified on the destination rank, and there alone.")
    data = _encode(obj, allow_pickle)
    sizes = _sizes(n)
    _collectives.all_gather(sizes, _length(data), member)
    counts = [int(size.item()) for size in sizes]
    to_root = [data if rank == root else _room(0) for rank in range(n)]
    rooms = [_room(count if member.rank() == root else 0) for count in counts]
    _collectives.all_to_all(rooms, to_root, member)
    if object_gather_list is not None:
        object_gather_list[:] = [_decode(room, allow_pickle) for room in rooms]


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                          group_src: int | None = None, *, allow_pickle: bool = False) -> None:  # fmt: skip
    """Copies the objects in the list of rank `src` into the lists of all others. See `all_gather_object`.

    See Also
    --------
    torch.distributed.all_gather_object, torch.distributed.gather_object, torch.distributed.scatter_object_list

    Examples
    --------
    >>> objects = ["a", 1]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    ['a', 1]
    """
    _check_device("broadcast_object_list", device)
    member = _members(group, "broadcast_object_list")
    if member is None:
        return
    root = _root(member, src, group_src, "src", 0)
    data = _encode(list(object_list), allow_pickle) if member.rank() == root else _room(0)
    size = _length(data)
    _collectives.broadcast(size, group=member, group_src=root)
    data = data if member.rank() == root else _room(int(size.item()))
    _collectives.broadcast(data, group=member, group_src=root)
    if member.rank() != root:
        object_list[:] = _decode(data, allow_pickle)


def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
                        src: int | None = None, group: Any = None, group_src: int | None = None, *,
                        allow_pickle: bool = False) -> None:  # fmt: skip
    """Copies the objects in the list of rank `src` to the ranks, one to each, as the first item of their lists. See
    `all_gather_object`.

    See Also
    --------
    torch.distributed.broadcast_object_list, torch.distributed.all_gather_object, torch.distributed.gather_object

    Examples
    --------
    >>> out = [None]
    >>> dist.scatter_object_list(out, ["a"], src=0)
    >>> out
    ['a']
    """
    member = _members(group, "scatter_object_list")
    if member is None:
        return
    if not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root, n = _root(member, src, group_src, "src", 0), member.size()
    datas = [_room(0)] * n
    if member.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != n:
            raise ValueError(f"[scatter_object_list] rank {root} must give {n} objects, one for each rank")
        datas = [_encode(obj, allow_pickle) for obj in scatter_object_input_list]
    size = _sizes(1)[0]
    _collectives.scatter(size, [_length(data) for data in datas] if member.rank() == root else None,
                         group=member, group_src=root)  # fmt: skip
    rooms = [_room(int(size.item()) if rank == root else 0) for rank in range(n)]
    _collectives.all_to_all(rooms, datas, member)
    scatter_object_output_list[0] = _decode(rooms[root], allow_pickle)


def send_object_list(object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
                     group_dst: int | None = None, *, allow_pickle: bool = False) -> None:  # fmt: skip
    """Sends the objects in a list to rank `dst`. See `all_gather_object`.

    See Also
    --------
    torch.distributed.recv_object_list, torch.distributed.send
    """
    _check_device("send_object_list", device)
    data = _encode(list(object_list), allow_pickle)
    member = _members(group, "send_object_list")
    if member is None:
        return
    send(_length(data), dst, member, 0, group_dst)
    send(data, dst, member, 0, group_dst)


def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                     group_src: int | None = None, *, allow_pickle: bool = False) -> int:  # fmt: skip
    """Receives objects into a list from rank `src`, or from any. Returns the sender's rank. See
    `all_gather_object`.

    See Also
    --------
    torch.distributed.send_object_list, torch.distributed.recv
    """
    _check_device("recv_object_list", device)
    member = _members(group, "recv_object_list")
    if member is None:
        return -1
    size = _sizes(1)[0]
    source = recv(size, src, member, 0, group_src)
    data = _room(int(size.item()))
    recv(data, source, member)
    object_list[:] = _decode(data, allow_pickle)
    return source


def _check_device(function: str, device: Any) -> None:
    if device is not None and not str(device).startswith("cpu"):
        raise NotImplementedError(f"[{function}] device={device!r} is not supported: objects travel through the CPU")
