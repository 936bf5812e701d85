"""Calls of torchvision's ops with fixed inputs: what golden_vision_ops.json has of torchvision itself.

`python -m tests.torch.vision_ops FILE` writes it where PyTorch and torchvision are installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("golden_vision_ops.json")


class Calls:
    """The results of calls with one of the libraries, by name."""

    def __init__(self, torch: Any, tv: Any) -> None:
        self.torch, self.ops = torch, tv.ops
        self.rng = np.random.default_rng(0)
        self.results: dict[str, Any] = {}

    def tensor(self, values: Any, grad: bool = False) -> Any:
        """Returns a tensor that may require a gradient."""
        t = self.torch.tensor(values)
        return t.requires_grad_() if grad else t

    def normal(self, *shape: int) -> Any:
        """Returns normal random numbers."""
        return self.rng.standard_normal(shape).astype("f4")

    def boxes(self, n: int, size: float = 20.0, shift: float = 0.0) -> Any:
        """Returns random boxes (n, 4)."""
        corner = self.rng.random((n, 2)) * size - shift
        return np.concatenate([corner, corner + self.rng.random((n, 2)) * size * 0.7], 1).astype("f4")

    def put(self, name: str, *values: Any) -> None:
        """Records the shape of each value, its sum and 24 of its elements; text as it is."""
        for k, value in enumerate(values):
            if isinstance(value, str):
                self.results[f"{name}.{k}"] = value
                continue
            a = np.asarray(value.detach().cpu().numpy())
            some = a.reshape(-1)[:: max(1, a.size // 24)][:24]
            facts = [list(a.shape), str(a.dtype), float(a.sum(dtype="f8")), float(np.abs(a).sum(dtype="f8"))]
            self.results[f"{name}.{k}"] = [*facts, [float(f"{x:.6g}") for x in some.tolist()]]

    def gradients(self, name: str, call: Callable[..., Any], *inputs: Any) -> None:
        """Records a call's result, and the gradients of the sum of its squares."""
        leaves = [self.tensor(values, True) for values in inputs]
        y = call(*leaves)
        (y * y).sum().backward()
        self.put(name, y, *(leaf.grad for leaf in leaves))


def _regions(c: Calls) -> None:
    ops, image = c.ops, c.normal(2, 8, 17, 23)
    rois = c.tensor(np.concatenate([c.rng.integers(0, 2, (9, 1)).astype("f4"), c.boxes(9, shift=3)], 1))
    inner = c.tensor(np.concatenate([np.ones((5, 1), "f4"), c.boxes(5, 9)], 1))
    for scale in (1.0, 0.5):
        for ratio in (-1, 2):
            for aligned in (False, True):
                options = {"output_size": (3, 4), "spatial_scale": scale, "sampling_ratio": ratio, "aligned": aligned}
                call = partial(ops.roi_align, boxes=rois, **options)
                c.gradients(f"roi_align {scale} {ratio} {aligned}", call, image)
            c.gradients(
                f"ps_roi_align {scale} {ratio}",
                partial(ops.ps_roi_align, boxes=rois, output_size=2, spatial_scale=scale, sampling_ratio=ratio),
                image,
            )
        c.gradients(
            f"roi_pool {scale}", partial(ops.roi_pool, boxes=rois, output_size=(3, 4), spatial_scale=scale), image
        )
        c.put(f"ps_roi_pool at edges {scale}", ops.ps_roi_pool(c.tensor(image), rois, 2, scale))
        c.gradients(
            f"ps_roi_pool {scale}", partial(ops.ps_roi_pool, boxes=inner, output_size=2, spatial_scale=scale), image
        )
    listed = [c.tensor(c.boxes(3)), c.tensor(np.zeros((0, 4), "f4")), c.tensor(c.boxes(2))]
    ties = np.maximum(c.normal(3, 4, 9, 9), 0)
    c.gradients("roi_pool list", lambda x: ops.roi_pool(x, listed, 3, 0.4), ties)
    c.put("roi_align list", ops.roi_align(c.tensor(ties), listed, 3, 0.4, 2))
    c.put("roi_align none", ops.roi_align(c.tensor(ties), c.tensor(np.zeros((0, 5), "f4")), 3, 0.4, 2))
    layers = ops.RoIAlign(3, 0.5, 2), ops.RoIPool((2, 2), 0.5), ops.PSRoIAlign(2, 0.5, 2), ops.PSRoIPool(2, 0.5)
    for layer in layers:
        c.put(type(layer).__name__, layer(c.tensor(image), rois), repr(layer))


