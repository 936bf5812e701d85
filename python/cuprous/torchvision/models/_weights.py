"""Pretrained weights as enumerations, under torchvision's names. Their files are read from the local folder of
`torch.hub`, and never downloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from cuprous.torch import hub
from cuprous.torchvision import transforms
from cuprous.torchvision.models import _weight_files

URL = "https://download.pytorch.org/models/"
#: Models: the name of the enumeration, and the files of its members.
FILES = _weight_files.FILES | {
    "alexnet": ("AlexNet_Weights", "IMAGENET1K_V1=alexnet-owt-7be5be79.pth"),
    "vgg11": ("VGG11_Weights", "IMAGENET1K_V1=vgg11-8a719046.pth"),
    "vgg13": ("VGG13_Weights", "IMAGENET1K_V1=vgg13-19584684.pth"),
    "vgg16": (
        "VGG16_Weights",
        "IMAGENET1K_V1=vgg16-397923af.pth IMAGENET1K_FEATURES=vgg16_features-amdegroot-88682ab5.pth",
    ),
    "vgg19": ("VGG19_Weights", "IMAGENET1K_V1=vgg19-dcbb9e9d.pth"),
    "vgg11_bn": ("VGG11_BN_Weights", "IMAGENET1K_V1=vgg11_bn-6002323d.pth"),
    "vgg13_bn": ("VGG13_BN_Weights", "IMAGENET1K_V1=vgg13_bn-abd245e5.pth"),
    "vgg16_bn": ("VGG16_BN_Weights", "IMAGENET1K_V1=vgg16_bn-6c64b313.pth"),
    "vgg19_bn": ("VGG19_BN_Weights", "IMAGENET1K_V1=vgg19_bn-c79401a0.pth"),
    "resnet18": ("ResNet18_Weights", "IMAGENET1K_V1=resnet18-f37072fd.pth"),
    "resnet34": ("ResNet34_Weights", "IMAGENET1K_V1=resnet34-b627a593.pth"),
    "resnet50": ("ResNet50_Weights", "IMAGENET1K_V1=resnet50-0676ba61.pth IMAGENET1K_V2=resnet50-11ad3fa6.pth"),
    "resnet101": ("ResNet101_Weights", "IMAGENET1K_V1=resnet101-63fe2227.pth IMAGENET1K_V2=resnet101-cd907fc2.pth"),
    "resnet152": ("ResNet152_Weights", "IMAGENET1K_V1=resnet152-394f9c45.pth IMAGENET1K_V2=resnet152-f82ba261.pth"),
    "resnext50_32x4d": (
        "ResNeXt50_32X4D_Weights",
        "IMAGENET1K_V1=resnext50_32x4d-7cdf4587.pth IMAGENET1K_V2=resnext50_32x4d-1a0047aa.pth",
    ),
    "resnext101_32x8d": (
        "ResNeXt101_32X8D_Weights",
        "IMAGENET1K_V1=resnext101_32x8d-8ba56ff5.pth IMAGENET1K_V2=resnext101_32x8d-110c445d.pth",
    ),
    "wide_resnet50_2": (
        "Wide_ResNet50_2_Weights",
        "IMAGENET1K_V1=wide_resnet50_2-95faca4d.pth IMAGENET1K_V2=wide_resnet50_2-9ba9bcbe.pth",
    ),
    "wide_resnet101_2": (
        "Wide_ResNet101_2_Weights",
        "IMAGENET1K_V1=wide_resnet101_2-32ee1156.pth IMAGENET1K_V2=wide_resnet101_2-d733dc28.pth",
    ),
}


def _classification(crop_size: int, resize_size: int, interpolation: str = "bilinear",
                    centered: bool = False) -> transforms.Compose:  # fmt: skip
    """Returns the transforms with which the networks were evaluated."""
    mean, std = ((0.5,) * 3, (0.5,) * 3) if centered else ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    mode = transforms.InterpolationMode(interpolation)
    return transforms.Compose([
        transforms.Resize(resize_size, mode), transforms.CenterCrop(crop_size), transforms.ToTensor(),
        transforms.Normalize(mean, std),
    ])  # fmt: skip


@dataclass
class Weights:
    """A file of weights: its URL, the transforms of its inputs, and what is known of it.

    See Also
    --------
    torchvision.models.WeightsEnum, torchvision.models.get_weight

    Examples
    --------
    >>> models.ResNet18_Weights.DEFAULT.url[-23:]
    's/resnet18-f37072fd.pth'
    """

    url: str
    transforms: Any
    meta: dict[str, Any] = field(default_factory=dict)


class WeightsEnum(Enum):
    """The files of weights of one model.

    See Also
    --------
    torchvision.models.Weights, torchvision.models.get_model_weights

    Examples
    --------
    >>> models.ResNet18_Weights.DEFAULT.name
    'IMAGENET1K_V1'
    """

    @property
    def url(self) -> str:
        """The file's URL."""
        return str(self.value.url)

    @property
    def transforms(self) -> Any:
        """Returns the transforms of the inputs, when called."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """What is known of the weights."""
        found: dict[str, Any] = self.value.meta
        return found

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """Returns a member that is given as such, by name or as None.

        Raises
        ------
        ValueError
            For a name that is not a member's.
        TypeError
            For anything else.
        """
        if isinstance(obj, str):
            try:
                return cls[obj.replace(f"{cls.__name__}.", "")]
            except KeyError:
                raise ValueError(f"{obj!r} is not one of {', '.join(cls.__members__)}") from None
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}."
            )
        return obj

    def __reduce_ex__(self, _: Any, /) -> Any:
        """Pickles the member by its name: values differ between two runs."""
        return getattr, (type(self), self.name)

    def get_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the tensors of the file in the local folder: see `torch.hub.load_state_dict_from_url`."""
        return hub.load_state_dict_from_url(self.url, *args, **kwargs)


def enumeration(name: str, members: dict[str, Weights], package: str = "models") -> type[WeightsEnum]:
    """Returns an enumeration of weights, which a module of torchvision has."""
    create: Any = WeightsEnum
    made: type[WeightsEnum] = create(name, members, module=f"cuprous.torchvision.{package}")
    return made


def _enumeration(name: str, files: str) -> type[WeightsEnum]:
    members = {}
    for entry in files.split():
        member, row = entry.split("=")
        file, *more = row.split(":")
        crop, resize = map(int, more[:2]) if more else (224, 232 if member.endswith("V2") else 256)
        mode = "bicubic" if "bicubic" in more else "bilinear"
        made_by = partial(_classification, crop, resize, mode, "half" in more)
        members[member] = Weights(URL + file, made_by, {"num_classes": 1000})
    members["DEFAULT"] = list(members.values())[1 if "IMAGENET1K_V2" in members else 0]
    return enumeration(name, members)


WEIGHTS = {model: _enumeration(name, files) for model, (name, files) in FILES.items()}


def chosen(model: str, weights: Any, pretrained: Any) -> Any:
    """Returns the member of a model's weights that is requested, or None."""
    return WEIGHTS[model].verify("IMAGENET1K_V1" if pretrained and weights is None else weights)
