"""Gradients of `DistributedDataParallel` in a few contiguous tensors, each of which is averaged over the ranks as soon
as it is complete."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuprous import _core
from cuprous._core import DistWork, Tensor
from cuprous.torch import _creation, _types
from cuprous.torch import distributed as dist
from cuprous.torch.autograd import no_grad
from cuprous.torch.futures import Future

#: The first bucket is small, so that the transfer begins early in the backward pass.
_FIRST = 1 << 20
#: A last bucket of a GPU of that size is left to the first operation that needs it: Adam updates the other parameters
#: meanwhile.
_LATE = 4 << 20


class GradBucket:
    """The gradients that a communication hook sends.

    Parameters
    ----------
    bucket : Bucket
        The tensors.
    is_last : bool
        True for the bucket that is complete last.
    """

    def __init__(self, bucket: Bucket, is_last: bool) -> None:
        self._bucket, self._is_last = bucket, is_last
        self._buffer = bucket.flat

    def index(self) -> int:
        """Returns the bucket's position; bucket 0 is complete first."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """Returns all gradients as a vector."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Replaces the vector that `buffer` returns."""
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        """Returns the gradients of the parameters, as views of the vector."""
        return list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """Returns the parameters."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Returns True for the bucket that is complete last."""
        return self._is_last


class Bucket:
    """Gradients of some parameters of one dtype, as views of one vector."""

    def __init__(self, index: int, parameters: list[Tensor]) -> None:
        first = parameters[0]
        self.index, self.parameters = index, parameters
        sizes = [p.numel() for p in parameters]
        self.flat: Tensor = _core.t_full([sum(sizes)], 0, first.dtype_name, first.device_name)
        self.tensors = [self.flat]
        self.views: list[Tensor] = []
        at = 0
        for p, size in zip(parameters, sizes, strict=True):
            self.views.append(self.flat[at : at + size].view(list(p.dims)))
            at += size


def divide(parameters: Sequence[Tensor], cap: int) -> list[list[Tensor]]:
    """Divides parameters into buckets: in reverse, because gradients of the last ones come first, by dtype, the first
    bucket of up to 1 MiB, the others of up to `cap` bytes."""
    open_: dict[str, list[Tensor]] = {}
    limits: dict[str, int] = {}
    done: list[list[Tensor]] = []
    for p in reversed(parameters):
        bucket = open_.setdefault(p.dtype_name, [])
        bucket.append(p)
        if sum(q.numel() * q.element_size() for q in bucket) >= limits.get(p.dtype_name, min(_FIRST, cap)):
            done.append(open_.pop(p.dtype_name))
            limits[p.dtype_name] = cap
    return done + [bucket for bucket in open_.values() if bucket]


