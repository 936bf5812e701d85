"""Boxes, pooling of regions, deformable convolutions, and layers that image networks are built of."""

from cuprous.torchvision.ops import boxes, deformable, losses, misc, regions
from cuprous.torchvision.ops import pyramid as feature_pyramid_network
from cuprous.torchvision.ops import pyramid as poolers
from cuprous.torchvision.ops.boxes import *  # noqa: F403
from cuprous.torchvision.ops.deformable import *  # noqa: F403
from cuprous.torchvision.ops.losses import *  # noqa: F403
from cuprous.torchvision.ops.misc import *  # noqa: F403
from cuprous.torchvision.ops.pyramid import *  # noqa: F403
from cuprous.torchvision.ops.regions import *  # noqa: F403

__all__ = [
    "boxes", "feature_pyramid_network", "misc", "poolers", *boxes.__all__, *deformable.__all__, *losses.__all__,
    *misc.__all__, *feature_pyramid_network.__all__, *regions.__all__,
]  # fmt: skip
