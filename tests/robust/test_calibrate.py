"""`cuprous calibrate`, as its users run it; each figure is measured once here."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .helpers import command, environment, output


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calibration runs is compiled for GPUs by a test of its own, in Rust; here it would take a minute."""
    monkeypatch.delenv("CUPROUS_CHECK_CUDA", raising=False)


def test_measured_kept_shown_and_used(tmp_path: Path) -> None:
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


def test_nowhere_to_keep_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = command("calibrate", "--quick", CUPROUS_CACHE_DIR=str(file))
    assert done.returncode == 1
    assert "CUPROUS_CACHE_DIR" in done.stderr
    assert "panicked" not in done.stderr


def test_an_interruption_leaves_what_was_measured(tmp_path: Path) -> None:
    here = {"CUPROUS_CACHE_DIR": str(tmp_path)}
    file = tmp_path / "machine.json"
    with subprocess.Popen(
        [sys.executable, "-m", "cuprous", "calibrate"], env=environment(**here), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "arithmetic, 2 of 5" in line:
                break
        while process.poll() is None and not file.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == -signal.SIGINT
    assert json.loads(file.read_text())["unfinished"] == "CPU"
    shown = command("calibrate", "--show", **here)
    assert shown.returncode == 0
    assert "measuring the CPU was interrupted" in shown.stderr
    code = """
    import cuprous as cp
    print(cp.estimate(lambda a: a + 1, cp.ones(9)).cpu.measured)
    """
    assert output(code, **here) == "True"
    # Whole figures are kept until there are whole new ones.
    assert command("calibrate", "--quick", **here).returncode == 0
    whole = json.loads(file.read_text())
    assert whole["unfinished"] is None
