"""Fuzzes readers with damaged and hostile files: `python -m tests.fuzz.files --files 50000`.

Valid files are changed at random: bytes, numbers, parts, opcodes of pickles, entries of zip files with
a right checksum. Whatever is read from them: no code runs, the process does not crash, memory stays within a bound, an
error is of a class that the format's readers document, and good files mean afterwards what they meant before.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import pickle
import random
import resource
import struct
import sys
import time
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .workers import is_internal, run_in_workers, run_worker

#: Bytes that a file of some kilobytes may add to the most that the process had resident.
MOST_MEMORY = 200 << 20
#: Results with at most this many elements are used in computations.
_SMALL = 100_000
EDGES = [0, 1, 2, 3, 127, 128, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53, 2**54, 2**61,
         2**62, 2**63 - 1, 2**63, 2**64 - 1, -1, -2, -(2**31), -(2**63)]  # fmt: skip
#: Calls that a file must never cause.
_CODE = ("os.", "subprocess.", "shutil.", "socket.", "ctypes.", "pickle.find_class", "webbrowser.", "builtins.input")
_seen: list[str] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event.startswith(_CODE) and event not in ("os.listdir", "os.scandir"):
        _seen.append(f"{event}{args!r}"[:200])
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        _seen.append(f"open{args!r}"[:200])


def _legacy(value: Any) -> bytes:
    """Returns a file in the format of PyTorch before 1.6."""
    parts = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, value, ["0"])
    return b"".join(pickle.dumps(part, 2) for part in parts) + struct.pack("<q", 4) + np.arange(4.0).tobytes()


def _deflated(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return out.getvalue()


@functools.cache
def good_files() -> dict[str, list[bytes]]:
    """Returns valid files by format."""
    import cuprous.torch as torch
    from cuprous.torch import safetensors

    arrays = [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((3, 2), "f4")), np.array([True, False]),
              np.array(3, "i2"), np.zeros((0, 4), "c16"), np.arange(4, dtype=">i4")]  # fmt: skip
    files: dict[str, list[bytes]] = {"npy": [], "npz": [], "torch": [], "safetensors": []}
    for array in arrays:
        out = io.BytesIO()
        np.save(out, array)
        files["npy"].append(out.getvalue())
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, *arrays[:3], named=arrays[4])
        files["npz"].append(out.getvalue())
    shared = torch.arange(12.0).reshape(3, 4)
    state = OrderedDict(weight=shared, part=shared.t()[1:], bias=torch.tensor([True, False]),
                        half=torch.ones(3, dtype=torch.bfloat16))  # fmt: skip
    model = torch.nn.Linear(2, 3)
    for value in (state, model.state_dict(), {"step": 3, "p": [model.weight], "size": torch.Size([1, 2]),
                                              "d": torch.device("cpu"), "s": {1, 2}, "b": bytearray(b"xyz"),
                                              "k": torch.float16, "c": Counter("aab"), "z": 1 + 2j}):  # fmt: skip
        out = io.BytesIO()
        torch.save(value, out)
        files["torch"] += [out.getvalue(), _deflated(out.getvalue())]
    files["torch"].append(_legacy({"x": 1}))
    files["safetensors"].append(safetensors.save({"a": shared, "b": torch.tensor([True]), "c": torch.ones(0, 3)}))
    files["safetensors"].append(safetensors.save({"x": torch.ones(2, dtype=torch.complex64)}, {"format": "pt"}))
    return files


# --- changes


def _number(rng: random.Random) -> bytes:
    n = rng.choice(EDGES)
    return (n % 2**64).to_bytes(8, "little")[: rng.choice((1, 2, 4, 8))]


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Makes one to eight changes to a file of any format."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[at % len(data)] = rng.randrange(256)
            case 2:
                number = _number(rng)
                data[at : at + len(number)] = number
            case 3:
                del data[at : at + rng.choice((1, 2, 4, 16, 1000))]
            case 4:
                data[at:at] = data[rng.randrange(len(data) + 1) :][: rng.choice((1, 4, 16, 64))]
            case 5:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 2, 4, 9))))
            case 6:  # a number in text
                digits = [k for k, byte in enumerate(data) if 48 <= byte <= 57]
                if digits:
                    k = rng.choice(digits)
                    data[k : k + 1] = str(rng.choice(EDGES)).encode()
    return bytes(data)


_G = b"c%b\n%b\n"
_STRING = lambda text: b"X" + struct.pack("<I", len(text)) + text  # noqa: E731
_SPLICES = [
    _G % (b"os", b"system") + _STRING(b"true") + b"\x85R", _G % (b"builtins", b"eval") + _STRING(b"1") + b"\x85R",
    _G % (b"torch", b"FloatStorage") + b"N}" + _STRING(b"name") + _STRING(b"IntStorage") + b"s\x86b",
    _G % (b"torch", b"float32") + b"N}" + _STRING(b"name") + _STRING(b"int32") + b"s\x86b",
    _G % (b"torch", b"float32") + b"}" + _STRING(b"itemsize") + b"K\x01sb",
    _G % (b"torch._utils", b"_rebuild_tensor_v2") + b"N}" + _STRING(b"_function") + b"Ns\x86b",
    _G % (b"torch", b"Tensor") + b"N}" + _STRING(b"name") + b"Ns\x86b", _G % (b"torch", b"device") + b"]a",
    _G % (b"collections", b"OrderedDict") + b")R}" + _STRING(b"items") + b"Nsb",
    _G % (b"builtins", b"bytearray") + b"\x8a\x05\x00\x00\x00\x00\x10\x85R", b"\x96" + (2**36).to_bytes(8, "little"),
    b"r\xff\xff\xff\x7f", b"\x8e" + (2**40).to_bytes(8, "little"), b"B\xff\xff\xff\x7f", b"\x8b\xff\xff\xff\x7f",
    b"\x95" + (2**40).to_bytes(8, "little"), b")" + b"2\x86" * 40 + b"}q\x00(h\x00u", b"]" * 3000 + b"a" * 2999,
    b"itorch\nFloatStorage\n", b"(ctorch\nTensor\no", b"\x82\x01", b"\x97", b"h\x00", b"2", b"0", b"1", b"R", b"b",
    b"\x81", b"\x92", b"\x93", b"\x94", b"Q", b"s", b"u", b"a", b"e", b"d", b"l", b"t", b"\x90", b"\x91", b"(", b"}",
]  # fmt: skip


def change_pickle(content: bytes, rng: random.Random) -> bytes:
    """Inserts, removes and exchanges opcodes."""
    ops = []
    try:
        import pickletools

        ops = [position for _, _, position in pickletools.genops(content) if position is not None]
    except Exception:
        pass
    if not ops or rng.random() < 0.2:
        return change_bytes(content, rng)
    data = content
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.choice(ops)
        after = rng.choice([k for k in ops if k >= at])
        match rng.randrange(5):
            case 0 | 1:
                data = data[:at] + rng.choice(_SPLICES) + data[at:]
            case 2:
                data = data[:at] + data[after:]
            case 3:
                data = data[:at] + content[at:after][:200] + data[at:]
            case 4:  # a number
                numbers = [b"K%c" % rng.randrange(256), b"M" + struct.pack("<H", rng.randrange(2**16)),
                           b"J" + struct.pack("<i", rng.randrange(-(2**31), 2**31)),
                           b"\x8a\x09" + rng.choice(EDGES).to_bytes(9, "little", signed=True)]  # fmt: skip
                fields = [k for k in ops if content[k : k + 1] in (b"K", b"M", b"J")]
                if fields:
                    k = rng.choice(fields)
                    width = {b"K": 2, b"M": 3, b"J": 5}[content[k : k + 1]]
                    data = content[:k] + rng.choice(numbers) + content[k + width :]
    return data


def change_zip(content: bytes, rng: random.Random) -> bytes:
    """Changes one entry and packs it again, so that its checksum is right; or changes bytes of the whole file."""
    if rng.random() < 0.25 or not zipfile.is_zipfile(io.BytesIO(content)):
        return change_bytes(content, rng)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        names = source.namelist()
        chosen = rng.choice(names)
        pickles = [name for name in names if name.endswith(".pkl")]
        if pickles and rng.random() < 0.8:
            chosen = pickles[0]
        for name in names:
            inner = source.read(name)
            if name == chosen:
                inner = (change_pickle if name.endswith(".pkl") else change_bytes)(inner, rng)
            target.writestr(name, inner, source.getinfo(name).compress_type)
    data = bytearray(out.getvalue())
    if rng.random() < 0.1:  # sizes in the directory
        at = data.rfind(b"PK\x01\x02")
        if at >= 0:
            field = at + rng.choice((16, 20, 24, 42))
            data[field : field + 4] = (rng.choice(EDGES) % 2**32).to_bytes(4, "little")
    return bytes(data)


def change_safetensors(content: bytes, rng: random.Random) -> bytes:
    """Changes values of the JSON header, or bytes of the whole file."""
    if rng.random() < 0.3:
        return change_bytes(content, rng)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    values: list[Any] = [*EDGES, True, None, 1.5, -0.0, float("nan"), "F32", "BOOL", "", [], {}, [True], [2**62, 4, 0],
                         [0, 2**63 - 1], 10**400, "x" * 1000]  # fmt: skip
    entry = rng.choice(list(header))
    match rng.randrange(5):
        case 0:
            header[entry] = rng.choice(values)
        case 1 | 2 if isinstance(header[entry], dict):
            header[entry][rng.choice([*header[entry], "dtype", "shape"])] = rng.choice(values)
        case 3 if isinstance(header[entry], dict) and header[entry].get("shape"):
            shape = header[entry]["shape"]
            shape[rng.randrange(len(shape))] = rng.choice(values)
        case _:
            text = "[" * rng.choice((10, 2000, 100_000))
            packed = (json.dumps(header)[:-1] + f', "deep": {text}').encode()
            return len(packed).to_bytes(8, "little") + packed + content[8 + length :]
    text = json.dumps(header)
    text = change_bytes(text.encode(), rng).decode("latin1") if rng.random() < 0.2 else text
    packed = text.encode()
    return len(packed).to_bytes(8, "little") + packed + content[8 + length :]


# --- using the results


def _look(value: Any, left: list[int]) -> None:
    """Computes with the loaded values, as a program would."""
    left[0] -= 1
    if left[0] < 0:
        return
    if isinstance(value, dict):
        for inner in value.values():
            _look(inner, left)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _look(inner, left)
    elif hasattr(value, "device") and hasattr(value, "shape"):
        shape = tuple(value.shape)
        elements = int(np.prod(np.array(shape, dtype=object))) if shape else 1
        assert all(n >= 0 for n in shape) and (value.numel() if hasattr(value, "numel") else value.size) == elements
        if elements <= _SMALL:
            result = (value == value) if "bool" in str(value.dtype) else value + 1
            host = result.detach().numpy() if hasattr(result, "detach") else result.get()
            assert host.shape == shape


def _read_npy(content: bytes) -> Any:
    import cuprous as cp

    return cp.load(io.BytesIO(content))


def _read_npz(content: bytes) -> Any:
    loaded = _read_npy(content)
    return [loaded[name] for name in loaded.files[:20]] if hasattr(loaded, "files") else loaded


def _read_torch(content: bytes) -> Any:
    import cuprous.torch as torch

    return torch.load(io.BytesIO(content))


def _read_safetensors(content: bytes) -> Any:
    from cuprous.torch import safetensors

    return safetensors.load(content)


def _formats() -> dict[str, tuple[Callable[[bytes], Any], Callable[[bytes, random.Random], bytes], tuple[Any, ...]]]:
    from cuprous.torch.safetensors import SafetensorError

    # NumPy's reader raises many: of a bad directory BadZipFile, NotImplementedError and RuntimeError (encrypted).
    numpys = (ValueError, EOFError, OSError, KeyError, TypeError, zipfile.BadZipFile, NotImplementedError, RuntimeError,
              SyntaxError, UnicodeError)  # fmt: skip
    torchs = (RuntimeError, pickle.UnpicklingError, NotImplementedError)
    return {"npy": (_read_npy, change_bytes, numpys), "npz": (_read_npz, change_zip, numpys),
            "torch": (_read_torch, change_zip, torchs),
            "safetensors": (_read_safetensors, change_safetensors, (SafetensorError,))}  # fmt: skip


def state() -> str:
    """Returns the state that a file could have changed, as text."""
    import cuprous as cp
    import cuprous.torch as torch
    from cuprous.torch import _types
    from cuprous.torch.serialization import _names, _read

    parts: list[Any] = []
    # Modules are imported and devices created at their first use, so each reader runs once first.
    for kind, files in good_files().items():
        for content in files[:2]:
            loaded = _formats()[kind][0](content)
            items = loaded.items() if isinstance(loaded, dict) else [("", loaded)]
            parts += [(key, str(value.dtype), value.tolist()) for key, value in items if hasattr(value, "tolist")]
    parts += [(name, d.name, d.itemsize, repr(d)) for name, d in _types.DTYPES.items()]
    parts += [(name, str(d)) for name, d in _types.DEVICES.items()]
    for name, known in _read._KNOWN.items():
        slots = [s for c in type(known).__mro__ for s in getattr(c, "__slots__", ())]
        parts.append((name, id(known), [str(getattr(known, s)) for s in slots]))
    parts += [sorted(_names._added), torch.get_default_dtype(), _types.default_device(), sorted(vars(torch))]
    parts.append((cp.float32.__name__, torch.tensor([1.5], dtype=torch.float32).tolist()))
    return repr(parts)


def make(number: int) -> tuple[str, bytes]:
    """Returns the format and the bytes of a case."""
    rng = random.Random(number)
    kinds = list(good_files())
    kind = kinds[number % len(kinds)]
    content = rng.choice(good_files()[kind])
    return kind, _formats()[kind][1](content, rng)


def _worker(first: int, count: int, progress: str) -> int:
    before = state()
    outcomes: Counter[str] = Counter()
    sys.addaudithook(_audit)

    def case(number: int) -> str | None:
        kind, content = make(number)
        read, _, fine = _formats()[kind]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = None
        _seen.clear()
        try:
            value = read(content)
            events = list(_seen)
            _look(value, [200])
            outcomes[f"{kind}: read"] += 1
        except BaseException as error:
            events = list(_seen)
            outcomes[f"{kind}: {type(error).__name__}"] += 1
            if not isinstance(error, fine) or is_internal(error):
                found = f"{kind}: {type(error).__name__}: {error}"[:300]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) << 10
        if events:
            found = f"{kind}: {events}"
        elif grown > MOST_MEMORY:
            found = f"{kind}: {grown >> 20} MiB for {len(content)} bytes"
        elif (number % 50 == 0 or number == first + count - 1) and state() != before:
            found = f"{kind}: the process has changed since case {number - 50}"
        return found

    failed = run_worker(range(first, first + count), case, progress, 6 << 30)
    print(json.dumps(outcomes))
    return failed


def main() -> int:
    """Runs the command; returns 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description="Damaged and hostile files.")
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        _worker(int(args.worker[0]), int(args.worker[1]), args.worker[2])
        return 0
    start = time.monotonic()
    failures, notes = run_in_workers("tests.fuzz.files", args.seed, args.files, 2000)
    total: Counter[str] = Counter()
    for note in notes:
        total.update(json.loads(note))
    print("; ".join(f"{name} {count}" for name, count in sorted(total.items())))
    print(f"{args.files} files: {len(failures)} failed; {time.monotonic() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
