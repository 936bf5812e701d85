"""Checkpoints on file systems of fsspec, such as `s3://`, `gs://` and `memory://`."""

from __future__ import annotations

import importlib
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cuprous._core import Tensor
from cuprous.torch import safetensors
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemBase, FileSystemReader, FileSystemWriter


class FileSystem(FileSystemBase):
    """A file system of fsspec, which is that of the path."""

    def __init__(self) -> None:
        self.fs: Any = None

    @contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[IO[Any]]:
        with self.fs.open(os.fspath(path), mode, **({} if "b" in mode else {"encoding": "utf-8"})) as stream:
            try:
                yield stream
            except BaseException:
                if "r" not in mode:
                    with suppress(Exception):
                        self.rm_file(path)
                raise

    def concat_path(self, path: Any, suffix: str) -> str:
        return posixpath.join(os.fspath(path), suffix)

    def rename(self, path: Any, new_path: Any) -> None:
        self.fs.mv(path, new_path)

    def init_path(self, path: Any, **options: Any) -> str:
        """Returns a path, whose file system is used from now on.

        Parameters
        ----------
        path : str
            The address of a directory.
        **options : any
            Of its file system.
        """
        self.fs, _ = _fsspec().core.url_to_fs(os.fspath(path), **options)
        return os.fspath(path)

    def mkdir(self, path: Any) -> None:
        self.fs.makedirs(path, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        if isinstance(checkpoint_id, Path):
            return False
        with suppress(ValueError, ImportError):
            _fsspec().core.url_to_fs(checkpoint_id)
            return True
        return False

    def exists(self, path: Any) -> bool:
        return bool(self.fs.exists(path))

    def rm_file(self, path: Any) -> None:
        self.fs.rm(path)

    def ls(self, path: Any) -> list[str]:
        return list(self.fs.ls(path, detail=False))


def _fsspec() -> Any:
    """Returns fsspec, which few programs need.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return importlib.import_module("fsspec")
    except ImportError as error:
        raise ImportError("this storage needs fsspec: pip install fsspec") from error


class FsspecWriter(FileSystemWriter):
    """Writes checkpoints to a directory of a file system of fsspec.

    Parameters
    ----------
    path : str or path-like
        Its address, such as "s3://bucket/step100".
    single_file_per_rank : bool, default True
        True, as for `FileSystemWriter`.
    sync_files : bool, default True
        Waits until files are on the disk, where the file system has one.
    thread_count : int, default 1
        Has no effect.
    per_thread_copy_ahead : int, default 10000000
        Has no effect.
    overwrite : bool, default True
        Replaces a checkpoint that is there.
    _extensions : object, optional
        None.
    serialization_format : str, optional
        None.
    **kwargs : any
        Options of the file system.

    Raises
    ------
    ImportError
        Without fsspec.
    """

    def __init__(self, path: Any, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
                 per_thread_copy_ahead: int = 10_000_000, overwrite: bool = True, _extensions: Any = None,
                 serialization_format: Any = None, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(path, single_file_per_rank, sync_files, thread_count, per_thread_copy_ahead,
                         overwrite=overwrite, _extensions=_extensions,
                         serialization_format=serialization_format)  # fmt: skip
        own = FileSystem()
        self.fs, self.path = own, own.init_path(path, **kwargs)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FsspecReader(FileSystemReader):
    """Reads checkpoints of a directory of a file system of fsspec. Of each file only the tensors that a rank needs are
    read.

    Parameters
    ----------
    path : str or path-like
        Its address, such as "s3://bucket/step100".
    **kwargs : any
        Options of the file system.

    Raises
    ------
    ImportError
        Without fsspec.
    """

    def __init__(self, path: Any, **kwargs: Any) -> None:
        super().__init__(path)
        own = FileSystem()
        self.fs, self.path = own, own.init_path(path, **kwargs)

    @contextmanager
    def open_tensors(self, name: str) -> Iterator[Any]:
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as stream:
            yield _Tensors(stream)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class _Tensors:
    """The tensors of a safetensors file that is read through a stream."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        total = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        begin = stream.read(8)
        head = begin + stream.read(min(int.from_bytes(begin, "little"), total))
        self._entries, self._start = safetensors._header(memoryview(head), total)

    def get_tensor(self, name: str) -> Tensor:
        """Returns a tensor.

        Parameters
        ----------
        name : str
            Its name.
        """
        if name not in self._entries:
            raise safetensors.SafetensorError(f"File does not contain tensor {name}")
        entry = self._entries[name]
        begin, end = entry["data_offsets"]
        self._stream.seek(self._start + begin)
        data = self._stream.read(end - begin)
        return safetensors._tensor(memoryview(data), entry | {"data_offsets": [0, len(data)]}, "cpu")


__all__ = ["FsspecReader", "FsspecWriter"]
