"""Deterministic mode: operations that add in no fixed order on a GPU raise or warn; everything else repeats to the bit.

Gradients of indexing and embeddings are sums of whole numbers there (`crates/autograd/src/add_at.rs`); sums over axes
and cuDNN's engines have a fixed order. What has none is what the user asks for as such: `scatter_add_`, `index_add_`,
`index_put_(accumulate=True)` and the running sums of floats.
"""

from __future__ import annotations

import warnings
from typing import Any

from cuprous import _core
from cuprous._core import Tensor

state = {"deterministic": False, "warn_only": False}


def alert(function: str, target: Tensor) -> None:
    """Called before floats are added on a device that has no fixed order for it.

    Raises:
        RuntimeError: in deterministic mode; with `warn_only` it is a warning.
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
    """Writes at offsets; `op` says how with what is there."""
    if op in ("add", "multiply"):
        alert(f"scatter_{op}", target)
    _core.t_scatter(target, offsets, value, op)


__all__ = ["alert", "scatter", "state"]
