"""The programs of examples/cluster, with small sizes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "cluster"


def run(*command: str) -> str:
    """Returns the output of a program, which must exit with 0."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_array_is_reduced_in_less_memory_than_it_has() -> None:
    """512 MiB on two workers: what they take is what Python and a few chunks take."""
    pytest.importorskip("distributed", reason="distributed is not installed (requirements-clients.txt)")
    text = run(str(EXAMPLES / "reduction.py"), "--size=512MiB", "--chunk=8MiB", "--workers=2", "--memory=2GB")
    assert "in 64 chunks, 2 workers" in text and re.search(r"mean (3.00|2.99)\d+, deviation (2.00|1.99)", text)
    (peak,) = re.findall(r"peak memory of a worker: ([\d.]+) MiB", text)
    assert float(peak) < 350, text


def test_every_engine_finds_the_same_parameters() -> None:
    pytest.importorskip("distributed", reason="distributed is not installed (requirements-clients.txt)")
    found = run(str(EXAMPLES / "search.py"), "--engine=dask", "--workers=2", "--steps=20").splitlines()
    losses = [float(line.split()[1]) for line in found]
    assert len(losses) == 8 and losses == sorted(losses)


def test_losses_do_not_depend_on_the_number_of_ranks() -> None:
    """The network of examples/learning/gpt.py."""
    start = ("-m", "cuprous.run", "--standalone")
    one, two = (
        run(*start, f"--nproc-per-node={n}", str(EXAMPLES / "train_gpt.py"), "--steps=20").partition(",")[0]
        for n in (1, 2)
    )
    assert one == two and one.startswith("loss 2.99")
