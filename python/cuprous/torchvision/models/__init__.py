"""Image networks under torchvision's names, with the same parameter names. Weights are read from local files: see
`torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Any

from cuprous.torchvision.models import (
    _inceptions,
    _networks,
    _task_weights,
    convnext,
    densenet,
    efficientnet,
    maxvit,
    mnasnet,
    mobilenetv2,
    mobilenetv3,
    regnet,
    shufflenetv2,
    squeezenet,
    swin_transformer,
    vision_transformer,
)
from cuprous.torchvision.models import detection as detection
from cuprous.torchvision.models import feature_extraction as feature_extraction
from cuprous.torchvision.models import (
    segmentation as segmentation,
)
from cuprous.torchvision.models._inceptions import (
    GoogLeNet,
    GoogLeNetOutputs,
    Inception3,
    InceptionOutputs,
    googlenet,
    inception_v3,
)
from cuprous.torchvision.models._networks import *  # noqa: F403
from cuprous.torchvision.models._weights import WEIGHTS, Weights, WeightsEnum
from cuprous.torchvision.models.convnext import ConvNeXt
from cuprous.torchvision.models.densenet import DenseNet
from cuprous.torchvision.models.efficientnet import EfficientNet
from cuprous.torchvision.models.maxvit import MaxVit
from cuprous.torchvision.models.mnasnet import MNASNet
from cuprous.torchvision.models.mobilenetv2 import MobileNetV2
from cuprous.torchvision.models.mobilenetv3 import MobileNetV3
from cuprous.torchvision.models.regnet import RegNet
from cuprous.torchvision.models.shufflenetv2 import ShuffleNetV2
from cuprous.torchvision.models.squeezenet import SqueezeNet
from cuprous.torchvision.models.swin_transformer import SwinTransformer
from cuprous.torchvision.models.vision_transformer import VisionTransformer

#: Modules of torchvision that contain these networks.
resnet = vgg = _networks
inception = _inceptions
_FAMILIES = (_inceptions, convnext, densenet, efficientnet, maxvit, mnasnet, mobilenetv2, mobilenetv3, regnet,
             shufflenetv2, squeezenet, swin_transformer, vision_transformer)  # fmt: skip
#: The functions that create networks.
BUILDERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(_networks, name) for name in WEIGHTS if hasattr(_networks, name)},
    **{name: create for family in _FAMILIES for name, create in family.BUILDERS.items()},
}
globals().update(BUILDERS)
#: All networks, those of `detection` and `segmentation` too, and their weights.
_ALL_BUILDERS = {
    **BUILDERS, **detection.BUILDERS, **segmentation.BUILDERS,
    "lraspp_mobilenet_v3_large": segmentation.lraspp_mobilenet_v3_large,
}  # fmt: skip
_ALL_WEIGHTS = WEIGHTS | _task_weights.WEIGHTS
globals().update({weights.__name__: weights for weights in WEIGHTS.values()})


def list_models(module: Any = None, include: Any = None, exclude: Any = None) -> list[str]:
    """Returns the names of the networks.

    Parameters
    ----------
    module : module, optional
        Lists only networks of this module.
    include : str or sequence of str, optional
        Patterns with wildcards, one of which must match.
    exclude : str or sequence of str, optional
        Patterns with wildcards, none of which may match.

    See Also
    --------
    torchvision.models.get_model, torchvision.models.get_model_builder

    Examples
    --------
    >>> models.list_models(include="resnet1*")
    ['resnet101', 'resnet152', 'resnet18']
    """

    def matches(name: str, patterns: Any) -> bool:
        return any(fnmatch.fnmatch(name, p) for p in ([patterns] if isinstance(patterns, str) else patterns))

    names = [name for name in sorted(_ALL_WEIGHTS) if module is None or hasattr(module, name)]
    names = [name for name in names if include is None or matches(name, include)]
    return [name for name in names if exclude is None or not matches(name, exclude)]


def get_model_builder(name: str) -> Callable[..., Any]:
    """Returns the function that creates a network.

    Raises
    ------
    ValueError
        For an unknown name.

    See Also
    --------
    torchvision.models.get_model, torchvision.models.list_models

    Examples
    --------
    >>> models.get_model_builder("resnet18").__name__
    'resnet18'
    """
    if name.lower() not in _ALL_WEIGHTS:
        raise ValueError(f"Unknown model {name}")
    return _ALL_BUILDERS[name.lower()]


def get_model(name: str, **config: Any) -> Any:
    """Returns a network by its name.

    See Also
    --------
    torchvision.models.list_models, torchvision.models.get_model_builder

    Examples
    --------
    >>> with torch.device("meta"):
    ...     model = models.get_model("resnet18", num_classes=10)
    >>> model.fc.out_features
    10
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Any) -> type[WeightsEnum]:
    """Returns the weights of a network, given by its name or function.

    See Also
    --------
    torchvision.models.get_weight, torchvision.models.WeightsEnum

    Examples
    --------
    >>> models.get_model_weights("resnet18").DEFAULT.name
    'IMAGENET1K_V1'
    """
    return _ALL_WEIGHTS[name if isinstance(name, str) else name.__name__]


def get_weight(name: str) -> WeightsEnum:
    """Returns weights by their full name, such as "ResNet50_Weights.IMAGENET1K_V1".

    Raises
    ------
    ValueError
        For an unknown name.

    See Also
    --------
    torchvision.models.get_model_weights, torchvision.models.WeightsEnum

    Examples
    --------
    >>> models.get_weight("ResNet18_Weights.IMAGENET1K_V1").name
    'IMAGENET1K_V1'
    """
    group, _, member = name.partition(".")
    for weights in _ALL_WEIGHTS.values():
        if weights.__name__ == group and member in weights.__members__:
            return weights[member]
    raise ValueError(f"The weight enum '{name}' does not exist.")


__all__ = [
    "WEIGHTS", "ConvNeXt", "DenseNet", "EfficientNet", "GoogLeNet", "GoogLeNetOutputs", "Inception3",
    "InceptionOutputs", "MNASNet", "MaxVit", "MobileNetV2", "MobileNetV3", "RegNet", "ShuffleNetV2", "SqueezeNet",
    "SwinTransformer", "VisionTransformer", "Weights", "WeightsEnum", "get_model", "get_model_builder",
    "get_model_weights", "get_weight", "googlenet", "inception_v3", "list_models", *_networks.__all__, *BUILDERS,
]  # fmt: skip
