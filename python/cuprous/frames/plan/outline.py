"""What tells a query from others before Polars optimizes it, which takes longer than all that is done here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.exceptions import PanicException

_UNCHANGED = pl.QueryOptFlags.none()._pyoptflags


@dataclass(frozen=True)
class Outline:
    """A query of frames in memory.

    Parameters
    ----------
    text : str
        The query as Polars shows it. Long constants are shortened there.
    frames : tuple of tuple (int, tuple of str, tuple of type)
        Heights, names and classes of dtypes of the frames.
    """

    text: str
    frames: tuple[tuple[int, tuple[str, ...], tuple[type, ...]], ...]

    @property
    def rows(self) -> int:
        """The height of the largest frame."""
        return max(height for height, _, _ in self.frames)


def outline(ldf: Any) -> Outline | None:
    """Returns the outline of a query; None if it has other sources than frames, or Polars does not describe it."""
    try:
        traverser = ldf.with_optimizations(_UNCHANGED).visit()
        waiting, frames = [traverser.get_node()], []
        while waiting:
            traverser.set_node(waiting.pop())
            inputs = traverser.get_inputs()
            waiting += inputs
            if not inputs:
                view = traverser.view_current_node()
                if type(view).__name__ != "DataFrameScan":
                    return None
                schema = traverser.get_schema()
                frames.append((view.df.height(), tuple(schema), tuple(map(type, schema.values()))))
        return Outline(ldf.describe_plan(), tuple(frames))
    except (Exception, PanicException):  # the translation says what is not understood
        return None
