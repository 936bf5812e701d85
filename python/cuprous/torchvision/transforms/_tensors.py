"""Transforms of images that are tensors (…, channels, height, width), by the formulas of torchvision's
`_functional_tensor`: integers are computed in float32; resized and rotated ones are rounded, colors cut off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import cuprous.torch as torch
from cuprous.torch.nn import functional as F

#: Shares of red, green and blue in gray.
_SHARES = (0.2989, 0.587, 0.114)


def channels(img: Any, *allowed: int) -> int:
    """Returns the number of channels.

    Raises
    ------
    TypeError
        For numbers that are not allowed.
    """
    count: int = img.shape[-3] if img.ndim > 2 else 1
    if count not in allowed:
        raise TypeError(f"Input image tensor permitted channel values are {list(allowed)}, but found {count}")
    return count


def _through_floats(img: Any, change: Callable[[Any], Any]) -> Any:
    """Returns what a function of floats (batch, channels, height, width) makes of an image, in the image's dtype."""
    wide = img if img.dtype in (torch.float32, torch.float64) else img.float()
    channels = img.shape[-3] if img.ndim > 2 else 1
    done = change(wide.reshape(-1, channels, *img.shape[-2:]))
    done = done.reshape(*img.shape[:-2], *done.shape[-2:])
    if done.dtype == img.dtype:
        return done
    return (done if img.is_floating_point() else done.round()).to(img.dtype)


