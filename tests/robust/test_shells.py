"""Completions of the command line, `cuprous bench`, and what every command accepts."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cuprous._tools import charts, completions
from cuprous._tools.bench import comparison as bench
from cuprous._tools.bench.peers import Peer
from cuprous._tools.progress import Progress
from cuprous.cli import MODULES

from .helpers import command

#: Options that must be given.
REQUIRED = {"--step", "--gradients"}
#: Commands that print figures.
JSON = {"bench", "calibrate", "demo", "doctor", "estimate", "kernels", "profile", "scaling", "top", "version"}


@pytest.fixture(scope="module")
def found() -> dict[str, completions.Command]:
    return {c.name: c for c in completions.commands()}


def names(one: completions.Command) -> set[str]:
    return {name for option in one.options for name in option.names}


def test_every_command_and_option_is_completed(found: dict[str, completions.Command]) -> None:
    assert {*MODULES, "calibrate", "doctor", "estimate", "serve", "top", "version"} == set(found)
    for one in found.values():
        assert one.summary and "--help" in names(one)
        text = command(one.name, "--help").stdout
        assert set(re.findall(r"(?m)^ {2,6}(?:-\w(?: \w+)?, )?(--[\w-]+)", text)) <= names(one)
    dtype = next(o for o in found["estimate"].options if o.names == ["--dtype"])
    assert dtype.takes_value and dtype.choices == ["float64", "float32", "float16", "bfloat16"]
    flags = {o.names[0]: o.takes_value for o in found["estimate"].options}
    assert flags["--flops"] and not flags["--pinned"]


def test_what_prints_figures_prints_json(found: dict[str, completions.Command]) -> None:
    assert {name for name, one in found.items() if "--json" in names(one)} == JSON


def completed(line: str) -> list[str]:
    """Returns what bash offers for a command line."""
    words = line.split(" ")
    script = (
        command("completions", "bash").stdout
        + f"COMP_WORDS=({' '.join(w or chr(39) * 2 for w in words)})\nCOMP_CWORD={len(words) - 1}\n_cuprous\n"
        + 'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes() -> None:
    assert completed("cuprous est") == ["estimate"]
    assert completed("cuprous estimate --dt") == ["--dtype"]
    assert completed("cuprous estimate --dtype fl") == ["float64", "float32", "float16"]
    assert completed("cuprous estimate --flops ") == []
    assert completed("cuprous completions f") == ["fish"]
    assert completed("cuprous nonsense --j") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, tmp_path: Path) -> None:
    script = command("completions", shell).stdout
    assert "--dtype" in script or "-l dtype" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script)
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if shell == "fish":
        offered = subprocess.run(
            ["fish", "-c", f"source {path}; complete -C 'cuprous estimate --dt'"], capture_output=True, text=True,
            check=True, env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
        assert offered.stdout.startswith("--dtype\t")


def test_an_unknown_shell() -> None:
    done = command("completions", "tcsh")
    assert done.returncode == 2 and "bash" in done.stderr


def test_bench_compares_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "bench.svg"
    done = command("bench", "--quick", "--json", "--plot", str(picture), "--beside", "")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    rows = {(t["workload"], t["library"]): t for t in report["times"]}
    for workload in ("matmul", "options", "softmax", "attention", "fft", "solve", "small"):
        for library in ("NumPy", "Cuprous, CPU"):
            assert rows[workload, library]["milliseconds"] > 0, rows[workload, library]
    root = ElementTree.parse(picture).getroot()
    assert len(root.findall(".//{*}rect")) >= 14


def test_bench_in_words_is_plain() -> None:
    done = command("bench", "--quick", "--only", "small", "--beside", "", "--plot", "", LC_ALL="C")
    assert done.returncode == 0
    assert "Cuprous, CPU" in done.stdout and "###" in done.stdout and "x as fast as NumPy" in done.stdout
    assert done.stdout.isascii() and "\x1b" not in done.stdout


@pytest.mark.parametrize("arguments", [("--only", "sudoku"), ("--beside", "fortran")])
def test_bench_refuses_what_it_does_not_know(arguments: tuple[str, str]) -> None:
    done = command("bench", *arguments)
    assert done.returncode == 2
    assert arguments[1] in done.stderr and "choose from" in done.stderr


def test_bench_shows_no_time_of_a_wrong_result() -> None:
    from cuprous._tools.bench.workloads import workloads

    def peer(label: str, shift: float) -> Peer:
        return Peer(label, label, "1", False, np, lambda a: a, lambda _: None, lambda a: np.asarray(a) + shift)

    def fails(_: object) -> np.ndarray:
        raise MemoryError("no room\nat all")

    full = Peer("full", "Full", "1", False, np, fails, lambda _: None, np.asarray)
    peers = [peer("NumPy", 0), peer("Cuprous, CPU", 1), full]
    small = workloads(quick=True)[-1]
    numpy, ours, other = bench.measure(small, peers, 0.01, Progress(1, shown=False), 1)
    assert numpy.milliseconds and ours.milliseconds is None and "wrong result" in ours.note
    assert (other.milliseconds, other.note) == (None, "failed: no room")


def test_a_loaded_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("disturbed: other work was running" in line for line in bench.machine([], [], 1000.0))
    assert not any("disturbed" in line for line in bench.machine([], [], 0.0))


def test_color_needs_a_terminal_and_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", Terminal())
    colored = charts.colored()
    monkeypatch.setenv("NO_COLOR", "1")
    assert (colored, charts.colored()) == (True, False)


@pytest.mark.parametrize(("term", "columns", "wanted"), [("xterm", 40, 39), ("xterm", 0, 79), ("dumb", 40, 0)])
def test_progress_fits_on_a_line_of_the_terminal(term: str, columns: int, wanted: int) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    code = "from cuprous._tools.progress import Progress; p = Progress(1); p.line('x' * 200); p.clear()"
    env = {**os.environ, "TERM": term}
    done = subprocess.run([sys.executable, "-c", code], stdin=slave, stdout=subprocess.PIPE, stderr=slave, env=env)
    os.close(slave)
    assert done.returncode == 0
    os.set_blocking(master, False)
    try:
        shown = os.read(master, 1000)
    except OSError:  # nothing was written
        shown = b""
    os.close(master)
    assert (shown.count(b"x"), shown.endswith(b"\x1b[2K")) == (wanted, wanted > 0)


def test_a_locale_of_ascii_gets_ascii(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import cuprous as cp\nprint(float((cp.ones(1000) * 2).sum()))\n")
    lines = {
        "estimate": ["--flops", "10T", "--gpu", "RTX 3080", "--cpu", "EPYC 9654"],
        "profile": [str(program)],
        "demo": ["--quick", "--only", "add"],
        "doctor": [],
    }
    for name, options in lines.items():
        done = command(name, *options, LC_ALL="C")
        assert done.returncode == 0 and (done.stdout + done.stderr).isascii(), name
        assert ("#" in done.stdout) == (name in ("estimate", "demo"))


@pytest.mark.parametrize("name", sorted(MODULES))
def test_help_states_defaults(name: str) -> None:
    text = command(name, "--help", COLUMNS="200").stdout
    options = [part for part in re.split(r"(?m)^  (?=-)", text)[1:] if re.match(r".*?--[\w-]+ [A-Z{]", part)]
    assert [part for part in options if part.split()[0] not in REQUIRED and "(default: " not in part] == []


def test_profile_and_scaling_print_json(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import cuprous as cp\nprint(float((cp.ones(1000) * 2).sum()))\n")
    done = command("profile", "--json", str(program))
    assert done.stdout == "2000.0\n"
    report = json.loads(done.stderr)
    assert report["rows"][0]["line"] == 2 and report["total"]["launches"] >= 1 and report["advice"]
    done = command("scaling", "--step", "27.3ms", "--gradients", "497MB", "--gpus", "8", "--json")
    assert json.loads(done.stdout)["rows"][0]["gpus"] == 8
