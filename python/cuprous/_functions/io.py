"""Reading and writing files in NumPy's formats and as text. Data passes through host memory."""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert
from cuprous._common.dtypes import name_of, numpy_dtype
from cuprous._functions.zip import entry_size


def _host(a: Any) -> Any:
    return _core.to_numpy(a) if isinstance(a, ndarray) else a


@contextmanager
def _load_errors() -> Iterator[None]:
    """Converts the errors that NumPy raises for damaged files to ValueError."""
    import tokenize
    import zlib

    try:
        yield
    except (tokenize.TokenError, zlib.error, OverflowError, struct.error) as error:
        raise ValueError(f"[load] the file is damaged: {error}") from error


def _check(stream: Any, size: int, max_header_size: int) -> None:
    """Raises ValueError if the header of an `.npy` stream of `size` bytes declares more elements than follow it. NumPy
    would allocate them first."""
    from numpy.lib import format as npy

    # Version 3 differs from version 2 only in the encoding of field names.
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0, (3, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream) if size >= npy.MAGIC_LEN else None
    if version not in read:
        return
    shape, _, dtype = read[version](stream, max_header_size)
    count, left = math.prod(shape), size - stream.tell()
    if not dtype.hasobject and (count * dtype.itemsize > left or any(n < 0 for n in shape)):
        raise ValueError(f"[load] the header declares an array of shape {shape} and dtype {dtype}, but {left} bytes "
                         "follow it: the file is damaged")  # fmt: skip


def _check_file(file: Any, max_header_size: int) -> None:
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            _check_file(opened, max_header_size)
        return
    if not (hasattr(file, "seek") and hasattr(file, "tell")):
        return
    start = file.tell()
    if file.read(6) == b"\x93NUMPY":
        end = file.seek(0, io.SEEK_END)
        file.seek(start)
        # A file may hold several arrays. This one starts at the current position.
        _check(_OffsetFile(file, start), (file.tell() if end is None else end) - start, max_header_size)
    file.seek(start)


class _OffsetFile:
    """A file whose positions are relative to `start`."""

    def __init__(self, file: Any, start: int) -> None:
        self._file, self._start = file, start
        self.read = file.read

    def tell(self) -> int:
        """Returns the position relative to `start`."""
        return int(self._file.tell()) - self._start


class NpzFile:
    """The arrays of an `.npz` file. Each is copied to the device on access. Close the file, or use `with`."""

    def __init__(self, npz: Any) -> None:
        self.npz_file = npz
        self.files: list[str] = npz.files

    def __getitem__(self, key: str) -> ndarray:
        archive = self.npz_file.zip
        name = key if key in archive.NameToInfo else f"{key}.npy"
        with _load_errors():
            if name in archive.NameToInfo:
                size = entry_size(archive, name)
                with archive.open(name) as stream:
                    _check(stream, size, self.npz_file.max_header_size)
            return convert(self.npz_file[key])

    def __contains__(self, key: str) -> bool:
        return key in self.files

    def __iter__(self) -> Any:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def keys(self) -> list[str]:
        """Returns the names of the arrays."""
        return self.files

    def close(self) -> None:
        """Closes the file."""
        self.npz_file.close()

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def load(
    file: Any, mmap_mode: Any = None, allow_pickle: bool = False, fix_imports: bool = True, encoding: Any = "ASCII", *,
    max_header_size: int = 10000,
) -> Any:  # fmt: skip
    """Returns the array of an `.npy` file, or a mapping of the arrays of an `.npz` file.

    With `mmap_mode` the file is memory-mapped while it is copied to the device. Writes to the array do not change the
    file.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, or a file opened for reading bytes.
    mmap_mode : str, optional
        None, or a mode such as "r" to map the file.
    allow_pickle : bool, default False
        Whether to load pickled objects, which can run any code.
    fix_imports : bool, default True
        As for `numpy.load`; only for pickled objects.
    encoding : str, default "ASCII"
        As for `numpy.load`; only for pickled objects.
    max_header_size : int, default 10000
        The greatest size of a header that is parsed.

    Returns
    -------
    ndarray
        An array, or an `NpzFile`.

    Raises
    ------
    OSError
        If the file does not exist or cannot be read.
    ValueError
        For pickled objects, unless `allow_pickle` is true.

    See Also
    --------
    save, savez, savez_compressed, loadtxt

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.save(file, cp.arange(3))
    >>> _ = file.seek(0)
    >>> cp.load(file)
    array([0, 1, 2])
    """
    import numpy as np

    with _load_errors():
        _check_file(file, max_header_size)
        loaded: Any = np.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        return NpzFile(loaded)
    return convert(_with_bfloat16(loaded)) if isinstance(loaded, np.ndarray) else loaded


