"""Attention whose scores a function of the program changes or masks.

The functions get index tensors that broadcast to all scores at once, so they are called once for each attention. The
result equals a call for each score, as long as they compute with their arguments elementwise or index other tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from cuprous._core import Tensor
from cuprous.torch import _creation, _placeholders, _ranges
from cuprous.torch._pointwise import FUNCTIONS as _pointwise
from cuprous.torch._products import matmul
from cuprous.torch._softmax import logsumexp
from cuprous.torch._types import DTYPES
from cuprous.torch.nn.functional import softmax

#: The size of blocks, by which PyTorch skips what a mask leaves out.
_DEFAULT_SPARSE_BLOCK_SIZE = 128
Signature = Callable[..., Any]


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Returns a mask that leaves out nothing.

    Parameters
    ----------
    batch : Tensor
        The index of the batch.
    head : Tensor
        The index of the head.
    token_q : Tensor
        The index of the query.
    token_kv : Tensor
        The index of the key.

    Returns
    -------
    Tensor
        A bool tensor.

    See Also
    --------
    torch.nn.attention.flex_attention.and_masks, torch.nn.attention.flex_attention.create_block_mask

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import create_mask, noop_mask
    >>> create_mask(noop_mask, None, None, 1, 2)
    tensor([[[[True, True]]]])
    """
    return _creation.ones((), dtype=DTYPES["bool"], device=token_q.device)


def and_masks(*mask_mods: Signature) -> Signature:
    """Returns a mask of what all masks leave.

    Parameters
    ----------
    *mask_mods : callable
        Functions of batch, head, query and key.

    Returns
    -------
    callable
        A function of batch, head, query and key.

    See Also
    --------
    torch.nn.attention.flex_attention.or_masks, torch.nn.attention.flex_attention.create_mask,
    torch.nn.attention.flex_attention.create_block_mask

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import and_masks, create_mask
    >>> near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(near, None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """

    def both(b: Any, h: Any, q: Any, k: Any) -> Any:
        result = noop_mask(b, h, q, k)
        for mask in mask_mods:
            result = result & mask(b, h, q, k)
        return result

    return both


def or_masks(*mask_mods: Signature) -> Signature:
    """Returns a mask of what one of the masks leaves.

    Parameters
    ----------
    *mask_mods : callable
        Functions of batch, head, query and key.

    Returns
    -------
    callable
        A function of batch, head, query and key.

    See Also
    --------
    torch.nn.attention.flex_attention.and_masks, torch.nn.attention.flex_attention.create_mask,
    torch.nn.attention.flex_attention.create_block_mask

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import create_mask, or_masks
    >>> mask = or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k == 2)
    >>> create_mask(mask, None, None, 2, 3)[0, 0].int()
    tensor([[1, 0, 1],
            [1, 1, 1]], dtype=torch.int32)
    """

    def either(b: Any, h: Any, q: Any, k: Any) -> Any:
        result = ~noop_mask(b, h, q, k)
        for mask in mask_mods:
            result = result | mask(b, h, q, k)
        return result

    return either


def _indices(*extents: int, device: Any) -> list[Tensor]:
    """Returns index tensors, one for each dimension, that broadcast to the extents."""
    found = []
    for k, n in enumerate(extents):
        shape = [1] * len(extents)
        shape[k] = n
        found.append(_ranges.arange(n, device=device).view(shape))
    return found


def create_mask(mod_fn: Signature, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
                **options: Any) -> Tensor:  # fmt: skip
    """Returns the mask of a function.

    Parameters
    ----------
    mod_fn : callable
        The function of batch, head, query and key; it returns True for pairs that take part.
    B : int or None
        The batches; None if the mask does not depend on them.
    H : int or None
        The heads; None if the mask does not depend on them.
    Q_LEN : int
        The number of queries.
    KV_LEN : int
        The number of keys.
    device : device or str, optional
        The device, by default the default device.
    **options : any
        Has no effect.

    Returns
    -------
    Tensor
        A bool tensor of shape (B, H, Q_LEN, KV_LEN).

    See Also
    --------
    torch.nn.attention.flex_attention.create_block_mask, torch.nn.attention.flex_attention.and_masks,
    torch.nn.attention.flex_attention.or_masks

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)[0, 0].int()
    tensor([[1, 0],
            [1, 1]], dtype=torch.int32)
    """
    extents = (B or 1, H or 1, Q_LEN, KV_LEN)
    mask: Any = mod_fn(*_indices(*extents, device=device))
    return mask.expand(extents)


