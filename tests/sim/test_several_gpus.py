"""The benchmark of several GPUs on two simulated ones: its checks pass, and its rows are there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.several import faults
from bench.several.launch import Setting


def _with_two_gpus() -> str:
    return os.environ["CUPROUS_SIM"] + ",devices=2"


def test_a_quick_run_has_all_rows(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.several_gpus", "--gpus", "2", "--quick", "--without", "torch",
               "--out", str(tmp_path), "--parts", "copies,collectives,linear,gpt2,buckets,fsdp,captured"]  # fmt: skip
    done = subprocess.run(command, env=os.environ | {"CUPROUS_SIM": _with_two_gpus()}, capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    _, _, table = done.stdout.partition("# all rows")
    for title in ("ok     copies between all pairs of GPUs", "x.to('cuda:1') of 1 MiB", "all-reduce of 4 KiB, 2 GPUs",
                  "DDP(Linear(10, 2))", "GPT-2 124M", "buckets of 25", "fully_shard, 2 GPUs",
                  "peak memory of a GPU"):  # fmt: skip
        assert title in table, done.stdout
    assert "LOST" not in done.stdout and "captured: this needs GPUs and PyTorch" in done.stdout


@pytest.mark.parametrize("name", ["killed", "order"])
def test_a_failing_rank_is_reported_within_its_bound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUPROUS_SIM", _with_two_gpus())
    found = faults.cause(name, 2, Setting("cuda", tmp_path / "log"))
    assert not found.problems
    assert 0 < found.error <= found.end
