"""The functions behind the transforms, for Pillow images, NumPy arrays (height, width[, channels]) and tensors (…,
height, width).

Pillow resizes, rotates and changes the colors of images and uint8 arrays; tensors are computed where they are.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining
from cuprous.torch._info import iinfo
from cuprous.torch._types import DTYPES
from cuprous.torch.nn import functional as F
from cuprous.torchvision._pillow import is_image, pillow
from cuprous.torchvision.transforms import _tensors


class InterpolationMode(enum.Enum):
    """Interpolation modes for resizing and rotating.

    See Also
    --------
    torchvision.transforms.Resize, torchvision.transforms.RandomRotation

    Examples
    --------
    >>> transforms.InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


#: Pillow's constants for the interpolation modes.
_FILTERS = {"nearest": 0, "nearest-exact": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


_NAMES = {number: name for name, number in _FILTERS.items() if name != "nearest-exact"}


def _filter(mode: Any) -> int:
    return mode if isinstance(mode, int) else _FILTERS[InterpolationMode(mode).value]


def _mode(mode: Any) -> str:
    """Returns the name of an interpolation that may be given as Pillow's constant."""
    return InterpolationMode(_NAMES[mode] if isinstance(mode, int) else mode).value


def _check(picture: Any) -> None:
    if not (is_image(picture) or isinstance(picture, (np.ndarray, Tensor))):
        raise TypeError(f"expected a Pillow image, a NumPy array or a tensor, got {type(picture).__name__}")


def get_image_size(picture: Any) -> list[int]:
    """Returns [width, height].

    See Also
    --------
    torchvision.transforms.functional.get_image_num_channels, torchvision.transforms.functional.get_dimensions

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.get_image_size(image)
    [4, 2]
    """
    _check(picture)
    if is_image(picture):
        return list(picture.size)
    shape = picture.dims[-2:] if isinstance(picture, Tensor) else picture.shape[:2]
    return [shape[1], shape[0]]


def _through_pillow(picture: Any, change: Callable[[Any], Any]) -> Any:
    _check(picture)
    if is_image(picture):
        return change(picture)
    return np.asarray(change(pillow().fromarray(picture)))


def to_tensor(pic: Any) -> Tensor:
    """Converts an image or array to a tensor (channels, height, width); bytes become floats in [0, 1].

    See Also
    --------
    torchvision.transforms.functional.pil_to_tensor, torchvision.transforms.functional.to_pil_image,
    torchvision.transforms.functional.convert_image_dtype, torchvision.transforms.functional.normalize

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.to_tensor(image).shape
    torch.Size([3, 2, 4])
    """
    if isinstance(pic, Tensor) or not (is_image(pic) or isinstance(pic, np.ndarray)):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    host = pil_array(pic)
    if host.dtype == np.uint8:
        host = host.astype(np.float32) / np.float32(255)
    return _core.t_wrap(_core.from_numpy(np.ascontiguousarray(host), "cpu"))


def pil_array(pic: Any) -> np.ndarray[Any, Any]:
    """Returns an image or an array (height, width[, channels]) as an array (channels, height, width)."""
    if is_image(pic) and pic.mode == "1":
        pic = pic.convert("L")
    host = np.asarray(pic)
    if host.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {host.ndim} dimensions.")
    return host[None] if host.ndim == 2 else host.transpose(2, 0, 1)


def pil_to_tensor(pic: Any) -> Tensor:
    """Returns an image as a uint8 tensor (channels, height, width).

    See Also
    --------
    torchvision.transforms.functional.to_pil_image, torchvision.transforms.functional.convert_image_dtype,
    torchvision.transforms.functional.normalize, torchvision.transforms.functional.to_tensor

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.pil_to_tensor(image).dtype
    torch.uint8
    """
    return _core.t_wrap(_core.from_numpy(np.ascontiguousarray(pil_array(pic)), "cpu"))


def get_dimensions(img: Any) -> list[int]:
    """Returns [channels, height, width].

    See Also
    --------
    torchvision.transforms.functional.get_image_size, torchvision.transforms.functional.get_image_num_channels

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.get_dimensions(image)
    [3, 2, 4]
    """
    width, height = get_image_size(img)
    if isinstance(img, Tensor):
        return [img.dims[-3] if img.ndim > 2 else 1, height, width]
    channels = len(img.getbands()) if is_image(img) else (img.shape[2] if img.ndim == 3 else 1)
    return [channels, height, width]


def get_image_num_channels(img: Any) -> int:
    """Returns the number of channels.

    See Also
    --------
    torchvision.transforms.functional.get_dimensions, torchvision.transforms.functional.get_image_size

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.get_image_num_channels(image)
    3
    """
    return get_dimensions(img)[0]


def resized_crop(img: Any, top: int, left: int, height: int, width: int, size: Any,
                 interpolation: Any = InterpolationMode.BILINEAR, antialias: bool | None = True) -> Any:  # fmt: skip
    """Returns a part of an image, resized.

    See Also
    --------
    torchvision.transforms.functional.resize, torchvision.transforms.functional.pad,
    torchvision.transforms.functional.crop, torchvision.transforms.functional.center_crop

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.resized_crop(image, 0, 0, 2, 2, [4, 4]).size
    (4, 4)
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def _gaussian(size: int, sigma: float) -> Tensor:
    """Returns the weights of a Gaussian, whose sum is 1."""
    if size <= 0 or size % 2 == 0:
        raise ValueError(f"kernel_size should have odd and positive integers. Got {size}")
    if sigma <= 0:
        raise ValueError(f"sigma should have positive values. Got {sigma}")
    weights = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
    return _core.t_wrap(_core.from_numpy((weights / weights.sum()).astype(np.float32), "cpu"))


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Returns an image blurred by a Gaussian; its borders are reflected.

    Parameters
    ----------
    img : Tensor or Image
        A Pillow image, an array of bytes or a tensor.
    kernel_size : int or pair of ints
        The width and height of the Gaussian, or one number for both. They are odd.
    sigma : float or sequence of floats, optional
        The standard deviations, or one for both; by default `0.15 * kernel_size + 0.35`.

    Raises
    ------
    ValueError
        For an even size, or a standard deviation that is not positive.

    See Also
    --------
    torchvision.transforms.GaussianBlur

    Examples
    --------
    >>> TF.gaussian_blur(torch.ones(1, 3, 3), [3, 3])
    tensor([[[1., 1., 1.],
             [1., 1., 1.],
             [1., 1., 1.]]])
    """
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    given = [0.15 * n + 0.35 for n in sizes] if sigma is None else sigma
    given = [given] * 2 if isinstance(given, (int, float)) else list(given)
    across, down = (_gaussian(n, s) for n, s in zip(sizes, given, strict=True))
    if not isinstance(img, Tensor):
        return _as_given(gaussian_blur(pil_to_tensor(img), sizes, given), img)
    flat: Any = img.reshape(-1, 1, *img.dims[-2:]).float()
    x, y = sizes[0] // 2, sizes[1] // 2
    weight: Any = (down[:, None] * across).to(img.device)
    blurred = F.conv2d(F.pad(flat, (x, x, y, y), mode="reflect"), weight[None, None]).reshape(img.dims)
    return blurred.to(img.dtype) if img.is_floating_point() else blurred.round().to(img.dtype)


def _as_given(tensor: Any, like: Any) -> Any:
    """Returns a tensor (channels, height, width) as a Pillow image or an array, as another one is."""
    host = tensor.numpy()
    host = host[0] if host.shape[0] == 1 else host.transpose(1, 2, 0)
    return pillow().fromarray(np.ascontiguousarray(host)) if is_image(like) else host


def convert_image_dtype(image: Tensor, dtype: Any = None) -> Tensor:
    """Returns a tensor in another dtype, with values scaled: floats lie in [0, 1], integers in their whole range.

    Raises
    ------
    RuntimeError
        From floats to integers that cannot hold their range.

    See Also
    --------
    torchvision.transforms.functional.normalize, torchvision.transforms.functional.to_tensor,
    torchvision.transforms.functional.pil_to_tensor, torchvision.transforms.functional.to_pil_image

    Examples
    --------
    >>> TF.convert_image_dtype(torch.tensor([0, 255], dtype=torch.uint8))
    tensor([0., 1.])
    """
    target = DTYPES["float32"] if dtype is None else dtype
    wide: Any = image
    if image.dtype is target:
        return image
    if image.is_floating_point():
        if target.is_floating_point:
            return wide.to(target)
        most = iinfo(target).max
        if image.dtype_name == "float32" and target.name in ("int32", "int64"):
            raise RuntimeError(f"The cast from {image.dtype} to {target} cannot be performed safely.")
        return (wide * (most + 1 - 1e-3)).to(target)
    most = iinfo(image.dtype).max
    if target.is_floating_point:
        return wide.to(target) / most
    other = iinfo(target).max
    if most > other:
        return (wide // ((most + 1) // (other + 1))).to(target)
    return wide.to(target) * ((other + 1) // (most + 1))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Converts a tensor (channels, height, width) or an array to a Pillow image; floats in [0, 1] become bytes.

    See Also
    --------
    torchvision.transforms.functional.convert_image_dtype, torchvision.transforms.functional.normalize,
    torchvision.transforms.functional.to_tensor, torchvision.transforms.functional.pil_to_tensor

    Examples
    --------
    >>> TF.to_pil_image(torch.zeros(3, 2, 4)).size
    (4, 2)
    """
    if isinstance(pic, Tensor):
        host = pic.detach().to_numpy()
        if host.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {host.ndim} dimensions.")
        host = host if host.ndim == 2 else host.transpose(1, 2, 0)
        if host.dtype.kind == "f" and mode != "F":
            host = (host * 255).astype(np.uint8)
    elif isinstance(pic, np.ndarray):
        host = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    host = host[..., 0] if host.ndim == 3 and host.shape[-1] == 1 else host
    output = pillow().fromarray(np.ascontiguousarray(host))
    return output if mode is None or output.mode == mode else output.convert(mode)


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Returns `(x - mean) / std` for each channel, which is the third dimension from the end.

    See Also
    --------
    torchvision.transforms.functional.to_tensor, torchvision.transforms.functional.pil_to_tensor,
    torchvision.transforms.functional.to_pil_image, torchvision.transforms.functional.convert_image_dtype

    Examples
    --------
    >>> TF.normalize(torch.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got {tensor.shape}")
    if any(s == 0 for s in std):
        raise ValueError("std evaluated to zero, leading to division by zero.")
    if len(set(mean)) == len(set(std)) == 1:
        shift, scale = float(mean[0]), float(std[0])  # scalars avoid allocating arrays
        result = _core.t_map("divide", _core.t_map("subtract", tensor, shift), scale)
    else:
        columns = [_core.t_wrap(_core.from_numpy(np.asarray(v, np.float32).reshape(-1, 1, 1), tensor.device_name))
                   for v in (mean, std)]  # fmt: skip
        result = _core.t_map("divide", _core.t_map("subtract", tensor, columns[0]), columns[1])
    result = result if result.dtype_name == tensor.dtype_name else _core.t_cast(result, tensor.dtype_name)
    if not inplace:
        return result
    _core.t_update(tensor, result)
    return tensor


def resize(img: Any, size: Any, interpolation: Any = InterpolationMode.BILINEAR, max_size: int | None = None,
           antialias: bool | None = True) -> Any:  # fmt: skip
    """Resizes an image to (height, width); a single number is the length of the shorter edge.

    See Also
    --------
    torchvision.transforms.functional.pad, torchvision.transforms.functional.crop,
    torchvision.transforms.functional.center_crop, torchvision.transforms.functional.resized_crop

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.resize(image, [4, 8]).size
    (8, 4)
    """
    width, height = get_image_size(img)
    size = [size] if isinstance(size, int) else list(size)
    if len(size) == 2:
        if max_size is not None:
            raise ValueError("max_size should only be passed if size specifies the length of the smaller edge")
        target = (size[1], size[0])
    else:
        short, long = sorted((width, height))
        new_short, new_long = size[0], int(size[0] * long / short)
        if max_size is not None and new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
        target = (new_short, new_long) if width <= height else (new_long, new_short)
    if target == (width, height):
        return img
    if isinstance(img, Tensor):
        return _tensors.resize(img, target, _mode(interpolation), antialias)
    return _through_pillow(img, lambda picture: picture.resize(target, _filter(interpolation)))


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Crops an image; pixels outside it are 0.

    See Also
    --------
    torchvision.transforms.functional.center_crop, torchvision.transforms.functional.resized_crop,
    torchvision.transforms.functional.resize, torchvision.transforms.functional.pad

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> TF.crop(x, 0, 0, 2, 2)
    tensor([[[0.0000, 0.0625],
             [0.2500, 0.3125]]])
    """
    _check(img)
    if is_image(img):
        return img.crop((left, top, left + width, top + height))
    w, h = get_image_size(img)
    outside = [max(-left, 0), max(-top, 0), max(left + width - w, 0), max(top + height - h, 0)]
    if any(outside):
        img, top, left = pad(img, outside), top + outside[1], left + outside[0]
    if isinstance(img, Tensor):
        return img[..., top : top + height, left : left + width]
    return img[top : top + height, left : left + width]


def center_crop(img: Any, output_size: Any) -> Any:
    """Crops the center of an image, padding with zeros if the image is too small.

    See Also
    --------
    torchvision.transforms.functional.resized_crop, torchvision.transforms.functional.resize,
    torchvision.transforms.functional.pad, torchvision.transforms.functional.crop

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> TF.center_crop(x, [2, 2])
    tensor([[[0.3125, 0.3750],
             [0.5625, 0.6250]]])
    """
    th, tw = (output_size, output_size) if isinstance(output_size, int) else (output_size * 2)[:2]
    w, h = get_image_size(img)
    if tw > w or th > h:
        dw, dh = max(tw - w, 0), max(th - h, 0)
        img = pad(img, [dw // 2, dh // 2, (dw + 1) // 2, (dh + 1) // 2])
        w, h = get_image_size(img)
    return crop(img, round((h - th) / 2), round((w - tw) / 2), th, tw)


def hflip(img: Any) -> Any:
    """Mirrors left and right.

    See Also
    --------
    torchvision.transforms.functional.vflip, torchvision.transforms.functional.rotate

    Examples
    --------
    >>> TF.hflip(torch.tensor([[[1, 2, 3]]]))
    tensor([[[3, 2, 1]]])
    """
    _check(img)
    if is_image(img):
        return img.transpose(0)
    return _joining.flip(img, [-1]) if isinstance(img, Tensor) else img[:, ::-1]


def vflip(img: Any) -> Any:
    """Mirrors top and bottom.

    See Also
    --------
    torchvision.transforms.functional.rotate, torchvision.transforms.functional.hflip

    Examples
    --------
    >>> TF.vflip(torch.tensor([[[1], [2]]]))
    tensor([[[2],
             [1]]])
    """
    _check(img)
    if is_image(img):
        return img.transpose(1)
    return _joining.flip(img, [-2]) if isinstance(img, Tensor) else img[::-1]


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Adds borders to an image: one width, a pair for left/right and top/bottom, or four for left, top, right and
    bottom.

    See Also
    --------
    torchvision.transforms.functional.crop, torchvision.transforms.functional.center_crop,
    torchvision.transforms.functional.resized_crop, torchvision.transforms.functional.resize

    Examples
    --------
    >>> TF.pad(torch.ones(1, 1, 1), [1])
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """
    _check(img)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    widths = [padding] if isinstance(padding, int) else list(padding)
    if len(widths) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(widths)} element tuple")
    left, top, right, bottom = (widths * 4)[:4] if len(widths) < 4 else widths
    if isinstance(img, Tensor):
        return _tensors.pad(img, (left, right, top, bottom), fill, padding_mode)
    if is_image(img) and padding_mode == "constant":
        from PIL import ImageOps

        bands = len(img.getbands())  # a single number fills all bands; Pillow would fill only the first
        color = (int(fill),) * bands if bands > 1 and isinstance(fill, (int, float)) else fill
        return ImageOps.expand(img, (left, top, right, bottom), color)
    host = np.asarray(img)
    edges = [(top, bottom), (left, right), *[(0, 0)] * (host.ndim - 2)]
    options = {"constant_values": fill} if padding_mode == "constant" else {}
    output = np.pad(host, edges, padding_mode, **options)  # type: ignore[call-overload]
    return pillow().fromarray(output) if is_image(img) else output


def rotate(img: Any, angle: float, interpolation: Any = InterpolationMode.NEAREST, expand: bool = False,
           center: Any = None, fill: Any = None) -> Any:  # fmt: skip
    """Rotates an image counterclockwise by an angle in degrees.

    See Also
    --------
    torchvision.transforms.functional.hflip, torchvision.transforms.functional.vflip

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.rotate(image, 90, expand=True).size
    (2, 4)
    """
    if isinstance(img, Tensor):
        return _tensors.rotate(img, angle, _mode(interpolation), expand, center, fill)
    return _through_pillow(img, lambda picture: picture.rotate(
        angle, _filter(interpolation), expand, center, fillcolor=fill))  # fmt: skip


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Converts an image to gray, in one channel or in three equal ones.

    See Also
    --------
    torchvision.transforms.functional.adjust_brightness, torchvision.transforms.functional.adjust_contrast,
    torchvision.transforms.functional.adjust_saturation, torchvision.transforms.functional.adjust_hue

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> TF.to_grayscale(image).getpixel((0, 0))
    76
    """
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if isinstance(img, Tensor):
        return _tensors.to_grayscale(img, num_output_channels)
    gray = _through_pillow(img, lambda picture: picture.convert("L"))
    if num_output_channels == 1:
        return gray
    if is_image(gray):
        return pillow().merge("RGB", [gray] * 3)
    return np.stack([gray] * 3, -1)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Converts an image or a tensor to gray, in one channel or in three equal ones.

    See Also
    --------
    torchvision.transforms.functional.to_grayscale, torchvision.transforms.functional.adjust_saturation

    Examples
    --------
    >>> TF.rgb_to_grayscale(torch.ones(3, 1, 2))
    tensor([[[0.9999, 0.9999]]])
    """
    return to_grayscale(img, num_output_channels)


def _enhanced(name: str, kind: str, img: Any, factor: float) -> Any:
    """Returns an image after a class of Pillow's `ImageEnhance` has changed it."""
    if factor < 0:
        raise ValueError(f"{name}_factor {factor} is negative")
    if isinstance(img, Tensor):
        return getattr(_tensors, f"adjust_{name}")(img, factor)

    def change(picture: Any) -> Any:
        from PIL import ImageEnhance

        return getattr(ImageEnhance, kind)(picture).enhance(factor)

    return _through_pillow(img, change)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Changes the brightness of an image.

    Parameters
    ----------
    img : Tensor or Image
        A Pillow image, an array of uint8, or a tensor of one or three channels.
    brightness_factor : float
        0 gives a black image, 1 the original.

    Returns
    -------
    Tensor
        An image of the same kind.

    Raises
    ------
    ValueError
        If the factor is negative.

    See Also
    --------
    torchvision.transforms.functional.adjust_contrast, torchvision.transforms.functional.adjust_saturation,
    torchvision.transforms.functional.adjust_hue, torchvision.transforms.functional.to_grayscale

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.adjust_brightness(image, 0.5).getpixel((0, 0))
    (100, 50, 0)
    """
    return _enhanced("brightness", "Brightness", img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Changes the contrast of an image.

    Parameters
    ----------
    img : Tensor or Image
        A Pillow image, an array of uint8, or a tensor of one or three channels.
    contrast_factor : float
        0 gives a uniformly gray image, 1 the original.

    Returns
    -------
    Tensor
        An image of the same kind.

    Raises
    ------
    ValueError
        If the factor is negative.

    See Also
    --------
    torchvision.transforms.functional.adjust_saturation, torchvision.transforms.functional.adjust_hue,
    torchvision.transforms.functional.to_grayscale, torchvision.transforms.functional.adjust_brightness

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.adjust_contrast(image, 2.0).getpixel((0, 0))
    (255, 82, 0)
    """
    return _enhanced("contrast", "Contrast", img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Changes the saturation of an image.

    Parameters
    ----------
    img : Tensor or Image
        A Pillow image, an array of uint8, or a tensor of one or three channels.
    saturation_factor : float
        0 gives a gray image, 1 the original.

    Returns
    -------
    Tensor
        An image of the same kind.

    Raises
    ------
    ValueError
        If the factor is negative.

    See Also
    --------
    torchvision.transforms.functional.adjust_hue, torchvision.transforms.functional.to_grayscale,
    torchvision.transforms.functional.adjust_brightness, torchvision.transforms.functional.adjust_contrast

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.adjust_saturation(image, 0.0).getpixel((0, 0))
    (118, 118, 118)
    """
    return _enhanced("saturation", "Color", img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Rotates the hue by hue_factor in [-0.5, 0.5], a fraction of the color circle.

    See Also
    --------
    torchvision.transforms.functional.to_grayscale, torchvision.transforms.functional.adjust_brightness,
    torchvision.transforms.functional.adjust_contrast, torchvision.transforms.functional.adjust_saturation

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> TF.adjust_hue(image, 0.5).getpixel((0, 0))
    (0, 104, 200)
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if isinstance(img, Tensor):
        if _tensors.channels(img, 1, 3) == 1:
            return img
        return convert_image_dtype(_tensors.adjust_hue(convert_image_dtype(img), hue_factor), img.dtype)

    def change(picture: Any) -> Any:
        if picture.mode in ("L", "1", "I", "F"):
            return picture
        hue, saturation, value = picture.convert("HSV").split()
        shifted_hue = (np.asarray(hue).astype(np.int16) + math.floor(hue_factor * 255)) % 256
        parts = (pillow().fromarray(shifted_hue.astype(np.uint8)), saturation, value)
        return pillow().merge("HSV", parts).convert(picture.mode)

    return _through_pillow(img, change)
