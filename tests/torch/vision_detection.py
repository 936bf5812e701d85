"""Detectors with fixed weights: what golden_vision_detection.json has of torchvision itself.

`python -m tests.torch.vision_detection FILE` writes it where PyTorch and torchvision are installed.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("golden_vision_detection.json")
SMALL = {"min_size": 64, "max_size": 96, "box_score_thresh": 0.01, "box_detections_per_img": 10}


def networks(torch: Any, tv: Any) -> dict[str, Any]:
    """Returns a network of each kind, of small ones."""
    found, nn = tv.models.detection, torch.nn
    backbone = found.backbone_utils.resnet_fpn_backbone
    base = {"backbone_name": "resnet18", "weights": None, "norm_layer": nn.BatchNorm2d, "trainable_layers": 5}
    head = found.faster_rcnn.TwoMLPHead(256 * 49, 1024)
    one_stage = {"min_size": 64, "max_size": 96, "score_thresh": 0.01, "detections_per_img": 10}

    class Pyramid(nn.Module):  # type: ignore[name-defined, misc]
        """Five maps of 32 channels."""

        def __init__(self, out_channels: Any = 32) -> None:
            super().__init__()
            steps = [nn.Conv2d(32 if k else 3, 32, 3, 2 if k else 8, 1) for k in range(5)]
            self.steps, self.out_channels = nn.ModuleList(steps), out_channels

        def forward(self, x: Any) -> dict[str, Any]:
            maps = {}
            for k, step in enumerate(self.steps):
                maps[str(k)] = x = step(x).relu()
            return maps

    second = found.retinanet.RetinaNetHead(32, 9, 5, functools.partial(nn.GroupNorm, 32))
    second.regression_head._loss_type = "giou"
    boxes = found.anchor_utils.DefaultBoxGenerator([[2], [2, 3], [2], [2], [2]], steps=[8, 16, 32, 64, 64])
    return {
        "mobilenet": found.fasterrcnn_mobilenet_v3_large_320_fpn(
            weights=None, weights_backbone=None, num_classes=5, **SMALL),
        "masks": found.MaskRCNN(backbone(**base), 5, box_head=head, **SMALL),
        "keypoints": found.KeypointRCNN(
            backbone(**base), 5, num_keypoints=3, keypoint_head=found.keypoint_rcnn.KeypointRCNNHeads(256, (64, 512)),
            box_head=found.faster_rcnn.TwoMLPHead(256 * 49, 1024), **SMALL),
        "retinanet": found.RetinaNet(Pyramid(), 5, **one_stage),
        "retinanet of the second version": found.RetinaNet(Pyramid(), 5, head=second, **one_stage),
        "fcos": found.FCOS(Pyramid(), 5, **one_stage),
        "ssd": found.ssd.SSD(Pyramid([32] * 5), boxes, (96, 64), 5, detections_per_img=10),
        "ssdlite": found.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5),
    }  # fmt: skip


def factor(name: str) -> float:
    """Returns the factor of weights, with which the last layers' results are small."""
    return 0.1 if "bbox_pred" in name else 0.02 if "classification_head" in name and "cls_logits" in name else 1


def fill(torch: Any, model: Any) -> str:
    """Gives a network fixed weights. Returns the names and shapes of its state."""
    rng = np.random.default_rng(3)
    state = {}
    for name, value in model.state_dict().items():
        shape = tuple(value.shape)
        if name.endswith("num_batches_tracked"):
            state[name] = value
            continue
        if "running" in name:
            values = np.full(shape, float("var" in name))
        elif len(shape) > 1:
            values = rng.standard_normal(shape) * (2 / math.prod(shape[1:])) ** 0.5
        else:
            values = np.full(shape, 0.7) if name.endswith("weight") else rng.standard_normal(shape) * 0.1
        state[name] = torch.tensor((values * factor(name)).astype("f4"))
    model.load_state_dict(state)
    return str(sorted((name, tuple(value.shape)) for name, value in model.state_dict().items()))


def results(torch: Any, tv: Any) -> dict[str, Any]:
    """Returns detections, losses and norms of gradients of all networks."""
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape).astype("f4") for shape in ((3, 50, 70), (3, 60, 40))]
    masks = [(rng.random((n, *a.shape[1:])) > 0.5).astype("u1") for n, a in zip((2, 1), arrays, strict=True)]
    boxes: list[list[list[float]]] = [[[5, 5, 30, 40], [20, 10, 65, 45]], [[2, 3, 30, 50]]]
    points = rng.random((2, 3, 3)).astype("f4") * 25 + 5
    found: dict[str, Any] = {}
    for name, model in networks(torch, tv).items():
        keys = fill(torch, model)
        found[f"{name} keys"] = [len(keys), keys[:200], keys[-200:]]
        model.eval()  # batch norms with their statistics, in training too
        images = [torch.tensor(a) for a in arrays]
        with torch.no_grad():
            for k, detected in enumerate(model(images)):
                for key, value in detected.items():
                    a = value.cpu().numpy().astype("f8")
                    found[f"{name} {k} {key}"] = [list(a.shape), a.ravel()[:40].tolist(), float(a.sum())]
        targets = [
            {"boxes": torch.tensor(b, dtype=torch.float32), "labels": torch.tensor(list(range(1, len(b) + 1))),
             "masks": torch.tensor(m), "keypoints": torch.tensor(points[: len(b)])}
            for b, m in zip(boxes, masks, strict=True)
        ]  # fmt: skip
        stages = [model.rpn, model.roi_heads] if hasattr(model, "rpn") else []
        for part in (model, model.transform, *stages):
            part.training = True
        for stage in stages:
            stage.fg_bg_sampler.batch_size_per_image = 10**6  # all examples, so that nothing is random
        losses = model(images, targets)
        sum(losses.values()).backward()
        found[f"{name} losses"] = {key: float(value) for key, value in sorted(losses.items())}
        norms = {key: p.grad for key, p in model.named_parameters() if p.grad is not None}
        some = sorted(norms)[::9]
        found[f"{name} gradients"] = {key: float(np.linalg.norm(norms[key].cpu().numpy().astype("f8"))) for key in some}
    return found


if __name__ == "__main__":
    import torch as reference
    import torchvision

    golden = {"version": torchvision.__version__} | results(reference, torchvision)
    Path(sys.argv[1]).write_text(json.dumps(golden, separators=(",", ":")) + "\n")
