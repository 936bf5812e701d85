"""Files: NumPy's formats, and text. Data passes through the host."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._args import ndarray
from cuprous._convert import convert


def _host(a: Any) -> Any:
    return _core.to_numpy(a) if isinstance(a, ndarray) else a


def _to_device(a: Any) -> ndarray:
    return convert(a)


class NpzFile:
    """The arrays of an `.npz` file, copied to the device as they are asked for. Close it, or use `with`."""

    def __init__(self, npz: Any) -> None:
        self.npz_file = npz
        self.files: list[str] = npz.files

    def __getitem__(self, key: str) -> ndarray:
        return _to_device(self.npz_file[key])

    def __contains__(self, key: str) -> bool:
        return key in self.files

    def __iter__(self) -> Any:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def keys(self) -> list[str]:
        """Names of the arrays."""
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
    """An array from an `.npy` file, or an `NpzFile`. Pickled objects are refused unless allowed.

    `mmap_mode` is how the file is read on its way to the device; writes to the array do not reach the file.
    """
    import numpy as np

    loaded: Any = np.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    if isinstance(loaded, np.lib.npyio.NpzFile):
        return NpzFile(loaded)
    return _to_device(_with_bfloat16(loaded)) if isinstance(loaded, np.ndarray) else loaded


def _with_bfloat16(host: Any) -> Any:
    """`.npy` files keep ml_dtypes' bfloat16 as two anonymous bytes."""
    if host.dtype.kind == "V" and host.dtype.itemsize == 2 and host.dtype.names is None:
        import ml_dtypes

        return host.view(ml_dtypes.bfloat16)
    return host


def save(file: Any, arr: Any, allow_pickle: bool = False) -> None:
    """Writes an array to an `.npy` file."""
    import numpy as np

    np.save(file, _host(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Writes several arrays to an `.npz` file, uncompressed."""
    import numpy as np

    np.savez(file, *map(_host, args), **{k: _host(v) for k, v in kwds.items()})


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Writes several arrays to an `.npz` file, compressed."""
    import numpy as np

    np.savez_compressed(file, *map(_host, args), **{k: _host(v) for k, v in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Writes an array to a text file, with NumPy's `savetxt`."""
    import numpy as np

    np.savetxt(fname, _host(X), *args, **kwargs)


def loadtxt(*args: Any, **kwargs: Any) -> ndarray:
    """An array from a text file, with NumPy's `loadtxt`."""
    import numpy as np

    return _to_device(np.loadtxt(*args, **kwargs))


def genfromtxt(*args: Any, **kwargs: Any) -> ndarray:
    """An array from a text file with missing values, with NumPy's `genfromtxt`."""
    import numpy as np

    return _to_device(np.genfromtxt(*args, **kwargs))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0) -> ndarray:
    """A 1-d array from a file of raw elements or separated numbers."""
    import numpy as np

    from cuprous._dtypes import name_of, numpy_dtype

    return _to_device(np.fromfile(file, numpy_dtype(name_of(dtype)), count, sep, offset=offset))


__all__ = ["fromfile", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed"]
