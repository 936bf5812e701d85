"""Checkpoints in directories: a safetensors file for each rank that wrote something, and an index in JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from cuprous._core import Tensor
from cuprous.torch import _creation, safetensors
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _objects
from cuprous.torch.distributed._options import unsupported
from cuprous.torch.distributed.checkpoint import _index, planner_helpers
from cuprous.torch.distributed.checkpoint._file_system import FileSystem, FileSystemBase
from cuprous.torch.distributed.checkpoint._index import DATA, INDEX, OF_RANK, StorageInfo
from cuprous.torch.distributed.checkpoint.default_planner import PlainBytes
from cuprous.torch.distributed.checkpoint.metadata import Metadata, StorageMeta
from cuprous.torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from cuprous.torch.distributed.checkpoint.staging import BlockingAsyncStager
from cuprous.torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from cuprous.torch.futures import Future


@dataclasses.dataclass(frozen=True)
class _File:
    """The name of the file that a rank writes."""

    name: str


class FileSystemWriter(BlockingAsyncStager, StorageWriter):
    """Writes checkpoints to a directory.

    The files get their names when they are complete, and the index is written last. Files of earlier checkpoints of the
    directory are removed then.

    Parameters
    ----------
    path : str or path-like
        The directory.
    single_file_per_rank : bool, default True
        True: each rank writes one file.
    sync_files : bool, default True
        Waits until the files are on the disk before they get their names.
    thread_count : int, default 1
        Has no effect: one thread writes the file of a rank.
    per_thread_copy_ahead : int, default 10000000
        Has no effect, because tensors in host memory are written as they are.
    cache_staged_state_dict : bool, default False
        False.
    overwrite : bool, default True
        Replaces a checkpoint that is there.
    _extensions : object, optional
        None.
    serialization_format : str, optional
        None: safetensors, in any case.

    Raises
    ------
    NotImplementedError
        For another value of an argument that must be as given.

    See Also
    --------
    torch.distributed.checkpoint.FileSystemReader, torch.distributed.checkpoint.StorageWriter

    Examples
    --------
    >>> import tempfile
    >>> from cuprous.torch.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> x = {"w": torch.ones(2)}
    >>> _ = checkpoint.save(x, storage_writer=checkpoint.FileSystemWriter(folder))
    """

    #: The directory's file system.
    fs: FileSystemBase
    path: Any

    def __init__(self, path: Any, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
                 per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False,
                 overwrite: bool = True, _extensions: Any = None,
                 serialization_format: Any = None) -> None:  # fmt: skip
        unsupported("FileSystemWriter", single_file_per_rank=not single_file_per_rank, _extensions=_extensions,
                    cache_staged_state_dict=cache_staged_state_dict,
                    serialization_format=serialization_format)  # fmt: skip
        super().__init__()
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.sync_files, self.overwrite = sync_files, overwrite
        self.save_id = secrets.token_hex(8)
        self._own: list[Any] = []
        #: This rank's number if each rank saves for itself.
        self._rank: int | None = None

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id is not None:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = secrets.token_hex(8)
        self._own = []

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begins a checkpoint.

        Parameters
        ----------
        is_coordinator : bool
            Whether this is the rank that plans for all.
        *args : any
            Nothing.
        **kwargs : any
            `use_collectives=False` and `rank` if each rank saves for itself.
        """
        self._rank = None if kwargs.get("use_collectives", True) else kwargs["rank"]

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self.fs.concat_path(self.path, INDEX)):
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}: {self.path}")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        first = self._rank or 0
        files = [_File(f"rank{first + k}-{self.save_id}.safetensors") for k in range(len(plans))]
        return [dataclasses.replace(plan, storage_data=file) for plan, file in zip(plans, files, strict=True)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        if not isinstance(plan.storage_data, _File):
            raise TypeError(f"the plan's storage_data is {plan.storage_data!r}, not what prepare_global_plan returned")
        file = plan.storage_data.name
        tensors: dict[str, Tensor] = {}
        results = []
        for item in plan.items:
            data = planner.resolve_data(item)
            if isinstance(data, PlainBytes):
                info, size = StorageInfo(None, "", data.packed), len(data.getbuffer())
            else:
                key = _key(item, tensors)
                tensors[key] = as_tensor(item, data)
                info, size = StorageInfo(file, key), tensors[key].numel() * tensors[key].element_size()
            results.append(WriteResult(item.index, size, info))
        if tensors:
            self.write_tensors(file, tensors)
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def write_tensors(self, name: str, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
        """Writes a file, which gets its name when it is complete.

        Parameters
        ----------
        name : str
            The name.
        tensors : dict of str to Tensor
            The tensors by name, of which some may share memory.
        metadata : dict of str to str, optional
            What the file says of itself.
        """
        path = self.fs.concat_path(self.path, name)
        with no_grad():
            pieces = safetensors._pieces(_separate(tensors), metadata, are_separate=True)
            self._own.append(path)
            self._durably(path, "wb", pieces)

    def write_text(self, name: str, text: str) -> None:
        """Writes a file of text, which gets its name when it is complete.

        Parameters
        ----------
        name : str
            The name.
        text : str
            The text.
        """
        self._durably(self.fs.concat_path(self.path, name), "w", iter([text]))

    def _durably(self, path: Any, mode: str, pieces: Iterator[Any]) -> None:
        temporary = type(path)(f"{path}.tmp")
        try:
            with self.fs.create_stream(temporary, mode) as stream:
                stream.writelines(pieces)
                if self.sync_files:
                    stream.flush()
                    with contextlib.suppress(AttributeError, io.UnsupportedOperation):
                        os.fsync(stream.fileno())
            self.fs.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                self.fs.rm_file(temporary)
            raise
        if self.sync_files and isinstance(path, Path):
            _sync(path.parent)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {result.index: result.storage_data for each in results for result in each}
        metadata.storage_meta = self.storage_meta()
        if self._rank is not None:
            self._own.append(self.fs.concat_path(self.path, self.index_of_rank))
            self.write_text(self.index_of_rank, _index.to_text(metadata))
            return
        self.write_text(INDEX, _index.to_text(metadata))
        self._own = []
        self._remove_others({info.file for info in metadata.storage_data.values()})

    @property
    def index_of_rank(self) -> str:
        """The name of this rank's index if each rank saves for itself."""
        return f"rank{self._rank}-{self.save_id}.json"

    def join_ranks(self, names: list[str]) -> None:
        """Writes the index of a checkpoint that the ranks have written each for itself, on one rank.

        Parameters
        ----------
        names : list of str
            The names of their indexes.
        """
        self.write_text(INDEX, _index.of_ranks(names))
        self._remove_others({*names, *(f"{name.removesuffix('.json')}.safetensors" for name in names)})

    def _remove_others(self, used: set[str | None]) -> None:
        """Removes the files of earlier checkpoints, and of those that were never finished."""
        for path in self.fs.ls(self.path):
            name = path.replace("\\", "/").rpartition("/")[2]
            own = name.removesuffix(".tmp")
            if (DATA.fullmatch(own) or OF_RANK.fullmatch(own)) and name not in used:
                with contextlib.suppress(OSError):
                    self.fs.rm_file(path)

    def undo(self) -> None:
        """Removes what this rank has written of a checkpoint that is not finished."""
        for path in self._own:
            with contextlib.suppress(OSError):
                self.fs.rm_file(path)
        self._own = []

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=str(self.checkpoint_id), save_id=self.save_id)

    @property
    def checkpoint_id(self) -> Any:
        """The directory."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def _key(item: WriteItem, used: dict[str, Tensor]) -> str:
    name = item.index.fqn
    return name if name not in used else f"{name}@{','.join(map(str, item.index.offset or ()))}"


def as_tensor(item: WriteItem, data: Any) -> Tensor:
    """Returns what a planner gives for an item as a tensor.

    Raises
    ------
    TypeError
        For something else than a tensor or a stream of bytes.
    """
    if isinstance(data, Tensor):
        return data.detach()
    if item.type == WriteItemType.BYTE_IO and isinstance(data, io.BytesIO):
        return _creation.from_numpy(np.frombuffer(data.getvalue(), np.uint8).copy())
    kind = "io.BytesIO" if item.type == WriteItemType.BYTE_IO else "a tensor"
    raise TypeError(f"resolve_data of {item.index.fqn!r} must return {kind}, but it returned {type(data).__name__}")


def _separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns tensors of which no two share memory, as a file needs."""
    done: dict[str, Tensor] = {}
    for name, t in tensors.items():
        done[name] = t.clone() if any(t.shares_storage(other) for other in done.values()) else t
    return done


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class FileSystemReader(StorageReader):
    """Reads checkpoints of a directory.

    Parameters
    ----------
    path : str or path-like
        The directory.
    _extension_registry : object, optional
        None.

    Raises
    ------
    NotImplementedError
        For a registry of extensions.

    See Also
    --------
    torch.distributed.checkpoint.FileSystemWriter, torch.distributed.checkpoint.StorageReader

    Examples
    --------
    >>> import tempfile
    >>> from cuprous.torch.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> x = {"w": torch.ones(2)}
    >>> _ = checkpoint.save(x, checkpoint_id=folder)
    >>> y = {"w": torch.zeros(2)}
    >>> checkpoint.load(y, storage_reader=checkpoint.FileSystemReader(folder))
    >>> y
    {'w': tensor([1., 1.])}
    """

    #: The directory's file system.
    fs: FileSystemBase
    path: Any

    def __init__(self, path: Any, _extension_registry: Any = None) -> None:
        unsupported("FileSystemReader", _extension_registry=_extension_registry)
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[Any, Any] = {}
        #: By rank, if each saved for itself: where it has what.
        self._of_ranks: list[dict[Any, Any]] = []
        self.load_id = secrets.token_hex(8)

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id is not None:
            self.path = self.fs.init_path(checkpoint_id)
        self.storage_data = {}
        self.load_id = secrets.token_hex(8)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        path = self.fs.concat_path(self.path, INDEX)
        if not self.fs.exists(path):
            raise FileNotFoundError(
                f"{self.path} has no {INDEX}: it is not a checkpoint, or one that was never finished"
            )
        text = self._text(path)
        names, self._of_ranks = _index.ranks_of(text), []
        if names is None:
            contents = _index.from_text(text)
        else:
            all_ = [_index.from_text(self._text(self.fs.concat_path(self.path, name))) for name in names]
            self._of_ranks = [each.storage_data for each in all_]
            contents = _index.merged(all_)
        contents.storage_meta = StorageMeta(checkpoint_id=str(self.path), load_id=self.load_id)
        return contents

    def _text(self, path: Any) -> str:
        with self.fs.create_stream(path, "rb") as stream:
            return str(stream.read().decode())

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        rank = kwargs.get("rank", 0)
        # What several ranks have saved, each has for itself.
        own = self._of_ranks[rank] if rank < len(self._of_ranks) else {}
        self.storage_data = metadata.storage_data | own
        self._parts = {
            (name, chunk.offsets): list(chunk.sizes)
            for name, entry in metadata.state_dict_metadata.items()
            for chunk in getattr(entry, "chunks", ())
        }

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        files: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            for item in plan.items:
                if item.storage_index not in self.storage_data:
                    raise KeyError(f"the checkpoint has no {item.storage_index}")
                info = self.storage_data[item.storage_index]
                if info.file is None:
                    planner.load_bytes(item, PlainBytes(_objects._unpack(info.packed, [], False)))
                    continue
                if info.file not in files:
                    files[info.file] = stack.enter_context(self.open_tensors(info.file))
                found = files[info.file].get_tensor(info.key)
                if item.type == LoadItemType.BYTE_IO:
                    planner.load_bytes(item, io.BytesIO(found.numpy().tobytes()))
                else:
                    expected = self._parts.get((item.storage_index.fqn, item.storage_index.offset))
                    if list(found.dims) != expected:
                        shapes = f"shape {list(found.dims)}, not {expected}"
                        raise ValueError(f"{info.file} has a part of {item.storage_index.fqn} of {shapes}")
                    copy_part(found, item, planner)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def open_tensors(self, name: str) -> AbstractContextManager[Any]:
        """Opens a file, as `safetensors.safe_open`.

        Parameters
        ----------
        name : str
            Its name.
        """
        return safetensors.safe_open(self.fs.concat_path(self.path, name))

    @property
    def checkpoint_id(self) -> Any:
        """The directory."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


def copy_part(found: Tensor, item: ReadItem, planner: LoadPlanner) -> None:
    """Copies what an item says from a part that is stored to where the planner wants it.

    Raises
    ------
    ValueError
        If the planner gives a tensor of another shape.
    """
    part = planner_helpers.narrow(found, item.storage_offsets, item.lengths)
    target = planner.resolve_tensor(item).detach()
    if list(target.dims) != list(part.dims):
        shapes = f"{list(target.dims)}, not {list(part.dims)}"
        raise ValueError(f"resolve_tensor of {item.dest_index.fqn!r} returned a tensor of shape {shapes}")
    target.copy_(part)
    planner.commit_tensor(item, target)


__all__ = ["FileSystem", "FileSystemBase", "FileSystemReader", "FileSystemWriter"]
