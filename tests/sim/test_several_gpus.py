"""The benchmark of several GPUs on two simulated ones: its checks pass, and its rows are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.several import faults
from bench.several.launch import Setting
from tests.robust.stand_ins import Machine


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


@pytest.mark.parametrize(("peers", "state", "found"), [
    ("", "ok", "the 2 GPUs reach each other's memory"),
    (",peers=no", "note", "GPUs 0 and 1 do not reach each other's memory: copies go through the host"),
])  # fmt: skip
def test_doctor_says_how_gpus_are_linked(peers: str, state: str, found: str, tmp_path: Path) -> None:
    nodes = {k: v for k, v in Machine(tmp_path).card().nodes().environment().items() if v is not None}
    variables = os.environ | nodes | {"CUPROUS_CUDA_PATH": os.environ["CUPROUS_CUDA_PATH"]}
    variables["CUPROUS_SIM"] = _with_two_gpus() + peers
    done = subprocess.run([sys.executable, "-m", "cuprous", "doctor", "--json"], capture_output=True, text=True,
                          env=variables, timeout=120, check=False)  # fmt: skip
    checks = json.loads(done.stdout)["checks"]
    links = next(check for check in checks if check["name"] == "links")
    assert (links["state"], links["found"], links["step"]) == (state, found, "ranks")
    steps = [check["step"] for check in checks]
    assert steps == sorted(steps, key=steps.index), "the checks of a step are together"
