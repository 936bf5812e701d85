"""Failures at random moments. `python -m tests.distributed.faults --faults 200` injects more."""

from __future__ import annotations

import pytest

from tests.distributed.faults import FAULTS, inject

#: Those that no other test of this folder has at a moment of its own.
FIRST = ("kill at the start", "terminate", "stop", "absent")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in FIRST else pytest.mark.slow) for kind in FAULTS]
)
def test_every_rank_ends_in_time_with_the_cause_and_nothing_is_left(kind: str) -> None:
    """Whatever happens to one of them while they run random collectives."""
    problems = inject(list(FAULTS).index(kind), [kind])
    assert not problems, "\n".join(problems)
