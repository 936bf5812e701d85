"""Tests the `cuprous` command as users run it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import cuprous as cp
from cuprous import cli
from cuprous._tools.demo import main, measure

from .helpers import command, started


def test_version() -> None:
    for word in ("--version", "version"):
        done = command(word)
        assert (done.returncode, done.stdout.strip()) == (0, f"cuprous {cp.__version__}")
    assert json.loads(command("version", "--json").stdout) == {"version": cp.__version__}


def test_help_names_the_commands() -> None:
    for arguments in ((), ("--help",), ("help",)):
        done = command(*arguments)
        assert done.returncode == 0
        assert "doctor" in done.stdout
        assert "demo" in done.stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [("doktor", "doctor"), ("dem", "demo"), ("versoin", "version"), ("DOCTOR", None), ("zzz", None)]
)
def test_an_unknown_command_names_the_nearest(typed: str, meant: str | None) -> None:
    done = command(typed)
    assert done.returncode == 2
    assert done.stdout == ""
    assert typed in done.stderr
    assert "Traceback" not in done.stderr
    if meant:
        assert meant in done.stderr


def test_an_unknown_option() -> None:
    done = command("doctor", "--jsno")
    assert done.returncode == 2
    assert "--json" in done.stderr


def test_doctor_in_words() -> None:
    done = command("doctor")
    assert "Traceback" not in done.stderr
    assert "cpu" in done.stdout
    assert "kernel on cpu" in done.stdout
    assert done.returncode == ("BROKEN" in done.stdout)


def test_doctor_as_json() -> None:
    done = command("doctor", "--json")
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0)
    checks = {check["name"]: check for check in report["checks"]}
    assert checks["kernel on cpu"]["state"] == "ok"
    assert {"NVRTC", "cuBLASLt", "cuFFT", "cuSOLVER", "kernel cache"} <= checks.keys()
    for check in report["checks"]:
        assert check["found"]
        assert check["state"] in ("ok", "note", "broken")
        assert check["state"] != "broken" or check["cure"], f"{check['name']} has no cure"


def test_doctor_without_a_gpu_is_well() -> None:
    done = command("doctor", "--json", CUDA_VISIBLE_DEVICES="", CUPROUS_DEVICE=None)
    assert done.returncode == 0, done.stdout
    assert "no GPU" in json.loads(done.stdout)["summary"]


def test_doctor_names_a_cache_it_cannot_use() -> None:
    done = command("doctor", "--json", CUPROUS_CACHE_DIR="/proc/none")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["kernel cache"]["state"] in ("note", "broken")
    assert "/proc/none" in checks["kernel cache"]["found"]


def test_doctor_with_a_reader_that_goes_away() -> None:
    with started("doctor") as doctor:
        assert doctor.stdout is not None and doctor.stderr is not None
        doctor.stdout.close()
        error = doctor.stderr.read()
        doctor.wait(timeout=60)
    assert "Traceback" not in error
    assert "panicked" not in error


def test_the_installed_script() -> None:
    script = shutil.which("cuprous", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("the package is not installed with its scripts")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == f"cuprous {cp.__version__}"


def test_demo_as_json_and_picture(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    done = command("demo", "--quick", "--json", "--plot", str(picture))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    names = [row["name"] for row in report["rows"]]
    assert names == ["matmul", "options", "paths", "blur", "query", "small", "add"]
    for row in report["rows"]:
        assert row["note"].startswith(("needs SciPy", "needs another package")) or row["cpu"] > 0, row
        assert "wrong" not in row["note"]
    peers = {row["name"]: row["peer"] for row in report["rows"]}
    assert peers["query"] == "Polars" and peers["blur"] == "SciPy" and peers["add"] == "NumPy"
    root = ElementTree.parse(picture).getroot()
    assert root.tag.endswith("svg")
    assert len(root.findall(".//{*}rect")) >= 10


def test_demo_is_plain_without_a_terminal() -> None:
    done = command("demo", "--quick", "--only", "add,small")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "adding" in done.stdout
    assert "matrix" not in done.stdout


def test_demo_refuses_a_row_it_does_not_know() -> None:
    done = command("demo", "--only", "sudoku")
    assert done.returncode == 2
    assert "matmul" in done.stderr


def test_demo_says_why_there_are_no_gpu_figures() -> None:
    done = command("demo", "--quick", "--only", "add", CUDA_VISIBLE_DEVICES="", CUPROUS_DEVICE=None)
    assert done.returncode == 0
    assert "no GPU figures" in done.stdout or "cannot be used" in done.stdout


def test_demo_shows_no_time_of_a_wrong_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A result that differs from NumPy's has no time in text, JSON and picture, and the command fails."""
    right = measure.fetch
    monkeypatch.setattr(measure, "fetch", lambda xp, value: right(xp, value) + 1)
    before = cp.get_device()
    picture = tmp_path / "demo.svg"
    assert main.main(["--quick", "--only", "add", "--json", "--plot", str(picture)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["cpu"], row["gpu"], row["ratio"]) == (None, None, None)
    assert "wrong result" in row["note"]
    assert "wrong result" in picture.read_text()
    assert main.main(["--quick", "--only", "add"]) == 1
    text = capsys.readouterr().out
    assert "no time shown" in text
    assert "Cuprous, CPU" not in text
    assert cp.get_device() == before


def test_demo_has_grey_bars_for_the_cpu_and_blue_ones_for_the_gpu() -> None:
    from cuprous._tools.charts import BLUE, GRAY, as_svg, as_text
    from cuprous._tools.demo.measure import Result
    from cuprous._tools.demo.show import groups

    result = Result("add", "adding", reference=4.0, cpu=2.0, gpu=0.5, gpu_copies=1.0)
    bars = {line[2:16].strip(): line for line in as_text(groups([result]), True, 100).splitlines() if "█" in line}
    assert {label: next(c for c in (GRAY, BLUE) if c in line) for label, line in bars.items()} == {
        "NumPy": GRAY, "Cuprous, CPU": GRAY, "Cuprous, GPU": BLUE, "with copies": BLUE
    }  # fmt: skip
    lengths = [line.count("█") for line in bars.values()]
    assert lengths[0] > lengths[1] > lengths[3] > lengths[2]
    assert "8.0x as fast as NumPy" in as_text(groups([result]), False, 100)
    assert as_svg(groups([result]), "demo", "a machine").count("#3b82f6") >= 2
    assert "\x1b" not in as_text(groups([result]), False, 100)


def test_demo_reports_a_time_below_the_memory_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Additions without a wait are never computed, so their time is an error and not a speedup."""
    waiting = measure.seconds_each
    monkeypatch.setattr(measure, "seconds_each", lambda run, _, *rest: waiting(run, measure.done, *rest))
    assert main.main(["--quick", "--only", "add", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["cpu"], row["gpu"], row["ratio"], row["failed"]) == (None, None, None, True)
    assert "impossible time" in row["note"]


@pytest.mark.skipif(not hasattr(os, "getloadavg"), reason="the load is not known here")
@pytest.mark.parametrize(("load", "disturbed"), [(0.0, False), (1e4, True)])
def test_demo_names_a_loaded_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, load: float, disturbed: bool
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    picture = tmp_path / "demo.svg"
    assert main.main(["--quick", "--only", "small", "--plot", str(picture)]) == 0
    assert ("disturbed: other work was running (load 10000.0" in capsys.readouterr().out) == disturbed
    root = ElementTree.parse(picture).getroot()
    lines = [text.text or "" for text in root.findall(".//{*}text")]
    assert any("disturbed" in line for line in lines) == disturbed and max(map(len, lines)) <= 105


def test_demo_has_no_time_below_the_memory_bound() -> None:
    report = json.loads(command("demo", "--quick", "--json", "--only", "matmul,options,small,add").stdout)
    for row in report["rows"]:
        assert row["cpu_bound"] > 0, row
        assert min(row["cpu"], row["reference"]) * 2 > row["cpu_bound"], row


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_demo_shows_progress_in_a_terminal() -> None:
    ours, theirs = os.openpty()
    line = [sys.executable, "-m", "cuprous", "demo", "--quick", "--only", "add,small"]
    env = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=300, check=False, env=env)
    os.close(theirs)
    printed = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "[1/2]" in printed
    assert "[2/2]" in printed
    assert printed.rstrip().endswith("\x1b[2K")  # the line is cleared at the end


@pytest.mark.parametrize("line", ["demo --plot", "bench --plot", "profile -o"])
@pytest.mark.parametrize("file", ["no-such-folder/picture.svg", "picture.png"])
def test_files_that_cannot_be_written_are_refused_before_the_work(
    line: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("print('ran')")
    name, option = line.split()
    assert cli.main([name, option, file, *(["program.py"] if name == "profile" else [])]) == 2
    done = capsys.readouterr()
    assert done.out == ""
    assert done.err.startswith(f"cuprous {name}: {file!r} must end with ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["profile", "kernels", "run", "doctor"])
def test_a_program_that_does_not_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "nothing.py"]) == 2
    assert "file 'nothing.py' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["profile", "kernels"])
def test_arguments_of_the_program_are_not_required(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """argparse counts the rest of the line among the required arguments, whose names an error lists."""
    assert cli.main([name]) == 2
    assert "ARGS" not in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("name", [*cli.MODULES, "calibrate", "doctor", "estimate", "serve", "top", "version"])
def test_help_fits_narrow_terminals(name: str) -> None:
    """Lines are broken between words, and have no characters that a terminal may lack."""
    done = command(name, "--help", COLUMNS="60", LC_ALL="C")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) > 3
    assert done.stdout.isascii()
    # What has no place for a break stays whole: an option with its choices, a line to be copied.
    whole = re.compile(r"\s*\[?\S+(?: \S+\]| +cuprous completions .*)?$")
    assert [line for line in lines if len(line) > 60 and not whole.match(line)] == []