def resize(img: Any, target: tuple[int, int], mode: str, antialias: bool | None) -> Any:
    """Returns an image of another (width, height).

    Raises
    ------
    ValueError
        For modes that need Pillow.
    """
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(f"This Interpolation mode is unsupported with Tensor input: {mode}")
    smooth = mode in ("bilinear", "bicubic")
    options = {"align_corners": False, "antialias": bool(antialias)} if smooth else {}

    def change(x: Any) -> Any:
        y: Any = F.interpolate(x, size=target[::-1], mode=mode, **options)
        return y.clamp(0, 255) if mode == "bicubic" and img.dtype == torch.uint8 else y

    return _through_floats(img, change)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Returns an image in gray."""
    if channels(img, 1, 3) == 3:
        red, green, blue = img.unbind(-3)
        gray = (_SHARES[0] * red + _SHARES[1] * green + _SHARES[2] * blue).to(img.dtype).unsqueeze(-3)
    else:
        gray = img.clone()
    return gray.expand(img.shape) if num_output_channels == 3 else gray


def _blend(img: Any, other: Any, share: float) -> Any:
    most = 1.0 if img.is_floating_point() else torch.iinfo(img.dtype).max
    return (share * img + (1.0 - share) * other).clamp(0, most).to(img.dtype)


def adjust_brightness(img: Any, factor: float) -> Any:
    """Returns a mixture with black."""
    channels(img, 1, 3)
    return _blend(img, torch.zeros_like(img), factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    """Returns a mixture with the mean of gray."""
    dtype = img.dtype if img.is_floating_point() else torch.float32
    gray = to_grayscale(img) if channels(img, 1, 3) == 3 else img
    return _blend(img, gray.to(dtype).mean((-3, -2, -1), keepdim=True), factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    """Returns a mixture with gray."""
    return img if channels(img, 1, 3) == 1 else _blend(img, to_grayscale(img), factor)


def adjust_hue(rgb: Any, factor: float) -> Any:
    """Returns an image of floats whose colors are turned, by their representation as hue, saturation and value."""
    red, green, blue = rgb.unbind(-3)
    value, least = rgb.amax(-3), rgb.amin(-3)
    gray, spread = value == least, value - least
    saturation = spread / torch.where(gray, 1.0, value)
    divisor = torch.where(gray, 1.0, spread)
    r, g, b = ((value - x) / divisor for x in (red, green, blue))
    is_red, is_green = value == red, (value == green) & (value != red)
    turn = torch.where(is_red, b - g, torch.where(is_green, 2.0 + r - b, 4.0 + g - r))
    turn = torch.fmod(torch.where(gray, 0.0, turn) / 6.0 + 1.0, 1.0)
    sixths = ((turn + factor) % 1.0) * 6.0
    section = sixths.floor()
    rest = sixths - section
    p, q, t = ((value * (1.0 - x)).clamp(0.0, 1.0) for x in (saturation, saturation * rest, saturation * (1.0 - rest)))
    section = section.to(torch.int32) % 6
    parts = ((value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q))
    return torch.stack([_selected(section, part) for part in parts], -3)


def _selected(section: Any, values: Sequence[Any]) -> Any:
    result = values[-1]
    for k, value in enumerate(values[:-1]):
        result = torch.where(section == k, value, result)
    return result


def rotate(img: Any, angle: float, mode: str, expand: bool, center: Any, fill: Any) -> Any:
    """Returns an image turned counterclockwise by degrees.

    Raises
    ------
    ValueError
        For modes that need Pillow.
    """
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"This Interpolation mode is unsupported with Tensor input: {mode}")
    height, width = img.shape[-2:]
    turn = math.radians(angle)
    cos, sin = math.cos(turn), math.sin(turn)
    x, y = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    # From positions in the result to positions in the image, both from the middle.
    rows = [[cos, -sin, x - cos * x + sin * y], [sin, cos, y - sin * x - cos * y]]
    wide, high = _expanded(rows, width, height) if expand else (width, height)
    numbers = [float(v) for v in fill] if isinstance(fill, (tuple, list)) else [float(fill or 0)]

    def change(images: Any) -> Any:
        make = {"dtype": images.dtype, "device": images.device}
        across = (torch.arange(wide, **make) - (wide * 0.5 - 0.5)).expand(high, wide)
        down = (torch.arange(high, **make) - (high * 0.5 - 0.5))[:, None].expand(high, wide)
        places = torch.stack((across, down, torch.ones_like(across)), -1)
        scaled = torch.tensor(rows, **make).T / torch.tensor([0.5 * width, 0.5 * height], **make)
        grids = (places.reshape(-1, 3) @ scaled).reshape(high, wide, 2).expand(images.shape[0], high, wide, 2)
        if fill is None:
            return F.grid_sample(images, grids, mode=mode, padding_mode="zeros", align_corners=False)
        mask = torch.ones(images.shape[0], 1, height, width, **make)
        sampled = F.grid_sample(
            torch.cat((images, mask), 1), grids, mode=mode, padding_mode="zeros", align_corners=False
        )
        sampled, inside = sampled[:, :-1], sampled[:, -1:]
        color = torch.tensor(numbers, **make).reshape(1, -1, 1, 1)
        if mode == "nearest":
            return torch.where(inside < 0.5, color, sampled)
        return sampled * inside + (1.0 - inside) * color

    return _through_floats(img, change)


def _expanded(rows: list[list[float]], width: int, height: int) -> tuple[int, int]:
    """Returns the (width, height) that hold all of an image after a turn."""
    corners = [(sx * 0.5 * width, sy * 0.5 * height) for sx in (-1, 1) for sy in (-1, 1)]
    sizes = []
    for row, n in zip(rows, (width, height), strict=True):
        places = [row[0] * x + row[1] * y + row[2] + n * 0.5 for x, y in corners]
        low, high = (math.trunc(round(p / 1e-4, 6)) * 1e-4 for p in (min(places), max(places)))
        sizes.append(math.ceil(high) - math.floor(low))
    return sizes[0], sizes[1]


def pad(img: Any, widths: tuple[int, int, int, int], fill: Any, mode: str) -> Any:
    """Returns an image with borders: left, right, top, bottom."""
    left, right, top, bottom = widths
    if mode == "constant":
        value = fill[0] if isinstance(fill, (tuple, list)) and len(fill) == 1 else fill
        if isinstance(value, (tuple, list)):
            raise ValueError("Padding with a color for each channel needs a Pillow image; a tensor takes a number")
        return F.pad(img, [left, right, top, bottom], value=value or 0)
    if mode == "symmetric":
        rows = _mirrored(img.shape[-2], top, bottom, img.device)
        return img.index_select(-2, rows).index_select(-1, _mirrored(img.shape[-1], left, right, img.device))
    kind = "replicate" if mode == "edge" else "reflect"
    return _through_floats(img, lambda x: F.pad(x, (left, right, top, bottom), mode=kind))


def _mirrored(n: int, before: int, after: int, device: Any) -> Any:
    """Returns the indices of rows that are mirrored at both ends."""
    inside = [*range(before - 1, -1, -1), *range(n), *range(n - 1, n - 1 - after, -1)]
    return torch.tensor(inside[max(-before, 0) * 2 :], device=device)
