"""Pooling: the maximum, the mean or a norm of each window."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common.arguments import spread
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch import _extremes, _indexing, _joining, _reductions
from cuprous.torch._args import astype
from cuprous.torch._creation import tensor
from cuprous.torch._info import iinfo
from cuprous.torch.autograd import Function
from cuprous.torch.nn._windows import Gather, Spread, Windows, batched

_map = _core.t_map
_INTS = {1: "a single int", 2: "a single int, or a tuple of two ints", 3: "a single int, or a tuple of three ints"}
#: Up to this number of elements in a window, the mean is computed as a sum of views rather than as a reduction.
_MAX_SUMMED_WINDOW = 32


def _numbers(function: str, name: str, given: Any, rank: int) -> list[int]:
    values = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(values) not in (1, rank):
        raise RuntimeError(f"{function}: {name} must either be {_INTS[rank]}")
    return [int(n) for n in values] * (rank if len(values) == 1 else 1)


def _windows(function: str, x: Tensor, rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
             ceil_mode: bool) -> Windows:  # fmt: skip
    kernel = _numbers(function, "kernel_size", kernel_size, rank)
    given = kernel if stride is None or (isinstance(stride, (tuple, list)) and not stride) else stride
    steps = _numbers(function, "stride", given, rank)
    pads, spaces = (_numbers(function, name, g, rank) for name, g in (("padding", padding), ("dilation", dilation)))
    for name, values in (("kernel_size", kernel), ("stride", steps), ("dilation", spaces)):
        if min(values) <= 0:
            raise RuntimeError(f"{function}: {name} should be greater than zero, but got {name}={values}")
    size = list(x.dims[-rank:])
    out = []
    for n, k, s, p, d in zip(size, kernel, steps, pads, spaces, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
        room = n + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1  # the last window would start after the input
        out.append(count)
    if min(out) < 1:
        shown = ["x".join(map(str, [x.dims[-rank - 1], *extents])) for extents in (size, out)]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )
    return Windows(size, kernel, out, steps, spaces, pads)


def _lowest(x: Tensor) -> Any:
    """Returns the smallest value of the dtype."""
    if x.is_floating_point():
        return -math.inf

    return iinfo(x.dtype).min


def _dense(x: Tensor) -> Tensor:
    """Returns `x` where it is contiguous or channels-last, else a contiguous copy.

    Results follow the order of the input's axes, and PyTorch's pooling knows these two orders.
    """
    if x.is_contiguous() or (x.ndim > 3 and x.movedim(1, -1).is_contiguous()):
        return x
    return x.contiguous()


# --- maximum


def _max_of_views(taps: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Returns the maximum of each window and its index: the first of equal elements, or the last NaN."""
    best = taps[0]
    index = _core.t_full(list(best.dims), 0, "uint8" if len(taps) <= 256 else "int32", best.device_name)
    for position, tap in enumerate(taps[1:], 1):
        better = _map("greater", tap, best)
        if tap.is_floating_point():
            better = _map("logical_or", better, _map("isnan", tap))
        best = _map("where", better, tap, best)
        index = _map("where", better, position, index)
    return best, index


