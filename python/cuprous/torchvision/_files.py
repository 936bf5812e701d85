"""Files of data sets: their names, checksums and archives. Nothing is downloaded."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path
from typing import Any

from cuprous._unsupported import unsupported_function


def calculate_md5(fpath: str | Path, chunk_size: int = 1024 * 1024) -> str:
    """Returns the MD5 checksum of a file.

    Parameters
    ----------
    fpath : str or path-like
        The file.
    chunk_size : int, optional
        The bytes that are read at once.
    """
    found = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            found.update(chunk)
    return found.hexdigest()


def check_md5(fpath: str | Path, md5: str, **kwargs: Any) -> bool:
    """Returns true if a file has a checksum.

    Parameters
    ----------
    fpath : str or path-like
        The file.
    md5 : str
        The checksum.
    **kwargs : any
        Arguments of `calculate_md5`.
    """
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Returns true if a file exists, and has a checksum.

    Parameters
    ----------
    fpath : str or path-like
        The file.
    md5 : str, optional
        The checksum; None for any.
    """
    return Path(fpath).is_file() and (md5 is None or check_md5(fpath, md5))


def list_dir(root: str | Path, prefix: bool = False) -> list[str]:
    """Returns the folders in a folder.

    Parameters
    ----------
    root : str or path-like
        The folder.
    prefix : bool, default False
        Whether their paths begin with it.
    """
    return [str(p if prefix else p.name) for p in Path(root).expanduser().iterdir() if p.is_dir()]


def list_files(root: str | Path, suffix: Any, prefix: bool = False) -> list[str]:
    """Returns the files in a folder whose names end in some way.

    Parameters
    ----------
    root : str or path-like
        The folder.
    suffix : str or tuple of str
        The end of names, or a tuple of such.
    prefix : bool, default False
        Whether their paths begin with the folder.
    """
    files = (p for p in Path(root).expanduser().iterdir() if p.is_file() and p.name.endswith(suffix))
    return [str(p if prefix else p.name) for p in files]


def extract_archive(from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False) -> Any:
    """Unpacks an archive, or one file that is compressed by gzip. Returns the folder, or the file.

    Parameters
    ----------
    from_path : str or path-like
        The archive.
    to_path : str or path-like, optional
        The folder; by default that of the archive.
    remove_finished : bool, default False
        Whether the archive is deleted afterwards.

    Raises
    ------
    RuntimeError
        For files of other kinds.
    """
    source = Path(from_path)
    folder = source.parent if to_path is None else Path(to_path)
    if source.suffix == ".gz" and not source.name.endswith(".tar.gz"):
        target = source.with_suffix("") if to_path is None else folder
        with gzip.open(source) as packed, open(target, "wb") as file:
            shutil.copyfileobj(packed, file)
        folder = target
    else:
        try:
            options: dict[str, Any] = {} if source.suffix == ".zip" else {"filter": "data"}
            shutil.unpack_archive(source, folder, **options)
        except (shutil.ReadError, ValueError) as error:
            raise RuntimeError(f"{source} is not an archive of a known kind") from error
    if remove_finished:
        source.unlink()
    return folder


def iterable_to_str(iterable: Any) -> str:
    """Returns words in quotes, separated by commas."""
    return "'" + "', '".join(str(item) for item in iterable) + "'"


def verify_str_arg(value: Any, arg: str | None = None, valid_values: Any = None,
                   custom_msg: str | None = None) -> Any:  # fmt: skip
    """Returns an argument.

    Parameters
    ----------
    value : number
        The argument.
    arg : str, optional
        Its name.
    valid_values : Tensor, optional
        The values that it may have.
    custom_msg : str, optional
        The message of the error.

    Raises
    ------
    ValueError
        If it is not a string, or has another value.
    """
    named = "" if arg is None else f" for argument {arg}"
    if not isinstance(value, str):
        raise ValueError(f"Expected type str{named}, but got type {type(value)}.")
    if valid_values is not None and value not in valid_values:
        shown = custom_msg or f"Unknown value '{value}'{named}. Valid values are {{{iterable_to_str(valid_values)}}}."
        raise ValueError(shown)
    return value


for _name in ("download_url", "download_and_extract_archive", "download_file_from_google_drive"):
    globals()[_name] = unsupported_function(
        _name, "nothing is downloaded; place the files in the folder", "torchvision.datasets.utils."
    )

__all__ = [
    "calculate_md5", "check_integrity", "check_md5", "extract_archive", "iterable_to_str", "list_dir", "list_files",
    "verify_str_arg",
]  # fmt: skip