class BlockMask:
    """A mask, as a function and as a tensor.

    Parameters
    ----------
    mask_mod : callable
        The function of batch, head, query and key; it returns True for pairs that take part.
    mask : Tensor
        The mask, a bool tensor.
    block_size : int or sequence of ints, optional
        The extents of a block.

    See Also
    --------
    torch.nn.attention.flex_attention.create_block_mask, torch.nn.attention.flex_attention.flex_attention

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8).shape
    (1, 1, 8, 8)
    """

    def __init__(self, mask_mod: Signature, mask: Any, block_size: Any = _DEFAULT_SPARSE_BLOCK_SIZE) -> None:
        self.mask_mod, self._mask = mask_mod, mask
        self.BLOCK_SIZE = block_size if isinstance(block_size, tuple) else (block_size, block_size)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (batch, heads, queries, keys)."""
        return tuple(self._mask.shape)

    @property
    def seq_lengths(self) -> tuple[int, int]:
        """The numbers of queries and keys."""
        return self.shape[2], self.shape[3]

    def numel(self) -> int:
        """Returns the number of elements of the mask.

        Returns
        -------
        int

        Examples
        --------
        >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8).numel()
        64
        """
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Returns the part of the blocks that the mask leaves out, in percent.

        Returns
        -------
        float

        Examples
        --------
        >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8, BLOCK_SIZE=4).sparsity()
        25.0
        """
        blocks = self.to_dense().double()
        return float(100 * (1 - blocks.mean()))

    def to_dense(self) -> Any:
        """Returns, for each block, 1 if the mask leaves something of it, otherwise 0.

        Returns
        -------
        Tensor
            A tensor with an element for each block.

        Examples
        --------
        >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8, BLOCK_SIZE=4).to_dense()[0, 0]
        tensor([[1, 0],
                [1, 1]], dtype=torch.int32)
        """
        batch, heads, rows, columns = self.shape
        high, wide = self.BLOCK_SIZE
        up, right = -rows % high, -columns % wide
        full = _creation.zeros(batch, heads, rows + up, columns + right, dtype=DTYPES["bool"], device=self._mask.device)
        full[:, :, :rows, :columns] = self._mask
        parts = full.view(batch, heads, (rows + up) // high, high, (columns + right) // wide, wide)
        return parts.any(-1).any(-2).to(DTYPES["int32"])

    def to(self, device: Any) -> BlockMask:
        """Returns the mask on another device.

        Parameters
        ----------
        device : device or str
            The device.

        Returns
        -------
        BlockMask

        Examples
        --------
        >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8).to("cpu")
        BlockMask(shape=(1, 1, 8, 8))
        """
        return BlockMask(self.mask_mod, self._mask.to(device), self.BLOCK_SIZE)

    def __getitem__(self, index: Any) -> BlockMask:
        index = index if isinstance(index, tuple) else (index,)
        kept = tuple(slice(i, i + 1) if isinstance(i, int) else i for i in index)
        return BlockMask(self.mask_mod, self._mask[kept], self.BLOCK_SIZE)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape})"


def create_block_mask(
    mask_mod: Signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    **options: Any,
) -> BlockMask:
    """Returns the mask of a function for `flex_attention`.

    Parameters
    ----------
    mask_mod : callable
        The function of batch, head, query and key; it returns True for pairs that take part.
    B : int or None
        The batches; None if the mask does not depend on them.
    H : int or None
        The heads; None if the mask does not depend on them.
    Q_LEN : int
        The number of queries.
    KV_LEN : int
        The number of keys.
    device : device or str, optional
        The device, by default the default device.
    BLOCK_SIZE : int or pair of ints, optional
        The extents of a block, a number or a pair.
    **options : any
        Has no effect.

    Returns
    -------
    BlockMask

    See Also
    --------
    torch.nn.attention.flex_attention.create_mask, torch.nn.attention.flex_attention.BlockMask,
    torch.nn.attention.flex_attention.flex_attention

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8)
    BlockMask(shape=(1, 1, 8, 8))
    """
    return BlockMask(mask_mod, create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), BLOCK_SIZE)


