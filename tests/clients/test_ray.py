"""Actors and trainers of Ray that are the ranks of a group."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp

ray = pytest.importorskip("ray", reason="ray is not installed (requirements-clients.txt)")
from ray.util import collective  # noqa: E402

#: No answer comes after that many seconds.
LIMIT = 90


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    """Starts Ray on two cores, without its web page."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).resolve().parents[2])]))
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80 << 20, log_to_driver=False,
             logging_level="ERROR", runtime_env={"env_vars": {"PYTHONPATH": paths}})  # fmt: skip
    yield
    ray.shutdown()


class Rank:
    """An actor that performs Ray's collectives."""

    def collectives(self, rank: int, n: int) -> dict[str, Any]:
        """Returns what each operation gives this rank."""
        own = np.arange(4.0) * (rank + 1)
        found: dict[str, Any] = {}

        def keep(name: str, call: Any) -> None:
            x = own.copy()
            call(x)
            found[name] = x

        keep("sum", lambda x: collective.allreduce(x, "group"))
        keep("max", lambda x: collective.allreduce(x, "group", collective.types.ReduceOp.MAX))
        keep("gaps", lambda x: collective.allreduce(x[::2], "group"))
        keep("reduce", lambda x: collective.reduce(x, 1, "group"))
        keep("broadcast", lambda x: collective.broadcast(x, 1, "group"))
        all_ = [np.zeros(4) for _ in range(n)]
        collective.allgather(all_, own, "group")
        found["gather"] = np.stack(all_)
        keep("scatter", lambda x: collective.reducescatter(x, [own + k for k in range(n)], "group"))
        got = np.zeros(4)
        if rank == 0:
            collective.send(own, 1, "group")
        else:
            collective.recv(got, 0, "group")
        found["message"] = got
        x = cp.asarray(own, device="cpu")
        collective.get_group_handle("group").allreduce([x])
        found["array"] = x.get()
        collective.barrier("group")
        try:
            collective.allreduce(np.zeros(3 + rank), "group")
        except Exception as error:
            found["error"] = str(error)
        collective.destroy_collective_group("group")
        return found


def test_collectives_of_actors() -> None:
    """All of Ray's operations against NumPy, and ranks that disagree."""
    n = 2
    assert collective.is_backend_available("cuprous")
    actors = [ray.remote(num_cpus=1)(Rank).remote() for _ in range(n)]
    # An actor knows the backend once this package is imported there.
    ray.get([actor.__ray_call__.remote(lambda _: __import__("cuprous").__name__) for actor in actors], timeout=LIMIT)
    collective.create_collective_group(actors, n, list(range(n)), backend="cuprous", group_name="group")
    found = ray.get([actor.collectives.remote(k, n) for k, actor in enumerate(actors)], timeout=LIMIT)
    own = [np.arange(4.0) * (k + 1) for k in range(n)]
    for rank, got in enumerate(found):
        expected = {
            "sum": own[0] + own[1], "max": own[1], "gaps": np.where([1, 0, 1, 0], own[0] + own[1], own[rank]),
            "reduce": own[0] + own[1] if rank == 1 else own[rank], "broadcast": own[1], "gather": np.stack(own),
            "scatter": own[0] + own[1] + n * rank, "message": own[0] if rank else np.zeros(4), "array": own[0] + own[1],
        }  # fmt: skip
        for name, value in expected.items():
            assert np.array_equal(got[name], value), (rank, name, got[name], value)
        assert re.search(r"rank 0 calls all_reduce float64\[3\] sum at .*rank 1 calls all_reduce float64\[4\]",
                         got["error"])  # fmt: skip
    for actor in actors:
        ray.kill(actor)


def _train(config: dict[str, Any]) -> None:
    """A training function as for PyTorch on Ray: the group exists when it begins."""
    import cuprous.torch as torch
    import cuprous.torch.distributed as dist
    from cuprous.torch.nn.parallel import DistributedDataParallel

    rank, n = dist.get_rank(), dist.get_world_size()
    assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == (str(rank), str(n))
    x = torch.linspace(-1, 1, 32, dtype=torch.float64).reshape(-1, 1)
    net = torch.nn.Linear(1, 1).to(torch.float64)
    torch.nn.init.zeros_(net.weight)
    torch.nn.init.zeros_(net.bias)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(config["steps"]):
        part = x[rank::n]
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(part), 3 * part + 1).backward()
        optimizer.step()
    if rank == n - 1:
        Path(config["file"]).write_text(repr([n, net.weight.item(), net.bias.item()]))


def test_trainers(tmp_path: Path) -> None:
    """`ray.train` with our configuration: two workers end where gradient descent with the whole batch does."""
    pytest.importorskip("ray.train", reason="ray[train] is not installed", exc_type=ImportError)
    from ray.train import RunConfig, ScalingConfig
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    from cuprous.ray import CuprousConfig

    config = {"steps": 20, "file": str(tmp_path / "result")}
    DataParallelTrainer(
        _train, train_loop_config=config, backend_config=CuprousConfig(timeout_s=60),
        scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=str(tmp_path)),
    ).fit()  # fmt: skip
    x, weight, bias = np.linspace(-1, 1, 32), 0.0, 0.0
    for _ in range(config["steps"]):
        error = weight * x + bias - (3 * x + 1)
        weight, bias = weight - 0.2 * (error * x).mean(), bias - 0.2 * error.mean()
    assert ast.literal_eval(Path(config["file"]).read_text()) == pytest.approx([2, weight, bias], rel=1e-12)


def test_arrays_that_cannot_be_written_are_an_error() -> None:
    from cuprous._clients.for_ray import _tensor

    x = np.zeros(3)
    x.setflags(write=False)
    assert _tensor(x, writes=False).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="read-only"):
        _tensor(x)
    with pytest.raises(TypeError, match="got <class 'list'>"):
        _tensor([1.0])
    assert _tensor(cp.ones(2, device="cpu")).tolist() == [1, 1]
