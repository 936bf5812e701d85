"""The table of all functions of a row, and the check of all but aggregates."""

from __future__ import annotations

from cuprous.frames.columns.column import Column
from cuprous.frames.expressions.arithmetic import ARITHMETIC
from cuprous.frames.expressions.calendar import CALENDAR
from cuprous.frames.expressions.casts import CASTS
from cuprous.frames.expressions.comparison import COMPARISON
from cuprous.frames.expressions.decimals import DECIMALS
from cuprous.frames.expressions.nulls import NULLS
from cuprous.frames.expressions.rule import Rule
from cuprous.frames.expressions.sequences import SEQUENCES
from cuprous.frames.expressions.text import TEXT
from cuprous.frames.plan.expressions import Call
from cuprous.frames.reasons import refuse_unless

#: Name -> rule.
FUNCTIONS: dict[str, Rule] = {**ARITHMETIC, **CALENDAR, **CASTS, **COMPARISON, **NULLS, **TEXT}


def _rule(call: Call) -> Rule | None:
    """The rule of a function of a row; None if it is not known."""
    decimal = any(dtype.is_decimal() for dtype in (call.dtype, *(one.dtype for one in call.arguments)))
    return DECIMALS.get(call.function) if decimal and call.function in DECIMALS else FUNCTIONS.get(call.function)


def refuse_call(call: Call) -> None:
    """Raises `Refused` if a call is not supported."""
    rule = _rule(call) or SEQUENCES.get(call.function)
    refuse_unless(rule is not None, f"the function {call.function.removeprefix('op.')} is not supported")
    assert rule is not None
    reason = rule.refuse(call)
    refuse_unless(not reason, reason)


def apply(call: Call, columns: list[Column]) -> Column:
    """Returns the result of a function of columns of one height."""
    rule = _rule(call)
    assert rule is not None
    return rule.compute(call, columns)
