"""Networks of `torchvision.models`: their parameters are torchvision's, and they learn."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuprous.torch as torch
from cuprous.torchvision import models


@pytest.mark.parametrize(
    ("name", "parameters", "tensors"),
    [("resnet18", 11_689_512, 122), ("resnet50", 25_557_032, 320), ("resnext50_32x4d", 25_028_904, 320)],
)
def test_parameters_are_torchvisions(name: str, parameters: int, tensors: int) -> None:
    model = getattr(models, name)()
    state = model.state_dict()
    assert sum(p.numel() for p in model.parameters()) == parameters and len(state) == tensors
    assert {"conv1.weight", "layer1.0.bn1.running_mean", "layer2.0.downsample.1.bias", "fc.bias"} <= state.keys()


def test_a_residual_network_learns() -> None:
    model = models.ResNet(models.Bottleneck, [1, 1, 0, 0], num_classes=2, zero_init_residual=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 0, 1])
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_weights_are_read_from_local_files_and_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("cuprous.torch.hub._folder", [])  # an example of set_dir may have run before
    for make in (models.vgg16, models.resnet18, models.alexnet):
        with pytest.raises(NotImplementedError, match="is not downloaded: put the file at"):
            make(weights="DEFAULT")
    saved = models.resnet18()
    (tmp_path / "hub/checkpoints").mkdir(parents=True)
    torch.save(saved.state_dict(), tmp_path / "hub/checkpoints/resnet18-f37072fd.pth")
    weights = models.ResNet18_Weights.DEFAULT
    for loaded in (models.resnet18(weights=weights), models.get_model("resnet18", weights="IMAGENET1K_V1")):
        assert torch.equal(loaded.fc.weight, saved.fc.weight)
    assert models.get_weight("ResNet18_Weights.IMAGENET1K_V1") is weights
    with pytest.raises(ValueError, match="is not one of"):
        models.resnet18(weights="IMAGENET22K")
