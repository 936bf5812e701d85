"""Tests readers of local files, transforms, image grids, and the TensorBoard writer."""

from __future__ import annotations

import gzip
import importlib
import json
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous.torch as torch
from cuprous import torchvision as tv
from cuprous.torchvision._pillow import found, image
from tests.conftest import DEVICE
from tests.support import assert_errors
from tests.torch import vision_transforms

T, F, D = tv.transforms, tv.transforms.functional, tv.datasets
RNG = np.random.default_rng(0)


def idx(values: Any) -> bytes:
    head = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    return head + values.tobytes()


def test_tensors_as_torchvision() -> None:
    expected = json.loads(vision_transforms.FILE.read_text())
    ours = vision_transforms.results(torch, T)
    assert ours.keys() == expected.keys()
    for key, (shape, dtype, mean, chosen) in ours.items():
        other_shape, other_dtype, other_mean, other_chosen = expected[key]
        assert (shape, dtype) == (other_shape, other_dtype), key
        if DEVICE != "cpu" and "rotate(x, 90, M.NEAREST" in key:
            continue  # points halfway between pixels, of which a fused multiplication and addition takes the other one
        # torchvision resizes bytes in integers, which may round a half differently.
        pixel, whole = (1.001, 0.06) if dtype == "uint8" else (1e-5, 1e-6)
        np.testing.assert_allclose(chosen, other_chosen, rtol=0, atol=pixel, err_msg=key)
        np.testing.assert_allclose(mean, other_mean, rtol=1e-6, atol=whole, err_msg=key)


def test_tensors_are_images_of_the_second_version() -> None:
    x = torch.rand(3, 8, 10)
    v2 = importlib.import_module("cuprous.torchvision.transforms.v2")
    whole = v2.Compose([v2.ToImage(), v2.Resize(4), v2.ToDtype(torch.uint8, scale=True)])
    assert v2.ToImage()(x) is x and whole(x).shape == (3, 4, 5) and whole(x).dtype == torch.uint8


def test_mnist(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (6, 28, 28), dtype=np.uint8)
    labels = np.arange(6, dtype=np.uint8)
    for name, packed in (("MNIST", False), ("FashionMNIST", True)):
        raw = tmp_path / name / "raw"
        raw.mkdir(parents=True)
        for part, values in (("images-idx3", images), ("labels-idx1", labels)):
            content = idx(values)
            path = raw / f"train-{part}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(content) if packed else content)
        data = getattr(D, name)(tmp_path, transform=T.ToTensor())
        assert len(data) == 6 and data.targets.tolist() == list(range(6)) and data.data.dims == (6, 28, 28)
        x, y = data[3]
        assert y == 3 and x.dims == (1, 28, 28)
        np.testing.assert_allclose(x.numpy()[0], images[3] / 255, rtol=1e-6)
        with pytest.raises(RuntimeError, match=r"t10k.*Nothing is downloaded"):
            getattr(D, name)(tmp_path, train=False, download=True)
    batch, _ = next(iter(torch.utils.data.DataLoader(data, 4)))
    assert batch.dims == (4, 1, 28, 28)
    for bad in (idx(images)[:-1], b"\0\0\x08", b"hello", gzip.compress(idx(images))[:-9]):
        (raw / "train-images-idx3-ubyte.gz").unlink(missing_ok=True)
        path = raw / f"train-images-idx3-ubyte{'.gz' if bad[:2] == bytes([31, 139]) else ''}"
        path.write_bytes(bad)
        with pytest.raises(RuntimeError, match=r"bytes|not an IDX|damaged"):
            D.FashionMNIST(tmp_path)
        path.unlink()


