"""Tests files: PyTorch's zip format, built by hand and by Cuprous, hostile files, and safetensors."""

from __future__ import annotations

import io
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous.torch import safetensors
from tests.fuzz.files import state
from tests.support import peak_of

nn = torch.nn


def text(s: str) -> bytes:
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def ints(*values: int) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", v) for v in values) + b"t"


def tensor(kind: str, key: str, count: int, offset: int, size: bytes, stride: bytes, where: str = "cpu") -> bytes:
    """Returns the pickled form of a tensor in PyTorch's files."""
    storage = b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n" + text(key) + text(where)
    storage += b"J" + struct.pack("<i", count) + b"tQ"
    place = storage + b"J" + struct.pack("<i", offset) + size + stride + b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + place + b"tR"


def archive(data: bytes, storages: dict[str, bytes], **more: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02" + data + b".")
        for name, content in more.items():
            z.writestr(f"archive/{name}", content)
        for key, content in storages.items():
            z.writestr(f"archive/data/{key}", content)
        z.writestr("archive/version", b"3\n")
    file.seek(0)
    return file


FLOATS = np.arange(6, dtype=np.float32).tobytes()


def test_a_file_made_by_hand() -> None:
    bf = (np.array([1.0, -2.5], np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    data = (
        b"ccollections\nOrderedDict\n)R("
        + text("whole") + tensor("FloatStorage", "0", 6, 0, ints(2, 3), ints(3, 1))
        + text("column") + tensor("FloatStorage", "0", 6, 1, ints(2), ints(3))
        + text("half") + tensor("BFloat16Storage", "1", 2, 0, ints(2), ints(1))
        + text("step") + b"K\x07" + text("dtype") + b"ctorch\nfloat16\n"
        + b"u"
        + b"}" + text("_metadata") + b"}sb"  # the attributes that state dicts have
    )  # fmt: skip
    found = torch.load(archive(data, {"0": FLOATS, "1": bf}, byteorder=b"little"))
    assert type(found) is OrderedDict and found["step"] == 7 and found["dtype"] is torch.float16
    assert found["whole"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["half"].tolist() == [1.0, -2.5]
    assert found["half"].dtype is torch.bfloat16
    found["column"].zero_()  # it shares memory with the other tensor
    assert found["whole"].tolist() == [[0, 0, 2], [3, 0, 5]]
    swapped = archive(data, {"0": np.arange(6, dtype=">f4").tobytes(), "1": bf[1::-1] + bf[:1:-1]}, byteorder=b"big")
    assert torch.load(swapped)["whole"].tolist() == [[0, 1, 2], [3, 4, 5]]


def again(obj: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def test_save_load_round_trip() -> None:
    a = torch.arange(12.0).reshape(3, 4)
    obj = {
        "view": a[1:, ::2], "turned": a.t(), "row": a[1], "wide": a[0].expand(2, 4), "empty": torch.empty(0, 3),
        "half": torch.ones(3, dtype=torch.bfloat16), "bytes": torch.ones(2, dtype=torch.uint16),
        "bool": torch.tensor([True, False]), "number": torch.tensor(3), "complex": torch.tensor([1 + 2j]),
        "parameter": nn.Parameter(torch.ones(2)), "grad": torch.ones(1, requires_grad=True),
        "plain": [1, 2.5, None, True, "s", b"\xff", {1, 2}, (3, 4j), bytearray(b"x")],
        "words": [torch.float32, torch.device("cpu"), a.shape], "numpy": np.float64(0.5),
    }  # fmt: skip
    found = again(obj)
    assert list(found) == list(obj)
    for name, value in obj.items():
        if isinstance(value, torch.Tensor):
            assert found[name].dtype is value.dtype and found[name].tolist() == value.tolist(), name
            assert found[name].requires_grad == value.requires_grad and found[name].is_leaf
    assert type(found["parameter"]) is nn.Parameter and found["view"].stride() == (4, 2)
    assert found["plain"] == obj["plain"] and found["words"] == obj["words"] and found["numpy"] == 0.5
    found["row"].fill_(-1)
    assert found["view"].tolist() == [[-1, -1], [8, 10]] and found["turned"][:, 1].tolist() == [-1] * 4


def test_training_goes_on_from_a_file(tmp_path: Path) -> None:
    def make() -> Any:
        model = nn.Linear(3, 2)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def train(model: Any, optimizer: Any) -> None:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()

    model, optimizer = make()
    train(model, optimizer)
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    other, its = make()
    state = torch.load(path, map_location=other.weight.device)
    other.load_state_dict(state["model"])
    its.load_state_dict(state["optimizer"])
    train(model, optimizer)
    train(other, its)
    assert torch.equal(model.weight, other.weight)
    with zipfile.ZipFile(path) as z, path.open("rb") as file:
        assert z.read("checkpoint/version") == b"3\n" and z.testzip() is None
        for info in z.infolist():
            file.seek(info.header_offset + 26)
            name, extra = struct.unpack("<HH", file.read(4))
            assert (info.header_offset + 30 + name + extra) % 64 == 0


def test_only_reachable_elements_are_written() -> None:
    file = io.BytesIO()
    torch.save(torch.zeros(100_000)[500:510], file)
    assert len(file.getvalue()) < 4000
    tied = torch.ones(1000)
    file = io.BytesIO()
    torch.save({"a": tied, "b": tied, "c": tied.reshape(10, 100)}, file)
    assert len(file.getvalue()) < 8000


class Home:
    def __init__(self) -> None:
        self.value = 1


ATTACKS = {
    "a function": b"cos\nsystem\n" + text("true") + b"\x85R",
    "builtins": b"cbuiltins\neval\n" + text("1") + b"\x85R",
    "a module's part": b"ctorch\nnn.Module\n",
    "a class": b"ctests.torch.test_serialization\nHome\n)\x81",
}  # fmt: skip
DAMAGE = {
    "beyond its storage": tensor("FloatStorage", "0", 6, 2, ints(2, 3), ints(3, 1)),
    "before its storage": tensor("FloatStorage", "0", 6, -1, ints(2), ints(1)),
    "backwards": tensor("FloatStorage", "0", 6, 5, ints(2), ints(-1)),
    "of a short storage": tensor("FloatStorage", "0", 600, 0, ints(600), ints(1)),
    "of no storage": tensor("FloatStorage", "9", 6, 0, ints(6), ints(1)),
    "a call with wrong arguments": b"ctorch._utils\n_rebuild_tensor_v2\n)R",
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_code_is_not_run(name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed.*not allowed.*state_dict"):
        torch.load(archive(ATTACKS[name], {}))


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_raise(name: str) -> None:
    with pytest.raises(RuntimeError, match="is damaged"):
        torch.load(archive(DAMAGE[name], {"0": FLOATS}))


def test_other_file_formats_raise(tmp_path: Path) -> None:
    good = tmp_path / "good.pt"
    torch.save(torch.ones(1000), good)
    for content, words in (
        (b"", "is empty"),
        (good.read_bytes()[:2000], "not written to its end"),
        (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "before 1.6"),
        (b"hello, world, this is text", "not a file that torch.save writes"),
        (safetensors.save({"x": torch.ones(2)}), "safetensors"),
    ):
        bad = tmp_path / "bad.pt"
        bad.write_bytes(content)
        with pytest.raises(RuntimeError, match=words):
            torch.load(bad)
        with pytest.raises(RuntimeError, match=words):
            torch.load(io.BytesIO(content))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as z:
        z.writestr("readme.txt", "x")
    with pytest.raises(RuntimeError, match=r"no data\.pkl"):
        torch.load(other)
    flipped = bytearray(good.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    with pytest.raises(RuntimeError, match="CRC"):
        torch.load(io.BytesIO(bytes(flipped)))
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")


def test_map_location() -> None:
    def gpu() -> io.BytesIO:
        return archive(tensor("FloatStorage", "0", 6, 0, ints(6), ints(1), "cuda:0"), {"0": FLOATS})

    seen: list[str] = []

    def place(storage: Any, location: str) -> Any:
        seen.append(location)
        return storage.cpu()

    for given in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, place, lambda storage, location: storage):
        assert torch.load(gpu(), map_location=given).device.type == "cpu"
    assert seen == ["cuda:0"]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"CUDA device.*map_location"):
            torch.load(gpu())


def test_whole_objects_are_read_only_on_request() -> None:
    layer = nn.Linear(2, 3)
    for obj in (nn.Sequential(layer, nn.ReLU()), {"net": layer, "f": len}, [Home]):
        file = io.BytesIO()
        torch.save(obj, file)
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
            torch.load(file)
        file.seek(0)
        loaded = torch.load(file, weights_only=False)
        assert type(loaded) is type(obj)
    file.seek(0)
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    assert torch.equal(again.weight, layer.weight) and again.weight.requires_grad
    assert torch.equal(again(torch.ones(1, 2)), layer(torch.ones(1, 2)))


def test_refusals() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torch.save(lambda: 0, io.BytesIO())
    with pytest.raises(AttributeError):
        torch.load(3)


def test_classes_that_the_user_trusts() -> None:
    data = b"c" + Home.__module__.encode() + b"\nHome\n)\x81}" + text("value") + b"K\x05sb"
    with torch.serialization.safe_globals([Home]):
        assert torch.load(archive(data, {})).value == 5
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive(data, {}))


POISON = {
    "a kind": b"ctorch\nFloatStorage\nN}" + text("name") + text("IntStorage") + b"s\x86b",
    "a dtype": b"ctorch\nfloat32\nN}" + text("name") + text("int32") + b"s\x86b",
    "a dtype's size": b"ctorch\nfloat32\n}" + text("itemsize") + b"K\x01sb",
    "a function": b"ctorch._utils\n_rebuild_tensor_v2\nN}" + text("_function") + b"I1\ns\x86b",
    "a device": b"ctorch\ndevice\n" + text("cpu") + b"\x85RN}" + text("type") + text("cuda") + b"s\x86b",
    "a tensor": tensor("FloatStorage", "0", 6, 0, ints(6), ints(1)) + b"}" + text("x") + b"K\x01sb",
    "a dictionary's methods": b"ccollections\nOrderedDict\n)R}" + text("items") + b"Nsb",
    "an old class": b"itorch\nFloatStorage\n",
}  # fmt: skip


@pytest.mark.parametrize("name", POISON)
def test_a_file_changes_nothing_but_what_it_makes(name: str) -> None:
    good = io.BytesIO()
    torch.save({"w": torch.tensor([1.0, 2.0])}, good)
    before = state()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(archive(POISON[name], {"0": FLOATS}))
    assert state() == before
    good.seek(0)
    assert torch.load(good)["w"].tolist() == [1.0, 2.0]


def test_dtypes_and_devices_do_not_change() -> None:
    for target, name in ((torch.float32, "name"), (torch.float32, "itemsize"), (torch.device("cpu"), "type")):
        with pytest.raises(AttributeError, match="not writable"):
            setattr(target, name, "int32")
        with pytest.raises(AttributeError, match="not writable"):
            delattr(target, name)


BOMBS = {
    "a bytearray by its size": b"cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x10\x85R",
    "a bytearray of an opcode": b"\x96" + (2**33).to_bytes(8, "little"),
    "an index of the memo": b"Nr\xff\xff\xff\x7f",
    "copies of a list": b"](" + b"K\x01" * 5000 + b"eq\x000" + b"cbuiltins\nset\nh\x00\x85R0" * 200 + b"N",
    "a key that is its own parts": b"}" + b")" + b"2\x86" * 60 + b"Ns",
    "a key nested deeply": b"}" + b")" + b"\x85" * 200_000 + b"Ns",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_need_little_memory(name: str) -> None:
    content = archive(BOMBS[name], {})

    def load() -> None:
        if name == "an index of the memo":
            torch.load(content)
        else:
            with pytest.raises((RuntimeError, pickle.UnpicklingError)):
                torch.load(content)

    assert peak_of(load) < 100_000


def test_sizes_that_the_file_does_not_have() -> None:
    """Only the needed part of a deflated storage is read; sizes in the directory are trusted only if possible."""
    small = tensor("FloatStorage", "0", 2, 0, ints(2), ints(1))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02" + small + b".")
        with z.open("a/data/0", "w") as entry:
            for _ in range(150):
                entry.write(bytes(1 << 20))
    loaded: list[Any] = []
    assert peak_of(lambda: loaded.append(torch.load(out))) < 100_000
    assert loaded[0].tolist() == [0, 0]


def test_numpy_headers_with_oversized_shapes(tmp_path: Path) -> None:
    def npy(shape: str) -> bytes:
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(80)

    good = cp.load(io.BytesIO(npy("(10,)")))
    assert good.shape == (10,)
    for shape in ("(100000000000,)", "(8589934592, 8589934592)", "(-1,)", "(0, 9223372036854775807)"):
        with pytest.raises(ValueError):
            cp.load(io.BytesIO(npy(shape)))
        path = tmp_path / "x.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("a.npy", npy(shape))
            z.writestr("b.npy", npy("(10,)"))
        with cp.load(path) as found:
            assert found["b"].shape == (10,)
            with pytest.raises(ValueError):
                found["a"]
    two = io.BytesIO(npy("(10,)") * 2)
    assert [cp.load(two).shape, cp.load(two).shape] == [(10,), (10,)]
    with pytest.raises(ValueError):
        cp.load(io.BytesIO(npy("(10,)")[:60].replace(b"'fortran", b"((((((")))


@pytest.mark.slow
def test_damaged_files() -> None:
    """Longer: `python -m tests.fuzz.files`."""
    line = [sys.executable, "-m", "tests.fuzz.files", "--files", "2000", "--seed", "1000000"]
    done = subprocess.run(line, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr


def test_safetensors(tmp_path: Path) -> None:
    tensors = {
        "a": torch.arange(6.0).reshape(2, 3).t(), "b": torch.ones(3, dtype=torch.bfloat16),
        "c": torch.tensor(True), "d": torch.empty(0, 4, dtype=torch.int64),
    }  # fmt: skip
    path = tmp_path / "x.safetensors"
    safetensors.save_file(tensors, path, {"format": "pt"})
    for found in (safetensors.load_file(path), safetensors.load(path.read_bytes())):
        assert {k: (v.dtype, v.tolist()) for k, v in found.items()} == {
            k: (v.dtype, v.tolist()) for k, v in tensors.items()
        }
    with safetensors.safe_open(path, "pt") as file:
        assert sorted(file.keys()) == ["a", "b", "c", "d"] and file.metadata() == {"format": "pt"}
        assert file.get_tensor("b").tolist() == [1, 1, 1]
        with pytest.raises(safetensors.SafetensorError, match="missing"):
            file.get_tensor("missing")
    good = path.read_bytes()
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    header["a"]["shape"] = [200, 3]
    forged = json.dumps(header).encode()
    for bad in (good[:-1], good + b"x", good[:20], b"", b"\xff" * 30, b"\x08" + bytes(7) + b"[1, 2 ]",
                len(forged).to_bytes(8, "little") + forged + good[8 + length :]):  # fmt: skip
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(bad)
    content = good[8 + length :]
    wrong: list[tuple[str, Any]] = [
        *(("shape", shape) for shape in ([True, 6], [2.0, 3], "23", [-2, -3], [0, 2**63 - 1], [1] * 70)),
        *(("data_offsets", offsets) for offsets in ([0.0, 24], [False, 24], None)),
        *(("dtype", dtype) for dtype in ("F33", 3, [])),
    ]
    for key, value in wrong:
        header = json.loads(good[8 : 8 + length])
        header["a"][key] = value
        forged = json.dumps(header).encode()
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(len(forged).to_bytes(8, "little") + forged + content)
    for forged in (b"[" * 100_000, b'{"__metadata__": {"a": 1}}', b'{"__metadata__": []}', b'{"a": 1}', b"\xff\xfe{}"):
        with pytest.raises(safetensors.SafetensorError):
            safetensors.load(len(forged).to_bytes(8, "little") + forged)
    shared = torch.ones(4)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save_file({"a": shared, "b": shared[1:]}, path)
    assert path.read_bytes() == good


def test_safetensors_beside_the_package(tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    values = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.arange(3)}
    theirs.save_file(values, path, metadata={"k": "v"})
    assert {k: v.tolist() for k, v in safetensors.load_file(path).items()} == {k: v.tolist() for k, v in values.items()}
    safetensors.save_file({k: torch.tensor(v) for k, v in values.items()}, path)
    assert {k: v.tolist() for k, v in theirs.load_file(path).items()} == {k: v.tolist() for k, v in values.items()}
