"""Messages between two ranks."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed._collectives import _root
from cuprous.torch.distributed._groups import ProcessGroup, get_global_rank, member_of, resolve
from cuprous.torch.distributed._options import check_tensor
from cuprous.torch.distributed._work import Work


def _begin(is_send: bool, tensor: Tensor, peer: int | None, group: ProcessGroup, tag: int) -> Work:
    tag = index(tag)
    if tag < 0:
        raise ValueError(f"tag must not be negative, got {tag}")
    native = group.native("send" if is_send else "recv", [tensor])
    return Work(native.messages([(is_send, peer, tag, tensor)])[0], [tensor])


def _is_from_any(src: int | None, group_src: int | None) -> bool:
    return src is None and group_src is None


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
          group_dst: int | None = None) -> Work | None:  # fmt: skip
    """Begins to send a tensor to rank `dst`. It must not be written before the returned work has ended.

    Raises
    ------
    ValueError
        If the tensor is not contiguous, or `dst` is this rank.

    See Also
    --------
    torch.distributed.irecv, torch.distributed.send, torch.distributed.batch_isend_irecv
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "isend")
    if member is None:
        return None
    return _begin(True, tensor, _root(member, dst, group_dst, "dst"), member, tag)


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
          group_src: int | None = None) -> Work | None:  # fmt: skip
    """Begins to receive a tensor of the same size and dtype from rank `src`, or from any.

    Raises
    ------
    ValueError
        If the tensor is not contiguous, or `src` is this rank.

    See Also
    --------
    torch.distributed.isend, torch.distributed.recv, torch.distributed.batch_isend_irecv
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "irecv")
    if member is None:
        return None
    peer = None if _is_from_any(src, group_src) else _root(member, src, group_src, "src")
    return _begin(False, tensor, peer, member, tag)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Sends a tensor to rank `dst`.

    See Also
    --------
    torch.distributed.recv, torch.distributed.isend, torch.distributed.send_object_list
    """
    check_tensor(tensor, "tensor")
    work = isend(tensor.contiguous(), dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receives a tensor of the same size and dtype from rank `src`, or from any. Returns the sender's rank; -1 if this
    process is not in the group.

    See Also
    --------
    torch.distributed.send, torch.distributed.irecv, torch.distributed.recv_object_list
    """
    check_tensor(tensor, "tensor")
    staged = tensor.contiguous()
    work = irecv(staged, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if staged is not tensor and not tensor.is_contiguous():
        with no_grad():
            tensor.detach().copy_(staged)
    source = work.source_rank()
    assert source is not None
    return get_global_rank(resolve(group), source)


class P2POp:
    """A message of `batch_isend_irecv`.

    Parameters
    ----------
    op : callable
        `isend` or `irecv`.
    tensor : Tensor
        The tensor.
    peer : int, optional
        The other rank.
    group : ProcessGroup, optional
        The group.
    tag : int, default 0
        Messages match by tag.
    group_peer : int, optional
        The other rank in the group.

    See Also
    --------
    torch.distributed.batch_isend_irecv, torch.distributed.isend, torch.distributed.irecv

    Examples
    --------
    >>> x = torch.ones(2)
    >>> op = dist.P2POp(dist.isend, x, 0)
    >>> op.peer
    0
    """

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None,
                 tag: int = 0, group_peer: int | None = None) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        if index(tag) < 0:
            raise ValueError(f"tag must not be negative, got {tag}")
        if op is isend and peer is None and group_peer is None:
            raise ValueError("Must specify global_rank or group_rank: pass peer= or group_peer=")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins several messages, which do not wait for each other, and returns their work.

    On GPUs, two ranks that send to each other must use it: of single messages a GPU does one after another.

    Raises
    ------
    ValueError
        If the list is empty or has something else.

    See Also
    --------
    torch.distributed.P2POp, torch.distributed.isend, torch.distributed.irecv
    """
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    together: dict[tuple[ProcessGroup, str], list[tuple[int, tuple[bool, int | None, int, Tensor]]]] = {}
    for k, op in enumerate(p2p_op_list):
        member = member_of(op.group, "batch_isend_irecv")
        if member is None:
            continue
        is_from_any = op.op is irecv and _is_from_any(op.peer, op.group_peer)
        peer = None if is_from_any else _root(member, op.peer, op.group_peer, "peer")
        message = k, (op.op is isend, peer, op.tag, op.tensor)
        together.setdefault((member, op.tensor.device_name), []).append(message)
    works: dict[int, Work] = {}
    for (member, _), messages in together.items():
        natives = member.native("batch_isend_irecv", [messages[0][1][3]]).messages([message for _, message in messages])
        works |= {k: Work(native, [message[3]]) for (k, message), native in zip(messages, natives, strict=True)}
    return [works[k] for k in sorted(works)]