def _with_bfloat16(host: Any) -> Any:
    """Converts the raw two-byte elements that `.npy` files have for ml_dtypes' bfloat16 back to bfloat16."""
    if host.dtype.kind == "V" and host.dtype.itemsize == 2 and host.dtype.names is None:
        import ml_dtypes

        return host.view(ml_dtypes.bfloat16)
    return host


def save(file: Any, arr: Any, allow_pickle: bool = False) -> None:
    r"""Writes an array to an `.npy` file.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, to which ".npy" is added if needed, or a file opened for writing bytes.
    arr : array_like
        An array or array-like.
    allow_pickle : bool, default False
        As for `numpy.save`; arrays hold no objects.

    See Also
    --------
    savez, savetxt, load

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.save(file, cp.arange(3))
    >>> file.getvalue()[:6]
    b'\x93NUMPY'
    """
    import numpy as np

    np.save(file, _host(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Writes several arrays to an `.npz` file, uncompressed.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, to which ".npz" is added if needed, or a file opened for writing bytes.
    *args : array_like
        Arrays, which are named "arr_0", "arr_1" and so on.
    **kwds : array_like
        Arrays by name.

    See Also
    --------
    save, savetxt, savez_compressed

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.savez(file, x=cp.arange(3))
    >>> _ = file.seek(0)
    >>> cp.load(file)["x"]
    array([0, 1, 2])
    """
    import numpy as np

    np.savez(file, *map(_host, args), **{k: _host(v) for k, v in kwds.items()})


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Writes several arrays to an `.npz` file, compressed.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, to which ".npz" is added if needed, or a file opened for writing bytes.
    *args : array_like
        Arrays, which are named "arr_0", "arr_1" and so on.
    **kwds : array_like
        Arrays by name.

    See Also
    --------
    save, savetxt, savez, load

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> cp.savez_compressed(file, x=cp.arange(3))
    >>> _ = file.seek(0)
    >>> cp.load(file)["x"]
    array([0, 1, 2])
    """
    import numpy as np

    np.savez_compressed(file, *map(_host, args), **{k: _host(v) for k, v in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Writes an array to a text file, with NumPy's `savetxt`.

    Parameters
    ----------
    fname : str, path-like or file
        The name of a file, or an open file.
    X : array_like
        A 1-d or 2-d array.
    *args : any
        Further arguments of NumPy's function.
    **kwargs : any
        Keyword arguments of NumPy's function.

    See Also
    --------
    save, savez, savez_compressed

    Examples
    --------
    >>> import sys
    >>> cp.savetxt(sys.stdout, cp.asarray([[1, 2], [3, 4]]), fmt="%d")
    1 2
    3 4
    """
    import numpy as np

    np.savetxt(fname, _host(X), *args, **kwargs)


def loadtxt(*args: Any, **kwargs: Any) -> ndarray:
    r"""Returns an array from a text file, with NumPy's `loadtxt`.

    Parameters
    ----------
    *args : any
        The file, and further arguments of NumPy's function.
    **kwargs : any
        Keyword arguments of NumPy's function.

    Returns
    -------
    ndarray
        An array of the numbers in the text.

    Raises
    ------
    ValueError
        For text that is not a number, or rows with different numbers of columns.

    See Also
    --------
    load, fromstring, genfromtxt

    Examples
    --------
    >>> import io
    >>> cp.loadtxt(io.StringIO("1 2\n3 4"))
    array([[1., 2.],
           [3., 4.]])
    """
    import numpy as np

    return convert(np.loadtxt(*args, **kwargs))


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    r"""Returns an array from a text file with missing values, with NumPy's `genfromtxt`.

    Parameters
    ----------
    *args : any
        The file, and further arguments of NumPy's function.
    **kwargs : any
        Keyword arguments of NumPy's function.

    Returns
    -------
    ndarray
        An array of the numbers in the text.

    Raises
    ------
    ValueError
        If the rows have different numbers of columns.

    See Also
    --------
    loadtxt

    Examples
    --------
    >>> import io
    >>> cp.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",")
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    import numpy as np

    return convert(np.genfromtxt(*args, **kwargs))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0) -> ndarray:
    """Returns a 1-d array from a file of raw elements or separated numbers.

    Parameters
    ----------
    file : str, path-like or file
        The name of a file, or an open file.
    dtype : dtype, optional
        The dtype of the elements, float64 by default.
    count : int, default -1
        The number of elements to read; -1 reads all.
    sep : str, default ""
        The separator of a text file; an empty one (the default) means raw elements.
    offset : int, default 0
        The number of bytes to skip in a file of raw elements.

    Returns
    -------
    ndarray
        A 1-d array.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.

    See Also
    --------
    load, fromstring

    Examples
    --------
    >>> import os, tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> cp.arange(3).tofile(name)
    >>> cp.fromfile(name, dtype=int)
    array([0, 1, 2])
    """
    import numpy as np

    return convert(np.fromfile(file, numpy_dtype(name_of(dtype)), count, sep, offset=offset))


__all__ = ["fromfile", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"]