class _Largest(Function):
    """The maximum of each window, and its index in the window."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, windows: Windows) -> tuple[Tensor, Tensor]:
        views, shaped = windows.lines(windows.padded(x, _lowest(x)))
        best, index = map(shaped, _max_of_views(views))
        best = best.clone() if windows.size == 1 else best
        ctx.rest = windows, index
        ctx.mark_non_differentiable(index)
        return best, index

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        windows, index = ctx.rest
        return Spread.apply(g, windows, index), None


def _flat(index: Tensor, windows: Windows) -> Tensor:
    """Converts indices within windows to flat indices into the last dimensions of the input (int64)."""
    rest, terms, weight = _core.t_cast(index, "int64"), [], 1
    for k in reversed(range(windows.rank)):
        inside = _map("remainder", rest, windows.kernel[k])
        rest = _map("floor_divide", rest, windows.kernel[k])
        strides = [0] * windows.rank
        strides[k] = windows.stride[k]
        start = _core.t_iota(windows.output, strides, -windows.before[k], index.device_name)
        terms.append(_map("multiply", _map("add", start, _map("multiply", inside, windows.dilation[k])), weight))
        weight *= windows.input[k]
    return reduce(operator.add, terms)


def _max_pool(rank: int) -> Callable[..., Any]:
    name = f"max_pool{rank}d"

    def max_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 ceil_mode: bool = False, return_indices: bool = False) -> Any:  # fmt: skip
        input = _dense(input)
        if padding == 0 and dilation == 1 and not ceil_mode and not return_indices:
            kernel = [kernel_size] * rank if type(kernel_size) is int else list(kernel_size)
            beside = stride is None or stride == kernel_size
            if beside and len(kernel) == rank and input.ndim in (rank + 1, rank + 2):
                y = _core.t_max_pool(input, kernel)
                if y is not None:
                    return y
        x, was_batched = batched(name, input, rank)
        windows = _windows(name, x, rank, kernel_size, stride, padding, dilation, ceil_mode)
        if return_indices or (x.requires_grad and _core.is_grad_enabled()):
            y, index = _Largest.apply(x, windows)
        else:
            views, shaped = windows.lines(windows.padded(x, _lowest(x)))
            y = shaped(reduce(lambda a, b: _map("maximum", a, b), views))
            y = y.clone() if windows.size == 1 else y
        y = y if was_batched else y.squeeze(0)
        if not return_indices:
            return y
        positions = _flat(index, windows)
        return y, positions if was_batched else positions.squeeze(0)

    doc = f"""Returns the maximum of each window over the last {rank} dimension{"s" if rank > 1 else ""}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of elements added on both sides, which are smaller than all others.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...), or a pair of tensors.

    Raises
    ------
    RuntimeError
        If no window fits into the input.

    See Also
    --------
    torch.nn.MaxPool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 4" * rank}), 2).shape
    torch.Size([1, 1{", 2" * rank}])
    """
    return named(max_pool, name, doc)


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))


def _max_unpool(rank: int) -> Callable[..., Tensor]:
    name = f"max_unpool{rank}d"

    def max_unpool(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                   output_size: Any = None) -> Tensor:  # fmt: skip
        x, was_batched = batched(name, input, rank)
        if indices.dims != input.dims:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(input.dims)}) but got "
                f"indices tensor with shape: {list(indices.dims)}"
            )
        kernel = _numbers(name, "kernel_size", kernel_size, rank)
        steps = kernel if stride is None else _numbers(name, "stride", stride, rank)
        pads = _numbers(name, "padding", padding, rank)
        if output_size is None:
            sizes = zip(x.dims[2:], kernel, steps, pads, strict=True)
            size = [(n - 1) * s + k - 2 * p for n, k, s, p in sizes]
        else:
            size = [int(n) for n in output_size][-rank:]
        flat = _core.t_full([*x.dims[:2], math.prod(size)], 0, x.dtype_name, x.device_name)
        flat.scatter_(2, indices.reshape([*x.dims[:2], -1]), x.reshape([*x.dims[:2], -1]))
        y = flat.reshape([*x.dims[:2], *size])
        return y if was_batched else y.squeeze(0)

    doc = f"""Returns the values of `max_pool{rank}d` at the indices where it found them, and zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        The maxima, a tensor of shape (N, C, ...) or (C, ...).
    indices : Tensor
        Their int64 indices, a tensor of the same shape.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of elements that were added on both sides.
    output_size : int or sequence of ints, optional
        The extents of the result, by default the least possible.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...).

    Raises
    ------
    RuntimeError
        For indices of another shape.

    See Also
    --------
    torch.nn.MaxUnpool{rank}d

    Examples
    --------
    >>> maxima, indices = F.max_pool{rank}d(torch.ones(1, 1{", 4" * rank}), 2, return_indices=True)
    >>> F.{name}(maxima, indices, 2).shape
    torch.Size([1, 1{", 4" * rank}])
    """
    return named(max_unpool, name, doc)


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))


# --- mean


def _sums(x: Tensor, windows: Windows) -> Tensor:
    if windows.disjoint and windows.size > _MAX_SUMMED_WINDOW:
        seen = windows.view(windows.padded(x))
        lead = x.ndim - windows.rank
        return _reductions.sum(seen, list(range(lead, lead + windows.rank)))
    result: Tensor = Gather.apply(x, windows, None)
    return result


def _counts(windows: Windows, include: bool) -> list[list[int]]:
    """Returns the number of elements by which each window is divided, for each dimension."""
    counts = []
    for n, k, s, p, m in zip(windows.input, windows.kernel, windows.stride, windows.before, windows.output,
                             strict=True):  # fmt: skip
        bounds = [(at * s - p, min(at * s - p + k, n + p)) for at in range(m)]
        counts.append([end - start if include else min(end, n) - max(start, 0) for start, end in bounds])
    return counts


def _divisor(x: Tensor, windows: Windows, include: bool) -> Any:
    counts = _counts(windows, include)
    if all(min(along) == max(along) for along in counts):
        return math.prod(along[0] for along in counts)

    factors = (spread(tensor(along, dtype=x.dtype, device=x.device), k, windows.rank) for k, along in enumerate(counts))
    return reduce(operator.mul, factors)


def _in_single(x: Tensor) -> Tensor:
    """Returns half precision as float32, in which sums are computed and rounded once."""
    return _core.t_cast(x, "float32") if x.dtype_name in ("float16", "bfloat16") else x


def _avg_pool(rank: int) -> Callable[..., Tensor]:
    name = f"avg_pool{rank}d"

    def avg_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:  # fmt: skip
        x, was_batched = batched(name, _dense(input), rank)
        if not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f'"{name}" not implemented for {x.dtype_name!r}')
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        windows = _windows(name, x, rank, kernel_size, stride, padding, 1, ceil_mode)
        wide = _in_single(x)
        by = _divisor(wide, windows, count_include_pad) if divisor_override is None else divisor_override
        y = astype(_map("divide", _sums(wide, windows), by), x.dtype_name)
        return y if was_batched else y.squeeze(0)

    doc = f"""Returns the mean of each window over the last {rank} dimension{"s" if rank > 1 else ""}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    padding : int or sequence of ints, default 0
        The number of zeros added on both sides.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.
    count_include_pad : bool, default True
        Whether padding counts in the mean.
    divisor_override : int, optional
        The number by which sums are divided instead.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...).

    Raises
    ------
    RuntimeError
        If no window fits into the input.

    See Also
    --------
    torch.nn.AvgPool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 4" * rank}), 2).shape
    torch.Size([1, 1{", 2" * rank}])
    """
    if rank > 1:
        return named(avg_pool, name, doc)

    def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                   count_include_pad: bool = True) -> Tensor:  # fmt: skip
        return avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    last = "\n    divisor_override : int, optional\n        The number by which sums are divided instead."
    return named(avg_pool1d, name, doc.replace(last, ""))


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))


def _lp_pool(rank: int) -> Callable[..., Tensor]:
    name = f"lp_pool{rank}d"
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[rank - 1]

    def lp_pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
                ceil_mode: bool = False) -> Tensor:  # fmt: skip
        means = mean(_map("power", _in_single(input), norm_type), kernel_size, stride, 0, ceil_mode)
        # The root of the magnitude, with the sign of the sum. PyTorch's formula is sign(x) * relu(|x|).
        signed = _map("multiply", _map("sign", means), _map("absolute", means))
        sums = _map("multiply", signed, math.prod(_numbers(name, "kernel_size", kernel_size, rank)))
        return astype(_map("power", sums, 1.0 / norm_type), input.dtype_name)

    doc = f"""Returns the p-norm `(Σ x**p)**(1/p)` of each window over the last {rank} dimension{"s" * (rank > 1)}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    norm_type : float
        p.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, optional
        The distance of windows, by default the window's extents.
    ceil_mode : bool, default False
        Whether windows may extend beyond the end.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...).

    Raises
    ------
    RuntimeError
        If no window fits into the input.

    See Also
    --------
    torch.nn.LPPool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 4" * rank}), 2, 2).shape
    torch.Size([1, 1{", 2" * rank}])
    """
    return named(lp_pool, name, doc)


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))


# --- adaptive pooling


def _targets(function: str, x: Tensor, rank: int, output_size: Any) -> list[int]:
    given = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * rank
    if len(given) != rank:
        raise RuntimeError(f"{function}: output_size must be {rank} numbers")
    sizes = [n if target is None else int(target) for n, target in zip(x.dims[-rank:], given, strict=True)]
    if min(sizes) < 0:
        raise RuntimeError(f"{function}: elements of output_size must be greater than or equal to 0")
    if 0 in x.dims[-rank:]:
        raise RuntimeError(
            f"{function}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(x.dims)}"
        )
    shape = [*x.dims[:-rank], *sizes]
    if math.prod(shape) * x.element_size() > 2**62:
        raise RuntimeError(f"{function}: Storage size calculation overflowed with sizes={shape}")
    return sizes


def _bounds(n: int, out: int) -> list[tuple[int, int]]:
    """Returns the start and end of each window of an axis."""
    return [(k * n // out, -(-(k + 1) * n // out)) for k in range(out)]


def _window_ends(x: Tensor, dim: int, out: int) -> tuple[Any, Any, Tensor]:
    """Returns the first and the last index of each window of a dimension, and whether they differ.

    If there are more windows than elements, each window has one or two elements.
    """
    n = x.dims[dim]
    if out >= 2**62 // n:
        raise RuntimeError(f"adaptive pooling: output size {out} is too large")
    numbers = (_core.t_iota([out], [n], at, x.device_name).as_array() for at in (0, n - 1))
    first, last = (_core.map("floor_divide", k, out) for k in numbers)
    differ = _core.map("not_equal", first, last).reshape((out,) + (1,) * (x.ndim - dim - 1))
    return first, last, Tensor(differ)


def _equal_windows(x: Tensor, sizes: list[int]) -> Windows | None:
    """Returns windows of equal size, side by side, if the extents allow it; otherwise None."""
    extents = list(x.dims[-len(sizes) :])
    if 0 in sizes or any(n % m for n, m in zip(extents, sizes, strict=True)):
        return None
    kernel = [n // m for n, m in zip(extents, sizes, strict=True)]
    return Windows(extents, kernel, sizes, kernel, [1] * len(sizes), [0] * len(sizes))


def _adaptive_avg_pool(rank: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{rank}d"

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        x, was_batched = batched(name, _dense(input), rank)
        sizes = _targets(name, x, rank, output_size)
        even = _equal_windows(x, sizes)
        if even is not None:
            y = x.clone() if even.size == 1 else _map("divide", _sums(_in_single(x), even), even.size)
        else:
            # The mean over a window is the mean over one axis of the means over the others.
            y = _in_single(x)
            for k in range(rank):
                dim = x.ndim - rank + k
                if sizes[k] > x.dims[dim]:
                    *ends, differ = _window_ends(x, dim, sizes[k])
                    first, last = (_indexing.slices(y, dim, at) for at in ends)
                    y = _map("where", differ, _map("multiply", _map("add", first, last), 0.5), first)
                    continue
                parts = [
                    _reductions.mean(y.narrow(dim, a, b - a), dim, True) for a, b in _bounds(x.dims[dim], sizes[k])
                ]
                y = _joining.cat(parts, dim) if parts else y.narrow(dim, 0, 0)
        y = astype(y, x.dtype_name)
        return y if was_batched else y.squeeze(0)

    doc = f"""Returns the means of a given number of windows over the last {rank} dimension{"s" if rank > 1 else ""}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    output_size : int or sequence of ints
        The number of windows, one number or one for each dimension; None keeps an extent.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...).

    See Also
    --------
    torch.nn.AdaptiveAvgPool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 5" * rank}), 2).shape
    torch.Size([1, 1{", 2" * rank}])
    """
    return named(adaptive_avg_pool, name, doc)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_avg_pool, (1, 2, 3))


def _adaptive_max_pool(rank: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{rank}d"

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        x, was_batched = batched(name, _dense(input), rank)
        sizes = _targets(name, x, rank, output_size)
        even = _equal_windows(x, sizes)
        if even is not None and even.size <= _MAX_SUMMED_WINDOW:
            y, index = _Largest.apply(x, even)
            positions = _flat(index, even) if return_indices else None
        else:
            y, positions = _by_axes(x, sizes)
        y = y if was_batched else y.squeeze(0)
        if not return_indices or positions is None:
            return y
        return y, positions if was_batched else positions.squeeze(0)

    doc = f"""Returns the maxima of a given number of windows over the last {rank} dimension{"s" if rank > 1 else ""}.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...) or (C, ...), of a floating dtype.
    output_size : int or sequence of ints
        The number of windows, one number or one for each dimension; None keeps an extent.
    return_indices : bool, default False
        Whether to return also the int64 index of each maximum in the flattened last dimensions.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...) or (C, ...), or a pair of tensors.

    See Also
    --------
    torch.nn.AdaptiveMaxPool{rank}d

    Examples
    --------
    >>> F.{name}(torch.ones(1, 1{", 5" * rank}), 2).shape
    torch.Size([1, 1{", 2" * rank}])
    """
    return named(adaptive_max_pool, name, doc)


def _by_axes(x: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Returns the maxima, axis by axis from the last to the first, which finds the first of equal elements."""
    rank = len(sizes)
    weights = [math.prod(x.dims[x.ndim - rank + k + 1 :]) for k in range(rank)]
    positions = _core.t_iota(list(x.dims), [0] * (x.ndim - rank) + weights, 0, x.device_name)
    y = x
    for k in reversed(range(rank)):
        dim = x.ndim - rank + k
        if sizes[k] > x.dims[dim]:
            *ends, _ = _window_ends(x, dim, sizes[k])
            first, last = (_indexing.slices(y, dim, at) for at in ends)
            before, behind = (_indexing.slices(positions, dim, at) for at in ends)
            larger = _map("logical_or", _map("greater", last, first), _map("isnan", last))
            later = _map("logical_and", larger, _map("equal", first, first))
            y, positions = _map("where", later, last, first), _map("where", later, behind, before)
            continue
        tops, found = [], []
        for a, b in _bounds(x.dims[dim], sizes[k]):
            part = y.narrow(dim, a, b - a)
            top, at = _extremes.max(part, dim, True)
            tops.append(top)
            found.append(positions.narrow(dim, a, b - a).gather(dim, at))
        y = _joining.cat(tops, dim) if tops else y.narrow(dim, 0, 0)
        positions = _joining.cat(found, dim) if found else positions.narrow(dim, 0, 0)
    return y, positions


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max_pool, (1, 2, 3))

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip
