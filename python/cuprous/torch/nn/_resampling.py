"""Resampling of grids, and sampling at arbitrary points."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _indexing, _joining, _shape
from cuprous.torch._comparisons import clamp
from cuprous.torch.nn import _pooling
from cuprous.torch.nn._resampling_matrix import Axis, cubic_far, cubic_near, resampled

_map = _core.t_map

#: For each mode, the number of dimensions (None: any), and whether `align_corners` is supported.
_MODES: dict[str, tuple[int | None, bool]] = {
    "nearest": (None, False), "nearest-exact": (None, False), "area": (None, False), "linear": (1, True),
    "bilinear": (2, True), "bicubic": (2, True), "trilinear": (3, True),
}  # fmt: skip


def _per_dim(given: Any, n: int, name: str) -> list[Any]:
    values = list(given) if isinstance(given, (tuple, list)) else [given] * n
    if len(values) != n:
        raise ValueError(f"Input and {name} must have the same number of spatial dimensions, but got input with {n} "
                         f"spatial dimensions and {name} of {given}.")  # fmt: skip
    return values


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:  # fmt: skip
    """Returns the input resampled over its spatial dimensions, which are all but the first two.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, W), (N, C, H, W) or (N, C, D, H, W), of a floating dtype.
    size : int or sequence of ints, optional
        The new extents, one number or one for each dimension.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.
    mode : {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"}, default "nearest"
        "nearest", "nearest-exact" or "area"; "linear" for one spatial dimension, "bilinear" or "bicubic" for two,
        "trilinear" for three.
    align_corners : bool, optional
        Whether the centers of the corner points are aligned, rather than their outer edges.
    recompute_scale_factor : bool, optional
        Whether the factor is computed from the rounded extents.
    antialias : bool, default False
        Whether smaller results are means over all points that a new point covers, for "bilinear" and "bicubic".

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...).

    Raises
    ------
    ValueError
        If both or neither of size and scale_factor are given, or their number does not match.
    NotImplementedError
        For modes that do not match the number of dimensions.
    RuntimeError
        If a mode that interpolates is given integers other than uint8.

    See Also
    --------
    torch.nn.functional.upsample, torch.nn.functional.upsample_bilinear, torch.nn.functional.upsample_nearest,
    torch.nn.functional.pad

    Examples
    --------
    >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    n = input.ndim - 2
    if mode not in _MODES or n not in (1, 2, 3) or _MODES[mode][0] not in (None, n):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for "
                                  "the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
                                  f"(got {mode})")  # fmt: skip
    if align_corners is not None and not _MODES[mode][1]:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                         "bicubic | trilinear")  # fmt: skip
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
                         "input")  # fmt: skip
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined" if size is not None
                         else "either size or scale_factor should be defined")  # fmt: skip
    old = list(input.dims[2:])
    scales: list[float | None] = [None] * n
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        new = [int(v) for v in _per_dim(size, n, "output size")]
    else:
        factors = [float(f) for f in _per_dim(scale_factor, n, "scale_factor")]
        new = [math.floor(a * f) for a, f in zip(old, factors, strict=True)]
        scales = [None] * n if recompute_scale_factor else list(factors)
    if min(new) <= 0 or min(old) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {list(input.dims)} and "
                           f"output size {new}")  # fmt: skip
    if mode.startswith(("linear", "bi", "tri")) and not (input.is_floating_point() or input.is_complex()):
        if input.dtype_name != "uint8":
            raise RuntimeError(f'"upsample_{mode}{n}d" not implemented for {input.dtype}')
        # Images of bytes are rounded to the nearest one.
        floats = _core.t_cast(input, "float32")
        exact = interpolate(floats, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
        return _core.t_cast(clamp(_map("floor", exact + 0.5), 0, 255), "uint8")
    if not mode.startswith(("nearest", "area")) and input.dtype_name in ("float16", "bfloat16"):  # rounded once
        wide = _core.t_cast(input, "float32")
        exact = interpolate(wide, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
        return _core.t_cast(exact, input.dtype_name)
    if mode == "area":
        return getattr(_pooling, f"adaptive_avg_pool{n}d")(input, new)
    if old != new and not mode.startswith("nearest") and not antialias:
        axes = [
            Axis(a, b, 1.0 / f if f else a / b, mode == "bicubic", bool(align_corners))
            for a, b, f in zip(old, new, scales, strict=True)
        ]
        result = resampled(input, axes)
        if result is not None:
            return result
    for k in range(n - 1, -1, -1):
        if antialias:
            input = _antialiased(input, k + 2, new[k], scales[k], mode, bool(align_corners))
            continue
        input = _resized(input, k + 2, new[k], scales[k], mode, bool(align_corners))
    return input


def _resized(x: Tensor, dim: int, new: int, factor: float | None, mode: str, align: bool) -> Tensor:
    """Resamples one dimension."""
    old = x.dims[dim]
    if new == old and (factor is None or factor == 1):
        return x
    step = 1.0 / factor if factor else old / new
    positions = _core.t_iota([new], [1], 0, x.device_name)
    if mode in ("nearest", "nearest-exact"):
        if mode == "nearest" and new % old == 0 and step * new == old:
            return _joining.repeat_interleave(x, new // old, dim)
        # In float32, whose rounding decides which points are used.
        at = _core.t_cast(positions, "float32") + (0.5 if mode == "nearest-exact" else 0.0)
        return _indexing.index_select(x, dim, clamp(_core.t_cast(_map("floor", at * step), "int64"), max=old - 1))
    if align:
        at = _core.t_cast(positions, "float64") * ((old - 1) / (new - 1) if new > 1 else 0.0)
    else:
        at = (_core.t_cast(positions, "float64") + 0.5) * step - 0.5
        at = at if mode == "bicubic" else clamp(at, min=0)
    low = _map("floor", at)
    t = at - low
    if mode == "bicubic":
        taps = list(zip((-1, 0, 1, 2), (cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)),
                        strict=True))  # fmt: skip
    else:
        taps = [(0, 1 - t), (1, t)]
    lead = [-1, *(1 for _ in range(x.ndim - dim - 1))]
    base, terms = _core.t_cast(low, "int64"), []
    for shift, weight in taps:
        part = _indexing.index_select(x, dim, clamp(base + shift, 0, old - 1))
        terms.append(_map("multiply", part, _core.t_cast(weight, x.dtype_name).reshape(lead)))
    return reduce(operator.add, terms)


def _antialiased(x: Tensor, dim: int, new: int, factor: float | None, mode: str, align: bool) -> Tensor:
    """Resamples one dimension by a filter that is as wide as the distance of the old or of the new points."""
    old = x.dims[dim]
    step = ((old - 1) / (new - 1) if new > 1 else 0.0) if align else 1.0 / factor if factor else old / new
    if new == old and step == 1:
        return x
    wide = max(step, 1.0)
    reach = wide * (2 if mode == "bicubic" else 1)
    points = _core.t_cast(_core.t_iota([old], [1], 0, x.device_name), "float64").unsqueeze(1)
    center = (_core.t_cast(_core.t_iota([new], [1], 0, x.device_name), "float64") + 0.5) * step
    first, end = (_map("floor", clamp(edge + 0.5, 0, old)) for edge in (center - reach, center + reach))
    distance = _map("absolute", (points - center + 0.5) / wide)
    if mode == "bicubic":
        near, far = cubic_near(distance, -0.5), cubic_far(distance, -0.5)
        weights = _map("where", _map("less", distance, 1), near, _map("where", _map("less", distance, 2), far, 0))
    else:
        weights = clamp(1 - distance, min=0)
    covered = _map("logical_and", _map("greater_equal", points, first), _map("less", points, end))
    weights = _map("where", covered, weights, 0)
    weights = _core.t_cast(weights / weights.sum(0), x.dtype_name)
    return _shape.movedim(_shape.movedim(x, dim, -1) @ weights, -1, dim)


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:  # fmt: skip
    """Returns `interpolate`, of which this is the older name.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    size : int or sequence of ints, optional
        The new extents, one number or one for each dimension.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.
    mode : str, default "nearest"
        The mode of `interpolate`.
    align_corners : bool, optional
        Whether the centers of the corner points are aligned, rather than their outer edges.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...).

    See Also
    --------
    torch.nn.functional.upsample_bilinear, torch.nn.functional.upsample_nearest, torch.nn.functional.interpolate

    Examples
    --------
    >>> F.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Returns `interpolate` with mode "nearest".

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    size : int or sequence of ints, optional
        The new extents, one number or one for each dimension.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...).

    See Also
    --------
    torch.nn.functional.interpolate, torch.nn.functional.upsample, torch.nn.functional.upsample_bilinear

    Examples
    --------
    >>> F.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Returns `interpolate` with mode "bilinear" and aligned corners.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, H, W), of a floating dtype.
    size : int or pair of ints, optional
        The new extents, one number or a pair.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, H, W).

    See Also
    --------
    torch.nn.functional.upsample_nearest, torch.nn.functional.interpolate, torch.nn.functional.upsample

    Examples
    --------
    >>> F.upsample_bilinear(torch.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


# --- rearrangement of channels and space


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearranges (*, C · r², H, W) to (*, C, H · r, W · r) (Shi et al., 2016).

    Parameters
    ----------
    input : Tensor
        A tensor of shape (*, C · r², H, W).
    upscale_factor : int
        R.

    Returns
    -------
    Tensor
        A tensor of shape (*, C, H · r, W · r).

    Raises
    ------
    RuntimeError
        If the number of channels is not divisible by r².

    See Also
    --------
    torch.pixel_unshuffle, torch.channel_shuffle

    Examples
    --------
    >>> F.pixel_shuffle(torch.arange(4).reshape(1, 4, 1, 1), 2)
    tensor([[[[0, 1],
              [2, 3]]]])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim}"
                           " dimension(s)")  # fmt: skip
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.dims
    if c % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")  # fmt: skip
    k = len(lead)
    x = input.reshape(*lead, c // (r * r), r, r, h, w).permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearranges (*, C, H · r, W · r) to (*, C · r², H, W).

    Parameters
    ----------
    input : Tensor
        A tensor of shape (*, C, H · r, W · r).
    downscale_factor : int
        R.

    Returns
    -------
    Tensor
        A tensor of shape (*, C · r², H, W).

    Raises
    ------
    RuntimeError
        If the extents are not divisible by r.

    See Also
    --------
    torch.channel_shuffle, torch.pixel_shuffle

    Examples
    --------
    >>> F.pixel_unshuffle(torch.ones(1, 1, 4, 4), 2).shape
    torch.Size([1, 4, 2, 2])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError("pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.ndim} dimension(s)")  # fmt: skip
    *lead, c, h, w = input.dims
    if r <= 0 or h % r or w % r:
        raise RuntimeError("pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
                           f"input of shape {list(input.dims)} is not divisible by {r}")  # fmt: skip
    k = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r).permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return x.reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleaves the channels of groups (Zhang et al., 2018).

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...).
    groups : int
        The number of groups, a divisor of C.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        If the number of channels is not divisible by that of groups.

    See Also
    --------
    torch.pixel_shuffle, torch.pixel_unshuffle

    Examples
    --------
    >>> F.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    n, c, *rest = input.dims
    if groups <= 0 or c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)


# --- sampling at arbitrary points


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Returns the sampling points for `grid_sample` under affine maps.

    Parameters
    ----------
    theta : Tensor
        The maps, of shape (N, 2, 3) for images or (N, 3, 4) for volumes.
    size : sequence of ints
        The shape of the output, (N, C, H, W) or (N, C, D, H, W).
    align_corners : bool, optional
        Whether -1 and 1 are the centers of the outermost points, rather than their outer edges.

    Returns
    -------
    Tensor
        A tensor of shape (N, H, W, 2) or (N, D, H, W, 3).

    Raises
    ------
    ValueError
        For shapes that do not match.

    See Also
    --------
    torch.nn.functional.grid_sample

    Examples
    --------
    >>> theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> F.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    d = len(size) - 2
    if theta.ndim != 3 or d not in (2, 3) or theta.dims != (size[0], d, d + 1):
        raise ValueError(f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size {list(size)}. Got "
                         f"{list(theta.dims)}.")  # fmt: skip
    axes = []
    for n in size[2:]:
        unit = _core.t_cast(_core.t_iota([n], [2], 1 - n, theta.device_name), theta.dtype_name)
        axes.append(unit / ((max(n - 1, 1)) if align_corners else n))
    grids = list(reversed(_joining.meshgrid(*axes)))
    ones = _core.t_full(list(size[2:]), 1, theta.dtype_name, theta.device_name)
    points = _joining.stack([*grids, ones], -1).reshape(1, -1, d + 1)
    return (points @ theta.transpose(1, 2)).reshape(size[0], *size[2:], d)


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Reflects coordinates at both bounds, as often as needed."""
    span = high - low
    if span <= 0:
        return at * 0
    away = _map("absolute", at - low)
    reflections = _map("floor", away / span)
    rest = away - reflections.detach() * span
    odd = _map("equal", _map("remainder", reflections, 2), 1)
    return _map("where", odd, high - rest, rest + low)


def _clamped(at: Tensor, n: int, padding_mode: str, align: bool) -> Tensor:
    """Brings coordinates within the input, for padding modes that require it."""
    if padding_mode == "reflection":
        at = _reflected(at, 0, n - 1) if align else _reflected(at, -0.5, n - 0.5)
    return at if padding_mode == "zeros" else clamp(at, 0, n - 1)


def _interpolation_points(at: Tensor, n: int, mode: str, padding_mode: str, align: bool) -> list[tuple[Tensor, Any]]:
    """Returns the points along an axis of extent n that contribute to a coordinate, and their weights (None: 1)."""
    if mode == "nearest":
        return [(_map("rint", _clamped(at, n, padding_mode, align).detach()), None)]
    if mode == "bilinear":
        at = _clamped(at, n, padding_mode, align)
        low = _map("floor", at.detach())
        return [(point, 1 - _map("absolute", at - point)) for point in (low, low + 1)]
    # Each of the four points is clamped separately, after the weights are computed.
    low = _map("floor", at.detach())
    t = at - low
    weights = (cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t))
    return [(_clamped(low + k - 1, n, padding_mode, align), weight) for k, weight in enumerate(weights)]


@_autocast.policy
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:  # fmt: skip
    """Returns the input at coordinates from -1 to 1, interpolated.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, H, W) or (N, C, D, H, W), of a floating dtype.
    grid : Tensor
        The coordinates, x first, of shape (N, ..., 2) or (N, ..., 3).
    mode : str, default "bilinear"
        "bilinear", "nearest" or, for images, "bicubic".
    padding_mode : str, default "zeros"
        Values outside of the input: "zeros", "border" or "reflection".
    align_corners : bool, optional
        Whether -1 and 1 are the centers of the outermost points, rather than their outer edges.

    Returns
    -------
    Tensor
        A tensor of shape (N, C, ...), with the extents of `grid`.

    Raises
    ------
    ValueError
        For other modes.
    RuntimeError
        For shapes that do not match, and for bicubic in three dimensions.

    See Also
    --------
    torch.nn.functional.affine_grid

    Examples
    --------
    >>> image = torch.tensor([[[[1.0, 3.0]]]])
    >>> F.grid_sample(image, torch.tensor([[[[0.0, 0.0]]]]), align_corners=True)
    tensor([[[[2.]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"[grid_sample] mode {mode!r} with padding_mode {padding_mode!r} is not known")
    d = input.ndim - 2
    if d not in (2, 3) or grid.ndim != input.ndim or grid.dims[-1] != d or grid.dims[0] != input.dims[0]:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {d} in last dimension and the batch of input, "
                           f"but got input {list(input.dims)} and grid {list(grid.dims)}")  # fmt: skip
    if mode == "bicubic" and d != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    axes = []
    for k, n in enumerate(input.dims[2:]):
        x = grid[..., d - 1 - k]
        at = (x + 1) * ((n - 1) / 2) if align_corners else ((x + 1) * n - 1) / 2
        axes.append(_interpolation_points(at, n, mode, padding_mode, bool(align_corners)))
    shape = [input.dims[0], 1, *grid.dims[1:-1]]
    flat = input.reshape(*input.dims[:2], -1)
    terms = []
    for corner in itertools.product(*axes):
        offset, weight, inside = None, None, None
        for n, (point, near) in zip(input.dims[2:], corner, strict=True):
            weight = near if weight is None else weight * near
            fits = _map("logical_and", _map("greater_equal", point, 0), _map("less", point, n))
            inside = fits if inside is None else _map("logical_and", inside, fits)
            index = clamp(_core.t_cast(point, "int64"), 0, n - 1)
            offset = index if offset is None else offset * n + index
        assert offset is not None and inside is not None
        wide = _core.t_expand(offset.reshape(shape[0], 1, -1), [shape[0], input.dims[1], math.prod(shape[2:])])
        value = _indexing.gather(flat, 2, wide).reshape(shape[0], input.dims[1], *shape[2:])
        value = _map("where", inside.reshape(shape), value, 0)
        terms.append(value if weight is None else value * weight.reshape(shape))
    return reduce(operator.add, terms)


__all__ = [
    "affine_grid", "channel_shuffle", "grid_sample", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip
