"""Rows of several frames, and one row for each combination of values."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column, validity, with_one_dictionary
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.groups import Groups
from cuprous.frames.plan.nodes import Distinct


def concatenated(columns: list[Column]) -> Column:
    """Returns the values of several columns of one dtype, one after another."""
    columns = with_one_dictionary(columns)
    valid = None
    if any(column.valid is not None for column in columns):
        valid = cp.concatenate([validity(one) for one in columns])
    return columns[0].with_values(cp.concatenate([column.values for column in columns]), valid)


def union(frames: list[Frame]) -> Frame:
    """Returns the rows of frames with the same columns, one after another."""
    columns = {name: concatenated([frame.columns[name] for frame in frames]) for name in frames[0].columns}
    return Frame(columns, sum(frame.height for frame in frames))


def distinct(node: Distinct, frame: Frame) -> Frame:
    """Returns one row for each combination of the values of some columns."""
    if frame.height == 0:
        return frame
    groups = Groups([frame.columns[name] for name in node.subset])
    return frame.take(cp.sort(_kept(node, groups)))


def _kept(node: Distinct, groups: Groups) -> Any:
    if node.keep == "last":
        return groups.reduce("last", None, None)
    if node.keep == "none":
        return groups.first[groups.sizes == 1]
    return groups.first
