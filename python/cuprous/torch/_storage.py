"""The memory of tensors, as programs look at it to find tensors that share it."""

from __future__ import annotations

import os
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _types


class UntypedStorage:
    """The memory of a tensor, in bytes. Its contents are read and written through tensors.

    Parameters
    ----------
    tensor : Tensor
        A tensor in the memory.

    See Also
    --------
    torch.TypedStorage, torch.Tensor.untyped_storage

    Examples
    --------
    >>> torch.tensor([1, 2], dtype=torch.int16).untyped_storage().nbytes()
    4
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise NotImplementedError("[UntypedStorage] cannot be created directly; create a tensor")
        self._tensor = tensor

    def _elements(self) -> Tensor:
        """Returns all elements of the memory as a vector."""
        extents = [(n - 1) * s for n, s in zip(self._tensor.dims, self._tensor.stride_tuple(), strict=True)]
        last = self._tensor.storage_offset() + sum(extents)
        return self._tensor.detach().as_strided([last + 1], [1], 0)

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0, *, size: int | None = None) -> FileStorage:
        """Returns the bytes of a file, which are read when they are used.

        Parameters
        ----------
        filename : str or path-like
            The path.
        shared : bool, default False
            For PyTorch's signature; only False.
        nbytes : int, default 0
            The number of bytes.
        size : int, optional
            The number of bytes, in place of `nbytes`.

        Returns
        -------
        FileStorage
            A storage.

        Raises
        ------
        NotImplementedError
            For `shared`, which would write to the file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "bytes"
        >>> _ = path.write_bytes(bytes([1, 2, 3]))
        >>> torch.UntypedStorage.from_file(path, nbytes=3).tolist()
        [1, 2, 3]
        """
        if shared:
            raise NotImplementedError(
                "[from_file] shared=True is not supported; read the file, and write it with torch.save"
            )
        import numpy as np

        length = nbytes if size is None else size
        content = np.memmap(filename, np.uint8, "r") if os.path.getsize(filename) else np.empty(0, np.uint8)
        return FileStorage(content[:length] if length else content)

    @property
    def device(self) -> Any:
        """The device."""
        return self._tensor.device

    @property
    def is_cuda(self) -> bool:
        """True on a GPU."""
        return self._tensor.device_name != "cpu"

    def data_ptr(self) -> int:
        """Returns the address of the first byte.

        Returns
        -------
        int

        Examples
        --------
        >>> x = torch.tensor([1.0])
        >>> x.untyped_storage().data_ptr() == x.data_ptr()
        True
        """
        return self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size()

    def nbytes(self) -> int:
        """Returns the number of bytes up to the tensor's last element.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.ones(3).untyped_storage().nbytes()
        12
        """
        return self._elements().numel() * self._tensor.element_size() if self._tensor.numel() else 0

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Returns 1.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.ones(3).untyped_storage().element_size()
        1
        """
        return 1

    def tolist(self) -> list[int]:
        """Returns the bytes as integers.

        Returns
        -------
        list of ints
            A list of integers in [0, 255].

        Examples
        --------
        >>> torch.tensor([258], dtype=torch.int16).untyped_storage().tolist()
        [2, 1]
        """
        return list(self._elements().numpy().tobytes())

    def untyped(self) -> UntypedStorage:
        """Returns the storage itself.

        Returns
        -------
        UntypedStorage
            A storage.

        Examples
        --------
        >>> storage = torch.ones(3).untyped_storage()
        >>> storage.untyped() is storage
        True
        """
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._tensor.shares_storage(other._tensor)

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def resize_(self, size: int) -> None:
        """Has no effect for the present size.

        Parameters
        ----------
        size : int
            The number of bytes.

        Raises
        ------
        NotImplementedError
            For another size.

        Examples
        --------
        >>> torch.ones(1).untyped_storage().resize_(4)
        """
        if size != self.nbytes():
            raise NotImplementedError("[UntypedStorage] memory is not resized; create another tensor")


class FileStorage(UntypedStorage):
    """The bytes of a file. Parts of it become tensors by `torch.asarray`, which copies them."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def nbytes(self) -> int:
        """Returns the number of bytes."""
        return self.content.size

    size = __len__ = nbytes

    @property
    def device(self) -> Any:
        """The CPU."""
        return _types.device("cpu")

    is_cuda = False

    def tolist(self) -> list[int]:
        """Returns the bytes as integers."""
        return list(self.content.tobytes())

    def __getitem__(self, index: Any) -> Any:
        return FileStorage(self.content[index]) if isinstance(index, slice) else int(self.content[index])


class TypedStorage(UntypedStorage):
    """The memory of a tensor, in elements of its dtype.

    Parameters
    ----------
    tensor : Tensor
        A tensor in the memory.

    See Also
    --------
    torch.UntypedStorage, torch.Tensor.untyped_storage

    Examples
    --------
    >>> torch.ones(3).storage().dtype
    torch.float32
    """

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._tensor.dtype

    def size(self) -> int:
        """Returns the number of elements.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.ones(3).storage().size()
        3
        """
        return self.nbytes() // self._tensor.element_size()

    __len__ = size

    def element_size(self) -> int:
        """Returns the number of bytes of an element.

        Returns
        -------
        int

        Examples
        --------
        >>> torch.ones(3).storage().element_size()
        4
        """
        return self._tensor.element_size()

    def tolist(self) -> list[Any]:
        """Returns the elements.

        Returns
        -------
        list
            A list of numbers.

        Examples
        --------
        >>> torch.tensor([1, 2]).storage().tolist()
        [1, 2]
        """
        found: list[Any] = self._elements().tolist()
        return found

    def __getitem__(self, index: Any) -> Any:
        return self._elements()[index].item() if isinstance(index, int) else self._elements()[index].tolist()

    def untyped(self) -> UntypedStorage:
        """Returns the storage in bytes.

        Returns
        -------
        UntypedStorage
            A storage.

        Examples
        --------
        >>> torch.ones(3).storage().untyped().nbytes()
        12
        """
        return UntypedStorage(self._tensor)


__all__ = ["TypedStorage", "UntypedStorage"]
