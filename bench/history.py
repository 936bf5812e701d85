"""Measurements as data: `bench/results/MACHINE.jsonl` has one JSON object per row and run."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
DTYPES = re.compile(r"bfloat16|float(16|32|64)|int(32|64)|complex(64|128)")


@dataclasses.dataclass(frozen=True)
class Machine:
    """Machine of a run: the name of the GPU or processor, and the cores of the host."""

    name: str
    cores: int
    device: str

    @property
    def file(self) -> Path:
        """The file of this machine, such as `h200.jsonl` or `epyc-2core.jsonl`; cores matter only for a CPU."""
        plain = re.sub(r"\((r|tm)\)|@.*|nvidia|amd|intel|processor|cpu|\d+-core", " ", self.name.lower())
        words = re.findall(r"[a-z0-9]+", plain)
        return FOLDER / ("-".join(words + [f"{self.cores}core"] * (self.device == "cpu")) + ".jsonl")

    @staticmethod
    def here(device: str) -> Machine:
        """Returns this machine."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if device == "cpu":
            return Machine(processor(), cores, device)
        import cuprous as cp

        name = cp._core.device_properties(0).get("name", "GPU")
        return Machine(name.decode() if isinstance(name, bytes) else str(name), cores, device)


def processor() -> str:
    """Returns the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


@dataclasses.dataclass(frozen=True)
class Entry:
    """One row of one run. The title has the size and the dtype; `dtype` repeats the latter."""

    date: str  # UTC, ISO 8601
    commit: str
    machine: str
    cores: int | None  # of the host; None if unknown
    device: str
    row: str
    title: str
    ms: dict[str, float]  # milliseconds by library
    ratios: dict[str, float] = dataclasses.field(default_factory=dict)  # peer / ours, if times were not kept
    dtype: str = ""
    floor_ms: float | None = None
    copy_gb_s: float | None = None  # bandwidth of a copy in the same run
    target: str = ""
    met: bool | None = None
    note: str = ""
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def ours(self) -> float | None:
        return self.ms.get("cuprous")

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer, and its time divided by ours."""
        found = dict(self.ratios)
        if self.ours:
            found |= {peer: ms / self.ours for peer, ms in self.ms.items() if not peer.startswith("cuprous")}
        return min(found.items(), key=lambda pair: pair[1]) if found else None

    @property
    def of_floor(self) -> float | None:
        return self.floor_ms / self.ours if self.floor_ms and self.ours else None

    def json(self) -> str:
        """Returns the line of a file. Fields without a value are left out; times have four digits."""
        fields: dict[str, Any] = {k: v for k, v in dataclasses.asdict(self).items() if v not in ("", None, {})}
        fields["ms"] = {library: float(f"{ms:.4g}") for library, ms in self.ms.items()}
        for name in ("floor_ms", "copy_gb_s"):
            if name in fields:
                fields[name] = float(f"{fields[name]:.4g}")
        return json.dumps(fields, ensure_ascii=False)


class Run:
    """Creates the entries of one run, which share date, commit and machine."""

    def __init__(self, device: str, versions: dict[str, str], copy_gb_s: float | None = None) -> None:
        self.machine = Machine.here(device)
        self.date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.commit = commit()
        self.versions, self.copy_gb_s = versions, copy_gb_s

    def entry(self, row: str, title: str, ms: dict[str, float], **fields: Any) -> Entry:
        """Returns an entry of this run."""
        where = self.machine
        return Entry(self.date, self.commit, where.name, where.cores, where.device, row, title, ms,
                     dtype=dtype_of(title), copy_gb_s=self.copy_gb_s, versions=self.versions, **fields)  # fmt: skip


def commit() -> str:
    """Returns the commit of this tree, with `-dirty` if files other than results were changed; empty without git."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True)

    try:
        name = git("rev-parse", "--short=8", "HEAD").stdout.strip()
        changed = git("diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)bench/results").returncode
    except OSError:
        return ""
    return name + "-dirty" * bool(name and changed)


def dtype_of(title: str) -> str:
    """Returns the dtype that a title names."""
    found = DTYPES.search(title)
    return found[0] if found else ""


def append(path: Path, entries: Iterable[Entry]) -> None:
    """Appends entries to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(entry.json() + "\n" for entry in entries)


def load(path: Path) -> list[Entry]:
    """Returns the entries of a file sorted by date; the order within a date is kept."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return sorted((Entry(**{"commit": "", "cores": None} | json.loads(line)) for line in lines), key=lambda e: e.date)