class AuxRequest(NamedTuple):
    """What `flex_attention` is to return beside its result.

    Parameters
    ----------
    lse : bool, default False
        Whether to return the logarithms of the sums of exponentials.
    max_scores : bool, default False
        Whether to return the largest score of each query.

    See Also
    --------
    torch.nn.attention.flex_attention.AuxOutput, torch.nn.attention.flex_attention.flex_attention

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> x = torch.ones(1, 1, 3, 2)
    >>> result, aux = flex_attention(x, x, x, return_aux=AuxRequest(lse=True))
    >>> aux.lse.shape
    torch.Size([1, 1, 3])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `flex_attention` returns beside its result.

    Parameters
    ----------
    lse : Tensor, optional
        The logarithms of the sums of exponentials, a tensor of shape (batch, heads, queries), or None.
    max_scores : Tensor or None, optional
        The largest score of each query, a tensor of that shape, or None.

    See Also
    --------
    torch.nn.attention.flex_attention.AuxRequest, torch.nn.attention.flex_attention.flex_attention

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> x = torch.ones(1, 1, 3, 2)
    >>> result, aux = flex_attention(x, x, x, return_aux=AuxRequest(max_scores=True))
    >>> aux.max_scores.shape
    torch.Size([1, 1, 3])
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(query: Any, key: Any, value: Any, score_mod: Signature | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: Any = None, *,
                   return_aux: AuxRequest | None = None) -> Any:  # fmt: skip
    """Returns attention, of which a function changes the scores and a mask leaves out pairs of query and key.

    Parameters
    ----------
    query : Tensor
        A tensor of shape (batch, heads, queries, features).
    key : Tensor
        A tensor of shape (batch, heads, keys, features).
    value : Tensor
        A tensor of shape (batch, heads, keys, features).
    score_mod : callable, optional
        Gets the scores, and the indices of batch, head, query and key; returns the scores to use.
    block_mask : BlockMask, optional
        From `create_block_mask`.
    scale : float, optional
        The factor of the scores, by default 1 / sqrt(features).
    enable_gqa : bool, default False
        Whether groups of heads of the query share a head of key and value.
    return_lse : bool, default False
        Whether to return the logarithms of the sums of exponentials too.
    kernel_options : dict, optional
        Has no effect.
    return_aux : AuxRequest, optional
        What to return beside the result.

    Returns
    -------
    Tensor
        A tensor of shape (batch, heads, queries, features); with `return_lse` or `return_aux` a pair of it and the
        other results.

    Raises
    ------
    ValueError
        If the numbers of heads differ without `enable_gqa`.

    See Also
    --------
    torch.nn.attention.flex_attention.create_block_mask, torch.nn.attention.flex_attention.BlockMask,
    torch.nn.functional.scaled_dot_product_attention

    Examples
    --------
    >>> from cuprous.torch.nn.attention.flex_attention import flex_attention
    >>> x = torch.ones(1, 1, 3, 2)
    >>> flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score + (q - k)).shape
    torch.Size([1, 1, 3, 2])
    """
    groups = query.shape[1] // key.shape[1]
    if groups != 1:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and "
                f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA."
            )
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    wide = query.dtype if query.dtype.name == "float64" else DTYPES["float32"]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores: Any = matmul(query.to(wide), key.to(wide).transpose(-2, -1)) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_indices(*scores.shape, device=query.device))
    if block_mask is not None:
        mask = block_mask._mask[..., : scores.shape[-2], : scores.shape[-1]]
        scores = _pointwise["where"](mask, scores, -math.inf)
    total = logsumexp(scores, -1)
    weights = _pointwise["where"]((total == -math.inf)[..., None], 0.0, softmax(scores, -1))
    result = matmul(weights.to(value.dtype), value).to(query.dtype)
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return result, AuxOutput(total if return_aux.lse else None, largest)
    return (result, total) if return_lse else result


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("nn.attention.flex_attention", name)


__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