def _boxes(c: Calls) -> None:
    ops, first, second = c.ops, c.boxes(6), c.boxes(4)
    for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
        c.gradients(name, getattr(ops, name), first, second)
    for name in ("generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"):
        for reduction in ("none", "mean", "sum"):
            call = partial(getattr(ops, name), reduction=reduction)
            c.gradients(f"{name} {reduction}", call, first[:4], second)
    whole, other = ((b * 10).astype("i8") for b in (first, second))
    c.put("box_area", *(ops.box_area(c.tensor(first), fmt) for fmt in ("xyxy", "xywh", "cxcywh")))
    c.put("box_area int16", ops.box_area(c.tensor((first * 100).astype("i2"))))
    c.put("box_iou int64", ops.box_iou(c.tensor(whole), c.tensor(other)))
    c.put("box_iou cxcywh", ops.box_iou(c.tensor(first), c.tensor(second), "cxcywh"))
    c.put("box_iou batch", ops.box_iou(c.tensor(first.reshape(2, 3, 4)), c.tensor(second.reshape(2, 2, 4))))
    many, scores = c.tensor(c.boxes(40)), c.tensor(c.rng.random(40).astype("f4"))
    c.put("nms", ops.nms(many, scores, 0.3))
    c.put("batched_nms", ops.batched_nms(many, scores, c.tensor(c.rng.integers(0, 3, 40)), 0.3))


def _deformable(c: Calls) -> None:
    image = c.normal(2, 8, 11, 9)
    cases: list[tuple[Any, ...]] = [(1, 1, 1, 1, 1, True), (2, 2, 2, 0, 1, True), (4, 1, (1, 2), (2, 1), (2, 1), False)]
    for groups, parts, stride, padding, dilation, masked in cases:
        s, p, d = ((v, v) if isinstance(v, int) else v for v in (stride, padding, dilation))
        rows, columns = ((11, 9)[i] + 2 * p[i] - d[i] * (2 - i) - 1 for i in (0, 1))
        extents = rows // s[0] + 1, columns // s[1] + 1
        inputs = [image, c.normal(2, 12 * groups, *extents) * 3, c.normal(6, 8 // parts, 3, 2), c.normal(6)]
        inputs += [c.rng.random((2, 6 * groups, *extents)).astype("f4")] if masked else []

        def call(x: Any, offset: Any, weight: Any, bias: Any, mask: Any = None) -> Any:
            options = {"stride": stride, "padding": padding, "dilation": dilation, "mask": mask}  # noqa: B023
            return c.ops.deform_conv2d(x, offset, weight, bias, **options)

        c.gradients(f"deform_conv2d {groups} {parts}", call, *inputs)
    layer = c.ops.DeformConv2d(8, 6, (3, 2), stride=2, padding=1, groups=2, bias=False)
    c.put("DeformConv2d", repr(layer), " ".join(layer.state_dict()))


def _pyramid(c: Calls) -> None:
    ops = c.ops
    for name, extra in (("p6p7", ops.feature_pyramid_network.LastLevelP6P7(6, 5)),
                        ("pool", ops.feature_pyramid_network.LastLevelMaxPool())):  # fmt: skip
        network = ops.FeaturePyramidNetwork([4, 8, 6], 5, extra_blocks=extra)
        state = {key: tuple(value.shape) for key, value in network.state_dict().items()}
        network.load_state_dict({key: c.tensor(c.normal(*shape)) for key, shape in state.items()})
        c.put(f"pyramid {name}", " ".join(f"{key}{shape}" for key, shape in state.items()))
        inputs = [c.normal(2, n, size, size) for n, size in ((4, 16), (8, 8), (6, 4))]

        def call(*maps: Any) -> Any:
            found = network(dict(zip("abc", maps, strict=True)))  # noqa: B023
            c.put(f"maps {name}", " ".join(found), *found.values())  # noqa: B023
            return c.torch.stack([m.mean() for m in found.values()])

        c.gradients(f"pyramid {name} gradients", call, *inputs)
    pool = ops.MultiScaleRoIAlign(["a", "b", "c"], 3, 2)
    boxes = [c.tensor(c.boxes(7, 100.0)), c.tensor(c.boxes(3, 30.0))]
    inputs = [c.normal(2, 3, size, size) for size in (32, 16, 8)]
    shapes = [(128, 128), (125, 100)]
    c.gradients("MultiScaleRoIAlign", lambda *m: pool(dict(zip("abc", m, strict=True)), boxes, shapes), *inputs)
    c.put("text", repr(pool), repr(ops.DropBlock2d(0.5, 3)), repr(ops.DropBlock3d(0.5, 3)))


def results(torch: Any, tv: Any) -> dict[str, Any]:
    """Returns the results of all calls with a library."""
    calls = Calls(torch, tv)
    for group in (_regions, _boxes, _deformable, _pyramid):
        group(calls)
    return calls.results


if __name__ == "__main__":
    import torch as reference
    import torchvision

    found = {"version": torchvision.__version__} | results(reference, torchvision)
    Path(sys.argv[1]).write_text(json.dumps(found, separators=(",", ":")) + "\n")
