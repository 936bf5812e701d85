"""Transforms of images. Random ones draw from the default generator, so `torch.manual_seed` makes them reproducible."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.utils.data._samplers import host_numbers
from cuprous.torchvision.transforms import functional
from cuprous.torchvision.transforms.functional import InterpolationMode

F = functional


class Compose:
    """Applies transforms one after another.

    See Also
    --------
    torchvision.transforms.Lambda, torchvision.transforms.RandomApply

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
    >>> prepare(image).shape
    torch.Size([3, 2, 4])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Returns the transformed image."""
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "Compose(\n" + "".join(f"    {t}\n" for t in self.transforms) + ")"


class _Transform:
    """The base class of transforms, whose `repr` shows the attributes as settings."""

    def __call__(self, img: Any) -> Any:
        """Returns the transformed image."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ToTensor(_Transform):
    """Converts an image or array of bytes to a float tensor (channels, height, width) in [0, 1].

    See Also
    --------
    torchvision.transforms.PILToTensor, torchvision.transforms.ToPILImage, torchvision.transforms.Normalize

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.ToTensor()(image)[0]
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])
    """

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)


class PILToTensor(_Transform):
    """Converts an image to a uint8 tensor (channels, height, width).

    See Also
    --------
    torchvision.transforms.ToPILImage, torchvision.transforms.Normalize, torchvision.transforms.ToTensor

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.PILToTensor()(image)[0]
    tensor([[255, 255, 255, 255],
            [255, 255, 255, 255]], dtype=torch.uint8)
    """

    def __call__(self, pic: Any) -> Tensor:
        return _core.t_wrap(_core.from_numpy(np.ascontiguousarray(F.pil_array(pic)), "cpu"))


