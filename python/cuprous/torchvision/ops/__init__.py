"""Boxes, and layers that image networks are built of. Pooling of regions and deformable convolutions raise."""

from cuprous._unsupported import unsupported_function
from cuprous.torchvision.ops import boxes, misc
from cuprous.torchvision.ops.boxes import *  # noqa: F403
from cuprous.torchvision.ops.misc import *  # noqa: F403

_ABSENT = (
    "roi_align roi_pool ps_roi_align ps_roi_pool RoIAlign RoIPool PSRoIAlign PSRoIPool deform_conv2d DeformConv2d "
    "MultiScaleRoIAlign FeaturePyramidNetwork"
)
for _name in _ABSENT.split():
    globals()[_name] = unsupported_function(
        _name, "cut the regions with indexing and nn.functional.interpolate", "ops."
    )

__all__ = ["boxes", "misc", *boxes.__all__, *misc.__all__]
