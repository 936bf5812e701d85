"""Lists of tests with known failures: `SUITE_remainder.txt`.

A list has a line `N: reason` for each reason, and below it the tests by file. A test is named once for all its
parameters; the number behind it says how many of them fail::

    12: no ndarray subclasses
      _core/tests/test_numeric: TestResize.test_subclass, TestLikeFuncs.test_ones_like (11)

The numbers must match exactly: an additional failure is unexpected, a missing one makes the line stale. Only tests
whose reason begins with `chance:` may pass or fail; they reject right random numbers now and then.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.reasons import reason_for
from tests.peers.session import Result

#: File and test, without parameters.
Key = tuple[str, str]

_ENTRY = re.compile(r"(\S+?)(?: \((\d+)\))?(?:,\s*|$)")


def key_of(file: str, test: str) -> Key:
    """Returns the name under which a test is listed."""
    name = re.sub(r"\[.*\]|_param_\d+_\{.*?\}(?=::|$)|_\(.*", "", test, flags=re.DOTALL)
    return file, name.replace("::", ".")


@dataclass
class Remainder:
    """The number of known failures of each test, by reason."""

    header: str = ""
    reasons: dict[str, Counter[Key]] = field(default_factory=lambda: defaultdict(Counter))

    @classmethod
    def read(cls, path: Path) -> Remainder:
        """Reads a list; a missing file is an empty list."""
        self = cls()
        reason = file = ""
        for line in path.read_text().splitlines() if path.exists() else ():
            if line.startswith("#"):
                self.header += line + "\n"
            elif match := re.fullmatch(r"\d+: (.*)", line):
                reason = match[1]
            elif line.strip():
                if not line.startswith("    "):
                    file, _, line = line.strip().partition(":")
                for name, count in _ENTRY.findall(line.strip()):
                    self.reasons[reason][file, name] += int(count or 1)
        return self

    def write(self, path: Path) -> None:
        """Writes the list, the most frequent reasons first."""
        blocks = [self.header]
        for reason, tests in sorted(self.reasons.items(), key=lambda item: (-item[1].total(), item[0])):
            if tests.total():
                blocks.append("\n".join([f"{tests.total()}: {reason}", *_lines(tests), ""]))
        path.write_text("\n".join(blocks))

    def listed(self) -> Counter[Key]:
        """Returns the number of known failures of each test."""
        return sum(self.reasons.values(), Counter())

    def by_chance(self) -> set[Key]:
        """Returns the tests that may pass or fail."""
        return {key for reason, tests in self.reasons.items() if reason.startswith("chance:") for key in tests}


def _lines(tests: Counter[Key]) -> list[str]:
    files: dict[str, list[str]] = defaultdict(list)
    for (file, name), count in sorted(tests.items()):
        if count > 0:
            files[file].append(name if count == 1 else f"{name} ({count})")
    wrap = textwrap.TextWrapper(118, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
    wrap.break_on_hyphens = False
    # A count stays on the line of its test.
    return [line.replace("\0", " ") for f, n in files.items()
            for line in wrap.wrap(f"{f}: {', '.join(t.replace(' ', chr(0)) for t in n)}")]  # fmt: skip


@dataclass
class Comparison:
    """The differences between results and the list."""

    passed: int = 0
    skipped: int = 0
    as_listed: int = 0
    unexpected: dict[Key, list[Result]] = field(default_factory=dict)
    stale: dict[Key, tuple[int, int]] = field(default_factory=dict)

    @property
    def unexpected_count(self) -> int:
        """Failures beyond those listed."""
        return sum(len(rows) for rows in self.unexpected.values())


def compare(results: dict[str, list[Result]], remainder: Remainder) -> Comparison:
    """Compares the results by file with the list, without files that did not run."""
    found = Comparison()
    failed: dict[Key, list[Result]] = defaultdict(list)
    for file, rows in results.items():
        for row in rows:
            if row.outcome == "failed":
                failed[key_of(file, row.test)].append(row)
            elif row.outcome == "passed":
                found.passed += 1
            else:
                found.skipped += 1
    listed, by_chance = remainder.listed(), remainder.by_chance()
    for key in sorted({*failed, *(k for k in listed if k[0] in results)}):
        known, rows = listed[key], failed.get(key, [])
        found.as_listed += min(known, len(rows))
        if len(rows) > known:
            found.unexpected[key] = rows[known:]
        elif len(rows) < known and key not in by_chance:
            found.stale[key] = known, len(rows)
    return found


def updated(results: dict[str, list[Result]], old: Remainder, suite: str) -> Remainder:
    """Returns the list for new results: known reasons are kept, new failures get one by `reason_for` or are omitted."""
    new = Remainder(old.header)
    failed: dict[Key, list[Result]] = defaultdict(list)
    for file, rows in results.items():
        for row in rows:
            if row.outcome == "failed":
                failed[key_of(file, row.test)].append(row)
    left = Counter({key: len(rows) for key, rows in failed.items()})
    for reason, tests in old.reasons.items():
        for key, count in tests.items():
            kept = min(count, left[key]) if key[0] in results else count
            new.reasons[reason][key] += kept
            left[key] -= kept if key[0] in results else 0
    for key, count in left.items():
        for row in _last(failed[key], count):
            found = reason_for(suite, f"{key[0]}: {row.test}", row.why)
            if found:
                new.reasons[found][key] += 1
    return new


def _last(rows: list[Result], count: int) -> Iterable[Result]:
    return rows[len(rows) - count :] if count > 0 else ()
