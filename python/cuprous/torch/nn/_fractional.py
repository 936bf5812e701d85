"""Fractional pooling: windows at random positions with nearly even spacing (Graham, 2015)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import named, related_names
from cuprous._core import Tensor
from cuprous.torch import _indexing, _random_numbers
from cuprous.torch.nn._pooling import _max_of_views, _numbers
from cuprous.torch.nn._windows import batched, chosen

_map = _core.t_map


def _starts(sample: Tensor, size: int, out: int, kernel: int) -> Tensor:
    """Returns the starts of `out` windows for each random number in [0, 1) of shape (N, C): (N, C, out), int64. The
    last window ends at the end."""
    step = (size - kernel) / (out - 1) if out > 1 else 0.0
    positions = _core.t_iota([out], [1], 0, sample.device_name)
    u = sample.unsqueeze(-1)
    first = _map("trunc", _map("multiply", u, step))
    inner = _map("subtract", _map("trunc", _map("multiply", _map("add", positions, u), step)), first)
    return _map("where", _map("equal", positions, out - 1), size - kernel, _core.t_cast(inner, "int64"))


def _fractional(rank: int) -> Callable[..., Any]:
    name = f"fractional_max_pool{rank}d"

    def pool(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
             return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        x, was_batched = batched(name, input, rank)
        kernel = _numbers(name, "kernel_size", kernel_size, rank)
        extents = list(x.dims[2:])
        if output_size is None:
            ratios = list(output_ratio) if isinstance(output_ratio, (tuple, list)) else [output_ratio] * rank
            sizes = [int(n * float(r)) for n, r in zip(extents, ratios, strict=True)]
        else:
            sizes = _numbers(name, "output_size", output_size, rank)
        for n, out, k in zip(extents, sizes, kernel, strict=True):
            if out < 1 or out + k - 1 > n:
                raise RuntimeError(f"{name}(): pool size {k} too large relative to input size {n} for {out} outputs")
        samples = _random_samples
        if samples is None:
            dtype = x.dtype if x.is_floating_point() else None
            samples = _random_numbers.rand(x.dims[0], x.dims[1], rank, dtype=dtype, device=x.device)
        if samples.dims != (x.dims[0], x.dims[1], rank):
            raise RuntimeError(f"{name}(): _random_samples must be {[*x.dims[:2], rank]}, got {list(samples.dims)}")
        # PyTorch uses the first random number for the width in two dimensions, but for the depth in three.
        numbers = range(rank) if rank == 3 else reversed(range(rank))
        starts = []
        for axis, number in enumerate(numbers):
            start = _starts(samples[..., number], extents[axis], sizes[axis], kernel[axis])
            starts.append(start.reshape([*x.dims[:2], *(-1 if k == axis else 1 for k in range(rank))]))
        flat, positions = x.reshape([*x.dims[:2], -1]), []
        for tap in itertools.product(*map(range, kernel)):
            position: Any = 0
            for axis in range(rank):
                position = position * extents[axis] + (starts[axis] + tap[axis])
            positions.append(_core.t_expand(position, [*x.dims[:2], *sizes]).reshape([*x.dims[:2], -1]))
        seen = flat.detach()
        _, which = _max_of_views([_indexing.gather(seen, 2, position) for position in positions])
        found = chosen(positions, which)
        y, found = (t.reshape([*x.dims[:2], *sizes]) for t in (_indexing.gather(flat, 2, found), found))
        if not was_batched:
            y, found = y.squeeze(0), found.squeeze(0)
        return (y, found) if return_indices else y

    doc = f"""Returns the maxima of windows at random positions over the last {rank} dimensions.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    output_size : int or sequence of ints, optional
        The number of windows, one number or one for each dimension.
    output_ratio : float or sequence of floats, optional
        The number of windows for each element, in (0, 1), in place of `output_size`.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.
    _random_samples : Tensor, optional
        (N, C, {rank}), numbers in [0, 1) that determine the windows; drawn unless given.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...), or a pair of tensors.

    Raises
    ------
    ValueError
        If neither `output_size` nor `output_ratio` is given.
    RuntimeError
        Where so many windows do not fit.

    See Also
    --------
    {related_names(name, "fractional_max_pool2d fractional_max_pool3d", "torch.nn.functional")},
    torch.nn.functional.max_pool{rank}d, torch.nn.functional.adaptive_max_pool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 8" * rank}), 2, output_size=3).shape
    torch.Size([1, 1{", 3" * rank}])
    """
    return named(pool, name, doc)


fractional_max_pool2d, fractional_max_pool3d = _fractional(2), _fractional(3)

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]
