"""Data sets in local files. Nothing is downloaded."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._unsupported import unsupported_function
from cuprous.torch.utils.data import Dataset
from cuprous.torchvision import _files
from cuprous.torchvision._pillow import image, pillow


class VisionDataset(Dataset[tuple[Any, Any]]):
    """The base class of image data sets: a folder, and the transforms of images and targets.

    See Also
    --------
    torchvision.datasets.DatasetFolder, torch.utils.data.Dataset
    """

    def __init__(self, root: Any = None, transforms: Any = None, transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None) -> None:  # fmt: skip
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.root = Path(root).expanduser() if root is not None else None
        self.transforms, self.transform, self.target_transform = transforms, transform, target_transform

    def _item(self, picture: Any, target: Any) -> tuple[Any, Any]:
        if self.transforms is not None:
            return self.transforms(picture, target)
        picture = picture if self.transform is None else self.transform(picture)
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __repr__(self) -> str:
        return f"Dataset {type(self).__name__}\n    Number of datapoints: {len(self)}\n    Root location: {self.root}"  # type: ignore[arg-type]


def read_idx(path: Path) -> np.ndarray[Any, Any]:
    """Reads an array in the IDX format of MNIST: two zero bytes, dtype, number of dimensions, extents, elements.

    Raises
    ------
    RuntimeError
        If the file has another format or is truncated.
    """
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RuntimeError(f"{path} is damaged ({error})") from None
    kinds = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in kinds:
        raise RuntimeError(f"{path} is not an IDX file")
    ndim, kind = data[3], np.dtype(kinds[data[2]])
    shape = [int(n) for n in np.frombuffer(data[4 : 4 + 4 * ndim], ">u4")]
    size = 4 + 4 * ndim + int(np.prod(shape)) * kind.itemsize
    if len(data) != size:
        raise RuntimeError(f"{path} has {len(data)} bytes, but its header declares {size}")
    return np.frombuffer(data, kind, offset=4 + 4 * ndim).reshape(shape).astype(kind.newbyteorder("="))


class MNIST(VisionDataset):
    """Handwritten digits (LeCun et al., 1998): 28 x 28 gray images from `root/MNIST/raw`, optionally gzipped.

    See Also
    --------
    torchvision.datasets.FashionMNIST, torchvision.datasets.KMNIST
    """

    classes = ("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
               "8 - eight", "9 - nine")  # fmt: skip

    def __init__(self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None,
                 download: bool = False) -> None:  # fmt: skip
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        part = "train" if train else "t10k"
        self._images = read_idx(self._file(f"{part}-images-idx3-ubyte"))
        labels = read_idx(self._file(f"{part}-labels-idx1-ubyte"))
        if self._images.ndim != 3 or labels.shape != self._images.shape[:1]:
            raise RuntimeError(f"{self.raw_folder} has images {self._images.shape} and labels {labels.shape}")
        self._labels = labels.astype(np.int64)

    @property
    def raw_folder(self) -> Path:
        """The folder of the files."""
        return Path(self.root or ".") / type(self).__name__ / "raw"

    def _file(self, name: str) -> Path:
        for path in (self.raw_folder / name, self.raw_folder / f"{name}.gz"):
            if path.exists():
                return path
        raise RuntimeError(f"Dataset not found: {self.raw_folder} has no {name}(.gz). Nothing is downloaded; "
                           "put the files there")  # fmt: skip

    @property
    def data(self) -> Any:
        """All images as a tensor (uint8)."""
        return _core.t_wrap(_core.from_numpy(self._images, "cpu"))

    @property
    def targets(self) -> Any:
        """All labels as a tensor (int64)."""
        return _core.t_wrap(_core.from_numpy(self._labels, "cpu"))

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class, by name."""
        return {name: k for k, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._item(image(self._images[index]), int(self._labels[index]))

    def __len__(self) -> int:
        return len(self._images)


class FashionMNIST(MNIST):
    """Articles of clothing (Xiao, Rasul and Vollgraf, 2017), from `root/FashionMNIST/raw`.

    See Also
    --------
    torchvision.datasets.MNIST, torchvision.datasets.KMNIST
    """

    classes = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


class KMNIST(MNIST):
    """Cursive Japanese characters (Clanuwat et al., 2018), from `root/KMNIST/raw`.

    See Also
    --------
    torchvision.datasets.MNIST, torchvision.datasets.FashionMNIST
    """

    classes = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


class _Arrays(pickle.Unpickler):
    """An unpickler restricted to dictionaries of arrays and strings, so that a file cannot run code."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        """Allows only the classes that pickled NumPy arrays need."""
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")):
            return super().find_class(module, name)
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return super().find_class("numpy._core.multiarray", name)
        raise pickle.UnpicklingError(f"the file uses {module}.{name}, which is not allowed")


class CIFAR10(VisionDataset):
    """Small color images of ten classes (Krizhevsky, 2009): 32 x 32 pixels, from the folder of the Python version.

    See Also
    --------
    torchvision.datasets.CIFAR100, torchvision.datasets.MNIST
    """

    base_folder = "cifar-10-batches-py"
    _train = tuple(f"data_batch_{k}" for k in range(1, 6))
    _test: tuple[str, ...] = ("test_batch",)
    _meta = ("batches.meta", "label_names")
    _labels = "labels"

    def __init__(self, root: Any, train: bool = True, transform: Any = None, target_transform: Any = None,
                 download: bool = False) -> None:  # fmt: skip
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        parts = [self._read(name) for name in (self._train if train else self._test)]
        planes = np.concatenate([np.asarray(part["data"], np.uint8) for part in parts])
        if planes.ndim != 2 or planes.shape[1] != 3072:
            raise RuntimeError(f"{self.base_folder} has rows of {planes.shape[1:]} bytes, not 3072")
        self.data = np.ascontiguousarray(planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.targets: list[int] = [int(k) for part in parts for k in part[self._labels]]
        self.classes: list[str] = list(self._read(self._meta[0])[self._meta[1]])
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}

    def _read(self, name: str) -> Any:
        path = Path(self.root or ".") / self.base_folder / name
        if not path.exists():
            raise RuntimeError(f"Dataset not found: {path} does not exist. Nothing is downloaded; put it there")
        try:
            return _Arrays(path.read_bytes()).load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise RuntimeError(f"{path} is damaged or not a file of this data set ({error})") from None

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._item(image(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)


class CIFAR100(CIFAR10):
    """CIFAR-10's counterpart with a hundred classes.

    See Also
    --------
    torchvision.datasets.CIFAR10
    """

    base_folder = "cifar-100-python"
    _train, _test, _meta, _labels = ("train",), ("test",), ("meta", "fine_label_names"), "fine_labels"


class FakeData(VisionDataset):
    """Random images and targets, reproducible by index.

    See Also
    --------
    torchvision.datasets.VisionDataset, torchvision.datasets.ImageFolder, torchvision.datasets.DatasetFolder,
    torchvision.datasets.ImageNet

    Examples
    --------
    >>> image, label = datasets.FakeData(size=10, image_size=(3, 8, 8))[0]
    >>> image.size
    (8, 8)
    """

    def __init__(self, size: int = 1000, image_size: tuple[int, int, int] = (3, 224, 224), num_classes: int = 10,
                 transform: Any = None, target_transform: Any = None, random_offset: int = 0) -> None:  # fmt: skip
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size, self.image_size, self.num_classes = size, image_size, num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"{type(self).__name__} index out of range")
        numbers = np.random.default_rng(index + self.random_offset)
        channels, height, width = self.image_size
        shape = (height, width) if channels == 1 else (height, width, channels)
        picture = image(numbers.integers(0, 256, shape, dtype=np.uint8))
        return self._item(picture, int(numbers.integers(self.num_classes)))

    def __len__(self) -> int:
        return self.size


IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def default_loader(path: str) -> Any:
    """Loads an image file in RGB."""
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


class DatasetFolder(VisionDataset):
    """Files in one folder per class.

    See Also
    --------
    torchvision.datasets.ImageFolder, torchvision.datasets.VisionDataset
    """

    def __init__(self, root: Any, loader: Callable[[str], Any], extensions: tuple[str, ...] | None = None,
                 transform: Any = None, target_transform: Any = None, is_valid_file: Any = None,
                 allow_empty: bool = False) -> None:  # fmt: skip
        super().__init__(root, transform=transform, target_transform=target_transform)
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
        self.loader, self.extensions = loader, extensions
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {root}.")
        self.class_to_idx = {name: k for k, name in enumerate(self.classes)}
        fits = is_valid_file or (lambda path: path.lower().endswith(extensions))
        self.samples: list[tuple[str, int]] = []
        for name, number in self.class_to_idx.items():
            found = [os.path.join(folder, file)
                     for folder, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True))
                     for file in sorted(files)]  # fmt: skip
            chosen = [(path, number) for path in found if fits(path)]
            if not chosen and not allow_empty:
                raise FileNotFoundError(f"Found no valid file for the classes {name}.")
            self.samples += chosen
        self.imgs, self.targets = self.samples, [number for _, number in self.samples]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._item(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in one folder per class, such as `root/dog/x.png`.

    See Also
    --------
    torchvision.datasets.DatasetFolder, torchvision.datasets.ImageNet
    """

    def __init__(self, root: Any, transform: Any = None, target_transform: Any = None,
                 loader: Callable[[str], Any] = default_loader, is_valid_file: Any = None,
                 allow_empty: bool = False) -> None:  # fmt: skip
        super().__init__(root, loader, IMG_EXTENSIONS if is_valid_file is None else None, transform, target_transform,
                         is_valid_file, allow_empty)  # fmt: skip


class ImageNet(ImageFolder):
    """Photographs (Deng et al., 2009), from `root/train` and `root/val` with a folder for each class.

    Raises
    ------
    RuntimeError
        If the folder does not exist: archives are not unpacked.

    See Also
    --------
    torchvision.datasets.ImageFolder
    """

    def __init__(self, root: str | Path, split: str = "train", **options: Any) -> None:
        folder = Path(root) / split
        if not folder.is_dir():
            raise RuntimeError(
                f"{folder} does not exist: unpack the archives of ImageNet there, a folder for each class"
            )
        self.split = split
        super().__init__(folder, **options)


_OTHERS = (
    "CelebA CocoCaptions CocoDetection Cityscapes Caltech101 Caltech256 EMNIST EuroSAT FGVCAircraft Flowers102 Food101 "
    "GTSRB INaturalist LSUN OxfordIIITPet PCAM Places365 QMNIST SBU STL10 SVHN StanfordCars USPS VOCDetection "
    "VOCSegmentation"
)
for _name in _OTHERS.split():
    globals()[_name] = unsupported_function(
        _name, "read its files with ImageFolder or a Dataset", "torchvision.datasets."
    )

#: Modules of torchvision that contain these classes.
folder = mnist = cifar = vision = fakedata = imagenet = sys.modules[__name__]
utils = _files
__path__: list[str] = []

__all__ = ["CIFAR10", "CIFAR100", "KMNIST", "MNIST", "DatasetFolder", "FakeData", "FashionMNIST", "ImageFolder",
           "ImageNet", "VisionDataset"]  # fmt: skip
