"""Checkpoints: saved by some ranks, loaded by others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.distributed.jobs import begin, finish, run

_BEGIN = """
import copy
from pathlib import Path
from cuprous.torch import nn, optim
from cuprous.torch.distributed.fsdp import *
from cuprous.torch.distributed.tensor import *
import cuprous.torch.distributed.checkpoint as dcp
from cuprous.torch.distributed.checkpoint.state_dict import *
folder = Path(os.environ["TEST_FOLDER"])
mesh = dist.init_device_mesh("cpu", (n,))

def values(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("float32"))

def net(shards=True):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 5))
    return fully_shard(model) if shards else model

def step(model, opt, seed):
    opt.zero_grad()
    model(values(9, 6, seed=seed)).square().mean().backward()
    opt.step()

def whole(t):
    return t.full_tensor() if isinstance(t, DTensor) else t
"""


def _run(program: str, folder: Path, n: int) -> None:
    run(_BEGIN + program.replace("\n    ", "\n"), n, TEST_FOLDER=str(folder))


_SAVE = """
    x = values(5, 6)
    grid = dist.init_device_mesh("cpu", (2, 2))
    state = {"rows": distribute_tensor(x, mesh, [Shard(0)]), "columns": distribute_tensor(x, mesh, [Shard(1)]),
             "grid": distribute_tensor(x, grid, [Replicate(), Shard(0)]),
             "both": distribute_tensor(x, grid, [Shard(1), Shard(0)]),
             "plain": x.clone(), "half": x.bfloat16(), "scalar": torch.tensor(3), "empty": torch.zeros(0, 3),
             "nested": {"list": [torch.ones(2), {"n": 7}], "text": "abc", "pair": (1, 2.5), "none": None,
                        "nothing": {}}}
    index = dcp.save(state, checkpoint_id=folder)
    assert sorted(p.name for p in folder.iterdir() if p.suffix == ".json") == ["metadata.json"]
    assert len(list(folder.glob("*.safetensors"))) == n and not list(folder.glob("*.tmp"))
    model = net()
    opt = optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.3)
    for seed in range(3):
        step(model, opt, seed)
    a, b = get_state_dict(model, opt)
    dcp.save({"model": a, "optim": b}, checkpoint_id=folder / "training")
    step(model, opt, 3)
    after = {name: whole(p) for name, p in model.state_dict().items()}
    if rank == 0:
        torch.save(after, folder / "after.pt")
"""
_LOAD = """
    x = values(5, 6)
    for placed in ([Shard(0)], [Shard(1)], [Replicate()], None):
        make = lambda dtype=torch.float32: torch.zeros(5, 6, dtype=dtype) if placed is None else distribute_tensor(
            torch.zeros(5, 6, dtype=dtype), mesh, placed)
        state = {name: make() for name in ("rows", "columns", "grid", "both", "plain")}
        state |= {"half": make(torch.bfloat16), "scalar": torch.tensor(0), "empty": torch.ones(0, 3),
                  "nested": {"list": [torch.zeros(2), {"n": 0}], "text": "", "pair": (), "none": 1, "nothing": None}}
        rows = state["rows"]
        dcp.load(state, checkpoint_id=folder)
        assert state["rows"] is rows
        for name in ("rows", "columns", "grid", "both", "plain"):
            assert (whole(state[name]) == x).all(), name
        assert (whole(state["half"]) == x.bfloat16()).all() and state["scalar"].item() == 3
        nested = state["nested"]
        assert nested["list"][0].tolist() == [1.0, 1.0] and nested["list"][1] == {"n": 7} and nested["text"] == "abc"
        assert nested["pair"] == (1, 2.5) and nested["none"] is None and nested["nothing"] == {}
    for shards in (True, False):
        model = net(shards)
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(0)
        opt = optim.AdamW(model.parameters(), lr=5e-5)
        a, b = get_state_dict(model, opt)
        dcp.load({"model": a, "optim": b}, checkpoint_id=folder / "training")
        set_state_dict(model, opt, model_state_dict=a, optim_state_dict=b)
        assert opt.param_groups[0]["lr"] == 1e-2 and opt.param_groups[0]["weight_decay"] == 0.3
        step(model, opt, 3)
        after = torch.load(folder / "after.pt")
        for name, p in model.state_dict().items():
            assert (whole(p) - after[name]).abs().max().item() < 1e-6, name
