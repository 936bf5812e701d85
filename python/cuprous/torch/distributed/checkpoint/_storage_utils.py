"""The storage of a checkpoint that is given by its name alone."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

from cuprous.torch.distributed.checkpoint._fsspec_filesystem import FsspecReader, FsspecWriter
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter

T = TypeVar("T")

_READERS = (FileSystemReader, FsspecReader)
_WRITERS = (FileSystemWriter, FsspecWriter)


def storage_of(checkpoint_id: Any, storage: Any, base: type[Any], reads: bool) -> Any:
    """Returns the storage of a checkpoint, ready for it.

    Parameters
    ----------
    checkpoint_id : str
        The name of the checkpoint, or None.
    storage : UntypedStorage
        The storage that is given, or None.
    base : type
        The class of storages.
    reads : bool
        True for readers.

    Raises
    ------
    ValueError
        If neither is given.
    TypeError
        For what is no storage.
    ImportError
        For an address for which fsspec is needed.
    """
    if storage is not None:
        if not isinstance(storage, base):
            raise TypeError(f"{storage!r} is not a {base.__name__}")
        storage.reset(checkpoint_id)
        return storage
    if checkpoint_id is None:
        raise ValueError("`checkpoint_id` must be specified if no storage is given: the directory of the checkpoint")
    local, remote = _READERS if reads else _WRITERS
    if local.validate_checkpoint_id(os.fspath(checkpoint_id)):
        return local(checkpoint_id)
    if importlib.util.find_spec("fsspec") is None:
        raise ImportError(f"a checkpoint at {checkpoint_id!r} needs fsspec: pip install fsspec")
    return remote(checkpoint_id)


def call(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Calls a method, with further keywords if it accepts any."""
    accepts = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    return function(*arguments, **(more if accepts else {}))


def value_of(future: Any) -> Any:
    """Returns the value of what `write_data` or `read_data` has returned: PyTorch's future or that of `concurrent`."""
    return future.wait() if hasattr(future, "wait") else future.result()


__all__ = ["call", "storage_of", "value_of"]
