"""Tests `cuprous calibrate` as users run it; each figure is measured once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .helpers import command, output, started


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables the CUDA compile check, which would take a minute here; a Rust test compiles the calibration kernels."""
    monkeypatch.delenv("CUPROUS_CHECK_CUDA", raising=False)


def test_calibration_is_saved_shown_and_used(tmp_path: Path) -> None:
    here = {"CUPROUS_CACHE_DIR": str(tmp_path)}
    before = command("calibrate", "--show", **here)
    assert before.returncode == 1
    assert "cuprous calibrate" in before.stderr
    done = command("calibrate", "--quick", "--json", **here)
    assert done.returncode == 0, done.stderr
    assert "CPU: memory" in done.stderr
    report = json.loads(done.stdout)
    rates = report["cpu"]
    for work in ("add", "exp", "sum", "dot", "fft", "sort", "gather", "factor", "spectrum", "scan"):
        assert max(rates["work"][work]) > 1e3, work
    assert len(rates["rooms"]) >= 2
    assert all(room["bandwidth"] > 0 for room in rates["rooms"])
    assert all(rates[time] > 0 for time in ("launch", "program", "record"))
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".cubin"] == ["machine.json"]
    shown = command("calibrate", "--show", **here)
    assert shown.returncode == 0
    assert "bandwidth" in shown.stdout
    again = json.loads(command("calibrate", "--show", "--json", **here).stdout)
    assert again["measured"] == report["measured"]
    assert again["cpu"]["work"].keys() == rates["work"].keys()
    code = """
    import cuprous as cp
    got = cp.estimate(lambda a: a + 1, cp.ones(9))
    print(got.cpu.measured, got.notes)
    """
    assert output(code, **here) == "True ()"
    answer = command("estimate", "--flops", "1T", "--gpu", "h200", "--json", **here)
    assert json.loads(answer.stdout)["cpu"] == rates["name"]
    refused = command("estimate", "--flops", "1T", "--gpu", "h200", "--gpus", "2", **here)
    assert refused.returncode == 2
    assert "number of GPUs" in refused.stderr


def test_calibration_without_a_writable_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = command("calibrate", "--quick", CUPROUS_CACHE_DIR=str(file))
    assert done.returncode == 1
    assert "CUPROUS_CACHE_DIR" in done.stderr
    assert "panicked" not in done.stderr


def interrupted(folder: Path, moment: str) -> None:
    """Runs the command and sends SIGINT when it prints the text."""
    with started("calibrate", CUPROUS_CACHE_DIR=str(folder)) as process:
        assert process.stderr is not None
        for progress in process.stderr:
            if moment in progress:
                break
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == -signal.SIGINT


def test_an_interruption_leaves_no_figures(tmp_path: Path) -> None:
    here = {"CUPROUS_CACHE_DIR": str(tmp_path)}
    task = ("estimate", "--flops", "10T", "--data", "1GB", "--gpu", "RTX 3080", "--json")
    before = command(*task, **here)
    interrupted(tmp_path, "arithmetic, 2 of 5")
    assert list(tmp_path.glob("machine*")) == []
    after = command(*task, **here)
    assert (after.stdout, after.stderr) == (before.stdout, before.stderr)
    assert "not measured" in json.loads(after.stdout)["figures"][0]


def test_an_interruption_keeps_the_figures_from_before(tmp_path: Path) -> None:
    assert command("calibrate", "--quick", CUPROUS_CACHE_DIR=str(tmp_path)).returncode == 0
    file = tmp_path / "machine.json"
    before = file.read_bytes()
    interrupted(tmp_path, "memory")
    assert file.read_bytes() == before
    assert list(tmp_path.glob("machine*")) == [file]


def test_busy_machine_is_reported(tmp_path: Path) -> None:
    """Figures that were measured on a busy machine are used, with a warning."""
    here = {"CUPROUS_CACHE_DIR": str(tmp_path)}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        done = command("calibrate", "--quick", **here)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.returncode == 0, done.stderr
    assert "the figures may be wrong, because other programs took" in done.stderr
    assert "% of the CPU" in json.loads((tmp_path / "machine.json").read_text())["disturbed"]
    answer = command("estimate", "--flops", "1T", "--gpu", "h200", **here)
    assert answer.returncode == 0
    assert "run `cuprous calibrate` again on an idle machine" in answer.stderr
    assert "measured by `cuprous calibrate`" in answer.stdout
    code = """
    import warnings
    import cuprous as cp
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cp.estimate(lambda a: a + 1, cp.ones(9))
    print("idle machine" in str(caught[0].message))
    """
    assert output(code, **here) == "True"