"""


def test_a_checkpoint_of_four_ranks_is_loaded_by_any_number(tmp_path: Path) -> None:
    """Sharded and plain tensors, values, and the state of an optimizer, with which training goes on alike."""
    _run(_SAVE, tmp_path, 4)
    for n in (1, 2, 3):
        _run(_LOAD, tmp_path, n)


@pytest.mark.parametrize("when", ["writing the tensors", "writing the index"])
def test_a_crash_leaves_the_last_checkpoint_whole(tmp_path: Path, when: str) -> None:
    """A rank dies before it has renamed its file, or before the index."""
    program = """
    state = {"x": distribute_tensor(torch.ones(6), mesh, [Shard(0)])}
    dcp.save(state, checkpoint_id=folder)
    state["x"].mul_(2)
    before = os.replace
    def replace(source, target):
        name = Path(target).name
        if rank == 0 and name.startswith("rank" if os.environ["TEST_WHEN"] == "writing the tensors" else "metadata"):
            os._exit(7)
        before(source, target)
    os.replace = replace
    dcp.save(state, checkpoint_id=folder)
    """
    processes, _store, started = begin(
        _BEGIN + program.replace("\n    ", "\n"), 2, TEST_FOLDER=str(tmp_path), TEST_WHEN=when
    )
    ended = finish(processes, started)
    assert ended[0].code == 7 and ended[1].code == 1, ended
    assert len(list(tmp_path.glob("*.safetensors*"))) > 2  # what was left behind
    _run(
        """
    state = {"x": torch.zeros(6)}
    dcp.load(state, checkpoint_id=folder)
    assert state["x"].tolist() == [1.0] * 6
    dcp.save({"x": state["x"] * 3}, checkpoint_id=folder)
    assert len(list(folder.iterdir())) == 2
    """,
        tmp_path,
        1,
    )


def test_saving_in_the_background(tmp_path: Path) -> None:
    """The state may change as soon as `async_save` returns, and collectives go on meanwhile."""
    _run(
        """
    state = {"x": distribute_tensor(values(8, 3), mesh, [Shard(0)]), "y": torch.ones(3)}
    saved = []
    for k in range(3):
        saved.append(dcp.async_save(state, checkpoint_id=folder / str(k)))
        state["x"].mul_(2), state["y"].add_(1)
        for _ in range(20):
            t = torch.ones(1000)
            dist.all_reduce(t)
            assert t[0].item() == n
    assert saved[0].result().state_dict_metadata.keys() == {"x", "y"}
    for k, future in enumerate(saved):
        future.result()
        dcp.load(state, checkpoint_id=folder / str(k))
        assert (state["x"].full_tensor() == values(8, 3) * 2**k).all() and state["y"].tolist() == [1.0 + k] * 3
    (folder / "file").write_text("")
    try:
        dcp.async_save(state, checkpoint_id=folder / "file").result()
    except dcp.CheckpointException as error:
        assert error.failures.keys() == set(range(n))
    else:
        raise AssertionError("no error")
    """,
        tmp_path,
        2,
    )


def test_states_of_whole_tensors(tmp_path: Path) -> None:
    """`full_state_dict` on rank 0, `broadcast_from_rank0`, and the flat form of the optimizer's state."""
    _run(
        """
    model = net()
    opt = optim.AdamW(model.parameters(), lr=1e-2)
    step(model, opt, 0)
    on_rank0 = StateDictOptions(full_state_dict=True, cpu_offload=True)
    a, b = copy.deepcopy(get_state_dict(model, opt, options=on_rank0))  # they share the model's memory
    assert bool(a) == bool(b) == (rank == 0)
    assert rank or not any(isinstance(t, DTensor) for t in a.values())
    flat = copy.deepcopy(get_optimizer_state_dict(
        model, opt, options=StateDictOptions(flatten_optimizer_state_dict=True)))
    assert flat["param_groups.0.weight.lr"] == 1e-2 and isinstance(flat["state.3.bias.exp_avg"], DTensor)
    step(model, opt, 1)
    after = {name: whole(p) for name, p in model.state_dict().items()}
    for sends in (True, False):
        other = net()
        with torch.no_grad():
            for p in other.parameters():
                p.mul_(0)
        own = optim.AdamW(other.parameters(), lr=1.0)
        if sends:
            options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
            found = set_state_dict(other, own, model_state_dict=a, optim_state_dict=b, options=options)
            assert not found.missing_keys and not found.unexpected_keys
        else:
            assert set_model_state_dict(other, first).missing_keys == []
            set_optimizer_state_dict(other, own, flat, options=StateDictOptions(flatten_optimizer_state_dict=True))
        first = {name: whole(p).clone() for name, p in other.state_dict().items()}
        step(other, own, 1)
        for name, p in other.state_dict().items():
            assert (whole(p) - after[name]).abs().max().item() < 1e-6, (sends, name)
        assert own.param_groups[0]["lr"] == 1e-2
    try:
        set_model_state_dict(model, {}, options=StateDictOptions(broadcast_from_rank0=True))
    except ValueError as error:
        assert "full_state_dict must be True" in str(error)
    else:
        raise AssertionError("no error")
    """,
        tmp_path,
        2,
    )


