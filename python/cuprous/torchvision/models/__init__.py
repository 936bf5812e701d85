"""Image networks under torchvision's names, with the same parameter names: ResNets, VGGs and AlexNet. Weights
are read from local files: see `torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Any

from cuprous._unsupported import unsupported_function
from cuprous.torchvision.models import _networks
from cuprous.torchvision.models._networks import *  # noqa: F403
from cuprous.torchvision.models._weights import WEIGHTS, Weights, WeightsEnum

#: Modules of torchvision that contain these networks.
resnet = vgg = _networks
globals().update({weights.__name__: weights for weights in WEIGHTS.values()})

_OTHERS = (
    "convnext_tiny convnext_small convnext_base convnext_large densenet121 densenet161 densenet169 densenet201 "
    "efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 efficientnet_b6 "
    "efficientnet_b7 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l googlenet inception_v3 maxvit_t mnasnet0_5 "
    "mnasnet1_0 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_y_400mf shufflenet_v2_x0_5 "
    "shufflenet_v2_x1_0 "
    "squeezenet1_0 squeezenet1_1 swin_t swin_s swin_b swin_v2_t swin_v2_s swin_v2_b vit_b_16 vit_b_32 vit_l_16 vit_l_32"
)
for _name in _OTHERS.split():
    globals()[_name] = unsupported_function(_name, "create the network with timm", "torchvision.models.")


def list_models(module: Any = None, include: Any = None, exclude: Any = None) -> list[str]:
    """Returns the names of the networks.

    Args:
        module: lists only networks of this module.
        include: patterns with wildcards, one of which must match.
        exclude: patterns with wildcards, none of which may match.
    """

    def matches(name: str, patterns: Any) -> bool:
        return any(fnmatch.fnmatch(name, p) for p in ([patterns] if isinstance(patterns, str) else patterns))

    names = [name for name in sorted(WEIGHTS) if module is None or hasattr(module, name)]
    names = [name for name in names if include is None or matches(name, include)]
    return [name for name in names if exclude is None or not matches(name, exclude)]


def get_model_builder(name: str) -> Callable[..., Any]:
    """Returns the function that creates a network.

    Raises:
        ValueError: for an unknown name.
    """
    if name.lower() not in WEIGHTS:
        raise ValueError(f"Unknown model {name}")
    found: Callable[..., Any] = getattr(_networks, name.lower())
    return found


def get_model(name: str, **config: Any) -> Any:
    """Returns a network by its name."""
    return get_model_builder(name)(**config)


def get_model_weights(name: Any) -> type[WeightsEnum]:
    """Returns the weights of a network, given by its name or function."""
    return WEIGHTS[name if isinstance(name, str) else name.__name__]


def get_weight(name: str) -> WeightsEnum:
    """Returns weights by their full name, such as "ResNet50_Weights.IMAGENET1K_V1".

    Raises:
        ValueError: for an unknown name.
    """
    group, _, member = name.partition(".")
    for weights in WEIGHTS.values():
        if weights.__name__ == group and member in weights.__members__:
            return weights[member]
    raise ValueError(f"The weight enum '{name}' does not exist.")


__all__ = ["WEIGHTS", "Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight",
           "list_models", *_networks.__all__]  # fmt: skip
