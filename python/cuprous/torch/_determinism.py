"""Deterministic mode: on a GPU, sums of floats have a fixed order, or the operation raises an error or warns.

Gradients of indexing and embeddings are sums of integers on a GPU in any mode (`crates/autograd/src/add_at.rs`).
Reductions over axes and cuDNN's algorithms have a fixed order. Elements that are added at one index (`scatter_add_`,
`index_add_`, `index_put_(accumulate=True)`) are sorted by their index in this mode, and added in pairs. The order stays
unspecified for products of such elements and for cumulative sums of floats.
"""

from __future__ import annotations

import warnings
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd._function import Function

state = {"deterministic": False, "warn_only": False}


def _is_unordered(target: Tensor) -> bool:
    """Returns true if deterministic mode is on, and the order of additions on the target's device matters."""
    exact = not (target.is_floating_point() or target.is_complex())
    return state["deterministic"] and not exact and target.device_name != "cpu"


def alert(function: str, target: Tensor) -> None:
    """Reports an operation that combines floats in an unspecified order on the target's device. Called before it runs.

    Raises
    ------
    RuntimeError
        In deterministic mode. With `warn_only` it is a warning.
    """
    if not _is_unordered(target):
        return
    message = (
        f"{function} does not have a deterministic implementation on a GPU, but you set "
        "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation, or you can "
        "use the 'warn_only=True' option, if that's acceptable for your application."
    )
    if not state["warn_only"]:
        raise RuntimeError(message)
    warnings.warn(message, stacklevel=3)


class _SumsOfRuns(Function):
    """Takes values in an order that sorts their keys. The first of each run of equal keys becomes the run's sum, the
    others 0."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, order: cp.ndarray, keys: cp.ndarray) -> Tensor:
        ctx.order, ctx.shape = order, values.shape
        part = values.as_array().ravel()[order]
        dtype = part.dtype
        if dtype.itemsize < 4:
            part = part.astype(cp.float32)
        position = _core.t_iota([keys.size], [1], 0, values.device_name).as_array()
        begins = (position == 0) | (keys != keys[cp.maximum(position - 1, 0)])
        rank = position - cp.maximum.accumulate(cp.where(begins, position, 0))
        step = 1
        while step < keys.size:
            joins = (rank[:-step] % (2 * step) == 0) & (keys[step:] == keys[:-step])
            part[:-step] += cp.where(joins, part[step:], 0)
            step *= 2
        return _core.t_wrap(cp.where(begins, part, 0).astype(dtype))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        # Each value has the gradient of its key's element.
        back = _core.t_wrap(cp.argsort(ctx.order))
        return gradient[back].reshape(ctx.shape), None, None


def scatter(target: Tensor, offsets: Any, value: Any, op: str) -> None:
    """Writes values at offsets; `op` says how they are combined with the present elements."""
    if op == "add" and _is_unordered(target) and offsets.size:
        if not isinstance(value, Tensor):
            value = _core.t_full([], value, target.dtype_name, target.device_name)
        value = value.expand(offsets.shape)
        keys = offsets.ravel()
        order = cp.argsort(keys, kind="stable")
        offsets = keys[order]
        value = _SumsOfRuns.apply(value, order, offsets)
    elif op == "multiply":
        alert("scatter_multiply", target)
    _core.t_scatter(target, offsets, value, op)


__all__ = ["alert", "scatter", "state"]
