"""Checks of the declared sizes in untrusted zip files before memory is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zipfile

#: The largest expansion factor of deflate.
_DEFLATE = 1032


def entry_size(archive: zipfile.ZipFile, name: str) -> int:
    """Returns the number of bytes of an entry that is stored or deflated.

    Raises
    ------
    ValueError
        If the file is too small to hold it, or it is compressed by another method.
    """
    import zipfile

    entry = archive.getinfo(name)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is neither stored nor deflated")
    most = entry.compress_size * (1 if entry.compress_type == zipfile.ZIP_STORED else _DEFLATE)
    if entry.compress_size > archive.start_dir or entry.file_size > most:
        raise ValueError(f"{name} declares {entry.file_size} bytes, which the file cannot hold")
    return entry.file_size
