"""Networks whose results are feature maps of several scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch import nn
from cuprous.torchvision.models import _networks, mobilenetv3
from cuprous.torchvision.models._utils import IntermediateLayerGetter
from cuprous.torchvision.ops.misc import FrozenBatchNorm2d
from cuprous.torchvision.ops.pyramid import FeaturePyramidNetwork, LastLevelMaxPool


class BackboneWithFPN(nn.Module):
    """Layers of a network, and a feature pyramid of them.

    Parameters
    ----------
    backbone : Module
        The network.
    return_layers : dict of str to str
        The names of layers, and the names of their results.
    in_channels_list : list of ints
        The channels of these.
    out_channels : int
        The channels of the pyramid.
    extra_blocks : Module, optional
        What adds maps to it; `LastLevelMaxPool` by default.
    norm_layer : Module, optional
        The layer that normalizes, or None.
    """

    def __init__(self, backbone: nn.Module, return_layers: dict[str, str], in_channels_list: list[int],
                 out_channels: int, extra_blocks: Any = None, norm_layer: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        extra = LastLevelMaxPool() if extra_blocks is None else extra_blocks
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra, norm_layer)
        self.out_channels = out_channels

    def forward(self, x: Any) -> Any:
        """Returns the feature maps by name."""
        return self.fpn(self.body(x))


def _frozen(backbone: nn.Module, trained: tuple[str, ...]) -> None:
    """Leaves the parameters out of training whose names do not begin so."""
    for name, parameter in backbone.named_parameters():
        if not name.startswith(trained):
            parameter.requires_grad_(False)


def resnet_fpn_backbone(*, backbone_name: str, weights: Any, norm_layer: Callable[..., nn.Module] = FrozenBatchNorm2d,
                        trainable_layers: int = 3, returned_layers: list[int] | None = None,
                        extra_blocks: Any = None) -> BackboneWithFPN:  # fmt: skip
    """Returns a ResNet with a feature pyramid.

    Parameters
    ----------
    backbone_name : str
        The name of the ResNet.
    weights : Tensor
        Its weights, or None.
    norm_layer : callable, optional
        The layer that normalizes.
    trainable_layers : int, default 3
        The number of layers that are trained, 0 to 5, from the last one.
    returned_layers : list of ints, optional
        The layers of the pyramid, 1 to 4.
    extra_blocks : Module, optional
        What adds maps to it.

    Raises
    ------
    ValueError
        For numbers out of range.
    """
    backbone = getattr(_networks, backbone_name)(weights=weights, norm_layer=norm_layer)
    return resnet_fpn(backbone, trainable_layers, returned_layers, extra_blocks)


def resnet_fpn(backbone: Any, trainable_layers: int, returned_layers: list[int] | None = None, extra_blocks: Any = None,
               norm_layer: Any = None) -> BackboneWithFPN:  # fmt: skip
    """Returns a ResNet with a feature pyramid; arguments as for `resnet_fpn_backbone`."""
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ("layer4", "layer3", "layer2", "layer1", "conv1")[:trainable_layers]
    _frozen(backbone, (*trained, "bn1") if trainable_layers == 5 else trained)
    layers = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(layers) <= 0 or max(layers) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {layers}")
    width = backbone.inplanes // 8
    names = {f"layer{layer}": str(k) for k, layer in enumerate(layers)}
    channels = [width * 2 ** (layer - 1) for layer in layers]
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def trained_stages(blocks: Any, trainable_layers: int) -> list[int]:
    """Returns the first blocks of the stages of a MobileNet, and leaves the others than the last ones out of training.

    Stages begin with a stride; the last one is the last convolution.

    Raises
    ------
    ValueError
        For a number of stages out of range.
    """
    stages = [0, *(k for k, block in enumerate(blocks) if getattr(block, "_is_cn", False)), len(blocks) - 1]
    if not 0 <= trainable_layers <= len(stages):
        raise ValueError(f"Trainable layers should be in the range [0,{len(stages)}], got {trainable_layers}")
    begin = len(blocks) if trainable_layers == 0 else stages[len(stages) - trainable_layers]
    for block in list(blocks)[:begin]:
        for parameter in block.parameters():
            parameter.requires_grad_(False)
    return stages


def mobilenet_fpn(
    weights: Any, trainable_layers: int, norm_layer: Callable[..., nn.Module], progress: bool
) -> BackboneWithFPN:
    """Returns MobileNetV3-Large with a feature pyramid of its last two stages."""
    backbone = mobilenetv3.BUILDERS["mobilenet_v3_large"](
        weights=weights, norm_layer=norm_layer, progress=progress
    ).features
    stages = trained_stages(backbone, trainable_layers)
    chosen = [stages[-2], stages[-1]]
    channels = [backbone[k].out_channels for k in chosen]
    return BackboneWithFPN(backbone, {str(k): str(i) for i, k in enumerate(chosen)}, channels, 256)


__all__ = ["BackboneWithFPN", "resnet_fpn_backbone"]
