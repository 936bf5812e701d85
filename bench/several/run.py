"""Rows of a run, and what its parts share."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.several.launch import LostError, Ranks, Setting


@dataclass
class Row:
    """One line of the table: a check, or times in milliseconds by library."""

    name: str
    title: str
    ms: dict[str, float] = field(default_factory=dict)
    shown: str = ""
    target: str = ""
    met: bool | None = None
    is_check: bool = False

    def line(self) -> str:
        verdict = {None: "", True: "ok" if self.is_check else "MET", False: "FAILED" if self.is_check else "MISSED"}
        return f"{verdict[self.met]:7}{self.title:64} {self.shown}{f'  (target: {self.target})' * bool(self.target)}"


@dataclass
class Run:
    """What parts need: options, and where they put their rows."""

    gpus: int
    quick: bool
    setting: Setting
    libraries: tuple[str, ...]
    end: float
    rows: list[Row] = field(default_factory=list)
    limit: float = 0.0  # when the part in progress must end

    @property
    def left(self) -> float:
        """Seconds for the part in progress."""
        return min(self.limit, self.end) - time.monotonic()

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row.line(), flush=True)

    def check(self, name: str, title: str, call: Callable[[], str]) -> bool:
        """Adds a check. Returns true if it passed."""
        start = time.monotonic()
        try:
            shown, met = call(), True
        except (LostError, AssertionError) as error:
            shown, met = str(error), False
        self.add(Row(name, title, shown=f"{shown} [{time.monotonic() - start:.0f} s]", met=met, is_check=True))
        return met

    def ranks(self, library: str, n: int | None = None) -> Ranks:
        return Ranks(library, self.gpus if n is None else n, self.setting)

    def both(self, stack: ExitStack, n: int | None = None) -> dict[str, Ranks]:
        """Returns the ranks of all libraries, which start at the same time."""
        found = {library: stack.enter_context(self.ranks(library, n)) for library in self.libraries}
        for ranks in found.values():
            ranks.start()
        return found
