"""File systems: what writers and readers of files need of one, and that of the operating system."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any


class FileSystemBase(ABC):
    """What a writer and a reader of files need of a file system."""

    @abstractmethod
    def create_stream(self, path: Any, mode: str) -> AbstractContextManager[IO[Any]]:
        """Opens a file.

        Parameters
        ----------
        path : str or path-like
            Its path.
        mode : str
            As for `open`.
        """
        ...

    @abstractmethod
    def concat_path(self, path: Any, suffix: str) -> Any:
        """Returns the path of a file of a directory.

        Parameters
        ----------
        path : str or path-like
            The directory.
        suffix : str
            The name of the file.
        """
        ...

    @abstractmethod
    def rename(self, path: Any, new_path: Any) -> None:
        """Gives a file another name, in place of a file that has it.

        Parameters
        ----------
        path : str, path-like or file
            The file.
        new_path : str or path-like
            Its new path.
        """
        ...

    @abstractmethod
    def init_path(self, path: Any) -> Any:
        """Returns a path as the other methods take it.

        Parameters
        ----------
        path : str or path-like
            The directory of a checkpoint.
        """
        ...

    @abstractmethod
    def mkdir(self, path: Any) -> None:
        """Makes a directory unless it exists.

        Parameters
        ----------
        path : str or path-like
            The directory.
        """
        ...

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Returns True for a path of this file system.

        Parameters
        ----------
        checkpoint_id : str
            The path.
        """
        ...

    @abstractmethod
    def exists(self, path: Any) -> bool:
        """Returns True if there is a file.

        Parameters
        ----------
        path : str or path-like
            Its path.
        """
        ...

    @abstractmethod
    def rm_file(self, path: Any) -> None:
        """Removes a file.

        Parameters
        ----------
        path : str or path-like
            Its path.
        """
        ...

    @abstractmethod
    def ls(self, path: Any) -> list[str]:
        """Returns the paths of a directory's files.

        Parameters
        ----------
        path : str or path-like
            The directory.
        """
        ...


class FileSystem(FileSystemBase):
    """The file system of the operating system."""

    @contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[IO[Any]]:
        with Path(path).open(mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream

    def concat_path(self, path: Any, suffix: str) -> Path:
        return Path(path) / suffix

    def rename(self, path: Any, new_path: Any) -> None:
        os.replace(path, new_path)

    def init_path(self, path: Any) -> Path:
        return Path(os.fspath(path))

    def mkdir(self, path: Any) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return isinstance(checkpoint_id, Path) or "://" not in str(checkpoint_id)

    def exists(self, path: Any) -> bool:
        return Path(path).exists()

    def rm_file(self, path: Any) -> None:
        Path(path).unlink()

    def ls(self, path: Any) -> list[str]:
        return [str(each) for each in Path(path).iterdir()]


__all__ = ["FileSystem", "FileSystemBase"]
