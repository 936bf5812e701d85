"""Sequences of different lengths: padded to a rectangular block, or packed step by step without padding."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _indexing, _joining
from cuprous.torch._creation import tensor
from cuprous.torch._types import DTYPES


class PackedSequence(namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))):
    """Sequences sorted by decreasing length, stored step by step: first the first elements of all sequences.

    Parameters
    ----------
    data : Tensor
        All elements, a tensor of shape (elements, ...).
    batch_sizes : Tensor, optional
        The number of sequences that have an element at each step, int64 on the CPU.
    sorted_indices : Tensor, optional
        The order of the sequences; None if they were already sorted.
    unsorted_indices : Tensor, optional
        Its inverse; None if they were already sorted.

    See Also
    --------
    torch.nn.utils.rnn.pack_padded_sequence, torch.nn.utils.rnn.pad_packed_sequence, torch.nn.utils.rnn.pack_sequence,
    torch.nn.utils.rnn.unpack_sequence

    Examples
    --------
    >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """

    __slots__ = ()

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None,
                unsorted_indices: Any = None) -> PackedSequence:  # fmt: skip
        """Creates a packed sequence from its parts."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data: Tensor) -> PackedSequence:
        return type(self)(data, self.batch_sizes, *(
            i if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)))  # fmt: skip

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Casts the data to another dtype, or moves it to another device.

        Parameters
        ----------
        *args : any
            The arguments of `Tensor.to`.
        **kwargs : any
            Its keyword arguments.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).to(torch.float32).data
        tensor([1., 2.])
        """
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with_data(data)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moves the data to a GPU.

        Parameters
        ----------
        *args : any
            The arguments of `Tensor.cuda`.
        **kwargs : any
            Its keyword arguments.

        Returns
        -------
        PackedSequence

        Raises
        ------
        RuntimeError
            On a machine without a GPU.

        Examples
        --------
        >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2])])
        >>> packed = packed.cuda() if torch.cuda.is_available() else packed
        """
        return self._with_data(self.data.cuda(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """Moves the data to host memory.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).cpu().data
        tensor([1, 2])
        """
        return self.to("cpu")

    def float(self) -> PackedSequence:
        """Casts the data to float32.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).float().data
        tensor([1., 2.])
        """
        return self._with_data(self.data.float())

    def double(self) -> PackedSequence:
        """Casts the data to float64.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).double().data.dtype
        torch.float64
        """
        return self._with_data(self.data.double())

    def half(self) -> PackedSequence:
        """Casts the data to float16.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).half().data.dtype
        torch.float16
        """
        return self._with_data(self.data.half())

    def pin_memory(self) -> PackedSequence:
        """Copies the data to page-locked memory.

        Returns
        -------
        PackedSequence

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).pin_memory().data
        tensor([1, 2])
        """
        return self._with_data(self.data.pin_memory())

    def is_pinned(self) -> bool:
        """Returns true if the data is in page-locked memory.

        Returns
        -------
        bool

        Examples
        --------
        >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).is_pinned()
        False
        """
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Returns the inverse permutation.

    Parameters
    ----------
    permutation : Tensor or None
        The permutation, an int64 vector; None is returned as it is.

    Returns
    -------
    Tensor or None
        An int64 vector.

    See Also
    --------
    torch.nn.utils.rnn.pack_padded_sequence, torch.nn.utils.rnn.PackedSequence, torch.argsort

    Examples
    --------
    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def _host(lengths: Any) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.device_name != "cpu":
            raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D "
                               f"{lengths.device} {lengths.dtype_name} tensor")  # fmt: skip
        return [int(n) for n in lengths.tolist()]
    return [int(n) for n in lengths]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded block of sequences.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (T, B, ...), or (B, T, ...) with `batch_first`.
    lengths : Tensor or sequence of ints
        The length of each sequence.
    batch_first : bool, default False
        Whether the batch is the first dimension; the steps are otherwise.
    enforce_sorted : bool, default True
        Whether lengths have to decrease; sequences are sorted otherwise.

    Returns
    -------
    PackedSequence

    Raises
    ------
    RuntimeError
        For lengths that do not match, or that are not decreasing although `enforce_sorted` is True.

    See Also
    --------
    torch.nn.utils.rnn.pad_packed_sequence, torch.nn.utils.rnn.pack_sequence, torch.nn.utils.rnn.unpack_sequence,
    torch.nn.utils.rnn.PackedSequence

    Examples
    --------
    >>> packed = nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    >>> packed.data
    tensor([1, 3, 2])
    """
    x = input.transpose(0, 1) if batch_first else input
    sizes = _host(lengths)
    steps, batch = x.dims[:2]
    if len(sizes) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size="
                           f"{batch})")  # fmt: skip
    if any(not 0 < n <= steps for n in sizes):
        raise RuntimeError(f"Length of all samples has to be greater than 0 and at most {steps}, but found {sizes}")
    order = None
    if not enforce_sorted:
        positions = sorted(range(batch), key=lambda k: -sizes[k])
        order = _int_tensor(positions).to(input.device)
        x, sizes = _indexing.index_select(x, 1, order), [sizes[k] for k in positions]
    elif any(a < b for a, b in pairwise(sizes)):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                           "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                           "requirement if you do not need ONNX exportability.")  # fmt: skip
    counts = [sum(n > t for n in sizes) for t in range(sizes[0])]
    data = _joining.cat([x[a:b, :n].reshape(-1, *x.dims[2:]) for a, b, n in _constant_ranges(counts)])
    return PackedSequence(data, _int_tensor(counts), order)


def _int_tensor(numbers: list[int]) -> Tensor:
    """Returns integers as a tensor in host memory."""
    return tensor(numbers, dtype=DTYPES["int64"], device="cpu")


def _constant_ranges(counts: Sequence[int]) -> list[tuple[int, int, int]]:
    """Returns ranges (from, to) of steps with the same number of sequences."""
    found, at = [], 0
    for n, group in groupby(counts):
        length = len(list(group))
        found.append((at, at + length, n))
        at += length
    return found


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the padded block of sequences, and their lengths.

    Parameters
    ----------
    sequence : PackedSequence
        The packed sequences.
    batch_first : bool, default False
        Whether the batch is the first dimension; the steps are otherwise.
    padding_value : float, default 0.0
        What fills the block after the ends of sequences.
    total_length : int, optional
        The number of steps, by default the largest length.

    Returns
    -------
    pair of Tensors
        The pair of a tensor of shape (T, B, ...) or (B, T, ...) and an int64 vector on the CPU.

    See Also
    --------
    torch.nn.utils.rnn.pack_sequence, torch.nn.utils.rnn.unpack_sequence, torch.nn.utils.rnn.PackedSequence,
    torch.nn.utils.rnn.pack_padded_sequence

    Examples
    --------
    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, counts = sequence.data, _host(sequence.batch_sizes)
    steps, batch, rest = len(counts), counts[0], data.dims[1:]
    if total_length is not None and total_length < steps:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {steps}")  # fmt: skip

    def filled(*shape: int) -> Tensor:
        return _core.t_full([*shape, *rest], padding_value, data.dtype_name, data.device_name)

    blocks, at = [], 0
    for a, b, n in _constant_ranges(counts):
        block = data[at : at + (b - a) * n].reshape(b - a, n, *rest)
        at += (b - a) * n
        blocks.append(block if n == batch else _joining.cat([block, filled(b - a, batch - n)], 1))
    if total_length is not None and total_length > steps:
        blocks.append(filled(total_length - steps, batch))
    x = _joining.cat(blocks) if len(blocks) > 1 else blocks[0]
    lengths = [sum(n > k for n in counts) for k in range(batch)]
    if sequence.unsorted_indices is not None:
        x = _indexing.index_select(x, 1, sequence.unsorted_indices)
        lengths = [lengths[k] for k in sequence.unsorted_indices.tolist()]
    return (x.transpose(0, 1) if batch_first else x), _int_tensor(lengths)


def pad_sequence(sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:  # fmt: skip
    """Returns sequences as a padded block.

    Parameters
    ----------
    sequences : iterable of Tensors
        Tensors of shape (length, ...).
    batch_first : bool, default False
        Whether the batch is the first dimension; the steps are otherwise.
    padding_value : float, default 0.0
        What fills the block beside the sequences.
    padding_side : {"right", "left"}, default "right"
        "right" or "left".

    Returns
    -------
    Tensor
        A tensor of shape (longest, B, ...), or (B, longest, ...) with `batch_first`.

    See Also
    --------
    torch.nn.utils.rnn.unpad_sequence

    Examples
    --------
    >>> nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    steps = max(x.dims[0] for x in parts)
    rows = []
    for x in parts:
        more = steps - x.dims[0]
        edge = _core.t_full([more, *x.dims[1:]], padding_value, x.dtype_name, x.device_name)
        pieces = [x] if not more else [x, edge] if padding_side == "right" else [edge, x]
        rows.append(_joining.cat(pieces) if more else x)
    return _joining.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Returns the sequences of a padded block.

    Parameters
    ----------
    padded_sequences : Tensor
        A tensor of shape (T, B, ...), or (B, T, ...) with `batch_first`.
    lengths : Tensor
        The length of each sequence.
    batch_first : bool, default False
        Whether the batch is the first dimension; the steps are otherwise.

    Returns
    -------
    list of Tensors

    See Also
    --------
    torch.nn.utils.rnn.pad_sequence

    Examples
    --------
    >>> nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [x[k, :n] for k, n in enumerate(_host(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences.

    Parameters
    ----------
    sequences : sequence of Tensors
        Tensors of shape (length, ...).
    enforce_sorted : bool, default True
        Whether lengths have to decrease; sequences are sorted otherwise.

    Returns
    -------
    PackedSequence

    See Also
    --------
    torch.nn.utils.rnn.unpack_sequence, torch.nn.utils.rnn.PackedSequence, torch.nn.utils.rnn.pack_padded_sequence,
    torch.nn.utils.rnn.pad_packed_sequence

    Examples
    --------
    >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [x.dims[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Returns the sequences of a packed sequence.

    Parameters
    ----------
    packed_sequences : PackedSequence
        The packed sequences.

    Returns
    -------
    list of Tensors

    See Also
    --------
    torch.nn.utils.rnn.PackedSequence, torch.nn.utils.rnn.pack_padded_sequence,
    torch.nn.utils.rnn.pad_packed_sequence, torch.nn.utils.rnn.pack_sequence

    Examples
    --------
    >>> nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
