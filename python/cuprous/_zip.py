"""Zip files from strangers: what a file says of its sizes, checked before memory is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zipfile

#: Most bytes that deflate makes of one.
_DEFLATE = 1032


def entry_size(archive: zipfile.ZipFile, name: str) -> int:
    """The number of bytes of an entry that is stored or deflated.

    Raises:
        ValueError: if the file is too small for it, or it is compressed by another method.
    """
    import zipfile

    entry = archive.getinfo(name)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is neither stored nor deflated")
    most = entry.compress_size * (1 if entry.compress_type == zipfile.ZIP_STORED else _DEFLATE)
    if entry.compress_size > archive.start_dir or entry.file_size > most:
        raise ValueError(f"{name} is said to have {entry.file_size} bytes, which the file cannot hold")
    return entry.file_size
