"""Why a part of a plan is left to Polars."""

from __future__ import annotations


class Refused(Exception):
    """Raised where a node, an expression or the data do not fit; its text is one sentence for the report."""


def refuse_unless(condition: object, reason: str) -> None:
    """Raises `Refused` with a reason if a condition does not hold."""
    if not condition:
        raise Refused(reason)
