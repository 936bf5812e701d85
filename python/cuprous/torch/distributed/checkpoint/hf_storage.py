"""Checkpoints in the layout of Hugging Face's models: safetensors files, and `model.safetensors.index.json`."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, safetensors
from cuprous.torch._types import DTYPES, Size
from cuprous.torch.distributed.checkpoint import planner_helpers
from cuprous.torch.distributed.checkpoint._index import StorageInfo
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, as_tensor
from cuprous.torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from cuprous.torch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItem, WriteItemType
from cuprous.torch.distributed.checkpoint.storage import WriteResult
from cuprous.torch.futures import Future

_INDEX = "model.safetensors.index.json"
_SHARDED = "sharded"
#: The key of a file's metadata under which PyTorch writes where the parts of tensors begin.
_OFFSETS = "DCP_SHARDING_INFO"


@dataclasses.dataclass(frozen=True)
class _Files:
    """In which file a rank writes each tensor, and its number among the ranks if each writes its own parts."""

    of: dict[str, int] | None
    shard: int | None

    def name(self, at: int) -> str:
        """Returns the name of a file."""
        count = max(self.of.values()) if self.of else 1
        prefix = "" if self.shard is None else f"shard-{self.shard:05}-"
        return f"{prefix}model-{at:05}-of-{count:05}.safetensors"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors as Hugging Face's models are stored, for `from_pretrained` and other readers of safetensors.

    Parameters
    ----------
    path : str or path-like
        The directory.
    fqn_to_index_mapping : dict of str to int, optional
        By name, in which of the files a tensor is, from 1; by default, all are in one.
    thread_count : int, default 1
        Has no effect.
    save_distributed : bool, default False
        Each rank writes its parts of DTensors. Otherwise the state has whole tensors.
    enable_consolidation : bool, default False
        With `save_distributed`, whole tensors are then written from the parts, which go to the folder `sharded`.
    thread_count_consolidation : int, default 1
        Has no effect.

    See Also
    --------
    torch.distributed.checkpoint.HuggingFaceStorageReader, torch.distributed.checkpoint.FileSystemWriter

    Examples
    --------
    >>> writer = dcp.HuggingFaceStorageWriter("model", save_distributed=True,
    ...                                       enable_consolidation=True)  # doctest: +SKIP
    >>> dcp.save(model.state_dict(), storage_writer=writer)  # doctest: +SKIP
    """

    def __init__(self, path: Any, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1,
                 save_distributed: bool = False, enable_consolidation: bool = False,
                 thread_count_consolidation: int = 1) -> None:  # fmt: skip
        super().__init__(path, thread_count=thread_count)
        if enable_consolidation and not save_distributed:
            raise ValueError("enable_consolidation=True needs save_distributed=True")
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed, self.enable_consolidation = save_distributed, enable_consolidation
        self.consolidated_output_path: Any = None
        self._consolidate_at(path)

    def _consolidate_at(self, path: Any) -> None:
        self.path = self.fs.init_path(path)
        if self.enable_consolidation:
            self.consolidated_output_path, self.path = self.path, self.fs.concat_path(self.path, _SHARDED)

    def reset(self, checkpoint_id: Any = None) -> None:
        super().reset()
        if checkpoint_id is not None:
            self._consolidate_at(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        super().set_up_storage_writer(is_coordinator, *args, **kwargs)
        if self._rank is not None:
            raise NotImplementedError(
                "[HuggingFaceStorageWriter] use_collectives=False: the index is that of all ranks"
            )

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.fs.mkdir(self.path)
        for item in plan.items:
            self._check(item)
        return plan

    def _check(self, item: WriteItem) -> None:
        name = item.index.fqn
        if item.tensor_data is None:
            raise ValueError(f"{name!r} is not a tensor, but files of Hugging Face have tensors alone")
        if item.type == WriteItemType.SHARD and not self.save_distributed:
            raise ValueError(f"{name!r} is a part of a tensor; pass save_distributed=True, or a state of whole tensors")
        if self.fqn_to_index_mapping is not None and name not in self.fqn_to_index_mapping:
            raise KeyError(f"fqn_to_index_mapping has no {name!r}")

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        def files(rank: int) -> _Files:
            return _Files(self.fqn_to_index_mapping, rank + 1 if self.save_distributed else None)

        return [dataclasses.replace(plan, storage_data=files(rank)) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        files = plan.storage_data
        by_file: dict[str, list[WriteItem]] = {}
        for item in plan.items:
            name = files.name(1 if files.of is None else files.of[item.index.fqn])
            by_file.setdefault(name, []).append(item)
        results = []
        for name, items in by_file.items():
            tensors = {item.index.fqn: as_tensor(item, planner.resolve_data(item)) for item in items}
            if len(tensors) < len(items):
                raise ValueError("a rank has several parts of a tensor, which the format cannot have in one file")
            offsets = {item.index.fqn: {"saved_offsets": list(item.index.offset or ())} for item in items}
            self.write_tensors(name, tensors, _described(offsets))
            for item in items:
                t = tensors[item.index.fqn]
                size = t.numel() * t.element_size()
                results.append(WriteResult(item.index, size, StorageInfo(name, item.index.fqn)))
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        done = [result for each in results for result in each]
        metadata.storage_data = {result.index: result.storage_data for result in done}
        self._own = []
        if self.enable_consolidation:
            self._consolidate(metadata)
        elif not self.save_distributed:
            sizes = sum(result.size_in_bytes for result in done)
            self._write_index({result.index.fqn: result.storage_data.file for result in done}, sizes)

    def _write_index(self, files: dict[str, str], total: int) -> None:
        text = json.dumps({"metadata": {"total_size": total}, "weight_map": files}, indent=2)
        self.write_text(_INDEX, text)

    def _consolidate(self, metadata: Metadata) -> None:
        """Writes whole tensors from the parts of all ranks, file by file."""
        parts = self.path
        files = _Files(self.fqn_to_index_mapping, None)
        by_file: dict[str, list[str]] = {}
        for fqn in metadata.state_dict_metadata:
            by_file.setdefault(files.name(1 if files.of is None else files.of[fqn]), []).append(fqn)
        total, self.path = 0, self.consolidated_output_path
        try:
            for name, fqns in by_file.items():
                tensors = {fqn: self._whole(parts, metadata, fqn) for fqn in fqns}
                total += sum(t.numel() * t.element_size() for t in tensors.values())
                self.write_tensors(name, tensors, {"format": "pt"})
            self._own = []
            self._write_index({fqn: name for name, fqns in by_file.items() for fqn in fqns}, total)
        finally:
            self.path = parts

    def _whole(self, folder: Any, metadata: Metadata, fqn: str) -> Tensor:
        entry = metadata.state_dict_metadata[fqn]
        assert isinstance(entry, TensorStorageMetadata)
        whole: Tensor | None = None
        for chunk in entry.chunks:
            info = metadata.storage_data[MetadataIndex(fqn, chunk.offsets)]
            with safetensors.safe_open(self.fs.concat_path(folder, info.file)) as file:
                part = file.get_tensor(fqn)
            if whole is None:
                whole = _creation.empty(list(entry.size), dtype=part.dtype, device="cpu")
            planner_helpers.narrow(whole, chunk.offsets, chunk.sizes).copy_(part)
        assert whole is not None
        return whole


def _described(offsets: dict[str, Any]) -> dict[str, str]:
    return {_OFFSETS: json.dumps(offsets), "DCP_VERSION": "1.0", "format": "pt"}


class HuggingFaceStorageReader(FileSystemReader):
    """Reads tensors of all safetensors files of a directory: models of Hugging Face, and what
    `HuggingFaceStorageWriter` has written.

    Parameters
    ----------
    path : str or path-like
        The directory.
    thread_count : int, default 1
        Has no effect.

    See Also
    --------
    torch.distributed.checkpoint.HuggingFaceStorageWriter, torch.distributed.checkpoint.FileSystemReader

    Examples
    --------
    >>> state = model.state_dict()  # doctest: +SKIP
    >>> dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader("model"))  # doctest: +SKIP
    """

    def __init__(self, path: Any, thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        contents = Metadata({}, storage_data={})
        names = sorted(path.rpartition("/")[2] for path in self.fs.ls(self.path))
        names = [name for name in names if name.endswith(".safetensors")]
        if not names:
            raise FileNotFoundError(f"{self.path} has no safetensors files")
        for name in names:
            with self.open_tensors(name) as file:
                described = (file.metadata() or {}).get(_OFFSETS)
                offsets = json.loads(described) if described else {}
                for key in file.keys():  # noqa: SIM118 - no dictionary
                    shape, dtype = file.described(key)
                    at = offsets[key]["saved_offsets"] if key in offsets else [0] * len(shape)
                    self._add(contents, name, key, shape, dtype, at)
        for key, entry in contents.state_dict_metadata.items():
            assert isinstance(entry, TensorStorageMetadata)
            ends = [[at + n for at, n in zip(c.offsets, c.sizes, strict=True)] for c in entry.chunks]
            entry.size = Size(max(column) for column in zip(*ends, strict=True))
            if math.prod(entry.size) > sum(math.prod(chunk.sizes) for chunk in entry.chunks):
                raise ValueError(f"the files of {self.path} have only parts of {key}")
        contents.storage_meta = StorageMeta(checkpoint_id=str(self.path), load_id=self.load_id)
        return contents

    def _add(self, contents: Metadata, name: str, key: str, shape: list[int], dtype: str, at: Any) -> None:
        if not isinstance(at, list) or len(at) != len(shape) or any(type(n) is not int or n < 0 for n in at):
            raise ValueError(f"{name} says that its part of {key} begins at {at!r}")
        new = TensorStorageMetadata(TensorProperties(DTYPES[dtype]), Size(), [])
        entry = contents.state_dict_metadata.setdefault(key, new)
        assert isinstance(entry, TensorStorageMetadata)
        index = MetadataIndex(key, at)
        if index in contents.storage_data:
            raise ValueError(f"{key} is in {contents.storage_data[index].file} and in {name}")
        entry.chunks.append(ChunkStorageMetadata(Size(at), Size(shape)))
        contents.storage_data[index] = StorageInfo(name, key)


__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
