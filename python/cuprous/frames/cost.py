"""What nodes cost here and in Polars, so that a query is not slower for running here."""

from __future__ import annotations

from cuprous.frames.plan import nodes
from cuprous.frames.reasons import refuse_unless


def refuse_loss(node: nodes.Node, device: str) -> None:
    """Raises `Refused` if a plan would be slower here.

    Args:
        node: the plan.
        device: "cpu" or "gpu".
    """
    refuse_unless(False, "rows")
