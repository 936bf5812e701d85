"""Where checkpoints are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cuprous.torch.distributed._options import unsupported as _refuse


class FileSystemWriter:
    """Writes checkpoints to a directory.

    Args:
        path: the directory.
        single_file_per_rank: True: each rank writes one file.
        sync_files: waits until the files are on the disk before they get their names.
        thread_count: has no effect: one thread writes the file of a rank.
        per_thread_copy_ahead: has no effect, because tensors in host memory are written as they are.
        cache_staged_state_dict: False.
        overwrite: replaces a checkpoint that is there.
    """

    def __init__(self, path: Any, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
                 per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False,
                 overwrite: bool = True) -> None:  # fmt: skip
        unsupported("FileSystemWriter", single_file_per_rank=not single_file_per_rank,
                    cache_staged_state_dict=cache_staged_state_dict)  # fmt: skip
        self.path = Path(path)
        self.sync_files, self.overwrite = sync_files, overwrite

    def at(self, path: Path) -> FileSystemWriter:
        """Returns a writer of the same settings to a directory."""
        return FileSystemWriter(path, sync_files=self.sync_files, overwrite=self.overwrite)


class FileSystemReader:
    """Reads checkpoints of a directory."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)


def directory(checkpoint_id: Any, storage: FileSystemWriter | FileSystemReader | None) -> Path:
    """Returns the directory of a checkpoint.

    Raises:
        ValueError: if none is given.
    """
    if checkpoint_id is not None:
        return Path(os.fspath(checkpoint_id))
    if storage is None:
        raise ValueError("`checkpoint_id` must be specified if no storage is given: the directory of the checkpoint")
    return storage.path


def unsupported(function: str, **options: Any) -> None:
    """Raises for options that are given but not supported."""
    _refuse(function, **options)


__all__ = ["FileSystemReader", "FileSystemWriter"]
