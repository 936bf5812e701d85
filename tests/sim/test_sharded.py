"""DTensors, `fully_shard` and checkpoints on simulated GPUs: the programs of tests/distributed, with meshes of GPUs."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.distributed import jobs, test_checkpoint, test_dtensor, test_fsdp, test_tensor_parallel

#: Not here: what takes minutes on a simulated GPU (bench/several has a shorter one).
_LONG = ("test_a_small_gpt_has_the_losses_of_one_process",)


def _programs() -> Iterator[Any]:
    """The tests that run a program, with the first of their arguments."""
    for module in (test_dtensor, test_fsdp, test_tensor_parallel, test_checkpoint):
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and name not in _LONG and "run(" in inspect.getsource(test):
                marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
                first = marks[0].args[1][0] if marks else ()
                given = first if isinstance(first, tuple) else (first,)
                yield pytest.param(module, test, given, id=name)


#: Data that programs take from NumPy is on the GPU, too, and the workspace of products is there from the beginning.
_DATA = """
_on_host = torch.from_numpy
torch.from_numpy = lambda values: _on_host(values).to("cuda")
(torch.ones(256, 256) @ torch.ones(256, 256)).sum().item()
"""


def _on_gpus(program: str, n: int = 2, **more: str) -> list[jobs.Ended]:
    # The parts of a mesh of GPUs stay on them.
    program = _DATA + textwrap.dedent(program).replace('"cpu"', '"cuda"').replace("CPUOffloadPolicy", "OffloadPolicy")
    return jobs.run(program, n, TEST_DEVICE="cuda", TEST_BACKEND="cpu:gloo,cuda:nccl", **more)


@pytest.mark.parametrize(("module", "test", "given"), list(_programs()))
def test_programs_of_the_cpu(module: ModuleType, test: Callable[..., None], given: tuple[Any, ...],
                             tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(module, "run", _on_gpus)
    paths = [tmp_path] if "tmp_path" in inspect.signature(test).parameters else []
    test(*paths, *given)


def test_a_mesh_of_gpus_moves_what_it_is_given() -> None:
    """Each rank has the GPU of LOCAL_RANK if the program chose none; what is on the CPU is moved there."""
    jobs.run(
        """
    from cuprous.torch import nn
    from cuprous.torch.distributed.fsdp import fully_shard
    from cuprous.torch.distributed.tensor import DTensor, Shard, distribute_tensor, zeros
    torch.cuda.get_device_properties(0)         # starts CUDA, which counts simulated GPUs
    try:
        dist.init_device_mesh("cuda:0", (n,))
    except RuntimeError as e:
        assert "Device type with index is not supported" in str(e)
    else:
        raise SystemExit("accepted")
    mesh = dist.init_device_mesh("cuda", (n,))
    own = torch.device("cuda", rank)
    assert torch.cuda.current_device() == rank and mesh.get_group() is dist.group.WORLD
    assert mesh != dist.init_device_mesh("cpu", (n,))
    d = distribute_tensor(torch.arange(6.0, device="cpu"), mesh, [Shard(0)])
    assert d.device == own and d.full_tensor().tolist() == list(range(6))
    assert DTensor.from_local(torch.ones(2, device="cpu"), mesh, [Shard(0)]).to_local().device == own
    assert zeros(4, device_mesh=mesh, placements=[Shard(0)]).to_local().device == own
    with torch.device("cpu"):
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    fully_shard(net, mesh=mesh)
    net(torch.ones(3, 4, device=own)).sum().backward()
    assert net[1].running_mean.device == own and net[0].weight.grad.device == own
    """,
        2, TEST_BACKEND="cpu:gloo,cuda:nccl", CUPROUS_SIM=os.environ["CUPROUS_SIM"] + ",devices=2",
    )  # fmt: skip
