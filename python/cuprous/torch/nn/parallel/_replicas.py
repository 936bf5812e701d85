"""`CUPROUS_DDP_CHECK=n`: compares the bits of the parameters of all ranks every n iterations."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _types
from cuprous.torch import distributed as dist
from cuprous.torch.autograd import no_grad
from cuprous.torch.nn.modules.module import Module

_VARIABLE = "CUPROUS_DDP_CHECK"
_BYTES = 8


def interval() -> int:
    """Returns after how many iterations parameters are compared; 0 for never.

    Raises
    ------
    ValueError
        If the environment variable is not a number.
    """
    text = os.environ.get(_VARIABLE, "0")
    if not text.isdecimal():
        raise ValueError(f"{_VARIABLE} must be a number of iterations, or 0 for no check, got {text!r}")
    return int(text)


def _digest(tensor: Tensor) -> bytes:
    return hashlib.blake2b(_core.to_bytes(tensor.detach().cpu().as_array()), digest_size=_BYTES).digest()


class ReplicaCheck:
    """Counts iterations and compares parameters.

    Parameters
    ----------
    module : Module
        The module, the same on all ranks.
    group : ProcessGroup
        The ranks.
    every : int
        After how many iterations.
    """

    def __init__(self, module: Module, group: Any, every: int) -> None:
        self._module, self._group, self._every, self._iterations = module, group, every, 0

    def step(self) -> None:
        """Notes that an iteration begins, and compares what the iterations before it have left, if it is time.

        Raises
        ------
        RuntimeError
            On all ranks, if parameters differ, with the first rank and parameter that does.
        """
        if self._iterations and self._iterations % self._every == 0:
            self._compare()
        self._iterations += 1

    def _gather(self, own: bytes) -> list[bytes]:
        """Returns the bytes of all ranks."""
        size = self._group.size()
        all_ = _creation.zeros([size, len(own)], dtype=_types.DTYPES["uint8"], device="cpu")
        given = _creation.from_numpy(np.frombuffer(own, np.uint8).copy())
        dist.all_gather_into_tensor(all_, given, self._group)
        whole = all_.numpy().tobytes()
        return [whole[k : k + len(own)] for k in range(0, len(whole), len(own))]

    def _compare(self) -> None:
        named = list(self._module.named_parameters())
        own = b"".join(_digest(parameter) for _, parameter in named)
        if len(set(self._gather(hashlib.blake2b(own, digest_size=_BYTES).digest()))) == 1:
            return
        all_ = self._gather(own)
        for k, (name, parameter) in enumerate(named):
            digests = [each[k * _BYTES : (k + 1) * _BYTES] for each in all_]
            most = Counter(digests).most_common(1)[0][0]
            others = [rank for rank, digest in enumerate(digests) if digest != most]
            if others:
                self._fail(name, parameter, digests.index(most), others)

    def _fail(self, name: str, parameter: Tensor, reference: int, others: list[int]) -> None:
        group, wrong = self._group, others[0]
        with no_grad():
            own = parameter.detach().cpu()
            expected = own.clone()
            dist.broadcast(expected, group=group, group_src=reference)
            text = [_difference(own, expected)]
        dist.broadcast_object_list(text, group=group, group_src=wrong)
        ranks = [dist.get_global_rank(group, rank) for rank in (wrong, reference)]
        also = f" (and of {len(others) - 1} other ranks)" if len(others) > 1 else ""
        raise RuntimeError(
            f"{_VARIABLE}: after {self._iterations} iterations the parameter {name!r} of rank {ranks[0]}{also} differs "
            f"from that of rank {ranks[1]}: {text[0]}. Each rank must apply the same updates: look for code that "
            "only some ranks run and that writes parameters, optimizer states or random numbers"
        )


def _difference(found: Tensor, expected: Tensor) -> str:
    """Says how many elements differ in their bits, and the first of them."""
    ours, theirs = (np.frombuffer(_core.to_bytes(x.contiguous().as_array()), np.uint8) for x in (found, expected))
    width = found.element_size()
    differs = (ours.reshape(-1, width) != theirs.reshape(-1, width)).any(axis=1)
    first = int(np.argmax(differs))
    at = [int(k) for k in np.unravel_index(first, tuple(found.shape))]
    values = [x.reshape(-1)[first].item() for x in (found, expected)]
    return (
        f"{int(differs.sum())} of {found.numel()} elements, the first at {at}: {values[0]!r} instead of {values[1]!r}"
    )


__all__ = ["ReplicaCheck", "interval"]