class Reducer:
    """Averages gradients over the ranks during the backward pass.

    Buckets are sent in their order, whichever is complete first, so that all ranks send the same ones.
    """

    def __init__(self, names: list[str], parameters: list[Tensor], group: dist.ProcessGroup, cap: int,
                 find_unused: bool, static: bool) -> None:  # fmt: skip
        self.names, self.parameters, self.group = names, parameters, group
        self.find_unused, self.static = find_unused, static
        self.buckets = [Bucket(k, chosen) for k, chosen in enumerate(divide(parameters, cap))]
        self.hook: tuple[Any, Callable[..., Future[Any]]] | None = None
        #: False in `no_sync()`: gradients stay those of this rank.
        self.is_enabled = True
        #: The divisor of sums, if it is not the number of ranks: `join` may count only active ranks.
        self.divisor: int | None = None
        at = {id(p): (bucket, view) for bucket in self.buckets
              for p, view in zip(bucket.parameters, bucket.views, strict=True)}  # fmt: skip
        #: By parameter: its bucket and the view that its gradient becomes.
        self._place: list[tuple[Bucket, Tensor]] = [at[id(p)] for p in parameters]
        last = self.buckets[-1].flat
        self._is_late = (len(self.buckets) > 1 and last.device_name.startswith(("cuda", "hip"))
                         and last.numel() * last.element_size() >= _LATE)  # fmt: skip
        self._is_learned = not static
        self._expect([1] * len(parameters))
        self.reset()
        for k, p in enumerate(parameters):
            p.register_post_accumulate_grad_hook(partial(self._ready, k))

    def _expect(self, counts: list[int]) -> None:
        """Sets how often each gradient is accumulated in a backward pass. The first one of a static graph shows it."""
        self._expected = counts
        self._in_bucket = [0] * len(self.buckets)
        for (bucket, _), count in zip(self._place, counts, strict=True):
            self._in_bucket[bucket.index] += count

    def reset(self) -> None:
        """Prepares for a backward pass."""
        self._fired = [0] * len(self.parameters)
        self._open = list(self._in_bucket)
        #: What is under way by bucket; None for what has ended.
        self._sent: list[Future[Tensor] | DistWork | None] = []
        self._is_active = False

    def _ready(self, k: int, _: Tensor) -> None:
        """Notes that a gradient was accumulated, and sends the buckets that are complete, but for the last one."""
        if not self.is_enabled:
            return
        if not self._is_active:
            self._is_active = True
            _core.t_at_backward_end(self._finish)
        self._fired[k] += 1
        bucket, view = self._place[k]
        if bucket.index < len(self._sent):
            raise RuntimeError(
                f"Expected to mark a variable ready only once. The gradient of {self.names[k]!r} was accumulated again "
                "after it had been sent to the other ranks, as happens if a checkpoint uses a parameter twice; pass "
                "static_graph=True if every iteration uses the same parameters the same number of times"
            )
        _core.t_move_gradients([self.parameters[k]], [view])
        self._open[bucket.index] -= 1
        if self._is_learned:
            while len(self._sent) < len(self.buckets) - 1 and self._open[len(self._sent)] <= 0:
                self._send()

    def _send(self) -> None:
        bucket = self.buckets[len(self._sent)]
        is_last = bucket.index == len(self.buckets) - 1
        # Nothing overlaps with a small last one, so this thread sends it and wakes no other.
        is_async = not is_last or self._is_late
        if self.hook is not None:
            state, hook = self.hook
            future = hook(state, GradBucket(bucket, is_last))
            if not isinstance(future, Future):
                raise RuntimeError(f"callback must return a torch.futures.Future object, but got {type(future)}")
            self._sent.append(future)
        elif self.divisor is not None:
            self._sent.append(average(self.group, bucket.flat, self.divisor, is_async))
        else:
            # In each step of a small model the way through `all_reduce` takes as long as the transfer.
            native = self.group.native("all_reduce", bucket.tensors)
            work = native.collective("all_reduce", bucket.tensors, bucket.tensors, "avg", None, is_async, None)
            self._sent.append(work)

    def _wait(self, bucket: Bucket, sent: Future[Tensor] | DistWork | None) -> None:
        """Waits for a bucket, and takes what a hook returned in place of it."""
        if not isinstance(sent, Future):
            if sent is not None:
                sent.wait()
            return
        result = sent.wait()
        if isinstance(result, (list, tuple)) and result:
            result = result[0]
        if not isinstance(result, Tensor):
            raise RuntimeError(f"expected the hook result is either a Tensor or a TensorList, found {type(result)}")
        if result.numel() != bucket.flat.numel():
            raise RuntimeError(
                f"a communication hook returned {result.numel()} elements for a bucket of {bucket.flat.numel()}"
            )
        if not (result.shares_storage(bucket.flat) and result.dtype_name == bucket.flat.dtype_name):
            with no_grad():
                bucket.flat.copy_(result.reshape(-1))

    def _finish(self) -> None:
        """Ends a backward pass: every rank has sent the same buckets when it returns."""
        unused = [] if all(self._fired) else [k for k, count in enumerate(self._fired) if count == 0]
        if unused and not self.find_unused and self._is_learned:
            expected = [self.names[k] for k in unused if self._expected[k] > 0]
            if expected:
                self.reset()
                raise RuntimeError(
                    f"the backward pass of this iteration gave no gradient to {_listed(expected)}, for which the other "
                    "ranks may wait. Pass find_unused_parameters=True to DistributedDataParallel if some iterations do "
                    "not use all parameters, or make every output of forward part of the loss"
                )
        previous = {k: self.parameters[k].grad for k in unused}
        if unused:
            _core.t_move_gradients([self.parameters[k] for k in unused], [self._place[k][1] for k in unused])
        while len(self._sent) < len(self.buckets):
            self._send()
        used = self._used_somewhere() if self.find_unused or not self._is_learned else None
        is_late = self._is_late and self.hook is None and self.divisor is None
        count = len(self.buckets) - is_late
        for bucket, sent in zip(self.buckets[:count], self._sent[:count], strict=True):
            self._wait(bucket, sent)
        for k in unused:
            is_used = used is None or bool(used[k])
            self.parameters[k].grad = self._place[k][1] if is_used else previous[k]
        if not self._is_learned:
            self._expect(list(self._fired))
            self._is_learned = True
        self.reset()

    def _used_somewhere(self) -> list[int]:
        """Returns for each parameter whether some rank has used it."""
        used = [min(count, 1) for count in self._fired]
        flags = _creation.tensor(used, dtype=_types.DTYPES["uint8"], device="cpu")
        dist.all_reduce(flags, dist.ReduceOp.MAX, self.group.host)
        values: list[int] = flags.tolist()
        return values

    def shadow(self) -> None:
        """Sends zeros for a rank that has no more batches, while others have."""
        self.reset()
        with no_grad():
            for bucket in self.buckets:
                bucket.flat.zero_()
        while len(self._sent) < len(self.buckets):
            self._send()
        if self.find_unused or not self._is_learned:
            self._used_somewhere()
        for bucket, sent in zip(self.buckets, self._sent, strict=True):
            self._wait(bucket, sent)
        self.reset()


def average(group: dist.ProcessGroup, flat: Tensor, divisor: int | None = None,
            async_op: bool = True) -> Future[Tensor]:  # fmt: skip
    """Averages a vector over the ranks; begins to, with `async_op`."""
    op = dist.ReduceOp.AVG if divisor is None else dist.ReduceOp.SUM
    work = dist.all_reduce(flat, op, group, async_op=async_op)

    def finish() -> Tensor:
        if work is not None:
            work.wait()
        if divisor is None:
            return flat
        with no_grad():
            return flat.div_(divisor)

    return Future._of(finish, lambda: work is None or work.is_completed())


def _listed(names: list[str], most: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def capacity(megabytes: float | None) -> int:
    """Returns the size of a bucket in bytes.

    Raises
    ------
    ValueError
        For a size that is not positive.
    """
    size = 25 if megabytes is None else megabytes
    if not (size > 0 and math.isfinite(size)):
        raise ValueError(f"[DistributedDataParallel] bucket_cap_mb must be positive, got {megabytes!r}")
    return int(size * (1 << 20))