def test_cifar(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    planes = RNG.integers(0, 256, (5, 4, 3072), dtype=np.uint8)
    for k in range(5):
        content = {"data": planes[k], "labels": [k] * 4}
        (folder / f"data_batch_{k + 1}").write_bytes(pickle.dumps(content, 2))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(k) for k in range(10)]}, 2))
    data = D.CIFAR10(tmp_path, transform=T.PILToTensor())
    assert len(data) == 20 and data.classes[3] == "3"
    x, y = data[9]
    assert y == 2 and (x.numpy() == planes[2, 1].reshape(3, 32, 32)).all()
    for bad in (b"cos\nsystem\n(S'true'\ntR.", b"\x80\x02}"):
        (folder / "data_batch_2").write_bytes(bad)
        with pytest.raises(RuntimeError, match="damaged or not a file"):
            D.CIFAR10(tmp_path)
    with pytest.raises(RuntimeError, match="Dataset not found"):
        D.CIFAR10(tmp_path, train=False)


def test_fake_data() -> None:
    data = D.FakeData(5, (3, 8, 6), 4, T.ToTensor())
    assert len(data) == 5 and data[1][0].dims == (3, 8, 6) and 0 <= data[1][1] < 4
    assert torch.equal(data[2][0], data[2][0]) and not torch.equal(data[2][0], data[3][0])
    with pytest.raises(IndexError):
        data[5]


def pictures() -> list[Any]:
    """Yields the same picture as an array, as a tensor and, if Pillow is installed, as a Pillow image."""
    host = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    tensor = torch.tensor(host).permute(2, 0, 1).contiguous()
    return [host, tensor, *([image(host)] if image(host) is not host else [])]


def as_array(picture: Any) -> Any:
    return picture.permute(1, 2, 0).cpu().numpy() if isinstance(picture, torch.Tensor) else np.asarray(picture)


@pytest.mark.parametrize(
    ("transform", "formula"),
    [
        (T.CenterCrop((4, 2)), lambda a: a[1:5, 3:5]),
        (T.CenterCrop(10), lambda a: np.pad(a, [(2, 2), (1, 1), (0, 0)])),
        (T.Pad([1, 2]), lambda a: np.pad(a, [(2, 2), (1, 1), (0, 0)])),
        (T.Pad([1, 0, 2, 3], fill=7), lambda a: np.pad(a, [(0, 3), (1, 2), (0, 0)], constant_values=7)),
        (T.RandomHorizontalFlip(1.0), lambda a: a[:, ::-1]),
        (T.RandomVerticalFlip(1.0), lambda a: a[::-1]),
        (T.RandomHorizontalFlip(0.0), lambda a: a),
        (T.Lambda(lambda x: x), lambda a: a),
    ],
)
def test_transforms_of_every_kind_of_picture(transform: Any, formula: Any) -> None:
    for picture in pictures():
        np.testing.assert_array_equal(as_array(transform(picture)), formula(as_array(picture)))


def test_tensors_of_pictures() -> None:
    host, *_ = pictures()
    x = T.ToTensor()(host)
    assert x.dtype is torch.float32 and x.dims == (3, 6, 8)
    np.testing.assert_allclose(x.numpy(), host.transpose(2, 0, 1) / 255, rtol=1e-6)
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    expected = (x.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(T.Normalize(mean, std)(x).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(T.Normalize((0.5,), (0.25,))(x).numpy(), (x.numpy() - 0.5) / 0.25, rtol=1e-5, atol=1e-6)
    assert "Normalize" in repr(T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))]))
    assert_errors(
        (lambda: T.ToTensor()(x), TypeError), (lambda: T.Normalize([0.5], [0.0])(x), ValueError),
        (lambda: T.Normalize([0.5], [1.0])(host), TypeError), (lambda: T.RandomCrop(20)(host), ValueError),
        (lambda: T.Resize(3, 1)(x), ValueError), (lambda: T.Pad([1, 2, 3])(host), ValueError),
        (lambda: F.rotate(x, 3, T.InterpolationMode.BICUBIC), ValueError),
        (lambda: F.adjust_contrast(torch.ones(2, 3, 3), 2.0), TypeError),
        (lambda: F.pad(torch.ones(3, 3, 3), [1], (1, 2, 3)), ValueError),
        (lambda: F.hflip("x"), TypeError), (lambda: T.ColorJitter(-1), ValueError),
    )  # fmt: skip


