"""What the versions of Polars' plans differ in: one row for each major that has been checked.

A plan of another major, a class of nodes that is not here, and a field that is not here are left to Polars.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cuprous.frames.reasons import Refused

_FIELDS = {
    "Cache": "id_ input",
    "DataFrameScan": "df projection selection",
    "Distinct": "input options",
    "Filter": "input predicate",
    "GroupBy": "aggs apply input keys maintain_order options",
    "HStack": "exprs input should_broadcast",
    "MapFunction": "function input",
    "PythonScan": "options",
    "Reduce": "exprs input",
    "Scan": "file_info file_options hive_parts paths predicate scan_type source_sizes",
    "Select": "expr input should_broadcast",
    "SimpleProjection": "input",
    "Slice": "input len offset",
    "Sort": "by_column input slice sort_options",
    "Union": "inputs maintain_order rows slice",
    "Agg": "arguments name options",
    "Alias": "expr name",
    "BinaryExpr": "left op right",
    "Cast": "dtype expr options",
    "Column": "name",
    "ExprFilter": "by input",
    "Function": "function_data input options",
    "Len": "",
    "Literal": "dtype value",
    "Rolling": "closed_window function index_column offset period",
    "Ternary": "falsy predicate truthy",
    "Window": "function options order_by order_by_descending order_by_nulls_last partition_by",
}


@dataclass(frozen=True)
class Adapter:
    """The classes and fields of one major of Polars' plans.

    Parameters
    ----------
    fields : dict of str to set of str
        Class -> the public fields that are understood. Expressions with a node's name stand under `Expr` and that name.
    names_inequalities : bool, default True
        Whether an outer join by inequalities differs from one by equal keys.
    settled_windows : bool, default True
        Whether windows over an index skip NaN as other groups do, and without rows have boundaries.
    """

    fields: dict[str, frozenset[str]]
    names_inequalities: bool = True
    settled_windows: bool = True
    _checked: set[tuple[type, str]] = field(default_factory=set)

    def check(self, value: Any, key: str | None = None) -> str:
        """Returns the name of a node's class.

        Raises
        ------
        Refused
            If the class or one of its fields is unknown.
        """
        name = key or type(value).__name__
        if (type(value), name) in self._checked:
            return name
        known = self.fields.get(name)
        if known is None:
            raise Refused(f"nodes of kind {name} are not supported")
        unknown = {one for one in dir(type(value)) if not one.startswith("_")} - known
        if unknown:
            raise Refused(f"{name} has fields that are not known: {', '.join(sorted(unknown))}")
        self._checked.add((type(value), name))
        return name


def _adapter(join: str, names_inequalities: bool, settled_windows: bool) -> Adapter:
    fields = {name: frozenset(text.split()) for name, text in {**_FIELDS, "Join": join}.items()}
    return Adapter(fields, names_inequalities, settled_windows)


_JOIN = "input_left input_right left_on options right_on"
#: Major version of the plan -> its adapter.
ADAPTERS = {
    14: _adapter(_JOIN, names_inequalities=False, settled_windows=False),
    15: _adapter(f"{_JOIN} predicate", names_inequalities=False, settled_windows=False),
    16: _adapter(f"{_JOIN} predicate", names_inequalities=True, settled_windows=True),
}


def adapter_for(version: tuple[int, int]) -> Adapter:
    """Returns the adapter of a plan's version.

    Raises
    ------
    Refused
        If that major has not been checked.
    """
    if version[0] not in ADAPTERS:
        known = ", ".join(map(str, ADAPTERS))
        raise Refused(f"plans of version {version[0]}.{version[1]} are not known; {known} are")
    return ADAPTERS[version[0]]
