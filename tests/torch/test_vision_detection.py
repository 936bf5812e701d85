"""Detectors of one and two stages: detections, losses and gradients as torchvision's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import torchvision as tv
from cuprous.torchvision.models import detection
from tests.support import assert_errors
from tests.torch.vision_detection import FILE, results


@pytest.mark.slow
def test_as_torchvision() -> None:
    golden: dict[str, Any] = json.loads(FILE.read_text())
    golden.pop("version")
    ours = results(torch, tv)
    assert ours.keys() == golden.keys()
    for name, want in golden.items():
        got = ours[name]
        if isinstance(want, dict):
            assert got.keys() == want.keys(), name
            for key, value in want.items():
                np.testing.assert_allclose(got[key], value, rtol=2e-3, atol=1e-5, err_msg=f"{name} {key}")
        elif name.endswith("keys"):
            assert got == want, name
        else:
            assert got[0] == want[0], name
            np.testing.assert_allclose(got[1], want[1], rtol=1e-3, atol=2e-3, err_msg=name)
            np.testing.assert_allclose(got[2], want[2], rtol=1e-3, err_msg=name)


def tiny(**options: Any) -> Any:
    """A detector of a small backbone without a pyramid."""
    torch.manual_seed(0)
    backbone: Any = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=4, padding=1), torch.nn.ReLU())
    backbone.out_channels = 8
    pool = tv.ops.MultiScaleRoIAlign(["0"], 3, 2)
    return detection.FasterRCNN(
        backbone, 3, min_size=32, max_size=64, box_roi_pool=pool, box_head=detection.faster_rcnn.TwoMLPHead(72, 1024),
        rpn_anchor_generator=detection.AnchorGenerator(((8, 16, 24),), ((0.5, 1.0, 2.0),)), **options,
    )  # fmt: skip


@pytest.mark.slow
def test_a_detector_learns() -> None:
    """It finds a bright square after some steps, and images may have no object."""
    rng = np.random.default_rng(0)
    model = tiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for step in range(30):
        images, targets = [], []
        for k in range(2):
            x, y = rng.integers(2, 16, 2)
            image = rng.random((3, 32, 32)).astype("f4") * 0.2
            image[:, y : y + 12, x : x + 12] = 1
            box = [[float(x), float(y), x + 12.0, y + 12.0]] if step % 5 or k else np.zeros((0, 4), "f4")
            images.append(torch.tensor(image))
            targets.append({"boxes": torch.tensor(np.asarray(box, "f4")), "labels": torch.ones(len(box)).long()})
        found = model(images, targets)
        total = sum(found.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        losses.append(float(total))
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    model.eval()
    (detected,) = model([images[-1]])
    assert set(detected) == {"boxes", "labels", "scores"} and detected["boxes"].shape[1] == 4
    state = model.state_dict()
    other = tiny()
    other.load_state_dict(state)
    torch.testing.assert_close(other.eval()([images[-1]])[0]["boxes"], detected["boxes"])


def test_frozen_layers_and_old_files() -> None:
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=1)
    trained = {name.split(".")[1] for name, p in backbone.body.named_parameters(prefix="x") if p.requires_grad}
    assert trained == {"layer4"} and isinstance(backbone.body["bn1"], tv.ops.FrozenBatchNorm2d)
    head = detection.rpn.RPNHead(4, 3)
    old = {name.replace("conv.0.0.", "conv."): value for name, value in head.state_dict().items()}
    detection.rpn.RPNHead(4, 3).load_state_dict(old)
    masks = detection.mask_rcnn.MaskRCNNHeads(4, (5, 6), 1)
    named = {f"mask_fcn{int(name[0]) + 1}.{name[4:]}": value for name, value in masks.state_dict().items()}
    detection.mask_rcnn.MaskRCNNHeads(4, (5, 6), 1).load_state_dict(named)


def test_weights_are_read_from_files(monkeypatch: Any) -> None:
    files: dict[str, Any] = {}
    monkeypatch.setattr(
        tv.models._weights.hub, "load_state_dict_from_url", lambda url, **_: files[url[url.rindex("/") + 1 :]]
    )
    plain = detection.ssdlite320_mobilenet_v3_large(weights_backbone=None)
    files["ssdlite320_mobilenet_v3_large_coco-a79551df.pth"] = plain.state_dict()
    model = detection.ssdlite320_mobilenet_v3_large(weights="COCO_V1")
    pairs = zip(plain.state_dict().items(), model.state_dict().items(), strict=True)
    assert all(a[0] == b[0] and torch.equal(a[1], b[1]) for a, b in pairs)
    plain = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights_backbone=None, num_classes=91)
    files["fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth"] = plain.state_dict()
    model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights="DEFAULT", trainable_backbone_layers=0)
    norms = [layer for layer in model.modules() if isinstance(layer, tv.ops.FrozenBatchNorm2d)]
    assert norms and all(norm.eps == 1e-5 for norm in norms), "counts of batches in a file are left out"
    assert not any(p.requires_grad for p in model.backbone.body.parameters())
    assert torch.equal(model.rpn.head.cls_logits.weight, plain.rpn.head.cls_logits.weight)
    loaded, weights = tv.models._task_weights.loaded, detection.KeypointRCNN_ResNet50_FPN_Weights
    assert weights.DEFAULT is weights.COCO_V1 and weights.COCO_V1.meta["keypoint_names"][:3] == [
        "nose", "left_eye", "right_eye",
    ]  # fmt: skip
    for member, eps in ((weights.COCO_V1, 0.0), (weights.COCO_LEGACY, 1e-5)):
        network = torch.nn.Sequential(tv.ops.FrozenBatchNorm2d(2))
        files[member.url[member.url.rindex("/") + 1 :]] = network.state_dict()
        assert loaded("keypointrcnn_resnet50_fpn", network, member, False)[0].eps == eps
    names = detection.SSD300_VGG16_Weights.DEFAULT.meta["categories"]
    assert (len(names), names[1], names[17], names[90]) == (91, "person", "cat", "toothbrush")
    image = detection.FCOS_ResNet50_FPN_Weights.DEFAULT.transforms()(torch.full((3, 4, 5), 255, dtype=torch.uint8))
    assert image.dtype == torch.float32 and image.min().item() == 1


def test_bad_input() -> None:
    model, image = tiny(), torch.rand(3, 32, 32)
    good = {"boxes": torch.tensor([[1.0, 2, 9, 9]]), "labels": torch.ones(1).long()}
    several = detection.AnchorGenerator(((8, 16),), ((1.0,),))
    with_part = {"num_classes": 2, "rpn_anchor_generator": 3}
    assert_errors(
        (lambda: model([image]), AssertionError),
        (lambda: model([image], [{**good, "boxes": torch.ones(4)}]), AssertionError),
        (lambda: model([image], [{**good, "boxes": torch.tensor([[5.0, 5, 5, 9]])}]), AssertionError),
        (lambda: model([image], [{**good, "labels": torch.ones(1)}]), TypeError),
        (lambda: model([image[0]], [good]), ValueError),
        (lambda: model([(image * 255).byte()], [good]), TypeError),
        (lambda: detection.FasterRCNN(torch.nn.Linear(2, 2), 2), ValueError),
        (lambda: detection.FasterRCNN(model.backbone), ValueError),
        (lambda: detection.FasterRCNN(model.backbone, **with_part), TypeError),
        (lambda: detection.fasterrcnn_resnet50_fpn(weights="IMAGENET1K_V1"), ValueError),
        (lambda: detection.retinanet_resnet50_fpn(weights="DEFAULT", num_classes=2), ValueError),
        (lambda: detection.ssd300_vgg16(weights=tv.models.ResNet18_Weights.DEFAULT), TypeError),
        (lambda: detection.RetinaNet(torch.nn.Linear(2, 2), 2), ValueError),
        (lambda: detection.RetinaNet(model.backbone, 2, anchor_generator=3), TypeError),
        (lambda: detection.FCOS(model.backbone, 2, anchor_generator=several), ValueError),
        (lambda: detection.RetinaNet(model.backbone, 2)([image]), AssertionError),
        (lambda: detection.KeypointRCNN(model.backbone, 2, keypoint_roi_pool=3), TypeError),
        (lambda: detection.KeypointRCNN(model.backbone, 2, num_keypoints=3, keypoint_predictor=3), ValueError),
        (lambda: detection.anchor_utils.DefaultBoxGenerator([[2]], steps=[1, 2]), ValueError),
        (lambda: detection.ssd300_vgg16(weights_backbone=None, num_classes=2, nothing=3), TypeError),
    )  # fmt: skip
