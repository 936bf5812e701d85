"""Simulated machines: small C libraries that stand in for NVIDIA's, and another /dev, /sys and /proc."""

from __future__ import annotations

import ctypes.util
import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
#: Variables of the real machine.
HIDDEN = ("CUDA_VISIBLE_DEVICES", "CUPROUS_DEVICE", "CUPROUS_CHECK_CUDA", "CUDA_PATH", "CUDA_HOME",
          "KUBERNETES_SERVICE_HOST")  # fmt: skip
BUILD = HERE.parents[2] / "build" / "stand-ins"


@functools.cache
def compiled(source: str, file: str) -> Path:
    """Returns a folder with a shared library of that name, compiled once per version of its source."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or os.name != "posix" or os.uname().sysname != "Linux":
        pytest.skip("stand-in libraries need Linux and a C compiler")
    folder = BUILD / f"{file}-{hashlib.sha256((HERE / source).read_bytes()).hexdigest()[:12]}"
    if not (folder / file).exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{file}.{os.getpid()}"
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
        subprocess.run([compiler, *options, "-o", str(unfinished), str(HERE / source), "-ldl"], check=True)
        unfinished.replace(folder / file)  # another process may do the same concurrently
    return folder


@functools.cache
def has_nvidias_own() -> bool:
    """Returns true if the loader finds NVIDIA's libraries by itself, so that no stand-in can hide them."""
    return Path("/usr/local/cuda").exists() or any(
        ctypes.util.find_library(name) for name in ("cuda", "nvrtc", "cublasLt")
    )


class Machine:
    """A simulated machine, as an environment for commands."""

    def __init__(self, root: Path) -> None:
        if has_nvidias_own():
            pytest.skip("simulates machines without NVIDIA's libraries, and this one has them")
        self.root = root
        self.libraries: list[Path] = []
        preload = compiled("redirect.c", "redirect.so") / "redirect.so"
        self.changes: dict[str, str | None] = {
            **dict.fromkeys(HIDDEN),
            "LD_PRELOAD": str(preload),
            "STAND_IN_ROOT": str(root),
            # A separate cache, because the doctor counts files and the user's cache may have thousands.
            "CUPROUS_CACHE_DIR": str(root / "cache"),
        }
        for folder in ("dev", "proc", "sys/bus/pci/devices"):
            (root / folder).mkdir(parents=True)

    def write(self, path: str, text: str = "") -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def card(self, vendor: str = "0x10de", address: str = "0000:01:00.0") -> Machine:
        """Adds a graphics card on the bus."""
        self.write(f"/sys/bus/pci/devices/{address}/class", "0x030200\n")
        self.write(f"/sys/bus/pci/devices/{address}/vendor", f"{vendor}\n")
        return self

    def nodes(self) -> Machine:
        for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            self.write(f"/dev/{name}")
        return self

    def driver(self, cuda: int = 13000, status: int = 0, compute: int = 90) -> Machine:
        """Adds the driver's library and kernel module."""
        line = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (builder)\n"
        self.write("/proc/driver/nvidia/version", line)
        self.libraries.append(compiled("driver.c", "libcuda.so.1"))
        values = {"CUDA": cuda, "INIT": status, "COMPUTE": compute}
        return self.set(**{f"STAND_IN_{name}": str(value) for name, value in values.items()})

    def set(self, **changes: str | None) -> Machine:
        self.changes.update(changes)
        return self

    def environment(self) -> dict[str, str | None]:
        paths = [str(path) for path in self.libraries]
        return {**self.changes, "LD_LIBRARY_PATH": ":".join(paths) or None}
