"""torchvision's networks: keys and shapes of their parameters, logits, and weights from files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import torchvision as tv
from tests.torch.vision import FILE, NETWORKS, result

GOLDEN = json.loads(FILE.read_text())
models = tv.models


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_as_torchvision(name: str) -> None:
    ours, theirs = result(torch, models, name), GOLDEN[name]
    assert ours["count"] == theirs["count"] and ours["keys"] == theirs["keys"]
    scale = max(map(abs, theirs["logits"]))
    np.testing.assert_allclose(ours["logits"], theirs["logits"], atol=2e-5 * scale)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v3_small", "shufflenet_v2_x0_5", "mnasnet0_5"])
def test_networks_train(name: str) -> None:
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=2)
    images, labels = torch.rand(4, 3, 64, 64), torch.tensor([0, 1, 0, 1])
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    assert np.isfinite(float(loss)) and all(p.grad is not None for p in model.parameters())


def test_names_and_weights() -> None:
    names = models.list_models()
    assert len(names) >= 80 and set(models.list_models(include="swin*")) == {
        f"swin_{version}{size}" for version in ("", "v2_") for size in "tsb"
    }
    for name in names:
        weights = models.get_model_weights(name)
        homes = [home for home in (models, models.detection, models.segmentation) if hasattr(home, name)]
        assert models.get_model_builder(name) is getattr(homes[0], name)
        assert getattr(homes[0], weights.__name__) is weights
        assert pickle.loads(pickle.dumps(weights.DEFAULT)) is weights.DEFAULT
        assert all(member.url.startswith("https://download.pytorch.org/models/") for member in weights)
    wide = models.get_weight("EfficientNet_V2_L_Weights.IMAGENET1K_V1").transforms().transforms
    assert wide[1].size == (480, 480) and wide[-1].mean == (0.5, 0.5, 0.5)
    assert models.RegNet_Y_16GF_Weights.DEFAULT.url.endswith("regnet_y_16gf-3e4a00f9.pth")
    assert models.densenet.DenseNet is models.DenseNet
    with pytest.raises(ValueError, match="partition size"):
        models.maxvit_t(input_size=(200, 200))


def test_weights_are_read_from_files(tmp_path: Path, monkeypatch: Any) -> None:
    """The keys of DenseNet's files are older than the names of its layers."""
    torch.manual_seed(0)
    model = models.densenet.DenseNet(4, (2, 2), 4, 2, num_classes=3)
    old = {}
    for key, value in model.state_dict().items():
        if "denselayer" in key and "num_batches" in key:
            continue  # which the files do not have
        head, _, tail = key.rpartition("denselayer")
        old[f"{head}denselayer{tail.replace('norm', 'norm.').replace('conv', 'conv.')}" if head else key] = value
    assert set(old) != set(model.state_dict())
    other = models.densenet.DenseNet(4, (2, 2), 4, 2, num_classes=3)
    other.load_state_dict(old)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    folder = str(tmp_path)
    monkeypatch.setattr(
        models._weights.hub, "load_state_dict_from_url", lambda url, **_: torch.load(folder + url[url.rindex("/") :])
    )
    small, url = models.squeezenet1_1(), models.SqueezeNet1_1_Weights.DEFAULT.url
    torch.save(small.state_dict(), folder + url[url.rindex("/") :])
    loaded = models.squeezenet1_1(weights="DEFAULT")
    assert torch.equal(loaded.classifier[1].weight, small.classifier[1].weight)
    labels = models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, aux_loss=True)
    weights = models.segmentation.DeepLabV3_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1
    torch.save(labels.state_dict(), folder + weights.url[weights.url.rindex("/") :])
    other_labels = models.get_model("deeplabv3_mobilenet_v3_large", weights=weights)
    pairs = zip(labels.state_dict().items(), other_labels.state_dict().items(), strict=True)
    assert (
        all(a[0] == b[0] and torch.equal(a[1], b[1]) for a, b in pairs) and weights.meta["categories"][15] == "person"
    )
    prepared = weights.transforms()(torch.zeros(3, 52, 104, dtype=torch.uint8))
    assert prepared.shape == (3, 520, 1040) and prepared[0, 0, 0].item() == pytest.approx(-0.485 / 0.229)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="Unsupported SqueezeNet version"):
        models.SqueezeNet("2_0")
    with pytest.raises(ValueError, match="indivisible"):
        models.VisionTransformer(30, 16, 1, 1, 8, 8)
    with pytest.raises(ValueError, match="Wrong image size"):
        models.VisionTransformer(32, 16, 1, 1, 8, 8)(torch.rand(1, 3, 16, 16))
    with pytest.raises(ValueError, match="Unknown model"):
        models.get_model("none")


def test_dilated_networks_and_refused_weights() -> None:
    make = models.segmentation.fcn_resnet50
    with pytest.raises(ValueError, match="'num_classes' expected value 21 but got 3"):
        make(weights="DEFAULT", num_classes=3)
    with pytest.raises(ValueError, match="'aux_loss' expected value True"):
        make(weights="DEFAULT", aux_loss=False)
    with pytest.raises(ValueError, match="is not one of COCO_WITH_VOC_LABELS_V1"):
        make(weights="IMAGENET1K_V1")
    with pytest.raises(ValueError, match="3-element tuple"):
        models.resnet50(replace_stride_with_dilation=[True])
    with pytest.raises(NotImplementedError, match="dilation"):
        models.resnet18(replace_stride_with_dilation=[False, False, True])
    with pytest.raises(ValueError, match="return_layers are not present"):
        models._utils.IntermediateLayerGetter(torch.nn.Sequential(torch.nn.ReLU()), {"1": "out"})
