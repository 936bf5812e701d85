"""Divisions of ranks, arguments that must be given, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from cuprous import torch
from cuprous.torch import distributed as dist
from tests.distributed import jobs


@pytest.fixture
def job() -> Iterator[None]:
    """A job of one rank."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_ranks_are_divided_into_neighbors_or_as_given() -> None:
    """Each rank gets its own group, and all."""
    jobs.run("""
    own, groups = dist.new_subgroups(2)
    assert len(groups) == 2 and dist.get_process_group_ranks(own) == [rank // 2 * 2, rank // 2 * 2 + 1]
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=own)
    assert x.item() == (1.0 if rank < 2 else 5.0)
    own, groups = dist.new_subgroups_by_enumeration([[0, 2], [3]])
    assert (own is None) == (rank == 1) and len(groups) == 2
    assert rank == 1 or dist.get_process_group_ranks(own) == ([3] if rank == 3 else [0, 2])
    outer = dist.new_group([0, 1, 2])
    if rank < 3:
        thirds, _ = dist.new_subgroups(1, group=outer)
        assert dist.get_process_group_ranks(thirds) == [rank]
    """, 4)  # fmt: skip


def test_dimensions_of_a_mesh_become_one() -> None:
    """Its group has all their ranks, and the whole mesh has it by name."""
    jobs.run("""
    mesh = dist.init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("dp", "cp", "tp"))
    loss = mesh["dp", "cp"]._flatten()
    assert loss.mesh_dim_names == ("dp_cp",) and loss.shape == (2,)
    assert dist.get_process_group_ranks(loss.get_group()) == [rank % 2, rank % 2 + 2]
    assert mesh["dp_cp"] == loss and mesh["dp", "cp"]._flatten() is loss and loss.get_local_rank() == rank // 2
    whole = mesh._flatten("all")
    assert whole.mesh.tolist() == [0, 1, 2, 3] and mesh["all"].size() == 4
    x = torch.ones(1)
    dist.all_reduce(x, group=mesh.get_group("tp"))
    dist.all_reduce(x, group=loss.get_group("dp_cp"))
    assert x.item() == 4
    from cuprous.torch.distributed.tensor import Shard, distribute_tensor
    parts = distribute_tensor(torch.arange(8.0), mesh["all"], [Shard(0)])
    assert parts.to_local().tolist() == [2.0 * rank, 2.0 * rank + 1] and parts.sum().full_tensor().item() == 28
    try:
        mesh["tp"]._flatten("dp")
        raise AssertionError
    except ValueError as error:
        assert "already exists" in str(error)
    """, 4)  # fmt: skip


_X = torch.ones(2)


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    "call",
    [
        lambda: dist.reduce(_X),
        lambda: dist.broadcast(_X),
        lambda: dist.send(_X),
        lambda: dist.isend(_X),
        lambda: dist.send_object_list([1]),
        lambda: dist.P2POp(dist.isend, _X),
    ],
    ids=["reduce", "broadcast", "send", "isend", "send_object_list", "P2POp"],
)
def test_the_other_rank_must_be_given(call: Callable[[], Any]) -> None:
    """As with PyTorch, where rank 0 would be a guess."""
    with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
        call()


@pytest.mark.usefixtures("job")
def test_rank_0_is_the_default_where_pytorch_has_one() -> None:
    """`gather`, `scatter` and objects."""
    parts, one = [torch.zeros(2)], torch.zeros(2)
    dist.gather(_X, parts)
    dist.scatter(one, [_X])
    assert parts[0].tolist() == one.tolist() == [1.0, 1.0]
    objects: list[Any] = [None]
    dist.gather_object("a", objects)
    dist.broadcast_object_list(objects)
    dist.scatter_object_list(objects, objects)
    assert objects == ["a"]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"timeout": 5}, TypeError, "timedelta, got 5"),
        ({"world_size": "2"}, RuntimeError, "`world_size` must be an integer"),
        ({"rank": 0.5}, RuntimeError, "`rank` must be an integer"),
    ],
)
def test_wrong_arguments_of_the_job_are_errors(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    """Before anything is connected."""
    with pytest.raises(kind, match=text):
        dist.init_process_group("gloo", **{"store": dist.HashStore(), "rank": 0, "world_size": 1, **arguments})
    assert not dist.is_initialized()


@pytest.mark.usefixtures("job")
def test_wrong_arguments_of_groups_are_errors() -> None:
    """With PyTorch's texts."""
    with pytest.raises(TypeError, match="timedelta"):
        dist.new_group([0], timeout=5)  # type: ignore[arg-type]
    for size, text in ((0, "must be positive"), (2, "must not exceed the world size")):
        with pytest.raises(ValueError, match=text):
            dist.new_subgroups(size)
    with pytest.raises(ValueError, match="appeared in both"):
        dist.new_subgroups_by_enumeration([[0], [0]])
    with pytest.raises(ValueError, match="cannot be empty"):
        dist.new_subgroups_by_enumeration([])
    with pytest.raises(RuntimeError, match="should have same length"):
        dist.init_device_mesh("cpu", (1,), mesh_dim_names=("a", "b"))
    with pytest.raises(ValueError, match="string-ish"):
        dist.Backend(3)  # type: ignore[arg-type]
    assert dist.Backend("NCCL") == dist.Backend.NCCL and not dist.is_ucc_available() and not dist.is_xccl_available()
    assert dist.get_default_backend_for_device("cuda:0") == "nccl"
    with pytest.raises(ValueError, match="not registered"):
        dist.get_default_backend_for_device("meta")


def test_a_store_takes_no_number_and_can_be_cloned() -> None:
    """A number was stored as so many zero bytes; a clone does not wait for what its origin waits for."""
    with pytest.raises(TypeError, match=r"must be str or bytes, got int; pass str\(value\)"):
        dist.HashStore().set("a", 3)  # type: ignore[arg-type]
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=5))
    nested = dist.PrefixStore("run", dist.TCPStore("127.0.0.1", server.port, timeout=timedelta(seconds=5)))
    nested.set("a", "1")
    other = nested.clone()
    assert other.get("a") == server.get("run/a") == b"1" and other.timeout == nested.timeout
    assert other._native is not nested._native and other.has_extended_api()