def test_default_planners_and_older_names(tmp_path: Path) -> None:
    """What accelerate, Lightning and torchtitan pass: planners with options, writers, PyTorch's module names."""
    _run(
        """
    from cuprous.torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
    from cuprous.torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
    from cuprous.torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
    import warnings
    state = {"a": torch.ones(300), "b": torch.full((200,), 2.0), "n": 3}
    writer = FileSystemWriter(folder / "least", thread_count=4)
    index = dcp.save(state, storage_writer=writer, planner=DefaultSavePlanner())
    files = {info.file[:5] for info in index.storage_data.values() if info.file}
    assert files == {"rank0", "rank1"}, files
    lowest = DefaultSavePlanner(dedup_save_to_lowest_rank=True)
    index = dcp.save(state, checkpoint_id=folder / "lowest", planner=lowest)
    assert {info.file[:5] for info in index.storage_data.values() if info.file} == {"rank0"}
    dcp.async_save(state, checkpoint_id=folder / "thread", planner=lowest,
                   async_checkpointer_type=AsyncCheckpointerType.THREAD).result()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        dcp.save_state_dict(state, FileSystemWriter(folder / "older"), planner=lowest)
        for name in ("least", "lowest", "thread", "older"):
            got = {"a": torch.zeros(300), "b": torch.zeros(200), "n": 0}
            dcp.load_state_dict(got, FileSystemReader(folder / name), planner=DefaultLoadPlanner())
            assert (got["a"] == 1).all().item() and (got["b"] == 2).all().item() and got["n"] == 3, name
    more = {"a": torch.zeros(300), "new": torch.full((2,), 7.0), "step": 9}
    dcp.load(more, checkpoint_id=folder / "least", planner=DefaultLoadPlanner(allow_partial_load=True))
    assert (more["a"] == 1).all().item() and more["new"].tolist() == [7, 7] and more["step"] == 9
    for wrong in (lambda: DefaultSavePlanner(enable_plan_caching=True),
                  lambda: dcp.async_save(state, checkpoint_id=folder / "no",
                                         async_checkpointer_type=AsyncCheckpointerType.PROCESS)):
        try:
            wrong()
        except NotImplementedError:
            pass
        else:
            raise AssertionError("accepted")
    """,
        tmp_path,
        2,
    )


def test_errors_are_raised_on_all_ranks(tmp_path: Path) -> None:
    """What one rank cannot save or load, and damaged or hostile indices."""
    _run(
        """
    def fails(text, function, ranks=None):
        try:
            function()
        except dcp.CheckpointException as error:
            assert text in str(error), error
            assert ranks is None or set(error.failures) == ranks, error.failures
        else:
            raise AssertionError("no error: " + text)
    x = distribute_tensor(torch.ones(4), mesh, [Shard(0)])
    fails("cannot send an object", lambda: dcp.save({"x": object() if rank == 0 else 1}, checkpoint_id=folder), {0})
    fails("redistribute it first", lambda: dcp.save({"x": x.sum()}, checkpoint_id=folder))
    fails("two entries", lambda: dcp.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=folder))
    fails("has no metadata.json", lambda: dcp.load({"x": x}, checkpoint_id=folder))
    class Saved:
        def state_dict(self): return {"n": 3}
        def load_state_dict(self, state): self.n = state["n"]
    dcp.save({"x": x, "own": Saved()}, checkpoint_id=folder)
    own = Saved()
    dcp.load({"own": own}, checkpoint_id=folder)
    assert own.n == 3
    fails("Missing key in checkpoint state_dict: y", lambda: dcp.load(
        {"x": x} | ({"y": torch.ones(2)} if rank == 1 else {}), checkpoint_id=folder), {1})
    fails("Size mismatch", lambda: dcp.load({"x": torch.ones(5)}, checkpoint_id=folder))
    fails("already exists", lambda: dcp.save({"x": x}, storage_writer=dcp.FileSystemWriter(folder, overwrite=False)))
    dist.barrier()
    """,
        tmp_path,
        2,
    )
    index = json.loads((tmp_path / "metadata.json").read_text())
    part = index["tensors"]["x"]["parts"][0]
    for change, text in (({"file": "../secret.safetensors"}, "not in a file of the checkpoint"),
                         ({"offsets": [3]}, "is not inside of it"), ({"key": "z"}, "does not contain tensor z"),
                         ({"sizes": [1]}, "lacks 1 elements of x")):  # fmt: skip
        index["tensors"]["x"]["parts"][0] = part | change
        (tmp_path / "metadata.json").write_text(json.dumps(index))
        _run(
            f"""
    try:
        dcp.load({{"x": torch.ones(4)}}, checkpoint_id=folder)
    except dcp.CheckpointException as error:
        assert {text!r} in str(error), error
    else:
        raise AssertionError("no error")
    """,
            tmp_path,
            1,
        )