def test_random_transforms_repeat_with_the_seed() -> None:
    crop = T.Compose([T.RandomCrop(4, padding=2, padding_mode="reflect"), T.RandomHorizontalFlip()])
    host = pictures()[0]

    def run() -> list[Any]:
        torch.manual_seed(3)
        return [crop(host).tolist() for _ in range(8)]

    first = run()
    assert first == run() and any(a != first[0] for a in first)


def test_what_pillow_does() -> None:
    pytest.importorskip("PIL")
    host, _, picture = pictures()
    assert T.Resize(3)(picture).size == (4, 3) and T.Resize((5, 7))(host).shape == (5, 7, 3)
    assert T.Resize(12, max_size=14)(picture).size == (14, 10)
    np.testing.assert_array_equal(np.asarray(T.RandomRotation((90, 90), expand=True)(picture)), np.rot90(host))
    assert T.Grayscale()(picture).mode == "L" and T.Grayscale(3)(host).shape == (6, 8, 3)
    torch.manual_seed(0)
    jitter = T.ColorJitter(0.5, 0.5, 0.5, 0.2)(picture)
    assert jitter.size == picture.size and (np.asarray(jitter) != host).any()
    np.testing.assert_array_equal(np.asarray(F.adjust_brightness(picture, 1.0)), host)
    assert T.RandomResizedCrop(5)(picture).size == (5, 5)
    np.testing.assert_array_equal(np.asarray(T.ToPILImage()(T.ToTensor()(picture))), host)


def test_folders_grids_and_files(tmp_path: Path) -> None:
    images = torch.rand(5, 3, 4, 6)
    grid = tv.utils.make_grid(images, nrow=3, padding=1, pad_value=0.5)
    assert grid.dims == (3, 11, 22) and torch.equal(grid[:, 6:10, 8:14], images[4]) and float(grid[0, 0, 0]) == 0.5
    assert tv.utils.make_grid(images[0, 0]).dims == (3, 4, 6)
    scaled = tv.utils.make_grid(images * 9 - 3, normalize=True, padding=0)
    assert float(scaled.min()) == 0.0 and float(scaled.max()) == pytest.approx(1.0)
    pytest.importorskip("PIL")
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        tv.utils.save_image(images[0], tmp_path / name / "a.png")
    (tmp_path / "dog" / "notes.txt").write_text("x")
    data = D.ImageFolder(tmp_path, T.ToTensor())
    assert data.classes == ["cat", "dog"] and [y for _, y in data.samples] == [0, 1]
    np.testing.assert_allclose(data[1][0].cpu().numpy(), images[0].cpu().numpy(), atol=0.003)
    (tmp_path / "bird").mkdir()
    with pytest.raises(FileNotFoundError, match="bird"):
        D.ImageFolder(tmp_path)


def test_without_pillow(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    found.cache_clear()
    host = np.zeros((6, 8), np.uint8)
    assert image(host) is host and T.ToTensor()(host).dims == (1, 6, 8)
    with pytest.raises(ImportError, match="pip install pillow"):
        T.Resize(3)(host)
    found.cache_clear()


def test_tensorboard(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    sys.modules.pop("cuprous.torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        importlib.import_module("cuprous.torch.utils.tensorboard")
    monkeypatch.undo()
    pytest.importorskip("tensorboardX")
    from cuprous.torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(1.5), 0)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 0)
        writer.add_histogram("weights", torch.rand(10, dtype=torch.float32), 0)
        writer.add_image("picture", torch.rand(3, 4, 4), 0)
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1))
        assert writer.log_dir == str(tmp_path)
    assert any(path.stat().st_size > 100 for path in tmp_path.rglob("events*"))
