"""Nodes of a plan: what each computes, in terms of its inputs. The base holds the resulting schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cuprous.frames.plan.expressions import Expression, Named
from cuprous.frames.plan.windows import Interval


@dataclass(frozen=True, eq=False)
class Node:
    """The base of all nodes; `schema` maps the resulting columns to Polars' dtypes, in order."""

    schema: dict[str, Any]
    inputs: tuple[Node, ...]

    @property
    def title(self) -> str:
        """The name under which reports list this node."""
        return type(self).__name__


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Columns of a `polars.DataFrame`, a `Table` of arrays, or of `ParquetFiles`; the schema says which."""

    source: Any


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """The rows in which a condition holds."""

    condition: Expression


@dataclass(frozen=True, eq=False)
class Project(Node):
    """Some columns of the input, unchanged."""


@dataclass(frozen=True, eq=False)
class Select(Node):
    """New columns."""

    columns: tuple[Named, ...]


@dataclass(frozen=True, eq=False)
class WithColumns(Node):
    """The columns of the input, some replaced, and new ones.

    Without `broadcast`, a value of all rows stays one value; Polars plans so what a node above uses several times.
    """

    columns: tuple[Named, ...]
    broadcast: bool


@dataclass(frozen=True, eq=False)
class Sort(Node):
    """The rows in the order of some keys."""

    keys: tuple[Named, ...]
    descending: tuple[bool, ...]
    nulls_last: tuple[bool, ...]
    slice: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Slice(Node):
    """Adjacent rows; a negative offset counts from the end."""

    offset: int
    length: int


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """One row for each combination of values; `keep` is "first", "last", "any" or "none"."""

    keep: str
    subset: tuple[str, ...]
    maintain_order: bool
    slice: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Union(Node):
    """The rows of all inputs, one after another."""

    slice: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Cache(Node):
    """A frame that several places of the plan use; it is computed once."""

    key: int


@dataclass(frozen=True, eq=False)
class GroupBy(Node):
    """One row for each combination of keys."""

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    maintain_order: bool
    slice: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class IndexWindows(Node):
    """One row for each window over an index, of each combination of keys.

    Parameters
    ----------
    index : str
        The column whose values are in order.
    every : int or None
        The distance of windows; None for a window for each row.
    window : Interval
        Which rows a window has.
    label : str, default "left"
        The index of the result: the "left" or "right" end of the window, or its first "data_point".
    start_by : str, default "window_bound"
        "window_bound", or "data_point" if the first window begins at the first row.
    boundaries : bool, default False
        Whether both ends are columns, too.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    index: str
    every: int | None
    window: Interval
    label: str = "left"
    start_by: str = "window_bound"
    boundaries: bool = False
    slice: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class TopRows(Node):
    """The largest values of each combination of keys, a row for each; nulls come after all values.

    Parameters
    ----------
    count : int
        The most values of a group.
    smallest : bool
        Whether the smallest values are taken instead.
    """

    keys: tuple[Named, ...]
    value: Named
    count: int
    smallest: bool


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Pairs of rows of two frames with equal keys.

    Parameters
    ----------
    how : str
        Polars' name in lower case; "iejoin" compares the keys by `operators` instead.
    """

    how: str
    left_on: tuple[Named, ...]
    right_on: tuple[Named, ...]
    nulls_equal: bool
    suffix: str
    coalesce: bool
    maintain_order: str
    slice: tuple[int, int] | None
    operators: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with the kind of join."""
        return f"Join {self.how}"


@dataclass(frozen=True, eq=False)
class AsOfJoin(Node):
    """Each left row with the right row whose key is next to its own.

    Parameters
    ----------
    strategy : {"backward", "forward", "nearest"}
        "backward" (the last key up to it), "forward" (the first key from it) or "nearest".
    tolerance : float or None
        The largest distance of keys; None for any.
    by_left : tuple of str
        Columns that must be equal to those of `by_right`.
    equal : bool
        Whether an equal key is next.
    """

    left_on: Named
    right_on: Named
    strategy: str
    tolerance: float | None
    by_left: tuple[str, ...]
    by_right: tuple[str, ...]
    equal: bool
    suffix: str
    coalesce: bool
    slice: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class RowIndex(Node):
    """The columns of the input after one that numbers the rows."""

    name: str
    offset: int


@dataclass(frozen=True)
class Part:
    """What a translation found at a place of Polars' plan.

    Parameters
    ----------
    handle : int
        Polars' number of the place.
    title : str
        Polars' name of the node there.
    node : Node, optional
        Our node, or None if it is left to Polars.
    reason : str, default ""
        Why it is left to Polars.
    below : tuple of Part, optional
        The inputs.
    """

    handle: int
    title: str
    node: Node | None = None
    reason: str = ""
    below: tuple[Part, ...] = field(default=())
