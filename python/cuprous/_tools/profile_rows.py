"""What a profile tells of a line, and of the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    device_time: float
    launches: int
    bytes_in: int
    copies_in: int
    bytes_out: int
    copies_out: int
    hidden_syncs: int
    syncs: int
    copy_time: float
    wait_time: float
    planned: int
    replayed: int
    plan_time: float
    run_time: float
    collectives: int
    collective_bytes: int
    collective_time: float
    rank_wait_time: float
    memory_peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow(_Sums):
    """A line of the program. Times are in seconds.

    `device_time` is shared out: a kernel that computes the operations of several lines counts for each of them in
    proportion to its operations, and its launch for the line of the last one. Programs, copies and waits count for the
    line that made them happen. `collective_time` is the time from when operations with other ranks were submitted until
    they had ended, during which other work may run; `rank_wait_time` is the part in which the host did nothing else.
    """

    file: str
    line: int
    function: str
    reasons: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTotal(_Sums):
    """All lines together. `wall` is the time from start to end, `python` the part in which the host ran only Python."""

    wall: float
    python: float
