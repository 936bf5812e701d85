"""Deterministic mode: on a GPU, operations that add floats in an unspecified order raise an error or warn. All other
operations give the same bits in every run.

Gradients of indexing and embeddings are sums of integers on a GPU (`crates/autograd/src/add_at.rs`). Reductions over
axes and cuDNN's algorithms have a fixed order. The order is unspecified for `scatter_add_`, `index_add_`,
`index_put_(accumulate=True)` and cumulative sums of floats.
"""

from __future__ import annotations

import warnings
from typing import Any

from cuprous import _core
from cuprous._core import Tensor

state = {"deterministic": False, "warn_only": False}


def alert(function: str, target: Tensor) -> None:
    """Reports an operation that adds floats in an unspecified order on the target's device. Called before it runs.

    Raises:
        RuntimeError: in deterministic mode. With `warn_only` it is a warning.
    """
    exact = not (target.is_floating_point() or target.is_complex())
    if not state["deterministic"] or exact or target.device_name == "cpu":
        return
    message = (
        f"{function} does not have a deterministic implementation on a GPU, but you set "
        "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation, or you can "
        "use the 'warn_only=True' option, if that's acceptable for your application."
    )
    if not state["warn_only"]:
        raise RuntimeError(message)
    warnings.warn(message, stacklevel=3)


def scatter(target: Tensor, offsets: Any, value: Any, op: str) -> None:
    """Writes values at offsets; `op` says how they are combined with the present elements."""
    if op in ("add", "multiply"):
        alert(f"scatter_{op}", target)
    _core.t_scatter(target, offsets, value, op)


__all__ = ["alert", "scatter", "state"]
