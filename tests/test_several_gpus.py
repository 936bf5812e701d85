"""The processes of the benchmark of several GPUs (bench/several), on the CPU."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.several import faults
from bench.several.launch import LostError, Ranks, Setting

pytestmark = pytest.mark.slow


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    with Ranks("cuprous", 2, Setting("cpu", tmp_path / "log")) as found:
        yield found


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("check", "arguments"),
    [("ddp", {"steps": 4, "bound": 1e-4}), ("fsdp", {"steps": 4, "bound": 1e-4}),
     ("tensor_parallel", {"steps": 2, "bound": 1e-4}), ("same_bits", {"steps": 100})],
)  # fmt: skip
def test_checks_pass_on_every_rank(ranks: Ranks, check: str, arguments: dict[str, float]) -> None:
    found = ranks.call(f"check.{check}", 60, **arguments)
    assert len(found) == 2 and all("difference" in each or each["steps"] == 100 for each in found)


def test_losses_that_differ_are_an_error(ranks: Ranks) -> None:
    with pytest.raises(LostError, match=r"check.ddp: rank 0: .*AssertionError: losses differ by"):
        ranks.call("check.ddp", 60, steps=2, bound=-1.0)


def test_a_hang_is_reported_with_stacks_and_leaves_no_process(ranks: Ranks) -> None:
    ranks.call("check.same_bits", 60, steps=1)
    pids = [process.pid for process in ranks.processes]
    with pytest.raises(LostError, match=r"no answer of ranks \[0, 1\] within 1 s[\s\S]*in loop"):
        ranks.call("fault.loop", 1, fault="none")
    assert not any(_is_running(pid) for pid in pids)
    assert ranks.call("check.same_bits", 60, steps=1)[1]["steps"] == 1  # new ones are started


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_multicast_is_off_in_every_process(ranks: Ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the environment of this process has it on."""
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "1")
    ranks.start()
    for process in ranks.processes:
        end = time.monotonic() + 10  # the environment is there once the program is
        while (text := Path(f"/proc/{process.pid}/environ").read_text()) == "" and time.monotonic() < end:
            time.sleep(0.01)
        assert "NCCL_NVLS_ENABLE=0" in text.split("\0")


def test_a_missing_error_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that the others do not report as they should is found."""
    wrong = faults.Fault(2.0, ("another cause",))
    monkeypatch.setitem(faults.FAULTS, "exception", wrong)
    found = faults.cause("exception", 2, Setting("cpu", tmp_path / "log"))
    assert any("'another cause' is not in" in problem for problem in found.problems)
