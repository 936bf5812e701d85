"""Hooks that average gradients, as they are or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _types
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed._groups import resolve
from cuprous.torch.futures import Future
from cuprous.torch.nn.parallel._buckets import GradBucket, average

#: A communication hook.
Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _average(process_group: Any, tensor: Tensor) -> Future[Tensor]:
    group = resolve(process_group)
    assert group is not None, "a module's group has this rank"
    return average(group, tensor)


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Averages gradients over the ranks, as without a hook."""
    return _average(process_group, bucket.buffer())


def _compressed(name: str, process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    buffer = bucket.buffer()
    with no_grad():
        half = buffer.to(_types.DTYPES[name])

    def widen(done: Future[Tensor]) -> Tensor:
        with no_grad():
            return buffer.copy_(done.value())

    return _average(process_group, half).then(widen)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Sends gradients as float16, which halves the bytes. Sums are formed in float32 and rounded once."""
    return _compressed("float16", process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Sends gradients as bfloat16, which halves the bytes. Sums are formed in float32 and rounded once."""
    return _compressed("bfloat16", process_group, bucket)


def _wrapper(name: str, hook: Hook) -> Hook:
    def wrapped(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        with no_grad():
            bucket.set_buffer(buffer.to(_types.DTYPES[name]))

        def widen(done: Future[Tensor]) -> Tensor:
            with no_grad():
                return buffer.copy_(done.value())

        return hook(state, bucket).then(widen)

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Returns a hook that calls another one with gradients in float16."""
    return _wrapper("float16", hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Returns a hook that calls another one with gradients in bfloat16."""
    return _wrapper("bfloat16", hook)


__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"
]  # fmt: skip
