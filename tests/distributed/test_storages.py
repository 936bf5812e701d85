"""Checkpoints by planners and storages of the program's own, in the layout of Hugging Face, and through fsspec."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuprous import torch
from cuprous.torch import safetensors
from cuprous.torch.distributed import checkpoint as dcp
from tests.distributed.jobs import run

_BEGIN = """
import dataclasses, io, json, pickle
from pathlib import Path
from cuprous.torch.distributed.tensor import *
import cuprous.torch.distributed.checkpoint as dcp
from cuprous.torch.distributed.checkpoint.metadata import MetadataIndex
from cuprous.torch.distributed.checkpoint.planner import *
from cuprous.torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
folder = Path(os.environ["TEST_FOLDER"])
mesh = dist.init_device_mesh("cpu", (n,))
x = torch.from_numpy(np.random.default_rng(0).normal(size=(7, 3)).astype("float32"))
def sharded(t, placed=Shard(0)):
    return distribute_tensor(t, mesh, [placed])
def state(fill=None):
    t = x if fill is None else torch.full_like(x, fill)
    return {"model": {"w": sharded(t.clone()), "b": t[0].clone()}, "step": 5 if fill is None else 0}
def check(got, factor=1):
    assert (got["model"]["w"].full_tensor() == x * factor).all() and (got["model"]["b"] == x[0] * factor).all(), got
    assert got["step"] == 5