class ToPILImage(_Transform):
    """Converts a tensor or array to a Pillow image.

    See Also
    --------
    torchvision.transforms.Normalize, torchvision.transforms.ToTensor, torchvision.transforms.PILToTensor

    Examples
    --------
    >>> transforms.ToPILImage()(torch.zeros(3, 2, 4)).size
    (4, 2)
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)


class Normalize(_Transform):
    """Normalizes each channel of a tensor to `(x - mean) / std`.

    See Also
    --------
    torchvision.transforms.ToTensor, torchvision.transforms.PILToTensor, torchvision.transforms.ToPILImage

    Examples
    --------
    >>> transforms.Normalize([0.5], [0.25])(torch.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = mean, std, inplace

    def __call__(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class Resize(_Transform):
    """Resizes to (height, width); a single number is the length of the shorter edge.

    See Also
    --------
    torchvision.transforms.Pad, torchvision.transforms.CenterCrop, torchvision.transforms.RandomCrop,
    torchvision.transforms.RandomResizedCrop

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.Resize((4, 8))(image).size
    (8, 4)
    """

    def __init__(self, size: Any, interpolation: Any = InterpolationMode.BILINEAR, max_size: int | None = None,
                 antialias: bool | None = True) -> None:  # fmt: skip
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias

    def __call__(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


def _pair(size: Any) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    size = tuple(size)
    if len(size) not in (1, 2):
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return size[0], size[-1]


class CenterCrop(_Transform):
    """Crops the center.

    See Also
    --------
    torchvision.transforms.RandomCrop, torchvision.transforms.RandomResizedCrop, torchvision.transforms.Resize,
    torchvision.transforms.Pad

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> transforms.CenterCrop(2)(x)
    tensor([[[0.3125, 0.3750],
             [0.5625, 0.6250]]])
    """

    def __init__(self, size: Any) -> None:
        self.size = _pair(size)

    def __call__(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


class Pad(_Transform):
    """Adds borders.

    See Also
    --------
    torchvision.transforms.CenterCrop, torchvision.transforms.RandomCrop, torchvision.transforms.RandomResizedCrop,
    torchvision.transforms.Resize

    Examples
    --------
    >>> transforms.Pad(1)(torch.ones(1, 1, 1))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def __call__(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class RandomCrop(_Transform):
    """Crops at a random position, after optional padding.

    See Also
    --------
    torchvision.transforms.RandomResizedCrop, torchvision.transforms.Resize, torchvision.transforms.Pad,
    torchvision.transforms.CenterCrop

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> transforms.RandomCrop(2)(x).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0,
                 padding_mode: str = "constant") -> None:  # fmt: skip
        self.size, self.padding, self.pad_if_needed = _pair(size), padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    def __call__(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        (height, width), (w, h) = self.size, F.get_image_size(img)
        if self.pad_if_needed and (w < width or h < height):
            img = F.pad(img, [max(width - w, 0), max(height - h, 0)], self.fill, self.padding_mode)
            w, h = F.get_image_size(img)
        if w < width or h < height:
            raise ValueError(f"Required crop size {self.size} is larger than input image size {(h, w)}")
        numbers = host_numbers()
        top, left = int(numbers.integers(h - height + 1)), int(numbers.integers(w - width + 1))
        return F.crop(img, top, left, height, width)


class RandomResizedCrop(_Transform):
    """Crops a part of random size and aspect ratio and resizes it to a fixed size.

    See Also
    --------
    torchvision.transforms.Resize, torchvision.transforms.Pad, torchvision.transforms.CenterCrop,
    torchvision.transforms.RandomCrop

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.RandomResizedCrop(2)(image).size
    (2, 2)
    """

    def __init__(self, size: Any, scale: tuple[float, float] = (0.08, 1.0), ratio: tuple[float, float] = (3 / 4, 4 / 3),
                 interpolation: Any = InterpolationMode.BILINEAR, antialias: bool | None = True) -> None:  # fmt: skip
        self.size, self.scale, self.ratio = _pair(size), scale, ratio
        self.interpolation, self.antialias = interpolation, antialias

    def __call__(self, img: Any) -> Any:
        numbers, (w, h) = host_numbers(), F.get_image_size(img)
        for _ in range(10):
            area = w * h * numbers.uniform(*self.scale)
            ratio = math.exp(numbers.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < width <= w and 0 < height <= h:
                top, left = int(numbers.integers(h - height + 1)), int(numbers.integers(w - width + 1))
                break
        else:  # no sample fits: crop the largest centered part with an allowed aspect ratio
            width = min(w, round(h * self.ratio[1])) if w / h > self.ratio[1] else w
            height = min(h, round(w / self.ratio[0])) if w / h < self.ratio[0] else h
            top, left = (h - height) // 2, (w - width) // 2
        return F.resized_crop(img, top, left, height, width, self.size, self.interpolation, self.antialias)


class RandomHorizontalFlip(_Transform):
    """Mirrors left and right with probability p.

    See Also
    --------
    torchvision.transforms.RandomVerticalFlip, torchvision.transforms.RandomRotation

    Examples
    --------
    >>> transforms.RandomHorizontalFlip(p=1)(torch.tensor([[[1, 2, 3]]]))
    tensor([[[3, 2, 1]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return F.hflip(img) if host_numbers().random() < self.p else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """Mirrors top and bottom with probability p.

    See Also
    --------
    torchvision.transforms.RandomRotation, torchvision.transforms.RandomHorizontalFlip

    Examples
    --------
    >>> transforms.RandomVerticalFlip(p=1)(torch.tensor([[[1], [2]]]))
    tensor([[[2],
             [1]]])
    """

    def __call__(self, img: Any) -> Any:
        return F.vflip(img) if host_numbers().random() < self.p else img


class RandomRotation(_Transform):
    """Rotates counterclockwise by a random angle from [-degrees, degrees] or from a range.

    See Also
    --------
    torchvision.transforms.RandomHorizontalFlip, torchvision.transforms.RandomVerticalFlip

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (200, 100, 0))
    >>> transforms.RandomRotation(10)(image).size
    (4, 2)
    """

    def __init__(self, degrees: Any, interpolation: Any = InterpolationMode.NEAREST, expand: bool = False,
                 center: Any = None, fill: Any = 0) -> None:  # fmt: skip
        if isinstance(degrees, (int, float)):
            if degrees < 0:
                raise ValueError("If degrees is a single number, it must be positive.")
            degrees = (-degrees, degrees)
        self.degrees, self.interpolation, self.expand = tuple(degrees), interpolation, expand
        self.center, self.fill = center, fill

    def __call__(self, img: Any) -> Any:
        angle = float(host_numbers().uniform(*self.degrees))
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


class ColorJitter(_Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    See Also
    --------
    torchvision.transforms.Grayscale, torchvision.transforms.RandomGrayscale, torchvision.transforms.GaussianBlur

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> transforms.ColorJitter(brightness=0)(x).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        self.brightness = self._range("brightness", brightness)
        self.contrast = self._range("contrast", contrast)
        self.saturation = self._range("saturation", saturation)
        self.hue = self._range("hue", hue, 0.0, (-0.5, 0.5))

    @staticmethod
    def _range(name: str, value: Any, center: float = 1.0,
               bound: tuple[float, float] = (0.0, math.inf)) -> tuple[float, float] | None:  # fmt: skip
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            value = (max(center - value, 0.0) if center else -value, center + value)
        if not bound[0] <= value[0] <= value[1] <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {value}.")
        return None if value[0] == value[1] == center else (float(value[0]), float(value[1]))

    def __call__(self, img: Any) -> Any:
        numbers = host_numbers()
        changes = [(F.adjust_brightness, self.brightness), (F.adjust_contrast, self.contrast),
                   (F.adjust_saturation, self.saturation), (F.adjust_hue, self.hue)]  # fmt: skip
        for k in numbers.permutation(4):
            change, between = changes[k]
            if between is not None:
                img = change(img, float(numbers.uniform(*between)))
        return img


class Grayscale(_Transform):
    """Converts to gray, in one channel or in three equal ones.

    See Also
    --------
    torchvision.transforms.RandomGrayscale, torchvision.transforms.GaussianBlur, torchvision.transforms.ColorJitter

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.Grayscale()(image).mode
    'L'
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def __call__(self, img: Any) -> Any:
        return F.to_grayscale(img, self.num_output_channels)


class GaussianBlur(_Transform):
    """Blurs with a Gaussian of a random standard deviation from a range, or of one standard deviation.

    See Also
    --------
    torchvision.transforms.ColorJitter, torchvision.transforms.Grayscale, torchvision.transforms.RandomGrayscale

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> transforms.GaussianBlur(3)(x).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        self.kernel_size = kernel_size
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)

    def __call__(self, img: Any) -> Any:
        return F.gaussian_blur(img, self.kernel_size, float(host_numbers().uniform(*self.sigma)))


class RandomGrayscale(_Transform):
    """Converts to gray with probability p, and keeps the number of channels.

    See Also
    --------
    torchvision.transforms.GaussianBlur, torchvision.transforms.ColorJitter, torchvision.transforms.Grayscale

    Examples
    --------
    >>> image = Image.new("RGB", (4, 2), (255, 0, 0))
    >>> transforms.RandomGrayscale(p=1)(image).getpixel((0, 0))
    (76, 76, 76)
    """

    def __init__(self, p: float = 0.1) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return F.to_grayscale(img, F.get_dimensions(img)[0]) if host_numbers().random() < self.p else img


class RandomErasing(_Transform):
    """Overwrites a rectangle of a tensor with probability p.

    Raises
    ------
    TypeError
        For anything but a tensor.

    See Also
    --------
    torchvision.transforms.RandomCrop

    Examples
    --------
    >>> transforms.RandomErasing(p=0)(torch.ones(1, 2, 2))
    tensor([[[1., 1.],
             [1., 1.]]])
    """

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
                 value: Any = 0, inplace: bool = False) -> None:  # fmt: skip
        if not (isinstance(value, (int, float, tuple, list)) or value == "random"):
            raise ValueError("If value is str, it should be 'random'")
        self.p, self.scale, self.ratio, self.value, self.inplace = p, tuple(scale), tuple(ratio), value, inplace

    def __call__(self, img: Any) -> Any:
        if not isinstance(img, Tensor):
            raise TypeError(f"expected a tensor, got {type(img).__name__}; apply it after ToTensor")
        numbers = host_numbers()
        if numbers.random() >= self.p:
            return img
        channels, height, width = img.dims[-3:]
        for _ in range(10):
            area = height * width * float(numbers.uniform(self.scale[0], self.scale[1]))
            aspect = math.exp(float(numbers.uniform(math.log(self.ratio[0]), math.log(self.ratio[1]))))
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if h < height and w < width:
                break
        else:
            return img
        top, left = int(numbers.integers(height - h + 1)), int(numbers.integers(width - w + 1))
        result = img if self.inplace else img.clone()
        part = result[..., top : top + h, left : left + w]
        if self.value == "random":
            part.normal_()
        else:
            values = self.value if isinstance(self.value, (tuple, list)) else [self.value]
            if len(values) not in (1, channels):
                raise ValueError(
                    f"If value is a sequence, it should have 1 or {channels} (number of input channels) values"
                )
            for k in range(channels):
                part[..., k, :, :] = values[k % len(values)]
        return result


class Lambda(_Transform):
    """Applies a user-defined function.

    See Also
    --------
    torchvision.transforms.RandomApply, torchvision.transforms.Compose

    Examples
    --------
    >>> transforms.Lambda(lambda x: x * 2)(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)


class RandomApply(_Transform):
    """Applies a list of transforms with probability p.

    See Also
    --------
    torchvision.transforms.Compose, torchvision.transforms.Lambda

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 4, 4) / 16
    >>> transforms.RandomApply([transforms.RandomHorizontalFlip(1)], p=0)(x).equal(x)
    True
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        self.transforms, self.p = transforms, p

    def __call__(self, img: Any) -> Any:
        return Compose(self.transforms)(img) if host_numbers().random() < self.p else img


__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "GaussianBlur", "Grayscale", "InterpolationMode", "Lambda", "Normalize",
    "PILToTensor", "Pad", "RandomApply", "RandomCrop", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip",
    "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToPILImage", "ToTensor", "functional",
]  # fmt: skip
