"""Checkpoints of what several processes hold together: `torch.distributed.checkpoint`.

A checkpoint is a directory with one safetensors file for each rank that wrote something, and an index in JSON. Any
number of ranks loads it, whatever number has saved it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous.torch import _placeholders
from cuprous.torch.distributed.checkpoint.api import CheckpointException
from cuprous.torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from cuprous.torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from cuprous.torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from cuprous.torch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from cuprous.torch.distributed.checkpoint.state_dict_loader import load, load_state_dict
from cuprous.torch.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from cuprous.torch.distributed.checkpoint.stateful import Stateful
from cuprous.torch.distributed.checkpoint.storage import StorageReader, StorageWriter

if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("distributed.checkpoint", name)


__all__ = ["BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner",
           "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader",
           "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan", "SavePlanner",
           "Stateful", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load",
           "load_state_dict", "save", "save_state_dict"]  # fmt: skip
