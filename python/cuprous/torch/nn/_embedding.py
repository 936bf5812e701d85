"""Lookup of table rows (embeddings), and distances between vectors."""

from __future__ import annotations

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _broadcasting, _extremes, _indexing, _reductions
from cuprous.torch._args import unsupported
from cuprous.torch._comparisons import clamp
from cuprous.torch._creation import from_numpy
from cuprous.torch._ordering import searchsorted

_map = _core.t_map


def _check_index(function: str, input: Tensor) -> None:
    if input.dtype_name not in ("int64", "int32"):
        raise RuntimeError(
            f"Expected tensor for argument 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype_name} instead (while checking arguments for {function})"
        )


def _renormalize_rows(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales the rows that are looked up to a norm of at most `max_norm`, in place and without gradient."""
    table = weight.detach()
    used = _core.t_full([table.dims[0]], False, "bool", table.device_name)
    _indexing.index_fill_(used, 0, input.reshape(-1), True)
    norms = _reductions.norm(table, norm_type, 1)
    factor = _map("divide", max_norm, _map("add", norms, 1e-7))
    factor = _map("where", _map("logical_and", used, _map("greater", norms, max_norm)), factor, 1)
    _core.t_map_inplace("multiply", table, factor.unsqueeze(1))


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:  # fmt: skip
    """Returns rows of a table. The row `padding_idx` gets no gradient.

    Parameters
    ----------
    input : Tensor
        int64 or int32 indices of any shape.
    weight : Tensor
        The table, of shape (rows, width).
    padding_idx : int, optional
        A row without gradient.
    max_norm : float, optional
        Rows that are looked up and have a larger norm are scaled to it, in place; None for no bound.
    norm_type : float, default 2.0
        The p of that norm.
    scale_grad_by_freq : bool, default False
        Whether to divide each row's gradient by how often the row was looked up.
    sparse : bool, default False
        For PyTorch's signature; only False.

    Returns
    -------
    Tensor
        A tensor of shape (*input.shape, width).

    Raises
    ------
    RuntimeError
        For indices of another dtype.
    IndexError
        For indices outside of the table.

    See Also
    --------
    torch.nn.functional.embedding_bag, torch.nn.functional.one_hot

    Examples
    --------
    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if sparse:
        unsupported("embedding", sparse=(sparse, False))
    _check_index("embedding", input)
    if padding_idx is not None:
        if not -weight.dims[0] <= padding_idx < weight.dims[0]:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx + weight.dims[0] if padding_idx < 0 else padding_idx
    if max_norm is not None:
        _renormalize_rows(weight, input, max_norm, norm_type)
    result = _indexing.rows(weight, input)
    if not (weight.requires_grad and _core.is_grad_enabled()):
        return result
    if scale_grad_by_freq:
        flat = input.reshape(-1)
        counts = _core.t_full([weight.dims[0]], 0, result.dtype_name, weight.device_name)
        ones = _core.t_full([flat.numel()], 1, result.dtype_name, weight.device_name)
        share = _indexing.gather(_indexing.index_add(counts, 0, flat, ones), 0, flat).reshape([*input.dims, 1])
        # The values stay the same; only the gradient is divided.
        result = _map("add", result.detach(), _map("divide", _map("subtract", result, result.detach()), share))
    if padding_idx is not None:
        padding = _map("equal", input, padding_idx).unsqueeze(-1)
        result = _map("where", padding, result.detach(), result)
    return result


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:  # fmt: skip
    """Returns sums, means or maxima of bags of rows.

    Each row of a two-dimensional input is one bag. In a one-dimensional input, bags begin at `offsets`. Rows of
    `padding_idx` are ignored, and an empty bag gives zeros.

    Parameters
    ----------
    input : Tensor
        int64 or int32 indices, a vector or a matrix.
    weight : Tensor
        The table, of shape (rows, width).
    offsets : Tensor, optional
        Where bags begin, for a vector of indices.
    max_norm : float, optional
        Rows that are looked up and have a larger norm are scaled to it, in place; None for no bound.
    norm_type : float, default 2.0
        The p of that norm.
    scale_grad_by_freq : bool, default False
        Whether to divide each row's gradient by how often the row was looked up.
    mode : {"sum", "mean", "max"}, default "mean"
        "sum", "mean" or "max".
    sparse : bool, default False
        For PyTorch's signature; only False.
    per_sample_weights : Tensor, optional
        The weight of each index, with mode "sum".
    include_last_offset : bool, default False
        Whether `offsets` ends with the number of indices.
    padding_idx : int, optional
        An index that is ignored.

    Returns
    -------
    Tensor
        A tensor of shape (bags, width).

    Raises
    ------
    ValueError
        If `offsets` is given for a two-dimensional input, or missing for a one-dimensional one.
    NotImplementedError
        For `per_sample_weights` in modes other than "sum".

    See Also
    --------
    torch.nn.functional.one_hot, torch.nn.functional.embedding

    Examples
    --------
    >>> F.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
    tensor([[4., 6.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}').")  # fmt: skip
    if per_sample_weights is not None and per_sample_weights.dims != input.dims:
        raise ValueError(f"embedding_bag: If per_sample_weights ({list(per_sample_weights.dims)}) is not None, then it "
                         f"must have the same shape as the input ({list(input.dims)})")  # fmt: skip
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                             "fixed length sequences.")  # fmt: skip
        count, width = input.dims
        bag = _core.t_iota([count * width], [1], 0, input.device_name) // max(width, 1)
    elif input.ndim == 1:
        if offsets is None or offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor where input is a 1D Tensor")

        count = offsets.dims[0] - bool(include_last_offset)
        positions = _core.t_iota([input.numel()], [1], 0, input.device_name)
        bag = searchsorted(offsets[:count], positions, right=True) - 1
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    flat = input.reshape(-1)
    found = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    valid = None
    if padding_idx is not None:
        valid = _map("not_equal", flat, padding_idx + weight.dims[0] if padding_idx < 0 else padding_idx)
    if mode == "max":
        return _largest(found, bag, valid, count)
    if per_sample_weights is not None:
        found = _map("multiply", found, per_sample_weights.reshape(-1, 1))
    found = found if valid is None else _map("where", valid.unsqueeze(1), found, 0)
    zeros = _core.t_full([count, weight.dims[1]], 0, found.dtype_name, found.device_name)
    total = _indexing.index_add(zeros, 0, bag, found)
    if mode == "sum":
        return total
    one = _core.t_full([flat.numel()], 1, found.dtype_name, found.device_name)
    one = one if valid is None else _core.t_cast(valid, found.dtype_name)
    sizes = _indexing.index_add(_core.t_full([count], 0, found.dtype_name, found.device_name), 0, bag, one)
    return _map("divide", total, clamp(sizes, min=1).unsqueeze(1))


def _largest(found: Tensor, bag: Tensor, valid: Tensor | None, count: int) -> Tensor:
    """Returns the maximum of each bag: rows are arranged in a padded block, whose width is read on the host."""
    import numpy as np

    rows = bag.to_numpy()
    kept = np.arange(len(rows)) if valid is None else np.flatnonzero(valid.to_numpy())
    sizes = np.bincount(rows[kept], minlength=count)
    index = np.full((count, max(int(sizes.max(initial=0)), 1)), -1)
    positions = np.arange(len(kept)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    index[rows[kept], positions] = kept
    at = from_numpy(index).to(found.device)
    missing = _map("less", at, 0).unsqueeze(2)
    block = _indexing.rows(found, clamp(at, min=0)) if found.dims[0] else _core.t_full(
        [*index.shape, found.dims[1]], 0, found.dtype_name, found.device_name)  # fmt: skip
    filled = _map("where", missing, -float("inf"), block)
    top = _extremes.max(filled, 1).values
    return _map("where", _map("equal", top, -float("inf")), 0, top)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Returns 1 at the index that each number gives, and 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        int64 indices of any shape.
    num_classes : int, default -1
        The number of indices, by default the largest plus 1.

    Returns
    -------
    Tensor
        An int64 tensor of shape (*tensor.shape, num_classes).

    See Also
    --------
    torch.nn.functional.embedding, torch.nn.functional.embedding_bag

    Notes
    -----
    An index out of range gives zeros, so that indices are not read on the host. PyTorch raises an error.

    Examples
    --------
    >>> F.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype_name != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype_name}")
    n = int(tensor.max()) + 1 if num_classes == -1 else num_classes
    positions = _core.t_iota([n], [1], 0, tensor.device_name)
    return _core.t_cast(_map("equal", tensor.unsqueeze(-1), positions), "int64")


@_autocast.policy
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Returns the cosine of the angle between vectors along a dimension.

    Parameters
    ----------
    x1 : Tensor
        A tensor of a floating dtype.
    x2 : Tensor
        A tensor that broadcasts with `x1`.
    dim : int, default 1
        The dimension of the vectors.
    eps : float, default 1e-08
        The least product of norms that is divided by.

    Returns
    -------
    Tensor
        A tensor without the dimension.

    See Also
    --------
    torch.pairwise_distance, torch.cdist, torch.pdist

    Examples
    --------
    >>> F.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    x1, x2 = _broadcasting.broadcast_tensors(x1, x2)
    top = _reductions.sum(x1 * x2, dim)
    return top / (clamp(_reductions.norm(x1, 2, dim), min=eps) * clamp(_reductions.norm(x2, 2, dim), min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Returns the p-norm of the difference of vectors in the last dimension.

    Parameters
    ----------
    x1 : Tensor
        A tensor of shape (N, D) or (D).
    x2 : Tensor
        A tensor that broadcasts with `x1`.
    p : float, default 2.0
        The order of the norm.
    eps : float, default 1e-06
        What is added to each difference.
    keepdim : bool, default False
        Whether to keep the last dimension with extent 1.

    Returns
    -------
    Tensor
        A tensor without the last dimension.

    See Also
    --------
    torch.cdist, torch.pdist, torch.cosine_similarity

    Examples
    --------
    >>> F.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return _reductions.norm(x1 - x2 + eps, p, -1, keepdim)


_DISTANCE_MODES = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
)  # fmt: skip


@_autocast.policy
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Returns the p-norm distance of each row of one matrix to each row of the other, for batches of matrices. It is
    always computed from differences.

    Parameters
    ----------
    x1 : Tensor
        A tensor of shape (..., P, M).
    x2 : Tensor
        A tensor of shape (..., R, M).
    p : float, default 2.0
        The order of the norm.
    compute_mode : str, default "use_mm_for_euclid_dist_if_necessary"
        For PyTorch's signature; it has no effect.

    Returns
    -------
    Tensor
        A tensor of shape (..., P, R).

    See Also
    --------
    torch.pdist, torch.cosine_similarity, torch.pairwise_distance

    Examples
    --------
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _DISTANCE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.dims[-1] != x2.dims[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.dims[-1]} X2: {x2.dims[-1]}")
    return _reductions.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@_autocast.policy
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Returns the p-norm distances of all pairs of rows, in the order of the first row.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, M).
    p : float, default 2.0
        The order of the norm.

    Returns
    -------
    Tensor
        A vector of N (N - 1) / 2 elements.

    See Also
    --------
    torch.cosine_similarity, torch.pairwise_distance, torch.cdist

    Examples
    --------
    >>> F.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    import numpy as np

    first, second = (from_numpy(side).to(input.device) for side in np.triu_indices(input.dims[0], 1))
    return _reductions.norm(_indexing.rows(input, first) - _indexing.rows(input, second), p, -1)


__all__ = ["cosine_similarity", "embedding", "embedding_bag", "one_hot", "pairwise_distance", "pdist"]
