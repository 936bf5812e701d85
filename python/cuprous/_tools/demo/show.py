"""The results as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cuprous._tools.charts import Bar, Group, times

if TYPE_CHECKING:
    from cuprous._tools.demo.measure import Result


def groups(results: Sequence[Result]) -> list[Group]:
    """The bars of each result, with what its bytes take at least."""
    found = []
    for result in results:
        measured = [
            (result.peer, result.reference, False),
            ("Cuprous, CPU", result.cpu, False),
            ("Cuprous, GPU", result.gpu, True),
            ("  with copies", result.gpu_copies, True),
        ]
        bounds = [("CPU, at least", result.cpu_bound), ("GPU, at least", result.gpu_bound)]
        found.append(
            Group(
                result.title,
                f"{times(result.ratio)} as fast as {result.peer}" if result.ratio else "",
                [Bar(label, ms, gpu, label == result.peer) for label, ms, gpu in measured if ms is not None],
                [(label, ms, f"{result.nbytes / ms / 1e6:.3g} GB/s") for label, ms in bounds if ms],
                result.note,
            )
        )
    return found