"""


def _run(program: str, folder: Path, n: int = 2) -> None:
    run(_BEGIN + textwrap.dedent(program), n, TEST_FOLDER=str(folder))


def test_planners_of_the_program_rename_convert_and_choose(tmp_path: Path) -> None:
    """The patterns of PyTorch's documentation: another state, other data, another division among the ranks, and data of
    each rank beside the tensors."""
    _run(
        """
        @dataclasses.dataclass
        class Note:
            rank: int
            names: tuple

        class Renamed(dcp.DefaultSavePlanner):
            def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
                assert is_coordinator == (rank == 0) and str(folder) in str(storage_meta.checkpoint_id)
                super().set_up_planner({f"old.{k}": v for k, v in state_dict.items()}, storage_meta, is_coordinator)
        class RenamedBack(dcp.DefaultLoadPlanner):
            def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
                self.flat = state_dict
                super().set_up_planner({f"old.{k}": v for k, v in state_dict.items()}, metadata, is_coordinator)
            def load_bytes(self, read_item, value):
                self.flat[read_item.dest_index.fqn.removeprefix("old.")] = torch.load(value, weights_only=False)
        dcp.save(state(), checkpoint_id=folder / "renamed", planner=Renamed())
        got = state(0)
        dcp.load(got, checkpoint_id=folder / "renamed", planner=RenamedBack())
        check(got)

        class Rounded(dcp.DefaultSavePlanner):
            def create_local_plan(self):
                plan = super().create_local_plan()
                for item in plan.items:
                    if item.tensor_data is not None:
                        item.tensor_data.properties.dtype = torch.float16
                return plan
            def resolve_data(self, write_item):
                data = super().resolve_data(write_item)
                return data if write_item.type == WriteItemType.BYTE_IO else data.to(torch.float16)
        class Doubled(dcp.DefaultLoadPlanner):
            def resolve_tensor(self, read_item):
                self.target = super().resolve_tensor(read_item)
                return torch.empty_like(self.target, dtype=torch.float64)
            def commit_tensor(self, read_item, tensor):
                self.target.copy_(tensor * 2)
        contents = dcp.save(state(), checkpoint_id=folder / "rounded", planner=Rounded())
        assert contents.state_dict_metadata["model.w"].properties.dtype == torch.float16
        got = state(0)
        dcp.load(got, checkpoint_id=folder / "rounded", planner=Doubled())
        assert (got["model"]["w"].full_tensor() == x.half().float() * 2).all() and got["step"] == 5

        class Last(dcp.DefaultSavePlanner):
            def create_local_plan(self):
                plan = super().create_local_plan()
                self.note = Note(rank, tuple(item.index.fqn for item in plan.items))
                return dataclasses.replace(plan, planner_data=self.note)
            def create_global_plan(self, all_plans):
                notes = [plan.planner_data for plan in all_plans]
                assert [note.rank for note in notes] == list(range(n)) and notes[1].names[0] == "model.w", notes
                # What all ranks have goes to the last one.
                shards = [[i for i in plan.items if i.type == WriteItemType.SHARD] for plan in all_plans]
                rest = [i for i in all_plans[0].items if i.type != WriteItemType.SHARD]
                plans = [SavePlan(items, planner_data={"model.w": ("model", "w")}) for items in shards]
                plans[-1] = SavePlan(shards[-1] + rest, planner_data={})
                plans, contents = super().create_global_plan(plans)
                contents.planner_data = {"from": [note.rank for note in notes]}
                return plans, contents
            def finish_plan(self, new_plan):
                assert len(new_plan.items) == (3 if rank == n - 1 else 1)
                return super().finish_plan(new_plan)
        contents = dcp.save(state(), checkpoint_id=folder / "last", planner=Last())
        assert {info.file for index, info in contents.storage_data.items() if index.fqn == "model.b"} == {
            next(p.name for p in (folder / "last").glob(f"rank{n - 1}-*"))}
        assert dcp.FileSystemReader(folder / "last").read_metadata().planner_data == {"from": [0, 1]}
        got = state(0)
        dcp.load(got, checkpoint_id=folder / "last")
        check(got)

        # Bytes of the program's own are kept as they are.
        class Raw(dcp.DefaultSavePlanner):
            def transform_object(self, write_item, object):
                if write_item.type == WriteItemType.BYTE_IO:
                    return io.BytesIO(b"five:" + str(object).encode())
                return super().transform_object(write_item, object)
        class RawBack(dcp.DefaultLoadPlanner):
            def load_bytes(self, read_item, value):
                self.original_state_dict[read_item.dest_index.fqn] = int(value.read().removeprefix(b"five:"))
        dcp.async_save(state(), checkpoint_id=folder / "raw", planner=Raw()).result()
        got = state(0)
        dcp.load(got, checkpoint_id=folder / "raw", planner=RawBack())
        check(got)

        def fails(text, planner, which):
            try:
                dcp.save(state(), checkpoint_id=folder / "wrong", planner=planner)
            except dcp.CheckpointException as error:
                assert text in str(error) and set(error.failures) == which, error
            else:
                raise AssertionError("no error: " + text)
        class Lost(dcp.DefaultSavePlanner):
            def create_global_plan(self, all_plans):
                return super().create_global_plan([SavePlan([], planner_data={}), *all_plans[1:]])
        class Twice(dcp.DefaultSavePlanner):
            def create_global_plan(self, all_plans):
                plans, contents = super().create_global_plan(all_plans)
                return plans * 2, contents
        class Foreign(dcp.DefaultSavePlanner):
            def create_local_plan(self):
                return dataclasses.replace(super().create_local_plan(), planner_data=object())
        class Wrong(dcp.DefaultSavePlanner):
            def resolve_data(self, write_item):
                return 7 if rank == 1 else super().resolve_data(write_item)
        fails("no rank writes 12 elements of 'model.w'", Lost(), {0})
        fails("there are 4 plans for 2 ranks", Twice(), {0})
        fails("a plan contains an object of <class 'object'>", Foreign(), {0, 1})
        fails("must return a tensor, but it returned int", Wrong(), {1})
        dist.barrier()
        assert not list((folder / "wrong").iterdir())
        """,
        tmp_path,
    )


def test_storages_of_the_program_get_plans_and_results_of_all_ranks(tmp_path: Path) -> None:
    """A storage that keeps pickles in one file for each item, as a store of keys would."""
    _run(
        """
        from concurrent.futures import Future as Done
        @dataclasses.dataclass(frozen=True)
        class Place:
            path: str
            rank: int

        class KeyWriter(StorageWriter):
            def __init__(self, path=None):
                self.calls, self.path = [], path
            def reset(self, checkpoint_id=None):
                self.path = checkpoint_id or self.path
            def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
                assert kwargs["rank"] == rank and kwargs["use_collectives"] is True
                self.calls.append("set_up")
            def prepare_local_plan(self, plan):
                self.calls.append("local")
                return dataclasses.replace(plan, storage_data=Place("", rank))
            def prepare_global_plan(self, plans):
                assert [p.storage_data.rank for p in plans] == list(range(n))
                self.calls.append("global")
                return [dataclasses.replace(p, storage_data=Place(str(self.path), p.storage_data.rank)) for p in plans]
            def write_data(self, plan, planner):
                self.calls.append("write")
                assert plan.storage_data == Place(str(self.path), rank)
                Path(self.path).mkdir(exist_ok=True, parents=True)
                results = []
                for item in plan.items:
                    data = planner.resolve_data(item)
                    raw = data.getvalue() if item.type == WriteItemType.BYTE_IO else pickle.dumps(data.numpy())
                    place = Place(f"{self.path}/{item.index.fqn}.{rank}", rank)
                    Path(place.path).write_bytes(raw)
                    results.append(WriteResult(item.index, len(raw), place))
                done = Done()
                done.set_result(results)
                return done
            def finish(self, metadata, results):
                self.calls.append("finish")
                metadata.storage_data = {r.index: r.storage_data for each in results for r in each}
                Path(self.path, "contents").write_bytes(pickle.dumps(metadata))
            @classmethod
            def validate_checkpoint_id(cls, checkpoint_id):
                return True

        class KeyReader(StorageReader):
            def __init__(self, path):
                self.path = path
            def reset(self, checkpoint_id=None):
                self.path = checkpoint_id or self.path
            def read_metadata(self):
                return pickle.loads(Path(self.path, "contents").read_bytes())
            def set_up_storage_reader(self, metadata, is_coordinator):
                self.at = metadata.storage_data
            def prepare_local_plan(self, plan):
                return dataclasses.replace(plan, storage_data=[rank])
            def prepare_global_plan(self, plans):
                assert [p.storage_data for p in plans] == [[r] for r in range(n)]
                return plans
            def read_data(self, plan, planner):
                for item in plan.items:
                    raw = Path(self.at[item.storage_index].path).read_bytes()
                    if item.type == LoadItemType.BYTE_IO:
                        planner.load_bytes(item, io.BytesIO(raw))
                        continue
                    part = torch.from_numpy(pickle.loads(raw))
                    for dim, (at, size) in enumerate(zip(item.storage_offsets, item.lengths)):
                        part = part.narrow(dim, at, size)
                    planner.resolve_tensor(item).copy_(part)
                done = torch.futures.Future()
                done.set_result(None)
                return done
            @classmethod
            def validate_checkpoint_id(cls, checkpoint_id):
                return True

        writer = KeyWriter()
        contents = dcp.save(state(), checkpoint_id=folder / "own", storage_writer=writer)
        assert writer.calls == ["set_up", "local", *(["global"] if rank == 0 else []), "write",
                                *(["finish"] if rank == 0 else [])], writer.calls
        assert contents.storage_data[MetadataIndex("model.w", (4, 0))].rank == 1
        got = state(0)
        got["model"]["w"] = sharded(torch.zeros_like(x), Shard(1))
        dcp.load(got, checkpoint_id=folder / "own", storage_reader=KeyReader("nowhere"))
        check(got)
        saved = state()
        later = dcp.async_save(saved, storage_writer=KeyWriter(folder / "later"))
        saved["model"]["b"].zero_()
        later.result()
        dcp.load(got := state(0), storage_reader=KeyReader(folder / "later"))
        check(got)

        from cuprous.torch.distributed.checkpoint.staging import DefaultStager
        from cuprous.torch.distributed.checkpoint.state_dict_saver import AsyncSaveResponse
        both = dcp.async_save(state(), checkpoint_id=folder / "staged", async_stager=DefaultStager())
        assert isinstance(both, AsyncSaveResponse) and both.staging_completion.result() is None
        both.upload_completion.result()
        dcp.load(got := state(0), checkpoint_id=folder / "staged")
        check(got)

        class Broken(KeyWriter):
            def write_data(self, plan, planner):
                if rank == 1:
                    raise OSError("no space left")
                return super().write_data(plan, planner)
        for save in (dcp.save, lambda *a, **k: dcp.async_save(*a, **k).result()):
            try:
                save(state(), storage_writer=Broken(folder / "broken"))
            except dcp.CheckpointException as error:
                assert "no space left" in str(error) and set(error.failures) == {1}
            else:
                raise AssertionError("no error")
        assert not Path(folder, "broken", "contents").exists()
        """,
        tmp_path,
    )


def test_files_of_hugging_face_are_written_and_read(tmp_path: Path) -> None:
    """Whole tensors by one rank in several files, parts by all, whole tensors from parts; loaded by any layout."""
    _run(
        """
        def flat(fill=None, placed=Shard(0)):
            t = x if fill is None else torch.full_like(x, fill)
            return {"w": sharded(t.clone(), placed), "b": t[0].bfloat16(), "s": t[0, 0].clone()}
        def check(got):
            assert (got["w"].full_tensor() == x).all() and (got["b"] == x[0].bfloat16()).all() and got["s"] == x[0, 0]
        Writer, Reader = dcp.HuggingFaceStorageWriter, dcp.HuggingFaceStorageReader
        whole = {name: t.full_tensor() if isinstance(t, DTensor) else t for name, t in flat().items()}
        dcp.save(whole, storage_writer=Writer(folder / "whole", {"w": 1, "b": 2, "s": 2}))
        dcp.save(flat(), storage_writer=Writer(folder / "parts", save_distributed=True))
        dcp.save(flat(), storage_writer=Writer(folder / "made", save_distributed=True, enable_consolidation=True))
        for name in ("whole", "parts", "made"):
            for placed in (Shard(0), Shard(1), Replicate()):
                got = flat(0, placed)
                dcp.load(got, storage_reader=Reader(folder / name))
                check(got)
        for state, writer, text in (
            ({"n": 3}, Writer(folder / "no"), "'n' is not a tensor"),
            (flat(), Writer(folder / "no"), "pass save_distributed=True"),
            ({"a": x}, Writer(folder / "no", {"b": 1}), "fqn_to_index_mapping has no 'a'"),
        ):
            try:
                dcp.save(state, storage_writer=writer)
            except dcp.CheckpointException as error:
                assert text in str(error), error
            else:
                raise AssertionError("no error: " + text)
        """,
        tmp_path,
    )
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = json.loads((tmp_path / "whole" / "model.safetensors.index.json").read_text())
    assert index == {
        "metadata": {"total_size": 7 * 3 * 4 + 3 * 2 + 4},
        "weight_map": {"w": names[0], "b": names[1], "s": names[1]},
    }
    made = safetensors.load_file(tmp_path / "made" / "model-00001-of-00001.safetensors")
    assert {name: list(t.dims) for name, t in made.items()} == {"w": [7, 3], "b": [3], "s": []}
    parts = tmp_path / "parts"
    assert sorted(path.name for path in parts.iterdir()) == [
        f"shard-0000{rank}-model-00001-of-00001.safetensors" for rank in (1, 2)
    ]
    (parts / "shard-00002-model-00001-of-00001.safetensors").unlink()
    with pytest.raises(dcp.CheckpointException, match=r"Missing key|Size mismatch|only parts"):
        dcp.load({"w": torch.zeros(7, 3)}, storage_reader=dcp.HuggingFaceStorageReader(parts))


_PYTORCH = """
import sys
import torch
import torch.distributed.checkpoint as dcp
ours, theirs = sys.argv[1:]
state = {"w": torch.zeros(7, 3), "b": torch.zeros(3, dtype=torch.bfloat16)}
dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(ours))
assert state["w"].tolist() == [[3.0 * i + j for j in range(3)] for i in range(7)], state
assert state["b"].tolist() == [0, 1, 2]
dcp.save({"w": state["w"] * 2, "b": state["b"]}, storage_writer=dcp.HuggingFaceStorageWriter(theirs, {"w": 2, "b": 1}))
dcp.save({"w": state["w"] * 3}, storage_writer=dcp.HuggingFaceStorageWriter(theirs + "-parts", save_distributed=True))
"""


@pytest.mark.skipif("CUPROUS_PEER_TORCH" not in os.environ, reason="needs a Python with PyTorch: CUPROUS_PEER_TORCH=…")
def test_pytorch_reads_and_writes_the_same_files_of_hugging_face(tmp_path: Path) -> None:
    """Both directions, whole and in parts."""
    x = torch.arange(21, dtype=torch.float32).reshape(7, 3)
    writer = dcp.HuggingFaceStorageWriter(tmp_path / "ours", save_distributed=True)
    dcp.save({"w": x, "b": x[0].bfloat16()}, storage_writer=writer)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    peer = os.environ["CUPROUS_PEER_TORCH"]
    if subprocess.run([peer, "-c", "import safetensors"], capture_output=True, env=environment).returncode:
        pytest.skip("the Python with PyTorch has no safetensors")
    paths = [str(tmp_path / name) for name in ("ours", "theirs")]
    subprocess.run([peer, "-c", _PYTORCH, *paths], check=True, env=environment)
    got: dict[str, Any] = {"w": torch.zeros(7, 3), "b": torch.zeros(3)}
    dcp.load(got, storage_reader=dcp.HuggingFaceStorageReader(tmp_path / "theirs"))
    assert got["b"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(got["w"].numpy(), 2 * x.numpy())
    dcp.load({"w": got["w"]}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path / "theirs-parts"))
    np.testing.assert_array_equal(got["w"].numpy(), 3 * x.numpy())


def test_checkpoints_go_through_fsspec(tmp_path: Path) -> None:
    """By address, and with the writer: an earlier checkpoint is replaced, and only what is needed is read."""
    fsspec = pytest.importorskip("fsspec")
    from cuprous.torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter

    state: dict[str, Any] = {"a": torch.arange(5.0), "big": torch.ones(1000, 100), "n": {"k": [1, "x"]}}
    for address in ("memory://job/step", f"file://{tmp_path}/step"):
        dcp.save(state, checkpoint_id=address)
        dcp.save({**state, "a": state["a"] * 2}, storage_writer=FsspecWriter(address))
        system, folder = fsspec.core.url_to_fs(address)
        assert len(system.ls(folder)) == 2, system.ls(folder)
        got: dict[str, Any] = {"a": torch.zeros(5), "n": {"k": None}}
        dcp.load(got, checkpoint_id=address)
        assert got["a"].tolist() == [0, 2, 4, 6, 8] and got["n"]["k"] == [1, "x"]
        dcp.load(got, storage_reader=FsspecReader(address))
        with pytest.raises(dcp.CheckpointException, match="already exists"):
            dcp.save(state, storage_writer=FsspecWriter(address, overwrite=False))
        with pytest.raises(dcp.CheckpointException, match=r"has no metadata\.json"):
            dcp.load(got, checkpoint_id=f"{address}-absent")
    later: Any = dcp.async_save(state, checkpoint_id="memory://job/later")
    later.result()
    dcp.load(got, checkpoint_id="memory://job/later")
    assert got["a"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="Protocol not known"):
        dcp.save(state, checkpoint_id="nothing-like-this://x")


def test_what_is_no_storage_or_lacks_methods_is_named(tmp_path: Path) -> None:
    """Before anything is sent or written."""
    with pytest.raises(TypeError, match="is not a StorageWriter"):
        dcp.save({}, storage_writer=dcp.FileSystemReader(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is not a StorageReader"):
        dcp.load({}, storage_reader=dcp.FileSystemWriter(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`checkpoint_id` must be specified"):
        dcp.save({})
    with pytest.raises(TypeError, match="abstract method"):

        class Half(dcp.SavePlanner):
            """A planner without methods."""

        Half()  # type: ignore[abstract]
    with pytest.raises(dcp.CheckpointException, match="flatten_state_dict=True"):
        nested = {"a": {"b": torch.ones(1)}}
        dcp.save(nested, checkpoint_id=tmp_path, planner=dcp.DefaultSavePlanner(flatten_state_dict=False))
    planner = dcp.DefaultSavePlanner(flatten_state_dict=False)
    dcp.save({"a": torch.ones(1), "n": {"k": 1}}, checkpoint_id=tmp_path, planner=planner)
    got: dict[str, Any] = {"a": torch.zeros(1), "n": None}
    dcp.load(got, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(flatten_state_dict=False))
    assert got["a"].item() == 1 and got["n"] == {"k": 1}
